import { describe, expect, it } from 'vitest';
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
});
