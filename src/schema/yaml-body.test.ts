import { describe, expect, it } from 'vitest';
import { parseManifests, parseYamlBody } from './yaml-body.ts';

const value = (text: string): unknown => {
  const result = parseYamlBody(text);
  if (!result.ok) throw new Error(result.message);
  return result.value;
};

describe('parseYamlBody', () => {
  it("reads kubectl's dialect", () => {
    const text = `
yes: y
no: off
quoted: "yes"
octal: 0777
modern: 0o17
hex: 0x1F
float: 1e3
port: 12:30:45
day: 2001-01-01
time: 2001-01-01T00:00:00Z
big: 1_000
nothing: ~
empty:
version: 1.10
name: "1.10"
8080: number
`;
    expect(value(text)).toEqual({
      true: true,
      false: false,
      quoted: 'yes',
      octal: 511,
      modern: 15,
      hex: 31,
      float: 1000,
      port: '12:30:45',
      day: '2001-01-01',
      time: '2001-01-01T00:00:00Z',
      big: 1000,
      nothing: null,
      empty: null,
      version: 1.1,
      name: '1.10',
      '8080': 'number',
    });
  });

  it('reads y and n as booleans even where they are keys, as kubectl does', () => {
    expect(value('x: 1\ny: 2\nn: 3\n"y": 4\n')).toEqual({ x: 1, true: 2, false: 3, y: 4 });
  });

  it('reads block texts, merges and anchors; parts are not shared', () => {
    const result = value('base: &b {x: [1]}\none: *b\ntwo:\n  <<: *b\n  z: 2\ntext: |\n  a\n  b\n') as Record<
      string,
      { x: number[] }
    >;
    expect(result).toEqual({ base: { x: [1] }, one: { x: [1] }, two: { x: [1], z: 2 }, text: 'a\nb\n' });
    result.base?.x.push(2);
    expect(result.one).toEqual({ x: [1] });
  });

  it('reads JSON, and nothing as null', () => {
    expect(value('{"a": {"b": [1, "x"]}}')).toEqual({ a: { b: [1, 'x'] } });
    expect(value('')).toBeNull();
    expect(value('# only a comment\n')).toBeNull();
  });

  it('says where an error is', () => {
    expect(parseYamlBody('a: 1\nb: [1, 2\nc: 3\n')).toMatchObject({ ok: false, reason: 'Syntax', line: 3 });
    expect(parseYamlBody('a:\n\tb: 1\n')).toMatchObject({ ok: false, line: 2 });
    expect(parseYamlBody('a: *nowhere\n')).toMatchObject({ ok: false, reason: 'Syntax' });
    expect(parseYamlBody('a:\n  ~: 1\n')).toMatchObject({ ok: false, line: 2 });
    expect(parseYamlBody('a:\n  ? {b: 1}\n  : 2\n')).toMatchObject({ ok: false, line: 2 });
    expect(parseYamlBody('a: .inf')).toMatchObject({ ok: false, message: 'Infinity has no form in JSON' });
  });

  it('looks at the first of several documents', () => {
    expect(parseYamlBody('a: 1\n---\nb: 2\n')).toMatchObject({ ok: true, value: { a: 1 } });
  });

  it('finds duplicate keys and integers that lose digits', () => {
    const text = 'spec:\n  list:\n  - x: 1\n    x: 2\n  k: 1\n  k: 2\nbig: 9007199254740993\n';
    expect(parseYamlBody(text)).toMatchObject({
      ok: true,
      value: { spec: { list: [{ x: 2 }], k: 2 } },
      duplicates: ['spec.k', 'spec.list[0].x'],
      inexact: ['big'],
    });
  });

  it('has limits of size, depth and aliases', () => {
    expect(parseYamlBody('a: 1', { maxBytes: 2 })).toMatchObject({ ok: false, reason: 'TooLarge' });
    expect(parseYamlBody('[[[1]]]', { maxDepth: 2 })).toMatchObject({ ok: false, reason: 'TooDeep' });
    for (const open of ['[', '- ', '{a: ']) {
      expect(parseYamlBody(open.repeat(20_000))).toMatchObject({ ok: false, reason: 'TooDeep' });
    }
    expect(parseYamlBody(`- &a x${'\n- *a'.repeat(5000)}`)).toMatchObject({ ok: false });
    const bomb = ['a: &a [x,x,x,x,x,x,x,x,x]'];
    for (let i = 0; i < 9; i++) {
      const [from, to] = [String.fromCharCode(97 + i), String.fromCharCode(98 + i)];
      bomb.push(`${to}: &${to} [${Array.from({ length: 9 }, () => `*${from}`).join(',')}]`);
    }
    expect(parseYamlBody(bomb.join('\n'))).toMatchObject({ ok: false });
    expect(parseYamlBody('__proto__: {admin: true}')).toMatchObject({ ok: false });
  });
});

describe('parseManifests', () => {
  it('reads documents, leaves out empty ones and takes lists apart', () => {
    const text = `# first
apiVersion: v1
kind: ConfigMap
metadata: {name: a}
---
---
# nothing here
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Secret, metadata: {name: b}}
- {apiVersion: v1, kind: Secret, metadata: {name: c}}
---
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}}
`;
    const { objects, lines, errors } = parseManifests(text);
    expect(errors).toEqual([]);
    expect(objects.map((object) => (object.metadata as { name: string }).name)).toEqual(['a', 'b', 'c', 'd']);
    expect(lines).toEqual([2, 9, 9, 15]);
  });

  it('tells what is wrong by line, and still gives the rest', () => {
    const text = `apiVersion: v1
kind: ConfigMap
---
kind: Secret
---
just text
---
a: [1
---
apiVersion: v1
kind: Secret
kind: ConfigMap
`;
    const { objects, errors, warnings } = parseManifests(text);
    expect(objects).toEqual([
      { apiVersion: 'v1', kind: 'ConfigMap' },
      { apiVersion: 'v1', kind: 'ConfigMap' },
    ]);
    expect(errors.map(({ line, message }) => [line, message])).toEqual([
      [4, 'apiVersion is missing or not a text'],
      [6, 'a manifest must be an object with apiVersion and kind'],
      [9, expect.stringMatching(/^line \d+, column \d+: /)],
    ]);
    expect(warnings).toEqual([{ line: 10, message: 'the field "kind" stands more than once' }]);
  });

  it('has limits', () => {
    expect(parseManifests('a: 1', { maxBytes: 2 }).errors).toHaveLength(1);
    expect(parseManifests('').objects).toEqual([]);
  });
});

describe('a hostile body', () => {
  it('[V31] is read in time that grows with its length, whatever is repeated in it', {
    timeout: 60_000,
  }, () => {
    const keys = parseYamlBody('a: 1\n'.repeat(20_000));
    expect(keys).toMatchObject({ ok: true, value: { a: 1 } });
    expect(keys.ok && keys.repeated?.slice(0, 2)).toEqual([
      { line: 2, key: 'a' },
      { line: 3, key: 'a' },
    ]);
    // Keys of keys of keys: as texts they would be longer by their number each.
    expect(parseYamlBody('? '.repeat(400))).toMatchObject({
      ok: false,
      message: 'line 1, column 3: a key must be a text, a number or a boolean',
    });
    const integers = parseYamlBody('- 9007199254740993\n'.repeat(20_000));
    expect(integers.ok && (integers.value as unknown[]).length).toBe(20_000);
  });
});
