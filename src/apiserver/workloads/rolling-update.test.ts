import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Deployment } from './kinds.ts';
import { newReplicas, oldReplicas, proportional, rollingBounds } from './rolling-update.ts';

const bounds = (replicas: number, maxSurge: number | string, maxUnavailable: number | string): object =>
  rollingBounds({
    spec: { replicas, strategy: { rollingUpdate: { maxSurge, maxUnavailable } } },
  } as Deployment);

describe('rolling update', () => {
  it('rounds the surge up, what may be unavailable down, and never stands still', () => {
    expect(bounds(10, '25%', '25%')).toEqual({ surge: 3, unavailable: 2 });
    expect(bounds(1, '25%', '25%')).toEqual({ surge: 1, unavailable: 0 });
    expect(bounds(3, 0, '10%')).toEqual({ surge: 0, unavailable: 1 });
    expect(bounds(2, 1, 5)).toEqual({ surge: 1, unavailable: 2 });
  });

  it('never exceeds the surge, never falls below what must be available, and ends', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 0, max: 10 }),
        fc.integer({ min: 0, max: 10 }),
        fc.array(fc.integer({ min: 0, max: 10 }), { minLength: 1, maxLength: 3 }),
        (wanted, surge, unavailable, sizes) => {
          const limits =
            surge === 0 && unavailable === 0 ? { surge, unavailable: 1 } : { surge, unavailable };
          let fresh = { replicas: 0, available: 0 };
          let old = sizes.map((replicas) => ({ replicas, available: replicas }));
          const total = (): number => old.reduce((sum, each) => sum + each.replicas, fresh.replicas);
          const available = (): number => old.reduce((sum, each) => sum + each.available, fresh.available);
          for (let step = 0; step < 200; step++) {
            const before = total();
            fresh = { ...fresh, replicas: newReplicas(wanted, limits, fresh, old) };
            expect(total()).toBeLessThanOrEqual(Math.max(before, wanted + limits.surge));
            const availableBefore = available();
            const next = oldReplicas(wanted, limits, fresh, old);
            old = old.map((each, i) => ({
              replicas: next[i] ?? 0,
              available: Math.min(each.available, next[i] ?? 0),
            }));
            expect(available()).toBeGreaterThanOrEqual(
              Math.min(availableBefore, wanted - limits.unavailable),
            );
            fresh = { ...fresh, available: fresh.replicas };
          }
          expect(fresh.replicas).toBe(wanted);
          expect(old.every((each) => each.replicas === 0)).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('shares a new size in proportion, to the last replica', () => {
    expect(proportional([8, 5], 26)).toEqual([16, 10]);
    expect(proportional([8, 5], 18)).toEqual([12, 6]);
    expect(proportional([0, 0], 4)).toEqual([4, 0]);
    expect(proportional([3, 0, 3], 7)).toEqual([4, 0, 3]);
  });
});
