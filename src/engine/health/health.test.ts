import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { healthOf } from './health.ts';

function object(
  kind: string,
  spec: object | undefined,
  status: object | undefined,
  metadata: KubeObject['metadata'] = {},
): KubeObject {
  return {
    apiVersion: 'x/v1',
    kind,
    metadata: { name: 'x', ...metadata },
    ...(spec && { spec }),
    ...(status && { status }),
  };
}

const condition = (type: string, status: string, reason = 'Because'): object => ({
  conditions: [{ type, status, reason, message: 'm' }],
});

describe('health', () => {
  it.each([
    [
      'Deployment',
      { replicas: 2 },
      { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
      'Healthy',
    ],
    ['Deployment', { replicas: 0 }, { observedGeneration: 2 }, 'Healthy'],
    [
      'Deployment',
      { replicas: 2 },
      { observedGeneration: 1, replicas: 2, updatedReplicas: 2, availableReplicas: 2 },
      'Progressing',
    ],
    ['Deployment', { replicas: 2 }, undefined, 'Progressing'],
    [
      'Deployment',
      { replicas: 2 },
      { observedGeneration: 2, replicas: 3, updatedReplicas: 2, availableReplicas: 3 },
      'Progressing',
    ],
    [
      'Deployment',
      { replicas: 2 },
      { observedGeneration: 2, replicas: 2, updatedReplicas: 1, availableReplicas: 2 },
      'Progressing',
    ],
    [
      'Deployment',
      { replicas: 2 },
      { observedGeneration: 2, replicas: 2, updatedReplicas: 2, availableReplicas: 1 },
      'Progressing',
    ],
    [
      'Deployment',
      {},
      { observedGeneration: 2, ...condition('Progressing', 'False', 'ProgressDeadlineExceeded') },
      'Degraded',
    ],
    [
      'Deployment',
      {},
      { observedGeneration: 2, ...condition('ReplicaFailure', 'True', 'FailedCreate') },
      'Degraded',
    ],
    [
      'StatefulSet',
      { replicas: 2 },
      { observedGeneration: 2, readyReplicas: 2, updatedReplicas: 2 },
      'Healthy',
    ],
    ['StatefulSet', { replicas: 2 }, { observedGeneration: 2, readyReplicas: 1 }, 'Progressing'],
    [
      'StatefulSet',
      { replicas: 3, updateStrategy: { rollingUpdate: { partition: 2 } } },
      { observedGeneration: 2, readyReplicas: 3, updatedReplicas: 1 },
      'Healthy',
    ],
    [
      'StatefulSet',
      { replicas: 3 },
      { observedGeneration: 2, readyReplicas: 3, updatedReplicas: 1 },
      'Progressing',
    ],
    ['ReplicaSet', { replicas: 1 }, { readyReplicas: 1 }, 'Healthy'],
    ['ReplicaSet', {}, {}, 'Progressing'],
    [
      'DaemonSet',
      {},
      { observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 2, numberAvailable: 2 },
      'Healthy',
    ],
    ['DaemonSet', {}, { observedGeneration: 2, desiredNumberScheduled: 0 }, 'Healthy'],
    [
      'DaemonSet',
      {},
      { observedGeneration: 2, desiredNumberScheduled: 2, updatedNumberScheduled: 1, numberAvailable: 2 },
      'Progressing',
    ],
    ['Job', {}, condition('Complete', 'True'), 'Healthy'],
    ['Job', {}, condition('Failed', 'True', 'BackoffLimitExceeded'), 'Degraded'],
    ['Job', { suspend: true }, {}, 'Progressing'],
    ['Job', { completions: 3 }, { succeeded: 1 }, 'Progressing'],
    ['CronJob', {}, {}, 'Healthy'],
    ['Pod', {}, { phase: 'Running', ...condition('Ready', 'True') }, 'Healthy'],
    ['Pod', {}, { phase: 'Running' }, 'Progressing'],
    ['Pod', {}, { phase: 'Succeeded' }, 'Healthy'],
    ['Pod', {}, { phase: 'Failed', reason: 'Evicted' }, 'Degraded'],
    [
      'Pod',
      {},
      { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }] },
      'Degraded',
    ],
    [
      'Pod',
      {},
      { phase: 'Pending', containerStatuses: [{ state: { waiting: { reason: 'ContainerCreating' } } }] },
      'Progressing',
    ],
    ['PersistentVolumeClaim', {}, { phase: 'Bound' }, 'Healthy'],
    ['PersistentVolumeClaim', {}, { phase: 'Lost' }, 'Degraded'],
    ['PersistentVolumeClaim', {}, {}, 'Progressing'],
    ['Service', { type: 'ClusterIP' }, {}, 'Healthy'],
    ['Service', { type: 'LoadBalancer' }, {}, 'Progressing'],
    ['Service', { type: 'LoadBalancer' }, { loadBalancer: { ingress: [{ ip: '1.2.3.4' }] } }, 'Healthy'],
    ['Namespace', {}, { phase: 'Active' }, 'Healthy'],
    ['Namespace', {}, { phase: 'Terminating' }, 'Progressing'],
    ['CustomResourceDefinition', {}, condition('Established', 'True'), 'Healthy'],
    ['CustomResourceDefinition', {}, {}, 'Progressing'],
    ['CustomResourceDefinition', {}, condition('NamesAccepted', 'False', 'Conflict'), 'Degraded'],
    ['APIService', {}, condition('Available', 'True'), 'Healthy'],
    ['APIService', {}, condition('Available', 'False', 'MissingEndpoints'), 'Progressing'],
    ['ConfigMap', undefined, undefined, 'Healthy'],
    ['Widget', {}, condition('Ready', 'True'), 'Healthy'],
    ['Widget', {}, condition('Ready', 'False'), 'Progressing'],
    ['Widget', {}, condition('Available', 'Unknown'), 'Progressing'],
    ['Widget', {}, condition('Other', 'False'), 'Healthy'],
    ['Widget', {}, { observedGeneration: 1, ...condition('Ready', 'True') }, 'Progressing'],
    ['constructor', {}, {}, 'Healthy'],
  ] as [string, object | undefined, object | undefined, string][])(
    'of a %s with spec %j and status %j is %s',
    (kind, spec, status, expected) => {
      expect(healthOf(object(kind, spec, status, { generation: 2 })).state).toBe(expected);
    },
  );

  it('says that an object is going, whatever its kind', () => {
    expect(healthOf(object('ConfigMap', undefined, undefined, { deletionTimestamp: 'now' }))).toMatchObject({
      state: 'Progressing',
      reason: 'Terminating',
    });
  });

  it('carries the reason that the object gives', () => {
    expect(healthOf(object('Job', {}, condition('Failed', 'True', 'DeadlineExceeded')))).toEqual({
      state: 'Degraded',
      reason: 'DeadlineExceeded',
      message: 'm',
    });
  });
});
