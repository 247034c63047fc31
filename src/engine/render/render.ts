import {
  asJson,
  asObject,
  type KubeObject,
  type ObjectRef,
  refKey,
  refOf,
  refText,
} from '../../kube/object.ts';
import { isObject, type JsonValue } from '../../schema/json.ts';
import { applyJsonPatch, PatchError } from '../../schema/json-patch.ts';
import type { PatchOperation } from '../intent.ts';
import type { ObjectPatch } from './override.ts';

/** Objects as they shall be on one cluster, or what is wrong. */
export interface Rendered {
  readonly objects: readonly KubeObject[];
  readonly problems: readonly string[];
}

/**
 * The content of a revision with a cluster's patches. The hub previews with it, the spoke converges on it: the same pure
 * function, so that both see the same result. An object whose patches fail is left out and named in `problems`.
 */
export function render(objects: readonly KubeObject[], patches: readonly ObjectPatch[]): Rendered {
  const byTarget = new Map<string, ObjectPatch[]>();
  for (const patch of patches) {
    const key = refKey(patch.target);
    const list = byTarget.get(key);
    if (list) list.push(patch);
    else byTarget.set(key, [patch]);
  }
  const out: KubeObject[] = [];
  const problems: string[] = [];
  for (const object of objects) {
    const result = applyPatches(object, byTarget.get(refKey(refOf(object))) ?? []);
    if ('problem' in result) problems.push(`${refText(refOf(object))}: ${result.problem}`);
    else out.push(result.object);
  }
  return { objects: out, problems };
}

/** Applies patches to one object. It must stay the same object: kind, namespace and name cannot be overridden. */
export function applyPatches(
  object: KubeObject,
  patches: readonly ObjectPatch[],
): { object: KubeObject } | { problem: string } {
  if (patches.length === 0) return { object };
  let current: JsonValue = asJson(object);
  for (const patch of patches) {
    try {
      current = applyJsonPatch(current, strict(patch.operations) as unknown as JsonValue[]);
    } catch (error) {
      if (error instanceof PatchError) return { problem: error.message };
      throw error;
    }
  }
  if (!isObject(current)) return { problem: 'the patch does not leave an object' };
  const patched = asObject(current);
  if (!isObject(current['metadata']) || !sameIdentity(refOf(object), refOf(patched))) {
    return { problem: 'an override may not change apiVersion, kind, metadata.name or metadata.namespace' };
  }
  return { object: patched };
}

/**
 * By RFC 6902 a `replace` is a `remove` and an `add`. Written so, a path that is not there is an error also where API
 * servers let it pass: an override that points nowhere is a slip.
 */
function strict(operations: readonly PatchOperation[]): PatchOperation[] {
  return operations.flatMap((operation): PatchOperation[] =>
    operation.op === 'replace' && operation.path !== ''
      ? [
          { op: 'remove', path: operation.path },
          { ...operation, op: 'add' },
        ]
      : [operation],
  );
}

function sameIdentity(a: ObjectRef, b: ObjectRef): boolean {
  return (
    a.apiVersion === b.apiVersion && a.kind === b.kind && a.namespace === b.namespace && a.name === b.name
  );
}
