import { clone, isObject, type JsonObject, type JsonValue } from './json.ts';
import { jsonText } from './json-text.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { memberSchema, resolved } from './schema-lookup.ts';

type Resolve = TypeSchema['resolve'];

/** Defaults that one object may get, as JSON text: twice what could be stored. A short list may ask for the longest of them often. */
const MAX_DEFAULT_BYTES = 3 * 1024 * 1024;

interface Run {
  readonly resolve: Resolve;
  /** Bytes of defaults that may still be given; below 0 when there were more. */
  left: number;
}

/**
 * Applies the defaults of a custom resource's schema, in place: a missing property that has a default gets a copy of it, and
 * what it holds is defaulted in turn. An explicit `null` where none is allowed is replaced by the default, or removed where
 * there is no default. False where the defaults were so many that some were left out.
 */
export function applyDefaults(object: JsonValue, type: TypeSchema): boolean {
  const run: Run = { resolve: type.resolve, left: MAX_DEFAULT_BYTES };
  defaultValue(object, type.schema, run);
  return run.left >= 0;
}

/** Of defaults that are no single values: they belong to schemas, which stay. */
const sizes = new WeakMap<object, number>();

function sizeOf(value: JsonValue): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return 4;
  let size = sizes.get(value);
  if (size === undefined) {
    size = jsonText(value).length;
    sizes.set(value, size);
  }
  return size;
}

/** A copy of a default; `undefined` where there is none, or where there were too many. */
function given(fallback: JsonValue | undefined, run: Run, key = ''): JsonValue | undefined {
  if (fallback === undefined || run.left < 0) return undefined;
  run.left -= sizeOf(fallback) + key.length;
  return run.left < 0 ? undefined : clone(fallback);
}

function defaultValue(value: JsonValue, written: OpenApiSchema, run: Run): void {
  if (typeof value !== 'object' || value === null) return;
  const schema = resolved(written, run.resolve);
  if (Array.isArray(value)) {
    const items = schema.items && resolved(schema.items, run.resolve);
    if (!items) return;
    for (let i = 0; i < value.length; i++) {
      if (value[i] === null && !items.nullable) value[i] = given(items.default, run) ?? null;
      defaultValue(value[i] ?? null, items, run);
    }
    return;
  }
  const { properties } = schema;
  for (const key in properties) {
    if (Object.hasOwn(value, key) && value[key] !== undefined) continue;
    const property = properties[key];
    if (property === undefined || key === '__proto__') continue;
    const fallback = given(resolved(property, run.resolve).default, run, key);
    if (fallback !== undefined) value[key] = fallback;
  }
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === undefined || (item !== null && typeof item !== 'object')) continue;
    const member = memberSchema(schema, key, run.resolve);
    if (!member) continue;
    if (item !== null) {
      defaultValue(item, member, run);
    } else if (!member.nullable) {
      const fallback = given(member.default, run);
      if (fallback === undefined) delete value[key];
      else {
        value[key] = fallback;
        defaultValue(fallback, member, run);
      }
    }
  }
}

/**
 * Removes nulls from an object of a built-in kind, in place: in a typed object null means unset. A null in a map of strings is
 * the empty string, as it is for the Go types behind these kinds, and so is one in a list; among structs it is an empty one.
 * Free-form parts keep theirs.
 */
export function dropNulls(object: JsonValue, type: TypeSchema): void {
  dropFrom(object, type.schema, type.resolve);
}

function dropFrom(value: JsonValue, written: OpenApiSchema, resolve: Resolve): void {
  if (typeof value !== 'object' || value === null) return;
  const schema = resolved(written, resolve);
  if (Array.isArray(value)) {
    if (!schema.items) return;
    for (const [index, item] of value.entries())
      if (item === null) value[index] = zeroItem(resolved(schema.items, resolve));
      else dropFrom(item, schema.items, resolve);
    return;
  }
  if (isObject(value)) dropFromObject(value, schema, resolve);
}

function zeroItem(schema: OpenApiSchema): JsonValue {
  if (schema.properties !== undefined) return {};
  return schema.type === 'string' && schema.format === undefined ? '' : null;
}

function dropFromObject(object: JsonObject, schema: OpenApiSchema, resolve: Resolve): void {
  for (const key of Object.keys(object)) {
    const item = object[key];
    if (item !== null && typeof item !== 'object') continue;
    const member = memberSchema(schema, key, resolve);
    if (!member) continue;
    if (item !== null) dropFrom(item, member, resolve);
    else if (schema.properties === undefined && member.type === 'string' && member.format === undefined) {
      object[key] = '';
    } else delete object[key];
  }
}
