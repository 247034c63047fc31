import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clone, deepEqual, type JsonValue } from './json.ts';
import { applyMergePatch, createMergePatch } from './merge-patch.ts';

describe('applyMergePatch', () => {
  it.each<[string, JsonValue | undefined, JsonValue, JsonValue]>([
    ['sets, replaces and deletes', { a: 1, b: 2, c: 3 }, { a: 9, b: null, d: 4 }, { a: 9, c: 3, d: 4 }],
    ['merges deeply', { m: { l: { a: '1' } } }, { m: { l: { b: '2' } } }, { m: { l: { a: '1', b: '2' } } }],
    ['replaces lists', { l: [1, 2] }, { l: [3] }, { l: [3] }],
    [
      'replaces a scalar by an object, without its nulls',
      { a: 'x' },
      { a: { b: { c: null, d: 1 } } },
      { a: { b: { d: 1 } } },
    ],
    ['drops nulls for what is not there', {}, { a: { b: null } }, { a: {} }],
    ['keeps nulls in lists', {}, { a: [null, { b: null }] }, { a: [null, { b: null }] }],
    ['a patch that is no object is the result', { a: 1 }, [1], [1]],
    ['starts from nothing', undefined, { a: 1 }, { a: 1 }],
    [
      'treats inherited names as missing',
      {},
      { constructor: { x: 1 } },
      { constructor: { x: 1 } } as unknown as JsonValue,
    ],
  ])('[V25] %s', (_title, target, patch, expected) => {
    expect(applyMergePatch(target, patch)).toEqual(expected);
  });

  it('[V25] does not touch its inputs', () => {
    const target = { a: { b: [1] } };
    const patch = { c: { d: [1] } };
    const result = applyMergePatch(target, patch) as { a: { b: number[] }; c: { d: number[] } };
    result.a.b.push(2);
    result.c.d.push(2);
    expect([target, patch]).toEqual([{ a: { b: [1] } }, { c: { d: [1] } }]);
  });
});

/** JSON without nulls, which merge patches cannot express inside objects. */
const json = fc.letrec<{ value: JsonValue; object: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom<JsonValue>(0, 1, 'x', true),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), tie('value'), {
    maxKeys: 4,
  }) as fc.Arbitrary<JsonValue>,
}));

describe('createMergePatch', () => {
  it('[V25] leads from the one to the other', () => {
    fc.assert(
      fc.property(json.value, json.value, (from, to) => {
        expect(deepEqual(applyMergePatch(from, createMergePatch(from, to)), to)).toBe(true);
      }),
    );
  });

  it('[V25] is empty for equal objects, and a second application changes nothing', () => {
    fc.assert(
      fc.property(json.object, json.object, (from, to) => {
        expect(createMergePatch(from, clone(from))).toEqual({});
        const patch = createMergePatch(from, to);
        const once = applyMergePatch(from, patch);
        expect(applyMergePatch(once, patch)).toEqual(once);
      }),
    );
  });

  it('[V25] holds only what changed', () => {
    const from = { spec: { replicas: 1, image: 'a' }, old: true };
    const to = { spec: { replicas: 2, image: 'a' }, fresh: [1] };
    expect(createMergePatch(from, to)).toEqual({ spec: { replicas: 2 }, old: null, fresh: [1] });
  });
});
