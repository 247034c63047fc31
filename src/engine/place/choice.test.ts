import { describe, expect, it } from 'vitest';
import { compileAllow } from './allow.ts';
import { type Decision, decide } from './decide.ts';
import { rejectionSummary } from './decision.ts';
import { cluster, everywhere, regions, why } from './fleet.fixture.ts';
import type { ClusterFacts, Placement, Taint } from './placement.ts';
import { requiredApis } from './required-apis.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const stamp = (seconds: number): string => new Date(T0 + seconds * 1000).toISOString();
const at = (seconds: number): { nowMs: number } => ({ nowMs: T0 + seconds * 1000 });

describe('taints', () => {
  const tainted = (effect: Taint['effect'], more: Partial<Taint> = {}): ClusterFacts[] => [
    cluster('a'),
    cluster('b', { taints: [{ key: 'down', value: 'yes', effect, timeAdded: stamp(0), ...more }] }),
  ];
  const both = decide(everywhere, [cluster('a'), cluster('b')]);

  it.each([
    ['NoSelect', false, false],
    ['NoExecute', false, false],
    ['NoSelectIfNew', false, true],
    ['NoSchedule', false, true],
    ['PreferNoSelect', true, true],
    ['PreferNoSchedule', true, true],
  ] as const)('[A14] %s lets in what is new: %s, keeps what is there: %s', (effect, lets, keeps) => {
    expect(decide(everywhere, tainted(effect), undefined, at(1)).chosen.includes('b')).toBe(lets);
    expect(decide(everywhere, tainted(effect), both, at(1)).chosen.includes('b')).toBe(keeps);
  });

  it('[A14] a cordoned cluster gets nothing new and keeps what it has', () => {
    const cordoned = [cluster('a'), cluster('b', { unschedulable: true })];
    expect(decide(everywhere, cordoned).chosen).toEqual(['a']);
    expect(why(decide(everywhere, cordoned), 'b')).toBe('it takes nothing new (unschedulable)');
    expect(decide(everywhere, cordoned, both).chosen).toEqual(['a', 'b']);
  });

  it('[A15 S23] what is there stays for tolerationSeconds, then goes; the decision says when', () => {
    const patient: Placement = {
      ...everywhere,
      tolerations: [{ key: 'down', operator: 'Exists', tolerationSeconds: 300 }],
    };
    const fleet = tainted('NoSelect');
    const before = decide(patient, fleet, both, at(299));
    expect(before.chosen).toEqual(['a', 'b']);
    expect(before.reconsiderAtMs).toBe(T0 + 300_000);
    const after = decide(patient, fleet, before, { nowMs: before.reconsiderAtMs ?? 0 });
    expect(after.chosen).toEqual(['a']);
    expect(why(after, 'b')).toContain('down=yes:NoSelect');
    expect(after.reconsiderAtMs).toBeUndefined();
    // Nothing new comes where it would have to go again.
    expect(decide(patient, fleet, undefined, at(1)).chosen).toEqual(['a']);
  });

  it.each<[string, NonNullable<Placement['tolerations']>, boolean]>([
    ['by key and value', [{ key: 'down', value: 'yes' }], true],
    ['by another value', [{ key: 'down', value: 'no' }], false],
    ['by key alone', [{ key: 'down', operator: 'Exists' }], true],
    ['by everything', [{ operator: 'Exists' }], true],
    ['of another effect', [{ key: 'down', operator: 'Exists', effect: 'NoSelectIfNew' }], false],
    ['in the other words', [{ key: 'down', operator: 'Exists', effect: 'NoExecute' }], true],
    ['by the longest', [{ operator: 'Exists', tolerationSeconds: 1 }, { operator: 'Exists' }], true],
  ])('tolerates %s', (_what, tolerations, expected) => {
    const decision = decide({ ...everywhere, tolerations }, tainted('NoSelect'), undefined, at(9));
    expect(decision.chosen.includes('b')).toBe(expected);
  });

  it('prefers clusters without PreferNoSelect, and leaves what is there', () => {
    const [a = cluster('a'), b = cluster('b')] = tainted('PreferNoSelect');
    const one: Placement = { ...everywhere, numberOfClusters: 1 };
    expect(decide(one, [{ ...a, name: 'z' }, b]).chosen).toEqual(['z']);
    expect(decide(one, [a, b], { ...both, chosen: ['b'] }).chosen).toEqual(['b']);
  });

  it('[S43] after evictAfter nothing stays', () => {
    const fleet = [cluster('a'), cluster('b', { evictAfter: stamp(60), unschedulable: true })];
    const before = decide(everywhere, fleet, both, at(59));
    expect(before).toMatchObject({ chosen: ['a', 'b'], reconsiderAtMs: T0 + 60_000 });
    const after = decide(everywhere, fleet, before, at(60));
    expect(after.chosen).toEqual(['a']);
    expect(after.rejected[0]).toMatchObject({ reason: 'Evicting' });
  });
});

describe('affinity groups', () => {
  const placement: Placement = {
    groups: [
      { name: 'own', clusterSelector: { matchLabels: { owner: 'us' } } },
      { name: 'rented', clusterSelector: { matchLabels: { owner: 'them' } } },
    ],
    failBackAfterSeconds: 600,
  };
  const fleet = (ownTaint?: Taint): ClusterFacts[] => [
    cluster('own', { labels: { owner: 'us' }, ...(ownTaint ? { taints: [ownTaint] } : {}) }),
    cluster('rent', { labels: { owner: 'them' } }),
  ];
  const down: Taint = { key: 'down', effect: 'NoSelect' };

  it('[A12] the first that can be used; back to it after it has been usable for a while', () => {
    const first = decide(placement, fleet(), undefined, at(0));
    expect(first).toMatchObject({ chosen: ['own'], group: 'own' });
    expect(why(first, 'rent')).toContain('own (owner=us)');
    const away = decide(placement, fleet(down), first, at(10));
    expect(away).toMatchObject({ chosen: ['rent'], group: 'rented' });
    const back = decide(placement, fleet(), away, at(100));
    expect(back).toMatchObject({
      chosen: ['rent'],
      failBack: { group: 'own', sinceMs: T0 + 100_000 },
      reconsiderAtMs: T0 + 700_000,
    });
    // A relapse starts the time anew.
    const relapse = decide(placement, fleet(down), back, at(400));
    expect(relapse.failBack).toBeUndefined();
    const again = decide(placement, fleet(), relapse, at(500));
    expect(decide(placement, fleet(), again, at(1099)).chosen).toEqual(['rent']);
    const home = decide(placement, fleet(), again, at(1100));
    expect(home).toMatchObject({ chosen: ['own'], group: 'own' });
    expect(home.failBack).toBeUndefined();
  });

  it('stays away for good where fail-back is off', () => {
    const never: Placement = { ...placement, failBack: 'Never' };
    const away = decide(never, fleet(down), undefined, at(0));
    const later = decide(never, fleet(), away, at(1e6));
    expect(later.group).toBe('rented');
    expect(later.reconsiderAtMs).toBeUndefined();
  });

  it('goes on to a group that has as many clusters as are asked for', () => {
    const wide: Placement = {
      groups: [
        { name: 'a', clusterSelector: { matchLabels: { region: 'a' } } },
        { name: 'b', clusterSelector: { matchLabels: { region: 'b' } } },
      ],
      numberOfClusters: 2,
    };
    expect(decide(wide, regions({ a: 1, b: 2 })).group).toBe('b');
    // Where none has, the first that has something.
    expect(decide(wide, regions({ a: 1, b: 1 }))).toMatchObject({
      chosen: ['a1'],
      shortage: '2 clusters are asked for and 1 can be had',
    });
  });
});

describe('overflow', () => {
  const placement: Placement = {
    clusterSelector: { matchLabels: { region: 'a' } },
    overflow: [{ clusterSelector: { matchLabels: { region: 'b' } } }],
  };
  const fleet = regions({ a: 2, b: 2, c: 1 });
  const demand = (
    replicas: number,
  ): { capacity: NonNullable<Parameters<typeof decide>[3]>['capacity'] & {} } => ({
    capacity: { replicas, divided: true, available: () => 10 },
  });

  it('[A13] growth spills over to the next tier, and shrinking leaves it again', () => {
    const small = decide(placement, fleet, undefined, demand(20));
    expect(small.chosen).toEqual(['a1', 'a2']);
    expect(why(small, 'b1')).toContain('it is a reserve that is not needed');
    expect(why(small, 'c1')).toContain('region=a');
    const grown = decide(placement, fleet, small, demand(21));
    expect(grown).toMatchObject({ chosen: ['a1', 'a2', 'b1', 'b2'], tiers: [0, 0, 1, 1] });
    expect(decide(placement, fleet, grown, demand(20)).chosen).toEqual(['a1', 'a2']);
  });

  it('takes no more of a reserve than the number that is asked for', () => {
    expect(decide({ ...placement, numberOfClusters: 3 }, fleet).chosen).toEqual(['a1', 'a2', 'b1']);
    expect(decide({ ...placement, numberOfClusters: 2 }, fleet).chosen).toEqual(['a1', 'a2']);
  });
});

describe('scores', () => {
  const fleet = [
    cluster('a', { properties: { cost: '3' }, resources: { allocatable: { cpu: '4' } } }),
    cluster('b', { properties: { cost: '1' }, resources: { allocatable: { cpu: '16' } } }),
    cluster('c', {
      properties: { cost: '2' },
      resources: { allocatable: { cpu: '8' } },
      labels: { gold: 'yes' },
    }),
  ];
  const one = (scores: Placement['scores'] & {}): Decision =>
    decide({ ...everywhere, numberOfClusters: 1, scores }, fleet);

  it.each<[string, Placement['scores'] & {}, string, number[]]>([
    ['the cheapest', [{ type: 'Property', name: 'cost', order: 'Ascending' }], 'b', [100, 100]],
    ['the dearest', [{ type: 'Property', name: 'cost' }], 'a', [100, 100]],
    ['the largest', [{ type: 'Resource', name: 'cpu' }], 'b', [100, 100]],
    [
      'the preferred',
      [{ type: 'Affinity', clusterSelector: { matchLabels: { gold: 'yes' } } }],
      'c',
      [100, 100],
    ],
    [
      'what an expression says',
      [{ type: 'Expression', expression: "cluster.name == 'c' ? 7.5 : 3.5" }],
      'c',
      [7.5, 7.5],
    ],
    [
      'the weighted sum',
      [
        { type: 'Resource', name: 'cpu', weight: 1 },
        { type: 'Affinity', clusterNames: ['c'], weight: 3 },
      ],
      'c',
      [-33.3, 100, 266.7],
    ],
  ])('[S40] %s', (_what, scores, chosen, of) => {
    const decision = one(scores);
    expect(decision.chosen).toEqual([chosen]);
    expect(decision.scores?.of).toEqual([of]);
    expect(decision.scores?.terms.at(-1)).toBe('total');
  });

  it('[S40] Balance is from 100 for no intents to -100 for the most, and is the default', () => {
    const placed = (name: string): number => ({ a: 4, b: 2, c: 0 })[name] ?? 0;
    const decision = decide({ ...everywhere, numberOfClusters: 2 }, fleet, undefined, { placed });
    expect(decision).toMatchObject({
      chosen: ['b', 'c'],
      scores: {
        of: [
          [0, 0],
          [100, 100],
        ],
      },
    });
    expect(why(decision, 'a')).toBe('others are better (2 clusters): score -100');
  });

  it('[S40] scores of others count until they end', () => {
    const scored = fleet.map((facts, index) => ({
      ...facts,
      scores: { report: { values: { free: index * 10 }, validUntil: stamp(60) } },
    }));
    const placement: Placement = {
      ...everywhere,
      numberOfClusters: 1,
      scores: [{ type: 'External', source: 'report', name: 'free' }, { type: 'Steady' }],
    };
    const decision = decide(placement, scored, undefined, at(0));
    expect(decision).toMatchObject({ chosen: ['c'], reconsiderAtMs: T0 + 60_000 });
    expect(decide(placement, scored, undefined, at(61)).chosen).toEqual(['a']);
  });

  it('with Steady a much better cluster wins over the present one, without it never', () => {
    const present = { ...one([]), chosen: ['a'] };
    const cheap: Placement = {
      ...everywhere,
      numberOfClusters: 1,
      scores: [{ type: 'Property', name: 'cost', order: 'Ascending', weight: 1 }],
    };
    expect(decide(cheap, fleet, present).chosen).toEqual(['a']);
    const mobile = (weight: number): Placement => ({
      ...cheap,
      scores: [...(cheap.scores ?? []), { type: 'Steady', weight }],
    });
    expect(decide(mobile(1), fleet, present).chosen).toEqual(['b']);
    expect(decide(mobile(3), fleet, present).chosen).toEqual(['a']);
  });
});

describe('what clusters serve', () => {
  const kinds = ['v1/ConfigMap', 'apps/v1/Deployment'];
  const requires = ['example.com/v1/Widget', 'v1/ConfigMap'];
  const fleet = [
    cluster('full', { apis: { kinds: [...kinds, 'example.com/v1/Widget'], complete: true } }),
    cluster('bare', { apis: { kinds, complete: true } }),
    cluster('partial', { apis: { kinds, complete: false } }),
    cluster('unknown'),
  ];

  it('leaves out clusters that lack a kind and names it; not those that hold the intent, or of which it is not known', () => {
    const decision = decide(everywhere, fleet, undefined, { requires });
    expect(decision.chosen).toEqual(['full', 'partial', 'unknown']);
    expect(why(decision, 'bare')).toBe('it does not serve a kind (example.com/v1/Widget)');
    const before = { ...decision, chosen: ['bare'] };
    expect(decide(everywhere, fleet, before, { requires }).chosen).toContain('bare');
  });

  it('asks for what the objects are, but for what they bring along', () => {
    const object = (apiVersion: string, kind: string, spec: object = {}): never =>
      ({ apiVersion, kind, metadata: { name: 'x' }, spec }) as never;
    const crd = object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
      group: 'example.com',
      names: { kind: 'Widget' },
    });
    expect(requiredApis([object('example.com/v1', 'Widget'), object('v1', 'ConfigMap')])).toEqual([
      'example.com/v1/Widget',
      'v1/ConfigMap',
    ]);
    expect(requiredApis([crd, object('example.com/v1', 'Widget')])).toEqual([
      'apiextensions.k8s.io/v1/CustomResourceDefinition',
    ]);
  });
});

describe('other workloads and other rules', () => {
  it('goes where its group is, and away from whom it avoids', () => {
    const fleet = [cluster('a'), cluster('b'), cluster('c')];
    expect(decide(everywhere, fleet, undefined, { together: ['b'] }).chosen).toEqual(['b']);
    expect(decide(everywhere, fleet, undefined, { together: ['gone'] }).chosen).toEqual(['a', 'b', 'c']);
    expect(decide(everywhere, fleet, undefined, { apart: ['b', 'c'] }).chosen).toEqual(['a']);
  });

  it('[A30] asks rules of others', () => {
    const extensions = [
      { name: 'weekday', refuses: ({ name }: ClusterFacts) => (name === 'a' ? 'closed today' : undefined) },
    ];
    const decision = decide(everywhere, [cluster('a'), cluster('b')], undefined, { extensions });
    expect(decision.chosen).toEqual(['b']);
    expect(why(decision, 'a')).toBe('an extension refuses it (weekday): closed today');
  });

  it('weighs scores of others beside its own, where not all clusters are taken', () => {
    const fleet = [cluster('a'), cluster('b'), cluster('c')];
    const power: Readonly<Record<string, number>> = { a: 10, b: 90, c: 50 };
    const green = { name: 'green', weight: 2, score: ({ name }: ClusterFacts) => power[name] ?? 0 };
    const decision = decide({ ...everywhere, numberOfClusters: 1 }, fleet, undefined, {
      extensions: [green],
    });
    expect(decision.chosen).toEqual(['b']);
    const busy = (name: string): number => (name === 'b' ? 1 : 0);
    // Twice 90 - 100 for the intent that it has, against twice 50 and 100.
    const balanced = decide({ ...everywhere, numberOfClusters: 1 }, fleet, undefined, {
      extensions: [green],
      placed: busy,
    });
    expect(balanced.chosen).toEqual(['c']);
    expect(balanced.scores?.terms).toEqual(['Balance', 'Plugin green', 'total']);
  });

  it('[A30] leaves a placement alone that names another scheduler, and goes by what that one says', () => {
    const fleet = [cluster('a'), cluster('b'), cluster('c')];
    const foreign = { ...everywhere, schedulerName: 'theirs' };
    const untold = decide(foreign, fleet);
    expect(untold.chosen).toEqual([]);
    expect(untold.shortage).toBe(
      'spec.placement.schedulerName is theirs, which has not said yet where to place it',
    );
    const placed = { chosen: ['b'], rejected: [], unknown: [] };
    expect(decide(foreign, fleet, placed).chosen).toEqual(['b']);
    const told = decide(foreign, fleet, placed, { scheduled: ['c', 'gone'] });
    expect(told).toMatchObject({ chosen: ['c'], unknown: ['gone'] });
    const policy = compileAllow({ name: 'first', clusters: { clusterNames: ['a'] } });
    const limited = decide(foreign, fleet, placed, { scheduled: ['a', 'c'], allow: [policy] });
    expect(limited.chosen).toEqual(['a']);
    expect(why(limited, 'c')).toContain('policy first');
    expect(decide({ ...everywhere, schedulerName: 'atoll' }, fleet).chosen).toEqual(['a', 'b', 'c']);
  });
});

describe('reading decisions', () => {
  it('is one small object however many clusters there are, and survives JSON', () => {
    const many = Array.from({ length: 1000 }, (_, index) =>
      cluster(`cluster-${index}.region-${index % 7}.example`, { labels: { region: `region-${index % 7}` } }),
    );
    const decision = decide(
      {
        clusterSelector: { matchExpressions: [{ key: 'region', operator: 'NotIn', values: ['region-3'] }] },
        numberOfClusters: 100,
      },
      many,
      undefined,
      { placed: (name) => name.length },
    );
    const text = JSON.stringify(decision);
    expect(text.length / many.length).toBeLessThan(100);
    expect(JSON.parse(text)).toEqual(decision);
    expect(rejectionSummary(decision)).toBe('143 ClusterSelector, 757 NotPicked');
  });
});
