import { describe, expect, it } from 'vitest';
import { type FairQueueOptions, fairQueue, type Leave, type RequestKind } from './index.ts';

/** An event loop in which each request takes a millisecond of the only thread, and a turn takes as long as its requests. */
function eventLoop(options: FairQueueOptions = {}) {
  let now = 0;
  let deferred: (() => void)[] = [];
  const queue = fairQueue({ defer: (callback) => deferred.push(callback), monotonic: () => now }, options);
  const arrivals: { at: number; come: () => void }[] = [];
  let running: (() => void)[] = [];

  function send(cluster: string, kind: RequestKind, done: (latency: number, refused: boolean) => void): void {
    const sent = now;
    const serve = (leave: Leave): void => {
      running.push(() => {
        now += 1;
        leave();
        done(now - sent, false);
      });
    };
    const seat = queue.enter(cluster, kind);
    if (seat === undefined) done(0, true);
    else if (typeof seat === 'function') serve(seat);
    else seat.then(serve);
  }

  async function run(until: number): Promise<void> {
    while (now < until) {
      for (const { come } of arrivals.filter(({ at }) => at <= now)) come();
      arrivals.splice(0, arrivals.length, ...arrivals.filter(({ at }) => at > now));
      const callbacks = deferred;
      deferred = [];
      for (const callback of callbacks) callback();
      await settled();
      const batch = running;
      running = [];
      for (const serve of batch) serve();
      await settled();
      if (batch.length === 0 && deferred.length === 0) now += 1;
    }
  }

  return {
    send,
    run,
    at: (time: number, come: () => void) => arrivals.push({ at: time, come }),
    waiting: () => queue.waiting,
    now: () => now,
  };
}

/** Lets promises that are resolved be heard. */
async function settled(): Promise<void> {
  for (let i = 0; i < 4; i++) await Promise.resolve();
}

function p99(latencies: number[]): number {
  return latencies.sort((a, b) => a - b)[Math.ceil(latencies.length * 0.99) - 1] ?? Number.NaN;
}

/** Latencies of a quiet cluster's requests, one each 25 ms, beside `noise` clients that never pause. */
async function quietBeside(
  noise: number,
  kind: RequestKind,
  noiseKinds: readonly RequestKind[] = [kind],
): Promise<number[]> {
  const loop = eventLoop();
  const latencies: number[] = [];
  let noisy = 0;
  const again = (noiseKind: RequestKind): void =>
    loop.send('noisy', noiseKind, (_latency, refused) => {
      noisy += 1;
      if (refused) loop.at(loop.now() + 10, () => again(noiseKind));
      else again(noiseKind);
    });
  for (let i = 0; i < noise; i++) for (const noiseKind of noiseKinds) loop.at(0, () => again(noiseKind));
  for (let time = 100; time < 10_000; time += 25)
    loop.at(time, () => loop.send('quiet', kind, (latency) => latencies.push(latency)));
  await loop.run(10_000);
  // Whoever is noisy gets all that others leave.
  if (noise > 0) expect(noisy).toBeGreaterThan(8000);
  return latencies;
}

describe('the queue of requests', () => {
  it.each(['reading', 'writing'] as const)(
    '[V68] keeps the p99 of the others below three times what it is alone (%s)',
    async (kind) => {
      const alone = await quietBeside(0, kind);
      const beside = await quietBeside(1000, kind);
      expect(beside.length).toBeGreaterThan(390);
      expect(p99(beside)).toBeLessThanOrEqual(3 * p99(alone));
    },
  );

  it.each(['reading', 'writing'] as const)(
    '[V68] keeps it so where the noisy one floods with both kinds at once (%s)',
    async (kind) => {
      const alone = await quietBeside(0, kind);
      const beside = await quietBeside(500, kind, ['reading', 'writing']);
      expect(beside.length).toBeGreaterThan(390);
      expect(p99(beside)).toBeLessThanOrEqual(3 * p99(alone));
    },
  );

  it('[V68] lets as many in at once as there are seats, and refuses what a cluster has beyond', async () => {
    const loop = eventLoop({ maxReading: 4, maxWriting: 2 });
    let refused = 0;
    const note = (_latency: number, isRefused: boolean) => {
      if (isRefused) refused += 1;
    };
    for (let i = 0; i < 10; i++) loop.send('a', 'reading', note);
    for (let i = 0; i < 10; i++) loop.send('a', 'writing', note);
    expect(refused).toBe(6 + 8);
    loop.send('b', 'reading', note);
    expect(loop.waiting()).toBe(1);
    expect(refused).toBe(14);
    await loop.run(20);
    expect(loop.waiting()).toBe(0);
    loop.send('a', 'reading', note);
    expect(refused).toBe(14);
  });

  it('[V68] keeps seats for others while all that a cluster may have waits for something slow', async () => {
    const deferred: (() => void)[] = [];
    const queue = fairQueue(
      { defer: (callback) => deferred.push(callback), monotonic: () => 0 },
      { maxWriting: 8 },
    );
    const seats = Array.from({ length: 8 }, () => queue.enter('slow', 'writing'));
    for (let turn = 0; turn < 8; turn++) for (const callback of deferred.splice(0)) callback();
    expect(queue.waiting).toBe(2);
    expect(queue.enter('slow', 'writing')).toBeUndefined();
    expect(queue.enter('quick', 'writing')).toBeTypeOf('function');
    const [first] = seats;
    if (typeof first === 'function') first();
    for (let turn = 0; turn < 8; turn++) for (const callback of deferred.splice(0)) callback();
    expect(queue.waiting).toBe(1);
  });

  it('[V68] serves clusters in turn, whatever each has waiting', async () => {
    const loop = eventLoop({ maxReading: 30 });
    const order: string[] = [];
    for (const cluster of ['a', 'b', 'c'])
      for (let i = 0; i < 8; i++) loop.send(cluster, 'reading', () => order.push(cluster));
    await loop.run(50);
    expect(order).toHaveLength(24);
    // The first may have begun all that it had before others came.
    expect(order.slice(8, 20).join('')).toMatch(/^(?:bc|cb|bbcc|ccbb)+$/);
  });

  it('[V68] forgets who does not wait any longer', async () => {
    const deferred: (() => void)[] = [];
    const queue = fairQueue(
      { defer: (callback) => deferred.push(callback), monotonic: () => 0 },
      { maxReading: 1 },
    );
    const first = queue.enter('a', 'reading');
    const gone = new AbortController();
    const second = queue.enter('b', 'reading', gone.signal);
    expect(queue.waiting).toBe(1);
    gone.abort();
    expect(queue.waiting).toBe(0);
    expect(await second).toBeTypeOf('function');
    if (typeof first === 'function') first();
    for (const callback of deferred.splice(0)) callback();
    expect(queue.enter('c', 'reading')).toBeTypeOf('function');
  });
});
