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

/** A patch operation on an object, its values as digests where the object is a Secret. */
export function redactOperation(target: KubeObject, operation: PatchOperation): PatchOperation {
  if (!isSecret(target) || /^\/(metadata|type|immutable)(\/|$)/.test(operation.path)) return operation;
  return withoutValues(operation);
}

function withoutValues(operation: PatchOperation): PatchOperation {
  const { value, expression, operations } = operation;
  const digest: JsonValue | undefined = value === undefined ? undefined : digestText(value);
  return {
    ...operation,
    ...(digest === undefined ? {} : { value: digest }),
    // Whoever writes an expression may write the value into it.
    ...(expression === undefined ? {} : { expression: digestText(expression) }),
    ...(operations === undefined ? {} : { operations: operations.map(withoutValues) }),
  };
}
