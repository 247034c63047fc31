import { clone, isObject, type JsonObject, type JsonValue } from './json.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { memberSchema, resolved } from './schema-lookup.ts';

type Resolve = TypeSchema['resolve'];

/**
 * Applies the defaults of a custom resource's schema, in place: a missing property that has a default gets a copy of it, and
 * what it holds is defaulted in turn. An explicit `null` where none is allowed is replaced by the default, or removed where
 * there is no default.
 */
export function applyDefaults(object: JsonValue, type: TypeSchema): void {
  defaultValue(object, type.schema, type.resolve);
}

function defaultValue(value: JsonValue, written: OpenApiSchema, resolve: Resolve): void {
  if (typeof value !== 'object' || value === null) return;
  const schema = resolved(written, resolve);
  if (Array.isArray(value)) {
    const items = schema.items && resolved(schema.items, resolve);
    if (!items) return;
    for (let i = 0; i < value.length; i++) {
      if (value[i] === null && !items.nullable && items.default !== undefined)
        value[i] = clone(items.default);
      defaultValue(value[i] ?? null, items, resolve);
    }
    return;
  }
  const { properties } = schema;
  for (const key in properties) {
    if (Object.hasOwn(value, key) && value[key] !== undefined) continue;
    const property = properties[key];
    const fallback = property && resolved(property, resolve).default;
    if (fallback !== undefined && key !== '__proto__') value[key] = clone(fallback);
  }
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === undefined || (item !== null && typeof item !== 'object')) continue;
    const member = memberSchema(schema, key, resolve);
    if (!member) continue;
    if (item !== null) {
      defaultValue(item, member, resolve);
    } else if (!member.nullable) {
      if (member.default === undefined) delete value[key];
      else {
        value[key] = clone(member.default);
        defaultValue(value[key] ?? null, member, resolve);
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
