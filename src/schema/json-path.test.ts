import { describe, expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import { compileJsonPath, JsonPathError, simpleJsonPath } from './json-path.ts';

const document: JsonValue = {
  kind: 'Widget',
  metadata: { name: 'w', annotations: { 'a/b.c': 'x' } },
  spec: {
    replicas: 3,
    list: [{ n: 1, on: true }, { n: 2 }, { n: 3, on: false }],
    words: ['a', 'b', 'c', 'd'],
  },
  status: {
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Synced', status: 'False' },
    ],
  },
};

describe('compileJsonPath', () => {
  it.each<[string, JsonValue[]]>([
    ['.spec.replicas', [3]],
    ['{.spec.replicas}', [3]],
    ['$.spec.replicas', [3]],
    ['spec.replicas', [3]],
    ['.kind', ['Widget']],
    ['.nothing.here', []],
    ['.kind.name', []],
    ['.constructor', []],
    [".metadata.annotations['a/b.c']", ['x']],
    ['.metadata.annotations["a/b.c"]', ['x']],
    ['.metadata.annotations.a/b\\.c', ['x']],
    ["['kind','spec']['replicas']", [3]],
    ['.spec.words[0]', ['a']],
    ['.spec.words[-1]', ['d']],
    ['.spec.words[9]', []],
    ['.spec.words[-9]', []],
    ['.spec.words[0,2]', ['a', 'c']],
    ['.spec.words[1:3]', ['b', 'c']],
    ['.spec.words[:-1]', ['a', 'b', 'c']],
    ['.spec.words[::2]', ['a', 'c']],
    ['.spec.words[*]', ['a', 'b', 'c', 'd']],
    ['.spec.list[*].n', [1, 2, 3]],
    ['.metadata.*', ['w', { 'a/b.c': 'x' }]],
    ['.status.conditions[?(@.type=="Ready")].status', ['True']],
    [".status.conditions[?(@.type == 'Synced')].status", ['False']],
    ['.status.conditions[?(@.type!="Ready")].type', ['Synced']],
    ['.spec.list[?(@.n>=2)].n', [2, 3]],
    ['.spec.list[?(@.on)].n', [1, 3]],
    ['.spec.list[?(@.on==true)].n', [1]],
    ['.spec.list[?(@.n<@.n)].n', []],
    ['.spec.words[?(@=="b")]', ['b']],
    [
      '..status',
      [
        {
          conditions: [
            { type: 'Ready', status: 'True' },
            { type: 'Synced', status: 'False' },
          ],
        },
        'True',
        'False',
      ],
    ],
    ['.spec..n', [1, 2, 3]],
  ])('%s', (path, expected) => {
    expect(compileJsonPath(path)(document)).toEqual(expected);
  });

  it('gives the document for the empty path and the dot', () => {
    expect(compileJsonPath('.')(document)).toEqual([document]);
    expect(compileJsonPath('')(document)).toEqual([document]);
  });

  it.each([
    '.a..',
    '.a[',
    '.a[0',
    ".a['x",
    '.a[?(@.b==)]',
    '.a[?(@.b=="x"]',
    '.a[x]',
    '.a b',
    '.a.',
    '[::0]',
    `.${'a'.repeat(5000)}`,
  ])('%s is an error that says where', (path) => {
    expect(() => compileJsonPath(path)).toThrow(JsonPathError);
  });

  it('stops where a path finds more than anyone can want', () => {
    let deep: JsonValue = 1;
    for (let i = 0; i < 60; i++) deep = { a: deep };
    const value = deep;
    expect(() => compileJsonPath('..*'.repeat(12))(value)).toThrow(/values are found/);
  });
});

it('simpleJsonPath gives the keys of paths of names only', () => {
  expect(simpleJsonPath('.spec.replicas')).toEqual(['spec', 'replicas']);
  expect(simpleJsonPath(".spec['a.b'].c")).toEqual(['spec', 'a.b', 'c']);
  for (const path of ['', 'spec', '.spec[0]', '.a..b', '.a[*]', '.'])
    expect(simpleJsonPath(path)).toBeUndefined();
});
