import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { checkExpression, evaluateExpression } from './index.ts';

const directory = mkdtempSync(join(tmpdir(), 'atoll-cel-'));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

let out = '';
let err = '';
beforeEach(() => {
  out = '';
  err = '';
  vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    out += String(text);
    return true;
  });
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += String(text);
    return true;
  });
});
afterEach(() => vi.restoreAllMocks());

function file(name: string, text: string): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

describe('cel eval', () => {
  it('prints the value as JSON', () => {
    expect(evaluateExpression({ expr: 'a.map(x, x * 2)', var: ['a=[1,2]'] })).toBe(0);
    expect(JSON.parse(out)).toEqual([2, 4]);
  });

  it('keeps integers exact and doubles doubles', () => {
    const expr = 'a == 9007199254740993 && type(b) == double && type(c) == int';
    expect(evaluateExpression({ expr, var: ['a=9007199254740993', 'b=1.0', 'c=1'] })).toBe(0);
    expect(out).toBe('true\n');
    out = '';
    expect(evaluateExpression({ expr: '[a + 1]', var: ['a=9223372036854775806'] })).toBe(0);
    expect(out.replace(/\s/g, '')).toBe('[9223372036854775807]');
    out = '';
    expect(evaluateExpression({ expr: 'a + 1', var: ['a=9223372036854775806'], output: 'json' })).toBe(0);
    expect(out).toContain('"value": 9223372036854775807');
  });

  it('says where and why there is no value', () => {
    expect(evaluateExpression({ expr: 'a / 0', var: ['a=1'] })).toBe(1);
    expect(err).toBe('ERROR: <input>:1:3: division by zero\n | a / 0\n | ..^\n');
    expect(evaluateExpression({ expr: 'a / 0', var: ['a=1'], output: 'json' })).toBe(1);
    expect(JSON.parse(out)).toMatchObject({ issues: [{ line: 1, column: 3, message: 'division by zero' }] });
  });

  it('shows how a text is written', () => {
    expect(() => evaluateExpression({ expr: 'a', var: ['a=text'] })).toThrow(
      `--var a is not JSON; a text is written --var 'a="text"'`,
    );
  });

  it('knows the functions of a release', () => {
    const expr = "semver('1.2.3').major()";
    expect(evaluateExpression({ expr, var: [], k8s: '1.32' })).toBe(1);
    expect(evaluateExpression({ expr, var: [], k8s: '1.33' })).toBe(0);
  });
});

describe('cel check', () => {
  const schema = {
    type: 'object',
    properties: { spec: { type: 'object', properties: { replicas: { type: 'integer' } } } },
  };
  const versions = [
    { name: 'v1', storage: true, schema: { openAPIV3Schema: schema } },
    { name: 'v2', storage: false },
  ];
  const crd = (): string => file('crd.json', JSON.stringify({ spec: { versions } }));

  it('takes types from a definition, or a part of it', () => {
    expect(checkExpression({ expr: 'self.spec.replicas > 0', crd: crd() })).toBe(0);
    expect(out).toContain('ok: bool, costs ');
    expect(checkExpression({ expr: 'self.replicas >= oldSelf.replicas', crd: crd(), path: 'spec' })).toBe(0);
    expect(() => checkExpression({ expr: 'self', crd: crd(), path: 'spe' })).toThrow(
      'there is no spe in spe; there are spec',
    );
    expect(() => checkExpression({ expr: 'self', crd: crd(), crdVersion: 'v3' })).toThrow('there are v1, v2');
  });

  it('says where the fault is and what would fit', () => {
    expect(
      checkExpression({ expr: 'self.spec.replica > 0', schema: file('s.json', JSON.stringify(schema)) }),
    ).toBe(1);
    expect(err).toContain("ERROR: <input>:1:10: undefined field 'replica'");
    expect(err).toContain('Hint: fields are replicas');
  });

  it('takes types by their names', () => {
    const env = file('env.yaml', 'variables:\n  a: int\n  b: list(map(string, int))\n  c: {type: string}\n');
    expect(checkExpression({ expr: "b[0]['x'] + a + size(c)", env, output: 'json' })).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ valid: true, type: 'int' });
    expect(() => checkExpression({ expr: 'a', env: file('bad.yaml', 'a: integer') })).toThrow(
      'the type of a is neither one of dyn, bool',
    );
  });
});
