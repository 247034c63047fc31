import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../json.ts';
import type { OpenApiSchema } from '../open-api-schema.ts';
import { encodeFieldsV1 } from './fields-v1.ts';
import { deployment } from './testing/fixtures/types.ts';
import { toFieldSet } from './to-field-set.ts';
import { deducedType, type FieldType, objectType } from './typed-schema.ts';
import { validateApplied } from './validate.ts';

function typeOf(spec: OpenApiSchema, definitions: Record<string, OpenApiSchema> = {}): FieldType {
  const schema: OpenApiSchema = { type: 'object', properties: { spec } };
  const root = objectType({ schema, resolve: (name) => definitions[name] });
  return root.map?.field('spec')?.type ?? deducedType;
}
const list = (extra: OpenApiSchema): FieldType =>
  typeOf({ type: 'array', items: { type: 'object', properties: { k: { type: 'string' } } }, ...extra });
const field = (type: FieldType, name: string): FieldType | undefined => type.map?.field(name)?.type;
const fields = (value: JsonObject, type: FieldType): JsonObject => encodeFieldsV1(toFieldSet(value, type));

describe('the apply type of a schema', () => {
  it.each<[OpenApiSchema, string, string[]]>([
    [{}, 'atomic', []],
    [{ 'x-kubernetes-list-type': 'atomic', 'x-kubernetes-patch-strategy': 'merge' }, 'atomic', []],
    [{ 'x-kubernetes-list-type': 'set' }, 'set', []],
    [{ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k', 'a'] }, 'keyed', ['a', 'k']],
    [{ 'x-kubernetes-patch-strategy': 'merge', 'x-kubernetes-patch-merge-key': 'k' }, 'keyed', ['k']],
    [{ 'x-kubernetes-patch-strategy': 'merge,retainKeys' }, 'set', []],
    [{ 'x-kubernetes-patch-strategy': 'retainKeys', 'x-kubernetes-patch-merge-key': 'k' }, 'atomic', []],
  ])('[V27] a list with %j is %s', (extra, relation, keys) => {
    expect(list(extra).list?.relation).toBe(relation);
    expect(list(extra).list?.keys.map((key) => key.name)).toEqual(keys);
  });

  it.each<[OpenApiSchema, FieldType['scalar']]>([
    [{ type: 'string' }, 'string'],
    [{ type: 'string', format: 'byte' }, 'string'],
    [{ type: 'string', format: 'date-time' }, 'untyped'],
    [{ type: 'string', format: 'int-or-string' }, 'untyped'],
    [{ 'x-kubernetes-int-or-string': true }, 'untyped'],
    [{ type: 'integer' }, 'numeric'],
    [{ type: 'number' }, 'numeric'],
    [{ type: 'boolean' }, 'boolean'],
    [{ $ref: 'io.k8s.apimachinery.pkg.api.resource.Quantity' }, 'untyped'],
  ])('[V27] %j is a scalar: %s', (schema, scalar) => {
    expect(typeOf(schema)).toMatchObject({ scalar, list: undefined, map: undefined });
  });

  it('[V27] references keep what stands beside them and take nothing from where they are used', () => {
    const definitions: Record<string, OpenApiSchema> = {
      Named: { type: 'object', properties: { a: { type: 'string' } } },
    };
    const ref = '#/components/schemas/Named';
    expect(typeOf({ $ref: ref }, definitions).map?.atomic).toBe(false);
    expect(
      typeOf({ allOf: [{ $ref: ref }], 'x-kubernetes-map-type': 'atomic' }, definitions).map?.atomic,
    ).toBe(true);
    const open = typeOf(
      { type: 'object', properties: { n: { $ref: ref } }, 'x-kubernetes-preserve-unknown-fields': true },
      definitions,
    );
    expect(validateApplied({ x: 1, n: { a: 'b' } }, open)).toEqual([]);
    expect(validateApplied({ n: { z: 1 } }, open)).toEqual(['.n.z: field not declared in schema']);
    expect(typeOf({ $ref: 'Nowhere' })).toBe(deducedType);
  });

  it('[V27] unknown fields are welcome where they are kept, there and below', () => {
    const type = typeOf({
      type: 'object',
      'x-kubernetes-preserve-unknown-fields': true,
      properties: { known: { type: 'object', properties: { a: { type: 'string' } } } },
    });
    expect(validateApplied({ known: { a: 'x', b: { c: [1] } }, other: 1 }, type)).toEqual([]);
    expect(validateApplied({ known: { a: 1 } }, type)).toHaveLength(1);
    expect(fields({ known: { b: { c: [1] } } }, type)).toEqual({
      'f:known': { 'f:b': { '.': {}, 'f:c': {} } },
    });
  });

  it('[V27] an object that says nothing of its keys takes any, one with properties only those', () => {
    expect(validateApplied({ a: 1 }, typeOf({ type: 'object' }))).toEqual([]);
    expect(validateApplied({ a: 1 }, typeOf({ type: 'object', additionalProperties: true }))).toEqual([]);
    expect(
      validateApplied({ a: 1 }, typeOf({ type: 'object', additionalProperties: { type: 'string' } })),
    ).toHaveLength(1);
    expect(validateApplied({ a: 1 }, typeOf({ type: 'object', properties: { b: {} } }))).toHaveLength(1);
    expect(typeOf({})).toBe(deducedType);
  });

  it('[V27] raw objects are one value', () => {
    const raw = typeOf({ $ref: 'io.k8s.apimachinery.pkg.runtime.RawExtension' });
    expect(
      fields(
        { a: { b: 1 } },
        {
          ...raw,
          map: {
            atomic: false,
            field: (name) => ({ step: `f:${name}`, type: raw, zero: undefined, builtIn: true }),
            element: undefined,
          },
        },
      ),
    ).toEqual({ 'f:a': {} });
  });

  it('[V27] embedded objects have metadata of their own', () => {
    const type = typeOf({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      properties: { spec: { type: 'object', properties: {} } },
    });
    const value = { apiVersion: 'v1', kind: 'Pod', metadata: { finalizers: ['a'], labels: { a: 'b' } } };
    expect(validateApplied(value, type)).toEqual([]);
    expect(fields(value, type)).toMatchObject({ 'f:metadata': { 'f:finalizers': { 'v:"a"': {} } } });
  });

  it('[V27] is derived part by part and once', () => {
    const asked: string[] = [];
    const resolve = (name: string): OpenApiSchema | undefined => {
      asked.push(name);
      return deployment.resolve(name);
    };
    const type = { schema: deployment.schema, resolve };
    expect(objectType(type)).toBe(objectType({ ...type }));
    expect(asked).not.toContain('PodSpec');
    const reach = (): FieldType | undefined => {
      const template = field(field(objectType(type), 'spec') ?? deducedType, 'template') ?? deducedType;
      return field(template, 'spec');
    };
    expect(reach()).toBe(reach());
    expect(asked.filter((name) => name === 'PodSpec')).toHaveLength(1);
    expect(asked).not.toContain('Container');
  });
});
