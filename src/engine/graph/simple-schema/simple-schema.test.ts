import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { JsonObject } from '../../../schema/json.ts';
import { parseYamlBody } from '../../../schema/yaml-body.ts';
import { issueText } from '../issue.ts';
import { openApiOfSimpleSchema, parseMarkers, splitLeaf } from './index.ts';

function object(yaml: string): JsonObject {
  const parsed = parseYamlBody(yaml);
  if (!parsed.ok) throw new Error(parsed.message);
  return parsed.value as JsonObject;
}

function schemaOf(spec: string, types = '{}'): unknown {
  const { schema, issues } = openApiOfSimpleSchema(object(spec), object(types));
  expect(issues.map(issueText)).toEqual([]);
  return schema;
}

function field(definition: string, types = '{}'): unknown {
  const schema = schemaOf(JSON.stringify({ a: definition }), types) as { properties: { a: unknown } };
  return schema.properties.a;
}

function problems(spec: object, types: object = {}): string {
  const { issues } = openApiOfSimpleSchema(spec as JsonObject, types as JsonObject);
  return issues.map(issueText).join('\n');
}

describe('types', () => {
  it('[R13] are OpenAPI types; a float is a number', async () => {
    const spec = 'text: string\ncount: integer\non: boolean\nratio: float\nany: object\n';
    await expect(stringify(schemaOf(spec))).toMatchFileSnapshot('../testdata/scalars.yaml');
  });

  it('[R14] nest as lists and maps of text keys, 16 levels deep', () => {
    expect(field('[]map[string][]integer')).toEqual({
      type: 'array',
      items: { type: 'object', additionalProperties: { type: 'array', items: { type: 'integer' } } },
    });
    expect(problems({ a: `${'[]'.repeat(16)}string` })).toBe('');
    expect(problems({ a: `${'[]'.repeat(17)}string` })).toContain(
      'nests 17 levels deep; expected at most 16',
    );
    expect(problems({ a: 'map[integer]string' })).toContain(
      'schema.spec.a: keys of maps are strings, not "integer"',
    );
    let deep: object = { leaf: 'string' };
    for (let level = 0; level < 16; level++) deep = { inner: deep };
    expect(problems(deep)).toBe('');
    expect(problems({ inner: deep })).toContain('17 levels');
  });

  it('of objects without fields keep what is unknown', () => {
    expect(field('object')).toEqual({ type: 'object', 'x-kubernetes-preserve-unknown-fields': true });
  });

  it('[R16] can be named: structs, aliases with markers, in any order, without cycles', () => {
    const types =
      'Port: "integer | minimum=1 required=true"\nServer: {host: string, port: Port}\nList: "[]Server"';
    expect(schemaOf('server: Server\nlist: List\nport: Port | default=80', types)).toEqual({
      type: 'object',
      properties: {
        server: {
          type: 'object',
          properties: { host: { type: 'string' }, port: { type: 'integer', minimum: 1 } },
          required: ['port'],
        },
        list: {
          type: 'array',
          items: {
            type: 'object',
            properties: { host: { type: 'string' }, port: { type: 'integer', minimum: 1 } },
            required: ['port'],
          },
        },
        port: { type: 'integer', minimum: 1, default: 80 },
      },
      required: ['port'],
    });
    expect(problems({}, { A: { b: 'B' }, B: { a: '[]A' } })).toBe(
      'schema.types: custom types form a cycle: A -> B -> A',
    );
    expect(problems({ a: 'Nothing' }, { Some: 'string' })).toBe(
      'schema.spec.a: there is no type "Nothing"; expected string, integer, boolean, float, object, Some, []T or map[string]T',
    );
  });

  it('may have any name that no type has', () => {
    expect(field('[]my-type', 'my-type: {x: string}')).toMatchObject({ items: { type: 'object' } });
    expect(field('map[string]2nd', '2nd: integer')).toMatchObject({
      additionalProperties: { type: 'integer' },
    });
  });

  it('that blow up are refused before they are built', () => {
    const types: Record<string, object> = { T0: { a: 'string' } };
    for (let n = 1; n < 15; n++)
      types[`T${n}`] = Object.fromEntries(Array.from({ length: 10 }, (_, i) => [`f${i}`, `T${n - 1}`]));
    expect(problems({ a: 'T14' }, types)).toContain('fields with those of its custom types');
  });
});

describe('markers', () => {
  it('[R17] apply to their types only', () => {
    expect(
      field(
        'string | default="a b" description=text minLength=1 maxLength=9 pattern="^a\\\\d|b$" enum="x, y"',
      ),
    ).toEqual({
      type: 'string',
      default: 'a b',
      description: 'text',
      minLength: 1,
      maxLength: 9,
      pattern: '^a\\d|b$',
      enum: ['x', 'y'],
    });
    expect(field('integer | minimum=0 maximum=10 enum=1,2')).toEqual({
      type: 'integer',
      minimum: 0,
      maximum: 10,
      enum: [1, 2],
    });
    expect(field('[]string | minItems=1 maxItems=3 uniqueItems=true')).toMatchObject({
      minItems: 1,
      maxItems: 3,
      'x-kubernetes-list-type': 'set',
    });
    const vectors: readonly [string, string][] = [
      ['string | minimum=1', 'marker minimum is for integer and float only'],
      ['boolean | maximum=1', 'marker maximum is for'],
      ['integer | minLength=1', 'marker minLength is for string only, and this is integer'],
      ['integer | maxLength=1', 'marker maxLength'],
      ['integer | pattern=a', 'marker pattern'],
      ['float | enum="1,2"', 'marker enum is for string and integer only, and this is float'],
      ['string | minItems=1', 'marker minItems'],
      ['string | maxItems=1', 'marker maxItems'],
      ['string | uniqueItems=true', 'marker uniqueItems'],
      ['string | listType=set', 'marker listType'],
      ['string | pattern="("', 'is no regular expression'],
      ['integer | enum=1,x', 'must hold whole numbers, not "x"'],
      ['string | enum="a,,b"', 'must not have empty values'],
      ['integer | default=1.5', 'must be a whole number, not "1.5"'],
      ['boolean | default=yes', 'must be true or false'],
      ['[]string | default={}', 'must be a JSON list'],
      ['string | required=maybe', 'marker required must be true or false'],
      ['string | immutable=yes', 'marker immutable must be true or false'],
      ['boolean | default=True', 'marker default must be true or false'],
      ['[]string | uniqueItems=true listType=map', 'another marker says set'],
      ['[]string | listType=map listMapKey=a', 'for lists of objects with fields only'],
      ['[]string | listMapKey=a', 'listMapKey is for lists with listType=map only'],
    ];
    for (const [leaf, message] of vectors) expect(problems({ a: leaf }), leaf).toContain(message);
  });

  it('[R18] are read with quotes, escapes and brackets', () => {
    expect(parseMarkers(' a="b"')).toBe('there is no marker "a"');
    expect(parseMarkers('default={"a": "b c"} required=true')).toEqual([
      { name: 'default', value: '{"a": "b c"}' },
      { name: 'required', value: 'true' },
    ]);
    expect(parseMarkers('default="say \\"hi\\" \\\\ \\d"')).toEqual([
      { name: 'default', value: 'say "hi" \\ \\d' },
    ]);
    expect(parseMarkers('default=["a b", "]"]\tdescription="x=y"')).toEqual([
      { name: 'default', value: '["a b", "]"]' },
      { name: 'description', value: 'x=y' },
    ]);
    expect(parseMarkers('default=""')).toEqual([{ name: 'default', value: '' }]);
    expect(parseMarkers('required')).toBe('marker "required" has no value');
    expect(parseMarkers('default= required=true')).toBe('marker "default" has no value');
    expect(parseMarkers('default="a')).toContain('a quote is not closed');
    expect(parseMarkers('default=[1')).toContain('a bracket is not closed');
    expect(parseMarkers('default=1]')).toContain('closes nothing');
    expect(parseMarkers('=1')).toContain('no name');
    expect(parseMarkers(' ')).toContain('there is no marker');
    expect(splitLeaf('string | pattern="a|b"')).toEqual({ type: 'string ', markers: ' pattern="a|b"' });
    expect(splitLeaf('string | a | b')).toBeUndefined();
  });

  it('are read as kro reads them: booleans in all spellings, control characters of a quoted default', () => {
    for (const yes of ['true', 'True', 'TRUE', 't', 'T', '1'])
      expect(schemaOf(`{a: "string | required=${yes}"}`), yes).toMatchObject({ required: ['a'] });
    expect(field('[]string | uniqueItems=1')).toMatchObject({ 'x-kubernetes-list-type': 'set' });
    expect(field('string | immutable=F')).toEqual({ type: 'string' });
    expect(field('string | description=""')).toEqual({ type: 'string' });
    expect(field('string | default="one\\ntwo\\tthree \\\\n"')).toEqual({
      type: 'string',
      default: 'one\ntwo\tthree \\n',
    });
    expect(field('string | pattern="a\\tb"')).toEqual({ type: 'string', pattern: 'a\\tb' });
  });

  it('never take away that a field is required', () => {
    const types = 'Must: "string | required=true"';
    expect(
      schemaOf('a: Must | required=false\nb: string | required=true required=false', types),
    ).toMatchObject({
      required: ['a', 'b'],
    });
  });

  it('required and default: nested defaults hold where nothing in them is required', () => {
    expect(
      schemaOf(
        'a: {b: "integer | default=1", c: string}\nd: {e: "integer | default=1", f: "string | required=true"}',
      ),
    ).toEqual({
      type: 'object',
      properties: {
        a: {
          type: 'object',
          properties: { b: { type: 'integer', default: 1 }, c: { type: 'string' } },
          default: {},
        },
        d: {
          type: 'object',
          properties: { e: { type: 'integer', default: 1 }, f: { type: 'string' } },
          required: ['f'],
        },
      },
      default: {},
    });
  });

  it('make sets and keyed lists', () => {
    const types = 'Entry: {name: "string | required=true", kind: "string | required=true", value: string}';
    expect(field('[]Entry | listType=map listMapKey=name listMapKey=kind', types)).toMatchObject({
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name', 'kind'],
    });
    expect(problems({ a: '[]Entry | listType=map listMapKey=id' }, object(types))).toContain(
      'listMapKey names "id", the elements have kind, name, value',
    );
  });

  it('make rules', () => {
    expect(field('string | immutable=true validation="self != \'x\'"')).toEqual({
      type: 'string',
      'x-kubernetes-validations': [
        { rule: 'self == oldSelf', message: 'field is immutable' },
        { rule: "self != 'x'", message: 'validation failed' },
      ],
    });
  });

  it('keep long integers exact', () => {
    expect(field('integer | default=9007199254740993')).toEqual({
      type: 'integer',
      default: 9007199254740993n,
    });
  });
});

it('what is no type is told with the field and what would be', () => {
  expect(problems({ a: { b: [1] }, c: 3, d: null })).toBe(
    [
      'schema.spec.a.b: found a list; expected a type such as "string" or "integer | default=1", or an object of fields',
      'schema.spec.c: found the number 3; expected a type such as "string" or "integer | default=1", or an object of fields',
      'schema.spec.d: found nothing; expected a type such as "string" or "integer | default=1", or an object of fields',
    ].join('\n'),
  );
});
