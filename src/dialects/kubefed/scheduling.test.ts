import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { formatTime } from '../../runtime/clock.ts';
import { observeWorkload, schedule, type WorkloadObservation } from './scheduling.ts';
import type { ReplicaSchedulingPreference } from './types.ts';

type Wishes = NonNullable<ReplicaSchedulingPreference['spec']['clusters']>;

interface Vector {
  readonly say: string;
  readonly total: number;
  /** Nothing where the preference names none. */
  readonly clusters?: Wishes;
  /** One letter a cluster. */
  readonly ready: string;
  readonly current?: Readonly<Record<string, number>>;
  readonly capacity?: Readonly<Record<string, number>>;
  readonly rebalance?: true;
  readonly gives: Readonly<Record<string, number>>;
}

function run({ total, clusters, ready, current, capacity, rebalance }: Omit<Vector, 'say' | 'gives'>): {
  [cluster: string]: number;
} {
  const preference: ReplicaSchedulingPreference = {
    apiVersion: 'scheduling.kubefed.io/v1alpha1',
    kind: 'ReplicaSchedulingPreference',
    metadata: { name: 'web', namespace: 'shop' },
    spec: {
      targetKind: 'FederatedDeployment',
      totalReplicas: total,
      ...(clusters === undefined ? {} : { clusters }),
      ...(rebalance === undefined ? {} : { rebalance }),
    },
  };
  const workloads = new Map<string, WorkloadObservation>();
  for (const name of ready) {
    const known = capacity?.[name];
    workloads.set(name, {
      current: current?.[name] ?? 0,
      ...(known === undefined ? {} : { capacity: known }),
    });
  }
  return Object.fromEntries(schedule(preference, [...ready], workloads).replicas);
}

/** Worked out by the published rules: minima by weight, what runs, then rounds whose shares are rounded up. */
const WEIGHTS: readonly Vector[] = [
  { say: 'one cluster has all', total: 7, clusters: { a: { weight: 1 } }, ready: 'a', gives: { a: 7 } },
  { say: 'nobody said anything: all are equal', total: 9, ready: 'abc', gives: { a: 3, b: 3, c: 3 } },
  { say: 'equal shares that do not come out even', total: 10, ready: 'abc', gives: { a: 4, b: 2, c: 4 } },
  { say: 'fewer replicas than clusters', total: 2, ready: 'abc', gives: { a: 1, b: 0, c: 1 } },
  { say: 'none at all', total: 0, ready: 'abc', gives: { a: 0, b: 0, c: 0 } },
  {
    say: 'weights 1:2',
    total: 9,
    clusters: { a: { weight: 1 }, b: { weight: 2 } },
    ready: 'ab',
    gives: { a: 3, b: 6 },
  },
  {
    say: 'weights 1:2 that do not come out even',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 2 } },
    ready: 'ab',
    gives: { a: 3, b: 7 },
  },
  {
    say: 'weights 1:2:3',
    total: 6,
    clusters: { a: { weight: 1 }, b: { weight: 2 }, c: { weight: 3 } },
    ready: 'abc',
    gives: { a: 1, b: 2, c: 3 },
  },
  {
    say: 'weights 1:2:3 that do not come out even',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 2 }, c: { weight: 3 } },
    ready: 'abc',
    gives: { a: 1, b: 4, c: 5 },
  },
  {
    say: 'weight 0 gets none',
    total: 5,
    clusters: { a: { weight: 1 }, b: { weight: 0 } },
    ready: 'ab',
    gives: { a: 5, b: 0 },
  },
  {
    say: 'all of weight 0 get none',
    total: 5,
    clusters: { a: { weight: 0 }, b: { weight: 0 } },
    ready: 'ab',
    gives: { a: 0, b: 0 },
  },
  {
    say: 'a cluster that nobody means gets none',
    total: 5,
    clusters: { a: { weight: 1 } },
    ready: 'ab',
    gives: { a: 5, b: 0 },
  },
  {
    say: 'a cluster that is not ready has no part',
    total: 6,
    clusters: { a: { weight: 1 }, b: { weight: 1 }, z: { weight: 10 } },
    ready: 'ab',
    gives: { a: 3, b: 3 },
  },
  {
    say: '* means the others',
    total: 12,
    clusters: { a: { weight: 2 }, '*': { weight: 1 } },
    ready: 'abc',
    gives: { a: 6, b: 3, c: 3 },
  },
  {
    say: 'an own preference wins over *, also a smaller one',
    total: 10,
    clusters: { a: { weight: 0 }, '*': { weight: 1 } },
    ready: 'abc',
    gives: { a: 0, b: 5, c: 5 },
  },
  {
    say: '* with a minimum',
    total: 8,
    clusters: { '*': { weight: 1, minReplicas: 2 } },
    ready: 'abc',
    gives: { a: 3, b: 2, c: 3 },
  },
  {
    say: '* with a maximum',
    total: 10,
    clusters: { '*': { weight: 1, maxReplicas: 2 } },
    ready: 'abc',
    gives: { a: 2, b: 2, c: 2 },
  },
  {
    say: 'minima before weights',
    total: 10,
    clusters: { a: { weight: 1, minReplicas: 5 }, b: { weight: 4 } },
    ready: 'ab',
    gives: { a: 6, b: 4 },
  },
  {
    say: 'minima alone',
    total: 10,
    clusters: { a: { minReplicas: 3 }, b: { minReplicas: 2 } },
    ready: 'ab',
    gives: { a: 3, b: 2 },
  },
  {
    say: 'minima above the total go to the heaviest first',
    total: 5,
    clusters: { a: { weight: 1, minReplicas: 4 }, b: { weight: 2, minReplicas: 4 } },
    ready: 'ab',
    gives: { a: 1, b: 4 },
  },
  {
    say: 'a minimum that a share covers changes nothing for the others of its round',
    total: 12,
    clusters: { a: { weight: 1, minReplicas: 2 }, b: { weight: 1 } },
    ready: 'ab',
    gives: { a: 7, b: 5 },
  },
  {
    say: 'a maximum lets the others have the rest',
    total: 10,
    clusters: { a: { weight: 1, maxReplicas: 2 }, b: { weight: 1 } },
    ready: 'ab',
    gives: { a: 2, b: 8 },
  },
  {
    say: 'maxima of all leave some undone',
    total: 10,
    clusters: { a: { weight: 1, maxReplicas: 2 }, b: { weight: 3, maxReplicas: 4 } },
    ready: 'ab',
    gives: { a: 2, b: 4 },
  },
  {
    say: 'a maximum of 0 keeps a cluster empty',
    total: 6,
    clusters: { a: { weight: 5, maxReplicas: 0 }, b: { weight: 1 } },
    ready: 'ab',
    gives: { a: 0, b: 6 },
  },
  {
    say: 'a maximum below the minimum holds once a round comes to it',
    total: 6,
    clusters: { a: { weight: 1, minReplicas: 4, maxReplicas: 2 }, b: { weight: 1 } },
    ready: 'ab',
    gives: { a: 2, b: 4 },
  },
  {
    say: 'several rounds: one maximum after the other',
    total: 30,
    clusters: { a: { weight: 8, maxReplicas: 5 }, b: { weight: 4, maxReplicas: 10 }, c: { weight: 1 } },
    ready: 'abc',
    gives: { a: 5, b: 10, c: 15 },
  },
  {
    say: 'very different weights',
    total: 50,
    clusters: { a: { weight: 10 }, b: { weight: 70 } },
    ready: 'ab',
    gives: { a: 6, b: 44 },
  },
  {
    say: 'large numbers stay exact',
    total: 2000000000,
    clusters: { a: { weight: 1 }, b: { weight: 1999999999 } },
    ready: 'ab',
    gives: { a: 1, b: 1999999999 },
  },
];

const CAPACITIES: readonly Vector[] = [
  {
    say: 'what runs stays where it runs',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 8, b: 0 },
    gives: { a: 8, b: 2 },
  },
  {
    say: 'and is spread anew where that is asked for',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 8, b: 0 },
    rebalance: true,
    gives: { a: 5, b: 5 },
  },
  {
    say: 'fewer replicas than run: in the order of weights',
    total: 6,
    clusters: { a: { weight: 1 }, b: { weight: 2 } },
    ready: 'ab',
    current: { a: 5, b: 5 },
    gives: { a: 1, b: 5 },
  },
  {
    say: 'what runs above a maximum does not stay',
    total: 10,
    clusters: { a: { weight: 1, maxReplicas: 6 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 9 },
    gives: { a: 6, b: 4 },
  },
  {
    say: 'what runs where nobody means it does not stay',
    total: 6,
    clusters: { a: { weight: 1 } },
    ready: 'ab',
    current: { b: 6 },
    gives: { a: 6, b: 0 },
  },
  {
    say: 'what runs at weight 0 stays',
    total: 6,
    clusters: { a: { weight: 1 }, b: { weight: 0 } },
    ready: 'ab',
    current: { a: 2, b: 3 },
    gives: { a: 3, b: 3 },
  },
  {
    say: 'a larger total fills up those who have less',
    total: 12,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 8, b: 0 },
    gives: { a: 8, b: 4 },
  },
  {
    say: 'a new cluster gets what is new',
    total: 9,
    ready: 'abc',
    current: { a: 3, b: 3, c: 0 },
    gives: { a: 3, b: 3, c: 3 },
  },
  {
    say: 'capacity sends the rest elsewhere',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 2, b: 5 },
    capacity: { a: 2 },
    gives: { a: 2, b: 8 },
  },
  {
    say: 'capacity sends the rest elsewhere, and asks for it again where replicas are spread anew',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 2, b: 5 },
    capacity: { a: 2 },
    rebalance: true,
    gives: { a: 5, b: 8 },
  },
  {
    say: 'what fits nowhere is asked for above capacity',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 1, maxReplicas: 5 } },
    ready: 'ab',
    current: { a: 2, b: 5 },
    capacity: { a: 2 },
    gives: { a: 4, b: 5 },
  },
  {
    say: 'capacity of all: what fits nowhere is asked of each',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 2, b: 3 },
    capacity: { a: 2, b: 3 },
    gives: { a: 3, b: 8 },
  },
  {
    say: 'capacity of all, spread anew',
    total: 10,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 2, b: 3 },
    capacity: { a: 2, b: 3 },
    rebalance: true,
    gives: { a: 5, b: 5 },
  },
  {
    say: 'capacity 0 empties a cluster',
    total: 6,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { b: 3 },
    capacity: { a: 0 },
    gives: { a: 0, b: 6 },
  },
  {
    say: 'capacity bounds minima',
    total: 6,
    clusters: { a: { weight: 1, minReplicas: 4 }, b: { weight: 1 } },
    ready: 'ab',
    capacity: { a: 1 },
    gives: { a: 1, b: 5 },
  },
  {
    say: 'capacity and maximum: the smaller holds',
    total: 12,
    clusters: { a: { weight: 1, maxReplicas: 3 }, b: { weight: 1 } },
    ready: 'ab',
    capacity: { a: 5 },
    gives: { a: 3, b: 9 },
  },
  {
    say: 'capacity at weight 0 asks for nothing',
    total: 6,
    clusters: { a: { weight: 1 }, b: { weight: 0 } },
    ready: 'ab',
    current: { a: 3, b: 3 },
    capacity: { b: 1 },
    gives: { a: 5, b: 1 },
  },
  {
    say: 'what runs above its capacity does not stay',
    total: 8,
    clusters: { a: { weight: 1 }, b: { weight: 1 } },
    ready: 'ab',
    current: { a: 6, b: 2 },
    capacity: { a: 4 },
    gives: { a: 4, b: 4 },
  },
];

describe('the replicas of a preference', () => {
  it.each(WEIGHTS)('[F38] $say', ({ gives, ...vector }) => {
    expect(run(vector)).toEqual(gives);
  });

  it.each(CAPACITIES)('[F39] $say', ({ gives, ...vector }) => {
    expect(run(vector)).toEqual(gives);
  });

  it('are forty cases and more', () => {
    expect(WEIGHTS.length + CAPACITIES.length).toBeGreaterThanOrEqual(40);
  });

  it('are not decided while no cluster is ready, nor by numbers that make no sense', () => {
    expect(run({ total: 3, ready: '' })).toEqual({});
    expect(run({ total: -1, ready: 'a' })).toEqual({});
    expect(run({ total: 3, ready: 'a', clusters: { a: { weight: 0.5 } } })).toEqual({});
  });

  it('grow without taking any away where they run, unless they are to be spread anew', () => {
    const wish = fc.record(
      { weight: fc.nat(9), minReplicas: fc.nat(5), maxReplicas: fc.integer({ min: 5, max: 30 }) },
      { requiredKeys: ['weight'] },
    );
    fc.assert(
      fc.property(
        fc.record({ a: wish, b: wish, c: wish, d: wish }),
        fc.nat(60),
        fc.nat(20),
        (clusters, total, more) => {
          const before = run({ total, clusters, ready: 'abcd' });
          const after = run({ total: total + more, clusters, ready: 'abcd', current: before });
          for (const [name, replicas] of Object.entries(before))
            expect(after[name]).toBeGreaterThanOrEqual(replicas);
        },
      ),
    );
  });
});

describe('what is known of a workload', () => {
  const NOW = Date.UTC(2026, 0, 1, 12);
  const workload = (replicas: number, readyReplicas?: number): KubeObject => ({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { replicas },
    ...(readyReplicas === undefined ? {} : { status: { readyReplicas } }),
  });
  const pod = (phase: string, ...conditions: object[]): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'web', namespace: 'shop' },
    status: { phase, conditions },
  });
  const running = pod('Running', { type: 'Ready', status: 'True' });
  const unschedulable = (seconds: number, reason = 'Unschedulable'): KubeObject =>
    pod('Pending', {
      type: 'PodScheduled',
      status: 'False',
      reason,
      lastTransitionTime: formatTime(NOW - seconds * 1000),
    });

  it.each<[string, KubeObject, KubeObject[], object]>([
    ['all are ready: its pods do not matter', workload(3, 3), [unschedulable(90)], { current: 3 }],
    ['none are wanted and none are there', workload(0), [], { current: 0 }],
    ['pods that run and have a condition Ready count', workload(3, 2), [running, running], { current: 2 }],
    ['one that starts does not', workload(2, 1), [running, pod('Pending')], { current: 1 }],
    [
      'one that runs and says nothing of Ready does not',
      workload(2, 1),
      [running, pod('Running')],
      { current: 1 },
    ],
    [
      'one that has ended does not',
      workload(2, 1),
      [running, pod('Succeeded', { type: 'Ready', status: 'False' })],
      { current: 1 },
    ],
    [
      'one that runs has room, whatever was said of it before',
      workload(2, 1),
      [
        running,
        { ...unschedulable(90), status: { ...(unschedulable(90)['status'] as object), phase: 'Running' } },
      ],
      { current: 1 },
    ],
    [
      'unschedulable for more than a minute: there is no room for it',
      workload(3, 1),
      [running, unschedulable(61), unschedulable(3600)],
      { current: 1, capacity: 1 },
    ],
    [
      'for a minute exactly: not yet, and when to look again',
      workload(2, 1),
      [running, unschedulable(60)],
      { current: 1, lookAgainAtMs: NOW },
    ],
    [
      'for less: the first of them says when',
      workload(3, 1),
      [running, unschedulable(10), unschedulable(40)],
      { current: 1, lookAgainAtMs: NOW + 20_000 },
    ],
    [
      'both: what is known counts already',
      workload(3, 1),
      [running, unschedulable(90), unschedulable(10)],
      { current: 1, capacity: 2, lookAgainAtMs: NOW + 50_000 },
    ],
    [
      'not scheduled for another reason',
      workload(2, 1),
      [running, unschedulable(90, 'SchedulingGated')],
      { current: 1 },
    ],
    [
      'more pods than replicas, while they are replaced',
      workload(1, 0),
      [unschedulable(90), unschedulable(90)],
      { current: 0, capacity: 0 },
    ],
    ['no pods are there yet', workload(4), [], { current: 0 }],
  ])('[F39] %s', (_say, object, pods, known) => {
    expect(observeWorkload(object, pods, NOW)).toEqual(known);
  });

  it('counts what was asked for just now as running, for a minute', () => {
    const pods = [running, pod('Pending')];
    expect(observeWorkload(workload(4, 1), pods, NOW, NOW - 20_000)).toEqual({
      current: 4,
      lookAgainAtMs: NOW + 40_000,
    });
    expect(observeWorkload(workload(4, 1), pods, NOW, NOW - 60_000)).toEqual({ current: 1 });
    expect(observeWorkload(workload(4, 4), pods, NOW, NOW - 20_000)).toEqual({ current: 4 });
    // What no node takes does not start.
    expect(observeWorkload(workload(4, 1), [running, unschedulable(90)], NOW, NOW - 20_000)).toEqual({
      current: 3,
      capacity: 3,
      lookAgainAtMs: NOW + 40_000,
    });
  });
});
