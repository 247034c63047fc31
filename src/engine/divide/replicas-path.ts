import { gvkOf, type KubeObject } from '../../kube/object.ts';
import type { JsonValue } from '../../schema/json.ts';
import { formatJsonPointer } from '../../schema/json-pointer.ts';
import type { PatchOperation } from '../intent.ts';
import { type FieldPath, readField } from '../retain/index.ts';

const SPEC_REPLICAS: FieldPath = ['spec', 'replicas'];

/** Where kinds of Kubernetes itself say how many there are of them, by `group/kind`. */
const BUILT_IN: Readonly<Record<string, FieldPath>> = {
  'apps/Deployment': SPEC_REPLICAS,
  'apps/ReplicaSet': SPEC_REPLICAS,
  'apps/StatefulSet': SPEC_REPLICAS,
  '/ReplicationController': SPEC_REPLICAS,
  'batch/Job': ['spec', 'parallelism'],
};

/** Where an object says how many replicas it has: by its kind's rule first, then by what is known of built-in kinds. */
export function replicasPathOf(object: KubeObject, rule?: FieldPath): FieldPath | undefined {
  const { group, kind } = gvkOf(object);
  return rule ?? BUILT_IN[`${group}/${kind}`];
}

/** How many an object asks for: 1 where it does not say, as Kubernetes defaults it; `undefined` where it is no whole number. */
export function readReplicas(object: KubeObject, path: FieldPath): number | undefined {
  const value = readField(object, path) ?? 1;
  return typeof value === 'number' && Number.isInteger(value) && value >= 0 ? value : undefined;
}

/**
 * The patch that sets a number at a path, making the objects on the way. `undefined` where the path cannot be had in this
 * object, such as an item of a list that is not there.
 */
export function replicasPatch(
  object: KubeObject,
  path: FieldPath,
  replicas: number,
): readonly PatchOperation[] | undefined {
  const tokens: string[] = [];
  const patch: PatchOperation[] = [];
  let value: unknown = object;
  for (const [index, step] of path.entries()) {
    const last = index === path.length - 1;
    const next = readField(value, [step]);
    if (typeof step === 'string') {
      if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
      tokens.push(step);
    } else {
      if (next === undefined || !Array.isArray(value)) return undefined;
      tokens.push(String('index' in step ? step.index : value.indexOf(next)));
    }
    if (last) patch.push(setting(tokens, replicas, typeof step !== 'string'));
    else if (next === undefined) {
      patch.push(setting(tokens, {}, false));
      value = {};
    } else value = next;
  }
  return patch.length === 0 ? undefined : patch;
}

/** `add` replaces a member of an object that is there, but inserts into a list. */
function setting(tokens: readonly string[], value: JsonValue, inList: boolean): PatchOperation {
  return { op: inList ? 'replace' : 'add', path: formatJsonPointer(tokens), value };
}
