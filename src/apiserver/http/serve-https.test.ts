import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { gunzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import type { Request, Response } from '../../kube/exchange.ts';
import { certificateIdentity, createCertificateAuthority, issueCertificate } from '../../kube/pki.ts';
import { failure } from '../../kube/status-error.ts';
import { type Runtime, systemRuntime } from '../../runtime/index.ts';
import { authenticate, clientCertificateAuthenticator } from '../auth/index.ts';
import { type Connection, type HttpsServer, serveHttps } from './index.ts';

const runtime = systemRuntime();
const serverCa = await createCertificateAuthority(runtime, 'server-ca');
const clientCa = await createCertificateAuthority(runtime, 'client-ca');
const serving = await issueCertificate(runtime, serverCa, {
  commonName: 'server',
  ipAddresses: ['127.0.0.1'],
  usage: 'server',
  lifetimeMs: 3_600_000,
});

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

type Handle = (request: Request, connection: Connection) => Promise<Response>;

async function start(
  handle: Handle,
  options: { stallTimeoutMs?: number; bodyBudgetBytes?: number } = {},
): Promise<HttpsServer> {
  const server = await serveHttps(runtime, {
    port: 0,
    certificate: serving.certificate,
    key: serving.key,
    clientCa: clientCa.certificate,
    handle,
    ...options,
  });
  cleanups.push(() => server.close(0));
  return server;
}

function http2(server: HttpsServer, credentials: { cert?: string; key?: string } = {}): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${server.port}`, {
    ca: serverCa.certificate,
    ...credentials,
  });
  session.on('error', () => {});
  cleanups.push(() => session.destroy());
  return session;
}

interface Answer {
  status: number;
  headers: Record<string, unknown>;
  body: Buffer;
}

function exchange(stream: ClientHttp2Stream, body?: Uint8Array): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let head: Record<string, unknown> = {};
    stream.on('response', (headers) => {
      head = headers as Record<string, unknown>;
    });
    stream.on('data', (chunk: Buffer) => chunks.push(chunk));
    stream.on('end', () =>
      resolve({ status: Number(head[':status']), headers: head, body: Buffer.concat(chunks) }),
    );
    stream.on('error', reject);
    stream.end(body);
  });
}

function http1(
  server: HttpsServer,
  path: string,
  options: { method?: string; headers?: Record<string, string>; body?: Uint8Array } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { method = 'GET', headers = {}, body } = options;
    const outgoing = httpsRequest(
      { host: '127.0.0.1', port: server.port, path, method, headers, ca: serverCa.certificate, agent: false },
      (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks),
          }),
        );
        response.on('error', reject);
      },
    );
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

function rawTls(server: HttpsServer, alpn?: string): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket = connectTls(
      {
        host: '127.0.0.1',
        port: server.port,
        ca: serverCa.certificate,
        ...(alpn ? { ALPNProtocols: [alpn] } : {}),
      },
      () => resolve(socket),
    );
    socket.on('error', reject);
    cleanups.push(() => socket.destroy());
  });
}

const echo: Handle = async (request, connection) => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(
    JSON.stringify({
      method: request.method,
      path: request.path,
      host: request.headers.host !== undefined,
      body: request.body ? Buffer.from(request.body).toString() : null,
      user: connection.peerCertificate ? certificateIdentity(connection.peerCertificate).commonNames : null,
      address: connection.remoteAddress,
    }),
  ),
});

describe('serveHttps', () => {
  it('serves HTTP/2 and HTTP/1.1 alike', async () => {
    const server = await start(echo);
    const h2 = await exchange(
      http2(server).request({ ':path': '/a?b=%20', ':method': 'PUT' }),
      Buffer.from('x'),
    );
    const h1 = await http1(server, '/a?b=%20', { method: 'PUT', body: Buffer.from('x') });
    expect(JSON.parse(h2.body.toString())).toEqual({
      method: 'PUT',
      path: '/a?b=%20',
      host: true,
      body: 'x',
      user: null,
      address: '127.0.0.1',
    });
    expect(h1.body.toString()).toBe(h2.body.toString());
    expect(h1.headers['content-length']).toBe(String(h1.body.byteLength));
    const head = await http1(server, '/a', { method: 'HEAD' });
    expect([head.status, head.body.byteLength]).toEqual([200, 0]);
  });

  it('believes a client certificate of the client authority only', async () => {
    const server = await start(echo);
    const options = { commonName: 'ann', usage: 'client', lifetimeMs: 3_600_000 } as const;
    const good = await issueCertificate(runtime, clientCa, options);
    const foreign = await issueCertificate(runtime, serverCa, options);
    const wrongUse = await issueCertificate(runtime, clientCa, { ...options, usage: 'server' });
    const user = async (pair?: { certificate: string; key: string }): Promise<unknown> => {
      const session = http2(server, pair ? { cert: pair.certificate, key: pair.key } : {});
      return JSON.parse((await exchange(session.request({ ':path': '/' }))).body.toString()).user;
    };
    expect(await user(good)).toEqual(['ann']);
    expect(await user(foreign)).toBeNull();
    expect(await user(wrongUse)).toBeNull();
    expect(await user()).toBeNull();
  });

  it('[K29] the link certificate of a spoke is no credential for the API of the hub', async () => {
    const linkCa = await createCertificateAuthority(runtime, 'link-ca');
    const link = await issueCertificate(runtime, linkCa, {
      commonName: 'spoke:one',
      organizations: ['atoll:spokes'],
      usage: 'client',
      lifetimeMs: 3_600_000,
    });
    const authenticator = clientCertificateAuthenticator(runtime.clock);
    const server = await start(async (request, connection) => {
      await authenticate(authenticator, request, connection);
      return echo(request, connection);
    });
    const session = http2(server, { cert: link.certificate, key: link.key });
    const answer = await exchange(session.request({ ':path': '/api/v1/secrets' }));
    expect(answer.status).toBe(401);
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      kind: 'Status',
      reason: 'Unauthorized',
      code: 401,
    });
  });

  it('sends a large body whole, and answers 429 while too much is being received', async () => {
    const large = Buffer.alloc(5 * 1024 * 1024, 'abcdefg');
    let release: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let began: () => void = () => {};
    const beginning = new Promise<void>((resolve) => {
      began = resolve;
    });
    const server = await start(
      async (request) => {
        if (request.body === undefined) return { status: 200, headers: {}, body: large };
        began();
        await gate;
        return { status: 204, headers: {}, body: new Uint8Array() };
      },
      { bodyBudgetBytes: 1000 },
    );
    const session = http2(server);
    expect((await exchange(session.request({ ':path': '/' }))).body.equals(large)).toBe(true);
    expect((await http1(server, '/')).body.equals(large)).toBe(true);
    const post = { ':path': '/', ':method': 'POST' };
    const first = exchange(session.request(post), Buffer.alloc(800));
    await beginning;
    const second = await exchange(session.request(post), Buffer.alloc(800));
    expect([second.status, second.headers['retry-after']]).toEqual([429, '1']);
    release();
    const answer = await first;
    expect([answer.status, answer.headers['content-length']]).toEqual([204, undefined]);
    expect((await exchange(session.request(post), Buffer.alloc(800))).status).toBe(204);
  });

  it('does not take a resumed session without a certificate for a verified one', async () => {
    const server = await start(echo);
    const session = await new Promise<Buffer>((resolve) => {
      void rawTls(server).then((socket) => {
        socket.once('session', resolve);
        socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
      });
    });
    const socket = connectTls({ host: '127.0.0.1', port: server.port, ca: serverCa.certificate, session });
    cleanups.push(() => socket.destroy());
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    const text = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(String(data))));
    expect(socket.isSessionReused()).toBe(true);
    expect(text).toContain('"user":null');
  });

  it('answers 413 to a body above 3 MiB, declared or not, and stays usable', async () => {
    const server = await start(echo);
    const limit = 3 * 1024 * 1024;
    const session = http2(server);
    const post = { ':path': '/', ':method': 'POST' };
    expect((await exchange(session.request(post), Buffer.alloc(limit, 0x61))).status).toBe(200);
    const undeclared = await exchange(session.request(post), Buffer.alloc(limit + 1));
    const declared = await http1(server, '/', { method: 'POST', body: Buffer.alloc(limit + 1) });
    for (const answer of [undeclared, declared]) {
      expect(JSON.parse(answer.body.toString())).toMatchObject({
        kind: 'Status',
        code: 413,
        reason: 'RequestEntityTooLarge',
        message: 'Request entity too large: limit is 3145728',
      });
    }
    expect((await exchange(session.request({ ':path': '/' }))).status).toBe(200);
  });

  it('compresses large answers for those who ask, never streams', async () => {
    const large = Buffer.alloc(200 * 1024, 'abc');
    const server = await start(async (request) => ({
      status: 200,
      headers: {},
      body:
        request.path === '/stream'
          ? (async function* () {
              yield large;
            })()
          : large,
    }));
    const get = (path: string, accept: string): Promise<Answer> =>
      exchange(http2(server).request({ ':path': path, 'accept-encoding': accept }));
    const compressed = await get('/', 'deflate, gzip;q=0.5');
    expect(compressed.headers['content-encoding']).toBe('gzip');
    expect(compressed.body.byteLength).toBeLessThan(10_000);
    expect(gunzipSync(compressed.body).equals(large)).toBe(true);
    expect((await get('/', 'gzip;q=0')).body.equals(large)).toBe(true);
    expect((await get('/stream', 'gzip')).body.equals(large)).toBe(true);
  });

  it('turns what a handler throws into a Status', async () => {
    const server = await start(async (request) => {
      if (request.path === '/status') throw failure(409, 'Conflict', 'no');
      if (request.path === '/header')
        return { status: 200, headers: { 'x-bad': 'a\nb' }, body: Buffer.from('') };
      throw new Error('broken');
    });
    const session = http2(server);
    const code = async (path: string): Promise<unknown> => {
      const h2 = await exchange(session.request({ ':path': path }));
      const h1 = await http1(server, path);
      expect(h1.status).toBe(h2.status);
      expect(JSON.parse(h1.body.toString())).toEqual(JSON.parse(h2.body.toString()));
      return JSON.parse(h1.body.toString()).message;
    };
    expect(await code('/status')).toBe('no');
    expect(await code('/error')).toBe('Internal error occurred: broken');
    expect(await code('/header')).toContain('Internal error occurred: the response cannot be sent');
  });

  it('flushes each chunk and aborts the signal when the client goes', async () => {
    const steps: Record<string, () => void> = {};
    const aborted = new Map<string, Promise<void>>();
    const server = await start(async (request) => {
      const signal = request.signal as AbortSignal;
      aborted.set(request.path, new Promise((resolve) => signal.addEventListener('abort', () => resolve())));
      return {
        status: 200,
        headers: {},
        body: (async function* () {
          yield Buffer.from('one');
          await new Promise<void>((resolve) => {
            steps[request.path] = resolve;
          });
          yield Buffer.from('two');
          await aborted.get(request.path);
        })(),
      };
    });
    const stream = http2(server).request({ ':path': '/h2' });
    const chunk = (): Promise<string> =>
      new Promise((resolve) => stream.once('data', (data) => resolve(String(data))));
    expect(await chunk()).toBe('one');
    steps['/h2']?.();
    expect(await chunk()).toBe('two');
    stream.close();
    await aborted.get('/h2');

    const socket = await rawTls(server);
    socket.write('GET /h1 HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise<void>((resolve) => {
      let received = '';
      socket.on('data', (data) => {
        received += String(data);
        if (received.includes('one')) resolve();
      });
    });
    socket.destroy();
    await aborted.get('/h1');
  });

  it('stops asking a stream for more while its client does not read, and resets a client that never does', async () => {
    let produced = 0;
    let ended: () => void = () => {};
    const end = new Promise<void>((resolve) => {
      ended = resolve;
    });
    const server = await start(
      async () => ({
        status: 200,
        headers: {},
        body: (async function* () {
          try {
            for (;;) {
              produced += 1;
              yield Buffer.alloc(64 * 1024);
            }
          } finally {
            ended();
          }
        })(),
      }),
      { stallTimeoutMs: 100 },
    );
    const stream = http2(server).request({ ':path': '/' });
    stream.pause();
    const reset = new Promise<number>((resolve) => stream.once('close', () => resolve(stream.rstCode ?? 0)));
    stream.on('error', () => {});
    await end;
    expect(produced).toBeLessThan(40);
    stream.resume();
    expect(await reset).not.toBe(0);
  });

  it('closes a connection that has answers but whose next request never comes whole, also one that is refused an upgrade', async () => {
    const timers: { ms: number; ring: () => void; cancelled: boolean }[] = [];
    const clock: Runtime['clock'] = {
      ...runtime.clock,
      after(ms, ring) {
        const timer = { ms, ring, cancelled: false };
        timers.push(timer);
        return {
          cancel: () => {
            timer.cancelled = true;
          },
        };
      },
    };
    const server = await serveHttps(
      { ...runtime, clock },
      {
        port: 0,
        certificate: serving.certificate,
        key: serving.key,
        clientCa: clientCa.certificate,
        handle: async () => ({ status: 200, headers: {}, body: Buffer.from('ok') }),
      },
    );
    cleanups.push(() => server.close(0));
    const socket = await rawTls(server);
    const answered = new Promise((resolve) => socket.once('data', resolve));
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await answered;
    const pending = () => timers.filter(({ cancelled, ms }) => !cancelled && ms >= 30_000);
    await expect.poll(() => pending().length).toBe(1);
    socket.write('GET / HT');
    const closed = new Promise((resolve) => socket.once('close', resolve));
    for (const { ring } of pending()) ring();
    await closed;

    // It stays half open: the client does not end its side.
    const stubborn = await rawTls(server);
    stubborn.allowHalfOpen = true;
    const gone = new Promise((resolve) => stubborn.once('close', resolve));
    stubborn.on('data', () => {});
    stubborn.write('GET / HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    stubborn.once('end', () => {
      const chatter = setInterval(() => stubborn.write('x'), 5);
      stubborn.once('close', () => clearInterval(chatter));
    });
    await gone;
  });

  it('survives what is no HTTP', async () => {
    const server = await start(echo);
    for (const [alpn, bytes] of [
      ['http/1.1', 'GARBAGE\r\n\r\n'],
      ['http/1.1', `GET / HTTP/1.1\r\nx: ${'y'.repeat(70_000)}\r\n\r\n`],
      ['http/1.1', 'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n'],
      ['h2', 'PRI * HTTP/1.1\r\n\r\nnonsense'.repeat(9)],
    ] as const) {
      const socket = await rawTls(server, alpn);
      socket.removeAllListeners('error').on('error', () => {});
      const text = await new Promise<string>((resolve) => {
        let received = '';
        socket.on('data', (data) => {
          received += String(data);
        });
        socket.on('close', () => resolve(received));
        socket.write(bytes);
      });
      if (alpn === 'http/1.1') expect(text).toMatch(/^HTTP\/1\.1 4(00|31) /);
    }
    expect((await http1(server, '/')).status).toBe(200);
  });

  it('closes in good order: streams end, exchanges under way are answered, nothing new begins', async () => {
    let answer: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let slowBegan: () => void = () => {};
    const began = new Promise<void>((resolve) => {
      slowBegan = resolve;
    });
    const server = await start(async (request) => {
      if (request.path === '/slow') {
        slowBegan();
        await gate;
        return { status: 200, headers: {}, body: Buffer.from('slow') };
      }
      return {
        status: 200,
        headers: {},
        body: (async function* () {
          yield Buffer.from('first');
          const { signal } = request;
          if (!signal?.aborted)
            await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
        })(),
      };
    });
    const session = http2(server);
    const watch = session.request({ ':path': '/watch' });
    await new Promise((resolve) => watch.once('data', resolve));
    const end = new Promise<number>((resolve) => watch.once('close', () => resolve(watch.rstCode ?? 0)));
    const slow = exchange(session.request({ ':path': '/slow' }));
    await began;
    const idle = await rawTls(server, 'http/1.1');
    const closed = server.close(5_000);
    expect(await end).toBe(0);
    answer();
    expect((await slow).body.toString()).toBe('slow');
    await closed;
    if (!idle.destroyed) await new Promise((resolve) => idle.once('close', resolve));
    await expect(http1(server, '/')).rejects.toThrow('ECONNREFUSED');
  });

  it('rejects when the port is taken', async () => {
    const server = await start(echo);
    const options = {
      certificate: serving.certificate,
      key: serving.key,
      clientCa: clientCa.certificate,
      handle: echo,
    };
    await expect(serveHttps(runtime, { ...options, port: server.port })).rejects.toThrow('EADDRINUSE');
  });
});
