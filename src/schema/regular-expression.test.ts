import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileRegularExpression } from './regular-expression.ts';

function matches(pattern: string, text: string): boolean {
  const expression = compileRegularExpression(pattern);
  if ('error' in expression) throw new Error(expression.error);
  return expression.test(text);
}

describe('RE2 expressions', () => {
  it.each<[string, string[], string[]]>([
    ['', ['', 'x'], []],
    ['b', ['abc'], ['ac']],
    ['^a|b$', ['ax', 'xb'], ['xa', 'bx']],
    ['^(?:a|b)+$', ['abba'], ['', 'abc']],
    ['^a{2,3}$', ['aa', 'aaa'], ['a', 'aaaa']],
    ['^a{2,}?$', ['aaaa'], ['a']],
    ['^a{2}$', ['aa'], ['a']],
    ['^a{,2}$', ['a{,2}'], ['aa']],
    ['^(a?){3}$', ['', 'aaa'], ['aaaa']],
    ['^(a*)*$', ['', 'aaa'], ['b']],
    ['^.$', ['a', '😀', 'é'], ['', '\n', 'ab']],
    ['(?s)^.$', ['\n'], []],
    ['(?i)^straße$', ['STRAße'], ['x']],
    ['^(?i:a)b$', ['Ab'], ['AB']],
    ['^a(?i)b$', ['aB'], ['AB']],
    ['(?m)^b$', ['a\nb\nc'], ['abc']],
    ['^b$', ['b'], ['a\nb', 'b\n']],
    ['\\Aa\\z', ['a'], ['ba', 'ab']],
    ['^(?P<name>x)(?<other>y)$', ['xy'], ['x']],
    ['^[^a-c]$', ['d'], ['b']],
    ['^[]a-]+$', [']a-'], ['b']],
    ['^[\\d_\\-]+$', ['1_-'], ['a']],
    ['^[[:alpha:]][[:^digit:]]$', ['ab'], ['1b', 'a1']],
    ['^\\pL\\p{Lu}\\P{Greek}$', ['éÉx'], ['éÉω', '1Éx']],
    ['^\\x41\\x{1F600}\\101\\n$', ['A😀A\n'], ['A']],
    ['^\\Qa.b\\E+$', ['a.bb'], ['axb']],
    ['\\bfoo\\b', ['a foo!'], ['food']],
    ['\\Boo', ['foo'], ['oo']],
    ['^\\.\\/\\-$', ['./-'], []],
    ['^\\w+@\\S+\\s$', ['a_1@b.c '], ['@b ']],
  ])('[V46] %s', (pattern, good, bad) => {
    for (const text of good) expect([text, matches(pattern, text)]).toEqual([text, true]);
    for (const text of bad) expect([text, matches(pattern, text)]).toEqual([text, false]);
  });

  it.each([
    '(',
    'a)',
    '[a',
    '[b-a]',
    '*',
    'a**',
    'a{2}{3}',
    'a{3,2}',
    'a{1001}',
    '(?=a)',
    '(?!a)',
    '(?<=a)',
    '(a)\\1',
    '\\',
    '\\y',
    '\\p{Nope}',
    '[[:nope:]]',
    '(?x)a',
    '(((a{100}){100}){100})',
  ])('[V46] %s is refused as RE2 refuses it', (pattern) => {
    expect(compileRegularExpression(pattern)).toMatchObject({
      error: expect.stringContaining('error parsing regexp: '),
    });
  });

  it('[V46] patterns that make backtracking engines hang are matched at once', () => {
    const text = `${'a'.repeat(20_000)}!`;
    for (const pattern of ['^(a+)+$', '^(a|a)*$', '^(a*)*b$', '^(.*)*$x'])
      expect(matches(pattern, text)).toBe(false);
  });

  it('[V46] agrees with JavaScript where the syntax is the same', () => {
    const atom = fc.constantFrom('a', 'b', '[ab]', '[^a]', '.', '(a|b)', '(ab|)', '\\w', '(?:)');
    const piece = fc
      .tuple(atom, fc.constantFrom('', '*', '+', '?', '{2}', '{1,2}'))
      .map((parts) => parts.join(''));
    const pattern = fc.tuple(
      fc.constantFrom('', '^'),
      fc.array(piece, { maxLength: 4 }),
      fc.constantFrom('', '$'),
    );
    fc.assert(
      fc.property(
        fc.array(pattern, { minLength: 1, maxLength: 3 }),
        fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), maxLength: 8 }),
        (choices, text) => {
          const source = choices.map(([start, pieces, end]) => start + pieces.join('') + end).join('|');
          expect([source, matches(source, text)]).toEqual([source, new RegExp(source).test(text)]);
        },
      ),
    );
  });
});
