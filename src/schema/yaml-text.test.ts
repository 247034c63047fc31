import { describe, expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import { parseYamlBody } from './yaml-body.ts';
import { yamlText } from './yaml-text.ts';

describe('YAML of objects', () => {
  it('has its keys in order and lists that are not indented', () => {
    expect(yamlText({ b: [{ d: 1, c: 'x' }], a: { '.': {} } })).toBe('a:\n  .: {}\nb:\n- c: x\n  d: 1\n');
  });

  it('folds long lines after the word that goes beyond the width', () => {
    const message = `configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API group "" here`;
    expect(yamlText({ message })).toBe(
      `message: 'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps"\n  in API group "" here'\n`,
    );
    const plain = 'word '.repeat(20).trim();
    const text = yamlText({ a: plain });
    expect(text.split('\n').length).toBe(3);
    expect(text.replace(/\n {2}/g, ' ')).toBe(`a: ${plain}\n`);
  });

  it('leaves what has no spaces, and blocks, as they are', () => {
    const long = 'x'.repeat(200);
    expect(yamlText({ a: long })).toBe(`a: ${long}\n`);
    expect(yamlText({ a: `${'y '.repeat(60)}\nz\n` })).toContain('a: |');
  });

  it.each<[string, JsonValue]>([
    ['a block of long lines', { a: `${'word '.repeat(40)}\nz\n`, b: `${'v '.repeat(60)}end` }],
    ['a file with a dot for a name', { a: '{\n  "exports": {\n    ".": "./index.js"\n  }\n}\n' }],
    ['names that are dots', { a: { '.': {}, b: [{ '.': { x: 1 } }] } }],
    ['what needs double quotes', { a: `# ${'word '.repeat(40)}`, b: `x: y ${'word '.repeat(40)}` }],
    ['spaces at the ends', { a: ` ${'a '.repeat(60)}`, b: `${'a  '.repeat(60)}z` }],
    [
      'quotes in quotes',
      { a: `it's "x" ${'word '.repeat(20)}'quoted' ${'- '.repeat(50)}${'? '.repeat(50)}x` },
    ],
    [
      'lists in lists',
      { a: [[`${'w '.repeat(60)}end`], [`p\n  q ${'w '.repeat(90)}`], `x\ny ${'w '.repeat(90)}\n`] },
    ],
    [
      'long and odd names',
      { [`${'k '.repeat(60)}`]: `v ${'w '.repeat(60)}`, 'a: b': `${'w '.repeat(60)}end` },
    ],
    [
      'what looks like a block',
      { l: `a\n: |\nb ${'w '.repeat(80)}\n`, n: 'x |', o: '|', p: `${'w '.repeat(60)}|` },
    ],
  ])('is read as what was written: %s', (_what, value) => {
    expect(parseYamlBody(yamlText(value))).toMatchObject({ ok: true, value });
  });
});
