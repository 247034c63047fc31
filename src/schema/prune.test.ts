import { describe, expect, it } from 'vitest';
import type { JsonObject } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { prune } from './prune.ts';

const none = (): undefined => undefined;
const custom = (properties: Record<string, OpenApiSchema>): OpenApiSchema => ({ type: 'object', properties });

function pruned(object: JsonObject, schema: OpenApiSchema, isResourceRoot = false): [JsonObject, string[]] {
  const paths = prune(object, { schema, resolve: none }, { isResourceRoot });
  return [object, paths];
}

describe('prune', () => {
  it('[V45] removes what the schema does not name, at every depth, and tells where', () => {
    const schema = custom({
      spec: custom({
        known: { type: 'string' },
        list: { type: 'array', items: custom({ x: { type: 'integer' } }) },
        map: { type: 'object', additionalProperties: custom({ y: { type: 'integer' } }) },
      }),
    });
    const object = {
      spec: { known: 'a', foo: 1, list: [{ x: 1 }, { x: 2, z: 3 }], map: { 'any.key': { y: 1, w: 2 } } },
      extra: {},
    };
    expect(pruned(object, schema)).toEqual([
      { spec: { known: 'a', list: [{ x: 1 }, { x: 2 }], map: { 'any.key': { y: 1 } } } },
      ['spec.foo', 'spec.list[1].z', 'spec.map.any.key.w', 'extra'],
    ]);
  });

  it('[V45] a resource keeps apiVersion, kind and metadata that its schema does not describe', () => {
    const object = { apiVersion: 'v1', kind: 'K', metadata: { name: 'n', labels: {} }, spec: {} };
    expect(pruned(structuredClone(object), custom({}), true)).toEqual([
      { apiVersion: 'v1', kind: 'K', metadata: { name: 'n', labels: {} } },
      ['spec'],
    ]);
    const restricted = custom({
      metadata: custom({ name: { type: 'string', maxLength: 3 } }),
      spec: custom({}),
    });
    expect(pruned(structuredClone(object), restricted, true)[1]).toEqual([]);
    expect(pruned(structuredClone(object), custom({}))[1]).toEqual([
      'apiVersion',
      'kind',
      'metadata',
      'spec',
    ]);
  });

  it('[V45] preserve-unknown-fields keeps unknown fields and still prunes inside known ones', () => {
    const schema: OpenApiSchema = {
      ...custom({ known: custom({ a: { type: 'string' } }) }),
      'x-kubernetes-preserve-unknown-fields': true,
    };
    const object = { known: { a: 'x', b: 'y' }, other: { anything: [{ goes: 1 }] } };
    expect(pruned(object, schema)).toEqual([
      { known: { a: 'x' }, other: { anything: [{ goes: 1 }] } },
      ['known.b'],
    ]);
  });

  it('[V45] an embedded resource keeps its type and metadata', () => {
    const schema = custom({
      template: { ...custom({ spec: custom({}) }), 'x-kubernetes-embedded-resource': true },
    });
    const object = { template: { apiVersion: 'v1', kind: 'K', metadata: { x: 1 }, spec: { a: 1 }, b: 2 } };
    expect(pruned(object, schema)).toEqual([
      { template: { apiVersion: 'v1', kind: 'K', metadata: { x: 1 }, spec: {} } },
      ['template.spec.a', 'template.b'],
    ]);
  });

  it('[V45] additionalProperties: true keeps all; names of Object.prototype are names as any other', () => {
    const schema = custom({ free: { type: 'object', additionalProperties: true } });
    expect(pruned({ free: { a: { b: 1 } }, constructor: { x: 1 } as never }, schema)).toEqual([
      { free: { a: { b: 1 } } },
      ['constructor'],
    ]);
  });

  it('[V38] follows references, as built-in kinds have them, also in metadata and in recursive types', () => {
    const definitions: Record<string, OpenApiSchema> = {
      Meta: custom({ name: { type: 'string' } }),
      Node: custom({ child: { $ref: '#/definitions/Node' }, value: { type: 'integer' } }),
    };
    const schema = custom({
      metadata: { $ref: '#/definitions/Meta', description: 'beside' },
      tree: { allOf: [{ $ref: '#/components/schemas/Node' }], default: {} },
      unresolved: { $ref: '#/definitions/Gone' },
    });
    const object = {
      metadata: { name: 'n', nmae: 'typo' },
      tree: { child: { child: { value: 1, vlaue: 2 } } },
      unresolved: { any: { thing: 1 } },
    };
    const paths = prune(object, { schema, resolve: (name) => definitions[name] }, { isResourceRoot: true });
    expect(paths).toEqual(['metadata.nmae', 'tree.child.child.vlaue']);
    expect(object.unresolved).toEqual({ any: { thing: 1 } });
  });

  it('[V45] leaves values of another type to validation', () => {
    expect(pruned({ a: [1], b: { c: 1 } }, custom({ a: custom({}), b: { type: 'string' } }))).toEqual([
      { a: [1], b: {} },
      ['b.c'],
    ]);
  });
});
