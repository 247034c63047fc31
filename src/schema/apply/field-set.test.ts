import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareElements, fieldElement, formatPath, parseElement, valueElement } from './field-path.ts';
import {
  difference,
  EMPTY_SET,
  equalSets,
  type FieldSet,
  hasPath,
  intersection,
  isSubset,
  pathsOf,
  recursiveDifference,
  setOf,
  union,
} from './field-set.ts';
import { decodeFieldsV1, encodeFieldsV1 } from './fields-v1.ts';

const element = fc.oneof(
  fc.constantFrom('a', 'b', 'constructor', '__proto__', '.').map(fieldElement),
  fc.constantFrom('k:{"name":"x"}', 'k:{"name":"x","port":80}', 'k:{"port":9}', 'i:0', 'i:10', 'i:9'),
  fc.constantFrom('s', 1, true).map(valueElement),
);
const path = fc.array(element, { minLength: 1, maxLength: 4 });
const set: fc.Arbitrary<FieldSet> = fc.array(path, { maxLength: 8 }).map((paths) => setOf(...paths));

const members = (value: FieldSet): Set<string> => new Set([...pathsOf(value)].map((p) => JSON.stringify(p)));

describe('sets of paths', () => {
  it('[V27] union, intersection and difference are those of the paths', () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        const [left, right] = [members(a), members(b)];
        expect(members(union(a, b))).toEqual(left.union(right));
        expect(members(intersection(a, b))).toEqual(left.intersection(right));
        expect(members(difference(a, b))).toEqual(left.difference(right));
        expect(equalSets(union(a, b), union(b, a))).toBe(true);
        expect(equalSets(union(difference(a, b), intersection(a, b)), a)).toBe(true);
        expect(isSubset(a, union(a, b))).toBe(true);
      }),
    );
  });

  it('[V27] a recursive difference also drops what is below', () => {
    fc.assert(
      fc.property(set, set, (a, b) => {
        const cut = [...pathsOf(b)];
        const expected = [...pathsOf(a)].filter(
          (p) => !cut.some((c) => c.every((part, i) => p[i] === part) && c.length <= p.length),
        );
        expect(members(recursiveDifference(a, b))).toEqual(new Set(expected.map((p) => JSON.stringify(p))));
      }),
    );
  });

  it('[V27] operations that change nothing return the same set', () => {
    const a = setOf(['f:a', 'f:b'], ['f:c']);
    expect(union(a, setOf(['f:c']))).toBe(a);
    expect(difference(a, setOf(['f:a'], ['f:x']))).toBe(a);
    expect(recursiveDifference(a, EMPTY_SET)).toBe(a);
  });

  it('[V27] the empty path is never owned', () => {
    expect(hasPath(setOf([]), [])).toBe(false);
    expect(decodeFieldsV1({ '.': {}, 'f:a': {} })).toEqual(setOf(['f:a']));
  });
});

describe('FieldsV1', () => {
  it('[V27] a set survives being written and read', () => {
    fc.assert(
      fc.property(set, (a) => {
        const text = JSON.stringify(encodeFieldsV1(a));
        const back = decodeFieldsV1(JSON.parse(text));
        expect(back !== undefined && equalSets(back, a)).toBe(true);
        expect(JSON.stringify(encodeFieldsV1(back as FieldSet))).toBe(text);
      }),
    );
  });

  it('[V27] members with children have a dot, keys come in the order of path elements', () => {
    const text = JSON.stringify(
      encodeFieldsV1(
        setOf(
          ['i:10'],
          ['i:9'],
          ['v:"b"'],
          ['v:1'],
          ['k:{"port":80}'],
          ['k:{"name":"b"}'],
          ['k:{"name":"b"}', 'f:name'],
          ['f:z', 'f:y'],
          ['f:a'],
        ),
      ),
    );
    expect(text).toBe(
      '{"f:a":{},"f:z":{"f:y":{}},"k:{\\"name\\":\\"b\\"}":{".":{},"f:name":{}},"k:{\\"port\\":80}":{},' +
        '"v:1":{},"v:\\"b\\"":{},"i:9":{},"i:10":{}}',
    );
  });

  it('[V27] reads what others write: other spacing and key order, unknown kinds of elements left out', () => {
    const odd = {
      'k:{"port": 80.0, "name":"x"}': { 'f:a': {} },
      'q:7': { 'f:b': {} },
      'f:c': { 'z:1': {} },
    };
    expect(decodeFieldsV1(odd)).toEqual(setOf(['k:{"name":"x","port":80}', 'f:a'], ['f:c']));
  });

  it('[V27] refuses what is not FieldsV1', () => {
    expect(decodeFieldsV1('x')).toBeUndefined();
    expect(decodeFieldsV1({ 'f:a': 1 })).toBeUndefined();
    expect(decodeFieldsV1({ data: {} })).toBeUndefined();
    let deep = {};
    for (let i = 0; i < 400; i++) deep = { 'f:a': deep };
    expect(decodeFieldsV1(deep)).toBeUndefined();
  });
});

describe('path elements', () => {
  it('[V27] are ordered fields, keys, values, positions', () => {
    const ordered = [
      'f:a',
      'f:b',
      'k:{"a":1}',
      'k:{"a":"x"}',
      'k:{"b":0}',
      'v:2',
      'v:10',
      'v:"a"',
      'v:true',
      'i:2',
      'i:10',
    ];
    expect([...ordered].reverse().sort(compareElements)).toEqual(ordered);
  });

  it('[V27] read like people write them', () => {
    expect(formatPath(['f:spec', 'k:{"name":"x","port":80}', 'f:finalizers', 'v:"a/b"', 'i:3'])).toBe(
      '.spec[name="x",port=80].finalizers[="a/b"][3]',
    );
  });

  it('[V27] that cannot be read are none', () => {
    for (const bad of ['k:[1]', 'k:{', 'v:', 'i:-1', 'i:x', '', 'f', 'x:y'])
      expect(parseElement(bad)).toBeUndefined();
  });
});
