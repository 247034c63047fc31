/**
 * What is wrong with a text that is not JSON, in the words in which Go's decoder says it: clients of Kubernetes show and
 * compare them. `undefined` when nothing is wrong.
 */
export function jsonProblem(text: string): string | undefined {
  const scanner: Scanner = { text, at: 0 };
  try {
    readValue(scanner);
    skipSpace(scanner);
    if (scanner.at < text.length) fail(scanner, 'after top-level value');
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.message;
    throw error;
  }
}

class Problem extends Error {}

interface Scanner {
  readonly text: string;
  at: number;
}

const MAX_DEPTH = 10_000;
const LITERALS: Readonly<Record<string, string>> = { t: 'true', f: 'false', n: 'null' };

function fail(scanner: Scanner, context: string): never {
  const char = scanner.text.codePointAt(scanner.at);
  if (char === undefined) throw new Problem('unexpected end of JSON input');
  throw new Problem(`invalid character ${quoted(String.fromCodePoint(char))} ${context}`);
}

function quoted(char: string): string {
  if (char === "'") return "'\\''";
  if (char === '"') return `'"'`;
  const escaped = JSON.stringify(char).slice(1, -1);
  return `'${escaped.replace(/^\\u00([01][0-9a-f])$/, '\\x$1')}'`;
}

function skipSpace(scanner: Scanner): void {
  while (/[ \t\r\n]/.test(scanner.text[scanner.at] ?? '')) scanner.at += 1;
}

/** Without recursion: a body may be as deep as it is long. */
function readValue(scanner: Scanner): void {
  /** What closes each of the containers that are open. */
  const open: ('}' | ']')[] = [];
  for (;;) {
    skipSpace(scanner);
    if (open.length > MAX_DEPTH) throw new Problem('exceeded max depth');
    const char = scanner.text[scanner.at] ?? '';
    const end = char === '{' ? '}' : char === '[' ? ']' : undefined;
    if (end === undefined) readScalar(scanner, char);
    else {
      scanner.at += 1;
      skipSpace(scanner);
      if (scanner.text[scanner.at] === end) scanner.at += 1;
      else {
        open.push(end);
        if (end === '}') readKey(scanner);
        continue;
      }
    }
    if (!hasNext(scanner, open)) return;
  }
}

/** Closes what ends behind a value. Says whether another value follows, and stands before it then. */
function hasNext(scanner: Scanner, open: ('}' | ']')[]): boolean {
  for (let end = open.at(-1); end !== undefined; end = open.at(-1)) {
    if (!endOrComma(scanner, end, end === '}' ? 'after object key:value pair' : 'after array element')) {
      if (end === '}') readKey(scanner);
      return true;
    }
    open.pop();
  }
  return false;
}

function readKey(scanner: Scanner): void {
  skipSpace(scanner);
  if (scanner.text[scanner.at] !== '"') fail(scanner, 'looking for beginning of object key string');
  readString(scanner);
  skipSpace(scanner);
  if (scanner.text[scanner.at] !== ':') fail(scanner, 'after object key');
  scanner.at += 1;
}

function readScalar(scanner: Scanner, char: string): void {
  const literal = LITERALS[char];
  if (char === '"') readString(scanner);
  else if (char === '-' || /[0-9]/.test(char)) readNumber(scanner);
  else if (literal !== undefined && Object.hasOwn(LITERALS, char)) readLiteral(scanner, literal);
  else fail(scanner, 'looking for beginning of value');
}

function endOrComma(scanner: Scanner, end: string, context: string): boolean {
  skipSpace(scanner);
  const char = scanner.text[scanner.at];
  if (char !== end && char !== ',') fail(scanner, context);
  scanner.at += 1;
  return char === end;
}

function readString(scanner: Scanner): void {
  for (scanner.at += 1; ; scanner.at += 1) {
    const char = scanner.text[scanner.at];
    if (char === '"') {
      scanner.at += 1;
      return;
    }
    if (char === undefined || char < ' ') fail(scanner, 'in string literal');
    if (char !== '\\') continue;
    scanner.at += 1;
    const escaped = scanner.text[scanner.at] ?? '';
    if (escaped !== 'u') {
      if (escaped === '' || !'bfnrt\\/"'.includes(escaped)) fail(scanner, 'in string escape code');
      continue;
    }
    for (let digits = 0; digits < 4; digits++) {
      scanner.at += 1;
      if (!/[0-9a-fA-F]/.test(scanner.text[scanner.at] ?? ''))
        fail(scanner, 'in \\u hexadecimal character escape');
    }
  }
}

function readNumber(scanner: Scanner): void {
  if (scanner.text[scanner.at] === '-') scanner.at += 1;
  if (scanner.text[scanner.at] === '0') scanner.at += 1;
  else readDigits(scanner, 'in numeric literal');
  if (scanner.text[scanner.at] === '.') {
    scanner.at += 1;
    readDigits(scanner, 'after decimal point in numeric literal');
  }
  if (/[eE]/.test(scanner.text[scanner.at] ?? '')) {
    scanner.at += 1;
    if (/[+-]/.test(scanner.text[scanner.at] ?? '')) scanner.at += 1;
    readDigits(scanner, 'in exponent of numeric literal');
  }
}

function readDigits(scanner: Scanner, context: string): void {
  if (!/[0-9]/.test(scanner.text[scanner.at] ?? '')) fail(scanner, context);
  while (/[0-9]/.test(scanner.text[scanner.at] ?? '')) scanner.at += 1;
}

function readLiteral(scanner: Scanner, literal: string): void {
  for (const expected of literal) {
    if (scanner.text[scanner.at] !== expected)
      fail(scanner, `in literal ${literal} (expecting ${quoted(expected)})`);
    scanner.at += 1;
  }
}
