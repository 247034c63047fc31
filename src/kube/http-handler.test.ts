import { createServer as createPlainServer, type Server } from 'node:http';
import { createSecureServer, type ServerHttp2Session } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { systemRuntime } from '../runtime/index.ts';
import { isUpgraded, readBody } from './exchange.ts';
import { httpHandler } from './http-handler.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from './pki.ts';
import { createClient } from './rest-client.ts';
import { pods } from './well-known.ts';
import { startFaultProxy } from './wire/fault-proxy.fixture.ts';

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

function listen(server: Server): Promise<string> {
  open.push({ close: () => new Promise((resolve) => server.close(resolve)) });
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () =>
      resolve(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    ),
  );
}

function handlerOf(url: string, token?: string): ReturnType<typeof httpHandler> {
  const handler = httpHandler({ url, ...(token === undefined ? {} : { token }) });
  open.push(handler);
  return handler;
}

describe('httpHandler over TLS', () => {
  const HOUR = 3_600_000;

  async function secureServer(): Promise<{
    url: string;
    ca: string;
    client: KeyPair;
    versions: Set<string>;
  }> {
    const runtime = systemRuntime();
    const authority = await createCertificateAuthority(runtime, 'test');
    const own = await issueCertificate(runtime, authority, {
      commonName: 'server',
      ipAddresses: ['127.0.0.1'],
      usage: 'server',
      lifetimeMs: HOUR,
    });
    const client = await issueCertificate(runtime, authority, {
      commonName: 'me',
      usage: 'client',
      lifetimeMs: HOUR,
    });
    const versions = new Set<string>();
    const server = createSecureServer({
      cert: own.certificate,
      key: own.key,
      ca: authority.certificate,
      requestCert: true,
      rejectUnauthorized: false,
      allowHTTP1: true,
    });
    const sessions = new Set<ServerHttp2Session>();
    server.on('session', (session) => sessions.add(session));
    server.on('request', (request, response) => {
      versions.add(request.httpVersion);
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      if (request.url.includes('watch=1')) {
        response.write(`{"type":"ADDED","object":{"metadata":{"name":"${subject?.CN}"}}}\n`);
        return;
      }
      response.end(JSON.stringify({ user: subject?.CN ?? 'nobody' }));
    });
    open.push({
      close: () => {
        for (const session of sessions) session.destroy();
        return new Promise((resolve) => server.close(resolve));
      },
    });
    const port = await new Promise<number>((resolve) =>
      server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port)),
    );
    return { url: `https://127.0.0.1:${port}`, ca: authority.certificate, client, versions };
  }

  it('speaks HTTP/2, shows its certificate, and keeps many watches open beside calls', async () => {
    const { url, ca, client, versions } = await secureServer();
    const handler = httpHandler({ url, ca, clientCertificate: client.certificate, clientKey: client.key });
    open.push(handler);
    const api = createClient(handler);
    expect(await api.getJson('/x')).toEqual({ user: 'me' });
    const watches = Array.from({ length: 150 }, () => api.watch(pods, 'n'));
    for (const watch of watches)
      expect((await watch.next()).value).toMatchObject({ object: { metadata: { name: 'me' } } });
    expect(await api.getJson('/x')).toEqual({ user: 'me' });
    expect([...versions]).toEqual(['2.0']);
    for (const watch of watches) await watch.return();
  });

  it('[F3] speaks HTTP/2 over TLS through a proxy', async () => {
    const { url, ca, client, versions } = await secureServer();
    const proxy = await startFaultProxy(systemRuntime(), { mode: 'connect' });
    open.push(proxy);
    const handler = httpHandler({
      url,
      ca,
      clientCertificate: client.certificate,
      clientKey: client.key,
      proxyUrl: `http://127.0.0.1:${proxy.port}`,
    });
    open.push(handler);
    expect(await createClient(handler).getJson('/x')).toEqual({ user: 'me' });
    expect([...versions]).toEqual(['2.0']);
    expect(proxy.asked).toEqual([new URL(url).host]);
  });

  it('rejects a server of another authority', async () => {
    const { url } = await secureServer();
    const other = await createCertificateAuthority(systemRuntime(), 'other');
    const handler = httpHandler({ url, ca: other.certificate });
    open.push(handler);
    await expect(handler({ method: 'GET', path: '/x', headers: {} })).rejects.toThrow(/^cannot reach/);
  });

  it('tells a watch at once when the server goes away', async () => {
    const { url, ca } = await secureServer();
    const handler = httpHandler({ url, ca });
    open.push(handler);
    const watch = createClient(handler).watch(pods, 'n');
    await watch.next();
    const broken = watch.next();
    broken.catch(() => {});
    const server = open.splice(-2, 1)[0];
    await server?.close();
    await expect(broken).rejects.toThrow();
  });
});

describe('upgrades of httpHandler', () => {
  async function server(): Promise<{ url: string; seen: string[] }> {
    const seen: string[] = [];
    const plain = createPlainServer((_request, response) => response.writeHead(403).end('no'));
    plain.on('upgrade', (request, socket, head) => {
      seen.push(
        `${request.method} ${request.url} ${request.headers.authorization} ${request.headers.upgrade}`,
      );
      socket.write(
        'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: v4\r\n\r\nhi ',
      );
      socket.on('error', () => {});
      socket.unshift(head);
      socket.on('data', (data: Buffer) => socket.write(data.toString().toUpperCase()));
      socket.on('end', () => socket.end('bye'));
    });
    return { url: await listen(plain), seen };
  }

  it('carries bytes both ways after the switch, with half-close', async () => {
    const { url, seen } = await server();
    const handler = handlerOf(`${url}/clusters/hub`, 'T');
    const answer = await handler.upgrade({
      method: 'POST',
      path: '/exec?command=sh',
      headers: { upgrade: 'SPDY/3.1', connection: 'Upgrade' },
    });
    if (!isUpgraded(answer)) throw new Error(`answered ${answer.status}`);
    expect(answer.headers).toMatchObject({ upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4' });
    answer.socket.end('abc');
    let text = '';
    for await (const chunk of answer.socket) text += chunk;
    expect(text).toBe('hi ABCbye');
    expect(seen).toEqual(['POST /clusters/hub/exec?command=sh Bearer T SPDY/3.1']);
  });

  it('gives the answer of a server that does not switch, and fails without one', async () => {
    const { url } = await server();
    const answer = await handlerOf(url).upgrade({ method: 'GET', path: '/', headers: {} });
    if (isUpgraded(answer)) throw new Error('switched');
    expect([answer.status, Buffer.from(await readBody(answer)).toString()]).toEqual([403, 'no']);
    const closed = handlerOf('http://127.0.0.1:1');
    await expect(
      closed.upgrade({ method: 'GET', path: '/', headers: { upgrade: 'websocket' } }),
    ).rejects.toThrow('cannot reach 127.0.0.1:1');
    await closed.close();
    await expect(closed.upgrade({ method: 'GET', path: '/', headers: {} })).rejects.toThrow('is closed');
  });

  it('ends streams when it is closed', async () => {
    const { url } = await server();
    const handler = handlerOf(url);
    const answer = await handler.upgrade({ method: 'GET', path: '/', headers: { upgrade: 'SPDY/3.1' } });
    if (!isUpgraded(answer)) throw new Error(`answered ${answer.status}`);
    const gone = new Promise((resolve) => answer.socket.once('close', resolve));
    await handler.close();
    await gone;
  });
});

describe('the proxy of an endpoint', () => {
  it.each(['connect', 'socks5'] as const)('[F3] carries calls, watches and upgrades (%s)', async (mode) => {
    const target = createPlainServer((request, response) => {
      if (request.url?.includes('watch=1') === true)
        response.write('{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n');
      else response.end('{"ok":true}');
    });
    target.on('upgrade', (_request, socket) => {
      socket.on('error', () => {});
      socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    });
    const url = await listen(target);
    const proxy = await startFaultProxy(systemRuntime(), { mode, auth: 'me:secret' });
    open.push(proxy);
    const scheme = mode === 'connect' ? 'http' : 'socks5';
    const handler = httpHandler({ url, proxyUrl: `${scheme}://me:secret@127.0.0.1:${proxy.port}` });
    open.push(handler);
    const client = createClient(handler);
    expect(await client.getJson('/x')).toEqual({ ok: true });
    const watch = client.watch(pods, 'n');
    expect((await watch.next()).value).toMatchObject({ type: 'ADDED' });
    const answer = await handler.upgrade({ method: 'GET', path: '/', headers: { upgrade: 'websocket' } });
    if (!isUpgraded(answer)) throw new Error(`answered ${answer.status}`);
    answer.socket.destroy();
    expect(new Set(proxy.asked)).toEqual(new Set([new URL(url).host]));
    expect(proxy.asked.length).toBeGreaterThanOrEqual(3);
  });

  it('is refused when it is none', () => {
    expect(() => httpHandler({ url: 'https://h', proxyUrl: 'ftp://p' })).toThrow(
      'a proxy is http, https or socks5',
    );
  });
});

describe('httpHandler', () => {
  it('sends path prefix, token and body, and gives status, headers and body back', async () => {
    const url = await listen(
      createPlainServer(async (request, response) => {
        let body = '';
        for await (const chunk of request) body += chunk;
        response.writeHead(201, { 'content-type': 'text/plain', 'set-cookie': ['a', 'b'] });
        response.end(`${request.method} ${request.url} ${request.headers.authorization} ${body}`);
      }),
    );
    const handler = handlerOf(`${url}/clusters/hub/`, 'T');
    const response = await handler({
      method: 'POST',
      path: '/api/v1?x=1',
      headers: {},
      body: Buffer.from('hi'),
    });
    expect(response.status).toBe(201);
    expect(response.headers['set-cookie']).toBe('a, b');
    expect(Buffer.from(await readBody(response)).toString()).toBe(
      'POST /clusters/hub/api/v1?x=1 Bearer T hi',
    );
  });

  it('does not follow redirects', async () => {
    const asked: string[] = [];
    const url = await listen(
      createPlainServer((request, response) => {
        asked.push(request.url ?? '');
        response.writeHead(307, { location: '/elsewhere' }).end();
      }),
    );
    await expect(createClient(handlerOf(url, 'T')).getJson('/x')).rejects.toMatchObject({ code: 307 });
    expect(asked).toEqual(['/x']);
  });

  it('streams a watch, and ends it at the server when the caller stops', async () => {
    const gone = Promise.withResolvers<void>();
    const url = await listen(
      createPlainServer((request, response) => {
        response.writeHead(200);
        response.write('{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n');
        request.on('close', () => gone.resolve());
      }),
    );
    const client = createClient(handlerOf(url));
    for await (const event of client.watch(pods, 'n')) {
      expect(event.type).toBe('ADDED');
      break;
    }
    await gone.promise;
  });

  it('rejects when there is no server, naming host only', async () => {
    const server = createPlainServer();
    const url = await listen(server);
    await new Promise((resolve) => server.close(resolve));
    await expect(handlerOf(url, 'T')({ method: 'GET', path: '/x', headers: {} })).rejects.toThrow(
      /^cannot reach 127\.0\.0\.1:\d+$/,
    );
  });
});

describe('groups of whom a request acts as', () => {
  it('are a header each, for upgrades too', async () => {
    const seen: string[][] = [];
    const groups = (raw: readonly string[]): string[] =>
      raw.filter((_, index) => raw[index - 1]?.toLowerCase() === 'impersonate-group');
    const server = createPlainServer((request, response) => {
      seen.push(groups(request.rawHeaders));
      response.end('{}');
    });
    server.on('upgrade', (request, socket) => {
      seen.push(groups(request.rawHeaders));
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
    const handler = handlerOf(await listen(server));
    const headers = { 'impersonate-user': 'hub:a', 'impersonate-group': 'atoll:hub-users, hub:devs and ops' };
    await readBody(await handler({ method: 'GET', path: '/api', headers }));
    const upgrading = { ...headers, connection: 'Upgrade', upgrade: 'websocket' };
    const answer = await handler.upgrade({ method: 'GET', path: '/exec', headers: upgrading });
    if (!isUpgraded(answer)) await readBody(answer);
    expect(seen).toEqual([
      ['atoll:hub-users', 'hub:devs and ops'],
      ['atoll:hub-users', 'hub:devs and ops'],
    ]);
  });
});
