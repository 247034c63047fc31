import { describe, expect, it } from 'vitest';
import { jsonProblem } from './json-problem.ts';

describe('jsonProblem', () => {
  it.each(['{}', ' [1, -2.5e+3, "a\\u00e9\\n", true, false, null, {"a": {}}] ', '0', '""'])(
    'finds nothing wrong with %s',
    (text) => expect(jsonProblem(text)).toBeUndefined(),
  );

  it.each([
    ['', 'unexpected end of JSON input'],
    ['{"a":', 'unexpected end of JSON input'],
    ['{a', "invalid character 'a' looking for beginning of object key string"],
    ['{"a" 1}', "invalid character '1' after object key"],
    ['{"a":1 "b"}', `invalid character '"' after object key:value pair`],
    ['[1 2]', "invalid character '2' after array element"],
    ['{} x', "invalid character 'x' after top-level value"],
    ["'a'", "invalid character '\\'' looking for beginning of value"],
    ['tru3', "invalid character '3' in literal true (expecting 'e')"],
    ['"a\nb"', "invalid character '\\n' in string literal"],
    ['"\\x"', "invalid character 'x' in string escape code"],
    ['"\\u12g4"', "invalid character 'g' in \\u hexadecimal character escape"],
    ['-a', "invalid character 'a' in numeric literal"],
    ['1.x', "invalid character 'x' after decimal point in numeric literal"],
    ['1e', 'unexpected end of JSON input'],
    ['01', "invalid character '1' after top-level value"],
  ])('says of %j: %s', (text, problem) => expect(jsonProblem(text)).toBe(problem));

  it('has a limit to depth and needs no stack for it', () => {
    expect(jsonProblem('['.repeat(1_000_000))).toBe('exceeded max depth');
    expect(jsonProblem('{"a":'.repeat(5_000))).toBe('unexpected end of JSON input');
    expect(jsonProblem(`${'[{"a":'.repeat(2_000)}1${'}]'.repeat(2_000)}`)).toBeUndefined();
  });
});
