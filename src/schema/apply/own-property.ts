import type { JsonObject, JsonValue } from '../json.ts';

/**
 * Keys of objects come from users: `constructor` is a valid ConfigMap key and must not be found on a prototype, and
 * `__proto__` must become a property instead of replacing the prototype.
 */
export function own(object: JsonObject | undefined, key: string): JsonValue | undefined {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}

export function put(object: JsonObject, key: string, value: JsonValue): void {
  if (key === '__proto__') {
    Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
  } else {
    object[key] = value;
  }
}

/** True for an object without any property that holds a value. */
export function isEmptyObject(object: JsonObject): boolean {
  for (const key in object) if (object[key] !== undefined) return false;
  return true;
}
