import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { healthOf } from './health.ts';

const API_VERSIONS: Record<string, string> = {
  Deployment: 'apps/v1',
  StatefulSet: 'apps/v1',
  ReplicaSet: 'apps/v1',
  DaemonSet: 'apps/v1',
  Job: 'batch/v1',
  CronJob: 'batch/v1',
  Ingress: 'networking.k8s.io/v1',
  HorizontalPodAutoscaler: 'autoscaling/v2',
  PodDisruptionBudget: 'policy/v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  APIService: 'apiregistration.k8s.io/v1',
  Widget: 'example.com/v1',
  Certificate: 'cert-manager.io/v1',
  constructor: 'v1',
};

function object(
  kind: string,
  spec: object | undefined,
  status: object | undefined,
  metadata: KubeObject['metadata'] = {},
): KubeObject {
  return {
    apiVersion: API_VERSIONS[kind] ?? 'v1',
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
    ['Widget', {}, condition('Stalled', 'True'), 'Degraded'],
    ['Widget', {}, condition('Reconciling', 'True'), 'Progressing'],
    ['Widget', {}, condition('Progressing', 'True'), 'Progressing'],
    ['Certificate', {}, condition('Ready', 'False', 'Issuing'), 'Progressing'],
    ['Certificate', {}, condition('Ready', 'False', 'InvalidIssuer'), 'Degraded'],
    ['PersistentVolume', {}, { phase: 'Available' }, 'Healthy'],
    ['PersistentVolume', {}, { phase: 'Failed' }, 'Degraded'],
    ['PersistentVolume', {}, {}, 'Progressing'],
    ['Ingress', {}, {}, 'Healthy'],
    ['Ingress', {}, { loadBalancer: { ingress: [{ hostname: 'a.example' }] } }, 'Healthy'],
    ['HorizontalPodAutoscaler', {}, {}, 'Healthy'],
    ['HorizontalPodAutoscaler', {}, condition('ScalingActive', 'True'), 'Healthy'],
    ['HorizontalPodAutoscaler', {}, condition('ScalingActive', 'False', 'FailedGetScale'), 'Degraded'],
    ['HorizontalPodAutoscaler', {}, condition('ScalingActive', 'False', 'ScalingDisabled'), 'Healthy'],
    ['PodDisruptionBudget', {}, { observedGeneration: 2, currentHealthy: 2, desiredHealthy: 2 }, 'Healthy'],
    [
      'PodDisruptionBudget',
      {},
      { observedGeneration: 2, currentHealthy: 1, desiredHealthy: 2 },
      'Progressing',
    ],
    ['Node', {}, condition('Ready', 'True'), 'Healthy'],
    ['Node', {}, condition('Ready', 'False'), 'Degraded'],
    ['Node', {}, condition('Ready', 'Unknown'), 'Progressing'],
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
