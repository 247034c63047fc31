import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { applyJsonPatch } from '../../schema/json-patch.ts';
import { takeUpTo } from './capacity.ts';
import {
  type ClusterCapacity,
  capacityOf,
  completionsOf,
  createReservations,
  divide,
  divideCompletions,
  estimateReplicas,
  estimateSets,
  podNeeds,
  preferencesOf,
  readReplicas,
  replicaNeeds,
  replicasPatch,
  replicasPathOf,
  tallyPods,
} from './index.ts';

const node = (name: string, cpu: string, more: object = {}, spec: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, labels: { 'kubernetes.io/hostname': name, pool: 'general' }, ...more },
  spec,
  status: {
    allocatable: { cpu, memory: '8Gi', pods: '110' },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
});
const pod = (nodeName: string, cpu: string, phase = 'Running'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: { nodeName, containers: [{ name: 'c', resources: { requests: { cpu, memory: '1Gi' } } }] },
  status: { phase },
});
const summariseNodes = (nodes: readonly KubeObject[], pods: readonly KubeObject[]): ClusterCapacity => {
  const tally = tallyPods();
  tally.add(pods);
  return capacityOf(nodes, tally.used);
};
const cpu = (millis: number) => ({ amounts: { cpu: millis, pods: 1 } });

describe('the room in a cluster', () => {
  it('is what nodes have less what pods ask for', () => {
    const capacity = summariseNodes(
      [node('a', '4'), node('b', '4'), node('c', '2', {}, { unschedulable: true })],
      [pod('a', '500m'), pod('a', '500m', 'Succeeded')],
    );
    expect(capacity.free).toEqual({ cpu: 7500, memory: 15 * 2 ** 30, pods: 219 });
    expect(capacity.nodes).toHaveLength(2);
    expect(estimateReplicas(capacity, cpu(1000))).toEqual({ replicas: 7, reason: 'limited by cpu' });
  });

  it('counts alike nodes once, and stays small with thousands that are not alike', () => {
    expect(
      summariseNodes(
        Array.from({ length: 50 }, (_, index) => node(`n${index}`, '4')),
        [],
      ).nodes,
    ).toHaveLength(1);
    const many = Array.from({ length: 3000 }, (_, index) => node(`n${index}`, `${1000 + index}m`));
    const capacity = summariseNodes(many, []);
    expect(capacity.nodes?.length).toBeLessThanOrEqual(200);
    const exact =
      many.length +
      many.filter((_, index) => index >= 1000).length +
      many.filter((_, index) => index >= 2000).length;
    const { replicas } = estimateReplicas(capacity, cpu(1000));
    expect(replicas).toBeLessThanOrEqual(exact);
    expect(replicas).toBeGreaterThan(exact * 0.8);
  });

  it('[A25] is what a count node by node says, for any nodes and pods', () => {
    const amount = fc.integer({ min: 0, max: 16 });
    fc.assert(
      fc.property(
        fc.array(fc.record({ cpu: amount, used: fc.integer({ min: 0, max: 8 }) }), { maxLength: 12 }),
        fc.integer({ min: 1, max: 8 }),
        (machines, needed) => {
          const capacity = summariseNodes(
            machines.map((machine, index) => node(`n${index}`, String(machine.cpu))),
            machines.flatMap(({ used }, index) => Array.from({ length: used }, () => pod(`n${index}`, '1'))),
          );
          // Each pod takes a CPU, a gibibyte of eight and a place of 110.
          const fits = machines.reduce((sum, machine) => {
            const cpus = Math.max(0, machine.cpu - machine.used);
            const memory = Math.max(0, 8 - machine.used);
            return sum + Math.min(Math.floor(cpus / needed), Math.floor(memory / 2), 110 - machine.used);
          }, 0);
          const needs = { amounts: { cpu: needed * 1000, memory: 2 * 2 ** 30, pods: 1 } };
          expect(estimateReplicas(capacity, needs).replicas).toBe(fits);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('[A25] differs when nodes are fragmented: the sum is not what fits', () => {
    const whole: ClusterCapacity = { free: { cpu: 8000 }, nodes: [{ count: 2, free: { cpu: 4000 } }] };
    const fragments: ClusterCapacity = { free: { cpu: 8000 }, nodes: [{ count: 8, free: { cpu: 1000 } }] };
    expect(estimateReplicas(whole, cpu(3000)).replicas).toBe(2);
    expect(estimateReplicas(fragments, cpu(3000))).toEqual({
      replicas: 0,
      reason: 'no single node has enough cpu',
    });
    const clusters = [
      { name: 'fragments', available: estimateReplicas(fragments, cpu(3000)).replicas },
      { name: 'whole', available: estimateReplicas(whole, cpu(3000)).replicas },
    ];
    expect(divide({ total: 2, clusters, key: 'k' }).clusters.map(({ replicas }) => replicas)).toEqual([0, 2]);
  });

  it('minds node selectors and taints', () => {
    const capacity: ClusterCapacity = {
      free: { cpu: 6000, gpu: 2 },
      nodes: [
        { count: 2, free: { cpu: 2000 }, labels: { disk: 'ssd' } },
        {
          count: 1,
          free: { cpu: 2000, gpu: 2 },
          taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }],
        },
      ],
    };
    expect(estimateReplicas(capacity, cpu(1000)).replicas).toBe(4);
    expect(estimateReplicas(capacity, { ...cpu(1000), nodeSelector: { disk: 'hdd' } })).toEqual({
      replicas: 0,
      reason: 'no node suits its node selector and tolerations',
    });
    const tolerations = [{ key: 'gpu', operator: 'Exists' }];
    expect(estimateReplicas(capacity, { amounts: { gpu: 1 }, tolerations })).toEqual({
      replicas: 2,
      reason: 'limited by gpu',
    });
  });

  it('reads what a replica needs from its pod template', () => {
    const spec = {
      initContainers: [
        { name: 'proxy', restartPolicy: 'Always', resources: { requests: { cpu: '100m' } } },
        { name: 'migrate', resources: { requests: { cpu: '2' } } },
      ],
      containers: [
        { name: 'app', resources: { limits: { cpu: '500m', memory: '64Mi' }, requests: { memory: '32Mi' } } },
      ],
      overhead: { cpu: '10m' },
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'gpu', operator: 'Exists', tolerationSeconds: 5 }],
    };
    expect(podNeeds(spec)).toEqual({ cpu: 2110, memory: 32 * 2 ** 20, pods: 1 });
    const object = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: {}, spec: { template: { spec } } };
    expect(replicaNeeds(object)).toMatchObject({
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'gpu', operator: 'Exists' }],
    });
  });

  it('[A28] fits sets of several components as a whole or not at all', () => {
    const components = [
      { name: 'manager', replicas: 1, needs: cpu(1000) },
      { name: 'worker', replicas: 3, needs: cpu(2000) },
    ];
    const capacity = (count: number): ClusterCapacity => ({
      free: { cpu: count * 2000 },
      nodes: [{ count, free: { cpu: 2000 } }],
    });
    expect(estimateSets(capacity(4), components, 1)).toEqual({ replicas: 1, reason: 'all sets fit' });
    expect(estimateSets(capacity(3), components, 1)).toEqual({
      replicas: 0,
      reason: 'no room for 1 of manager in set 1',
    });
    // Two managers share a node.
    expect(estimateSets(capacity(7), components, 5).replicas).toBe(2);
  });

  it('takes off exactly what fits', () => {
    const classes = fc.array(fc.record({ count: fc.integer({ min: 1, max: 4 }), cpu: fc.nat(20) }), {
      maxLength: 5,
    });
    fc.assert(
      fc.property(classes, fc.integer({ min: 1, max: 6 }), fc.nat(40), (list, each, replicas) => {
        const nodes = list.map(({ count, cpu: free }) => ({ count, free: { cpu: free } }));
        const capacity = { free: { cpu: list.reduce((all, item) => all + item.count * item.cpu, 0) }, nodes };
        const needs = { amounts: { cpu: each } };
        const before = estimateReplicas(capacity, needs).replicas;
        const { capacity: rest, left } = takeUpTo(capacity, needs, replicas);
        expect(left).toBe(Math.max(0, replicas - before));
        expect(estimateReplicas(rest, needs).replicas).toBe(Math.max(0, before - replicas));
        expect(rest.nodes?.reduce((all, item) => all + item.count, 0)).toBe(
          list.reduce((all, item) => all + item.count, 0),
        );
      }),
    );
  });
});

describe('reservations', () => {
  it('[A26] keep two decisions in one second from taking the same last slot', () => {
    const capacity: ClusterCapacity = { free: { cpu: 1000 }, nodes: [{ count: 1, free: { cpu: 1000 } }] };
    const ledger = createReservations();
    const decide = (owner: string, now: number): number => {
      const available = estimateReplicas(ledger.reduce(capacity, 'oslo', now, owner), cpu(1000)).replicas;
      const replicas =
        divide({ total: 1, clusters: [{ name: 'oslo', available }], key: owner }).clusters[0]?.replicas ?? 0;
      ledger.reserve({ owner, cluster: 'oslo', replicas, needs: cpu(1000), expiresAt: now + 30_000 });
      return replicas;
    };
    expect([decide('first', 0), decide('second', 400)]).toEqual([1, 0]);
    // The same decision again finds its own place.
    expect(decide('first', 500)).toBe(1);
    expect(decide('second', 30_501)).toBe(1);
  });

  it('end when replicas show, when they are withdrawn, and with time', () => {
    const ledger = createReservations();
    const reserve = (owner: string, cluster: string): void =>
      ledger.reserve({ owner, cluster, replicas: 3, needs: cpu(100), expiresAt: 1000 });
    reserve('a', 'x');
    reserve('b', 'x');
    reserve('a', 'y');
    expect(ledger.reserved('x', 0)).toBe(6);
    ledger.settle('a', 'x', 2);
    expect(ledger.reserved('x', 0)).toBe(4);
    ledger.release('a');
    expect([ledger.reserved('x', 0), ledger.reserved('y', 0)]).toEqual([3, 0]);
    expect(ledger.reserved('x', 1000)).toBe(0);
    ledger.expire(1000);
    expect(ledger.reserved('x', 0)).toBe(0);
  });
});

describe('what is divided', () => {
  it('[A44] splits completions by the name of clusters, and leaves work queues alone', () => {
    const shares = (...of: Parameters<typeof divideCompletions>): object => divideCompletions(...of).shares;
    expect(shares(100, { c: 2, a: 5, b: 3 }, 'k')).toEqual({ a: 50, b: 30, c: 20 });
    expect(shares(100, { b: 3, c: 2, a: 5 }, 'k')).toEqual({ a: 50, b: 30, c: 20 });
    expect(shares(4, { a: 0, b: 0 }, 'k')).toEqual({ a: 2, b: 2 });
    const job = { apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'j' } };
    expect(completionsOf({ ...job, spec: { parallelism: 3 } })).toBeUndefined();
    expect(completionsOf({ ...job, kind: 'CronJob', spec: { completions: 3 } })).toBeUndefined();
    expect(completionsOf({ ...job, spec: { completions: 3 } })).toBe(3);
  });

  it('never changes the completions of a cluster, and gives those of one that left to a new one', () => {
    const before = { a: 50, b: 30, c: 20 };
    expect(divideCompletions(100, { a: 1, b: 9, c: 0 }, 'k', before).shares).toEqual(before);
    expect(divideCompletions(100, { a: 5, c: 2 }, 'k', before)).toEqual({ shares: before, lost: 30 });
    const moved = divideCompletions(100, { a: 5, c: 2, d: 1, e: 2 }, 'k', before);
    expect(moved).toEqual({ shares: { a: 50, c: 20, d: 10, e: 20 }, lost: 0 });
    expect(divideCompletions(10, { a: 5, b: 5 }, 'k', before).shares).toEqual({ a: 5, b: 5 });
  });

  it('[F42] is at any path of any kind', () => {
    const object = (apiVersion: string, kind: string, spec: object): KubeObject => ({
      apiVersion,
      kind,
      metadata: { name: 'x' },
      spec,
    });
    const set = object('apps/v1', 'StatefulSet', { replicas: 7 });
    const path = replicasPathOf(set) ?? [];
    expect(readReplicas(set, path)).toBe(7);
    expect(applyJsonPatch(set as never, [...(replicasPatch(set, path, 3) ?? [])] as never)).toMatchObject({
      spec: { replicas: 3 },
    });
    const pool = object('db.example.com/v1', 'Pool', { groups: [{ name: 'a' }, { name: 'b' }] });
    expect(replicasPathOf(pool)).toBeUndefined();
    const nested = replicasPathOf(pool, ['spec', 'groups', { item: { name: 'b' } }, 'size', 'count']) ?? [];
    expect(readReplicas(pool, nested)).toBe(1);
    const patch = replicasPatch(pool, nested, 4);
    expect(patch).toEqual([
      { op: 'add', path: '/spec/groups/1/size', value: {} },
      { op: 'add', path: '/spec/groups/1/size/count', value: 4 },
    ]);
    expect(replicasPatch(pool, ['spec', 'groups', { item: { name: 'c' } }, 'size'], 4)).toBeUndefined();
    expect(
      readReplicas(object('apps/v1', 'Deployment', { replicas: 'x' }), ['spec', 'replicas']),
    ).toBeUndefined();
  });

  it('takes the first preference that means a cluster', () => {
    const clusters = [
      { name: 'a', labels: { tier: 'edge' } },
      { name: 'b', labels: { tier: 'edge' } },
      { name: 'c', labels: {} },
    ];
    const preferences = [
      { clusterNames: ['a'], minReplicas: 2 },
      { clusterSelector: { matchLabels: { tier: 'edge' } }, weight: 3, tier: 1 },
    ];
    expect(preferencesOf(preferences, clusters).clusters).toEqual([
      { name: 'a', minReplicas: 2 },
      { name: 'b', weight: 3, tier: 1 },
    ]);
    expect(preferencesOf(undefined, clusters).clusters).toHaveLength(3);
    const wrong = [{ clusterSelector: { matchExpressions: [{ key: 'x', operator: 'Near' }] } }];
    expect(preferencesOf(wrong, clusters).problems[0]).toContain('preferences[0].clusterSelector');
  });
});

describe('pods that no node took', () => {
  const refused = (
    name: string,
    owner: object,
    at: string,
    labels: Record<string, string> = {},
  ): KubeObject => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'shop', labels, ownerReferences: [{ ...owner, controller: true }] as never },
    spec: { containers: [{ name: 'c' }] },
    status: {
      phase: 'Pending',
      conditions: [
        { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', lastTransitionTime: at },
      ],
    },
  });

  it('are counted by the workload that made them', () => {
    const set = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-5d4f', uid: 'u' };
    const job = { apiVersion: 'batch/v1', kind: 'Job', name: 'tidy', uid: 'v' };
    const hash = { 'pod-template-hash': '5d4f' };
    const tally = tallyPods();
    tally.add([
      refused('a', set, '2026-01-01T00:00:05Z', hash),
      refused('b', set, '2026-01-01T00:00:01Z', hash),
      refused('c', job, '2026-01-01T00:00:09Z'),
    ]);
    tally.add([{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'd' }, status: { phase: 'Pending' } }]);
    const second = Date.parse('2026-01-01T00:00:00Z') / 1000;
    expect(tally.pending).toEqual([
      { kind: 'Deployment', namespace: 'shop', name: 'web', count: 2, since: (second + 1) * 1000 },
      { kind: 'Job', namespace: 'shop', name: 'tidy', count: 1, since: (second + 9) * 1000 },
    ]);
  });
});
