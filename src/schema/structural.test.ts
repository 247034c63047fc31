import { describe, expect, it } from 'vitest';
import type { FieldIssue } from './field-issue.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { validateStructural } from './structural.ts';

const root = (properties: Record<string, OpenApiSchema>): OpenApiSchema => ({ type: 'object', properties });
const TEXTS: Partial<Record<FieldIssue['type'], string>> = {
  Required: 'Required value',
  NotSupported: 'Unsupported value',
  Forbidden: 'Forbidden',
};
const issues = (schema: OpenApiSchema): string[] =>
  validateStructural(schema).map(({ type, path, value, detail }) =>
    [
      path,
      TEXTS[type] ?? 'Invalid value',
      ...(value === undefined ? [] : [JSON.stringify(value)]),
      detail,
    ].join(': '),
  );

describe('validateStructural', () => {
  it('[V45] accepts what custom resources have in practice', () => {
    const schema = root({
      apiVersion: { type: 'string' },
      kind: { type: 'string' },
      metadata: { type: 'object', properties: { name: { type: 'string', maxLength: 20 } } },
      spec: {
        type: 'object',
        required: ['image'],
        properties: {
          image: { type: 'string', pattern: '^[a-z]+$', default: 'a' },
          port: { 'x-kubernetes-int-or-string': true, anyOf: [{ type: 'integer' }, { type: 'string' }] },
          other: {
            'x-kubernetes-int-or-string': true,
            allOf: [{ anyOf: [{ type: 'integer' }, { type: 'string' }] }, { pattern: 'x' }],
          },
          any: { 'x-kubernetes-preserve-unknown-fields': true },
          template: {
            type: 'object',
            'x-kubernetes-embedded-resource': true,
            'x-kubernetes-preserve-unknown-fields': true,
          },
          labels: { type: 'object', additionalProperties: { type: 'string' } },
          tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
          ports: {
            type: 'array',
            'x-kubernetes-list-type': 'map',
            'x-kubernetes-list-map-keys': ['port', 'protocol'],
            items: {
              type: 'object',
              required: ['port'],
              properties: { port: { type: 'integer' }, protocol: { type: 'string', default: 'TCP' } },
            },
          },
        },
        oneOf: [{ required: ['image'] }, { properties: { port: { enum: [80] } }, required: ['port'] }],
      },
    });
    expect(issues(schema)).toEqual([]);
  });

  it.each<[string, OpenApiSchema, RegExp]>([
    ['a root without type', { properties: {} }, /^type: Required value: must not be empty at the root$/],
    [
      'a root that is no object',
      { type: 'array', items: { type: 'string' } },
      /^type: Invalid value: "array": must be object at the root/,
    ],
    [
      'a field without type',
      root({ a: {} }),
      /^properties\[a\]\.type: Required value: must not be empty for specified object fields/,
    ],
    [
      'an item without type',
      root({ a: { type: 'array', items: {} } }),
      /^properties\[a\]\.items\.type: Required value: .* array items/,
    ],
    ['a type that there is not', root({ a: { type: 'float' as never } }), /Unsupported value: "float"/],
    ['an array without items', root({ a: { type: 'array' } }), /^properties\[a\]\.items: Required value/],
    [
      'items as a list',
      root({ a: { type: 'array', items: [{ type: 'string' }] as never } }),
      /must be a schema object and not an array/,
    ],
    [
      'properties with additionalProperties',
      root({
        a: {
          type: 'object',
          properties: { b: { type: 'string' } },
          additionalProperties: { type: 'string' },
        },
      }),
      /mutual exclusive/,
    ],
    [
      'properties with additionalProperties: false',
      root({ a: { type: 'object', properties: { b: { type: 'string' } }, additionalProperties: false } }),
      /mutual exclusive/,
    ],
    [
      'additionalProperties at the root',
      { type: 'object', additionalProperties: { type: 'string' } },
      /must not be used at the root/,
    ],
    ['a nullable root', { type: 'object', nullable: true }, /nullable cannot be true at the root/],
    ['a reference', root({ a: { type: 'object', $ref: '#/x' } }), /\$ref: Forbidden/],
    [
      'uniqueItems',
      root({ a: { type: 'array', uniqueItems: true, items: { type: 'string' } } }),
      /uniqueItems: Forbidden/,
    ],
    [
      'preserve-unknown-fields: false',
      root({ a: { type: 'object', 'x-kubernetes-preserve-unknown-fields': false } }),
      /must be true or undefined/,
    ],
    [
      'int-or-string with unknown fields',
      root({ a: { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-int-or-string': true } }),
      /must be false if x-kubernetes-int-or-string is true/,
    ],
    [
      'an embedded resource without fields',
      root({ a: { type: 'object', 'x-kubernetes-embedded-resource': true } }),
      /properties: Required value/,
    ],
    [
      'metadata that says more',
      root({ metadata: { type: 'object', properties: { labels: { type: 'object' } } } }),
      /^properties\[metadata\]: Forbidden: must not specify/,
    ],
    [
      'a type in a junctor',
      root({ a: { type: 'string', anyOf: [{ type: 'string' }] } }),
      /anyOf\[0\]\.type: Forbidden: must be empty to be structural/,
    ],
    [
      'a default in a junctor',
      root({ a: { type: 'string', not: { default: 'x' } } }),
      /not\.default: Forbidden/,
    ],
    [
      'rules in a junctor',
      root({ a: { type: 'string', anyOf: [{ 'x-kubernetes-validations': [{ rule: 'true' }] }] } }),
      /anyOf\[0\]\.x-kubernetes-validations: Forbidden: must be empty to be structural/,
    ],
    [
      'items only a junctor has',
      root({ a: { type: 'object', anyOf: [{ items: { minimum: 1 } }] } }),
      /items: Required value: because it is defined in/,
    ],
    [
      'a map list without keys',
      root({ a: { type: 'array', 'x-kubernetes-list-type': 'map', items: { type: 'object' } } }),
      /list-map-keys: Required value/,
    ],
    [
      'a key that is no property',
      root({
        a: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object' },
        },
      }),
      /must all be names of item properties/,
    ],
    [
      'an optional key without default',
      root({
        a: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['k'],
          items: { type: 'object', properties: { k: { type: 'string' } } },
        },
      }),
      /must have a default or be a required property/,
    ],
    [
      'keys of a list that is no map',
      root({ a: { type: 'array', 'x-kubernetes-list-map-keys': ['k'], items: { type: 'object' } } }),
      /must be map if/,
    ],
    [
      'a set of objects',
      root({ a: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'object' } } }),
      /must be atomic as item/,
    ],
    [
      'a list type on a string',
      root({ a: { type: 'string', 'x-kubernetes-list-type': 'set' } }),
      /must be array/,
    ],
    [
      'a pattern that cannot be read',
      root({ a: { type: 'string', pattern: '(' } }),
      /pattern: Invalid value: "\(": must be a valid regular expression/,
    ],
    [
      'a default of a wrong type',
      root({ a: { type: 'integer', default: 'x' } }),
      /^properties\[a\]\.default: Invalid value: "string": {2}in body must be of type integer/,
    ],
    [
      'a default with unknown fields',
      root({ a: { type: 'object', properties: {}, default: { b: 1 } } }),
      /must not have unknown fields/,
    ],
    [
      'a default of metadata',
      root({ metadata: { type: 'object', default: {} } }),
      /^properties\[metadata\]\.default: Forbidden: must not be set in top-level metadata/,
    ],
    [
      'a map type that there is not',
      root({ a: { type: 'object', 'x-kubernetes-map-type': 'deep' as never } }),
      /Unsupported value: "deep"/,
    ],
    [
      'metadata in a junctor',
      root({ a: { type: 'string', nullable: true, not: { properties: { metadata: {} } } } }),
      /nested context/,
    ],
  ])('[V45] refuses %s', (_title, schema, expected) => {
    const found = issues(schema);
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(expected);
  });
});
