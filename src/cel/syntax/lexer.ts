import type { LiteralValue } from './ast.ts';
import { readNumber } from './number-literal.ts';
import { readQuoted } from './quoted-literal.ts';
import { syntaxError } from './syntax-error.ts';

export type Token =
  | { readonly kind: 'literal'; readonly at: number; readonly end: number; readonly value: LiteralValue }
  | { readonly kind: 'ident'; readonly at: number; readonly end: number; readonly text: string }
  /** A field name in back quotes. */
  | { readonly kind: 'quoted-ident'; readonly at: number; readonly end: number; readonly text: string }
  /** Operators, brackets, and the words `in`, `true`, `false`, `null`. */
  | { readonly kind: 'symbol'; readonly at: number; readonly end: number; readonly text: string }
  | { readonly kind: 'end'; readonly at: number; readonly end: number };

const SPACE = /(?:[ \t\r\n\f]+|\/\/[^\n]*)*/y;
const IDENT = /[_a-zA-Z][_a-zA-Z0-9]*/y;
const QUOTED_IDENT = /`([a-zA-Z0-9_.\-/ ]+)`/y;
const QUOTED_START = /(?:[rR][bB]?|[bB][rR]?)?(?:"""|'''|"|')/y;
const NUMBER_START = /\.?[0-9]/y;
const SYMBOL = /&&|\|\||==|!=|<=|>=|[-+*/%!<>?:.,()[\]{}]/y;
const WORD_SYMBOLS: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);

/** Words kept for later versions of the language: not names of variables, but fine as names of fields. */
export const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

/** Tokens one by one, so that an error is found where the parser has come to. */
export function nextToken(source: string, from: number): Token {
  const at = matchAt(SPACE, source, from)?.end ?? from;
  if (at >= source.length) return { kind: 'end', at, end: at };
  if (matchAt(QUOTED_START, source, at)) return readQuoted(source, at);
  const ident = matchAt(IDENT, source, at);
  if (ident) {
    const kind = WORD_SYMBOLS.has(ident.text) ? 'symbol' : 'ident';
    return { kind, at, end: ident.end, text: ident.text };
  }
  if (matchAt(NUMBER_START, source, at)) return readNumber(source, at);
  const quoted = matchAt(QUOTED_IDENT, source, at);
  if (quoted) return { kind: 'quoted-ident', at, end: quoted.end, text: quoted.text.slice(1, -1) };
  const symbol = matchAt(SYMBOL, source, at);
  if (symbol) return { kind: 'symbol', at, end: symbol.end, text: symbol.text };
  const char = String.fromCodePoint(source.codePointAt(at) ?? 0);
  throw syntaxError(at, `Syntax error: token recognition error at: '${char}'`);
}

function matchAt(expression: RegExp, source: string, at: number): { text: string; end: number } | undefined {
  expression.lastIndex = at;
  const match = expression.exec(source);
  return match ? { text: match[0], end: expression.lastIndex } : undefined;
}
