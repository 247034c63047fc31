import type { LiteralValue } from './ast.ts';
import { readNumber } from './number-literal.ts';
import { readQuoted } from './quoted-literal.ts';
import { syntaxError } from './syntax-error.ts';
import {
  AND,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  DIVIDE,
  DOT,
  END,
  EQUAL,
  FALSE,
  GREATER,
  GREATER_EQUAL,
  IDENT,
  IN,
  LESS,
  LESS_EQUAL,
  LITERAL,
  MINUS,
  MODULO,
  NOT,
  NOT_EQUAL,
  NULL_WORD,
  OPEN_BRACE,
  OPEN_BRACKET,
  OPEN_PAREN,
  OR,
  PLUS,
  QUESTION,
  QUOTED_IDENT,
  TIMES,
  type TokenKind,
  TRUE,
} from './token.ts';

/** The token that comes next, in fields that are written over: nothing is made for a token but its text or value. */
export interface Lexer {
  readonly source: string;
  kind: TokenKind;
  at: number;
  end: number;
  /** Of names. */
  text: string;
  /** Of literals. */
  value: LiteralValue;
}

/** A literal that was read, and where it ends. */
export interface LiteralToken {
  readonly end: number;
  readonly value: LiteralValue;
}

/** Words kept for later versions of the language: not names of variables, but fine as names of fields. */
export const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
);

const QUOTED_NAME = /`[a-zA-Z0-9_.\-/ ]+`/y;

const SPACE_CLASS = 1;
const LETTER = 2;
const DIGIT = 3;
const QUOTE = 4;
/** What a character of ASCII can begin. */
const CLASSES: Uint8Array = Uint8Array.from({ length: 128 }, (_, code) => {
  const char = String.fromCharCode(code);
  if (' \t\r\n\f'.includes(char)) return SPACE_CLASS;
  if (/[_a-zA-Z]/.test(char)) return LETTER;
  if (/[0-9]/.test(char)) return DIGIT;
  return char === '"' || char === "'" ? QUOTE : 0;
});

/** Symbols of one character, by its code. */
const SYMBOLS: Uint8Array = new Uint8Array(128);
for (const [char, kind] of [
  ['.', DOT],
  [',', COMMA],
  [':', COLON],
  ['?', QUESTION],
  ['(', OPEN_PAREN],
  [')', CLOSE_PAREN],
  ['[', OPEN_BRACKET],
  [']', CLOSE_BRACKET],
  ['{', OPEN_BRACE],
  ['}', CLOSE_BRACE],
  ['!', NOT],
  ['<', LESS],
  ['>', GREATER],
  ['+', PLUS],
  ['-', MINUS],
  ['*', TIMES],
  ['/', DIVIDE],
  ['%', MODULO],
] as const) {
  SYMBOLS[char.charCodeAt(0)] = kind;
}

const NEWLINE = 10;
const SLASH = 47;
const POINT = 46;
const EQUALS = 61;
const BACK_QUOTE = 96;

function classAt(source: string, at: number): number {
  const code = source.charCodeAt(at);
  return code < 128 ? (CLASSES[code] as number) : 0;
}

/** Reads the token after the one that was read last. Tokens come one by one, so that an error is found where the parser has come to. */
export function advance(lexer: Lexer): void {
  const { source } = lexer;
  const { length } = source;
  let at = lexer.end;
  let code = 0;
  let group = 0;
  for (; at < length; at++) {
    code = source.charCodeAt(at);
    group = code < 128 ? (CLASSES[code] as number) : 0;
    if (group === SPACE_CLASS) continue;
    if (code !== SLASH || source.charCodeAt(at + 1) !== SLASH) break;
    const next = source.indexOf('\n', at);
    at = next === -1 ? length : next - 1;
  }
  lexer.at = at;
  if (at >= length) {
    lexer.at = length;
    lexer.end = length;
    lexer.kind = END;
    return;
  }
  switch (group) {
    case LETTER:
      readWord(lexer, at, code);
      return;
    case DIGIT:
      readDigits(lexer, at, code);
      return;
    case QUOTE:
      readText(lexer, at, code);
      return;
    default:
      readSymbol(lexer, at, code);
  }
}

function literal(lexer: Lexer, value: LiteralValue, end: number): void {
  lexer.kind = LITERAL;
  lexer.value = value;
  lexer.end = end;
}

function readWord(lexer: Lexer, at: number, first: number): void {
  const { source } = lexer;
  const { length } = source;
  let end = at + 1;
  while (end < length) {
    const group = classAt(source, end);
    if (group !== LETTER && group !== DIGIT) break;
    end++;
  }
  if (end - at <= 2 && classAt(source, end) === QUOTE && isPrefix(source, at, end)) {
    const read = readQuoted(source, at);
    literal(lexer, read.value, read.end);
    return;
  }
  const text = source.slice(at, end);
  lexer.end = end;
  lexer.text = text;
  lexer.kind = end - at <= 5 ? wordKind(first, text) : IDENT;
}

/** `r`, `b`, and both in either order, before a quote. */
function isPrefix(source: string, at: number, end: number): boolean {
  const prefix = source.slice(at, end).toLowerCase();
  return prefix === 'r' || prefix === 'b' || prefix === 'rb' || prefix === 'br';
}

/** By the first letter, as most words are names. */
function wordKind(first: number, text: string): TokenKind {
  switch (first) {
    case 105:
      return text === 'in' ? IN : IDENT;
    case 116:
      return text === 'true' ? TRUE : IDENT;
    case 102:
      return text === 'false' ? FALSE : IDENT;
    case 110:
      return text === 'null' ? NULL_WORD : IDENT;
    default:
      return IDENT;
  }
}

/** Digits that are certainly an exact number. */
const SHORT = 15;

function readDigits(lexer: Lexer, at: number, first: number): void {
  const { source } = lexer;
  let end = at + 1;
  let value = first - 48;
  while (classAt(source, end) === DIGIT) {
    value = value * 10 + (source.charCodeAt(end) - 48);
    end++;
  }
  // A point, an exponent, `0x` or `u` may follow.
  if (end - at > SHORT || source.charCodeAt(end) === POINT || classAt(source, end) === LETTER) {
    const read = readNumber(source, at);
    literal(lexer, read.value, read.end);
    return;
  }
  literal(lexer, value, end);
}

const BACKSLASH = 92;
const RETURN = 13;

/** A text on one line without escapes is a part of the source; all else is read with care. */
function readText(lexer: Lexer, at: number, quote: number): void {
  const { source } = lexer;
  const { length } = source;
  for (let end = at + 1; end < length; end++) {
    const code = source.charCodeAt(end);
    if (code === quote) {
      // Two quotes may be the beginning of three.
      if (end === at + 1 && source.charCodeAt(end + 1) === quote) break;
      literal(lexer, source.slice(at + 1, end), end + 1);
      return;
    }
    if (code === BACKSLASH || code === NEWLINE || code === RETURN) break;
  }
  const read = readQuoted(source, at);
  literal(lexer, read.value, read.end);
}

function symbol(lexer: Lexer, kind: TokenKind, end: number): void {
  lexer.kind = kind;
  lexer.end = end;
}

function readSymbol(lexer: Lexer, at: number, code: number): void {
  const { source } = lexer;
  const next = source.charCodeAt(at + 1);
  const kind = code < 128 ? (SYMBOLS[code] as number) : 0;
  if (kind === 0) {
    readOther(lexer, at, code, next);
  } else if (next === EQUALS && (kind === NOT || kind === LESS || kind === GREATER)) {
    symbol(lexer, kind === NOT ? NOT_EQUAL : kind === LESS ? LESS_EQUAL : GREATER_EQUAL, at + 2);
  } else if (kind === DOT && classAt(source, at + 1) === DIGIT) {
    const read = readNumber(source, at);
    literal(lexer, read.value, read.end);
  } else {
    symbol(lexer, kind, at + 1);
  }
}

/** Symbols of twice the same character. */
const DOUBLED: ReadonlyMap<number, TokenKind> = new Map([
  [EQUALS, EQUAL],
  [38, AND],
  [124, OR],
]);

function readOther(lexer: Lexer, at: number, code: number, next: number): void {
  const { source } = lexer;
  const doubled = code === next ? (DOUBLED.get(code) ?? 0) : 0;
  if (doubled !== 0) {
    symbol(lexer, doubled, at + 2);
    return;
  }
  if (code === BACK_QUOTE) {
    QUOTED_NAME.lastIndex = at;
    if (QUOTED_NAME.test(source)) {
      lexer.end = QUOTED_NAME.lastIndex;
      lexer.kind = QUOTED_IDENT;
      lexer.text = source.slice(at + 1, lexer.end - 1);
      return;
    }
  }
  const char = String.fromCodePoint(source.codePointAt(at) ?? 0);
  throw syntaxError(at, `Syntax error: token recognition error at: '${char}'`);
}
