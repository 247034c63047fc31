import type { KubeObject } from '../../kube/object.ts';
import { isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';

/** The parts of an object that strategies read and change; all are views of the object itself, never copies. */

/** The object under a key, made if it is not there. */
export function ensureObject(parent: JsonObject | KubeObject, key: string): JsonObject {
  const holder = parent as Record<string, unknown>;
  const found = holder[key];
  if (isObject(found)) return found;
  const made: JsonObject = {};
  holder[key] = made;
  return made;
}

/** The objects of a list; other members, which decoding refuses anyway, are left out. */
export function objectsOf(parent: unknown, key: string): JsonObject[] {
  if (!isObject(parent)) return [];
  const list = parent[key];
  return Array.isArray(list) ? list.filter(isObject) : [];
}

/** Sets a field that is absent or null: the default of an optional (pointer) field. */
export function defaultWhenNull(parent: JsonObject, key: string, value: JsonValue): void {
  if (parent[key] === undefined || parent[key] === null) parent[key] = value;
}

/** Sets a field that is absent, null, zero or empty: the default of a field whose zero value means unset. */
export function defaultWhenEmpty(parent: JsonObject, key: string, value: JsonValue): void {
  if (!isSet(parent[key])) parent[key] = value;
}

/** Whether a field holds something other than its zero value. */
export function isSet(value: unknown): boolean {
  if (value === undefined || value === null || value === '' || value === 0 || value === false) return false;
  return !(Array.isArray(value) && value.length === 0);
}

export function text(parent: JsonObject | undefined, key: string): string {
  const value = parent?.[key];
  return typeof value === 'string' ? value : '';
}

export function integer(parent: JsonObject | undefined, key: string): number | undefined {
  const value = parent?.[key];
  return typeof value === 'number' ? value : undefined;
}

export function strings(parent: JsonObject | undefined, key: string): string[] {
  const value = parent?.[key];
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** Sets a field, or removes it where the value is `undefined`. */
export function assign(object: KubeObject | JsonObject, key: string, value: unknown): void {
  const holder = object as Record<string, unknown>;
  if (value === undefined) delete holder[key];
  else holder[key] = value;
}
