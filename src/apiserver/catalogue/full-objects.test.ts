import { describe, expect, it } from 'vitest';
import { bringIntoForm } from '../../schema/built-in-form.ts';
import { clone, isObject, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { dereference, type OpenApiSchema, type TypeSchema } from '../../schema/open-api-schema.ts';
import { prune } from '../../schema/prune.ts';
import { typeCheck } from '../../schema/type-check.ts';
import { loadCatalogue } from './index.ts';

/** Deep enough to get past the lists within lists of a pod template. */
const MAX_DEPTH = 12;

/** A value with every field that a schema names, none of them zero. A type within itself is left out. */
function full(
  written: OpenApiSchema,
  type: TypeSchema,
  above: readonly string[] = [],
): JsonValue | undefined {
  const name = written.$ref;
  if (above.length > MAX_DEPTH || (name !== undefined && above.includes(name))) return undefined;
  const path = [...above, name ?? ''];
  const schema = dereference(written, type.resolve);
  if (schema['x-kubernetes-int-or-string']) return 8080;
  if (schema.oneOf) return '1500m';
  if (schema['x-kubernetes-preserve-unknown-fields']) return { any: { thing: [1, 'a', true] } };
  switch (schema.type) {
    case 'string':
      if (schema.format === 'byte') return 'YQ==';
      if (name?.endsWith('.MicroTime')) return '2026-01-02T03:04:05.000006Z';
      return schema.format === 'date-time' ? '2026-01-02T03:04:05Z' : 'text';
    case 'integer':
    case 'number':
      return 7;
    case 'boolean':
      return true;
    case 'array': {
      const item = schema.items && full(schema.items, type, path);
      return item === undefined ? undefined : [item];
    }
    default: {
      const out: JsonObject = {};
      for (const [key, property] of Object.entries(schema.properties ?? {})) {
        const value = full(property, type, path);
        if (value !== undefined) out[key] = value;
      }
      if (typeof schema.additionalProperties === 'object') {
        const value = full(schema.additionalProperties, type, path);
        // A map that says nothing is not written.
        if (value === undefined) return undefined;
        out.key = value;
      }
      return out;
    }
  }
}

/** Puts a field that nobody knows into every object that has a type of its own; gives how many. */
function spoil(value: JsonValue, written: OpenApiSchema, type: TypeSchema): number {
  const schema = dereference(written, type.resolve);
  if (Array.isArray(value))
    return value.reduce((sum: number, item) => sum + (schema.items ? spoil(item, schema.items, type) : 0), 0);
  if (!isObject(value) || schema['x-kubernetes-preserve-unknown-fields']) return 0;
  if (typeof schema.additionalProperties === 'object')
    return value.key === undefined ? 0 : spoil(value.key, schema.additionalProperties, type);
  if (!schema.properties) return 0;
  let count = 1;
  for (const [key, property] of Object.entries(schema.properties)) {
    const child = value[key];
    if (child !== undefined) count += spoil(child, property, type);
  }
  value.nobodyKnows = { this: 1 };
  return count;
}

describe('objects of every built-in kind with every field', () => {
  const kinds = loadCatalogue().resources.filter(({ verbs }) => verbs.includes('create'));

  it('[V38] are taken as they are', () => {
    expect(kinds.length).toBeGreaterThan(50);
    for (const { kind, group, type } of kinds) {
      const given = full(type.schema, type) as JsonObject;
      const taken = clone(given);
      expect(typeCheck(taken, type), `${group} ${kind}`).toEqual([]);
      expect(prune(taken, type, { isResourceRoot: true }), `${group} ${kind}`).toEqual([]);
      bringIntoForm(taken, type);
      expect(taken, `${group} ${kind}`).toMatchObject(given);
    }
  });

  it('[V38] lose what nobody knows, at every depth, and tell each path', () => {
    for (const { kind, group, type } of kinds) {
      const given = full(type.schema, type) as JsonObject;
      const spoilt = clone(given);
      const added = spoil(spoilt, type.schema, type);
      const removed = prune(spoilt, type, { isResourceRoot: true });
      expect(removed, `${group} ${kind}`).toHaveLength(added);
      for (const path of removed) expect(path).toMatch(/(^|\.)nobodyKnows$/);
      expect(spoilt, `${group} ${kind}`).toEqual(given);
    }
  });
});
