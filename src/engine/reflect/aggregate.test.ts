import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, numberAt } from '../../schema/json.ts';
import { aggregateStatus, type MemberStatus, returnedStatus } from './index.ts';

const API: Readonly<Record<string, string>> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  ReplicaSet: 'apps/v1',
  Job: 'batch/v1',
  CronJob: 'batch/v1',
  Ingress: 'networking.k8s.io/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  PodDisruptionBudget: 'policy/v1',
};

function object(kind: string, status: JsonObject = {}, spec: JsonObject = {}, generation = 1): KubeObject {
  const metadata = { name: 'x', namespace: 'shop', generation };
  return { apiVersion: API[kind] ?? 'v1', kind, metadata, spec, status };
}

/** What the hub comes to have of an object whose copies have these statuses. `null` is a cluster out of sight. */
function hubStatus(
  source: KubeObject,
  statuses: readonly (JsonObject | null)[],
  { applied = true, healthy = true } = {},
): JsonObject | undefined {
  const members = statuses.map((status, index): MemberStatus => {
    const cluster = `c${index}`;
    if (status === null) return { cluster, applied };
    const copy = { ...source, status, metadata: { ...source.metadata, generation: 7 } };
    const returned = returnedStatus(copy, healthy ? 'Healthy' : 'Progressing', 'Aggregate');
    return returned ? { cluster, applied, returned } : { cluster, applied };
  });
  return aggregateStatus({ source, members, nowMs: 0 });
}

const conditionsOf = (status: JsonObject | undefined): string[] =>
  (Array.isArray(status?.['conditions']) ? status['conditions'] : [])
    .filter(isObject)
    .map(({ type, status: is, reason, message }) => [type, is, reason, message].join(' '));

describe('the status of many copies as one', () => {
  it.each<[string, JsonObject[], JsonObject]>([
    [
      'Deployment',
      [
        { observedGeneration: 7, replicas: 3, updatedReplicas: 3, readyReplicas: 3, availableReplicas: 3 },
        { observedGeneration: 7, replicas: 2, updatedReplicas: 1, readyReplicas: 1, unavailableReplicas: 1 },
      ],
      { replicas: 5, updatedReplicas: 4, readyReplicas: 4, availableReplicas: 3, unavailableReplicas: 1 },
    ],
    [
      'StatefulSet',
      [
        { replicas: 3, readyReplicas: 3, currentRevision: 'a', updateRevision: 'a' },
        { replicas: 2, readyReplicas: 1, currentRevision: 'b', updateRevision: 'c' },
      ],
      { replicas: 5, readyReplicas: 4, updateRevision: 'a', currentRevision: 'b' },
    ],
    [
      'DaemonSet',
      [
        { desiredNumberScheduled: 3, numberReady: 3, numberAvailable: 3 },
        { desiredNumberScheduled: 5, numberReady: 4, numberUnavailable: 1 },
      ],
      { desiredNumberScheduled: 8, numberReady: 7, numberAvailable: 3, numberUnavailable: 1 },
    ],
    [
      'ReplicaSet',
      [{ replicas: 1, readyReplicas: 1 }, { replicas: 2 }],
      { replicas: 3, readyReplicas: 1, availableReplicas: 0 },
    ],
    [
      'CronJob',
      [
        { lastScheduleTime: '2026-01-02T00:00:00Z', active: [{ name: 'b' }] },
        { lastScheduleTime: '2026-01-03T00:00:00Z', active: [{ name: 'a' }] },
      ],
      { lastScheduleTime: '2026-01-03T00:00:00Z', active: [{ name: 'b' }, { name: 'a' }] },
    ],
    [
      'Ingress',
      [
        { loadBalancer: { ingress: [{ ip: '10.0.0.2' }, { hostname: 'a' }] } },
        { loadBalancer: { ingress: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] } },
        {},
      ],
      { loadBalancer: { ingress: [{ hostname: 'a' }, { ip: '10.0.0.1' }, { ip: '10.0.0.2' }] } },
    ],
    ['Pod', [{ phase: 'Running' }, { phase: 'Pending' }, { phase: 'Succeeded' }], { phase: 'Pending' }],
    [
      'Pod',
      [{ phase: 'Running' }, { phase: 'Failed', reason: 'Evicted' }],
      { phase: 'Failed', reason: 'Evicted' },
    ],
    ['Pod', [{ phase: 'Running' }, { phase: 'Succeeded' }], { phase: 'Running' }],
    ['Pod', [{ phase: 'Succeeded' }, { phase: 'Succeeded' }], { phase: 'Succeeded' }],
    ['PersistentVolumeClaim', [{ phase: 'Bound' }, { phase: 'Lost' }], { phase: 'Lost' }],
    ['PersistentVolumeClaim', [{ phase: 'Bound' }, { phase: 'Pending' }], { phase: 'Pending' }],
    ['PersistentVolume', [{ phase: 'Released' }, { phase: 'Available' }], { phase: 'Available' }],
    [
      'HorizontalPodAutoscaler',
      [
        { currentReplicas: 2, desiredReplicas: 3 },
        { currentReplicas: 1, desiredReplicas: 1, lastScaleTime: '2026-01-02T00:00:00Z' },
      ],
      { currentReplicas: 3, desiredReplicas: 4, lastScaleTime: '2026-01-02T00:00:00Z' },
    ],
    [
      'PodDisruptionBudget',
      [
        { currentHealthy: 2, desiredHealthy: 1, disruptionsAllowed: 1, expectedPods: 2 },
        {
          currentHealthy: 3,
          desiredHealthy: 3,
          expectedPods: 3,
          disruptedPods: { p: '2026-01-02T00:00:00Z' },
        },
      ],
      {
        currentHealthy: 5,
        desiredHealthy: 4,
        disruptionsAllowed: 1,
        expectedPods: 5,
        disruptedPods: { 'c1/p': '2026-01-02T00:00:00Z' },
      },
    ],
  ])('[A42] of a %s', (kind, statuses, wanted) => {
    expect(hubStatus(object(kind), statuses)).toMatchObject(wanted);
  });

  it('[A42] of a Service only where it is a load balancer', () => {
    const status = { loadBalancer: { ingress: [{ ip: '10.0.0.1' }] } };
    expect(returnedStatus(object('Service', status), 'Healthy', 'Aggregate')).toBeUndefined();
    const balancer = object('Service', {}, { type: 'LoadBalancer' });
    expect(hubStatus(balancer, [status, status])).toEqual(status);
  });

  it('[A42] a Job is complete when it is everywhere, and failed when it is anywhere', () => {
    const complete = (time: string): JsonObject => ({
      succeeded: 2,
      startTime: `2026-01-01T00:00:0${time}Z`,
      completionTime: `2026-01-01T00:01:0${time}Z`,
      conditions: [{ type: 'Complete', status: 'True', reason: 'CompletionsReached', message: '' }],
    });
    const job = object('Job');
    const all = hubStatus(job, [complete('3'), complete('1')]);
    expect(all).toMatchObject({
      succeeded: 4,
      startTime: '2026-01-01T00:00:01Z',
      completionTime: '2026-01-01T00:01:03Z',
    });
    expect(conditionsOf(all).map((text) => text.split(' ')[0])).toEqual(['SuccessCriteriaMet', 'Complete']);
    const some = hubStatus(job, [complete('3'), { active: 1, startTime: '2026-01-01T00:00:00Z' }]);
    expect(some).not.toHaveProperty('completionTime');
    expect(conditionsOf(some)).toEqual([]);
    const failed: JsonObject = {
      failed: 7,
      conditions: [{ type: 'Failed', status: 'True', reason: 'BackoffLimitExceeded', message: 'too often' }],
    };
    expect(conditionsOf(hubStatus(job, [complete('3'), failed]))).toEqual([
      'FailureTarget True BackoffLimitExceeded c1: too often',
      'Failed True BackoffLimitExceeded c1: too often',
    ]);
    // An API server takes no job that failed and has active pods.
    expect(conditionsOf(hubStatus(job, [{ active: 1 }, failed]))).toEqual([
      'FailureTarget True BackoffLimitExceeded c1: too often',
    ]);
  });

  it('tells what is stuck and where, and nothing of what it cannot see', () => {
    const good = { observedGeneration: 7, replicas: 1, updatedReplicas: 1, availableReplicas: 1 };
    const stuck = {
      ...good,
      unavailableReplicas: 1,
      conditions: [
        { type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded', message: 'it took long' },
        { type: 'Available', status: 'True', reason: 'x', message: '' },
      ],
    };
    const source = object('Deployment');
    expect(conditionsOf(hubStatus(source, [good, good]))).toEqual([
      'Available True MinimumReplicasAvailable every cluster has its replicas available',
    ]);
    expect(conditionsOf(hubStatus(source, [good, stuck]))).toEqual([
      'Available False MinimumReplicasUnavailable replicas are not available on some cluster',
      'Progressing False ProgressDeadlineExceeded c1: it took long',
    ]);
    expect(conditionsOf(hubStatus(source, [good, null]))).toEqual([
      'Available Unknown ClusterNotSeen nothing is known of c1',
    ]);
    expect(hubStatus(source, [good, null])).toMatchObject({ replicas: 1 });
  });

  it.each<[string, Parameters<typeof hubStatus>, number | undefined]>([
    [
      'every cluster has seen it',
      [
        object('Deployment', {}, { replicas: 4 }, 3),
        [
          { observedGeneration: 7, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
          { observedGeneration: 7, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
        ],
      ],
      3,
    ],
    [
      'one has not',
      [
        object('Deployment', { observedGeneration: 2 }, {}, 3),
        [{ observedGeneration: 7 }, { observedGeneration: 6 }],
      ],
      2,
    ],
    [
      'the newest is not applied everywhere',
      [object('Deployment', {}, {}, 3), [{ observedGeneration: 7 }], { applied: false }],
      undefined,
    ],
    [
      'a cluster is out of sight',
      [object('Deployment', { observedGeneration: 2 }, {}, 3), [{ observedGeneration: 7 }, null]],
      2,
    ],
    ['there are no clusters', [object('Deployment', {}, {}, 3), []], undefined],
    ['it was reached before', [object('Deployment', { observedGeneration: 3 }, {}, 3), [null]], 3],
    [
      'one copy alone would look like the end',
      [
        object('Deployment', {}, { replicas: 2 }, 3),
        [
          { observedGeneration: 7, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
          { observedGeneration: 7 },
        ],
        { healthy: false },
      ],
      undefined,
    ],
    [
      'the sums show that it is not over',
      [
        object('Deployment', {}, { replicas: 2 }, 3),
        [
          { observedGeneration: 7, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
          { observedGeneration: 7, replicas: 2, updatedReplicas: 2 },
        ],
        { healthy: false },
      ],
      3,
    ],
  ])('[A43] observedGeneration where %s', (_what, args, wanted) => {
    expect(numberAt(hubStatus(...args), 'observedGeneration')).toBe(wanted);
  });

  it('does not depend on the order of the clusters, and is the sum of what they say', () => {
    const counts = fc.record({
      replicas: fc.nat(50),
      updatedReplicas: fc.nat(50),
      availableReplicas: fc.nat(50),
    });
    fc.assert(
      fc.property(fc.array(fc.option(counts), { maxLength: 20 }), (statuses) => {
        const source = object('Deployment');
        const status = hubStatus(source, statuses as (JsonObject | null)[]);
        for (const field of ['replicas', 'updatedReplicas', 'availableReplicas'] as const)
          expect(status?.[field]).toBe(statuses.reduce((sum, item) => sum + (item?.[field] ?? 0), 0));
        const { conditions: _a, ...plain } = status ?? {};
        const { conditions: _b, ...turned } =
          hubStatus(source, [...statuses].reverse() as (JsonObject | null)[]) ?? {};
        expect(turned).toEqual(plain);
      }),
    );
  });

  it('moves times only when what they date changes', () => {
    const source = object('Deployment');
    const members: MemberStatus[] = [];
    const first = aggregateStatus({ source, members, nowMs: 1_000 });
    const again = aggregateStatus({ source: { ...source, status: first }, members, nowMs: 9_000_000 });
    expect(again).toEqual(first);
  });
});

describe('what is returned of an object', () => {
  const deployment = object('Deployment', {
    observedGeneration: 1,
    replicas: 2,
    readyReplicas: 0,
    conditions: [
      { type: 'Available', status: 'True', reason: 'x', message: 'y' },
      { type: 'Progressing', status: 'True', reason: 'x', message: 'y' },
    ],
    collisionCount: 1,
  });

  it('is what the aggregate needs, without what goes well', () => {
    expect(returnedStatus(deployment, 'Healthy', 'Aggregate')).toEqual({
      ref: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'x' },
      generation: 1,
      health: 'Healthy',
      status: { observedGeneration: 1, replicas: 2 },
    });
  });

  it('is nothing of kinds without one, and nothing at all where nothing is asked for', () => {
    expect(returnedStatus(object('ConfigMap'), 'Healthy', 'Aggregate')).toBeUndefined();
    expect(returnedStatus(deployment, 'Healthy', 'None')).toBeUndefined();
  });

  it('is all of it where that is asked for, within bounds', () => {
    expect(returnedStatus(deployment, 'Healthy', 'Raw')?.status).toEqual(deployment['status']);
    const large = object('Widget', { text: 'x'.repeat(20_000) });
    expect(returnedStatus(large, 'Healthy', 'Raw')).toMatchObject({ status: {}, truncated: true });
  });

  it('has those other fields that are asked for, and says of every object that it is there', () => {
    const secret = { ...object('Secret'), data: { token: 'eA==' }, type: 'Opaque' } as KubeObject;
    const fields = (...names: string[]): unknown =>
      returnedStatus(secret, 'Healthy', 'Raw', false, names)?.fields;
    expect(fields()).toEqual({});
    expect(fields('data')).toEqual({ data: { token: 'eA==' } });
    expect(fields('*')).toEqual({ spec: {}, data: { token: 'eA==' }, type: 'Opaque' });
    expect(Object.keys((fields('metadata') as { metadata: object }).metadata)).not.toContain('name');
    const large = { ...secret, data: { token: 'x'.repeat(200_000) } } as KubeObject;
    const returned = returnedStatus(large, 'Healthy', 'Raw', false, ['data']);
    expect(returned).toMatchObject({ status: {}, truncated: true });
    expect(returned).not.toHaveProperty('fields');
  });
});
