/**
 * JSON as values. Kubernetes objects are JSON objects everywhere in this code base; typed views are laid over them. A `bigint` is
 * an integer beyond ±2^53, which `number` would round (see `json-text.ts`).
 */
export type JsonValue = null | boolean | number | bigint | string | JsonValue[] | JsonObject;
export interface JsonObject {
  [key: string]: JsonValue | undefined;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A deep copy; keys that hold `undefined` are left out. */
export function clone<T>(value: T): T {
  if (Array.isArray(value)) return value.map(clone) as T;
  if (typeof value !== 'object' || value === null) return value;
  const out: Record<string, unknown> = {};
  for (const key in value) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    if (key === '__proto__')
      Object.defineProperty(out, key, {
        value: clone(item),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    else out[key] = clone(item);
  }
  return out as T;
}

/** Equality of JSON values: key order and keys that hold `undefined` do not matter, list order does. */
export function deepEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a)) {
    if (!Array.isArray(b) || a.length !== b.length) return false;
    for (let i = 0; i < a.length; i++) if (!deepEqual(a[i], b[i])) return false;
    return true;
  }
  if (Array.isArray(b)) return false;
  const left = a as Record<string, unknown>;
  const right = b as Record<string, unknown>;
  // Own properties only: names such as `constructor` are found on every object.
  for (const key in left) {
    const other = Object.hasOwn(right, key) ? right[key] : undefined;
    if (!deepEqual(left[key], other)) return false;
  }
  for (const key in right) {
    if (right[key] !== undefined && (!Object.hasOwn(left, key) || left[key] === undefined)) return false;
  }
  return true;
}

/** JSON text with sorted keys and no spaces: equal values have equal text, so it can be digested. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (typeof value === 'bigint') return String(value);
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const parts: string[] = [];
  for (const key of Object.keys(value).sort()) {
    if (value[key] !== undefined) parts.push(`${JSON.stringify(key)}:${canonicalJson(value[key])}`);
  }
  return `{${parts.join(',')}}`;
}

/** The value at a path of keys, or `undefined` where something on the way is not an object. */
export function at(value: unknown, ...path: string[]): JsonValue | undefined {
  let current: unknown = value;
  for (const key of path) {
    if (!isObject(current)) return undefined;
    current = current[key];
  }
  return current as JsonValue | undefined;
}

export function stringAt(value: unknown, ...path: string[]): string | undefined {
  const found = at(value, ...path);
  return typeof found === 'string' ? found : undefined;
}

export function numberAt(value: unknown, ...path: string[]): number | undefined {
  const found = at(value, ...path);
  return typeof found === 'number' ? found : undefined;
}

export function listAt(value: unknown, ...path: string[]): JsonValue[] {
  const found = at(value, ...path);
  return Array.isArray(found) ? found : [];
}

export function objectAt(value: unknown, ...path: string[]): JsonObject | undefined {
  const found = at(value, ...path);
  return isObject(found) ? found : undefined;
}

/** A map of strings at a path, such as labels; entries that are not strings are left out. */
export function stringsAt(value: unknown, ...path: string[]): Record<string, string> {
  const out: Record<string, string> = {};
  const found = objectAt(value, ...path) ?? {};
  for (const key in found) {
    const item = found[key];
    if (typeof item === 'string') out[key] = item;
  }
  return out;
}
