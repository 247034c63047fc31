import { isObject, type JsonValue } from './json.ts';

/** Why a JSONPath cannot be read, and where. */
export class JsonPathError extends Error {
  readonly path: string;
  /** Position in the path, from 0. */
  readonly position: number;

  constructor(path: string, position: number, problem: string) {
    super(`JSONPath ${JSON.stringify(path)}: ${problem} at position ${position}`);
    this.name = 'JsonPathError';
    this.path = path;
    this.position = position;
  }
}

/** All values that a path finds in a document, in document order; none where something is missing. */
export type JsonPath = (value: JsonValue) => JsonValue[];

type Step = (values: readonly JsonValue[]) => JsonValue[];

const MAX_PATH = 4096;
const MAX_FILTER_DEPTH = 8;
/** `..` after `..` finds the same values again and again: a short path can ask for more than there is memory for. */
const MAX_VALUES = 100_000;

/**
 * Compiles a Kubernetes JSONPath as in printer columns, scale paths and kubectl: `.spec.x`, `['a/b']`, `.a\.b`, `[0]`, `[-1]`,
 * `[1:3]`, `[0,2]`, `[*]`, `.*`, `..name`, `[?(@.type=="Ready")].status`. Surrounding braces and a leading `$` or `@` may be left out.
 * Throws {@link JsonPathError} for what is not one;
 * the compiled path throws it where it finds too many values.
 */
export function compileJsonPath(path: string): JsonPath {
  const text = path.startsWith('{') && path.endsWith('}') ? path.slice(1, -1) : path;
  if (text.length > MAX_PATH) throw new JsonPathError(path, 0, `longer than ${MAX_PATH} characters`);
  return compileSteps({ path, text: text.trim(), at: 0, depth: 0 }, undefined);
}

/**
 * The keys of a path that is only names (`.spec.replicas`, `.spec['a.b']`), as scale paths and selectable fields must be;
 * `undefined` for every other path.
 */
export function simpleJsonPath(path: string): string[] | undefined {
  const keys: string[] = [];
  const part = /\.([A-Za-z0-9_$-]+)|\['([^'\\]+)'\]|\["([^"\\]+)"\]/y;
  while (part.lastIndex < path.length) {
    const match = part.exec(path);
    if (!match) return undefined;
    keys.push(match[1] ?? match[2] ?? match[3] ?? '');
  }
  return keys.length === 0 || path.length > MAX_PATH ? undefined : keys;
}

interface Source {
  readonly path: string;
  readonly text: string;
  at: number;
  readonly depth: number;
}

function fail(source: Source, problem: string): never {
  throw new JsonPathError(source.path, source.at, problem);
}

/** Reads steps until the end of the text, or inside a filter until something that cannot be part of a path. */
function compileSteps(source: Source, end: RegExp | undefined): JsonPath {
  const steps: Step[] = [];
  const { text } = source;
  if (text[source.at] === '$' || text[source.at] === '@') source.at++;
  let first = true;
  while (source.at < text.length) {
    const char = text[source.at] ?? '';
    if (end?.test(char)) break;
    if (char === '[') {
      steps.push(bracketStep(source));
    } else if (text.startsWith('..', source.at)) {
      source.at += 2;
      steps.push(descend);
      if (text[source.at] !== '[') steps.push(nameStep(source));
    } else if (char === '.' || first) {
      if (char === '.') source.at++;
      // `.` alone is the document itself.
      if (source.at >= text.length && first) break;
      if (text[source.at] !== '[') steps.push(nameStep(source));
    } else {
      fail(source, `unexpected ${JSON.stringify(char)}`);
    }
    first = false;
  }
  return (value) => {
    let values: readonly JsonValue[] = [value];
    for (const step of steps) {
      if (values.length === 0) return [];
      values = step(values);
      if (values.length > MAX_VALUES) fail(source, `more than ${MAX_VALUES} values are found`);
    }
    return values.slice();
  };
}

function nameStep(source: Source): Step {
  const { text } = source;
  if (text[source.at] === '*') {
    source.at++;
    return wildcard;
  }
  let name = '';
  for (; source.at < text.length; source.at++) {
    const char = text[source.at] ?? '';
    if (char === '\\') name += text[++source.at] ?? fail(source, 'a name ends in a backslash');
    else if (/[\s.[\](){}=!<>,'"|&]/.test(char)) break;
    else name += char;
  }
  if (name === '') fail(source, 'a name is missing');
  return memberStep([name]);
}

function bracketStep(source: Source): Step {
  source.at++;
  skipSpace(source);
  const char = source.text[source.at];
  let step: Step;
  if (char === '?') step = filterStep(source);
  else if (char === '*') {
    source.at++;
    step = wildcard;
  } else if (char === "'" || char === '"') {
    const names = [quoted(source)];
    while (another(source)) names.push(quoted(source));
    step = memberStep(names);
  } else step = indexStep(source);
  skipSpace(source);
  if (source.text[source.at] !== ']') fail(source, "']' is missing");
  source.at++;
  return step;
}

function another(source: Source): boolean {
  skipSpace(source);
  if (source.text[source.at] !== ',') return false;
  source.at++;
  skipSpace(source);
  return true;
}

function skipSpace(source: Source): void {
  while (source.text[source.at] === ' ') source.at++;
}

function quoted(source: Source): string {
  const quote = source.text[source.at];
  if (quote !== "'" && quote !== '"') fail(source, 'a quoted text is missing');
  let out = '';
  for (source.at++; source.at < source.text.length; source.at++) {
    const char = source.text[source.at] ?? '';
    if (char === quote) {
      source.at++;
      return out;
    }
    out += char === '\\' ? (source.text[++source.at] ?? '') : char;
  }
  return fail(source, 'a quoted text does not end');
}

function integer(source: Source): number | undefined {
  const match = /^[+-]?[0-9]{1,9}/.exec(source.text.slice(source.at, source.at + 11));
  if (!match) return undefined;
  source.at += match[0].length;
  return Number(match[0]);
}

function indexStep(source: Source): Step {
  const ranges: { from: number | undefined; to: number | undefined; step: number; single: boolean }[] = [];
  do {
    const from = integer(source);
    if (source.text[source.at] === ':') {
      source.at++;
      const to = integer(source);
      let step = 1;
      if (source.text[source.at] === ':') {
        source.at++;
        step = integer(source) ?? 1;
      }
      if (step < 1) fail(source, 'a step must be positive');
      ranges.push({ from, to, step, single: false });
    } else if (from === undefined) fail(source, "an index, a quoted name, '*' or '?(' is missing");
    else ranges.push({ from, to: undefined, step: 1, single: true });
  } while (another(source));
  return (values) => {
    const out: JsonValue[] = [];
    for (const list of values) {
      if (!Array.isArray(list)) continue;
      const absolute = (index: number): number => (index < 0 ? index + list.length : index);
      for (const { from, to, step, single } of ranges) {
        const first = absolute(from ?? 0);
        if (single && first < 0) continue;
        const last = single
          ? Math.min(first + 1, list.length)
          : Math.min(absolute(to ?? list.length), list.length);
        for (let i = Math.max(first, 0); i < last; i += step) out.push(list[i] ?? null);
      }
    }
    return out;
  };
}

function memberStep(names: readonly string[]): Step {
  return (values) => {
    const out: JsonValue[] = [];
    for (const value of values) {
      if (!isObject(value)) continue;
      for (const name of names) {
        const member = Object.hasOwn(value, name) ? value[name] : undefined;
        if (member !== undefined) out.push(member);
      }
    }
    return out;
  };
}

const wildcard: Step = (values) => values.flatMap(members);

function members(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value;
  if (!isObject(value)) return [];
  return Object.values(value).filter((item) => item !== undefined);
}

/** The values and everything below them. */
const descend: Step = (values) => {
  const out: JsonValue[] = [];
  const visit = (value: JsonValue): void => {
    if (typeof value !== 'object' || value === null || out.length > MAX_VALUES) return;
    out.push(value);
    for (const item of members(value)) visit(item);
  };
  for (const value of values) visit(value);
  return out;
};

type Operand = JsonPath | { readonly literal: JsonValue };

function filterStep(source: Source): Step {
  if (source.depth >= MAX_FILTER_DEPTH) fail(source, 'filters are nested too deeply');
  source.at++;
  if (source.text[source.at] !== '(') fail(source, "'(' is missing");
  source.at++;
  const left = operand(source);
  const operator = /^(?:==|!=|<=|>=|<|>)/.exec(source.text.slice(source.at, source.at + 2))?.[0];
  let keep: (value: JsonValue) => boolean;
  if (operator === undefined) {
    keep = (value) => evaluate(left, value).length > 0;
  } else {
    source.at += operator.length;
    const right = operand(source);
    keep = (value) => {
      const a = evaluate(left, value)[0];
      const b = evaluate(right, value)[0];
      return a !== undefined && b !== undefined && compare(a, operator, b);
    };
  }
  if (source.text[source.at] !== ')') fail(source, "')' is missing");
  source.at++;
  return (values) => {
    const out: JsonValue[] = [];
    for (const value of values) {
      if (!Array.isArray(value) && !isObject(value)) continue;
      for (const item of members(value)) if (keep(item)) out.push(item);
    }
    return out;
  };
}

function evaluate(operand: Operand, value: JsonValue): JsonValue[] {
  return typeof operand === 'function' ? operand(value) : [operand.literal];
}

function operand(source: Source): Operand {
  skipSpace(source);
  const { text, at } = source;
  let found: Operand;
  const char = text[at] ?? '';
  if (char === '@' || char === '$' || char === '.') {
    const inner: Source = { path: source.path, text, at, depth: source.depth + 1 };
    found = compileSteps(inner, /[\s=!<>)]/);
    source.at = inner.at;
  } else if (char === "'" || char === '"') {
    found = { literal: quoted(source) };
  } else {
    const word = /^(?:true|false|null|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?=[\s=!<>)])/.exec(
      text.slice(at),
    );
    if (!word) fail(source, 'a path, a text, a number, true, false or null is missing');
    source.at += word[0].length;
    found = { literal: JSON.parse(word[0]) as JsonValue };
  }
  skipSpace(source);
  return found;
}

function compare(a: JsonValue, operator: string, b: JsonValue): boolean {
  if (operator === '==') return a === b;
  if (operator === '!=') return a !== b;
  const comparable =
    (typeof a === 'number' && typeof b === 'number') || (typeof a === 'string' && typeof b === 'string');
  if (!comparable || a === null || b === null) return false;
  switch (operator) {
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    default:
      return a >= b;
  }
}
