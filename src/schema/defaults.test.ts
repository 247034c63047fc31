import { describe, expect, it } from 'vitest';
import { applyDefaults, dropNulls } from './defaults.ts';
import type { JsonObject } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';

const custom = (properties: Record<string, OpenApiSchema>): OpenApiSchema => ({ type: 'object', properties });

function defaulted(object: JsonObject, schema: OpenApiSchema): JsonObject {
  applyDefaults(object, { schema, resolve: () => undefined });
  return object;
}

describe('applyDefaults', () => {
  const schema = custom({
    spec: {
      ...custom({
        replicas: { type: 'integer', default: 1 },
        mode: { type: 'string', nullable: true, default: 'auto' },
        bare: { type: 'string' },
        free: { type: 'string', nullable: true },
        ports: { type: 'array', items: custom({ protocol: { type: 'string', default: 'TCP' } }) },
        pools: { type: 'object', additionalProperties: custom({ size: { type: 'integer', default: 2 } }) },
      }),
      default: {},
    },
  });

  it('[V45] gives no more than could be stored, however often a short list asks for a long default', () => {
    const long = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`key-${index}`, 'x']));
    const item = custom({ long: { type: 'object', default: long } });
    const type = { schema: custom({ items: { type: 'array', items: item } }), resolve: () => undefined };
    const many: JsonObject = { items: Array.from({ length: 100_000 }, () => ({})) };
    expect(applyDefaults(many, type)).toBe(false);
    expect((many.items as JsonObject[]).filter(({ long }) => long !== undefined).length).toBeLessThan(1000);
    const few: JsonObject = { items: [{}, {}] };
    expect(applyDefaults(few, type)).toBe(true);
    expect(few.items).toEqual([{ long }, { long }]);
  });

  it('[V45] fills what is missing, also inside defaults, lists and maps', () => {
    expect(defaulted({}, schema)).toEqual({ spec: { replicas: 1, mode: 'auto' } });
    expect(
      defaulted({ spec: { replicas: 0, ports: [{}, { protocol: 'UDP' }], pools: { a: {} } } }, schema),
    ).toEqual({
      spec: {
        replicas: 0,
        mode: 'auto',
        ports: [{ protocol: 'TCP' }, { protocol: 'UDP' }],
        pools: { a: { size: 2 } },
      },
    });
  });

  it('[V45] null: kept where nullable, else the default, else removed', () => {
    const object = { spec: { replicas: null, mode: null, bare: null, free: null, pools: { a: null } } };
    expect(defaulted(object, schema)).toEqual({ spec: { replicas: 1, mode: null, free: null, pools: {} } });
    expect(defaulted({ spec: null }, schema)).toEqual({ spec: { replicas: 1, mode: 'auto' } });
    const items = custom({ l: { type: 'array', items: { type: 'string', default: 'x' } } });
    expect(defaulted({ l: [null, 'y'] }, items)).toEqual({ l: ['x', 'y'] });
  });

  it('[V45] each object gets a default of its own', () => {
    const lists = custom({ l: { type: 'array', default: [] } });
    const first = defaulted({}, lists) as { l: number[] };
    first.l.push(1);
    expect(defaulted({}, lists)).toEqual({ l: [] });
  });

  it('[V45] is idempotent and leaves values of a wrong type alone', () => {
    const once = defaulted({ spec: { ports: 'x', pools: [] } }, schema);
    expect(defaulted(structuredClone(once), schema)).toEqual(once);
    expect(once).toEqual({ spec: { replicas: 1, mode: 'auto', ports: 'x', pools: [] } });
  });
});

describe('dropNulls', () => {
  const definitions: Record<string, OpenApiSchema> = {
    Spec: custom({
      replicas: { type: 'integer' },
      template: { $ref: 'Spec' },
      raw: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      list: { type: 'array', items: { $ref: 'Spec' } },
      data: { type: 'object', additionalProperties: { type: 'string' } },
      limits: { type: 'object', additionalProperties: { oneOf: [{ type: 'string' }, { type: 'number' }] } },
    }),
  };
  const type = { schema: { $ref: 'Spec' }, resolve: (name: string) => definitions[name] };

  it('null is unset in typed parts and stays in free-form ones', () => {
    const object = {
      replicas: null,
      template: { replicas: null, template: null },
      raw: { a: null },
      list: [{ replicas: null }],
      data: { a: null, b: 'x' },
      limits: { cpu: null },
    };
    dropNulls(object, type);
    expect(object).toEqual({
      template: {},
      raw: { a: null },
      list: [{}],
      data: { a: '', b: 'x' },
      limits: {},
    });
  });
});
