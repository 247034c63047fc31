import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Division, type DivisionRequest, divide } from './index.ts';

const counts = (division: Division): Record<string, number> =>
  Object.fromEntries(division.clusters.map(({ cluster, replicas }) => [cluster, replicas]));
const total = (division: Division): number =>
  division.clusters.reduce((all, { replicas }) => all + replicas, 0);
const run = (request: Omit<DivisionRequest, 'key'>): Record<string, number> =>
  counts(divide({ key: 'shop/web', ...request }));

function named(weights: Record<string, number>): DivisionRequest['clusters'] {
  return Object.entries(weights).map(([name, weight]) => ({ name, weight }));
}
function roomy(room: Record<string, number>): DivisionRequest['clusters'] {
  return Object.entries(room).map(([name, available]) => ({ name, available }));
}
function statically(total: number, weights: Record<string, number>): Omit<DivisionRequest, 'key'> {
  return { total, strategy: 'StaticWeight', clusters: named(weights) };
}
function dynamically(total: number, room: Record<string, number>): Omit<DivisionRequest, 'key'> {
  return { total, strategy: 'DynamicWeight', clusters: roomy(room) };
}
function aggregated(total: number, room: Record<string, number>): Omit<DivisionRequest, 'key'> {
  return { total, strategy: 'Aggregated', clusters: roomy(room) };
}

describe('dividing replicas', () => {
  it('gives all of them to each cluster when duplicated', () => {
    expect(run({ total: 4, strategy: 'Duplicated', clusters: [{ name: 'b' }, { name: 'a' }] })).toEqual({
      a: 4,
      b: 4,
    });
  });

  /** Each by hand, from the rules of the strategies: highest `votes / (2 · seats + 1)` next, only the difference in steady mode. */
  const vectors: readonly (readonly [string, Omit<DivisionRequest, 'key'>, Record<string, number>])[] = [
    ['duplicated', { total: 3, strategy: 'Duplicated', clusters: named({ a: 1, b: 1 }) }, { a: 3, b: 3 }],
    [
      'duplicated whatever the room',
      { total: 3, strategy: 'Duplicated', clusters: roomy({ a: 0, b: 9 }) },
      { a: 3, b: 3 },
    ],
    ['static 3:2:1', statically(10, { a: 3, b: 2, c: 1 }), { a: 5, b: 3, c: 2 }],
    ['static 3:2:1, one less', statically(8, { a: 3, b: 2, c: 1 }), { a: 4, b: 3, c: 1 }],
    ['static, no weight', statically(3, { a: 1, b: 0 }), { a: 3, b: 0 }],
    ['static, all zero', statically(4, { a: 0, b: 0 }), { a: 2, b: 2 }],
    ['static, anew', { ...statically(4, { a: 1, b: 3 }), previous: { a: 4 } }, { a: 1, b: 3 }],
    ['dynamic 18:6', dynamically(8, { a: 18, b: 6 }), { a: 6, b: 2 }],
    ['dynamic 10:20:30', dynamically(12, { a: 10, b: 20, c: 30 }), { a: 2, b: 4, c: 6 }],
    ['dynamic, to the brim', dynamically(60, { a: 10, b: 20, c: 30 }), { a: 10, b: 20, c: 30 }],
    ['dynamic, same', { ...dynamically(8, { a: 0, b: 90 }), previous: { a: 6, b: 2 } }, { a: 6, b: 2 }],
    ['dynamic, more', { ...dynamically(10, { a: 4, b: 2 }), previous: { a: 2, b: 2 } }, { a: 6, b: 4 }],
    ['dynamic, fewer', { ...dynamically(3, { a: 0, b: 90 }), previous: { a: 6, b: 3 } }, { a: 2, b: 1 }],
    [
      'dynamic, fresh',
      { ...dynamically(20, { a: 10, b: 10, c: 60 }), mode: 'Fresh', previous: { a: 10, b: 10 } },
      { a: 4, b: 4, c: 12 },
    ],
    ['aggregated, one', aggregated(12, { a: 4, b: 12, c: 8 }), { a: 0, b: 12, c: 0 }],
    ['aggregated, two', aggregated(13, { a: 4, b: 12, c: 8 }), { a: 0, b: 8, c: 5 }],
    [
      'aggregated, more within',
      { ...aggregated(6, { a: 4, b: 12, c: 8 }), previous: { a: 3 } },
      { a: 6, b: 0, c: 0 },
    ],
    [
      'aggregated, more beyond',
      { ...aggregated(10, { a: 4, b: 12, c: 8 }), previous: { a: 3 } },
      { a: 5, b: 5, c: 0 },
    ],
    ['aggregated, fewer', { ...aggregated(3, { a: 9, b: 9 }), previous: { a: 2, b: 6 } }, { a: 0, b: 3 }],
    [
      'aggregated, fewer, in two',
      { ...aggregated(7, { a: 9, b: 9 }), previous: { a: 2, b: 6 } },
      { a: 2, b: 5 },
    ],
  ];
  it.each(vectors)('[A21] %s', (_title, request, expected) => {
    expect(run(request)).toEqual(expected);
  });

  it('[A24] keeps a minimum in each cluster, whatever the weights', () => {
    const clusters = [
      { name: 'big', weight: 9, minReplicas: 1 },
      { name: 'small', weight: 1, minReplicas: 1 },
    ];
    expect(run({ total: 3, strategy: 'StaticWeight', clusters })).toEqual({ big: 2, small: 1 });
    expect(run({ total: 3, clusters })).toEqual({ big: 2, small: 1 });
    expect(run({ total: 20, clusters })).toEqual({ big: 18, small: 2 });
  });

  it('divides by weight, and evenly where all weights are 0', () => {
    const weights = (a: number, b: number) => [
      { name: 'a', weight: a },
      { name: 'b', weight: b },
    ];
    expect(run({ total: 12, strategy: 'StaticWeight', clusters: weights(3, 1) })).toEqual({ a: 9, b: 3 });
    expect(run({ total: 8, strategy: 'StaticWeight', clusters: weights(0, 0) })).toEqual({ a: 4, b: 4 });
    expect(run({ total: 8, clusters: weights(1, 0) })).toEqual({ a: 8, b: 0 });
  });

  it('goes on with the next cluster where a maximum or a capacity is reached, and says so', () => {
    const division = divide({
      total: 30,
      key: 'k',
      clusters: [
        { name: 'a', weight: 8, maxReplicas: 5 },
        { name: 'b', weight: 1, available: 7 },
        { name: 'c', weight: 1, capacity: 10 },
      ],
    });
    expect(counts(division)).toEqual({ a: 5, b: 7, c: 10 });
    expect(division.unassigned).toBe(8);
    expect(division.problem).toBe(
      '8 of 30 replicas fit nowhere: raise maxReplicas or weights, add clusters, or make room',
    );
    expect(division.clusters.map(({ reason }) => reason)).toEqual([
      'weight 8, at its maximum of 5',
      'weight 1, no room for more',
      'weight 1, at its capacity of 10',
    ]);
  });

  it('divides by the room there is, and stays where it is when the room changes', () => {
    const clusters = [
      { name: 'a', available: 18 },
      { name: 'b', available: 6 },
    ];
    const first = run({ total: 8, strategy: 'DynamicWeight', clusters });
    expect(first).toEqual({ a: 6, b: 2 });
    const later = [
      { name: 'a', available: 0 },
      { name: 'b', available: 30 },
    ];
    expect(run({ total: 8, strategy: 'DynamicWeight', clusters: later, previous: first })).toEqual(first);
    expect(run({ total: 10, strategy: 'DynamicWeight', clusters: later, previous: first })).toEqual({
      a: 6,
      b: 4,
    });
    expect(run({ total: 4, strategy: 'DynamicWeight', clusters: later, previous: first })).toEqual({
      a: 3,
      b: 1,
    });
  });

  it('[A23] touches only the difference in steady mode, and everything in fresh mode', () => {
    const clusters = [
      { name: 'a', available: 10 },
      { name: 'b', available: 10 },
      { name: 'c', available: 60 },
    ];
    const previous = { a: 10, b: 10 };
    for (const strategy of ['DynamicWeight', 'Balanced'] as const) {
      const grown = run({ total: 24, strategy, clusters, previous });
      expect(grown['a']).toBeGreaterThanOrEqual(10);
      expect(grown['b']).toBeGreaterThanOrEqual(10);
      expect(run({ total: 20, strategy, clusters, previous })).toEqual({ a: 10, b: 10, c: 0 });
    }
    expect(run({ total: 20, strategy: 'DynamicWeight', mode: 'Fresh', clusters, previous })).toEqual({
      a: 4,
      b: 4,
      c: 12,
    });
    expect(run({ total: 24, mode: 'Fresh', clusters, previous })).toEqual({ a: 8, b: 8, c: 8 });
  });

  it('needs as few clusters as have the room when aggregated', () => {
    const clusters = [
      { name: 'a', available: 4 },
      { name: 'b', available: 12 },
      { name: 'c', available: 8 },
    ];
    expect(run({ total: 12, strategy: 'Aggregated', clusters })).toEqual({ a: 0, b: 12, c: 0 });
    expect(run({ total: 15, strategy: 'Aggregated', clusters })).toEqual({ a: 0, b: 9, c: 6 });
    // What has replicas comes first, even where another has more room.
    expect(run({ total: 6, strategy: 'Aggregated', clusters, previous: { a: 3 } })).toEqual({
      a: 6,
      b: 0,
      c: 0,
    });
    expect(run({ total: 3, strategy: 'Aggregated', clusters, previous: { a: 2, b: 6 } })).toEqual({
      a: 0,
      b: 3,
      c: 0,
    });
  });

  it('fills a tier before the next, and gives back in the other direction', () => {
    const clusters = [
      { name: 'cloud', tier: 1 },
      { name: 'east', available: 3 },
      { name: 'west', available: 4 },
    ];
    const first = run({ total: 10, clusters });
    expect(first).toEqual({ cloud: 3, east: 3, west: 4 });
    const full = clusters.map((cluster) => ({ ...cluster, ...(cluster.tier ? {} : { available: 0 }) }));
    expect(run({ total: 8, clusters: full, previous: first })).toEqual({ cloud: 1, east: 3, west: 4 });
    expect(run({ total: 12, clusters: full, previous: first })).toEqual({ cloud: 5, east: 3, west: 4 });
    // Room that comes back in the first tier takes nothing away from the second: that is fail-back, and not done here.
    expect(run({ total: 10, clusters, previous: first })).toEqual(first);
    expect(run({ total: 10, clusters, previous: first, mode: 'Fresh' })).toEqual({
      cloud: 0,
      east: 5,
      west: 5,
    });
  });

  it('puts into one cluster what fits as a whole or not at all', () => {
    const clusters = [
      { name: 'a', available: 2 },
      { name: 'b', available: 5 },
    ];
    expect(run({ total: 4, strategy: 'Whole', clusters })).toEqual({ a: 0, b: 4 });
    expect(run({ total: 2, strategy: 'Whole', clusters, previous: { a: 2 } })).toEqual({ a: 2, b: 0 });
    const division = divide({ total: 6, strategy: 'Whole', clusters, key: 'k' });
    expect(division).toMatchObject({
      unassigned: 6,
      problem: expect.stringContaining('no cluster has room for all 6'),
    });
    expect(total(division)).toBe(0);
    expect(division.clusters[0]?.reason).toBe('room for 2 of 6');
  });

  it('breaks ties by key, so that many small divisions do not all favour one cluster', () => {
    const winners = new Set(
      Array.from({ length: 16 }, (_, index) => {
        const division = divide({ total: 1, clusters: [{ name: 'a' }, { name: 'b' }], key: `uid-${index}` });
        return division.clusters.find(({ replicas }) => replicas === 1)?.cluster;
      }),
    );
    expect([...winners].sort()).toEqual(['a', 'b']);
  });

  it('refuses what is no count, and clusters that are there twice', () => {
    const division = divide({ total: -1, clusters: [{ name: 'a', weight: 0.5 }, { name: 'a' }], key: 'k' });
    expect(division.problem).toContain('total must be a whole number');
    expect(division.problem).toContain('weight of cluster a');
    expect(division.problem).toContain('cluster a is there twice');
    expect(total(division)).toBe(0);
    expect(divide({ total: 3, clusters: [], key: 'k' })).toMatchObject({
      unassigned: 3,
      problem: 'no cluster is there for 3 replicas',
    });
  });

  it('leaves what is divided as it is where something is no count', () => {
    const clusters = [{ name: 'a', available: 1.5 }, { name: 'b' }, { name: 'c' }];
    const division = divide({
      total: 8,
      clusters,
      previous: { a: 3, b: 5 },
      strategy: 'DynamicWeight',
      key: 'k',
    });
    expect(division.problem).toContain('available of cluster a must be a whole number');
    expect(division.clusters.map(({ replicas }) => replicas)).toEqual([3, 5, 0]);
  });
});

const cluster = (index: number) =>
  fc.record(
    {
      name: fc.constant(`c${index}`),
      weight: fc.nat(6),
      minReplicas: fc.nat(4),
      maxReplicas: fc.nat(15),
      available: fc.nat(12),
      capacity: fc.nat(20),
      tier: fc.nat(1),
    },
    { requiredKeys: ['name', 'available'] },
  );
const clusterList = fc
  .integer({ min: 1, max: 6 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => cluster(index))));
const previousOf = fc.dictionary(fc.constantFrom('c0', 'c1', 'c2', 'c3', 'gone'), fc.nat(12));
const monotone = fc.constantFrom('Balanced' as const, 'StaticWeight' as const, 'DynamicWeight' as const);
const mode = fc.constantFrom('Steady' as const, 'Fresh' as const);

describe('any division', () => {
  it('hands out exactly what is asked for or says how much is left, within all bounds', () => {
    const strategies = fc.oneof(monotone, fc.constantFrom('Aggregated' as const, 'Whole' as const));
    fc.assert(
      fc.property(
        clusterList,
        previousOf,
        fc.nat(60),
        strategies,
        mode,
        (clusters, previous, wanted, strategy, how) => {
          const division = divide({ total: wanted, clusters, previous, strategy, mode: how, key: 'k' });
          expect(total(division) + division.unassigned).toBe(wanted);
          expect(division.unassigned > 0).toBe(division.problem !== undefined);
          for (const { cluster: name, replicas } of division.clusters) {
            const {
              maxReplicas = 1e9,
              capacity = 1e9,
              available = 1e9,
            } = clusters.find((item) => item.name === name) ?? {};
            expect(replicas).toBeLessThanOrEqual(maxReplicas);
            if (strategy === 'StaticWeight') continue;
            expect(replicas).toBeLessThanOrEqual(capacity);
            expect(replicas).toBeLessThanOrEqual(available + (previous[name] ?? 0));
          }
        },
      ),
      { numRuns: 400 },
    );
  });

  it('[A22] never takes a replica away when one more is wanted', () => {
    fc.assert(
      fc.property(
        clusterList,
        previousOf,
        fc.nat(60),
        monotone,
        mode,
        (clusters, previous, wanted, strategy, how) => {
          const at = (number: number): Record<string, number> =>
            counts(divide({ total: number, clusters, previous, strategy, mode: how, key: 'k' }));
          const before = at(wanted);
          for (const [name, replicas] of Object.entries(at(wanted + 1)))
            expect(replicas, `${name} of ${JSON.stringify(before)}`).toBeGreaterThanOrEqual(
              before[name] ?? 0,
            );
        },
      ),
      { numRuns: 400 },
    );
  });

  it('leaves what was divided as it is when nothing changed', () => {
    fc.assert(
      fc.property(clusterList, fc.nat(60), monotone, (clusters, wanted, strategy) => {
        const first = counts(divide({ total: wanted, clusters, strategy, key: 'k' }));
        const used = clusters.map((item) => ({
          ...item,
          available: item.available - Math.min(item.available, first[item.name] ?? 0),
        }));
        expect(
          counts(divide({ total: wanted, clusters: used, previous: first, strategy, key: 'k' })),
        ).toEqual(first);
      }),
      { numRuns: 300 },
    );
  });

  it('does not depend on the order of clusters', () => {
    fc.assert(
      fc.property(
        clusterList,
        previousOf,
        fc.nat(40),
        fc.constantFrom('Balanced' as const, 'Aggregated' as const, 'Planner' as const),
        (clusters, previous, wanted, strategy) => {
          const request = { total: wanted, previous, strategy, key: 'k' };
          expect(divide({ ...request, clusters: [...clusters].reverse() })).toEqual(
            divide({ ...request, clusters }),
          );
        },
      ),
    );
  });
});
