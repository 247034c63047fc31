import { describe, expect, it } from 'vitest';
import { bringIntoForm } from './built-in-form.ts';
import type { JsonObject } from './json.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';

const definitions: Record<string, OpenApiSchema> = {
  Time: { type: 'string', format: 'date-time' },
  Meta: {
    type: 'object',
    properties: {
      created: { $ref: 'Time', emitsNull: true },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
    },
  },
  Part: {
    type: 'object',
    properties: {
      name: { type: 'string', default: '' },
      resources: { $ref: 'Resources', default: {} },
      isTty: { type: 'boolean' },
      retries: { type: 'integer', keepsZero: true },
      parts: { type: 'array', items: { $ref: 'Part' } },
    },
  },
  Resources: {
    type: 'object',
    properties: { limits: { type: 'object', additionalProperties: { type: 'string' } } },
  },
};
const type: TypeSchema = {
  schema: {
    type: 'object',
    properties: {
      metadata: { $ref: 'Meta', default: {} },
      template: { $ref: 'Meta', default: {} },
      parts: { type: 'array', items: { $ref: 'Part' } },
      byName: { type: 'object', additionalProperties: { $ref: 'Part' } },
      rules: { type: 'array', items: { type: 'string' }, emitsNull: true },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
  resolve: (name) => definitions[name],
};

function formed(object: JsonObject): JsonObject {
  bringIntoForm(object, type);
  return object;
}

describe('bringIntoForm', () => {
  it('[V38] writes fields that are there even when they are unset', () => {
    expect(formed({ parts: [{}], byName: { a: { name: 'a' } } })).toEqual({
      template: { created: null },
      parts: [{ name: '', resources: {} }],
      byName: { a: { name: 'a', resources: {} } },
      rules: null,
    });
  });

  it('[V38] leaves out what is empty where empty means unset', () => {
    const given = {
      template: { labels: {} },
      parts: [{ name: 'x', isTty: false, retries: 0, resources: { limits: {} }, parts: [] }],
      byName: {},
      rules: [],
      free: { a: [], b: {}, c: false },
    };
    expect(formed(given)).toEqual({
      template: { created: null },
      parts: [{ name: 'x', retries: 0, resources: {} }],
      rules: [],
      free: { a: [], b: {}, c: false },
    });
  });

  it('leaves the metadata of the object itself alone, and changes nothing the second time', () => {
    const once = formed({ metadata: { labels: {} }, parts: [{ parts: [{ name: 'deep' }] }] });
    expect(once.metadata).toEqual({ labels: {} });
    expect(formed(structuredClone(once))).toEqual(once);
  });
});
