import { digestOf, shortDigest } from '../engine/digest.ts';
import type { PatchOperation } from '../engine/intent.ts';
import type { KubeObject } from '../kube/object.ts';
import { isObject, type JsonValue } from '../schema/json.ts';

const SECRET_FIELDS = ['data', 'stringData'];

/** Stands for a value that must not be seen: equal for equal values, so that changes show. */
export function digestText(value: unknown): string {
  return `sha256:${shortDigest(digestOf(value))}`;
}

function isSecret(object: { readonly apiVersion: string; readonly kind: string }): boolean {
  return object.kind === 'Secret' && object.apiVersion === 'v1';
}

/** A Secret with digests in place of its values; any other object as it is. */
export function redact(object: KubeObject): KubeObject {
  if (!isSecret(object)) return object;
  const out: KubeObject = { ...object };
  for (const field of SECRET_FIELDS) {
    const values = out[field];
    if (values === undefined || values === null) continue;
    out[field] = isObject(values)
      ? Object.fromEntries(Object.entries(values).map(([key, value]) => [key, digestText(value)]))
      : digestText(values);
  }
  return out;
}

/** A patch operation on an object, its value as a digest where the object is a Secret. */
export function redactOperation(target: KubeObject, operation: PatchOperation): PatchOperation {
  if (!isSecret(target) || operation.value === undefined) return operation;
  if (/^\/(metadata|type|immutable)(\/|$)/.test(operation.path)) return operation;
  const value: JsonValue = digestText(operation.value);
  return { ...operation, value };
}
