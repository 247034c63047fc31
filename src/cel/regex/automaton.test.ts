import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSearch, type Search } from './search.ts';

function search(pattern: string): Search {
  const compiled = compileSearch(pattern);
  if ('error' in compiled) throw new Error(`${pattern}: ${compiled.error}`);
  return compiled;
}

/** Whether there is a match, by the machine that also says where. */
function found({ find }: Search, text: string): boolean {
  return find(text, 0, { left: Number.POSITIVE_INFINITY }) !== undefined;
}

const atom = fc.constantFrom(
  ...['a', 'b', 'ab', '.', '[ab]', '[^a]', '\\w', '\\W', '\\b', '\\B', '^', '$', '(?m:^)', '(?m:$)'],
  ...['\\n', 'é', '[à-ü]', '\\pL', '\u{1F600}', '(?i:B)', '\\z', '(?s:.)', ''],
);
const pattern = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    atom,
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `${a}${b}`),
    fc.tuple(tie('pattern'), tie('pattern')).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '*?'))
      .map(([a, b]) => `(${a})${b}`),
  ),
}));
const text = fc.string({
  unit: fc.constantFrom('a', 'b', 'B', '_', ' ', '\n', 'é', 'ß', '\u{1F600}', '\ud800', '中'),
  maxLength: 12,
});

describe('the automaton', () => {
  it('finds a match exactly where there is one to be found', () => {
    fc.assert(
      fc.property(pattern.pattern, fc.array(text, { minLength: 1, maxLength: 4 }), (source, texts) => {
        const compiled = search(source);
        // One after the other, so that the later ones meet states that the earlier ones have made.
        for (const each of texts)
          expect(compiled.test(each), `${source} in ${each}`).toBe(found(compiled, each));
      }),
      { numRuns: 1500 },
    );
  });

  it('forgets and goes on where an expression has more states than it may keep', () => {
    const compiled = search('a[ab]{14}$');
    const long = Array.from({ length: 20_000 }, (_, index) => ((index * index) % 7 < 3 ? 'a' : 'b')).join('');
    const end = 'abbbbbbbbbbbbbb';
    expect(compiled.test(`${long}${end}`)).toBe(true);
    expect(compiled.test(`${long}b${end.slice(1)}`)).toBe(false);
  });

  it('tells characters beyond ASCII apart when it first meets them', () => {
    const compiled = search('^[α-ω]+[中-龥]?$');
    const greek = Array.from({ length: 24 }, (_, index) => String.fromCodePoint(0x3b1 + index)).join('');
    expect(compiled.test(greek)).toBe(true);
    expect(compiled.test(`${greek}中`)).toBe(true);
    expect(compiled.test(`${greek}中α`)).toBe(false);
    expect(compiled.test(`${greek}\u{1F600}`)).toBe(false);
  });

  it.each(['(a+)+$', '(a|a)*b', '(a*)*c', '(?:a?){30}a{30}b'])('does not search in circles: %s', (source) => {
    expect(search(source).test(`${'a'.repeat(100_000)}!`)).toBe(false);
  });
});
