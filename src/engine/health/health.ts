import type { KubeObject } from '../../kube/object.ts';
import { at, isObject, listAt, numberAt, objectAt, stringAt } from '../../schema/json.ts';

/** How one object is doing, judged from itself alone. */
export interface Health {
  readonly state: HealthState;
  readonly reason: string;
  readonly message: string;
}

export type HealthState = 'Healthy' | 'Progressing' | 'Degraded' | 'Unknown';

type Assess = (object: KubeObject) => Health;

const healthy = (message: string = ''): Health => ({ state: 'Healthy', reason: 'Ready', message });
const progressing = (reason: string, message: string): Health => ({ state: 'Progressing', reason, message });
const degraded = (reason: string, message: string): Health => ({ state: 'Degraded', reason, message });

/**
 * Health by kind; kinds without a rule of their own are judged by their conditions, and by their existence where they
 * have none. Fields and their meaning are those that `kubectl rollout status` and `kubectl wait` go by.
 */
export function healthOf(object: KubeObject): Health {
  if (object.metadata.deletionTimestamp !== undefined)
    return progressing('Terminating', 'it is being deleted');
  return (RULES.get(object.kind) ?? byConditions)(object);
}

const RULES_BY_KIND: Readonly<Record<string, Assess>> = {
  Deployment(object) {
    const stale = notObserved(object);
    if (stale) return stale;
    const stuck = conditionOf(object, 'Progressing');
    if (stuck?.status === 'False') return degraded(stuck.reason || 'ProgressDeadlineExceeded', stuck.message);
    const failure = conditionOf(object, 'ReplicaFailure');
    if (failure?.status === 'True') return degraded(failure.reason || 'ReplicaFailure', failure.message);
    const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
    const updated = numberAt(object, 'status', 'updatedReplicas') ?? 0;
    const total = numberAt(object, 'status', 'replicas') ?? 0;
    const available = numberAt(object, 'status', 'availableReplicas') ?? 0;
    if (updated < wanted) return progressing('RollingOut', `${updated} of ${wanted} replicas are updated`);
    if (total > updated) return progressing('RollingOut', `${total - updated} old replicas are going`);
    if (available < updated)
      return progressing('Unavailable', `${available} of ${wanted} replicas are available`);
    return healthy(`${available}/${wanted}`);
  },
  StatefulSet(object) {
    const stale = notObserved(object);
    if (stale) return stale;
    const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
    const ready = numberAt(object, 'status', 'readyReplicas') ?? 0;
    if (ready < wanted) return progressing('Unavailable', `${ready} of ${wanted} replicas are ready`);
    const partition = numberAt(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0;
    const updated = numberAt(object, 'status', 'updatedReplicas') ?? ready;
    if (updated < wanted - partition)
      return progressing('RollingOut', `${updated} of ${wanted - partition} replicas are updated`);
    return healthy(`${ready}/${wanted}`);
  },
  ReplicaSet(object) {
    const wanted = numberAt(object, 'spec', 'replicas') ?? 1;
    const ready = numberAt(object, 'status', 'readyReplicas') ?? 0;
    return ready < wanted
      ? progressing('Unavailable', `${ready} of ${wanted} replicas are ready`)
      : healthy(`${ready}/${wanted}`);
  },
  DaemonSet(object) {
    const stale = notObserved(object);
    if (stale) return stale;
    const wanted = numberAt(object, 'status', 'desiredNumberScheduled') ?? 0;
    const updated = numberAt(object, 'status', 'updatedNumberScheduled') ?? wanted;
    const available = numberAt(object, 'status', 'numberAvailable') ?? 0;
    if (updated < wanted) return progressing('RollingOut', `${updated} of ${wanted} pods are updated`);
    if (available < wanted) return progressing('Unavailable', `${available} of ${wanted} pods are available`);
    return healthy(`${available}/${wanted}`);
  },
  Job(object) {
    const failed = conditionOf(object, 'Failed');
    if (failed?.status === 'True') return degraded(failed.reason || 'Failed', failed.message);
    if (conditionOf(object, 'Complete')?.status === 'True') return healthy('complete');
    if (at(object, 'spec', 'suspend') === true) return progressing('Suspended', 'the job is suspended');
    return progressing(
      'Running',
      `${numberAt(object, 'status', 'succeeded') ?? 0} of ${numberAt(object, 'spec', 'completions') ?? 1} completions`,
    );
  },
  CronJob: () => healthy(),
  Pod(object) {
    const phase = stringAt(object, 'status', 'phase') ?? 'Pending';
    if (phase === 'Succeeded') return healthy('completed');
    if (phase === 'Failed')
      return degraded(
        stringAt(object, 'status', 'reason') ?? 'Failed',
        stringAt(object, 'status', 'message') ?? 'the pod failed',
      );
    const waiting = listAt(object, 'status', 'containerStatuses')
      .map((status) => stringAt(status, 'state', 'waiting', 'reason'))
      .find((reason) => reason !== undefined && BAD_WAITS.has(reason));
    if (waiting !== undefined) return degraded(waiting, `a container waits: ${waiting}`);
    return conditionOf(object, 'Ready')?.status === 'True'
      ? healthy()
      : progressing(phase, 'the pod is not ready');
  },
  PersistentVolumeClaim(object) {
    const phase = stringAt(object, 'status', 'phase') ?? 'Pending';
    if (phase === 'Bound') return healthy();
    return phase === 'Lost'
      ? degraded('Lost', 'its volume is lost')
      : progressing('Pending', 'no volume is bound yet');
  },
  Service(object) {
    if (stringAt(object, 'spec', 'type') !== 'LoadBalancer') return healthy();
    return listAt(object, 'status', 'loadBalancer', 'ingress').length > 0
      ? healthy()
      : progressing('NoAddress', 'no load balancer address yet');
  },
  Namespace: (object) =>
    stringAt(object, 'status', 'phase') === 'Terminating'
      ? progressing('Terminating', 'it is being deleted')
      : healthy(),
  CustomResourceDefinition(object) {
    const refused = conditionOf(object, 'NamesAccepted');
    if (refused?.status === 'False') return degraded(refused.reason, refused.message);
    return conditionOf(object, 'Established')?.status === 'True'
      ? healthy()
      : progressing('Installing', 'it is not established yet');
  },
  APIService(object) {
    const available = conditionOf(object, 'Available');
    return available?.status === 'True'
      ? healthy()
      : progressing(available?.reason ?? 'Pending', available?.message ?? 'it is not available yet');
  },
};

/** A map, since kinds are names of other people's choice: `constructor` is one. */
const RULES = new Map(Object.entries(RULES_BY_KIND));

const BAD_WAITS = new Set([
  'ImagePullBackOff',
  'ErrImagePull',
  'CrashLoopBackOff',
  'CreateContainerConfigError',
  'InvalidImageName',
  'CreateContainerError',
]);

/** For kinds without a rule: Ready, Available or Healthy decide; a kind without conditions is healthy by being there. */
function byConditions(object: KubeObject): Health {
  const stale = notObserved(object);
  if (stale) return stale;
  for (const type of ['Ready', 'Available', 'Healthy', 'Succeeded']) {
    const condition = conditionOf(object, type);
    if (!condition) continue;
    if (condition.status === 'True') return healthy();
    if (condition.status === 'Unknown') return progressing(condition.reason, condition.message);
    return progressing(condition.reason, condition.message);
  }
  return healthy();
}

function notObserved(object: KubeObject): Health | undefined {
  const observed = numberAt(object, 'status', 'observedGeneration');
  const generation = object.metadata.generation;
  if (objectAt(object, 'status') === undefined && generation !== undefined && RULES.has(object.kind)) {
    return progressing('NotObserved', 'its controller has not seen it yet');
  }
  if (observed === undefined || generation === undefined || observed >= generation) return undefined;
  return progressing('NotObserved', `its controller has seen generation ${observed} of ${generation}`);
}

interface ConditionView {
  status: string;
  reason: string;
  message: string;
}

function conditionOf(object: KubeObject, type: string): ConditionView | undefined {
  for (const condition of listAt(object, 'status', 'conditions')) {
    if (!isObject(condition) || condition['type'] !== type) continue;
    return {
      status: stringAt(condition, 'status') ?? 'Unknown',
      reason: stringAt(condition, 'reason') ?? '',
      message: stringAt(condition, 'message') ?? '',
    };
  }
  return undefined;
}
