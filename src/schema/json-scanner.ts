import { childPath } from './field-issue.ts';

export interface JsonScan {
  /** Paths of fields that stand more than once in their object, once each: `spec.replicas`. */
  readonly duplicates: readonly string[];
  /** Paths of integers that a JavaScript number cannot hold exactly. */
  readonly inexact: readonly string[];
  /** Where the text stops being JSON (a character position), and why. */
  readonly error?: { readonly position: number; readonly message: string };
}

/** What a glance over the characters tells, at a fraction of the cost of {@link scanJson}. The text is known to be JSON. */
export interface JsonGlance {
  readonly depth: number;
  /** Keys as they are written, duplicates included. */
  readonly keys: number;
  readonly hasLongNumbers: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function glanceAtJson(text: string): JsonGlance {
  let depth = 0;
  let deepest = 0;
  let keys = 0;
  let hasLongNumbers = false;
  for (let i = 0; i < text.length; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) i = endOfString(text, i);
    else if (char === 0x3a) keys++;
    else if (char === 0x7b || char === 0x5b) deepest = Math.max(deepest, ++depth);
    else if (char === 0x7d || char === 0x5d) depth--;
    else if (char >= 0x30 && char <= 0x39) {
      const start = i;
      while (isDigit(text.charCodeAt(i + 1))) i++;
      if (i - start >= 15) hasLongNumbers = true;
    }
  }
  return { depth: deepest, keys, hasLongNumbers };
}

/** The position of the closing quote, or the end of the text. */
function endOfString(text: string, open: number): number {
  for (let end = text.indexOf('"', open + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end;
  }
  return text.length;
}

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39;
}

interface Scanner {
  readonly text: string;
  readonly maxDepth: number;
  at: number;
  readonly duplicates: Set<string>;
  readonly inexact: string[];
}

class ScanError extends Error {}

/** Reads a text strictly as JSON, for what `JSON.parse` does not tell: duplicate fields, lost digits, and where an error is. */
export function scanJson(text: string, maxDepth: number): JsonScan {
  const scanner: Scanner = { text, maxDepth, at: 0, duplicates: new Set(), inexact: [] };
  try {
    scanValue(scanner, '', 0);
    skipSpace(scanner);
    if (scanner.at < text.length) unexpected(scanner, 'the end');
  } catch (error) {
    if (!(error instanceof ScanError)) throw error;
    return { duplicates: [], inexact: [], error: { position: scanner.at, message: error.message } };
  }
  return { duplicates: [...scanner.duplicates], inexact: scanner.inexact };
}

function unexpected(scanner: Scanner, expected: string): never {
  const code = scanner.text.codePointAt(scanner.at);
  const found = code === undefined ? 'the text ends' : `found ${JSON.stringify(String.fromCodePoint(code))}`;
  throw new ScanError(`${found} where ${expected} is expected`);
}

function skipSpace(scanner: Scanner): void {
  for (; ; scanner.at++) {
    const char = scanner.text.charCodeAt(scanner.at);
    if (char !== 0x20 && char !== 0x0a && char !== 0x0d && char !== 0x09) return;
  }
}

const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const WORD = /true|false|null/y;

function scanValue(scanner: Scanner, path: string, depth: number): void {
  skipSpace(scanner);
  switch (scanner.text[scanner.at]) {
    case '{':
      scanObject(scanner, path, depth + 1);
      return;
    case '[':
      scanList(scanner, path, depth + 1);
      return;
    case '"':
      scanString(scanner);
      return;
    default: {
      const number = sticky(scanner, NUMBER);
      if (!number) {
        if (!sticky(scanner, WORD)) unexpected(scanner, 'a value');
      } else if (
        number[1] === undefined &&
        number[2] === undefined &&
        !Number.isSafeInteger(Number(number[0]))
      ) {
        scanner.inexact.push(path);
      }
    }
  }
}

function sticky(scanner: Scanner, expression: RegExp): RegExpExecArray | null {
  expression.lastIndex = scanner.at;
  const match = expression.exec(scanner.text);
  if (match) scanner.at = expression.lastIndex;
  return match;
}

function enter(scanner: Scanner, depth: number): void {
  if (depth > scanner.maxDepth) throw new ScanError(`nested more than ${scanner.maxDepth} levels deep`);
  scanner.at++;
  skipSpace(scanner);
}

function scanObject(scanner: Scanner, path: string, depth: number): void {
  enter(scanner, depth);
  if (took(scanner, '}')) return;
  const keys = new Set<string>();
  for (;;) {
    if (scanner.text[scanner.at] !== '"') unexpected(scanner, 'a quoted field name');
    const key = scanString(scanner);
    const field = childPath(path, key);
    if (keys.has(key)) scanner.duplicates.add(field);
    keys.add(key);
    skipSpace(scanner);
    if (!took(scanner, ':')) unexpected(scanner, '":"');
    scanValue(scanner, field, depth);
    skipSpace(scanner);
    if (took(scanner, '}')) return;
    if (!took(scanner, ',')) unexpected(scanner, '"," or "}"');
    skipSpace(scanner);
  }
}

function scanList(scanner: Scanner, path: string, depth: number): void {
  enter(scanner, depth);
  if (took(scanner, ']')) return;
  for (let index = 0; ; index++) {
    scanValue(scanner, `${path}[${index}]`, depth);
    skipSpace(scanner);
    if (took(scanner, ']')) return;
    if (!took(scanner, ',')) unexpected(scanner, '"," or "]"');
  }
}

function took(scanner: Scanner, char: string): boolean {
  if (scanner.text[scanner.at] !== char) return false;
  scanner.at++;
  return true;
}

function scanString(scanner: Scanner): string {
  const start = scanner.at;
  const end = endOfString(scanner.text, start);
  const raw = scanner.text.slice(start, end + 1);
  if (end >= scanner.text.length) {
    scanner.at = start;
    throw new ScanError('a text that begins here does not end');
  }
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
  const wrong = /[\u0000-\u001f]|\\(?!["\\/bfnrt]|u[0-9a-fA-F]{4})/.exec(raw.replaceAll('\\\\', '--'));
  if (wrong) {
    scanner.at = start + wrong.index;
    throw new ScanError('a text has a line break, a control character or a wrong escape');
  }
  scanner.at = end + 1;
  return raw.includes('\\') ? (JSON.parse(raw) as string) : raw.slice(1, -1);
}
