import { childPath, type FieldIssue } from './field-issue.ts';
import { isObject, type JsonValue } from './json.ts';
import { validateLabelKey, validateLabelValue } from './names.ts';

/** `metav1.LabelSelector`, as it stands in objects. */
export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly LabelSelectorExpression[];
}

export interface LabelSelectorExpression {
  readonly key: string;
  /** `In`, `NotIn`, `Exists` or `DoesNotExist`. */
  readonly operator: string;
  readonly values?: readonly string[];
}

export type LabelOperator = '=' | '!=' | 'in' | 'notin' | 'exists' | '!' | 'gt' | 'lt';

/** One condition. `values` has one item for `=`, `!=`, `gt`, `lt`, at least one for `in` and `notin`, none for the others. */
export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** A selector ready to match, from either form. All requirements must hold; none select everything. */
export interface Selector {
  readonly requirements: readonly LabelRequirement[];
  /** Set on a selector that matches nothing at all. */
  readonly nothing?: true;
}

export const selectEverything: Selector = { requirements: [] };
export const selectNothing: Selector = { requirements: [], nothing: true };

/** Selectors come in URLs and objects of foreign origin. */
const MAX_TEXT = 64 * 1024;
const MAX_REQUIREMENTS = 1000;

export function matchesSelector(
  selector: Selector,
  labels: Readonly<Record<string, string | undefined>> | undefined,
): boolean {
  if (selector.nothing) return false;
  for (const requirement of selector.requirements) {
    const { key } = requirement;
    const value = labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (!matchesValue(requirement, value)) return false;
  }
  return true;
}

function matchesValue({ operator, values }: LabelRequirement, value: string | undefined): boolean {
  switch (operator) {
    case '=':
      return value === values[0];
    case '!=':
      return value !== values[0];
    case 'in':
      return value !== undefined && values.includes(value);
    case 'notin':
      return value === undefined || !values.includes(value);
    case 'exists':
      return value !== undefined;
    case '!':
      return value === undefined;
    case 'gt':
      return isInteger(value) && BigInt(value) > BigInt(values[0] ?? '0');
    case 'lt':
      return isInteger(value) && BigInt(value) < BigInt(values[0] ?? '0');
  }
}

function isInteger(value: string | undefined): value is string {
  return value !== undefined && /^-?[0-9]{1,19}$/.test(value);
}

/** The canonical text: sorted by key, values sorted; `parseLabelSelector` reads it back. */
export function formatSelector(selector: Selector): string {
  return selector.requirements.map(formatRequirement).sort().join(',');
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${[...values].sort().join(',')})`;
    case 'gt':
      return `${key}>${values[0]}`;
    case 'lt':
      return `${key}<${values[0]}`;
    default:
      return `${key}${operator}${values[0]}`;
  }
}

/**
 * The selector of a LabelSelector object: absent selects nothing, `{}` everything. What cannot be understood is listed in
 * `issues`, and the selector then matches nothing.
 */
export function selectorFromObject(
  object: LabelSelector | JsonValue | undefined,
  path = '',
): { selector: Selector; issues: FieldIssue[] } {
  if (object === undefined || object === null) return { selector: selectNothing, issues: [] };
  const requirements: LabelRequirement[] = [];
  const issues: FieldIssue[] = [];
  if (!isObject(object)) {
    issues.push(wrongType(path, object, 'object'));
    return { selector: selectNothing, issues };
  }
  readMatchLabels(object.matchLabels, childPath(path, 'matchLabels'), requirements, issues);
  readExpressions(object.matchExpressions, childPath(path, 'matchExpressions'), requirements, issues);
  if (requirements.length > MAX_REQUIREMENTS) {
    const detail = `must have at most ${MAX_REQUIREMENTS} requirements`;
    issues.push({ type: 'TooMany', path, value: requirements.length, detail });
  }
  return { selector: issues.length > 0 ? selectNothing : { requirements }, issues };
}

function readMatchLabels(
  value: JsonValue | undefined,
  path: string,
  requirements: LabelRequirement[],
  issues: FieldIssue[],
): void {
  if (value === undefined || value === null) return;
  if (!isObject(value)) {
    issues.push(wrongType(path, value, 'object'));
    return;
  }
  for (const key of Object.keys(value)) {
    const wanted = value[key];
    checkKey(key, path, issues);
    if (typeof wanted !== 'string') {
      issues.push(wrongType(childPath(path, key), wanted, 'string'));
      continue;
    }
    checkValue(wanted, path, issues);
    requirements.push({ key, operator: '=', values: [wanted] });
  }
}

const EXPRESSION_OPERATORS: ReadonlyMap<unknown, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
]);

function readExpressions(
  list: JsonValue | undefined,
  path: string,
  requirements: LabelRequirement[],
  issues: FieldIssue[],
): void {
  if (list === undefined || list === null) return;
  if (!Array.isArray(list)) {
    issues.push(wrongType(path, list, 'array'));
    return;
  }
  for (const [index, expression] of list.entries()) {
    const at = `${path}[${index}]`;
    if (!isObject(expression)) {
      issues.push(wrongType(at, expression, 'object'));
      continue;
    }
    const { key } = expression;
    const operator = EXPRESSION_OPERATORS.get(expression.operator);
    if (typeof key !== 'string') {
      issues.push({ type: 'Required', path: `${at}.key`, detail: '' });
      continue;
    }
    checkKey(key, `${at}.key`, issues);
    if (operator === undefined) {
      const detail = 'not a valid selector operator';
      issues.push({ type: 'Invalid', path: `${at}.operator`, value: expression.operator, detail });
      continue;
    }
    const values = expression.values ?? [];
    if (!Array.isArray(values) || !values.every((item) => typeof item === 'string')) {
      issues.push(wrongType(`${at}.values`, values, 'array of strings'));
      continue;
    }
    const takesValues = operator === 'in' || operator === 'notin';
    if (takesValues && values.length === 0) {
      const detail = "must be specified when `operator` is 'In' or 'NotIn'";
      issues.push({ type: 'Required', path: `${at}.values`, detail });
    } else if (!takesValues && values.length > 0) {
      const detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
      issues.push({ type: 'Forbidden', path: `${at}.values`, detail });
    }
    for (const [position, item] of values.entries()) checkValue(item, `${at}.values[${position}]`, issues);
    requirements.push({ key, operator, values });
  }
}

function wrongType(path: string, value: unknown, expected: string): FieldIssue {
  return { type: 'TypeInvalid', path, value, detail: `must be of type ${expected}` };
}

function checkKey(key: string, path: string, issues: FieldIssue[]): void {
  for (const detail of validateLabelKey(key)) issues.push({ type: 'Invalid', path, value: key, detail });
}

function checkValue(value: string, path: string, issues: FieldIssue[]): void {
  for (const detail of validateLabelValue(value)) issues.push({ type: 'Invalid', path, value, detail });
}

/**
 * Reads the text form: `a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1`, conditions joined by commas. The empty text selects
 * everything.
 */
export function parseLabelSelector(text: string): Selector | { readonly error: string } {
  if (text.length > MAX_TEXT) return { error: `a label selector may have at most ${MAX_TEXT} characters` };
  const tokens = tokenize(text);
  const requirements: LabelRequirement[] = [];
  let at = 0;
  if (tokens.length === 0) return selectEverything;

  /** The texts are those of the Kubernetes API server: only what is wrong inside a condition names the condition. */
  const found = (expected: string): { error: string } => ({
    error: `found '${tokens[at]?.text ?? ''}', expected: ${expected}`,
  });
  const inside = ({ error }: { error: string }): { error: string } => ({
    error: `unable to parse requirement: ${error}`,
  });
  for (;;) {
    const absent = isSymbol(tokens[at], '!');
    if (!absent && tokens[at]?.symbol) {
      return found(requirements.length > 0 ? "identifier after ','" : "!, identifier, or 'end of string'");
    }
    if (absent) at++;
    const key = tokens[at];
    if (key === undefined || key.symbol) {
      return absent ? inside(found('identifier')) : found("identifier after ','");
    }
    at++;
    const keyProblems = validateLabelKey(key.text);
    if (keyProblems.length > 0) {
      return inside({
        error: `<nil>: Invalid value: ${JSON.stringify(key.text)}: ${keyProblems.join('; ')}`,
      });
    }
    let operator: LabelOperator = absent ? '!' : 'exists';
    let values: string[] = [];
    const next = tokens[at];
    if (!absent && next !== undefined && !isSymbol(next, ',')) {
      const binary = BINARY_OPERATORS.get(next.text);
      if (binary === undefined) return inside(found('in, notin, =, ==, !=, gt, lt'));
      operator = binary;
      at++;
      if (operator === 'in' || operator === 'notin') {
        // Other than all other messages, this one has no comma.
        if (!isSymbol(tokens[at], '('))
          return inside({ error: `found '${tokens[at]?.text ?? ''}' expected: '('` });
        const list = readValues(tokens, at + 1);
        at = list.next;
        if (list.expected !== undefined) return inside(found(list.expected));
        values = list.values;
      } else {
        const value = tokens[at];
        if (value === undefined || isSymbol(value, ',')) values = [''];
        else if (value.symbol) return inside(found('identifier'));
        else {
          values = [value.text];
          at++;
        }
      }
    }
    const valueProblem = valuesProblem(key.text, operator, values);
    if (valueProblem !== undefined) return inside({ error: valueProblem });
    requirements.push({ key: key.text, operator, values });
    if (requirements.length > MAX_REQUIREMENTS) {
      return { error: `a label selector may have at most ${MAX_REQUIREMENTS} requirements` };
    }
    if (tokens[at] === undefined) break;
    if (!isSymbol(tokens[at], ',')) return found("',' or 'end of string'");
    at++;
  }
  return { requirements };
}

const BINARY_OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ['=', '='],
  ['==', '='],
  ['!=', '!='],
  ['in', 'in'],
  ['notin', 'notin'],
  ['>', 'gt'],
  ['<', 'lt'],
]);

interface Token {
  readonly text: string;
  readonly symbol: boolean;
}

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  for (const match of text.matchAll(/(==|!=|[=!<>(),])|([^\s=!<>(),]+)/g)) {
    tokens.push({ text: match[0], symbol: match[1] !== undefined });
  }
  return tokens;
}

function isSymbol(token: Token | undefined, text: string): boolean {
  return token?.symbol === true && token.text === text;
}

/**
 * The values up to `)`; an empty place before, between or after commas is the empty value. `expected` is set where they
 * go wrong, at `next`.
 */
function readValues(
  tokens: readonly Token[],
  from: number,
): { values: string[]; next: number; expected?: string } {
  const values = new Set<string>();
  let pending = false;
  for (let at = from; ; at++) {
    const token = tokens[at];
    if (token !== undefined && !token.symbol && !pending) {
      values.add(token.text);
      pending = true;
    } else if (isSymbol(token, ',')) {
      if (!pending) values.add('');
      pending = false;
    } else if (isSymbol(token, ')')) {
      if (!pending) values.add('');
      return { values: [...values], next: at + 1 };
    } else {
      const expected = pending ? "',' or ')'" : at === from ? "',', ')' or identifier" : "',', or identifier";
      return { values: [], next: at, expected };
    }
  }
}

function valuesProblem(key: string, operator: LabelOperator, values: readonly string[]): string | undefined {
  const invalid = (path: string, value: string, why: string): string =>
    `${path}: Invalid value: ${JSON.stringify(value)}: ${why}`;
  if (operator === 'gt' || operator === 'lt') {
    if (!isInteger(values[0]))
      return invalid('values[0]', values[0] ?? '', "for 'Gt', 'Lt' operators, the value must be an integer");
  }
  for (const [index, value] of values.entries()) {
    const problems = validateLabelValue(value);
    if (problems.length > 0) return invalid(`values[${index}][${key}]`, value, problems.join('; '));
  }
  return undefined;
}
