// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
/** A text taken apart: what is written as it is, and expressions. */
export type Segment =
  | { readonly text: string }
  /** What stands between `${` and `}`. */
  | { readonly expression: string };

export type Scan =
  | { readonly segments: readonly Segment[]; readonly problem?: undefined }
  | { readonly segments?: undefined; readonly problem: string; readonly expected?: string };

/** Whether a text may hold expressions; the cheap question before {@link scanTemplate}. */
export function mayHoldExpressions(text: string): boolean {
  return text.includes('${');
}

/**
 * Finds the expressions `${…}` of a text. Braces and `${` within an expression's own texts (in single or double quotes) mean
 * nothing, so `${'${x}'}` is an expression whose value is the text `${x}`.
 */
export function scanTemplate(text: string): Scan {
  const segments: Segment[] = [];
  let from = 0;
  for (;;) {
    const start = text.indexOf('${', from);
    if (start < 0) break;
    if (start > from) segments.push({ text: text.slice(from, start) });
    const end = expressionEnd(text, start + 2);
    if (typeof end === 'object') return end;
    const expression = text.slice(start + 2, end).trim();
    if (expression === '') return { problem: 'there is no expression in "${}"', expected: 'CEL' };
    segments.push({ expression });
    from = end + 1;
  }
  if (from < text.length) segments.push({ text: text.slice(from) });
  return { segments };
}

/** The position of the `}` that ends the expression which begins at `start`. */
function expressionEnd(text: string, start: number): number | { problem: string; expected: string } {
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const char = text[at];
    if (char === '"' || char === "'") {
      const raw = /[rR][bB]?$/.test(text.slice(Math.max(start, at - 2), at));
      at = textEnd(text, at, char, raw);
    } else if (char === '$' && text[at + 1] === '{') {
      return {
        problem: `"\${" stands within the expression that begins at character ${start - 1}`,
        expected: 'an expression without another one in it; in quotes it is a text',
      };
    } else if (char === '{') depth++;
    else if (char === '}') {
      if (depth === 0) return at;
      depth--;
    }
  }
  return {
    problem: `"\${" at character ${start - 1} is not closed`,
    expected: '"}" at the end of the expression; a text with "${" is written ${"${"}',
  };
}

/** The position of the quote that ends a text. */
function textEnd(text: string, start: number, quote: string, raw: boolean): number {
  for (let at = start + 1; at < text.length; at++) {
    if (text[at] === '\\' && !raw) at++;
    else if (text[at] === quote) return at;
  }
  return text.length;
}
