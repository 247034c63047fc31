import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Duplex, duplexPair } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { isUpgraded, type Request, readBody, type Upgrader } from '../kube/exchange.ts';
import { httpHandler } from '../kube/http-handler.ts';
import { startFaultProxy } from '../kube/wire/fault-proxy.fixture.ts';
import { serveHttp1Upgrade } from '../kube/wire/index.ts';
import { systemRuntime, virtualRuntime } from '../runtime/index.ts';
import { directLink, type Link, LinkDown, memoryLink } from './index.ts';
import { afterwards, ask, changeOf, cleanUp, enrolled, startHub, startSpoke } from './tunnel.fixture.ts';

const runtime = systemRuntime();
afterEach(cleanUp);

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Duplex>();
  server.on('connection', (socket) => sockets.add(socket.on('error', () => {})));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterwards(() => {
    for (const socket of sockets) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** An API server whose pods shout back what they are told, by either protocol. */
function shoutingServer(seen: Request['headers'][] = []): Server {
  const server = createServer((_request, response) => response.writeHead(400).end('upgrade required'));
  server.on('upgrade', (request, socket, head) => {
    seen.push(request.headers as Request['headers']);
    socket.on('error', () => {});
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\nX-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\n`,
    );
    socket.unshift(head);
    socket.on('data', (data: Buffer) => socket.write(data.toString('latin1').toUpperCase(), 'latin1'));
    socket.on('end', () => socket.end());
  });
  return server;
}

const exec = (protocol: string, more: Partial<Request> = {}): Request => ({
  method: protocol === 'websocket' ? 'GET' : 'POST',
  path: '/api/v1/namespaces/a/pods/b/exec?command=sh&stdin=true',
  headers: { upgrade: protocol, connection: 'Upgrade', 'x-stream-protocol-version': 'v4.channel.k8s.io' },
  ...more,
});

async function open(link: Link, request: Request): Promise<Duplex> {
  const answer = await link.upgrade?.(request);
  if (answer === undefined || !isUpgraded(answer)) throw new Error(`answered ${answer?.status}`);
  return answer.socket;
}

async function all(stream: Duplex): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += (chunk as Buffer).toString('latin1');
  return text;
}

const failureOf = (stream: Duplex): Promise<Error | undefined> =>
  new Promise((resolve) => {
    let failure: Error | undefined;
    stream.on('error', (error) => {
      failure = error;
    });
    stream.once('close', () => resolve(failure));
  });

/** A stream whose other end only listens. */
const silent: Upgrader = async () => {
  const [a, b] = duplexPair();
  b.on('error', () => {}).resume();
  return { status: 101, headers: {}, socket: a };
};

describe('upgrades through a tunnel', () => {
  it.each(['websocket', 'SPDY/3.1'])(
    '[S103] carries exec by %s from a client of the hub to a real server of the spoke',
    async (protocol) => {
      const seen: Request['headers'][] = [];
      const api = httpHandler({ url: await listen(shoutingServer(seen)), token: 'spoke-token' });
      afterwards(() => api.close());
      const hub = await startHub();
      startSpoke(hub.port, { keyStore: await enrolled('one'), serve: api, serveUpgrade: api.upgrade });
      const link = await hub.up('one');
      // The hub's own door: an HTTP/1.1 server that hands upgrades to the link.
      const door = createServer();
      door.on('upgrade', (request, socket, head) => {
        if (link.upgrade !== undefined) void serveHttp1Upgrade(runtime, request, socket, head, link.upgrade);
      });
      const client = httpHandler({ url: await listen(door) });
      afterwards(() => client.close());
      const answer = await client.upgrade(exec(protocol));
      if (!isUpgraded(answer)) throw new Error(`answered ${answer.status}`);
      expect(answer.headers).toMatchObject({
        upgrade: protocol,
        'x-stream-protocol-version': 'v4.channel.k8s.io',
      });
      const text = 'all the bytes, '.repeat(50_000);
      answer.socket.end(text);
      expect(await all(answer.socket)).toBe(text.toUpperCase());
      expect(seen[0]).toMatchObject({ authorization: 'Bearer spoke-token', upgrade: protocol });
    },
  );

  it('[S119] goes down a chain of hubs that are spokes themselves, each dialled from below', async () => {
    const api = httpHandler({ url: await listen(shoutingServer()) });
    afterwards(() => api.close());
    const root = await startHub();
    const middle = await startHub();
    startSpoke(middle.port, {
      spoke: 'leaf',
      keyStore: await enrolled('leaf'),
      serve: async ({ path }) => ({ status: 200, headers: {}, body: Buffer.from(`leaf ${path}`) }),
      serveUpgrade: api.upgrade,
    });
    const leaf = await middle.up('leaf');
    const below = (request: Request): Request => ({
      ...request,
      path: request.path.replace('/clusters/leaf', ''),
    });
    startSpoke(root.port, {
      spoke: 'middle',
      keyStore: await enrolled('middle'),
      serve: (request) => leaf.handler(below(request)),
      serveUpgrade: (request) => leaf.upgrade?.(below(request)) ?? silent(request),
    });
    const link = await root.up('middle');
    expect(await ask(link, '/clusters/leaf/api')).toBe('leaf /api');
    const shell = await open(link, exec('SPDY/3.1', { path: '/clusters/leaf/exec' }));
    shell.end('from the root');
    expect(await all(shell)).toBe('FROM THE ROOT');
  });

  it('hands on what the spoke does not switch', async () => {
    const api = httpHandler({ url: await listen(shoutingServer()) });
    afterwards(() => api.close());
    const hub = await startHub();
    startSpoke(hub.port, { keyStore: await enrolled('one'), serve: api, serveUpgrade: api.upgrade });
    startSpoke(hub.port, { keyStore: await enrolled('two'), spoke: 'two' });
    const refused = await (await hub.up('one')).upgrade?.({
      method: 'GET',
      path: '/',
      headers: { upgrade: '' },
    });
    expect(refused?.status).toBe(400);
    const none = await (await hub.up('two')).upgrade?.(exec('websocket'));
    expect(none?.status).toBe(501);
  });

  it('cuts streams and watches at once when the spoke is revoked', async () => {
    const hub = await startHub();
    const far = Promise.withResolvers<Duplex>();
    startSpoke(hub.port, {
      keyStore: await enrolled('one'),
      serve: async ({ signal }) => ({
        status: 200,
        headers: {},
        body: (async function* () {
          yield Buffer.from('event');
          await new Promise((resolve) => signal?.addEventListener('abort', resolve));
        })(),
      }),
      serveUpgrade: async () => {
        const [a, b] = duplexPair();
        far.resolve(a);
        b.on('error', () => {}).resume();
        return { status: 101, headers: {}, socket: a };
      },
    });
    const link = await hub.up('one');
    const shell = await open(link, exec('SPDY/3.1'));
    const shellEnd = failureOf(shell);
    const podEnd = failureOf(await far.promise);
    const watch = readBody(await link.handler({ method: 'GET', path: '/pods?watch=1', headers: {} }));
    watch.catch(() => {});
    expect(link.stats?.().openStreams).toBe(2);
    hub.revoked.add('one');
    hub.listener.disconnect('one', 'the spoke was removed');
    expect(link.up).toBe(false);
    expect(await shellEnd).toBeInstanceOf(LinkDown);
    expect((await shellEnd)?.message).toContain('the spoke was removed');
    await expect(watch).rejects.toThrow(LinkDown);
    await podEnd;
    await expect(open(link, exec('websocket'))).rejects.toThrow(LinkDown);
  });

  it('breaks streams when the network does, on both ends', async () => {
    const hub = await startHub();
    const wire = await startFaultProxy(runtime, { target: { port: hub.port } });
    afterwards(() => wire.close());
    const far = Promise.withResolvers<Duplex>();
    startSpoke(wire.port, {
      keyStore: await enrolled('one'),
      serveUpgrade: async () => {
        const [a] = duplexPair();
        far.resolve(a);
        return { status: 101, headers: {}, socket: a };
      },
    });
    const link = await hub.up('one');
    const ends = Promise.all([failureOf(await open(link, exec('websocket'))), failureOf(await far.promise)]);
    wire.cut('reset');
    const [near] = await ends;
    expect(near).toBeInstanceOf(LinkDown);
  });

  it('lets a stream that nobody reads hold up neither requests nor other streams', async () => {
    const hub = await startHub();
    let flooded = 0;
    startSpoke(hub.port, {
      keyStore: await enrolled('one'),
      serveUpgrade: async ({ path }) => {
        const [a, b] = duplexPair();
        b.on('error', () => {});
        if (path === '/echo') b.pipe(b);
        else {
          b.resume();
          const flood = (): void => {
            while (!b.destroyed && b.write(Buffer.alloc(64 * 1024))) flooded += 64 * 1024;
          };
          b.on('drain', flood);
          flood();
        }
        return { status: 101, headers: {}, socket: a };
      },
    });
    const link = await hub.up('one');
    const slow = await Promise.all(
      Array.from({ length: 40 }, () => open(link, exec('websocket', { path: '/flood' }))),
    );
    const quick = await open(link, exec('websocket', { path: '/echo' }));
    for (let i = 0; i < 30; i++) expect(await ask(link, `/${i}`)).toBe(`GET /${i} `);
    const before = flooded;
    quick.end('x'.repeat(3_000_000));
    expect(await all(quick)).toHaveLength(3_000_000);
    expect(flooded).toBe(before);
    expect(flooded).toBeLessThan(40 * 1024 * 1024);
    for (const stream of slow) stream.destroy();
  });

  it('counts bytes, streams and connections of each spoke', async () => {
    const hub = await startHub();
    const wire = await startFaultProxy(runtime, { target: { port: hub.port } });
    afterwards(() => wire.close());
    startSpoke(wire.port, { keyStore: await enrolled('one') });
    const link = await hub.up('one');
    await ask(link, '/x', 'y'.repeat(100_000));
    const first = link.stats?.();
    expect(first).toMatchObject({ connections: 1, reconnects: 0, openStreams: 0 });
    expect(first?.bytesIn).toBeGreaterThan(100_000);
    expect(first?.bytesOut).toBeGreaterThan(100_000);
    wire.cut();
    await changeOf(link, ({ up }) => !up);
    await changeOf(link, ({ up }) => up);
    const second = link.stats?.();
    expect(second).toMatchObject({ connections: 2, reconnects: 1 });
    expect(second?.bytesIn).toBeGreaterThanOrEqual(first?.bytesIn ?? 0);
    expect(second?.streams).toBeGreaterThan(first?.streams ?? 0);
  });
});

describe('upgrades of a direct link', () => {
  it('are those of its client', () => {
    const virtual = virtualRuntime(1);
    const handler = async () => ({ status: 200, headers: {}, body: new Uint8Array() });
    const link = directLink(virtual, 'one', handler, { upgrade: silent });
    expect(link.upgrade).toBe(silent);
    link.close();
  });
});

describe('upgrades of a memory link', () => {
  const ok = async () => ({ status: 200, headers: {}, body: new Uint8Array() });

  it('take the latency of the link, keep the order, and end each way on its own', async () => {
    const virtual = virtualRuntime(1);
    const [a, b] = duplexPair();
    const link = memoryLink(virtual, 'one', ok, {
      latencyMs: 30,
      upgrade: async () => ({ status: 101, headers: {}, socket: a }),
    });
    const opening = open(link, exec('websocket'));
    await virtual.clock.advance(59);
    let stream: Duplex | undefined;
    void opening.then((opened) => {
      stream = opened;
    });
    await virtual.clock.settle();
    expect(stream).toBeUndefined();
    await virtual.clock.advance(1);
    const near = await opening;
    const heard = all(b);
    for (const word of ['one', ' two', ' three']) near.write(word);
    near.end();
    await virtual.clock.advance(200);
    expect(await heard).toBe('one two three');
    const answer = all(near);
    b.end('answer');
    await virtual.clock.advance(100);
    expect(await answer).toBe('answer');
  });

  it('break with LinkDown when the link is cut', async () => {
    const virtual = virtualRuntime(1);
    const [a] = duplexPair();
    const link = memoryLink(virtual, 'one', ok, {
      upgrade: async () => ({ status: 101, headers: {}, socket: a }),
    });
    const near = await open(link, exec('websocket'));
    const [end, far] = [failureOf(near), failureOf(a)];
    link.cut('partition');
    expect(await end).toBeInstanceOf(LinkDown);
    await far;
    await expect(open(link, exec('websocket'))).rejects.toThrow(LinkDown);
  });
});
