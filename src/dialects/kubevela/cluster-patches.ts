import { isObject, type JsonObject } from '../../schema/json.ts';
import type { SpokeCluster } from './types.ts';

/**
 * The properties of a component on one cluster: those that were dispatched, with the patches of its SpokeCluster on top in
 * their order. Maps are merged by key, everything else, lists too, is replaced. The same object where no patch means it.
 */
export function patchedProperties(
  spoke: SpokeCluster,
  plane: string,
  component: string,
  properties: JsonObject,
): JsonObject {
  return (spoke.spec.patches ?? [])
    .filter((patch) => patch.plane === plane && patch.component === component)
    .reduce((merged, patch) => mergeMaps(merged, patch.properties), properties);
}

function mergeMaps(base: JsonObject, over: JsonObject): JsonObject {
  const merged = new Map(Object.entries(base));
  for (const [key, value] of Object.entries(over)) {
    const present = merged.get(key);
    merged.set(key, isObject(present) && isObject(value) ? mergeMaps(present, value) : value);
  }
  return Object.fromEntries(merged);
}
