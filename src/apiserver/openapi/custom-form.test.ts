import { describe, expect, it } from 'vitest';
import type { JsonObject } from '../../schema/json.ts';
import type { OpenApiSchema } from '../../schema/open-api-schema.ts';
import { loadCatalogue } from '../catalogue/index.ts';
import { createOpenApi } from './openapi.ts';
import type { PublishedResource } from './published-resource.ts';

const catalogue = loadCatalogue();

function crontab(schema: OpenApiSchema, fieldLabelNames: readonly string[] = []): PublishedResource {
  return {
    group: 'stable.example.com',
    version: 'v1',
    storageVersion: 'v1',
    resource: 'crontabs',
    singular: 'crontab',
    kind: 'CronTab',
    listKind: 'CronTabList',
    namespaced: true,
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    shortNames: [],
    categories: [],
    subresources: [
      {
        name: 'scale',
        verbs: ['get', 'patch', 'update'],
        group: 'autoscaling',
        version: 'v1',
        kind: 'Scale',
      },
    ],
    custom: true,
    type: { schema, resolve: () => undefined },
    strategy: { returnsDeleted: false, fieldLabelNames },
  };
}

/** What is published of a kind whose objects have the given `spec`, in version 2 and 3. */
function published(resource: PublishedResource): { v2: JsonObject; v3: JsonObject } {
  // Without the built-in resources, whose definitions have nothing to do with it.
  const openApi = createOpenApi([resource], catalogue);
  const [v2, v3] = ['/openapi/v2', '/openapi/v3/apis/stable.example.com/v1'].map(
    (path): JsonObject =>
      JSON.parse(
        Buffer.from(
          openApi.respond(path, new URLSearchParams(), undefined, undefined)!.body as Uint8Array,
        ).toString(),
      ),
  );
  return { v2: v2!, v3: v3! };
}

function definitionsOf(resource: PublishedResource, name = 'CronTab'): { v2: JsonObject; v3: JsonObject } {
  const { v2, v3 } = published(resource);
  const key = `com.example.stable.v1.${name}`;
  return {
    v2: (v2.definitions as JsonObject)[key] as JsonObject,
    v3: ((v3.components as JsonObject).schemas as JsonObject)[key] as JsonObject,
  };
}

function specOf(spec: OpenApiSchema): { v2: JsonObject; v3: JsonObject } {
  const { v2, v3 } = definitionsOf(crontab({ type: 'object', properties: { spec } }));
  const found = ({ properties }: JsonObject): JsonObject => (properties as JsonObject).spec as JsonObject;
  return { v2: found(v2), v3: found(v3) };
}

const PRESERVE = { 'x-kubernetes-preserve-unknown-fields': true } as const;

describe('schemas of CustomResourceDefinitions, published', () => {
  it('[V9] lose type and members in version 2 where null is allowed, and are not required there', () => {
    const schema: OpenApiSchema = {
      type: 'object',
      required: ['a', 'b'],
      properties: {
        a: { type: 'string', nullable: true, default: 'x', maxLength: 3 },
        b: { type: 'object', nullable: true, required: ['c'], properties: { c: { type: 'string' } } },
        l: { type: 'array', nullable: true, items: { type: 'string' } },
        m: { type: 'object', additionalProperties: { type: 'string', nullable: true } },
      },
    };
    const { v2, v3 } = specOf(schema);
    expect(v2).toEqual({
      type: 'object',
      properties: {
        a: { default: 'x', maxLength: 3 },
        b: { required: ['c'] },
        l: {},
        m: { type: 'object', additionalProperties: {} },
      },
    });
    expect(v3).toEqual(schema);
  });

  it('[V9] lose members in version 2 where unknown fields are preserved, and keep what else they say', () => {
    const { v2, v3 } = specOf({
      type: 'object',
      properties: {
        open: { type: 'object', ...PRESERVE, required: ['x'], properties: { x: { type: 'string' } } },
        list: { type: 'array', ...PRESERVE, items: { type: 'object', ...PRESERVE } },
        any: { ...PRESERVE, description: 'Whatever it is.' },
      },
    });
    expect(v2.properties).toEqual({
      open: { ...PRESERVE, required: ['x'] },
      list: PRESERVE,
      any: { ...PRESERVE, description: 'Whatever it is.' },
    });
    expect(v3.properties).toMatchObject({ open: { properties: { x: {} } }, list: { items: PRESERVE } });
  });

  it('[V9] lose alternatives in version 2 and keep rules; an int-or-string says in version 3 what it is', () => {
    const rules = [{ rule: 'self != "x"' }];
    const INT_OR_STRING = [{ type: 'integer' }, { type: 'string' }];
    const { v2, v3 } = specOf({
      type: 'object',
      'x-kubernetes-validations': rules,
      oneOf: [{ required: ['bare'] }, { required: ['told'] }],
      not: { required: ['more'] },
      properties: {
        bare: { 'x-kubernetes-int-or-string': true },
        told: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
        more: { 'x-kubernetes-int-or-string': true, anyOf: [{ minimum: 1 }, { pattern: '%$' }] },
      },
    });
    expect(v2).toEqual({
      type: 'object',
      'x-kubernetes-validations': rules,
      properties: Object.fromEntries(
        ['bare', 'told', 'more'].map((name) => [name, { 'x-kubernetes-int-or-string': true }]),
      ),
    });
    expect(v3.oneOf).toHaveLength(2);
    expect(v3.properties).toEqual({
      bare: { 'x-kubernetes-int-or-string': true, anyOf: INT_OR_STRING },
      told: { 'x-kubernetes-int-or-string': true, anyOf: INT_OR_STRING },
      more: {
        'x-kubernetes-int-or-string': true,
        anyOf: [{ minimum: 1 }, { pattern: '%$' }],
        allOf: [{ anyOf: INT_OR_STRING }],
      },
    });
  });

  it('[V9] have the fields of whole objects where such are embedded, which then are required', () => {
    const inner: OpenApiSchema = {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      required: ['kind'],
      properties: { data: { type: 'string' } },
    };
    const { v2, v3 } = specOf({
      type: 'object',
      properties: { object: inner, open: { ...inner, ...PRESERVE }, gone: { ...inner, nullable: true } },
    });
    for (const { object } of [v2.properties, v3.properties] as Record<string, JsonObject>[]) {
      expect(Object.keys(object!.properties as JsonObject).sort()).toEqual([
        'apiVersion',
        'data',
        'kind',
        'metadata',
      ]);
      expect(object!.required).toEqual(['kind', 'apiVersion']);
    }
    const { open, gone } = v2.properties as Record<string, JsonObject>;
    // Clients would refuse all others than these.
    expect(open).not.toHaveProperty('properties');
    expect(Object.keys(gone!.properties as JsonObject).sort()).toEqual(['apiVersion', 'kind', 'metadata']);
  });

  it('[V9] tell list keys as merge keys, fields that select, and nothing that is false', () => {
    const resource = crontab(
      {
        type: 'object',
        required: [],
        'x-kubernetes-preserve-unknown-fields': false,
        properties: {
          list: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['name', 'port'],
            items: { type: 'object', additionalProperties: true },
          },
        },
      },
      ['spec.color'],
    );
    const { v2, v3 } = definitionsOf(resource);
    for (const definition of [v2, v3]) {
      expect(definition).not.toHaveProperty('required');
      expect(definition).not.toHaveProperty('x-kubernetes-preserve-unknown-fields');
      expect(definition['x-kubernetes-selectable-fields']).toEqual([{ fieldPath: 'spec.color' }]);
      expect(definition.properties).toMatchObject({
        list: {
          'x-kubernetes-list-map-keys': ['name', 'port'],
          'x-kubernetes-patch-merge-key': 'name',
          items: { additionalProperties: true },
        },
      });
    }
    expect(definitionsOf(resource, 'CronTabList').v3).toMatchObject({
      type: 'object',
      required: ['items'],
      'x-kubernetes-selectable-fields': [{ fieldPath: 'spec.color' }],
    });
    const hashOf = (one: PublishedResource): string =>
      Buffer.from(
        createOpenApi([one], catalogue).respond('/openapi/v3', new URLSearchParams(), undefined, undefined)!
          .body as Uint8Array,
      ).toString();
    expect(hashOf(resource)).not.toBe(hashOf(crontab(resource.type.schema)));
  });

  it('[V9] are an object of anything in version 2 where the whole is preserved', () => {
    const { v2, v3 } = definitionsOf(
      crontab({ type: 'object', description: 'Anything.', ...PRESERVE, properties: { spec: {} } }),
    );
    expect(v2).toEqual({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'stable.example.com', kind: 'CronTab', version: 'v1' }],
    });
    expect(v3).toMatchObject({ description: 'Anything.', ...PRESERVE, properties: { spec: {}, kind: {} } });
  });

  it('[V9] have operations that are about their kind, scale too, and collections that only selections delete', () => {
    const { v3 } = published(crontab({ type: 'object' }));
    const paths = v3.paths as Record<string, Record<string, JsonObject>>;
    const at = '/apis/stable.example.com/v1/namespaces/{namespace}/crontabs';
    const scale = paths[`${at}/{name}/scale`]!;
    expect(scale.get!['x-kubernetes-group-version-kind']).toMatchObject({ kind: 'CronTab' });
    expect(scale.get!.operationId).toBe('readStableExampleComV1NamespacedCronTabScale');
    const collected = paths[at]!.delete!;
    expect(collected).not.toHaveProperty('requestBody');
    const names = (collected.parameters as { name: string }[]).map(({ name }) => name);
    expect(names).toContain('labelSelector');
    expect(names).not.toContain('propagationPolicy');
    const schemas = (v3.components as JsonObject).schemas as Record<string, JsonObject>;
    const kinds = schemas['io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions']![
      'x-kubernetes-group-version-kind'
    ] as { group: string }[];
    const groups = new Set(kinds.map(({ group }) => group));
    expect([groups.has('apps'), groups.has('admission.k8s.io')]).toEqual([true, false]);
  });
});
