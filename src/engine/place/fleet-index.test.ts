import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/index.ts';
import { compilePlacement } from './compile-placement.ts';
import { type Decision, decide, decideOn } from './decide.ts';
import { cluster, everywhere } from './fleet.fixture.ts';
import { createFleetIndex, type FleetIndex } from './fleet-index.ts';
import type { ClusterFacts, Placement } from './placement.ts';

describe('the index of a fleet', () => {
  it('keeps what is known of clusters whose facts are the same', () => {
    const [a, b] = [cluster('a'), cluster('b')];
    const before = createFleetIndex([b, a]);
    const after = createFleetIndex([a, cluster('b', { unschedulable: true })], before);
    expect(after.entries.map(({ facts }) => facts.name)).toEqual(['a', 'b']);
    expect(after.entries[0]).toBe(before.entries[0]);
    expect(after.entries[1]).not.toBe(before.entries[1]);
    expect(after.position('b')).toBe(1);
    expect(after.position('c')).toBeUndefined();
  });

  it('counts the first of two clusters with one name', () => {
    const fleet = createFleetIndex([cluster('a', { labels: { k: '1' } }), cluster('a')]);
    expect(fleet.size).toBe(1);
    expect(
      decide(
        { clusterSelector: { matchLabels: { k: '1' } } },
        fleet.entries.map(({ facts }) => facts),
      ).chosen,
    ).toEqual(['a']);
  });

  it.each([0, 1, 31, 32, 33, 64, 100])('works with %i clusters', (size) => {
    const fleet = Array.from({ length: size }, (_, index) => cluster(`c${index}`));
    expect(decide(everywhere, fleet).chosen).toHaveLength(size);
    expect(decide({ ...everywhere, exclude: [everywhere] }, fleet).chosen).toEqual([]);
  });

  it('[S39] through a thousand changes, decides as if everything were made anew, and as a naive model does', () => {
    const random = seededRandom(7);
    const draw = (bound: number): number => Math.floor(random.next() * bound);
    const placements: Placement[] = [
      {
        clusterSelector: { matchLabels: { env: 'a' } },
        exclude: [{ clusterSelector: { matchLabels: { old: 'yes' } } }],
      },
      { clusterExpressions: ["cluster.labels.env == 'a'"], numberOfClusters: 4 },
      { ...everywhere, spread: [{ field: 'region', maxSkew: 1 }], numberOfClusters: 7 },
    ];
    const compiled = placements.map(compilePlacement);
    const held: (Decision | undefined)[] = placements.map(() => undefined);
    let facts: ClusterFacts[] = [];
    let fleet: FleetIndex = createFleetIndex(facts);
    for (let step = 0; step < 1000; step++) {
      const name = `c${draw(40)}`;
      facts = facts.filter((item) => item.name !== name);
      if (draw(5) > 0)
        facts.push(
          cluster(name, {
            labels: { env: 'ab'.charAt(draw(2)), ...(draw(4) === 0 ? { old: 'yes' } : {}) },
            fields: { region: 'xyz'.charAt(draw(3)) },
            unschedulable: draw(6) === 0,
          }),
        );
      fleet = createFleetIndex(facts, fleet);
      for (const [index, placement] of placements.entries()) {
        const previous = held[index];
        const decision = decideOn(compiled[index] ?? compilePlacement(placement), fleet, previous);
        if (step % 20 === 0) expect(decision).toEqual(decide(placement, facts, previous));
        held[index] = decision;
        if (index > 0) continue;
        const expected = facts
          .filter(({ labels }) => labels['env'] === 'a' && labels['old'] !== 'yes')
          .filter((item) => item.unschedulable !== true || previous?.chosen.includes(item.name))
          .map((item) => item.name)
          .sort();
        expect(decision.chosen).toEqual(expected);
      }
    }
  });
});
