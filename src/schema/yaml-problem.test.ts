import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseYamlBody } from './yaml-body.ts';
import { yamlProblem } from './yaml-problem.ts';

const LONG = 'x'.repeat(1100);

describe('yamlProblem', () => {
  it.each([
    ['a: [', 'line 1: did not find expected node content'],
    ['a: b: c', 'mapping values are not allowed in this context'],
    ['x: 1\na: b: c\n', 'line 2: mapping values are not allowed in this context'],
    ['a:\n\tb: 1\n', 'line 2: found character that cannot start any token'],
    ['a: 1\nb\nc: 2\n', "line 3: could not find expected ':'"],
    ['a: 1\nb', "line 3: could not find expected ':'"],
    [`a: 1\n${LONG}: 2\n`, "line 2: could not find expected ':'"],
    ['a: "b', 'found unexpected end of stream'],
    ['a: "b\n', 'line 2: found unexpected end of stream'],
    ["a: 'b\n---\n'", 'line 2: found unexpected document indicator'],
    ['a: "\\q"', 'found unknown escape character'],
    ['a: "\\u12"', 'did not find expected hexdecimal number'],
    ['a: {b: 1', "line 1: did not find expected ',' or '}'"],
    ['a: [1, 2\nb: c\n', "line 1: did not find expected ',' or ']'"],
    ['a:\n  b: 1\n c: 2\n', 'line 2: did not find expected key'],
    ['- a\nb: c\n', "line 1: did not find expected '-' indicator"],
    ['a: - b', 'block sequence entries are not allowed in this context'],
    ['a: *x', "unknown anchor 'x' referenced"],
    ['a: &', 'did not find expected alphabetic or numeric character'],
    ['a: @b', 'found character that cannot start any token'],
    ['a: !t!u b', 'found undefined tag handle'],
    ['a: |0\n b', 'found an indentation indicator equal to 0'],
    ['a: |\n  \tb\n \tc', 'line 2: found a tab character where an indentation space is expected'],
    ['a: > b\n', 'did not find expected comment or line break'],
    ['%X\n---\na: b', 'found unknown directive name'],
    ['a: "\u0001"', 'control characters are not allowed'],
  ])('[V2] says of %j what servers say', (text, expected) => {
    expect(yamlProblem(text)).toBe(expected);
  });

  it.each([
    '',
    'a: b',
    'a:\n- b\n- c: {d: [e, "f"], g: }\n',
    '--- &x\na: *x\n...\nb: [',
    '%YAML 1.1\n%TAG !t! x\n---\na: !t!u b # c\n',
    '? a\n: - b\n  - |2\n     c\n',
    "a: \"b\\\n  c\" \nd: 'it''s'\n",
  ])('[V2] finds nothing wrong in %j', (text) => {
    expect(yamlProblem(text)).toBeUndefined();
  });

  it('ends for any text, and finds nothing in texts that are read', () => {
    const piece = fc.constantFrom(
      'a',
      ': ',
      '- ',
      '\n',
      '  ',
      '[',
      ']',
      '{',
      '}',
      ',',
      '"',
      "'",
      '#',
      '&a ',
      '*a',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const problem = yamlProblem(pieces.join(''));
        expect(problem === undefined || problem.length > 10).toBe(true);
      }),
      { numRuns: 500 },
    );
    const value = fc.dictionary(
      fc.stringMatching(/^[a-z]{1,5}$/),
      fc.oneof(fc.string(), fc.integer(), fc.boolean()),
    );
    fc.assert(
      fc.property(value, (object) => {
        const text = `a: ${JSON.stringify(object).replace(/\u007f/g, '')}\n`;
        fc.pre(parseYamlBody(text).ok);
        expect(yamlProblem(text)).toBeUndefined();
      }),
      { numRuns: 100 },
    );
    expect(yamlProblem('['.repeat(100_000))).toBeUndefined();
  });
});
