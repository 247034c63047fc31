import { clone, deepEqual, isObject, type JsonObject, type JsonValue } from './json.ts';

/**
 * Applies a merge patch (RFC 7386): objects are merged, `null` removes a key, anything else replaces. The result shares
 * nothing with its inputs. Every JSON value is a merge patch, so this does not fail.
 */
export function applyMergePatch(target: JsonValue | undefined, patch: JsonValue): JsonValue {
  if (!isObject(patch)) return clone(patch);
  const merged = isObject(target) ? clone(target) : {};
  merge(merged, patch);
  return merged;
}

function merge(target: JsonObject, patch: JsonObject): void {
  for (const key of Object.keys(patch)) {
    const value = patch[key];
    if (value === undefined) continue;
    if (value === null) {
      delete target[key];
    } else if (isObject(value)) {
      let child = Object.hasOwn(target, key) ? target[key] : undefined;
      if (!isObject(child)) {
        child = {};
        target[key] = child;
      }
      merge(child, value);
    } else {
      target[key] = clone(value);
    }
  }
}

/**
 * The smallest merge patch that makes `to` out of `from`; `{}` where they are equal objects. Nulls in objects of `to` cannot
 * be expressed in a merge patch and come out as missing keys.
 */
export function createMergePatch(from: JsonValue | undefined, to: JsonValue): JsonValue {
  if (!isObject(from) || !isObject(to)) return clone(to);
  const patch: JsonObject = {};
  for (const key of Object.keys(from)) {
    if (from[key] !== undefined && (!Object.hasOwn(to, key) || to[key] === undefined)) patch[key] = null;
  }
  for (const key of Object.keys(to)) {
    const value = to[key];
    const before = Object.hasOwn(from, key) ? from[key] : undefined;
    if (value === undefined || deepEqual(before, value)) continue;
    patch[key] = isObject(before) ? createMergePatch(before, value) : clone(value);
  }
  return patch;
}
