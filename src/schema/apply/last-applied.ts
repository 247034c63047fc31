import { canonicalJson, clone, isObject, type JsonObject, objectAt, stringAt } from '../json.ts';
import { compare } from './compare.ts';
import { difference, EMPTY_SET, type FieldSet } from './field-set.ts';
import { own } from './own-property.ts';
import { toFieldSet } from './to-field-set.ts';
import type { FieldType } from './typed-schema.ts';

/** Where client-side `kubectl apply` keeps what it applied. */
export const lastAppliedAnnotation = 'kubectl.kubernetes.io/last-applied-configuration';

/** All annotations of an object together may be as large as this. */
const maxAnnotationBytes = 256 * 1024;

/**
 * The fields that client-side apply has set and that still have the value it gave them. `kubectl apply --server-side`
 * may take these over without force, whoever is on record as their owner.
 */
export function fieldsOfLastApplied(live: JsonObject, apiVersion: string, type: FieldType): FieldSet {
  const text = stringAt(live, 'metadata', 'annotations', lastAppliedAnnotation);
  if (text === undefined) return EMPTY_SET;
  let config: unknown;
  try {
    config = JSON.parse(text);
  } catch {
    return EMPTY_SET; // anyone can write annotations: what cannot be read allows nothing
  }
  if (!isObject(config) || config.apiVersion !== apiVersion) return EMPTY_SET;
  const change = compare(config, live, type);
  const set = toFieldSet(config, type);
  return difference(difference(difference(set, change.modified), change.added), change.removed);
}

/** Keeps the annotation in step with a server-side apply by kubectl, for those who go back. Does not change its arguments. */
export function refreshLastApplied(object: JsonObject, applied: JsonObject): JsonObject {
  const before = objectAt(object, 'metadata', 'annotations');
  if (before === undefined || own(before, lastAppliedAnnotation) === undefined) return object;
  const annotations = { ...before };
  const config = clone(applied);
  const metadata = objectAt(config, 'metadata');
  if (metadata !== undefined) {
    delete metadata.managedFields;
    const inner = objectAt(metadata, 'annotations');
    if (inner !== undefined) delete inner[lastAppliedAnnotation];
  }
  annotations[lastAppliedAnnotation] = `${canonicalJson(config)}\n`;
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + (typeof value === 'string' ? Buffer.byteLength(value) : 0);
  }
  if (bytes > maxAnnotationBytes) delete annotations[lastAppliedAnnotation];
  return { ...object, metadata: { ...objectAt(object, 'metadata'), annotations } };
}
