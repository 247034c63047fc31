import { itemKey } from '../../engine/diff/diff.ts';
import { clone, deepEqual, isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';

/**
 * `result` without the fields that `before` had and `after` has no more; undefined where there are none. Items of lists
 * that have a key are told apart by it, other items by their value.
 */
export function withoutRemoved(
  result: JsonObject,
  before: JsonObject,
  after: JsonObject,
): JsonObject | undefined {
  const copy = clone(result);
  return strip(copy, before, after) ? copy : undefined;
}

/** Changes `result` in place; true where something was taken away. */
function strip(result: JsonObject, before: JsonObject, after: JsonObject): boolean {
  let changed = false;
  for (const key in before) {
    const old = before[key];
    const current = result[key];
    // A null says nothing: the field was not there.
    if (old === undefined || old === null || current === undefined || IDENTITY.has(key)) continue;
    const next = after[key];
    if (next === undefined || next === null) {
      delete result[key];
      changed = true;
    } else if (isObject(old) && isObject(next) && isObject(current)) {
      if (strip(current, old, next)) changed = true;
    } else if (Array.isArray(old) && Array.isArray(next) && Array.isArray(current)) {
      const list = stripList(current, old, next);
      if (list === undefined) continue;
      result[key] = list;
      changed = true;
    }
  }
  return changed;
}

const IDENTITY = new Set(['apiVersion', 'kind']);

function stripList(result: JsonValue[], before: JsonValue[], after: JsonValue[]): JsonValue[] | undefined {
  const key = itemKey(before, after);
  const same = (a: JsonValue, b: JsonValue): boolean =>
    key !== undefined && isObject(a) && isObject(b) ? a[key] === b[key] : deepEqual(a, b);
  let changed = false;
  const kept = result.filter((item) => {
    const old = before.find((other) => same(other, item));
    const next = after.find((other) => same(other, item));
    if (old === undefined) return true;
    if (next === undefined) {
      changed = true;
      return false;
    }
    if (isObject(old) && isObject(next) && isObject(item) && strip(item, old, next)) changed = true;
    return true;
  });
  return changed ? kept : undefined;
}
