import { describe, expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import type { OpenApiSchema } from './open-api-schema.ts';
import { validateChange, validateValue } from './validate.ts';

const validate = (
  value: JsonValue,
  schema: OpenApiSchema,
  path = 'spec.x',
): ReturnType<typeof validateValue> => validateValue(value, { schema, resolve: () => undefined }, path);
const details = (value: JsonValue, schema: OpenApiSchema): string[] =>
  validate(value, schema).map((issue) => issue.detail);

describe('validateValue', () => {
  it.each<[OpenApiSchema, JsonValue[], JsonValue[]]>([
    [{ type: 'string' }, ['', 'x'], [1, true, null, {}, []]],
    [{ type: 'integer' }, [1, -1, 1.0], [1.5, '1', null]],
    [{ type: 'number' }, [1, 1.5], ['1']],
    [{ type: 'boolean' }, [true, false], ['true', 0]],
    [{ type: 'object' }, [{}], [[], null, 'x']],
    [{ type: 'array' }, [[]], [{}, 'x']],
    [{ type: 'string', nullable: true }, [null, 'x'], [1]],
    [{ 'x-kubernetes-int-or-string': true }, [1, '25%'], [1.5, true, {}, null]],
    [{ type: 'string', enum: ['a', 'b'] }, ['a'], ['c']],
    [{ type: 'integer', enum: [1, 2] }, [2], [3]],
    [{ type: 'string', minLength: 2, maxLength: 3 }, ['ab', '😀😀😀'], ['a', 'abcd', '😀']],
    [{ type: 'string', pattern: '^(?i)a\\z' }, ['a', 'A'], ['b', 'a\n']],
    [{ type: 'string', format: 'date-time' }, ['2024-01-01T00:00:00Z'], ['yesterday']],
    [{ type: 'string', format: 'unheard-of' }, ['x'], []],
    // Formats of numbers are told in schemas and not enforced.
    [{ type: 'integer', format: 'int32' }, [2147483647, 2147483648], [0.5]],
    // Beyond 2^53 what is no long integer was written with a fraction or an exponent, or has more than 64 bits.
    [{ type: 'integer', format: 'int64' }, [2n ** 53n, 2 ** 53 - 1], ['1', 2 ** 53]],
    [{ type: 'string', nullable: true, enum: ['a'] }, ['a'], ['b', null]],
    [{ type: 'integer', minimum: 1, maximum: 3 }, [1, 3], [0, 4]],
    [
      { type: 'number', minimum: 1, maximum: 3, exclusiveMinimum: true, exclusiveMaximum: true },
      [1.1, 2.9],
      [1, 3],
    ],
    // Integers are compared with the whole part of the factor.
    [{ type: 'number', multipleOf: 0.1 }, [0.3, 1.5], [0.35, 1]],
    [{ type: 'array', minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], [1, 2, 3]]],
    [{ type: 'array', items: { type: 'integer' } }, [[], [1]], [['x'], [1, null]]],
    [{ type: 'object', minProperties: 1, maxProperties: 2 }, [{ a: 1 }], [{}, { a: 1, b: 2, c: 3 }]],
    [{ type: 'object', required: ['a'] }, [{ a: null }], [{}, { b: 1 }]],
    [{ type: 'object', required: ['constructor'] }, [], [{}]],
    [{ type: 'object', additionalProperties: { type: 'integer' } }, [{ a: 1 }], [{ a: 'x' }]],
    [{ type: 'object', properties: { a: { type: 'integer' } } }, [{ a: 1, b: 'x' }], [{ a: 'x' }]],
    [{ allOf: [{ minimum: 1 }, { maximum: 3 }] }, [2], [0, 4]],
    [{ anyOf: [{ minimum: 3 }, { maximum: 1 }] }, [0, 4], [2]],
    [{ oneOf: [{ minimum: 3 }, { maximum: 5 }] }, [2, 6], [4]],
    [{ not: { enum: ['x'] } }, ['y'], ['x']],
  ])('[V46] %j', (schema, good, bad) => {
    for (const value of good) expect([value, validate(value, schema)]).toEqual([value, []]);
    for (const value of bad) expect([value, validate(value, schema).length > 0]).toEqual([value, true]);
  });

  it('[V46] words its issues as Kubernetes does', () => {
    expect(validate('x', { type: 'integer' }, 'spec.replicas')).toEqual([
      {
        type: 'TypeInvalid',
        path: 'spec.replicas',
        value: 'string',
        detail: 'spec.replicas in body must be of type integer: "string"',
      },
    ]);
    expect(validate({}, { type: 'object', required: ['a'] }, 'spec')).toEqual([
      { type: 'Required', path: 'spec.a', detail: '' },
    ]);
    expect(validate('c', { enum: ['a', 1] })).toEqual([
      { type: 'NotSupported', path: 'spec.x', value: 'c', detail: '', supported: ['a', '1'] },
    ]);
    expect(details('b', { pattern: '^a' })).toEqual(["spec.x in body should match '^a'"]);
    expect(details('b', { minLength: 2 })).toEqual(['spec.x in body should be at least 2 chars long']);
    expect(validate('abc', { maxLength: 2 })).toMatchObject([
      { type: 'TooLong', detail: 'may not be more than 2 bytes' },
    ]);
    expect(validate([1, 2], { maxItems: 1 })).toMatchObject([
      { type: 'TooMany', value: 2, detail: 'must have at most 1 items' },
    ]);
    expect(details(0, { minimum: 1 })).toEqual(['spec.x in body should be greater than or equal to 1']);
    expect(details(1, { minimum: 1, exclusiveMinimum: true })).toEqual([
      'spec.x in body should be greater than 1',
    ]);
    expect(details(9, { maximum: 1 })).toEqual(['spec.x in body should be less than or equal to 1']);
    expect(details('z', { format: 'ipv4' })).toEqual(['spec.x in body must be of type ipv4: "z"']);
    expect(details(4, { oneOf: [{ minimum: 3 }, { maximum: 5 }] })).toEqual([
      '"spec.x" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ]);
    expect(details(true, { 'x-kubernetes-int-or-string': true })).toEqual([
      'spec.x in body must be of type integer,string: "boolean"',
    ]);
  });

  it('[V46] gives paths through lists and maps', () => {
    const schema: OpenApiSchema = {
      type: 'object',
      properties: {
        list: { type: 'array', items: { type: 'object', additionalProperties: { type: 'string' } } },
      },
    };
    expect(validate({ list: [{}, { k: 1 }] }, schema, '').map((issue) => issue.path)).toEqual(['list[1].k']);
  });

  it('[V46] of alternatives that all fail, names the problems with the nearest', () => {
    const schema: OpenApiSchema = {
      anyOf: [{ required: ['a', 'b'] }, { required: ['a', 'c'], properties: { a: { enum: ['x'] } } }],
    };
    expect(validate({ a: 'x' }, schema).map((issue) => issue.path)).toEqual(['<nil>', 'spec.x.b']);
  });

  it('[V46] finds duplicates in sets and maps, each once', () => {
    const set: OpenApiSchema = { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } };
    expect(validate(['a', 'b', 'a', 'a'], set)).toEqual([
      { type: 'Duplicate', path: 'spec.x[2]', value: 'a', detail: '' },
    ]);
    const map: OpenApiSchema = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['port', 'protocol'],
      items: {
        type: 'object',
        properties: {
          port: { type: 'integer' },
          protocol: { type: 'string', default: 'TCP' },
          name: { type: 'string' },
        },
      },
    };
    expect(
      validate(
        [
          { port: 1, name: 'a' },
          { port: 1, protocol: 'UDP' },
          { port: 1, protocol: 'TCP' },
        ],
        map,
      ),
    ).toEqual([{ type: 'Duplicate', path: 'spec.x[2]', value: { port: 1, protocol: 'TCP' }, detail: '' }]);
    const nested: OpenApiSchema = { type: 'object', additionalProperties: set };
    expect(
      validate(
        { k: [1, 1] as never },
        { type: 'object', additionalProperties: { ...set, items: { type: 'integer' } } },
      ),
    ).toHaveLength(1);
    expect(validate({ k: ['a'] }, nested)).toEqual([]);
  });

  it('[V46] a pattern that is no RE2 expression is an issue, and a flood of issues is cut', () => {
    expect(details('x', { pattern: '(?=x)' })[0]).toContain('pattern is invalid: error parsing regexp');
    expect(
      validate(
        Array.from({ length: 10_000 }, () => 'x'),
        { type: 'array', items: { type: 'integer' } },
      ),
    ).toHaveLength(500);
  });
});

describe('validateChange', () => {
  const schema: OpenApiSchema = {
    type: 'object',
    required: ['needed'],
    properties: {
      short: { type: 'string', maxLength: 2 },
      many: { type: 'array', items: { type: 'string', maxLength: 2 } },
      keyed: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['k'],
        items: { type: 'object', properties: { k: { type: 'string' }, v: { type: 'integer', maximum: 1 } } },
      },
    },
  };
  const paths = (value: JsonValue, old: JsonValue): string[] =>
    validateChange(value, old, { schema, resolve: () => undefined }).map(({ path }) => path);

  it('lets be what was invalid before', () => {
    const old = { needed: 1, short: 'long', many: ['long'] };
    expect(paths({ ...old, more: true }, old)).toEqual([]);
    expect(paths({ ...old, short: 'other' }, old)).toEqual(['short']);
  });

  it('knows items again by their keys only', () => {
    const old = { needed: 1, many: ['long'], keyed: [{ k: 'a', v: 2 }] };
    expect(
      paths(
        {
          ...old,
          keyed: [
            { k: 'b', v: 1 },
            { k: 'a', v: 2 },
          ],
        },
        old,
      ),
    ).toEqual([]);
    expect(paths({ ...old, keyed: [{ k: 'a', v: 3 }] }, old)).toEqual(['keyed[0].v']);
    expect(paths({ ...old, many: ['long', 'ok'] }, old)).toEqual(['many[0]']);
  });

  it('does not turn what a branch refuses into something that it lets through', () => {
    const branches: OpenApiSchema = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { type: 'string', maxLength: 2 } },
      not: { properties: { a: { enum: ['never'] } }, required: ['a'] },
      allOf: [{ properties: { c: { maxLength: 2 } } }],
      oneOf: [{ properties: { a: { enum: ['x'] } } }, { properties: { a: { enum: ['y'] } } }],
    };
    const old = { a: 'x', b: 'long', c: 'long' };
    expect(
      validateChange({ ...old, b: 'other' }, old, { schema: branches, resolve: () => undefined }),
    ).toEqual([expect.objectContaining({ path: 'b' })]);
  });

  it('asks for what is missing from an object that changes, and lets be lists with duplicates from before', () => {
    expect(paths({ short: 'b' }, { short: 'a' })).toEqual(['needed']);
    const twice = { needed: 1, keyed: [{ k: 'a' }, { k: 'a' }] };
    expect(paths({ ...twice, short: 'b' }, twice)).toEqual([]);
    expect(paths(twice, { needed: 1, keyed: [{ k: 'a' }] })).toEqual(['keyed[1]']);
  });
});

describe('a value that takes too much to be validated', () => {
  const tooMuch =
    'is too much to be validated: the patterns and alternatives of its schema take too many steps';

  it('[V46] is refused instead of keeping everybody waiting', { timeout: 60_000 }, () => {
    // Each text alone would pass; together they would take minutes.
    const pattern = `^${'(?:.?){900}'.repeat(10)}y$`;
    const texts: JsonValue[] = Array.from({ length: 500 }, () => 'x'.repeat(1_000));
    expect(details(texts, { type: 'array', items: { type: 'string', pattern } })).toEqual([tooMuch]);

    const names: JsonValue[] = Array.from({ length: 10_000 }, (_, index) => `n${index}`);
    const schema: OpenApiSchema = { type: 'array', items: { type: 'string', enum: names } };
    expect(details(names, schema)).toEqual([tooMuch]);
    expect(
      validateChange([...names, ''], names, { schema, resolve: () => undefined }).map(({ detail }) => detail),
    ).toEqual([tooMuch]);
  });

  it('[V46] is not one that is merely large', { timeout: 60_000 }, () => {
    const pattern = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';
    const texts: JsonValue[] = Array.from({ length: 5_000 }, (_, index) => `a-usual-name-of-${index}`);
    expect(details(texts, { type: 'array', items: { type: 'string', pattern } })).toEqual([]);
    expect(details('x'.repeat(1_000_000), { type: 'string', pattern: '^[a-z]{1000}' })).toEqual([]);
  });
});
