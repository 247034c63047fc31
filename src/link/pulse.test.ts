import { EventEmitter } from 'node:events';
import type { Http2Session } from 'node:http2';
import { describe, expect, it } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import { pulse } from './pulse.ts';

type Answer = (error: Error | null) => void;

/** A session of which only pings are known. */
function session(answers: (ping: number) => boolean): { session: Http2Session; pings: number } {
  const state = { pings: 0, session: undefined as unknown as Http2Session };
  const fake = Object.assign(new EventEmitter(), {
    destroyed: false,
    ping(answer: Answer): boolean {
      state.pings += 1;
      if (answers(state.pings)) answer(null);
      return true;
    },
  });
  state.session = fake as unknown as Http2Session;
  return state;
}

describe('pulse', () => {
  it('pings each session about once in an interval, under one timer, and none at rest', async () => {
    const runtime = virtualRuntime(1);
    const beat = pulse(runtime, 30_000, 5_000);
    const all = Array.from({ length: 100 }, () => session(() => true));
    const stops = all.map((each) => beat.watch(each.session, () => expect.unreachable()));
    expect(runtime.clock.pending()).toBe(1);
    await runtime.clock.advance(300_000);
    for (const { pings } of all) {
      expect(pings).toBeGreaterThanOrEqual(9);
      expect(pings).toBeLessThanOrEqual(11);
    }
    expect(runtime.clock.pending()).toBe(1);
    for (const stop of stops) stop();
    expect(runtime.clock.pending()).toBe(0);
  });

  it.each([
    [5_000, 5_000],
    [30_000, 5_000],
    [20, 60],
    [1_000, 10_000],
  ])('finds silence within interval and timeout (%d, %d)', async (interval, timeout) => {
    for (let offset = 0; offset < 16; offset++) {
      const runtime = virtualRuntime(1);
      const beat = pulse(runtime, interval, timeout);
      let silentFrom = Number.POSITIVE_INFINITY;
      let deadAt = -1;
      let deaths = 0;
      for (let i = 0; i < offset; i++) beat.watch(session(() => true).session, () => expect.unreachable());
      const one = session(() => runtime.clock.monotonic() < silentFrom);
      beat.watch(one.session, () => {
        deadAt = runtime.clock.monotonic();
        deaths += 1;
      });
      await runtime.clock.advance(interval * 2 + (interval * offset) / 16);
      silentFrom = runtime.clock.monotonic();
      await runtime.clock.advance(interval * 2 + timeout * 2);
      expect(deaths).toBe(1);
      expect(deadAt - silentFrom).toBeLessThanOrEqual(interval + timeout);
      expect(deadAt - silentFrom).toBeGreaterThanOrEqual(timeout);
    }
  });

  it('takes a session away when it closes', async () => {
    const runtime = virtualRuntime(1);
    const one = session(() => false);
    pulse(runtime, 1_000, 1_000).watch(one.session, () => expect.unreachable());
    await runtime.clock.advance(500);
    expect(one.pings).toBe(1);
    one.session.emit('close');
    await runtime.clock.advance(10_000);
    expect(runtime.clock.pending()).toBe(0);
  });

  it('blames nobody for the time that this process slept through', async () => {
    let now = 0;
    const timers: { at: number; act: () => void }[] = [];
    const runtime = {
      ...virtualRuntime(1),
      clock: {
        now: () => now,
        monotonic: () => now,
        defer: (act: () => void) => act(),
        after(delayMs: number, act: () => void) {
          const timer = { at: now + delayMs, act };
          timers.push(timer);
          return { cancel: () => void timers.splice(timers.indexOf(timer), 1) };
        },
      },
    };
    const pass = (ms: number): void => {
      for (const end = now + ms; ; ) {
        const next = timers.filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
        if (next === undefined) {
          now = end;
          return;
        }
        timers.splice(timers.indexOf(next), 1);
        now = Math.max(now, next.at);
        next.act();
      }
    };
    let waiting: Answer[] = [];
    const one = Object.assign(new EventEmitter(), {
      destroyed: false,
      ping(answer: Answer): boolean {
        waiting.push(answer);
        return true;
      },
    });
    let dead = false;
    pulse(runtime, 1_000, 1_000).watch(one as unknown as Http2Session, () => {
      dead = true;
    });
    pass(500);
    expect(waiting).toHaveLength(1);
    // A laptop was closed for an hour, with the answer in its socket's buffer.
    now += 3_600_000;
    pass(200);
    expect(dead).toBe(false);
    for (const answer of waiting.splice(0)) answer(null);
    pass(1_000);
    waiting = [];
    expect(dead).toBe(false);
    pass(3_000);
    expect(dead).toBe(true);
  });
});
