import { describe, expect, it } from 'vitest';
import { cluster, everywhere, regions } from './fleet.fixture.ts';
import type { Placement } from './placement.ts';
import { createPlacer } from './placer.ts';

const one: Placement = { ...everywhere, numberOfClusters: 1 };

describe('deciding for many intents', () => {
  it('spreads them by what clusters have, and leaves each where it is', () => {
    const placer = createPlacer(regions({ a: 3 }));
    const where = ['x', 'y', 'z'].map((intent) => placer.decide(intent, one, {}).chosen[0]);
    expect(where).toEqual(['a1', 'a2', 'a3']);
    expect(placer.decide('z', one, {}).chosen).toEqual(['a3']);
    placer.forget('x');
    expect(placer.decide('w', one, {}).chosen).toEqual(['a1']);
    placer.setFleet(regions({ a: 3, b: 1 }));
    expect(placer.decide('v', one, {}).chosen).toEqual(['b1']);
    expect(placer.decide('y', one, {}).chosen).toEqual(['a2']);
  });

  it('takes over what was stored', () => {
    const before = createPlacer(regions({ a: 3 }));
    before.restore('x', { chosen: ['a3'], rejected: [], unknown: [] });
    const stored = JSON.parse(JSON.stringify(before.decide('x', one, {})));
    const after = createPlacer(regions({ a: 3 }));
    after.restore('x', stored);
    expect(after.decide('x', one, {})).toEqual(stored);
  });

  it('tells for which of them time may have changed the answer', () => {
    const since = Date.parse('2026-01-01T00:00:00Z');
    const taints = [{ key: 'down', effect: 'NoSelect' as const, timeAdded: new Date(since).toISOString() }];
    const placement: Placement = {
      ...everywhere,
      tolerations: [{ operator: 'Exists', tolerationSeconds: 30 }],
    };
    const placer = createPlacer([cluster('a')]);
    placer.decide('x', placement, { nowMs: since });
    placer.setFleet([cluster('a', { taints })]);
    expect(placer.decide('x', placement, { nowMs: since + 1 }).chosen).toEqual(['a']);
    expect(placer.nextDueMs()).toBe(since + 30_000);
    expect(placer.due(since + 29_999)).toEqual([]);
    expect(placer.due(since + 30_000)).toEqual(['x']);
    expect(placer.decide('x', placement, { nowMs: since + 30_000 }).chosen).toEqual([]);
    expect(placer.nextDueMs()).toBeUndefined();
  });
});
