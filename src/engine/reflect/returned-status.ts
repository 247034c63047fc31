import { gvkOf, type KubeObject, refOf } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue, listAt, objectAt, stringAt } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { HealthState } from '../health/verdict.ts';
import type { ReturnedStatus, ReturnMode } from './member-status.ts';

/** Fields of the status that are returned, by group and kind. What is not here changes too often, or says nothing of many. */
const FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  [
    'apps/Deployment',
    [
      'observedGeneration',
      'replicas',
      'updatedReplicas',
      'readyReplicas',
      'availableReplicas',
      'unavailableReplicas',
    ],
  ],
  [
    'apps/StatefulSet',
    [
      'observedGeneration',
      'replicas',
      'readyReplicas',
      'currentReplicas',
      'updatedReplicas',
      'availableReplicas',
      'currentRevision',
      'updateRevision',
    ],
  ],
  [
    'apps/DaemonSet',
    [
      'observedGeneration',
      'currentNumberScheduled',
      'desiredNumberScheduled',
      'numberAvailable',
      'numberMisscheduled',
      'numberReady',
      'numberUnavailable',
      'updatedNumberScheduled',
    ],
  ],
  [
    'apps/ReplicaSet',
    ['observedGeneration', 'replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'],
  ],
  ['batch/Job', ['active', 'ready', 'succeeded', 'failed', 'startTime', 'completionTime']],
  ['batch/CronJob', ['active', 'lastScheduleTime', 'lastSuccessfulTime']],
  ['/Service', ['loadBalancer']],
  ['networking.k8s.io/Ingress', ['loadBalancer']],
  ['/PersistentVolumeClaim', ['phase', 'accessModes', 'capacity']],
  ['/PersistentVolume', ['phase', 'message', 'reason']],
  ['/Pod', ['phase', 'reason', 'message']],
  [
    'autoscaling/HorizontalPodAutoscaler',
    ['observedGeneration', 'currentReplicas', 'desiredReplicas', 'lastScaleTime'],
  ],
  [
    'policy/PodDisruptionBudget',
    [
      'observedGeneration',
      'currentHealthy',
      'desiredHealthy',
      'disruptionsAllowed',
      'expectedPods',
      'disruptedPods',
    ],
  ],
]);

/** Conditions that end something or say that it is stuck. */
const CONDITIONS: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['apps/Deployment', new Set(['Progressing', 'ReplicaFailure'])],
  ['apps/ReplicaSet', new Set(['ReplicaFailure'])],
  ['batch/Job', new Set(['Complete', 'Failed', 'Suspended'])],
]);

const MAX_MESSAGE = 256;
/** Of one object; an API server takes objects of 1.5 MB, and a dispatch has many. */
const MAX_STATUS = 16 * 1024;

/** Whether a status of the kind is made of those on the clusters. A Service has one where it is a load balancer. */
export function reflects(object: KubeObject): boolean {
  const { group, kind } = gvkOf(object);
  const key = `${group}/${kind}`;
  return FIELDS.has(key) && (key !== '/Service' || stringAt(object, 'spec', 'type') === 'LoadBalancer');
}

/** The fields of the status that are made of those on the clusters; others are left to whoever writes them. */
export function aggregatedFields(object: Pick<KubeObject, 'apiVersion' | 'kind'>): readonly string[] {
  const { group, kind } = gvkOf(object);
  const key = `${group}/${kind}`;
  return CONDITIONS.has(key) ? [...(FIELDS.get(key) ?? []), 'conditions'] : (FIELDS.get(key) ?? []);
}

/** What is returned of an object; `undefined` where nothing is. With `whole` all of it, as somebody taught of the kind. */
export function returnedStatus(
  object: KubeObject,
  health: HealthState,
  mode: ReturnMode,
  whole: boolean = false,
): ReturnedStatus | undefined {
  if (mode === 'None') return undefined;
  const status = objectAt(object, 'status');
  if (!status) return undefined;
  const all = mode === 'Raw' || whole;
  if (!all && !reflects(object)) return undefined;
  const { generation } = object.metadata;
  const returned = {
    ref: refOf(object),
    ...(generation === undefined ? {} : { generation }),
    health,
  };
  if (!all) return { ...returned, status: reflected(object, status) };
  const small = jsonText(status).length <= MAX_STATUS;
  return small ? { ...returned, status } : { ...returned, status: {}, truncated: true };
}

function reflected(object: KubeObject, status: JsonObject): JsonObject {
  const { group, kind } = gvkOf(object);
  const key = `${group}/${kind}`;
  const out: JsonObject = {};
  for (const field of FIELDS.get(key) ?? []) {
    const value = status[field];
    // A zero says as much as nothing, to whoever reads it.
    if (value !== undefined && value !== 0 && !isEmpty(value)) out[field] = value;
  }
  const telling = CONDITIONS.get(key);
  if (!telling) return out;
  const conditions = listAt(status, 'conditions').flatMap((condition): JsonObject[] => {
    const type = stringAt(condition, 'type') ?? '';
    const is = stringAt(condition, 'status') ?? 'Unknown';
    // That it goes well is in the numbers.
    if (!telling.has(type) || is !== (type === 'Progressing' ? 'False' : 'True')) return [];
    const reason = stringAt(condition, 'reason') ?? '';
    const message = (stringAt(condition, 'message') ?? '').slice(0, MAX_MESSAGE);
    return [{ type, status: is, reason, message }];
  });
  return conditions.length === 0 ? out : { ...out, conditions };
}

function isEmpty(value: JsonValue): boolean {
  return (
    value === null ||
    value === '' ||
    (isObject(value) && Object.keys(value).length === 0) ||
    (Array.isArray(value) && value.length === 0)
  );
}
