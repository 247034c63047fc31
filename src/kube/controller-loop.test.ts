import { describe, expect, it } from 'vitest';
import { sleep, virtualRuntime } from '../runtime/index.ts';
import { startController } from './controller-loop.ts';

describe('startController', () => {
  it('reconciles a burst for one key once, and again when it is added meanwhile', async () => {
    const runtime = virtualRuntime(1);
    const log: string[] = [];
    const controller = startController(runtime, {
      name: 'test',
      reconcile: async (key) => {
        log.push(`begin ${key}`);
        await sleep(runtime.clock, 100);
        log.push(`end ${key}`);
      },
    });
    for (let i = 0; i < 5; i++) controller.enqueue('a');
    await runtime.clock.advance(50);
    expect(log).toEqual(['begin a']);
    controller.enqueue('a');
    controller.enqueue('a');
    await runtime.clock.advance(500);
    expect(log).toEqual(['begin a', 'end a', 'begin a', 'end a']);
    expect(controller.busy).toBe(0);
  });

  it('tells when nothing is left to do, now or later', async () => {
    const runtime = virtualRuntime(1);
    const log: string[] = [];
    let isFirst = true;
    const controller = startController(runtime, {
      name: 'test',
      concurrency: 2,
      reconcile: async (key) => {
        await sleep(runtime.clock, key === 'slow' ? 50 : 10);
        log.push(key);
        if (key !== 'again' || !isFirst) return undefined;
        isFirst = false;
        return { requeueAfterMs: 1_000 };
      },
      onIdle: () => log.push('idle'),
    });
    for (const key of ['slow', 'again', 'quick']) controller.enqueue(key);
    await runtime.clock.advance(900);
    expect(log).toEqual(['again', 'quick', 'slow']);
    await runtime.clock.advance(900);
    expect(log).toEqual(['again', 'quick', 'slow', 'again', 'idle']);
    controller.enqueue('quick');
    await runtime.clock.advance(900);
    expect(log.slice(5)).toEqual(['quick', 'idle']);
    // Once, where several end at the same time.
    for (const key of ['quick', 'quicker']) controller.enqueue(key);
    await runtime.clock.advance(900);
    expect(log.slice(7)).toEqual(['quick', 'quicker', 'idle']);
  });

  it('works on several keys at a time, on one key never twice', async () => {
    const runtime = virtualRuntime(1);
    let running = 0;
    let most = 0;
    const of = new Map<string, number>();
    const controller = startController(runtime, {
      name: 'test',
      concurrency: 3,
      reconcile: async (key) => {
        running += 1;
        most = Math.max(most, running);
        of.set(key, (of.get(key) ?? 0) + 1);
        expect(of.get(key)).toBe(1);
        await sleep(runtime.clock, 10);
        of.set(key, 0);
        running -= 1;
      },
    });
    for (const key of ['a', 'b', 'c', 'd', 'e']) controller.enqueue(key);
    await runtime.clock.advance(5);
    for (const key of ['a', 'b', 'c']) controller.enqueue(key);
    await runtime.clock.advance(1000);
    expect(most).toBe(3);
    expect(running).toBe(0);
  });

  it('[A27] takes what matters more first under load, whenever it came', async () => {
    const runtime = virtualRuntime(1);
    const log: string[] = [];
    const controller = startController(runtime, {
      name: 'test',
      concurrency: 2,
      priorityOf: (key) => ({ h: 10, u: 1000 })[key[0] ?? ''] ?? 0,
      reconcile: async (key) => {
        log.push(key);
        await sleep(runtime.clock, 10);
      },
    });
    for (let index = 0; index < 500; index++) controller.enqueue(`low-${index}`);
    await runtime.clock.advance(95);
    expect(log).toHaveLength(20);
    controller.enqueue('high-1');
    controller.enqueue('high-2');
    controller.enqueue('urgent');
    await runtime.clock.advance(10);
    await runtime.clock.advance(10);
    expect(log.slice(20)).toEqual(['urgent', 'high-1', 'high-2', 'low-20']);
    await runtime.clock.advance(10_000);
    // Of the same priority each comes in its turn.
    expect(log.slice(23)).toEqual(Array.from({ length: 480 }, (_, index) => `low-${index + 20}`));
    expect(controller.busy).toBe(0);
  });

  it('moves what waits when its priority changes, and what is asked for again while it is worked on', async () => {
    const runtime = virtualRuntime(1);
    const log: string[] = [];
    const priorities: Record<string, number> = {};
    const controller = startController(runtime, {
      name: 'test',
      priorityOf: (key) => priorities[key] ?? 0,
      reconcile: async (key) => {
        log.push(key);
        await sleep(runtime.clock, 10);
      },
    });
    for (const key of ['a', 'b', 'c', 'd']) controller.enqueue(key);
    await runtime.clock.advance(5);
    priorities['d'] = 5;
    controller.enqueue('d');
    priorities['a'] = 3;
    controller.enqueue('a');
    priorities['b'] = -1;
    controller.enqueue('b');
    await runtime.clock.advance(1000);
    expect(log).toEqual(['a', 'd', 'a', 'c', 'b']);
  });

  it('the earliest of delayed asks wins', async () => {
    const runtime = virtualRuntime(1);
    const at: number[] = [];
    const controller = startController(runtime, {
      name: 'test',
      reconcile: async () => {
        at.push(runtime.clock.monotonic());
      },
    });
    controller.enqueue('a', 500);
    controller.enqueue('a', 300);
    controller.enqueue('a', 900);
    await runtime.clock.advance(2000);
    expect(at).toEqual([300]);
    controller.enqueue('a', 500);
    controller.enqueue('a');
    await runtime.clock.advance(2000);
    expect(at).toEqual([300, 2000]);
  });

  it('retries failures with growing delays and starts over after a success', async () => {
    const runtime = virtualRuntime(1);
    const at: number[] = [];
    let fails = 4;
    const controller = startController(runtime, {
      name: 'test',
      backoff: { baseMs: 100, maxMs: 300 },
      reconcile: async () => {
        at.push(runtime.clock.monotonic());
        if (fails-- > 0) throw new Error('no');
        return fails === -1 ? { requeueAfterMs: 10_000 } : undefined;
      },
    });
    controller.enqueue('a');
    await runtime.clock.advance(5_000);
    expect(at).toHaveLength(5);
    const gaps = at.slice(1).map((time, i) => time - (at[i] ?? 0));
    expect(gaps[0]).toBeGreaterThanOrEqual(80);
    expect(gaps[0]).toBeLessThanOrEqual(121);
    expect(gaps[1]).toBeGreaterThanOrEqual(160);
    expect(gaps[3]).toBeLessThanOrEqual(300);
    await runtime.clock.advance(20_000);
    expect(at).toHaveLength(6);
  });

  it('stops: aborts what runs, takes no more, resolves when all has ended', async () => {
    const runtime = virtualRuntime(1);
    const log: string[] = [];
    const controller = startController(runtime, {
      name: 'test',
      reconcile: async (key, signal) => {
        log.push(key);
        await sleep(runtime.clock, 60_000, signal);
      },
    });
    controller.enqueue('a');
    controller.enqueue('b');
    controller.enqueue('c', 1000);
    await runtime.clock.settle();
    await controller.stop();
    controller.enqueue('d');
    await runtime.clock.advance(100_000);
    expect(log).toEqual(['a']);
    expect(runtime.clock.pending()).toBe(0);
  });
});
