import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Decision, decide, rejectionOf, selectorText } from './decide.ts';
import { rejectionIn, rejectionText } from './decision.ts';
import type { ClusterFacts, Placement } from './placement.ts';

const clusters: ClusterFacts[] = [
  { name: 'oslo', labels: { tier: 'edge', region: 'eu' } },
  { name: 'austin', labels: { tier: 'core', region: 'us' } },
  { name: 'bern', labels: {} },
];

const why = (decision: Decision, cluster: string): string => {
  const rejection = rejectionIn(decision, cluster);
  return rejection ? rejectionText(rejection) : '';
};
const rejectedNames = (decision: Decision): string[] =>
  decision.rejected.flatMap(({ found }) => Object.values(found).flat());

describe('deciding where', () => {
  it('chooses by name, by labels, and by both where both are given', () => {
    expect(decide({ clusterNames: ['oslo', 'bern'] }, clusters).chosen).toEqual(['bern', 'oslo']);
    expect(decide({ clusterSelector: { matchLabels: { tier: 'edge' } } }, clusters).chosen).toEqual(['oslo']);
    expect(decide({ clusterSelector: {} }, clusters).chosen).toEqual(['austin', 'bern', 'oslo']);
    const both = { clusterNames: ['oslo', 'austin'], clusterSelector: { matchLabels: { region: 'us' } } };
    expect(decide(both, clusters).chosen).toEqual(['austin']);
  });

  it('places nothing where nothing is said: a blast radius is never a default', () => {
    const decision = decide({}, clusters);
    expect(decision.chosen).toEqual([]);
    expect(decision.problem).toContain('set clusterNames or clusterSelector');
    expect(decide({ clusterNames: [] }, clusters).chosen).toEqual([]);
  });

  it('says for every cluster that is left out why', () => {
    const decision = decide({ clusterSelector: { matchLabels: { tier: 'edge' } } }, clusters);
    expect(decision.rejected).toEqual([
      {
        reason: 'ClusterSelector',
        wants: 'tier=edge',
        found: { 'tier=core': ['austin'], 'no tier': ['bern'] },
      },
    ]);
    expect(why(decision, 'austin')).toBe('clusterSelector (tier=edge) does not match its labels (tier=core)');
    expect(rejectionOf({ clusterNames: ['oslo'] }, clusters[2] as ClusterFacts)).toBe(
      'it is not among the names (one of [oslo])',
    );
  });

  it('names clusters that nobody has', () => {
    expect(decide({ clusterNames: ['oslo', 'paris'] }, clusters)).toMatchObject({
      chosen: ['oslo'],
      unknown: ['paris'],
    });
  });

  it('decides nothing by a placement that is not valid, and takes nothing away for it', () => {
    const wrong: Placement = {
      clusterSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: [] }] },
    };
    const decision = decide(wrong, clusters);
    expect(decision.chosen).toEqual([]);
    expect(decision.problem).toContain('clusterSelector is not valid');
    expect(decide(wrong, clusters, decide({ clusterNames: ['oslo'] }, clusters)).chosen).toEqual(['oslo']);
  });

  it('does not depend on the order of clusters, and puts each in one list', () => {
    const facts = fc.uniqueArray(
      fc.record({
        name: fc.stringMatching(/^[a-z]{1,4}$/),
        labels: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y')),
      }),
      { selector: (item) => item.name, maxLength: 8 },
    );
    const placement = fc.record(
      {
        clusterNames: fc.array(fc.stringMatching(/^[a-z]{1,4}$/)),
        clusterSelector: fc.record({
          matchLabels: fc.dictionary(fc.constantFrom('a', 'b'), fc.constantFrom('x', 'y')),
        }),
        numberOfClusters: fc.integer({ min: 1, max: 4 }),
      },
      { requiredKeys: ['clusterSelector'] },
    );
    fc.assert(
      fc.property(facts, placement, fc.infiniteStream(fc.nat()), (list, where, order) => {
        const decision = decide(where, list);
        const shuffled = list
          .map((item) => ({ item, key: order.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ item }) => item);
        expect(decide(where, shuffled)).toEqual(decision);
        const all = [...decision.chosen, ...rejectedNames(decision)].sort();
        expect(all).toEqual(list.map((item) => item.name).sort());
      }),
    );
  });

  it('writes selectors the way people do', () => {
    expect(
      selectorText({
        matchLabels: { env: 'prod' },
        matchExpressions: [
          { key: 'tier', operator: 'In', values: ['a', 'b'] },
          { key: 'old', operator: 'DoesNotExist' },
          { key: 'new', operator: 'Exists' },
          { key: 'zone', operator: 'NotIn', values: ['z'] },
        ],
      }),
    ).toBe('env=prod,tier in (a, b),!old,new,zone notin (z)');
    expect(selectorText({})).toBe('everything');
  });
});
