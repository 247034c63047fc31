import { createHash } from 'node:crypto';
import { type Duplex, duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { systemRuntime } from '../../runtime/index.ts';
import { isUpgraded, type Request, readBody, type Upgraded, type Upgrader } from '../exchange.ts';
import { failure } from '../status-error.ts';
import {
  connectHttp2,
  handlerUpgrader,
  http2Upgrader,
  joinStreams,
  serveHttp2Session,
  upgradedResponse,
} from './index.ts';

const runtime = systemRuntime();

function ends(upgrade: Upgrader | undefined, maxUpgrades?: number) {
  const [near, far] = duplexPair();
  const served = serveHttp2Session(
    runtime,
    far,
    async () => ({ status: 200, headers: {}, body: Buffer.from('ordinary') }),
    { ...(upgrade === undefined ? {} : { upgrade }), ...(maxUpgrades === undefined ? {} : { maxUpgrades }) },
  );
  const session = connectHttp2(runtime, near);
  return {
    session,
    server: served.session,
    ready: new Promise<void>((resolve) => session.once('remoteSettings', () => resolve())),
    upgrade: http2Upgrader(session, 'peer'),
  };
}

const asks = (protocol: string, more: Partial<Request> = {}): Request => ({
  method: 'GET',
  path: '/api/v1/namespaces/a/pods/b/exec?command=sh',
  headers: { connection: 'Upgrade', upgrade: protocol, 'x-a': '1' },
  ...more,
});

/** The far side of an upgraded exchange, held by the test. */
function upgraderWith(headers: Record<string, string> = {}): {
  upgrade: Upgrader;
  asked: Request[];
  far: Promise<Duplex>;
} {
  const asked: Request[] = [];
  const far = Promise.withResolvers<Duplex>();
  return {
    asked,
    far: far.promise,
    upgrade: async (request) => {
      asked.push(request);
      const [a, b] = duplexPair();
      b.on('error', () => {});
      far.resolve(b);
      return { status: 101, headers, socket: a };
    },
  };
}

async function upgraded(promise: Promise<Awaited<ReturnType<Upgrader>>>): Promise<Upgraded> {
  const answer = await promise;
  if (!isUpgraded(answer)) throw new Error(`answered ${answer.status}`);
  return answer;
}

async function all(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

const closed = (stream: Duplex): Promise<Error | undefined> =>
  new Promise((resolve) => {
    let failure: Error | undefined;
    stream.on('error', (error) => {
      failure = error;
    });
    stream.once('close', () => resolve(failure));
  });

describe('upgraded streams over HTTP/2', () => {
  it.each([
    ['websocket', 'GET'],
    ['SPDY/3.1', 'POST'],
  ])('carries %s byte by byte, with the headers of both ends', async (protocol, method) => {
    const far = upgraderWith({ 'sec-websocket-accept': 'x', connection: 'Upgrade' });
    const wire = ends(far.upgrade);
    await wire.ready;
    const answer = await upgraded(wire.upgrade(asks(protocol, { method })));
    expect(answer.headers).toMatchObject({ 'sec-websocket-accept': 'x', upgrade: protocol });
    expect(far.asked[0]).toMatchObject({
      method,
      path: '/api/v1/namespaces/a/pods/b/exec?command=sh',
      headers: { upgrade: protocol, connection: 'Upgrade', 'x-a': '1' },
    });
    const other = await far.far;
    const payload = Buffer.from(Array.from({ length: 3_000_000 }, (_, i) => i % 251));
    const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
    answer.socket.end(payload);
    expect(digest(await all(other))).toBe(digest(payload));
    // The first direction is over; the second still works.
    other.end(payload);
    expect(digest(await all(answer.socket))).toBe(digest(payload));
  });

  it('does not read ahead of a slow reader, and lets other streams pass', async () => {
    const far = upgraderWith();
    const wire = ends(far.upgrade);
    await wire.ready;
    const answer = await upgraded(wire.upgrade(asks('websocket')));
    const other = await far.far;
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const pump = (): void => {
      while (written < 64 * 1024 * 1024) {
        written += chunk.byteLength;
        if (!other.write(chunk)) break;
      }
    };
    other.on('drain', pump);
    pump();
    for (let i = 0; i < 50; i++)
      expect(
        (await readBody((await wire.upgrade({ method: 'GET', path: '/', headers: {} })) as never)).byteLength,
      ).toBe(8);
    const before = written;
    for (let i = 0; i < 20; i++) await wire.upgrade({ method: 'GET', path: '/', headers: {} });
    expect(written).toBe(before);
    expect(written).toBeLessThan(4 * 1024 * 1024);
    answer.socket.destroy();
  });

  it('tells each end when the other breaks off or the session dies', async () => {
    const near = Promise.withResolvers<Duplex>();
    const second = ends(async () => {
      const [a] = duplexPair();
      near.resolve(a);
      return { status: 101, headers: {}, socket: a };
    });
    await second.ready;
    const answer = await upgraded(second.upgrade(asks('websocket')));
    const nearClosed = closed(await near.promise);
    const gone = closed(answer.socket);
    second.server.destroy();
    expect((await gone)?.message).toMatch(/broke off/);
    await nearClosed;

    const third = ends(async () => {
      const [a] = duplexPair();
      a.resume();
      setImmediate(() => a.destroy(new Error('the pod is gone')));
      return { status: 101, headers: {}, socket: a };
    });
    await third.ready;
    const broken = await upgraded(third.upgrade(asks('websocket')));
    expect((await closed(broken.socket))?.message).toMatch(/broke off/);
  });

  it('hands on what is not switched, refuses what is too many, and says when the other end cannot', async () => {
    const forbidden = ends(async () => {
      throw failure(403, 'Forbidden', 'no exec for you');
    });
    await forbidden.ready;
    const answer = await forbidden.upgrade(asks('websocket'));
    expect(answer.status).toBe(403);
    expect(Buffer.from(await readBody(answer as never)).toString()).toContain('no exec for you');

    const plain = ends(async () => ({ status: 200, headers: {}, body: Buffer.from('ok') }));
    await plain.ready;
    expect((await plain.upgrade(asks('websocket'))).status).toBe(502);

    const far = upgraderWith();
    const few = ends(far.upgrade, 1);
    await few.ready;
    const one = await upgraded(few.upgrade(asks('websocket')));
    expect((await few.upgrade(asks('websocket'))).status).toBe(429);
    one.socket.destroy();

    const none = ends(undefined);
    await none.ready;
    expect((await none.upgrade(asks('websocket'))).status).toBe(501);
  });

  it('takes back a request that nobody waits for any more', async () => {
    const seen = Promise.withResolvers<AbortSignal | undefined>();
    const wire = ends((request) => {
      seen.resolve(request.signal);
      return new Promise(() => {});
    });
    await wire.ready;
    const abort = new AbortController();
    const asking = wire.upgrade(asks('websocket', { signal: abort.signal }));
    const signal = await seen.promise;
    const aborted = new Promise((resolve) => signal?.addEventListener('abort', resolve));
    abort.abort(new Error('never mind'));
    await expect(asking).rejects.toThrow('never mind');
    await aborted;
  });
});

describe('handlers that take connections over', () => {
  it('are upgraders, and upgraders are such handlers', async () => {
    const far = upgraderWith({ upgrade: 'websocket', 'sec-websocket-protocol': 'v5.channel.k8s.io' });
    const upgrade = handlerUpgrader(async (request) => {
      const answer = await far.upgrade(request);
      return isUpgraded(answer) ? upgradedResponse(answer) : answer;
    });
    const answer = await upgraded(upgrade(asks('websocket')));
    expect(answer.headers).toMatchObject({ 'sec-websocket-protocol': 'v5.channel.k8s.io' });
    const other = await far.far;
    answer.socket.end('to the pod');
    expect((await all(other)).toString()).toBe('to the pod');
    other.end('from the pod');
    expect((await all(answer.socket)).toString()).toBe('from the pod');
  });

  it('end the conversation when the caller goes', async () => {
    const signal = Promise.withResolvers<AbortSignal>();
    const upgrade = handlerUpgrader(async (request) => ({
      status: 101,
      headers: {},
      body: new Uint8Array(),
      takeOver: (socket) => {
        socket.write('hello');
        if (request.signal) signal.resolve(request.signal);
        return new Promise(() => {});
      },
    }));
    const answer = await upgraded(upgrade(asks('websocket')));
    const given = await signal.promise;
    answer.socket.destroy();
    await new Promise<void>((resolve) =>
      given.aborted ? resolve() : given.addEventListener('abort', () => resolve()),
    );
  });
});

describe('joinStreams', () => {
  it('is over when both directions are, and destroys one when the other breaks', async () => {
    const [a, b] = duplexPair();
    const [c, d] = duplexPair();
    const joined = joinStreams(b, c);
    a.end('ping');
    expect((await all(d)).toString()).toBe('ping');
    d.end('pong');
    expect((await all(a)).toString()).toBe('pong');
    await joined;

    const [e] = duplexPair();
    const [f] = duplexPair();
    const broken = joinStreams(e, f);
    const other = closed(f);
    e.destroy(new Error('cut'));
    expect((await other)?.message).toBe('cut');
    await broken;
  });
});
