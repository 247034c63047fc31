import { at, listAt, numberAt, stringAt } from '../../schema/json.ts';
import {
  type Assess,
  conditionOf,
  degraded,
  type Health,
  healthy,
  lookAt,
  notObserved,
  progressing,
} from './verdict.ts';

const Deployment: Assess = (object) => {
  const stale = notObserved(object, true);
  if (stale) return stale;
  const stuck = conditionOf(object, 'Progressing');
  if (stuck?.status === 'False')
    return degraded(stuck.reason || 'ProgressDeadlineExceeded', `${stuck.message}; ${lookAt(object)}`);
  const failure = conditionOf(object, 'ReplicaFailure');
  if (failure?.status === 'True') return degraded(failure.reason || 'ReplicaFailure', failure.message);
  const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
  const updated = numberAt(object, 'status', 'updatedReplicas') ?? 0;
  const total = numberAt(object, 'status', 'replicas') ?? 0;
  const available = numberAt(object, 'status', 'availableReplicas') ?? 0;
  if (at(object, 'spec', 'paused') === true && updated < wanted)
    return progressing('Paused', `${updated} of ${wanted} replicas are updated and the rollout is paused`);
  if (updated < wanted) return progressing('RollingOut', `${updated} of ${wanted} replicas are updated`);
  if (total > updated) return progressing('RollingOut', `${total - updated} old replicas are going`);
  if (available < updated)
    return progressing('Unavailable', `${available} of ${wanted} replicas are available`);
  return healthy(`${available}/${wanted}`);
};

const StatefulSet: Assess = (object) => {
  const stale = notObserved(object, true);
  if (stale) return stale;
  const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
  const ready = numberAt(object, 'status', 'readyReplicas') ?? 0;
  if (ready < wanted) return progressing('Unavailable', `${ready} of ${wanted} replicas are ready`);
  const total = numberAt(object, 'status', 'replicas') ?? ready;
  if (total > wanted) return progressing('ScalingDown', `${total - wanted} replicas are going`);
  const partition = numberAt(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0;
  const updated = numberAt(object, 'status', 'updatedReplicas') ?? ready;
  if (updated < wanted - partition)
    return progressing('RollingOut', `${updated} of ${wanted - partition} replicas are updated`);
  return healthy(`${ready}/${wanted}`);
};

const ReplicaSet: Assess = (object) => {
  const stale = notObserved(object);
  if (stale) return stale;
  const failure = conditionOf(object, 'ReplicaFailure');
  if (failure?.status === 'True') return degraded(failure.reason || 'ReplicaFailure', failure.message);
  const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
  const ready = numberAt(object, 'status', 'readyReplicas') ?? 0;
  return ready < wanted
    ? progressing('Unavailable', `${ready} of ${wanted} replicas are ready`)
    : healthy(`${ready}/${wanted}`);
};

const DaemonSet: Assess = (object) => {
  const stale = notObserved(object, true);
  if (stale) return stale;
  const wanted = numberAt(object, 'status', 'desiredNumberScheduled') ?? 0;
  const updated = numberAt(object, 'status', 'updatedNumberScheduled') ?? wanted;
  const available = numberAt(object, 'status', 'numberAvailable') ?? 0;
  const onDelete = stringAt(object, 'spec', 'updateStrategy', 'type') === 'OnDelete';
  if (updated < wanted && !onDelete)
    return progressing('RollingOut', `${updated} of ${wanted} pods are updated`);
  if (available < wanted) return progressing('Unavailable', `${available} of ${wanted} pods are available`);
  return healthy(`${available}/${wanted}`);
};

const Job: Assess = (object) => {
  for (const type of ['Failed', 'FailureTarget']) {
    const failed = conditionOf(object, type);
    if (failed?.status === 'True') return degraded(failed.reason || 'Failed', failed.message);
  }
  if (conditionOf(object, 'Complete')?.status === 'True') return healthy('complete');
  if (at(object, 'spec', 'suspend') === true) return progressing('Suspended', 'the job is suspended');
  const succeeded = numberAt(object, 'status', 'succeeded') ?? 0;
  return progressing(
    'Running',
    `${succeeded} of ${numberAt(object, 'spec', 'completions') ?? 1} completions`,
  );
};

/** It is well while it waits, also when it is suspended; how its jobs end is the jobs' own health. */
const CronJob: Assess = (object) =>
  healthy(
    at(object, 'spec', 'suspend') === true
      ? 'suspended'
      : `${listAt(object, 'status', 'active').length} running`,
  );

const BAD_WAITS = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'ErrImageNeverPull',
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'InvalidImageName',
  'CreateContainerError',
  'RunContainerError',
]);

const Pod: Assess = (object) => {
  const phase = stringAt(object, 'status', 'phase') ?? 'Pending';
  if (phase === 'Succeeded') return healthy('completed');
  if (phase === 'Failed')
    return degraded(
      stringAt(object, 'status', 'reason') ?? 'Failed',
      stringAt(object, 'status', 'message') ?? `the pod failed; ${lookAt(object)}`,
    );
  const waiting = badWait(object);
  if (waiting) return waiting;
  const scheduled = conditionOf(object, 'PodScheduled');
  if (scheduled?.status === 'False' && scheduled.reason === 'Unschedulable')
    return progressing('Unschedulable', scheduled.message);
  return conditionOf(object, 'Ready')?.status === 'True'
    ? healthy()
    : progressing(phase, 'the pod is not ready');
};

function badWait(object: Parameters<Assess>[0]): Health | undefined {
  for (const field of ['initContainerStatuses', 'containerStatuses'])
    for (const status of listAt(object, 'status', field)) {
      const reason = stringAt(status, 'state', 'waiting', 'reason');
      if (reason === undefined || !BAD_WAITS.has(reason)) continue;
      const { name = '', namespace = '' } = object.metadata;
      const container = stringAt(status, 'name') ?? '';
      const next =
        reason === 'CrashLoopBackOff'
          ? `kubectl -n ${namespace} logs ${name} -c ${container} --previous`
          : `kubectl -n ${namespace} describe pod ${name}`;
      return degraded(reason, `container ${container} waits: ${reason}; see: ${next}`);
    }
  return undefined;
}

const HorizontalPodAutoscaler: Assess = (object) => {
  const able = conditionOf(object, 'AbleToScale');
  if (able?.status === 'False') return degraded(able.reason, able.message);
  const active = conditionOf(object, 'ScalingActive');
  // A target of no replicas turns autoscaling off, by someone's wish.
  if (active?.status === 'False' && active.reason !== 'ScalingDisabled')
    return degraded(active.reason, active.message);
  if (!able && !active) return healthy('no autoscaler has looked at it yet');
  return healthy(`${numberAt(object, 'status', 'currentReplicas') ?? 0} replicas`);
};

const PodDisruptionBudget: Assess = (object) => {
  const stale = notObserved(object, true);
  if (stale) return stale;
  const current = numberAt(object, 'status', 'currentHealthy') ?? 0;
  const desired = numberAt(object, 'status', 'desiredHealthy') ?? 0;
  if (current >= desired) return healthy(`${current} of ${desired} pods are healthy`);
  return progressing('InsufficientPods', `${current} of ${desired} pods are healthy`);
};

export const WORKLOAD_RULES: Readonly<Record<string, Assess>> = {
  'apps/Deployment': Deployment,
  'apps/StatefulSet': StatefulSet,
  'apps/ReplicaSet': ReplicaSet,
  'apps/DaemonSet': DaemonSet,
  'batch/Job': Job,
  'batch/CronJob': CronJob,
  '/Pod': Pod,
  '/ReplicationController': ReplicaSet,
  'autoscaling/HorizontalPodAutoscaler': HorizontalPodAutoscaler,
  'policy/PodDisruptionBudget': PodDisruptionBudget,
};
