import type { KubeObject } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import { DISPATCH_LABEL, MANAGED_BY_ANNOTATION, WORKLOAD_UPDATE_ANNOTATION } from '../dispatch/dispatch.ts';

/** What says which object it is, or belongs to the API server of the cluster that it is on. */
const OWN_FIELDS = [
  'name',
  'namespace',
  'generateName',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'selfLink',
  'managedFields',
  'ownerReferences',
] as const;
/** What says on a cluster whose the object is. */
const MARK_ANNOTATIONS = [
  MANAGED_BY_ANNOTATION,
  WORKLOAD_UPDATE_ANNOTATION,
  'atoll.dev/applied-metadata',
  'atoll.dev/ensured',
];

/**
 * The field that no override may change and this one does. Told from the result, so that no roundabout way of writing a patch
 * gets past it.
 */
export function forbiddenChange(before: KubeObject, after: KubeObject): string | undefined {
  if (after.apiVersion !== before.apiVersion) return 'apiVersion';
  if (after.kind !== before.kind) return 'kind';
  const { metadata: old } = before;
  const { metadata: next } = after;
  if (typeof next !== 'object' || next === null || Array.isArray(next)) return 'metadata';
  for (const field of OWN_FIELDS) {
    const key = field as keyof typeof next;
    if (!deepEqual(old[key], next[key])) return `metadata.${field}`;
  }
  if (old.labels?.[DISPATCH_LABEL] !== next.labels?.[DISPATCH_LABEL])
    return `metadata.labels[${DISPATCH_LABEL}]`;
  for (const key of MARK_ANNOTATIONS)
    if (old.annotations?.[key] !== next.annotations?.[key]) return `metadata.annotations[${key}]`;
  return deepEqual(before['status'], after['status']) ? undefined : 'status';
}
