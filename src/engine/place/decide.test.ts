import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ClusterFacts } from '../intent.ts';
import { decide, rejectionOf, selectorText } from './decide.ts';

const clusters: ClusterFacts[] = [
  { name: 'oslo', labels: { tier: 'edge', region: 'eu' } },
  { name: 'austin', labels: { tier: 'core', region: 'us' } },
  { name: 'bern', labels: {} },
];

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
    const { rejected } = decide({ clusterSelector: { matchLabels: { tier: 'edge' } } }, clusters);
    expect(rejected).toEqual([
      {
        cluster: 'austin',
        reason: 'clusterSelector (tier=edge) does not match its labels (region=us,tier=core)',
      },
      { cluster: 'bern', reason: 'clusterSelector (tier=edge) does not match its labels (none)' },
    ]);
    expect(rejectionOf({ clusterNames: ['oslo'] }, clusters[2] as ClusterFacts)).toBe(
      'not among clusterNames [oslo]',
    );
  });

  it('names clusters that nobody has', () => {
    expect(decide({ clusterNames: ['oslo', 'paris'] }, clusters)).toMatchObject({
      chosen: ['oslo'],
      unknown: ['paris'],
    });
  });

  it('chooses nothing by a selector that is not valid', () => {
    const decision = decide(
      { clusterSelector: { matchExpressions: [{ key: 'tier', operator: 'In', values: [] }] } },
      clusters,
    );
    expect(decision.chosen).toEqual([]);
    expect(decision.problem).toContain('clusterSelector is not valid');
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
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(facts, placement, fc.infiniteStream(fc.nat()), (list, where, order) => {
        const decision = decide(where, list);
        const shuffled = list
          .map((item) => ({ item, key: order.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ item }) => item);
        expect(decide(where, shuffled)).toEqual(decision);
        const all = [...decision.chosen, ...decision.rejected.map((item) => item.cluster)].sort();
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
