import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { BYTES, DYN } from '../../../cel/index.ts';
import type { GraphIssue } from '../issue.ts';
import {
  compileExpression,
  evaluateExpression,
  expressionScope,
  goDuration,
  graphEnvironment,
  jsonOfResult,
  templateLibraries,
} from './index.ts';

const scope = expressionScope('tests', graphEnvironment({ schema: DYN }, templateLibraries), ['schema']);

function evaluated(source: string, schema: unknown = {}): unknown {
  const issues: GraphIssue[] = [];
  const expression = compileExpression(scope, source, { path: 'x' }, issues);
  if (!expression) return issues.map(({ message }) => message).join('; ');
  const { value, unresolved } = evaluateExpression(expression, { schema });
  if (unresolved) return `${unresolved.kind}: ${unresolved.message}`;
  const { json, problem } = jsonOfResult(value);
  return problem === undefined ? json : `problem: ${problem}`;
}

describe('expressions', () => {
  it('[R28] have the libraries of Kubernetes and of the language', () => {
    const vectors: readonly [string, unknown][] = [
      ['[1, 2].sum()', 3],
      ["url('https://a.example/b').getHost()", 'a.example'],
      ["'a1b22'.findAll('[0-9]+')", ['1', '22']],
      ["quantity('1Gi').isGreaterThan(quantity('1Mi'))", true],
      ["ip('10.0.0.1').family()", 4],
      ["cidr('10.0.0.0/8').containsIP('10.1.2.3')", true],
      ["semver('1.2.3').major()", 1],
      ["'%s-%d'.format(['a', 2])", 'a-2'],
      ["base64.encode(b'hi')", 'aGk='],
      ["string(base64.decode('aGk='))", 'hi'],
      ["schema.?a.orValue('none')", 'none'],
      ['optional.of(1).hasValue()', true],
      ['cel.bind(x, 2, x * x)', 4],
      ["['a', 'b'].transformList(i, v, string(i) + v)", ['0a', '1b']],
      ["{'a': 1}.transformMap(k, v, v + 1)", { a: 2 }],
      ["{'a': 'x'}.transformMapEntry(k, v, {v: k})", { x: 'a' }],
      ['[3, 1, 2].sort()', [1, 2, 3]],
      ["[1, 'a', true].size()", 3],
    ];
    for (const [source, value] of vectors) expect(evaluated(source), source).toEqual(value);
  });

  it('have random values that depend on the seed alone', () => {
    // The first bytes of sha256("seed") are 19b25856e1c150ca.
    expect(evaluated("random.seededString(1, 'seed')")).toBe(
      '0123456789abcdefghijklmnopqrstuvwxyz'[0x19b25856 % 36],
    );
    expect(evaluated("random.seededInt(30000, 32768, 'seed')")).toBe(
      30000 + Number(0x19b25856e1c150can % 2768n),
    );
    const ten = evaluated("random.seededString(10, 'seed')") as string;
    expect(ten).toMatch(/^[0-9a-z]{10}$/);
    expect(ten.slice(8)).toBe(ten.slice(0, 2));
    expect(evaluated("random.seededString(0, 'seed')")).toContain('Failed: random.seededString: the length');
    expect(evaluated("random.seededInt(2, 2, 'seed')")).toContain('min must be less than max');
  });

  it('[R29] have the random values that the algorithm gives for twenty seeds', () => {
    // Computed apart: character k is the k-th group of four bytes of sha256, modulo 36; numbers are its first eight bytes.
    const file = new URL('../testdata/seeded.json', import.meta.url);
    const vectors = JSON.parse(readFileSync(file, 'utf8')) as readonly {
      seed: string;
      length: number;
      string: string;
      min: number;
      max: number;
      int: number;
    }[];
    expect(vectors).toHaveLength(20);
    for (const { seed, length, string, min, max, int } of vectors) {
      const text = JSON.stringify(seed);
      expect(evaluated(`random.seededString(${length}, ${text})`), seed).toBe(string);
      expect(evaluated(`random.seededInt(${min}, ${max}, ${text})`), seed).toBe(int);
    }
  });

  it('[R30] merge maps, read and write JSON, hash, change lists', () => {
    const vectors: readonly [string, unknown][] = [
      ["{'a': 1, 'b': 2}.merge({'b': 3, 'c': 4})", { a: 1, b: 3, c: 4 }],
      ["{'a': {'x': 1}}.merge({'a': {'y': 2}})", { a: { y: 2 } }],
      [
        "{'a': {'x': 1, 'z': {'p': 1}}}.deepMerge({'a': {'y': 2, 'z': {'q': 2}}})",
        { a: { x: 1, z: { p: 1, q: 2 }, y: 2 } },
      ],
      ["{'a': [1]}.deepMerge({'a': [2]})", { a: [2] }],
      ['json.unmarshal(\'{"a": [1, null]}\')', { a: [1, null] }],
      ["json.unmarshal('9007199254740993') + 1", 9007199254740994n],
      ["json.marshal({'b': 1, 'a': ['<x>']})", '{"a":["\\u003cx\\u003e"],"b":1}'],
      ["base64.encode(hash.sha256('a'))", 'ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='],
      ["base64.encode(hash.md5('a'))", 'DMF1ucDxtqgxw5niaXcmYQ=='],
      ["base64.encode(hash.fnv64a('a'))", 'r2PcTIYB7Iw='],
      ['lists.setAtIndex([1, 2], 1, 3)', [1, 3]],
      ['lists.insertAtIndex([1, 2], 2, 3)', [1, 2, 3]],
      ['lists.removeAtIndex([1, 2], 0)', [2]],
      ['lists.setAtIndex([1], 1, 2)', 'Failed: lists.setAtIndex: index 1 is outside of a list of 1'],
      ['lists.insertAtIndex([1], 3, 2)', 'Failed: lists.insertAtIndex: index 3 is outside of a list of 1'],
      ['lists.removeAtIndex([1], -1)', 'Failed: lists.removeAtIndex: index -1 is outside of a list of 1'],
    ];
    for (const [source, value] of vectors) expect(evaluated(source), source).toEqual(value);
    expect(evaluated("json.unmarshal('{')")).toContain('Failed: json.unmarshal: the text is no JSON');
    expect(evaluated("json.marshal(b'a')")).toContain('bytes cannot be written');
  });

  it('[R32] become JSON of Kubernetes', () => {
    const vectors: readonly [string, unknown][] = [
      ['18446744073709551615u', 'problem: 18446744073709551615 is beyond 64 bits with a sign'],
      ['7u', 7],
      ['9223372036854775807', 9223372036854775807n],
      ["b'a'", 'problem: bytes cannot be written; base64.encode() or string() makes a text of them'],
      ["duration('90m')", '1h30m0s'],
      ["timestamp('2026-01-02T03:04:05Z')", '2026-01-02T03:04:05Z'],
      ['schema.?a', null],
      ['[schema.?a]', [null]],
      ['1.5', 1.5],
      ['{1: 2}', 'problem: keys of objects are texts, not ints'],
      ['type(1)', 'problem: a type cannot be written; string() makes a text of it where it can'],
    ];
    for (const [source, value] of vectors) expect(evaluated(source), source).toEqual(value);
    expect([0n, 5n, 1500n, 1_500_000n, 61_500_000_000n, -3_600_000_000_000n].map(goDuration)).toEqual([
      '0s',
      '5ns',
      '1.5µs',
      '1.5ms',
      '1m1.5s',
      '-1h0m0s',
    ]);
    expect(BYTES.kind).toBe('bytes');
  });

  it('[R34] wait for what is missing, and fail for everything else', () => {
    expect(evaluated('schema.status.ip')).toBe('Pending: no such key: status');
    expect(evaluated('schema.list[3]', { list: [] })).toBe('Pending: index out of bounds: 3');
    expect(evaluated('1 / schema.zero', { zero: 0 })).toBe('Failed: division by zero');
    // A text that only looks like it is no sign of anything.
    expect(evaluated("json.unmarshal('no such key')")).toContain('Failed: ');
  });

  it('[R36] end at a limit of cost', () => {
    const list = Array.from({ length: 1000 }, (_, index) => index);
    expect(evaluated('schema.l.all(a, schema.l.all(b, schema.l.all(c, true)))', { l: list })).toBe(
      'Failed: operation cancelled: actual cost limit exceeded',
    );
    expect(evaluated('schema.l.size()', { l: list })).toBe(1000);
  });
});
