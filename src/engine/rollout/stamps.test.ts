import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { NO_REVISION, type Stamps, stampOrders, type WantedContent } from './index.ts';

const NOTHING: Stamps = { generation: 0, stamps: [], given: {} };
const to = (orders: Record<string, string>): Map<string, { revision: string; digest: string }> =>
  new Map(
    Object.entries(orders).map(([cluster, revision]) => [cluster, { revision, digest: `d-${revision}` }]),
  );

describe('stamps of orders', () => {
  it('give one generation to all that get the same', () => {
    const first = stampOrders(NOTHING, to({ a: 'r1', b: 'r1' }));
    expect(first).toMatchObject({ generation: 1, given: { a: 1, b: 1 } });
    expect(first.added).toEqual([{ generation: 1, revision: 'r1', digest: 'd-r1' }]);
    const second = stampOrders(first, to({ a: 'r2', b: 'r1' }));
    expect(second.given).toEqual({ a: 2, b: 1 });
    expect(stampOrders(second, to({ a: 'r2', b: 'r1' })).added).toEqual([]);
  });

  it('bring content back to a cluster under a new generation, and leave alone who never lost it', () => {
    const first = stampOrders(NOTHING, to({ a: 'r1', b: 'r1', c: 'r1' }));
    const second = stampOrders(first, to({ a: 'r2', b: 'r2', c: 'r1' }));
    const third = stampOrders(second, to({ a: 'r1', b: 'r1', c: 'r1' }));
    expect(third.given).toEqual({ a: 3, b: 3, c: 1 });
    expect(third.stamps.map(({ generation, revision }) => [generation, revision])).toEqual([
      [1, 'r1'],
      [3, 'r1'],
    ]);
  });

  it('say the same once more, under one new generation, to those who are to hear it anew', () => {
    const first = stampOrders(NOTHING, to({ a: 'r1', b: 'r1', c: 'r1' }));
    const anew: Map<string, WantedContent> = to({ a: 'r1', b: 'r1', c: 'r1' });
    for (const cluster of ['a', 'b']) anew.set(cluster, { revision: 'r1', digest: 'd-r1', anew: true });
    const second = stampOrders(first, anew);
    expect(second.given).toEqual({ a: 2, b: 2, c: 1 });
    expect(second.added).toEqual([{ generation: 2, revision: 'r1', digest: 'd-r1' }]);
    expect(stampOrders(second, to({ a: 'r1', b: 'r1', c: 'r1' })).added).toEqual([]);
  });

  it('remember what was told to who has nothing any more, until it leaves the fleet', () => {
    const first = stampOrders(NOTHING, to({ a: 'r1', b: 'r1' }));
    const second = stampOrders(first, to({ a: 'r1', b: NO_REVISION }));
    expect(second.given).toEqual({ a: 1, b: 2 });
    expect(stampOrders(second, to({ a: 'r1' })).given).toEqual({ a: 1, b: 2 });
    expect(stampOrders(second, to({ a: 'r1' }), (name) => name !== 'b').given).toEqual({ a: 1 });
    expect(stampOrders(second, to({ a: 'r1', b: 'r1' })).given).toEqual({ a: 1, b: 3 });
  });

  it('never lower what a cluster was told, and never mean two contents', () => {
    const clusters = ['a', 'b', 'c', 'd'];
    const revisions = ['r1', 'r2', 'r3', NO_REVISION];
    const turn = fc.dictionary(fc.constantFrom(...clusters), fc.constantFrom(...revisions));
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 30 }), (turns) => {
        const means = new Map<number, string>();
        let state: Stamps = NOTHING;
        for (const orders of turns) {
          const next = stampOrders(state, to(orders));
          for (const cluster of clusters)
            expect(next.given[cluster] ?? 0).toBeGreaterThanOrEqual(state.given[cluster] ?? 0);
          for (const [cluster, revision] of Object.entries(orders)) {
            const generation = next.given[cluster] ?? 0;
            expect(means.get(generation) ?? revision).toBe(revision);
            means.set(generation, revision);
            expect(next.stamps.find((stamp) => stamp.generation === generation)?.revision).toBe(revision);
          }
          expect(next.generation).toBe(
            Math.max(state.generation, ...next.added.map(({ generation }) => generation)),
          );
          state = next;
        }
      }),
      { numRuns: 200 },
    );
  });
});
