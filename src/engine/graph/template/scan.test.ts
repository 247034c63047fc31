// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { scanTemplate } from './index.ts';

describe('[R22] scanning', () => {
  it('finds expressions, honouring quotes, escapes and braces', () => {
    const vectors: readonly [string, unknown][] = [
      ['plain', [{ text: 'plain' }]],
      ['', []],
      ['$x {y}', [{ text: '$x {y}' }]],
      ['${a}', [{ expression: 'a' }]],
      ['${ a.b }', [{ expression: 'a.b' }]],
      ['x-${a}-${b}', [{ text: 'x-' }, { expression: 'a' }, { text: '-' }, { expression: 'b' }]],
      ['${a}${b}', [{ expression: 'a' }, { expression: 'b' }]],
      ['${{"k": {"n": 1}}}', [{ expression: '{"k": {"n": 1}}' }]],
      ['${a + "}"}', [{ expression: 'a + "}"' }]],
      ['${"\\"}" + a}', [{ expression: '"\\"}" + a' }]],
      ["${'}' + a}", [{ expression: "'}' + a" }]],
      ['${"${x}"}', [{ expression: '"${x}"' }]],
      ["${'${x}'}", [{ expression: "'${x}'" }]],
      ['${r"\\"}b', [{ expression: 'r"\\"' }, { text: 'b' }]],
      ['a }', [{ text: 'a }' }]],
    ];
    for (const [text, segments] of vectors) expect(scanTemplate(text).segments, text).toEqual(segments);
  });

  it('says what is wrong', () => {
    expect(scanTemplate('${a').problem).toBe('"${" at character 1 is not closed');
    expect(scanTemplate('x${"a}').problem).toBe('"${" at character 2 is not closed');
    expect(scanTemplate('${a + ${b}}').problem).toContain(
      'stands within the expression that begins at character 1',
    );
    expect(scanTemplate('${ }').problem).toContain('there is no expression');
  });
});
