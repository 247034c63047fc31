import type { LiteralToken } from './lexer.ts';
import { syntaxError } from './syntax-error.ts';

const START = /([rRbB]{0,2})("""|'''|"|')/y;
const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  "'": "'",
  '"': '"',
  '`': '`',
  '?': '?',
};
const NUMERIC = /[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})/y;

/** Strings and bytes in all eight forms. `at` is at the prefix or the quote. */
export function readQuoted(source: string, at: number): LiteralToken {
  START.lastIndex = at;
  const start = START.exec(source);
  const prefix = (start?.[1] ?? '').toLowerCase();
  const quote = start?.[2] ?? '"';
  const raw = prefix.includes('r');
  const bytes = prefix.includes('b');
  const out: string[] = [];
  let position = START.lastIndex;
  let plain = position;
  for (;;) {
    if (position >= source.length || (quote.length === 1 && isLineBreak(source[position]))) {
      throw syntaxError(
        at,
        `Syntax error: token recognition error at: '${source.slice(at, position).slice(0, 80)}'`,
      );
    }
    if (source.startsWith(quote, position)) break;
    if (source[position] !== '\\') {
      position++;
      continue;
    }
    if (raw) {
      // A raw text keeps its backslashes, and even a quote after one ends it.
      position++;
      continue;
    }
    out.push(encode(source.slice(plain, position), bytes));
    const escaped = readEscape(source, position, bytes, at);
    out.push(escaped.text);
    position = escaped.end;
    plain = position;
  }
  out.push(encode(source.slice(plain, position), bytes));
  const text = out.join('');
  const end = position + quote.length;
  if (bytes) return { end, value: Uint8Array.from(Buffer.from(text, 'latin1')) };
  return { end, value: text };
}

/** Bytes are gathered as Latin-1 text, in which each character is a byte. */
function encode(text: string, bytes: boolean): string {
  return bytes ? Buffer.from(text, 'utf8').toString('latin1') : text;
}

function readEscape(
  source: string,
  at: number,
  bytes: boolean,
  start: number,
): { text: string; end: number } {
  const char = source[at + 1] ?? '';
  const simple = SIMPLE[char];
  if (simple !== undefined) return { text: simple, end: at + 2 };
  NUMERIC.lastIndex = at + 1;
  const numeric = NUMERIC.exec(source);
  if (!numeric) {
    throw syntaxError(start, `Syntax error: token recognition error at: '${source.slice(start, at + 2)}'`);
  }
  const octal = numeric[4];
  const code =
    octal === undefined
      ? Number.parseInt(numeric[1] ?? numeric[2] ?? numeric[3] ?? '', 16)
      : Number.parseInt(octal, 8);
  const unicode = numeric[2] !== undefined || numeric[3] !== undefined;
  if (unicode && bytes) throw syntaxError(start, 'bytes may not hold unicode escapes');
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) {
    throw syntaxError(start, 'invalid unicode code point');
  }
  return { text: String.fromCodePoint(code), end: NUMERIC.lastIndex };
}

function isLineBreak(char: string | undefined): boolean {
  return char === '\n' || char === '\r';
}

/** How a text is written so that it reads back the same. */
export function quoteText(text: string): string {
  let out = '"';
  for (const char of text) {
    const code = char.codePointAt(0) ?? 0;
    if (char === '"' || char === '\\') out += `\\${char}`;
    else if (char === '\n') out += '\\n';
    else if (char === '\r') out += '\\r';
    else if (char === '\t') out += '\\t';
    else if (char === '\x07') out += '\\a';
    else if (char === '\b') out += '\\b';
    else if (char === '\f') out += '\\f';
    else if (char === '\v') out += '\\v';
    else if (code < 0x20 || code === 0x7f) out += `\\x${code.toString(16).padStart(2, '0')}`;
    else out += char;
  }
  return `${out}"`;
}

export function quoteBytes(bytes: Uint8Array): string {
  let out = 'b"';
  for (const byte of bytes) {
    if (byte === 0x22 || byte === 0x5c) out += `\\${String.fromCharCode(byte)}`;
    else if (byte < 0x20 || byte >= 0x7f) out += `\\${byte.toString(8).padStart(3, '0')}`;
    else out += String.fromCharCode(byte);
  }
  return `${out}"`;
}
