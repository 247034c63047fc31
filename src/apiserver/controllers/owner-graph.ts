import type { KubeObject, OwnerReference } from '../../kube/object.ts';
import { deepEqual } from '../../schema/json.ts';
import { parseKey } from '../store/key.ts';

const NONE: readonly OwnerReference[] = [];

/** An owner by its uid. Logical clusters share nothing: the same uid in another one is someone else. */
export function ownerId(cluster: string, uid: string | undefined): string {
  return `${cluster}/${uid ?? ''}`;
}

/** Who depends on whom, by {@link ownerId}: fed with every change, read by the garbage collector. */
export interface OwnerGraph {
  /** Takes in the references of an object; `undefined` when it has gone. Returns those before when they differ. */
  set(key: string, object: KubeObject | undefined): readonly OwnerReference[] | undefined;
  /** Keys of the objects that name an owner. */
  dependents(id: string): Iterable<string>;
  hasDependents(id: string): boolean;
  /** The references of an object, as they were last taken in. */
  owners(key: string): readonly OwnerReference[];
}

/** Costs nothing for objects without owners. */
export function ownerGraph(): OwnerGraph {
  const owners = new Map<string, readonly OwnerReference[]>();
  const dependents = new Map<string, Set<string>>();

  function link(id: string, key: string): void {
    const keys = dependents.get(id);
    if (keys === undefined) dependents.set(id, new Set([key]));
    else keys.add(key);
  }

  function unlink(id: string, key: string): void {
    const keys = dependents.get(id);
    if (keys?.delete(key) && keys.size === 0) dependents.delete(id);
  }

  return {
    set(key, object) {
      const before = owners.get(key) ?? NONE;
      const after = object === undefined ? NONE : ownerReferences(object);
      if (deepEqual(before, after)) return undefined;
      const { cluster } = parseKey(key);
      for (const { uid } of before) unlink(ownerId(cluster, uid), key);
      for (const { uid } of after) link(ownerId(cluster, uid), key);
      if (after.length === 0) owners.delete(key);
      else owners.set(key, after);
      return before;
    },
    dependents: (id) => dependents.get(id) ?? [],
    hasDependents: (id) => dependents.has(id),
    owners: (key) => owners.get(key) ?? NONE,
  };
}

/** The well-formed owner references of an object. */
export function ownerReferences(object: KubeObject): readonly OwnerReference[] {
  const references = object.metadata.ownerReferences;
  if (!Array.isArray(references) || references.length === 0) return NONE;
  return references.filter((reference) => typeof reference?.uid === 'string' && reference.uid !== '');
}
