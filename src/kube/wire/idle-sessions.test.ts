import { type ClientHttp2Session, type ClientHttp2Stream, connect } from 'node:http2';
import { duplexPair, PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger, systemRuntime, virtualClock } from '../../runtime/index.ts';
import { serveHttp2Session } from './index.ts';

const IDLE_MS = 90_000;

const cleanups: (() => unknown)[] = [];
afterEach(() => {
  for (const cleanup of cleanups.splice(0).reverse()) cleanup();
});

interface Ends {
  readonly clock: ReturnType<typeof virtualClock>;
  readonly client: ClientHttp2Session;
  /** What the server told: codes of its GOAWAYs, then that the session is over. */
  readonly told: (number | 'closed')[];
}

function ends(): Ends {
  const clock = virtualClock();
  const runtime = { ...systemRuntime(), clock, log: silentLogger };
  const [near, far] = duplexPair();
  serveHttp2Session(
    runtime,
    far,
    async ({ path, signal }) => ({
      status: 200,
      headers: {},
      body:
        path === '/watch'
          ? (async function* () {
              yield Buffer.from('first');
              await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
            })()
          : Buffer.from('ok'),
    }),
    {
      idleTimeoutMs: IDLE_MS,
      upgrade: async () => ({ status: 101, headers: {}, socket: new PassThrough() }),
    },
  );
  const client = connect('http://peer', { createConnection: () => near });
  const told: (number | 'closed')[] = [];
  client
    .on('goaway', (code) => told.push(code))
    .on('close', () => told.push('closed'))
    .on('error', () => {});
  cleanups.push(() => client.destroy());
  return { clock, client, told };
}

function over(stream: ClientHttp2Stream): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.resume().once('close', resolve).once('error', reject).end();
  });
}

const ping = (client: ClientHttp2Session): Promise<void> =>
  new Promise((resolve, reject) => {
    client.ping((error) => (error === null ? resolve() : reject(error)));
  });

describe('a session that nobody uses', () => {
  it('is told to go and closed, counted from its last stream, however often it is pinged', async () => {
    const { clock, client, told } = ends();
    await over(client.request({ ':path': '/' }));
    await clock.advance(IDLE_MS - 1);
    await over(client.request({ ':path': '/' }));
    for (let passed = 0; passed < IDLE_MS - 1_000; passed += 30_000) {
      await ping(client);
      await clock.advance(Math.min(30_000, IDLE_MS - 1_000 - passed));
    }
    await ping(client);
    expect(told).toEqual([]);
    await clock.advance(1_000);
    await expect.poll(() => told).toEqual([0, 'closed']);
    await expect.poll(() => clock.pending()).toBe(0);
  });

  it('is closed also when it never had a stream', async () => {
    const { clock, client, told } = ends();
    await ping(client);
    await clock.advance(IDLE_MS);
    await expect.poll(() => told).toEqual([0, 'closed']);
  });

  it('is one without watches and without upgraded streams', async () => {
    const { clock, client, told } = ends();
    const watch = client.request({ ':path': '/watch' });
    await new Promise((resolve) => watch.once('data', resolve));
    await over(client.request({ ':path': '/' }));
    await clock.advance(10 * IDLE_MS);
    expect(clock.pending()).toBe(0);
    await new Promise<void>((resolve) => {
      if (client.remoteSettings.enableConnectProtocol) resolve();
      else client.once('remoteSettings', () => resolve());
    });
    const shell = client.request({ ':method': 'CONNECT', ':protocol': 'websocket', ':path': '/exec' });
    await new Promise((resolve) => shell.once('response', resolve));
    watch.close();
    await new Promise((resolve) => watch.once('close', resolve));
    await clock.advance(10 * IDLE_MS);
    await ping(client);
    expect(told).toEqual([]);
    shell.close();
    await new Promise((resolve) => shell.once('close', resolve));
    await ping(client);
    await clock.advance(IDLE_MS);
    await expect.poll(() => told).toEqual([0, 'closed']);
  });
});
