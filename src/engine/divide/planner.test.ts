import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fnv1 } from './fnv.ts';
import { divide } from './index.ts';
import { type PlannerCluster, planReplicas } from './planner.ts';

const plan = (
  total: number,
  clusters: readonly (Partial<PlannerCluster> & { readonly name: string })[],
  rebalance = true,
): { plan: Record<string, number>; overflow: Record<string, number> } => {
  const full = clusters.map((cluster) => ({ weight: 0, minReplicas: 0, ...cluster }));
  const result = planReplicas(total, full, 'shop/web', rebalance);
  return { plan: Object.fromEntries(result.plan), overflow: Object.fromEntries(result.overflow) };
};

describe("KubeFed's planner", () => {
  it('gives minima first, the heaviest cluster first, as far as the total goes', () => {
    const clusters = [
      { name: 'a', weight: 1, minReplicas: 3 },
      { name: 'b', weight: 2, minReplicas: 4 },
    ];
    expect(plan(5, clusters).plan).toEqual({ a: 1, b: 4 });
    expect(plan(7, clusters).plan).toEqual({ a: 3, b: 4 });
  });

  it('rounds shares up, in the order of weights', () => {
    expect(
      plan(10, [
        { name: 'a', weight: 1 },
        { name: 'b', weight: 2 },
      ]).plan,
    ).toEqual({ a: 3, b: 7 });
    expect(
      plan(1, [
        { name: 'a', weight: 5 },
        { name: 'b', weight: 4 },
      ]).plan,
    ).toEqual({ a: 1, b: 0 });
  });

  it('breaks ties of weight by the hash of cluster and key', () => {
    const names = ['a', 'b', 'c'];
    const [first = ''] = [...names].sort((x, y) => fnv1(`${x}shop/web`) - fnv1(`${y}shop/web`));
    const { plan: result } = plan(
      1,
      names.map((name) => ({ name, weight: 1 })),
    );
    expect(result[first]).toBe(1);
  });

  it('leaves weight 0 at its minimum, and what nobody may take undone', () => {
    expect(
      plan(9, [
        { name: 'a', weight: 0, minReplicas: 2 },
        { name: 'b', weight: 1, maxReplicas: 4 },
      ]).plan,
    ).toEqual({ a: 2, b: 4 });
    expect(plan(9, [{ name: 'a' }, { name: 'b' }]).plan).toEqual({ a: 0, b: 0 });
  });

  it('keeps running replicas where they are unless told to rebalance', () => {
    const clusters = [
      { name: 'a', weight: 1, current: 8 },
      { name: 'b', weight: 1, current: 0 },
    ];
    expect(plan(10, clusters, false).plan).toEqual({ a: 8, b: 2 });
    expect(plan(10, clusters, true).plan).toEqual({ a: 5, b: 5 });
    expect(plan(6, clusters, false).plan).toEqual({ a: 6, b: 0 });
    expect(
      plan(
        10,
        [
          { name: 'a', weight: 1, current: 8, maxReplicas: 6 },
          { name: 'b', weight: 1 },
        ],
        false,
      ).plan,
    ).toEqual({ a: 6, b: 4 });
  });

  it('goes elsewhere where capacity ends, and wants the rest on top', () => {
    const clusters = [
      { name: 'a', weight: 1, capacity: 2 },
      { name: 'b', weight: 1 },
    ];
    expect(plan(10, clusters, true)).toEqual({ plan: { a: 2, b: 8 }, overflow: { a: 3 } });
    // Without rebalancing only what nobody else could take is wanted above capacity.
    expect(plan(10, clusters, false)).toEqual({ plan: { a: 2, b: 8 }, overflow: {} });
    expect(
      plan(
        10,
        [
          { name: 'a', weight: 1, capacity: 2 },
          { name: 'b', weight: 1, maxReplicas: 5 },
        ],
        false,
      ),
    ).toEqual({
      plan: { a: 2, b: 5 },
      overflow: { a: 3 },
    });
  });

  it('is what divide does by the name of Planner, overflow included', () => {
    const division = divide({
      strategy: 'Planner',
      total: 10,
      key: 'shop/web',
      clusters: [
        { name: 'a', capacity: 2 },
        { name: 'b', maxReplicas: 5 },
      ],
    });
    expect(division.clusters).toEqual([
      {
        cluster: 'a',
        replicas: 5,
        overflow: 3,
        reason: '2 planned (weight 1, capacity 2), 3 more above its capacity',
      },
      { cluster: 'b', replicas: 5, reason: '5 planned (weight 1, at most 5)' },
    ]);
    expect(division.unassigned).toBe(3);
  });

  it('plans no more than the total, nor above maxima that are not below minima', () => {
    const cluster = fc.record(
      {
        weight: fc.nat(20),
        minReplicas: fc.nat(8),
        room: fc.nat(20),
        current: fc.nat(20),
        capacity: fc.nat(20),
      },
      { requiredKeys: ['weight', 'minReplicas'] },
    );
    fc.assert(
      fc.property(
        fc.array(cluster, { minLength: 1, maxLength: 6 }),
        fc.nat(80),
        fc.boolean(),
        (list, total, rebalance) => {
          const clusters = list.map(({ room, ...rest }, index) => ({
            name: `c${index}`,
            ...rest,
            ...(room === undefined ? {} : { maxReplicas: rest.minReplicas + room }),
          }));
          const result = plan(total, clusters, rebalance);
          const planned = Object.values(result.plan).reduce((a, b) => a + b, 0);
          expect(planned).toBeLessThanOrEqual(total);
          for (const { name, maxReplicas = 1e9, capacity = 1e9 } of clusters) {
            expect(result.plan[name]).toBeLessThanOrEqual(Math.min(maxReplicas, capacity));
          }
          if (
            clusters.some(
              ({ weight, maxReplicas, capacity }) =>
                weight > 0 && maxReplicas === undefined && capacity === undefined,
            )
          )
            expect(planned).toBe(total);
        },
      ),
      { numRuns: 400 },
    );
  });
});
