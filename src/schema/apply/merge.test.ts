import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonObject, JsonValue } from '../json.ts';
import { compare, NO_CHANGE } from './compare.ts';
import { encodeFieldsV1 } from './fields-v1.ts';
import { merge } from './merge.ts';
import { deployment, schemaless, widget } from './testing/fixtures/types.ts';
import { toFieldSet } from './to-field-set.ts';
import { objectType } from './typed-schema.ts';
import { validateApplied } from './validate.ts';

const type = objectType(widget);
const spec = (value: JsonObject): JsonObject => ({ spec: value });
const merged = (live: JsonObject, applied: JsonObject): JsonValue => merge(spec(live), spec(applied), type);
const fields = (value: JsonObject, of = type): JsonObject => encodeFieldsV1(toFieldSet(value, of));
const changes = (before: JsonObject, after: JsonObject): JsonObject => {
  const { removed, modified, added } = compare(spec(before), spec(after), type);
  const inSpec = (set: typeof removed): JsonValue =>
    (encodeFieldsV1(set)['f:spec'] as JsonValue | undefined) ?? null;
  return { removed: inSpec(removed), modified: inSpec(modified), added: inSpec(added) };
};

describe('merging an associative list', () => {
  const order = (live: string[], applied: string[]): JsonValue | undefined =>
    (merged({ tags: live }, { tags: applied }) as { spec: JsonObject }).spec.tags;

  it.each([
    ['appends what is new', ['a', 'b'], ['c'], ['a', 'b', 'c']],
    ['keeps live items where they are', ['a', 'x', 'b'], ['a', 'b'], ['a', 'x', 'b']],
    ['takes the applied order of shared items', ['a', 'b'], ['b', 'a'], ['b', 'a']],
    ['puts new items behind the applied item before them', ['a', 'b'], ['a', 'n', 'b'], ['a', 'n', 'b']],
    ['keeps live-only items before a moved item', ['a', 'x', 'b', 'y'], ['b', 'a'], ['x', 'b', 'y', 'a']],
    ['starts with new items when they are applied first', ['a'], ['n', 'a'], ['n', 'a']],
    ['is the applied list when nothing lives', [], ['b', 'a'], ['b', 'a']],
    ['is the live list when nothing is applied', ['b', 'a'], [], ['b', 'a']],
  ])('[V27] %s', (_title, live, applied, expected) => {
    expect(order(live, applied)).toEqual(expected);
  });

  it('[V27] holds each item once, applied items in applied order, live-only items in live order', () => {
    const items = fc.uniqueArray(fc.constantFrom<string[]>('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 6 });
    fc.assert(
      fc.property(items, items, (live, applied) => {
        const result = order(live, applied) as string[];
        expect(new Set(result).size).toBe(result.length);
        expect(result.filter((item) => applied.includes(item))).toEqual(applied);
        expect(result.filter((item) => !applied.includes(item))).toEqual(
          live.filter((item) => !applied.includes(item)),
        );
        expect(order(result, applied)).toEqual(result);
      }),
    );
  });

  it('[V27] an applied item replaces several live ones with its key', () => {
    const live = { parts: [{ name: 'a', value: 1 }, { name: 'a', more: { x: 'y' } }, { name: 'b' }] };
    expect(merged(live, { parts: [{ name: 'a', value: 3 }] })).toEqual(
      spec({ parts: [{ name: 'a', value: 3 }, { name: 'b' }] }),
    );
  });

  it('[V27] live items without a key are kept', () => {
    expect(merged({ parts: [{ value: 1 }, { value: 2 }] }, { parts: [{ name: 'a' }] })).toEqual(
      spec({ parts: [{ value: 1 }, { value: 2 }, { name: 'a' }] }),
    );
  });

  it('[V27] items merge by key, with the defaults of absent keys', () => {
    const pods = objectType(deployment);
    const ports = (...list: JsonObject[]): JsonObject => ({
      spec: { template: { spec: { containers: [{ name: 'c', ports: list }] } } },
    });
    const live = ports(
      { containerPort: 80, protocol: 'TCP', name: 'web' },
      { containerPort: 80, protocol: 'UDP' },
    );
    expect(merge(live, ports({ containerPort: 80, name: 'http' }), pods)).toEqual(
      ports({ containerPort: 80, protocol: 'TCP', name: 'http' }, { containerPort: 80, protocol: 'UDP' }),
    );
    expect(fields(ports({ containerPort: 80 }, { protocol: 'UDP' }), pods)).toEqual({
      'f:spec': {
        'f:template': {
          'f:spec': {
            'f:containers': {
              'k:{"name":"c"}': {
                '.': {},
                'f:name': {},
                'f:ports': {
                  'k:{"containerPort":0,"protocol":"UDP"}': { '.': {}, 'f:protocol': {} },
                  'k:{"containerPort":80,"protocol":"TCP"}': { '.': {}, 'f:containerPort': {} },
                },
              },
            },
          },
        },
      },
    });
  });
});

describe('merging', () => {
  it('[V27] atomic lists and maps are replaced, granular maps merge', () => {
    expect(
      merged(
        { words: ['a', 'b'], box: { a: '1', b: '2' }, map: { a: '1' }, nested: { a: '1' } },
        { words: ['c'], box: { b: '3' }, map: { b: '2' }, nested: { b: '2' } },
      ),
    ).toEqual(spec({ words: ['c'], box: { b: '3' }, map: { a: '1', b: '2' }, nested: { a: '1', b: '2' } }));
  });

  it('[V27] keeps null, empty and absent apart, but nothing empties what is there', () => {
    expect(merged({ map: {} }, { map: null })).toEqual(spec({ map: null }));
    expect(merged({ tags: null }, { tags: [] })).toEqual(spec({ tags: [] }));
    expect(merged({ map: { a: '1' } }, { map: {} })).toEqual(spec({ map: { a: '1' } }));
    expect(merged({ map: { a: '1' } }, { map: null })).toEqual(spec({ map: { a: '1' } }));
    expect(merged({ note: 'x' }, { note: null })).toEqual(spec({ note: null }));
  });

  it('[V27] without a schema maps merge and lists are replaced; a changed form is taken as applied', () => {
    const free = objectType(schemaless);
    expect(merge({ a: { b: 1, c: [1] }, d: 1 }, { a: { c: [2], e: {} }, d: { f: 1 } }, free)).toEqual({
      a: { b: 1, c: [2], e: {} },
      d: { f: 1 },
    });
  });

  it('[V27] names of Object.prototype are keys like others', () => {
    const applied = JSON.parse(
      '{"spec":{"map":{"constructor":"x","__proto__":"y","toString":"z"}}}',
    ) as JsonObject;
    const result = merge(spec({ map: { a: 'b' } }), applied, type);
    expect(JSON.stringify(result)).toBe(
      '{"spec":{"map":{"a":"b","constructor":"x","__proto__":"y","toString":"z"}}}',
    );
    expect(compare(result, result, type)).toEqual(NO_CHANGE);
    expect(validateApplied(applied, type)).toEqual([]);
    expect(validateApplied({ spec: { constructor: 'x' } } as unknown as JsonObject, type)).toEqual([
      '.spec.constructor: field not declared in schema',
    ]);
  });
});

describe('the fields of an applied value', () => {
  it('[V27] are leaves, items and map keys; declared containers only when they are empty or null', () => {
    expect(
      fields(
        spec({
          size: 1,
          tags: ['a'],
          words: ['x'],
          parts: [{ name: 'p', value: 1 }],
          map: { k: 'v' },
          box: { a: '1' },
          nested: {},
          free: { x: { y: {} }, l: [] },
          note: null,
        }),
      ),
    ).toEqual({
      'f:spec': {
        'f:box': {},
        'f:free': { 'f:l': {}, 'f:x': { '.': {}, 'f:y': {} } },
        'f:map': { 'f:k': {} },
        'f:nested': {},
        'f:note': {},
        'f:parts': { 'k:{"name":"p"}': { '.': {}, 'f:name': {}, 'f:value': {} } },
        'f:size': {},
        'f:tags': { 'v:"a"': {} },
        'f:words': {},
      },
    });
    expect(fields(spec({ tags: [], size: 0 }))).toEqual({ 'f:spec': { 'f:size': {} } });
  });

  it('[V27] items that occur twice count as a whole', () => {
    expect(
      fields(
        spec({
          parts: [
            { name: 'p', value: 1 },
            { name: 'p', value: 2 },
          ],
        }),
      ),
    ).toEqual({
      'f:spec': { 'f:parts': { 'k:{"name":"p"}': {} } },
    });
  });
});

describe('comparing', () => {
  it('[V27] tells what is removed, modified and added, containers included', () => {
    expect(changes({ size: 1, map: { a: '1' } }, { size: 2, parts: [{ name: 'p' }] })).toEqual({
      removed: { 'f:map': { '.': {}, 'f:a': {} } },
      modified: { 'f:size': {} },
      added: { 'f:parts': { '.': {}, 'k:{"name":"p"}': { '.': {}, 'f:name': {} } } },
    });
  });

  it('[V27] atomic containers change as one', () => {
    expect(changes({ words: ['a'], box: { a: '1' } }, { words: ['a', 'b'], box: { b: '1' } })).toEqual({
      removed: null,
      modified: { 'f:box': {}, 'f:words': {} },
      added: null,
    });
  });

  it('[V27] items with one key several times', () => {
    const two: JsonObject[] = [
      { name: 'p', value: 1 },
      { name: 'p', value: 2 },
    ];
    const one: JsonObject[] = [{ name: 'p', value: 1 }];
    const item = 'k:{"name":"p"}';
    expect(changes({ parts: two }, { parts: [...two].reverse() })).toEqual({
      removed: null,
      modified: { 'f:parts': { [item]: {} } },
      added: null,
    });
    expect(changes({ parts: two }, { parts: one })).toEqual({
      removed: { 'f:parts': { [item]: {} } },
      modified: null,
      added: { 'f:parts': { [item]: { '.': {}, 'f:name': {}, 'f:value': {} } } },
    });
    expect(changes({ parts: one }, { parts: two })).toEqual({
      removed: { 'f:parts': { [item]: { '.': {}, 'f:name': {}, 'f:value': {} } } },
      modified: null,
      added: { 'f:parts': { [item]: {} } },
    });
  });

  it('[V27] the order of items is no change', () => {
    expect(changes({ tags: ['a', 'b'] }, { tags: ['b', 'a'] })).toEqual({
      removed: null,
      modified: null,
      added: null,
    });
  });

  it('[V27] null and empty differ, an untyped field that changes form leaves and comes', () => {
    expect(changes({ map: {} }, { map: null }).modified).toEqual({ 'f:map': {} });
    expect(changes({ free: { x: 1 } }, { free: { x: { y: 1 } } })).toEqual({
      removed: null,
      modified: { 'f:free': { 'f:x': {} } },
      added: { 'f:free': { 'f:x': { 'f:y': {} } } },
    });
  });
});

describe('an applied object', () => {
  const problems = (value: JsonObject): string[] => validateApplied(spec(value), type);

  it.each<[JsonObject, string]>([
    [{ wrong: 1 }, '.spec.wrong: field not declared in schema'],
    [{ size: 'x' }, '.spec.size: expected numeric (int or float), got string'],
    [{ on: 1 }, '.spec.on: expected boolean, got &{1}'],
    [
      { note: { b: [1, 'x', null] } },
      '.spec.note: expected string, got &value.valueUnstructured{Value:map[string]interface {}{"b":[]interface {}{1, "x", interface {}(nil)}}}',
    ],
    [{ either: { a: 1 } }, '.spec.either: expected any scalar, got &{map[a:1]}'],
    [{ tags: 'x' }, '.spec.tags: expected list, got &{x}'],
    [{ map: ['a', 1] }, '.spec.map: expected map, got &{[a 1]}'],
    [{ words: [1] }, '.spec.words[0]: expected string, got &value.valueUnstructured{Value:1}'],
    [{ parts: [{ name: 'a' }, { name: 'a' }] }, '.spec.parts: duplicate entries for key [name="a"]'],
    [{ tags: ['a', 'a'] }, '.spec.tags: duplicate entries for key [="a"]'],
    [
      { parts: [{ name: 'a', value: 'x' }] },
      '.spec.parts[name="a"].value: expected numeric (int or float), got string',
    ],
  ])('[V27] %j is refused', (value, message) => {
    expect(problems(value)).toEqual([message]);
  });

  it('[V27] items without an identity are refused', () => {
    expect(problems({ parts: [{ value: 1 }] })[0]).toMatch(
      /^\.spec\.parts: element 0: .*omits key field "name"/,
    );
    expect(problems({ parts: [null] })[0]).toMatch(/null element/);
    expect(problems({ tags: [{}] })[0]).toMatch(/a map type/);
    expect(problems({ tags: [null] })[0]).toMatch(/explicit null/);
  });

  it('[V27] may hold null anywhere and anything where fields are kept', () => {
    expect(
      problems({ size: null, tags: null, parts: [{ name: 'a', value: null }], free: { x: [1, { y: 'z' }] } }),
    ).toEqual([]);
  });

  it('[V27] too deep is refused', () => {
    let deep: JsonObject = {};
    for (let i = 0; i < 400; i++) deep = { a: deep };
    expect(problems({ free: deep })[0]).toMatch(/nested deeper/);
  });
});
