import { type CharacterSetSource, PERL_SETS, POSIX_SETS, propertySet, setOf } from './character-set.ts';

/** An RE2 expression as a tree. Groups and laziness do not change whether there is a match, only which one is found. */
export type RegexNode =
  | { readonly kind: 'empty' }
  | { readonly kind: 'set'; readonly set: CharacterSetSource }
  | {
      readonly kind: 'assert';
      readonly assertion: 'begin' | 'end' | 'beginLine' | 'endLine' | 'word' | 'notWord';
    }
  | { readonly kind: 'sequence'; readonly items: readonly RegexNode[] }
  | { readonly kind: 'choice'; readonly items: readonly RegexNode[] }
  | {
      readonly kind: 'repeat';
      readonly item: RegexNode;
      readonly min: number;
      readonly max: number | undefined;
      /** As few times as will do. */
      readonly lazy?: boolean;
    }
  | { readonly kind: 'group'; readonly item: RegexNode; readonly index: number };

export class RegexSyntaxError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'RegexSyntaxError';
  }
}

const MAX_LENGTH = 10_000;
const MAX_DEPTH = 200;
const MAX_REPEAT = 1000;
const ANY: readonly [number, number] = [0, 0x10ffff];

interface Flags {
  ignoreCase: boolean;
  multiLine: boolean;
  dotAll: boolean;
}

interface Reader {
  readonly text: string;
  at: number;
  depth: number;
  /** Capturing groups so far. */
  groups: number;
}

export function parseRegularExpression(text: string): RegexNode {
  if (text.length > MAX_LENGTH)
    throw new RegexSyntaxError(`expression is longer than ${MAX_LENGTH} characters`);
  const reader: Reader = { text, at: 0, depth: 0, groups: 0 };
  const node = parseChoice(reader, { ignoreCase: false, multiLine: false, dotAll: false });
  if (reader.at < text.length) throw new RegexSyntaxError(`unexpected ): \`${text}\``);
  return node;
}

/** Flags set inside a group hold to its end, so they are the group's own copy. */
function parseChoice(reader: Reader, flags: Flags): RegexNode {
  if (++reader.depth > MAX_DEPTH) throw new RegexSyntaxError('expression nests too deeply');
  const choices: RegexNode[] = [];
  do choices.push(parseSequence(reader, flags));
  while (take(reader, '|'));
  reader.depth--;
  return choices.length === 1 && choices[0] ? choices[0] : { kind: 'choice', items: choices };
}

function parseSequence(reader: Reader, flags: Flags): RegexNode {
  const items: RegexNode[] = [];
  while (reader.at < reader.text.length && !'|)'.includes(reader.text[reader.at] ?? '')) {
    if (reader.text.startsWith('\\Q', reader.at)) {
      const start = reader.at;
      const literal = parseLiteralText(reader, flags);
      const last = literal.pop();
      items.push(...literal);
      if (last) items.push(parseRepetition(reader, last, start));
      continue;
    }
    const start = reader.at;
    const atom = parseAtom(reader, flags);
    items.push(atom === undefined ? { kind: 'empty' } : parseRepetition(reader, atom, start));
  }
  if (items.length === 1 && items[0]) return items[0];
  return items.length === 0 ? { kind: 'empty' } : { kind: 'sequence', items };
}

function parseLiteralText(reader: Reader, flags: Flags): RegexNode[] {
  const end = reader.text.indexOf('\\E', reader.at);
  const literal = reader.text.slice(reader.at + 2, end === -1 ? undefined : end);
  reader.at = end === -1 ? reader.text.length : end + 2;
  return Array.from(literal, (char) => literalNode(char.codePointAt(0) ?? 0, flags));
}

function parseRepetition(reader: Reader, atom: RegexNode, start: number): RegexNode {
  const range = repetition(reader);
  if (!range) return atom;
  const lazy = take(reader, '?');
  if (repetition(reader)) {
    const text = reader.text.slice(start, reader.at);
    throw new RegexSyntaxError(`invalid nested repetition operator: \`${text}\``);
  }
  return { kind: 'repeat', item: atom, min: range[0], max: range[1], lazy };
}

function repetition(reader: Reader): readonly [number, number | undefined] | undefined {
  if (take(reader, '*')) return [0, undefined];
  if (take(reader, '+')) return [1, undefined];
  if (take(reader, '?')) return [0, 1];
  const match = sticky(reader, /\{([0-9]+)(,([0-9]*))?\}/y);
  if (!match) return undefined;
  const min = Number(match[1]);
  const max = match[2] === undefined ? min : match[3] === '' ? undefined : Number(match[3]);
  if (min > MAX_REPEAT || (max !== undefined && (max > MAX_REPEAT || max < min))) {
    throw new RegexSyntaxError(`invalid repeat count: \`${match[0]}\``);
  }
  return [min, max];
}

/** `undefined` for `(?i)`, which is nothing that could be repeated. */
function parseAtom(reader: Reader, flags: Flags): RegexNode | undefined {
  const char = next(reader);
  switch (char) {
    case '(':
      return parseGroup(reader, flags);
    case '[':
      return { kind: 'set', set: parseClass(reader, flags) };
    case '.':
      return { kind: 'set', set: flags.dotAll ? setOf([ANY]) : setOf([[10, 10]], { negated: true }) };
    case '^':
      return { kind: 'assert', assertion: flags.multiLine ? 'beginLine' : 'begin' };
    case '$':
      return { kind: 'assert', assertion: flags.multiLine ? 'endLine' : 'end' };
    case '*':
    case '+':
    case '?':
      throw new RegexSyntaxError(`missing argument to repetition operator: \`${char}\``);
    case '\\':
      return parseEscape(reader, flags);
    default:
      return literalNode(char.codePointAt(0) ?? 0, flags);
  }
}

function parseGroup(reader: Reader, flags: Flags): RegexNode | undefined {
  const inner = { ...flags };
  let index = 0;
  if (!take(reader, '?')) index = ++reader.groups;
  else {
    const rest = reader.text.slice(reader.at, reader.at + 64);
    if (/^(?:P?<[A-Za-z0-9_]+>)/.test(rest)) {
      reader.at = reader.text.indexOf('>', reader.at) + 1;
      index = ++reader.groups;
    } else {
      const match = sticky(reader, /([imsU]*)(?:-([imsU]+))?([:)])/y);
      if (!match) throw new RegexSyntaxError(`invalid or unsupported Perl syntax: \`(?${rest.slice(0, 1)}\``);
      setFlags(inner, match[1] ?? '', true);
      setFlags(inner, match[2] ?? '', false);
      if (match[3] === ')') {
        Object.assign(flags, inner);
        return undefined;
      }
    }
  }
  const node = parseChoice(reader, inner);
  if (!take(reader, ')')) throw new RegexSyntaxError(`missing closing ): \`${reader.text}\``);
  return index === 0 ? node : { kind: 'group', item: node, index };
}

function setFlags(flags: Flags, names: string, on: boolean): void {
  if (names.includes('i')) flags.ignoreCase = on;
  if (names.includes('m')) flags.multiLine = on;
  if (names.includes('s')) flags.dotAll = on;
}

function parseEscape(reader: Reader, flags: Flags): RegexNode {
  switch (reader.text[reader.at]) {
    case 'A':
      reader.at++;
      return { kind: 'assert', assertion: 'begin' };
    case 'z':
      reader.at++;
      return { kind: 'assert', assertion: 'end' };
    case 'b':
      reader.at++;
      return { kind: 'assert', assertion: 'word' };
    case 'B':
      reader.at++;
      return { kind: 'assert', assertion: 'notWord' };
    default: {
      const set = escapedSet(reader);
      if (set) return { kind: 'set', set: flags.ignoreCase ? { ...set, ignoreCase: true } : set };
      return literalNode(escapedCharacter(reader), flags);
    }
  }
}

/** `\d`, `\PL` and the like, after the backslash; `undefined` (and nothing read) for everything else. */
function escapedSet(reader: Reader): CharacterSetSource | undefined {
  const char = reader.text[reader.at] ?? '';
  const perl = PERL_SETS[char.toLowerCase()];
  if (perl && /[dswDSW]/.test(char)) {
    reader.at++;
    return char === char.toLowerCase() ? perl : { ...perl, negated: true };
  }
  const match = sticky(reader, /([pP])(?:\{(\^?)([^}]*)\}|([A-Za-z]))/y);
  if (!match) return undefined;
  const set = propertySet(match[3] ?? match[4] ?? '');
  if (!set) throw new RegexSyntaxError(`invalid character class range: \`\\${match[0]}\``);
  return { ...set, negated: (match[1] === 'P') !== (match[2] === '^') };
}

const CONTROL: Readonly<Record<string, number>> = { a: 7, f: 12, n: 10, r: 13, t: 9, v: 11 };

/** The code point after a backslash. */
function escapedCharacter(reader: Reader): number {
  if (reader.at >= reader.text.length)
    throw new RegexSyntaxError('trailing backslash at end of expression: ``');
  const hex = sticky(reader, /x(?:\{([0-9A-Fa-f]{1,6})\}|([0-9A-Fa-f]{2}))/y);
  if (hex) {
    const code = Number.parseInt(hex[1] ?? hex[2] ?? '0', 16);
    if (code <= 0x10ffff) return code;
    throw new RegexSyntaxError(`invalid escape sequence: \`\\${hex[0]}\``);
  }
  const octal = sticky(reader, /0[0-7]{0,2}|[1-7][0-7]{1,2}/y);
  if (octal) return Number.parseInt(octal[0], 8);
  const char = next(reader);
  const control = CONTROL[char];
  if (control !== undefined) return control;
  // Back-references and escapes that RE2 does not know.
  if (/[A-Za-z0-9]/.test(char)) throw new RegexSyntaxError(`invalid escape sequence: \`\\${char}\``);
  return char.codePointAt(0) ?? 0;
}

/** After `[`. */
function parseClass(reader: Reader, flags: Flags): CharacterSetSource {
  const start = reader.at - 1;
  const negated = take(reader, '^');
  const ranges: [number, number][] = [];
  const sets: CharacterSetSource[] = [];
  for (let first = true; first || reader.text[reader.at] !== ']'; first = false) {
    if (reader.at >= reader.text.length) {
      throw new RegexSyntaxError(`missing closing ]: \`${reader.text.slice(start)}\``);
    }
    const posix = sticky(reader, /\[:(\^?)([a-z]+):\]/y);
    if (posix) {
      const set = POSIX_SETS.get(posix[2] ?? '');
      if (!set) throw new RegexSyntaxError(`invalid character class range: \`${posix[0]}\``);
      sets.push(posix[1] === '^' ? { ...set, negated: true } : set);
      continue;
    }
    if (reader.text[reader.at] === '\\') {
      reader.at++;
      const set = escapedSet(reader);
      if (set) {
        sets.push(set);
        continue;
      }
      reader.at--;
    }
    const low = classCharacter(reader);
    let high = low;
    if (
      reader.text[reader.at] === '-' &&
      reader.at + 1 < reader.text.length &&
      reader.text[reader.at + 1] !== ']'
    ) {
      reader.at++;
      high = classCharacter(reader);
      if (high < low) {
        throw new RegexSyntaxError(
          `invalid character class range: \`${String.fromCodePoint(low)}-${String.fromCodePoint(high)}\``,
        );
      }
    }
    ranges.push([low, high]);
  }
  reader.at++;
  return { ranges, sets, negated, ignoreCase: flags.ignoreCase };
}

function classCharacter(reader: Reader): number {
  const char = next(reader);
  return char === '\\' ? escapedCharacter(reader) : (char.codePointAt(0) ?? 0);
}

function literalNode(character: number, flags: Flags): RegexNode {
  return { kind: 'set', set: setOf([[character, character]], { ignoreCase: flags.ignoreCase }) };
}

function take(reader: Reader, char: string): boolean {
  if (reader.text[reader.at] !== char) return false;
  reader.at++;
  return true;
}

/** The next character, which may take two places. */
function next(reader: Reader): string {
  const code = reader.text.codePointAt(reader.at);
  if (code === undefined) throw new RegexSyntaxError(`unexpected end of expression: \`${reader.text}\``);
  const char = String.fromCodePoint(code);
  reader.at += char.length;
  return char;
}

function sticky(reader: Reader, expression: RegExp): RegExpExecArray | null {
  expression.lastIndex = reader.at;
  const match = expression.exec(reader.text);
  if (match) reader.at = expression.lastIndex;
  return match;
}
