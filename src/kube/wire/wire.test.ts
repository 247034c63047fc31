import { duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { systemRuntime } from '../../runtime/index.ts';
import { type Handler, type Request, readBody } from '../exchange.ts';
import { connectHttp2, ExchangeError, http2Handler, serveHttp2Session } from './index.ts';

const runtime = systemRuntime();

/** Two ends of HTTP/2 over a pair of streams, without a socket. */
function ends(handle: Handler): {
  ask: Handler;
  close(): Promise<void>;
  destroy(): void;
  destroyOwn(): void;
} {
  const [near, far] = duplexPair();
  const served = serveHttp2Session(runtime, far, handle);
  const session = connectHttp2(runtime, near);
  return {
    ask: http2Handler(session, 'peer'),
    close: () => served.close(1000),
    destroy: () => served.session.destroy(),
    destroyOwn: () => session.destroy(),
  };
}

const get = (path: string, more: Partial<Request> = {}): Request => ({
  method: 'GET',
  path,
  headers: {},
  ...more,
});

describe('handlers over HTTP/2', () => {
  it('cannot be told from the handler behind them', async () => {
    const wire = ends(async (request) => ({
      status: 418,
      headers: { 'x-seen': `${request.headers['x-a']} ${request.headers.host}` },
      body: Buffer.from(`${request.method} ${request.path} ${request.body?.byteLength}`),
    }));
    const response = await wire.ask({
      method: 'PATCH',
      path: '/x?y=%2F',
      headers: { 'x-a': '1', host: 'h', connection: 'close', 'transfer-encoding': 'chunked' },
      body: Buffer.from('abc'),
    });
    expect(response.status).toBe(418);
    expect(response.headers).toMatchObject({ 'x-seen': '1 h', 'content-length': '16' });
    expect(Buffer.from(await readBody(response)).toString()).toBe('PATCH /x?y=%2F 3');
    await wire.close();
  });

  it('rejects what cannot be sent, and everything once the session is closed', async () => {
    const wire = ends(async () => ({ status: 200, headers: {}, body: new Uint8Array() }));
    await expect(wire.ask(get('/', { headers: { 'x-a': 'a\r\nb: c' } }))).rejects.toThrow(ExchangeError);
    await expect(wire.ask(get('/', { signal: AbortSignal.abort(new Error('late')) }))).rejects.toThrow(
      'late',
    );
    expect((await wire.ask(get('/'))).status).toBe(200);
    await wire.close();
    await expect(wire.ask(get('/'))).rejects.toThrow(ExchangeError);
  });

  it('lets a stream flow as fast as it is read, and stops it when the reader goes', async () => {
    let stopped: () => void = () => {};
    const isStopped = new Promise<void>((resolve) => {
      stopped = resolve;
    });
    let given = 0;
    let resumes = 0;
    const wire = ends(async () => ({
      status: 200,
      headers: {},
      body: {
        flow(take: (chunk: Uint8Array) => boolean, end: () => void) {
          const go = (): void => {
            do given += 1;
            while (take(Buffer.alloc(64 * 1024, given)) && given < 10_000);
          };
          go();
          return {
            resume() {
              resumes += 1;
              go();
            },
            stop() {
              end();
              stopped();
            },
          };
        },
        [Symbol.asyncIterator]: () => {
          throw new Error('it is let flow');
        },
      },
    }));
    const response = await wire.ask(get('/'));
    if (response.body instanceof Uint8Array) throw new Error('no stream');
    let read = 0;
    for await (const chunk of response.body) {
      read += chunk.byteLength;
      if (read > 8 * 1024 * 1024) break;
    }
    await isStopped;
    expect(resumes).toBeGreaterThan(0);
    expect(given).toBeLessThan(1_000);
    await wire.close();
  });

  it('fails a stream that its producer broke off, and one whose session died', async () => {
    const wire = ends(async (request) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from('part');
        if (request.path === '/throw') throw new Error('broken');
        await new Promise<void>((resolve) => request.signal?.addEventListener('abort', () => resolve()));
      })(),
    }));
    await expect(readBody(await wire.ask(get('/throw')))).rejects.toThrow('GET /throw failed');
    const body = readBody(await wire.ask(get('/hang')));
    wire.destroy();
    await expect(body).rejects.toThrow(/broke off|failed/);
  });

  it('does not take a part for the whole when its own session dies between two chunks', async () => {
    const wire = ends(async (request) => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from('part');
        await new Promise<void>((resolve) => request.signal?.addEventListener('abort', () => resolve()));
      })(),
    }));
    const { body } = await wire.ask(get('/hang'));
    const chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    expect((await chunks.next()).done).toBe(false);
    wire.destroyOwn();
    await expect(chunks.next()).rejects.toThrow(/broke off|failed/);
    await wire.close();
  });

  it('ends a read that waits when the reader leaves', async () => {
    const wire = ends(async () => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from('part');
        await new Promise(() => {});
      })(),
    }));
    const { body } = await wire.ask(get('/hang'));
    const chunks = (body as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
    await chunks.next();
    const pending = chunks.next();
    pending.catch(() => {});
    await chunks.return?.();
    await expect(pending).rejects.toThrow('broke off');
    wire.destroy();
  });
});
