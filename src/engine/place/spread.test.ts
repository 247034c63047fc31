import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseGroups, type GroupCandidate } from './choose-groups.ts';
import { type Decision, decide } from './decide.ts';
import { cluster, everywhere, regions, why } from './fleet.fixture.ts';
import type { ClusterFacts, Placement, SpreadConstraint } from './placement.ts';

const before = (...chosen: string[]): Decision => ({ chosen, rejected: [], unknown: [] });
const byRegion = (chosen: readonly string[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const name of chosen) counts[name.charAt(0)] = (counts[name.charAt(0)] ?? 0) + 1;
  return counts;
};
/** Every set of some names. */
function subsetsOf(names: readonly string[]): string[][] {
  const all: string[][] = [[]];
  for (const name of names) all.push(...all.map((set) => [...set, name]));
  return all;
}
const place = (spread: SpreadConstraint[], more: Placement = {}): Placement => ({
  ...everywhere,
  spread,
  ...more,
});

describe('spread', () => {
  it('[A20] one in each of three zones, where three zones are asked for and three clusters', () => {
    const zones = Array.from({ length: 9 }, (_, index) =>
      cluster(`z${index % 3}-${index}`, {
        fields: { zone: `z${index % 3}`, provider: `p${index % 2}` },
        labels: { rack: `r${index}` },
      }),
    );
    const decision = decide(place([{ field: 'zone', minGroups: 3 }], { numberOfClusters: 3 }), zones);
    expect(decision.chosen.map((name) => name.slice(0, 2))).toEqual(['z0', 'z1', 'z2']);
    expect(decide(place([{ field: 'provider', maxGroups: 1 }]), zones).chosen).toHaveLength(5);
    expect(
      decide(place([{ label: 'rack', minGroups: 4 }], { numberOfClusters: 4 }), zones).chosen,
    ).toHaveLength(4);
  });

  it.each([[undefined], [0]])('[A19] maxGroups %s is no limit', (maxGroups) => {
    const constraint = { field: 'region', minGroups: 2, ...(maxGroups === undefined ? {} : { maxGroups }) };
    expect(decide(place([constraint]), regions({ a: 2, b: 1, c: 3 })).chosen).toHaveLength(6);
    expect(decide(place([{ ...constraint, field: 'cluster' }]), regions({ a: 2 })).chosen).toHaveLength(2);
  });

  it('too few groups place nothing new, and take nothing away', () => {
    const three = place([{ field: 'region', minGroups: 3 }]);
    const fleet = regions({ a: 2, b: 1 });
    const fresh = decide(three, fleet);
    expect(fresh).toMatchObject({
      chosen: [],
      shortage: 'clusters in at least 3 regions are needed and 2 can be had',
    });
    expect(why(fresh, 'a1')).toContain('at least 3 regions');
    expect(decide(three, fleet, before('a1', 'b1', 'c1')).chosen).toEqual(['a1', 'b1']);
    const anyway = place([{ field: 'region', minGroups: 3, whenUnsatisfiable: 'ScheduleAnyway' }]);
    expect(decide(anyway, fleet).chosen).toHaveLength(3);
  });

  it('a cluster that is in no group is out, where the spread is a rule', () => {
    const fleet = [...regions({ a: 1 }), cluster('x')];
    const decision = decide(place([{ field: 'region', maxSkew: 1 }]), fleet);
    expect(decision.chosen).toEqual(['a1']);
    expect(why(decision, 'x')).toBe('it is in no group of the spread (a region): none');
    const wish = place([{ field: 'region', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }]);
    expect(decide(wish, fleet).chosen).toEqual(['a1', 'x']);
  });

  it('[A17] the number of clusters, and a swap for those with more room', () => {
    const room: Record<string, number> = { c1: 40, c2: 30, c3: 60 };
    const fleet = Object.keys(room).map((name) => cluster(name));
    const two = place([{ field: 'cluster', minGroups: 1, maxGroups: 2 }]);
    const capacity = (replicas: number): Parameters<typeof decide>[3] & {} => ({
      capacity: { replicas, divided: true, available: (name) => room[name] ?? 0 },
    });
    expect(decide(two, fleet, before('c1', 'c2'), capacity(80)).chosen).toEqual(['c1', 'c3']);
    expect(decide(two, fleet, before('c1', 'c2'), capacity(70)).chosen).toEqual(['c1', 'c2']);
    expect(decide(two, fleet, undefined, capacity(101)).shortage).toBe(
      'there is room for 100 of 101 replicas',
    );
    expect(decide(place([{ field: 'cluster', minGroups: 4 }]), fleet).chosen).toEqual([]);
  });

  it('skew by two topologies at once holds for both', () => {
    const fleet = ['a', 'b'].flatMap((region) =>
      ['x', 'y', 'z'].flatMap((provider) =>
        [1, 2].map((index) => cluster(`${region}${provider}${index}`, { fields: { region, provider } })),
      ),
    );
    const { chosen } = decide(
      place(
        [
          { field: 'region', maxSkew: 1 },
          { field: 'provider', maxSkew: 1 },
        ],
        { numberOfClusters: 6 },
      ),
      fleet,
    );
    expect(chosen).toHaveLength(6);
    for (const at of [0, 1]) {
      const counts = new Map<string, number>();
      for (const name of chosen) counts.set(name.charAt(at), (counts.get(name.charAt(at)) ?? 0) + 1);
      expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
    }
  });

  it("finds a way where two topologies are in each other's way", () => {
    const fleet = ['ax', 'ay', 'bx'].map((name) =>
      cluster(name, { fields: { region: name.charAt(0), provider: name.charAt(1) } }),
    );
    const both = place(
      [
        { field: 'region', minGroups: 2 },
        { field: 'provider', minGroups: 2 },
      ],
      { numberOfClusters: 2 },
    );
    expect(decide(both, fleet).chosen).toEqual(['ay', 'bx']);
  });

  it('as a wish it decides between clusters that are new', () => {
    const wish = place([{ field: 'region', maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }], {
      numberOfClusters: 4,
    });
    expect(byRegion(decide(wish, regions({ a: 4, b: 1 })).chosen)).toEqual({ a: 3, b: 1 });
    expect(decide(wish, regions({ a: 4, b: 4 }), before('a1', 'a2', 'a3')).chosen).toEqual([
      'a1',
      'a2',
      'a3',
      'b1',
    ]);
  });
});

describe('[A18] choosing regions', () => {
  const group = (name: string, value: number, weight: number): GroupCandidate => ({ name, value, weight });
  const names = (
    candidates: GroupCandidate[],
    minGroups: number,
    maxGroups: number,
    minClusters: number,
  ): string[] | undefined => {
    const chosen = chooseGroups(candidates, { minGroups, maxGroups, minClusters });
    return chosen && [...chosen].sort();
  };
  const four = [group('r1', 2, 60), group('r2', 3, 50), group('r3', 4, 40), group('r4', 5, 30)];

  it.each<[string, GroupCandidate[], number, number, number, string[] | undefined]>([
    ['the heaviest, where each is enough', four, 1, 1, 1, ['r1']],
    ['the heaviest that is large enough', four, 1, 1, 3, ['r2']],
    ['the heaviest pair', four, 2, 2, 4, ['r1', 'r2']],
    ['the heaviest pair that is large enough', four, 2, 2, 6, ['r1', 'r3']],
    ['as many as are needed for the clusters', four, 1, 3, 11, ['r1', 'r3', 'r4']],
    [
      'no more than suffice: the beginning of a choice',
      [group('a', 1, 50), group('b', 2, 90)],
      1,
      2,
      2,
      ['b'],
    ],
    ['more clusters at equal weight', [group('a', 1, 10), group('b', 3, 10)], 1, 1, 1, ['b']],
    ['the first by name where all is equal', [group('b', 2, 10), group('a', 2, 10)], 1, 1, 1, ['a']],
    ['none, where none is enough', four, 1, 2, 10, undefined],
    ['none, where there are too few groups', four, 5, 6, 1, undefined],
  ])('%s', (_what, candidates, minGroups, maxGroups, minClusters, expected) => {
    expect(names(candidates, minGroups, maxGroups, minClusters)).toEqual(expected);
  });

  it('keeps within the limits whatever the groups, and finds a choice where there is one', () => {
    const candidates = fc.uniqueArray(
      fc.record({
        name: fc.stringMatching(/^[a-h]$/),
        value: fc.integer({ min: 1, max: 4 }),
        weight: fc.integer({ min: 0, max: 9 }),
      }),
      { selector: ({ name }) => name, maxLength: 7 },
    );
    const limits = fc.record({
      minGroups: fc.integer({ min: 1, max: 3 }),
      more: fc.nat(2),
      minClusters: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(
        candidates,
        limits,
        fc.array(fc.stringMatching(/^[a-h]$/)),
        (list, { minGroups, more, minClusters }, kept) => {
          const maxGroups = minGroups + more;
          const suits = (set: readonly GroupCandidate[]): boolean =>
            set.length >= minGroups &&
            set.length <= maxGroups &&
            set.reduce((sum, item) => sum + item.value, 0) >= minClusters;
          const subsets = subsetsOf(list.map(({ name }) => name)).map((set) =>
            list.filter(({ name }) => set.includes(name)),
          );
          const inUse = new Set(kept);
          const chosen = chooseGroups(list, { minGroups, maxGroups, minClusters }, inUse);
          const held = list.filter(({ name }) => inUse.has(name));
          const possible = subsets.filter(suits);
          // Groups in use stay where they may: that narrows the choice.
          const open =
            held.length > maxGroups
              ? possible.filter((set) => set.every((item) => held.includes(item)))
              : possible.filter((set) => held.every((item) => set.includes(item)));
          expect(chosen !== undefined).toBe(open.length > 0);
          if (chosen) expect(suits(list.filter(({ name }) => chosen.includes(name)))).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it('ends with very many groups', () => {
    const many = Array.from({ length: 60 }, (_, index) => group(`g${index}`, 1 + (index % 3), index));
    expect(names(many, 5, 20, 40)).toBeDefined();
  });

  it('counts what a region can take of its share, where replicas are divided', () => {
    const fleet = regions({ a: 3, b: 1, c: 1 });
    const two = place([
      { field: 'region', minGroups: 2, maxGroups: 2 },
      { field: 'cluster', minGroups: 2 },
    ]);
    const room = (name: string): number => (name.startsWith('a') ? 1 : 50);
    const capacity = { replicas: 100, divided: true, available: room };
    expect(decide(two, fleet, undefined, { capacity }).chosen).toEqual(['b1', 'c1']);
    expect(decide(two, fleet).chosen).toEqual(['a1', 'a2', 'a3', 'b1']);
  });

  it('takes one cluster of each chosen region, then fills up to the number of clusters', () => {
    const karmada: Placement = place([
      { field: 'region', minGroups: 2, maxGroups: 2 },
      { field: 'cluster', minGroups: 3, maxGroups: 4 },
    ]);
    const decision = decide(karmada, regions({ a: 1, b: 2, c: 4 }));
    expect(byRegion(decision.chosen)).toEqual({ b: 2, c: 2 });
    expect(why(decision, 'a1')).toContain('at most 2 region');
  });
});

describe('properties of decisions', () => {
  const fleets = fc
    .uniqueArray(
      fc.record({
        index: fc.nat(30),
        region: fc.constantFrom('a', 'b', 'c'),
        cordoned: fc.boolean(),
        labels: fc.dictionary(fc.constantFrom('k'), fc.constantFrom('x', 'y')),
      }),
      { selector: ({ index }) => index, maxLength: 9 },
    )
    .map((list) =>
      list.map(({ index, region, cordoned, labels }): ClusterFacts => {
        const facts = { name: `c${index}`, labels, fields: { region } };
        return cordoned ? { ...facts, unschedulable: true } : facts;
      }),
    );
  const limits = fc.record({
    numberOfClusters: fc.integer({ min: 1, max: 6 }),
    maxSkew: fc.integer({ min: 0, max: 2 }),
    minGroups: fc.integer({ min: 0, max: 3 }),
    more: fc.integer({ min: 0, max: 2 }),
  });
  const regionOf = (fleet: readonly ClusterFacts[], name: string): string =>
    String(fleet.find((facts) => facts.name === name)?.fields?.['region']);
  const countsOf = (fleet: readonly ClusterFacts[], chosen: readonly string[]): Map<string, number> => {
    const counts = new Map<string, number>();
    for (const name of chosen)
      counts.set(regionOf(fleet, name), (counts.get(regionOf(fleet, name)) ?? 0) + 1);
    return counts;
  };

  it('[S40] spread keeps within its minimum, maximum and skew, and is as large as it can be', () => {
    fc.assert(
      fc.property(
        fleets,
        limits,
        fc.boolean(),
        (fleet, { numberOfClusters, maxSkew, minGroups, more }, few) => {
          const maxGroups = few ? minGroups + more : 0;
          const placement = place([{ field: 'region', minGroups, maxGroups, maxSkew }], { numberOfClusters });
          const { chosen, shortage } = decide(placement, fleet);
          const open = fleet.filter((facts) => facts.unschedulable !== true);
          const counts = countsOf(fleet, chosen);
          const allRegions = [...new Set(open.map((facts) => String(facts.fields?.['region'])))];
          expect(chosen.length).toBeLessThanOrEqual(numberOfClusters);
          if (chosen.length > 0) expect(counts.size).toBeGreaterThanOrEqual(Math.min(minGroups, 3));
          if (maxGroups > 0) expect(counts.size).toBeLessThanOrEqual(maxGroups);
          if (maxSkew > 0 && maxGroups === 0) {
            const all = allRegions.map((region) => counts.get(region) ?? 0);
            expect(Math.max(0, ...all) - Math.min(...all, Infinity)).toBeLessThanOrEqual(maxSkew);
          }
          expect(shortage === undefined).toBe(chosen.length === numberOfClusters);
          if (maxGroups > 0) return;
          // A naive model: every set of open clusters that keeps the rules.
          const subsets = subsetsOf(open.map(({ name }) => name));
          const largest = subsets
            .filter((set) => {
              const of = countsOf(fleet, set);
              const all = allRegions.map((region) => of.get(region) ?? 0);
              return (
                set.length <= numberOfClusters &&
                (set.length === 0 || of.size >= minGroups) &&
                (maxSkew === 0 || Math.max(0, ...all) - Math.min(...all, Infinity) <= maxSkew)
              );
            })
            .reduce((most, set) => Math.max(most, set.length), 0);
          expect(chosen.length).toBe(largest);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('is sticky: deciding again changes nothing, and losing a cluster moves one at most', () => {
    fc.assert(
      fc.property(fleets, limits, fc.nat(8), (fleet, { numberOfClusters, maxSkew }, lost) => {
        const placement = place(maxSkew === 0 ? [] : [{ field: 'region', maxSkew }], { numberOfClusters });
        const first = decide(placement, fleet);
        expect(decide(placement, fleet, first)).toEqual(first);
        const gone = first.chosen[lost % Math.max(1, first.chosen.length)];
        const rest = fleet.filter(({ name }) => name !== gone);
        const next = decide(placement, rest, first);
        if (maxSkew === 0) {
          expect(first.chosen.filter((name) => name !== gone && !next.chosen.includes(name))).toEqual([]);
          expect(next.chosen.filter((name) => !first.chosen.includes(name)).length).toBeLessThanOrEqual(1);
          return;
        }
        // With skew others may have to go: as few as a naive model finds.
        const open = rest.filter(
          (facts) => facts.unschedulable !== true || first.chosen.includes(facts.name),
        );
        const allRegions = [...new Set(open.map((facts) => String(facts.fields?.['region'])))];
        const valid = subsetsOf(open.map(({ name }) => name)).filter((set) => {
          const of = countsOf(rest, set);
          const all = allRegions.map((region) => of.get(region) ?? 0);
          return (
            set.length === next.chosen.length && Math.max(0, ...all) - Math.min(...all, Infinity) <= maxSkew
          );
        });
        const kept = (set: readonly string[]): number =>
          set.filter((name) => first.chosen.includes(name)).length;
        expect(kept(next.chosen)).toBe(Math.max(...valid.map(kept)));
      }),
      { numRuns: 150 },
    );
  });

  it('[K21] a cluster that loses a label leaves, one that gains it joins, nothing else moves', () => {
    fc.assert(
      fc.property(fleets, fc.nat(8), fc.constantFrom('x', 'y', undefined), (fleet, which, value) => {
        const placement: Placement = { clusterSelector: { matchLabels: { k: 'x' } } };
        const first = decide(placement, fleet);
        const at = which % Math.max(1, fleet.length);
        const relabelled = fleet.map((facts, index) =>
          index === at ? { ...facts, labels: value === undefined ? {} : { k: value } } : facts,
        );
        const next = decide(placement, relabelled, first);
        const changed = [...first.chosen, ...next.chosen].filter(
          (name) => first.chosen.includes(name) !== next.chosen.includes(name),
        );
        expect(changed.every((name) => name === fleet[at]?.name)).toBe(true);
      }),
    );
  });

  it('excluding one more cluster takes that one away and no other, where all are taken', () => {
    fc.assert(
      fc.property(fleets, fc.array(fc.nat(30)), fc.nat(30), (fleet, some, one) => {
        const exclude = (indexes: readonly number[]): Placement => ({
          ...everywhere,
          exclude: [{ clusterNames: indexes.map((index) => `c${index}`) }],
        });
        const less = decide(exclude(some), fleet).chosen;
        const more = decide(exclude([...some, one]), fleet).chosen;
        expect(more).toEqual(less.filter((name) => name !== `c${one}`));
      }),
    );
  });

  it('of a number of clusters, excluding one that was taken keeps all others', () => {
    fc.assert(
      fc.property(fleets, limits, fc.nat(8), (fleet, { numberOfClusters }, which) => {
        const first = decide({ ...everywhere, numberOfClusters }, fleet);
        const out = first.chosen[which % Math.max(1, first.chosen.length)];
        const exclude = out === undefined ? [] : [{ clusterNames: [out] }];
        const next = decide({ ...everywhere, numberOfClusters, exclude }, fleet, first);
        for (const name of first.chosen) expect(next.chosen.includes(name)).toBe(name !== out);
      }),
    );
  });
});
