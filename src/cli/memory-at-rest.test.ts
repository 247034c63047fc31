import { afterEach, expect, it, vi } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import { giveMemoryBackAtRest } from './memory-at-rest.ts';

afterEach(() => void vi.restoreAllMocks());

/** A process that has used `used` microseconds of its processor, and that takes `costs` for a collection. */
function processThat(costs: number): { used: number; collections: number; collect(): void } {
  const it = {
    used: 0,
    collections: 0,
    collect(): void {
      it.collections += 1;
      it.used += costs;
    },
  };
  vi.spyOn(process, 'cpuUsage').mockImplementation((before) => ({
    user: it.used - (before?.user ?? 0),
    system: 0,
  }));
  return it;
}

it('collects once after a start and after each burst, however long that takes, until it is ended', async () => {
  const { clock } = virtualRuntime(1);
  const own = processThat(9_000_000);
  const end = giveMemoryBackAtRest(clock, () => own.collect);
  own.used += 5_000_000;
  await clock.advance(10_000);
  expect(own.collections).toBe(0);
  await clock.advance(100_000);
  expect(own.collections).toBe(1);
  own.used += 5_000_000;
  await clock.advance(100_000);
  expect(own.collections).toBe(2);
  end();
  expect(clock.pending()).toBe(0);
});

it('has a collector of its own, without a flag at the start', async () => {
  const { clock } = virtualRuntime(1);
  processThat(0);
  const end = giveMemoryBackAtRest(clock);
  const large = { filling: Array.from({ length: 1000 }, (_, i) => i) };
  const held = new WeakRef(large.filling);
  large.filling = [];
  await clock.advance(10_000);
  expect(held.deref()).toBeUndefined();
  end();
});
