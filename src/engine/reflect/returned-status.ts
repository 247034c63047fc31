import { asJson, gvkOf, type KubeObject, refOf } from '../../kube/object.ts';
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
/** Of one object of which more than the status is asked for. */
const MAX_CONTENT = 128 * 1024;

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

/** Of the metadata no more than says which object it is: the rest changes with every write. */
const METADATA = ['uid', 'creationTimestamp', 'generation', 'labels', 'annotations'];
const NEVER_RETURNED = new Set(['apiVersion', 'kind', 'metadata', 'status']);

/** Fields of an object that were asked for by name; `*` is all but the metadata. */
function fieldsOf(object: KubeObject, names: readonly string[]): JsonObject {
  const { metadata, ...others } = asJson(object);
  const all = names.includes('*');
  const entries = Object.entries(others).filter(
    ([key]) => !NEVER_RETURNED.has(key) && (all || names.includes(key)),
  );
  if (names.includes('metadata') && isObject(metadata)) entries.push(['metadata', pick(metadata, METADATA)]);
  return Object.fromEntries(entries);
}

function pick(object: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(object).filter(([key]) => names.includes(key)));
}

/**
 * What is returned of an object; `undefined` where nothing is. With `whole` all of its status, as somebody taught of the kind. Where
 * `names` is given there is always something: that the object is there.
 */
export function returnedStatus(
  object: KubeObject,
  health: HealthState,
  mode: ReturnMode,
  whole: boolean = false,
  names?: readonly string[],
): ReturnedStatus | undefined {
  if (mode === 'None') return undefined;
  const status = objectAt(object, 'status') ?? (names && {});
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
  const content = { status, ...(names && { fields: fieldsOf(object, names) }) };
  const small = jsonText(content).length <= (names ? MAX_CONTENT : MAX_STATUS);
  return small ? { ...returned, ...content } : { ...returned, status: {}, truncated: true };
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
