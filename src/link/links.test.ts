import { describe, expect, it } from 'vitest';
import { type Handler, readBody } from '../kube/exchange.ts';
import { sleep, virtualRuntime } from '../runtime/index.ts';
import { directLink, LinkDown, type LinkState, memoryLink } from './index.ts';

const request = (path: string) => ({ method: 'GET', path, headers: {} });
const ok: Handler = async () => ({ status: 200, headers: {}, body: Buffer.from('ok') });

describe('memoryLink', () => {
  it('carries requests, with latency both ways', async () => {
    const runtime = virtualRuntime(1);
    const link = memoryLink(runtime, 'one', ok, { latencyMs: 30 });
    const answer = link.handler(request('/'));
    let answeredAt = -1;
    void answer.then(() => {
      answeredAt = runtime.clock.monotonic();
    });
    await runtime.clock.advance(100);
    expect(answeredAt).toBe(60);
    expect(Buffer.from(await readBody(await answer)).toString()).toBe('ok');
  });

  it('fails what is under way and what comes when it is cut, aborts it at the spoke, and works again once healed', async () => {
    const runtime = virtualRuntime(1);
    const aborted: string[] = [];
    const link = memoryLink(runtime, 'one', async (asked) => {
      asked.signal?.addEventListener('abort', () => aborted.push(asked.path));
      if (asked.path === '/slow') await sleep(runtime.clock, 1000);
      if (asked.path !== '/watch') return ok(asked);
      return {
        status: 200,
        headers: {},
        body: (async function* () {
          for (let i = 0; ; i++) {
            yield Buffer.from(String(i));
            await sleep(runtime.clock, 10, asked.signal);
          }
        })(),
      };
    });
    const changes: LinkState[] = [];
    link.onChange((state) => changes.push(state));
    const slow = link.handler(request('/slow'));
    const seen: string[] = [];
    const watching = (async () => {
      const { body } = await link.handler(request('/watch'));
      for await (const chunk of body as AsyncIterable<Uint8Array>) seen.push(Buffer.from(chunk).toString());
    })();
    const outcomes = Promise.allSettled([slow, watching, runtime.clock.advance(25)]);
    await runtime.clock.settle();
    await runtime.clock.advance(25);
    link.cut('partition');
    const [first, second] = await outcomes;
    expect(first).toMatchObject({ status: 'rejected', reason: expect.any(LinkDown) });
    expect(second).toMatchObject({
      status: 'rejected',
      reason: { message: 'spoke "one" cannot be reached: partition' },
    });
    expect(seen.length).toBeGreaterThan(1);
    expect(aborted.sort()).toEqual(['/slow', '/watch']);
    await expect(link.handler(request('/'))).rejects.toThrow(LinkDown);
    link.heal();
    expect((await link.handler(request('/'))).status).toBe(200);
    expect(changes.map(({ up, reason }) => [up, reason])).toEqual([
      [false, 'Cut'],
      [true, 'Connected'],
    ]);
  });

  it('ends a stream at the spoke when its reader leaves', async () => {
    const runtime = virtualRuntime(1);
    let ended = false;
    const link = memoryLink(runtime, 'one', async () => ({
      status: 200,
      headers: {},
      body: (async function* () {
        try {
          for (;;) yield Buffer.from('x');
        } finally {
          ended = true;
        }
      })(),
    }));
    const { body } = await link.handler(request('/'));
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      expect(chunk.byteLength).toBe(1);
      break;
    }
    await runtime.clock.settle();
    expect(ended).toBe(true);
  });
});

describe('directLink', () => {
  it('is up while the probe is answered, and down after two that are not', async () => {
    const runtime = virtualRuntime(1);
    let mode: 'ok' | 'error' | 'hang' = 'ok';
    const link = directLink(
      runtime,
      'one',
      (asked) => {
        if (mode === 'ok') return ok(asked);
        if (mode === 'error') return Promise.resolve({ status: 500, headers: {}, body: new Uint8Array() });
        return new Promise((_resolve, reject) =>
          asked.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
        );
      },
      { probeIntervalMs: 1000, probeTimeoutMs: 100 },
    );
    expect(link.up).toBe(false);
    await runtime.clock.settle();
    expect(link.state).toMatchObject({ up: true, reason: 'Connected' });
    mode = 'error';
    await runtime.clock.advance(1200);
    expect(link.up).toBe(true);
    await runtime.clock.advance(1200);
    expect(link.state).toMatchObject({ up: false, reason: 'ProbeFailed', message: '/readyz answered 500' });
    mode = 'ok';
    await runtime.clock.advance(1200);
    expect(link.up).toBe(true);
    mode = 'hang';
    await runtime.clock.advance(3000);
    expect(link.state.message).toBe('no answer to /readyz within 100 ms');
    link.close();
    expect(link.state.reason).toBe('Stopped');
    await runtime.clock.advance(5000);
    expect(runtime.clock.pending()).toBe(0);
  });
});
