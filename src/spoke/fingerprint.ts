import { createHash } from 'node:crypto';
import { projectOn } from '../engine/drift/projection.ts';
import type { RetainedField } from '../engine/retain/index.ts';
import { forCreation } from '../engine/retain/index.ts';
import { asJson, gvkOf, type KubeObject } from '../kube/object.ts';
import { canonicalJson } from '../schema/json.ts';

/** Annotations that controllers of the cluster keep on objects; a change of them is not drift. */
const CONTROLLER_ANNOTATIONS =
  /^(deployment\.kubernetes\.io|autoscaling\.alpha\.kubernetes\.io|pv\.kubernetes\.io|volume\.|control-plane\.alpha\.kubernetes\.io)/;

/**
 * Equal for two reads of an object between which nobody changed what is wanted: what others state besides, and the fields
 * that the cluster owns, do not count.
 */
export function fingerprintOf(
  live: KubeObject,
  wanted: KubeObject,
  retained: readonly RetainedField[],
): string {
  const stated = forCreation(
    wanted,
    retained.map((field) => (field.mode === 'fill' ? field : { ...field, mode: 'local' })),
  );
  const { uid, deletionTimestamp } = live.metadata;
  return digest({ uid, deletionTimestamp, stated: projectOn(asJson(stated), asJson(live)) ?? null });
}

/** The same for an object that is wanted as a whole: everything counts but status and bookkeeping. */
export function wholeFingerprintOf(object: KubeObject): string {
  const { uid, generation, labels, annotations = {}, deletionTimestamp } = object.metadata;
  const own = Object.fromEntries(
    Object.entries(annotations).filter(([key]) => !CONTROLLER_ANNOTATIONS.test(key)),
  );
  const body: Record<string, unknown> = {};
  if (generation === undefined) {
    for (const key in object) if (key !== 'status' && key !== 'metadata') body[key] = object[key];
  }
  const { group, kind } = gvkOf(object);
  return digest({ group, kind, uid, generation, labels, own, body, deletionTimestamp });
}

/** Short, whatever the object's size: one is kept for every object. */
function digest(value: object): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64');
}

/** resourceVersions of one API server grow; they tell which of two reads is newer. */
export function revisionOf(object: KubeObject): number {
  return Number(object.metadata.resourceVersion ?? 0);
}
