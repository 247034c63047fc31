import {
  fixed,
  plus,
  type SizeRange,
  scale,
  TEXT_FACTOR,
  times,
  UNBOUNDED,
  UNKNOWN_SIZE,
} from '../check/cost-range.ts';
import { quoteText } from '../syntax/quoted-literal.ts';
import { DYN, INT, listType, STRING, type Type } from '../types/type.ts';
import { List } from '../values/list.ts';
import { costSize, textLength } from '../values/size.ts';
import { CelError, type Value } from '../values/value.ts';
import { countElements } from '../values/walking.ts';
import { traversal } from './cost.ts';
import { formatText } from './format-text.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  type Library,
  memberOverload,
  type Overload,
} from './function.ts';

const text = (value: Value | undefined): string => value as string;
const once = traversal(0);
const keepsSize = traversal(0, 1, { resultIsSize: true });

/** Texts as code points where that matters, and as they are where all characters take one unit. */
function chars(value: string): string | string[] {
  return textLength(value) === value.length ? value : Array.from(value);
}
function joined(part: string | string[]): string {
  return typeof part === 'string' ? part : part.join('');
}

function outOfRange(index: Value): CelError {
  return new CelError(`index out of range: ${String(index)}`);
}

function charAt(value: Value, index: Value): Value {
  const all = chars(text(value));
  const at = Number(index);
  return at < 0 || at > all.length ? outOfRange(index) : (all[at] ?? '');
}

function substring(value: Value, start: Value, end?: Value): Value {
  const all = chars(text(value));
  const from = Number(start);
  const to = end === undefined ? all.length : Number(end);
  if (from < 0 || from > all.length) return outOfRange(start);
  if (to < 0 || to > all.length) return outOfRange(end ?? to);
  if (from > to) return new CelError(`invalid substring range. start: ${from}, end: ${to}`);
  return joined(all.slice(from, to));
}

/** Code points before a place in UTF-16 units, and back. */
function pointsBefore(value: string, unit: number): number {
  return textLength(value.slice(0, unit));
}
function unitOf(value: string, point: number): number {
  let unit = 0;
  for (let count = 0; count < point; count++) unit += (value.codePointAt(unit) ?? 0) > 0xffff ? 2 : 1;
  return unit;
}

function indexOf(value: Value, part: Value, offset: Value = 0): Value {
  const whole = text(value);
  const from = Number(offset);
  const length = textLength(whole);
  if (from < 0 || from > length)
    return part === '' && from >= 0 && from <= length ? offset : outOfRange(offset);
  if (part === '') return from;
  const unit = whole.indexOf(text(part), unitOf(whole, from));
  return unit < 0 ? -1 : pointsBefore(whole, unit);
}

function lastIndexOf(value: Value, part: Value, offset?: Value): Value {
  const whole = text(value);
  const length = textLength(whole);
  if (offset === undefined) {
    if (part === '') return length;
    const unit = whole.lastIndexOf(text(part));
    return unit < 0 ? -1 : pointsBefore(whole, unit);
  }
  const from = Number(offset);
  if (from < 0 || from >= Math.max(length, 1))
    return part === '' && from === length ? from : outOfRange(offset);
  if (part === '') return from;
  const unit = whole.lastIndexOf(text(part), unitOf(whole, from));
  return unit < 0 ? -1 : pointsBefore(whole, unit);
}

const MAX_TEXT = 16 * 1024 * 1024;

function replace(value: Value, from: Value, to: Value, limit: Value = -1): Value {
  const whole = text(value);
  const count = Number(limit);
  if (count === 0) return whole;
  const pieces =
    from === '' ? emptySplit(whole, count) : splitAtMost(whole, text(from), count < 0 ? Infinity : count + 1);
  if (whole.length + pieces.length * text(to).length > MAX_TEXT)
    return new CelError('the text would become too long');
  return pieces.join(text(to));
}

/** Around every character: what Go makes of replacing nothing. */
function emptySplit(whole: string, count: number): string[] {
  const all = Array.from(whole);
  const pieces = ['', ...all, ''];
  if (count < 0 || count >= all.length + 1) return pieces;
  return [...pieces.slice(0, count), all.slice(count - 1).join('')];
}

function splitAtMost(whole: string, separator: string, limit: number): string[] {
  if (separator === '') {
    const all = Array.from(whole);
    return all.length <= limit ? all : [...all.slice(0, limit - 1), all.slice(limit - 1).join('')];
  }
  const pieces: string[] = [];
  let from = 0;
  while (pieces.length < limit - 1) {
    const at = whole.indexOf(separator, from);
    if (at < 0) break;
    pieces.push(whole.slice(from, at));
    from = at + separator.length;
  }
  pieces.push(whole.slice(from));
  return pieces;
}

function split(value: Value, separator: Value, limit: Value = -1): Value {
  const count = Number(limit);
  if (count === 0) return new List([]);
  return new List(splitAtMost(text(value), text(separator), count < 0 ? Infinity : count));
}

function join(list: Value, separator: Value = ''): Value {
  countElements((list as List).size);
  const parts: string[] = [];
  let length = 0;
  for (const item of list as List) {
    if (typeof item !== 'string') return new CelError('join takes a list of strings');
    length += item.length + text(separator).length;
    if (length > MAX_TEXT) return new CelError('the text would become too long');
    parts.push(item);
  }
  return parts.join(text(separator));
}

/** Unicode's white space as Go trims it. */
const WHITE = '[\\t\\n\\v\\f\\r \\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const LEADING = new RegExp(`^${WHITE}+`);
const WHITE_CHAR = new RegExp(WHITE);

function trim(value: Value): Value {
  const start = text(value).replace(LEADING, '');
  let end = start.length;
  while (end > 0 && WHITE_CHAR.test(start[end - 1] ?? '')) end--;
  return start.slice(0, end);
}

function reverse(value: Value): Value {
  return Array.from(text(value)).reverse().join('');
}

const lower = (value: Value): Value => text(value).replace(/[A-Z]+/g, (part) => part.toLowerCase());
const upper = (value: Value): Value => text(value).replace(/[a-z]+/g, (part) => part.toUpperCase());

const replacing: Pick<Overload, 'cost' | 'estimate'> = {
  cost: traversal(0, 2).cost,
  estimate: ([whole, from, to]) => {
    const size = whole?.size ?? UNKNOWN_SIZE;
    return {
      cost: scale(size, 2 * TEXT_FACTOR),
      resultSize: replacedSize(size, from?.size ?? UNKNOWN_SIZE, to?.size ?? UNKNOWN_SIZE),
    };
  },
};

/** The longest result replaces the shortest parts as often as they fit, the shortest one the longest. */
function replacedSize(size: SizeRange, from: SizeRange, to: SizeRange): SizeRange {
  let [mostTimes, mostKept] = [0, 0];
  if (from.min === 0) [mostTimes, mostKept] = [size.max + 1, size.max];
  else if (to.max <= from.min) mostKept = size.max;
  else mostTimes = Math.ceil(size.max / from.min);
  let [leastTimes, leastKept] = [0, 0];
  if (from.max === 0) [leastTimes, leastKept] = [size.min + 1, size.min];
  else if (from.max <= to.min) leastKept = size.min;
  else leastTimes = Math.ceil(size.min / from.max);
  return plus(times({ min: leastTimes, max: mostTimes }, to), { min: leastKept, max: mostKept });
}

const splitting: Pick<Overload, 'cost' | 'estimate'> = {
  cost: traversal(0, 2).cost,
  estimate: ([whole, , limit]) => {
    const size = whole?.size ?? UNKNOWN_SIZE;
    const most = typeof limit?.literal === 'number' && limit.literal >= 0 ? limit.literal : size.max + 1;
    return { cost: scale(size, 2 * TEXT_FACTOR), resultSize: { min: 0, max: most } };
  },
};

const joiningTexts: Pick<Overload, 'cost' | 'resultCost' | 'estimate'> = {
  cost: () => 0,
  resultCost: (result) => Math.ceil(costSize(result) * 2 * TEXT_FACTOR),
  estimate: ([list, separator]) => {
    const count = list?.size ?? UNKNOWN_SIZE;
    const gaps = { min: Math.max(0, count.min - 1), max: Math.max(0, count.max - 1) };
    const resultSize = plus(
      times(count, list?.elementSize() ?? UNKNOWN_SIZE),
      times(gaps, separator?.size ?? fixed(0)),
    );
    return { cost: scale(resultSize, 2 * TEXT_FACTOR), resultSize };
  },
};

/** More than the longest text of a number. */
const SCALAR_TEXT = 400;

function isScalar(type: Type | undefined): boolean {
  return type?.kind === 'bool' || type?.kind === 'int' || type?.kind === 'uint' || type?.kind === 'double';
}

const formatting: Pick<Overload, 'cost' | 'resultCost' | 'estimate'> = {
  cost: () => 0,
  resultCost: (result) => Math.ceil(costSize(result) * TEXT_FACTOR),
  estimate: ([template, values]) => {
    const element = values?.elementType;
    // Texts can be of any size; of all else it is known how much room it takes at most.
    if (template === undefined || values === undefined || !isScalar(element))
      return { cost: { min: 0, max: UNBOUNDED }, resultSize: UNKNOWN_SIZE };
    const max = template.size.max + values.size.max * SCALAR_TEXT;
    return { cost: scale({ min: 0, max }, TEXT_FACTOR), resultSize: { min: 0, max } };
  },
};

function declare(name: string, ...overloads: Overload[]): FunctionDeclaration {
  return { name, overloads };
}

const TEXTS = listType(STRING);

const versionZero: readonly FunctionDeclaration[] = [
  declare('charAt', memberOverload('string_char_at_int', [STRING, INT], STRING, charAt)),
  declare(
    'indexOf',
    memberOverload('string_index_of_string', [STRING, STRING], INT, indexOf, once),
    memberOverload('string_index_of_string_int', [STRING, STRING, INT], INT, indexOf, once),
  ),
  declare(
    'lastIndexOf',
    memberOverload('string_last_index_of_string', [STRING, STRING], INT, lastIndexOf, once),
    memberOverload('string_last_index_of_string_int', [STRING, STRING, INT], INT, lastIndexOf, once),
  ),
  declare(
    'join',
    memberOverload('list_join', [TEXTS], STRING, join, joiningTexts),
    memberOverload('list_join_string', [TEXTS, STRING], STRING, join, joiningTexts),
  ),
  declare('lowerAscii', memberOverload('string_lower_ascii', [STRING], STRING, lower, keepsSize)),
  declare('upperAscii', memberOverload('string_upper_ascii', [STRING], STRING, upper, keepsSize)),
  declare(
    'replace',
    memberOverload('string_replace_string_string', [STRING, STRING, STRING], STRING, replace, replacing),
    memberOverload(
      'string_replace_string_string_int',
      [STRING, STRING, STRING, INT],
      STRING,
      replace,
      replacing,
    ),
  ),
  declare(
    'split',
    memberOverload('string_split_string', [STRING, STRING], TEXTS, split, splitting),
    memberOverload('string_split_string_int', [STRING, STRING, INT], TEXTS, split, splitting),
  ),
  declare(
    'substring',
    memberOverload('string_substring_int', [STRING, INT], STRING, substring, keepsSize),
    memberOverload('string_substring_int_int', [STRING, INT, INT], STRING, substring, keepsSize),
  ),
  declare('trim', memberOverload('string_trim', [STRING], STRING, trim, keepsSize)),
];

const versionOne: readonly FunctionDeclaration[] = [
  declare('format', memberOverload('string_format', [STRING, listType(DYN)], STRING, formatText, formatting)),
  declare(
    'strings.quote',
    globalOverload(
      'strings_quote',
      [STRING],
      STRING,
      (value) => quoteText(wellFormed(text(value))),
      keepsSize,
    ),
  ),
];

/** Half of a surrogate pair is no character. */
function wellFormed(value: string): string {
  return value.toWellFormed();
}

const versionThree: readonly FunctionDeclaration[] = [
  declare('reverse', memberOverload('string_reverse', [STRING], STRING, reverse, keepsSize)),
];

/** Functions over texts; each version holds those before it. */
export function stringsLibrary(version: 0 | 1 | 2 | 3 | 4 = 4): Library {
  const functions = [...versionZero];
  if (version >= 1) functions.push(...versionOne);
  if (version >= 3) functions.push(...versionThree);
  return { name: 'strings', functions };
}
