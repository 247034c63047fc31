import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clone, type JsonValue } from './json.ts';
import { applyJsonPatch, type JsonPatchOperation, PatchError, validateJsonPatch } from './json-patch.ts';

function failing(document: JsonValue, operations: JsonValue): PatchError {
  try {
    applyJsonPatch(document, operations);
  } catch (error) {
    if (error instanceof PatchError) return error;
    throw error;
  }
  throw new Error('the patch was applied');
}

describe('applyJsonPatch', () => {
  it.each<[string, JsonValue, JsonPatchOperation[], JsonValue]>([
    ['adds a member', { a: 1 }, [{ op: 'add', path: '/b', value: null }], { a: 1, b: null }],
    ['add replaces what is there', { a: 1 }, [{ op: 'add', path: '/a', value: 2 }], { a: 2 }],
    ['inserts into a list', ['x', 'z'], [{ op: 'add', path: '/1', value: 'y' }], ['x', 'y', 'z']],
    ['appends by index', ['x'], [{ op: 'add', path: '/1', value: 'y' }], ['x', 'y']],
    ['appends by dash', { l: ['x'] }, [{ op: 'add', path: '/l/-', value: ['y'] }], { l: ['x', ['y']] }],
    ['replaces the document', { a: 1 }, [{ op: 'replace', path: '', value: [1] }], [1]],
    ['removes from a list', { l: [1, 2, 3] }, [{ op: 'remove', path: '/l/1' }], { l: [1, 3] }],
    [
      'moves a member',
      { a: { b: 1 }, c: {} },
      [{ op: 'move', from: '/a/b', path: '/c/d' }],
      { a: {}, c: { d: 1 } },
    ],
    ['moves within a list', [1, 2, 3], [{ op: 'move', from: '/0', path: '/2' }], [2, 3, 1]],
    ['moves to the same place', { a: 1 }, [{ op: 'move', from: '/a', path: '/a' }], { a: 1 }],
    ['copies', { a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }], { a: { b: 1 }, c: { b: 1 } }],
    [
      'reads escaped keys',
      { 'a/b': { '~': 1 } },
      [{ op: 'replace', path: '/a~1b/~0', value: 2 }],
      { 'a/b': { '~': 2 } },
    ],
    ['reads empty keys', { '': { '': 1 } }, [{ op: 'remove', path: '//' }], { '': {} }],
    [
      'tests regardless of key order',
      { a: { x: 1, y: [2] } },
      [{ op: 'test', path: '/a', value: { y: [2], x: 1 } }],
      { a: { x: 1, y: [2] } },
    ],
    [
      'numeric keys of objects are keys',
      { '0': 'a' },
      [{ op: 'replace', path: '/0', value: 'b' }],
      { '0': 'b' },
    ],
  ])('[V25] %s', (_title, document, operations, expected) => {
    expect(applyJsonPatch(document, operations)).toEqual(expected);
  });

  it.each<[string, JsonValue, JsonValue, RegExp]>([
    [
      'add below nothing',
      {},
      [{ op: 'add', path: '/a/b', value: 1 }],
      /operation 0 \(add "\/a\/b"\): \/a does not exist/,
    ],
    ['remove of nothing', { a: 1 }, [{ op: 'remove', path: '/b' }], /\/b does not exist/],
    ['replace beyond a list', [1], [{ op: 'replace', path: '/3', value: 1 }], /beyond the end/],
    ['an index beyond the end', [1], [{ op: 'add', path: '/2', value: 1 }], /index 2 is beyond the end/],
    ['an index with a leading zero', [1, 2], [{ op: 'remove', path: '/01' }], /not an index/],
    ['a negative index', [1, 2], [{ op: 'remove', path: '/-1' }], /not an index/],
    ['a dash where something must be', [1], [{ op: 'remove', path: '/-' }], /not an index/],
    [
      'a scalar on the way',
      { a: 'x' },
      [{ op: 'add', path: '/a/b', value: 1 }],
      /\/a is neither an object nor a list/,
    ],
    ['a failed test', { a: '1' }, [{ op: 'test', path: '/a', value: 1 }], /not the expected one/],
    ['a move into itself', { a: { b: 1 } }, [{ op: 'move', from: '/a', path: '/a/b' }], /into itself/],
    ['inherited names', {}, [{ op: 'remove', path: '/constructor/name' }], /\/constructor does not exist/],
    ['the prototype', {}, [{ op: 'add', path: '/__proto__', value: { x: 1 } }], /not supported/],
    ['removal of everything', { a: 1 }, [{ op: 'remove', path: '' }], /cannot be removed/],
  ])('[V25] refuses %s', (_title, document, operations, message) => {
    const error = failing(document, operations);
    expect(error.reason).toBe('Failed');
    expect(error.message).toMatch(message);
  });

  it('[V25] names the operation that failed, and applies none', () => {
    const document = { a: 1 };
    const error = failing(document, [
      { op: 'replace', path: '/a', value: 2 },
      { op: 'test', path: '/a', value: 3 },
    ]);
    expect(error).toMatchObject({ index: 1, path: '/a' });
    expect(document).toEqual({ a: 1 });
  });

  it('[V25] is as lenient with absent fields as the API server', () => {
    expect(applyJsonPatch({}, [{ op: 'replace', path: '/b', value: 1 }])).toEqual({ b: 1 });
    expect(applyJsonPatch({}, [{ op: 'add', path: '/b' }])).toEqual({ b: null });
    expect(applyJsonPatch({ a: 1 }, [{ op: 'test', path: '/b', value: null }])).toEqual({ a: 1 });
  });

  it('[V25] refuses what is not a patch', () => {
    expect(failing({}, { op: 'add' }).reason).toBe('Malformed');
    expect(failing({}, [{ op: 'add', path: 'a', value: 1 }]).message).toContain('is not a JSON pointer');
    expect(
      validateJsonPatch([{ op: 'add', path: '/a' }, { op: 'x' }, 3, { op: 'copy', path: '/a' }]),
    ).toEqual([
      'operation 1: op must be one of add, copy, move, remove, replace, test, not "x"',
      'operation 1: path is missing',
      'operation 2: must be an object',
      'operation 3: from is missing',
    ]);
    expect(validateJsonPatch([{ op: 'test', path: '', value: null }])).toEqual([]);
  });

  it('[V25] limits operations and what copies add up to', () => {
    const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '', value: {} }));
    expect(failing({}, many).reason).toBe('TooLarge');
    const doubling = Array.from({ length: 30 }, () => ({ op: 'copy', from: '/a', path: '/a/-' }));
    const error = failing({ a: ['x'.repeat(1000)] }, doubling);
    expect(error.reason).toBe('TooLarge');
    expect(error.message).toContain('3145728 bytes');
  });

  it('[V25] shares nothing with the document or the patch', () => {
    const document = { a: { b: [1] } };
    const value = { x: [1] };
    const result = applyJsonPatch(document, [{ op: 'add', path: '/c', value }]) as typeof document & {
      c: typeof value;
    };
    result.a.b.push(2);
    result.c.x.push(2);
    expect(document.a.b).toEqual([1]);
    expect(value.x).toEqual([1]);
  });

  it('[V25] leaves no document deeper than one may come', () => {
    const step = [
      { op: 'add', path: '/b', value: {} },
      { op: 'move', from: '/a', path: '/b/a' },
      { op: 'move', from: '/b', path: '/a' },
    ];
    const steps = (count: number): JsonValue => Array.from({ length: count }, () => step).flat();
    expect(failing({ a: {} }, steps(600)).reason).toBe('TooLarge');
    expect(applyJsonPatch({ a: {} }, steps(2))).toEqual({ a: { a: { a: {} } } });
    const chain = Array.from({ length: 3 }, (_, index) => ({
      op: 'add',
      path: '/a'.repeat(1 + index * 200),
      value: JSON.parse(`${'{"a":'.repeat(200)}{}${'}'.repeat(200)}`) as JsonValue,
    }));
    expect(failing({}, chain).reason).toBe('TooLarge');
  });

  it('[V25] an add is undone by a remove, wherever it goes', () => {
    const key = fc.string({ minLength: 1, maxLength: 3 }).filter((text) => text !== '__proto__');
    const json = fc
      .jsonValue({ maxDepth: 3 })
      .filter((value) => !JSON.stringify(value).includes('__proto__'));
    fc.assert(
      fc.property(fc.dictionary(key, json, { maxKeys: 4 }), key, json, (fields, name, value) => {
        const document = clone(fields) as Record<string, JsonValue>;
        delete document[name];
        const path = `/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
        const added = applyJsonPatch(document, [{ op: 'add', path, value: value as JsonValue }]);
        const back = applyJsonPatch(added, [
          { op: 'test', path, value: value as JsonValue },
          { op: 'remove', path },
        ]);
        expect(back).toEqual(document);
      }),
    );
  });
});
