import type { KubeObject, ManagedFieldsEntry } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { type FieldPath, type FieldStep, fits } from './field-path.ts';

/** Whether a manager owns a field, by the record of an object. `operation` absent means whichever. */
export function ownsField(
  live: KubeObject,
  path: FieldPath,
  manager: string,
  operation?: 'Apply' | 'Update',
): boolean {
  let own = 0;
  let others = 0;
  for (const entry of live.metadata.managedFields ?? []) {
    const reach = reachOf(entry.fieldsV1, path);
    const isOwn = entry.manager === manager && (operation === undefined || entry.operation === operation);
    if (isOwn) own = Math.max(own, reach);
    else others = Math.max(others, reach);
  }
  // A map that is owned without any of its keys may be one whole, or one whose keys are others': then they reach further.
  return own > 0 && own >= others;
}

/** How far a set of fields follows a path: all of it, or the part that it owns as a whole; 0 where it does not own it. */
function reachOf(fields: JsonObject | undefined, path: FieldPath): number {
  let node: unknown = fields;
  for (const [depth, step] of path.entries()) {
    if (!isObject(node)) return 0;
    const below = childOf(node, step);
    if (below === undefined) return Object.keys(node).every((key) => key === '.') ? depth : 0;
    node = below;
  }
  return isObject(node) ? path.length : 0;
}

function childOf(node: JsonObject, step: FieldStep): unknown {
  if (typeof step === 'string') return node[`f:${step}`];
  if ('index' in step) return node[`i:${step.index}`];
  if ('each' in step) return undefined;
  for (const key in node) {
    if (!key.startsWith('k:')) continue;
    const item = parseKey(key.slice(2));
    if (item && fits(item, step.item)) return node[key];
  }
  return undefined;
}

function parseKey(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    // Someone wrote the record by hand: it names no item then.
    return undefined;
  }
}

/**
 * The writer who holds fields that are wanted to be otherwise: the last one besides `manager` that owns any of them.
 * `undefined` where nobody does, for example because the object was just made.
 */
export function rivalOf(live: KubeObject, wanted: KubeObject, manager: string): string | undefined {
  let found: ManagedFieldsEntry | undefined;
  for (const entry of live.metadata.managedFields ?? []) {
    if (entry.manager === undefined || entry.manager === manager || entry.subresource === 'status') continue;
    if (!touches(entry.fieldsV1, wanted as unknown as JsonValue)) continue;
    if (found === undefined || (entry.time ?? '') >= (found.time ?? '')) found = entry;
  }
  return found?.manager;
}

/** Whether a set names a value of an object, its name and its kind aside. */
function touches(fields: JsonObject | undefined, value: JsonValue | undefined): boolean {
  if (fields === undefined || value === undefined) return false;
  for (const key in fields) {
    const below = fields[key];
    if (key === '.' || !isObject(below)) continue;
    const found = valueAt(value, key);
    if (found === undefined) continue;
    const leaf = Object.keys(below).every((inner) => inner === '.');
    if (leaf ? !isObject(found) || Object.keys(found).length === 0 : touches(below, found)) return true;
  }
  return false;
}

function valueAt(value: JsonValue, element: string): JsonValue | undefined {
  if (element.startsWith('f:')) {
    const name = element.slice(2);
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
  }
  if (!Array.isArray(value) || !element.startsWith('k:')) return undefined;
  const key = parseKey(element.slice(2)) as Readonly<Record<string, JsonValue>> | undefined;
  return key && value.find((item) => isObject(item) && fits(item, key));
}
