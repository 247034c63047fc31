import { Double } from '../values/value.ts';
import {
  type CallExpr,
  childrenOf,
  type Expr,
  type FieldEntry,
  type ListExpr,
  type MapEntry,
  type ParsedExpression,
} from './ast.ts';
import { nextToken, RESERVED, type Token } from './lexer.ts';
import type { Macro, MacroFactory } from './macros.ts';
import { isIntLiteral, negated } from './number-literal.ts';
import { type ExpressionIssue, issueAt } from './source-position.ts';
import { SyntaxFailure, syntaxError } from './syntax-error.ts';

export interface ParseOptions {
  /** By {@link macroKey}. */
  readonly macros: ReadonlyMap<string, Macro>;
  /** `a.?b`, `a[?b]`, `[?a]`, `{?a: b}`. */
  readonly optionals: boolean;
  /** Back-quoted names of fields. */
  readonly quotedFields: boolean;
  /** Code points. */
  readonly maxLength: number;
  readonly maxDepth: number;
}

export type ParseResult =
  | { readonly ast: ParsedExpression; readonly issues?: undefined }
  | { readonly ast?: undefined; readonly issues: readonly ExpressionIssue[] };

/** Binding powers of the operators with two operands. Relations all bind alike; `?:` is parsed apart. */
const BINARY: Readonly<Record<string, readonly [power: number, name: string]>> = {
  '||': [1, '_||_'],
  '&&': [2, '_&&_'],
  '==': [3, '_==_'],
  '!=': [3, '_!=_'],
  '<': [3, '_<_'],
  '<=': [3, '_<=_'],
  '>': [3, '_>_'],
  '>=': [3, '_>=_'],
  in: [3, '@in'],
  '+': [4, '_+_'],
  '-': [4, '_-_'],
  '*': [5, '_*_'],
  '/': [5, '_/_'],
  '%': [5, '_%_'],
};

interface Parser extends MacroFactory {
  readonly options: ParseOptions;
  token: Token;
  depth: number;
  readonly macroCalls: Map<number, CallExpr>;
  readonly weights: Map<Expr, number>;
}

export function parseExpression(source: string, options: ParseOptions): ParseResult {
  // A code point takes at most two units, so most texts need no counting.
  if (source.length > options.maxLength && codePoints(source, options.maxLength) > options.maxLength) {
    return {
      issues: [
        issueAt(
          source,
          0,
          `expression code point size exceeds limit: size: ${source.length}, limit ${options.maxLength}`,
        ),
      ],
    };
  }
  let ids = 1;
  try {
    const parser: Parser = {
      source,
      options,
      depth: 0,
      token: nextToken(source, 0),
      macroCalls: new Map(),
      weights: new Map(),
      nextId: () => ids++,
    };
    const expr = parseTernary(parser);
    if (parser.token.kind !== 'end') throw unexpected(parser, '<EOF>');
    return { ast: { source, expr, idCount: ids, macroCalls: parser.macroCalls } };
  } catch (error) {
    if (error instanceof SyntaxFailure) return { issues: [issueAt(source, error.offset, error.message)] };
    throw error;
  }
}

function codePoints(source: string, limit: number): number {
  let count = 0;
  for (let at = 0; at < source.length && count <= limit; count++)
    at += (source.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

function advance(parser: Parser): Token {
  const token = parser.token;
  parser.token = nextToken(parser.source, token.end);
  return token;
}

function isSymbol(parser: Parser, text: string): boolean {
  return parser.token.kind === 'symbol' && parser.token.text === text;
}

function take(parser: Parser, text: string): boolean {
  if (!isSymbol(parser, text)) return false;
  advance(parser);
  return true;
}

function expect(parser: Parser, text: string): Token {
  if (!isSymbol(parser, text)) throw unexpected(parser, `'${text}'`);
  return advance(parser);
}

function unexpected(parser: Parser, wanted: string): SyntaxFailure {
  const { token, source } = parser;
  const found = token.kind === 'end' ? '<EOF>' : source.slice(token.at, token.end);
  return syntaxError(token.at, `Syntax error: mismatched input '${found}' expecting ${wanted}`);
}

function enter(parser: Parser, by = 1): void {
  parser.depth += by;
  if (parser.depth > parser.options.maxDepth) {
    throw syntaxError(parser.token.at, `expression recursion limit exceeded: ${parser.options.maxDepth}`);
  }
}

function call(parser: Parser, at: number, name: string, ...args: Expr[]): CallExpr {
  return { kind: 'call', id: parser.nextId(), at, function: name, target: undefined, args };
}

function parseTernary(parser: Parser): Expr {
  enter(parser);
  const condition = parseBinary(parser, 1);
  let result = condition;
  if (isSymbol(parser, '?')) {
    const { at } = advance(parser);
    const whenTrue = parseBinary(parser, 1);
    expect(parser, ':');
    const whenFalse = parseTernary(parser);
    result = call(parser, at, '_?_:_', condition, whenTrue, whenFalse);
  }
  parser.depth--;
  return result;
}

/** Left operands are gathered in a loop, but make the tree deeper all the same, which later walks must survive. */
function parseBinary(parser: Parser, least: number): Expr {
  let left = parseUnary(parser);
  let deeper = 0;
  for (;;) {
    const { token } = parser;
    const operator =
      token.kind === 'symbol' && Object.hasOwn(BINARY, token.text) ? BINARY[token.text] : undefined;
    if (!operator || operator[0] < least) break;
    const [power, name] = operator;
    if (power <= 2) {
      left = parseLogical(parser, left, power, name);
      continue;
    }
    advance(parser);
    const right = parseBinary(parser, power + 1);
    left = call(parser, token.at, name, left, right);
    enter(parser);
    deeper++;
  }
  parser.depth -= deeper;
  return left;
}

/** `a || b || c …` becomes a balanced tree: the operators are associative, and long chains stay shallow. */
function parseLogical(parser: Parser, first: Expr, power: number, name: string): Expr {
  const terms = [first];
  const positions: number[] = [];
  while (parser.token.kind === 'symbol' && BINARY[parser.token.text]?.[1] === name) {
    positions.push(advance(parser).at);
    terms.push(parseBinary(parser, power + 1));
  }
  const balance = (low: number, high: number): Expr => {
    const middle = Math.floor((low + high + 1) / 2);
    const left = middle === low ? terms[low] : balance(low, middle - 1);
    const right = middle === high ? terms[middle + 1] : balance(middle + 1, high);
    return call(parser, positions[middle] ?? 0, name, left ?? first, right ?? first);
  };
  return balance(0, positions.length - 1);
}

function parseUnary(parser: Parser): Expr {
  const { token } = parser;
  if (token.kind !== 'symbol' || (token.text !== '!' && token.text !== '-'))
    return parseMember(parser, parsePrimary(parser));
  enter(parser);
  let count = 0;
  while (isSymbol(parser, token.text)) {
    advance(parser);
    count++;
  }
  let operand: Expr;
  const literal = parser.token;
  if (token.text === '-' && count === 1 && literal.kind === 'literal' && isNumeric(literal.value)) {
    // A single sign belongs to the number.
    advance(parser);
    count--;
    operand = parseMember(parser, {
      kind: 'literal',
      id: parser.nextId(),
      at: token.at,
      value: checkedInt(negated(literal.value), token.at),
    });
  } else {
    operand = parseMember(parser, parsePrimary(parser));
  }
  parser.depth--;
  return count % 2 === 0 ? operand : call(parser, token.at, token.text === '!' ? '!_' : '-_', operand);
}

function isNumeric(value: unknown): value is number | bigint | Double {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Double;
}

function checkedInt<T>(value: T, at: number): T {
  if (typeof value === 'bigint' && !isIntLiteral(value)) throw syntaxError(at, 'invalid int literal');
  return value;
}

function parsePrimary(parser: Parser): Expr {
  const { token } = parser;
  if (token.kind === 'literal') {
    advance(parser);
    return { kind: 'literal', id: parser.nextId(), at: token.at, value: checkedInt(token.value, token.at) };
  }
  if (token.kind === 'ident') return parseIdent(parser, '');
  if (token.kind === 'symbol') {
    switch (token.text) {
      case 'true':
      case 'false':
      case 'null':
        advance(parser);
        return {
          kind: 'literal',
          id: parser.nextId(),
          at: token.at,
          value: token.text === 'null' ? null : token.text === 'true',
        };
      case '.':
        advance(parser);
        if (parser.token.kind !== 'ident') throw unexpected(parser, 'an identifier');
        return parseIdent(parser, '.');
      case '(': {
        advance(parser);
        const inner = parseTernary(parser);
        expect(parser, ')');
        return inner;
      }
      case '[':
        return parseList(parser);
      case '{':
        return parseMap(parser);
    }
  }
  throw unexpected(parser, 'an expression');
}

function parseIdent(parser: Parser, prefix: string): Expr {
  const token = advance(parser);
  const text = token.kind === 'ident' ? token.text : '';
  if (RESERVED.has(text)) throw syntaxError(token.at, `reserved identifier: ${text}`);
  const name = prefix + text;
  if (isSymbol(parser, '(')) {
    const at = parser.token.at;
    return expandCall(parser, at, name, undefined, parseArguments(parser));
  }
  return { kind: 'ident', id: parser.nextId(), at: token.at, name };
}

function parseArguments(parser: Parser): Expr[] {
  expect(parser, '(');
  const args: Expr[] = [];
  if (!isSymbol(parser, ')')) {
    do args.push(parseTernary(parser));
    while (take(parser, ','));
  }
  expect(parser, ')');
  return args;
}

function parseMember(parser: Parser, primary: Expr): Expr {
  let expr = primary;
  let deeper = 0;
  for (;;) {
    if (isSymbol(parser, '.')) {
      const { at } = advance(parser);
      const optional = isSymbol(parser, '?');
      if (optional) requireOptionals(parser, at, '.?');
      if (optional) advance(parser);
      const field = parseField(parser);
      if (isSymbol(parser, '(')) {
        if (optional || field.quoted)
          throw unexpected(parser, 'a field, as methods take no quotes or question marks');
        const open = parser.token.at;
        expr = expandCall(parser, open, field.name, expr, parseArguments(parser));
      } else if (optional) {
        const literal: Expr = { kind: 'literal', id: parser.nextId(), at: field.at, value: field.name };
        expr = call(parser, at, '_?._', expr, literal);
      } else {
        expr = { kind: 'select', id: parser.nextId(), at, operand: expr, field: field.name, testOnly: false };
      }
    } else if (isSymbol(parser, '[')) {
      const { at } = advance(parser);
      const optional = isSymbol(parser, '?');
      if (optional) requireOptionals(parser, at, '[?');
      if (optional) advance(parser);
      const index = parseTernary(parser);
      expect(parser, ']');
      expr = call(parser, at, optional ? '_[?_]' : '_[_]', expr, index);
    } else if (isSymbol(parser, '{')) {
      const name = qualifiedName(expr);
      if (name === undefined) break;
      expr = parseStruct(parser, name);
    } else break;
    enter(parser);
    deeper++;
  }
  parser.depth -= deeper;
  return expr;
}

function requireOptionals(parser: Parser, at: number, syntax: string): void {
  if (!parser.options.optionals) throw syntaxError(at, `unsupported syntax '${syntax}'`);
}

function parseField(parser: Parser): { name: string; at: number; quoted: boolean } {
  const token = parser.token;
  if (token.kind === 'quoted-ident') {
    if (!parser.options.quotedFields) throw syntaxError(token.at, "unsupported syntax: '`'");
    advance(parser);
    return { name: token.text, at: token.at, quoted: true };
  }
  if (token.kind === 'end') throw syntaxError(token.at, "Syntax error: no viable alternative at input '.'");
  if (token.kind !== 'ident') throw unexpected(parser, 'a field name');
  advance(parser);
  return { name: token.text, at: token.at, quoted: false };
}

/** `a.b.C` where an expression is nothing but a name, which is what may stand before `{`. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.testOnly) return undefined;
  const operand = qualifiedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}

function takeQuestion(parser: Parser): boolean {
  if (!isSymbol(parser, '?')) return false;
  requireOptionals(parser, parser.token.at, '?');
  advance(parser);
  return true;
}

function parseList(parser: Parser): ListExpr {
  const { at } = expect(parser, '[');
  const id = parser.nextId();
  const elements: Expr[] = [];
  const optional: number[] = [];
  while (!isSymbol(parser, ']')) {
    // A list may be a lone comma, as in Go's grammar.
    if (elements.length === 0 && take(parser, ',')) break;
    if (takeQuestion(parser)) optional.push(elements.length);
    elements.push(parseTernary(parser));
    if (!take(parser, ',')) break;
  }
  expect(parser, ']');
  return { kind: 'list', id, at, elements, optional };
}

function parseMap(parser: Parser): Expr {
  const { at } = expect(parser, '{');
  const id = parser.nextId();
  const entries: MapEntry[] = [];
  while (!isSymbol(parser, '}')) {
    if (entries.length === 0 && take(parser, ',')) break;
    const optional = takeQuestion(parser);
    const key = parseTernary(parser);
    const colon = expect(parser, ':').at;
    const value = parseTernary(parser);
    entries.push({ id: parser.nextId(), at: colon, key, value, optional });
    if (!take(parser, ',')) break;
  }
  expect(parser, '}');
  return { kind: 'map', id, at, entries };
}

function parseStruct(parser: Parser, type: string): Expr {
  const { at } = expect(parser, '{');
  const id = parser.nextId();
  const entries: FieldEntry[] = [];
  while (!isSymbol(parser, '}')) {
    if (entries.length === 0 && take(parser, ',')) break;
    const optional = takeQuestion(parser);
    const field = parseField(parser);
    const colon = expect(parser, ':').at;
    const value = parseTernary(parser);
    entries.push({ id: parser.nextId(), at: colon, field: field.name, value, optional });
    if (!take(parser, ',')) break;
  }
  expect(parser, '}');
  return { kind: 'struct', id, at, type, entries };
}

function expandCall(parser: Parser, at: number, name: string, target: Expr | undefined, args: Expr[]): Expr {
  const written: CallExpr = { kind: 'call', id: parser.nextId(), at, function: name, target, args };
  const receiver = target !== undefined;
  const { macros } = parser.options;
  const macro = macros.get(macroKey(name, receiver, args.length)) ?? macros.get(macroKey(name, receiver, -1));
  const expanded = macro?.expand(parser, written);
  if (!expanded) return written;
  if (weight(parser, expanded) > MAX_NODES) {
    throw syntaxError(at, `expression has more than ${MAX_NODES} nodes once its macros are expanded`);
  }
  parser.macroCalls.set(expanded.id, written);
  return expanded;
}

/** Some macros use what they are given twice, so that a chain of them doubles with each. */
const MAX_NODES = 100_000;

function weight(parser: Parser, expr: Expr): number {
  let known = parser.weights.get(expr);
  if (known === undefined) {
    known = 1;
    for (const child of childrenOf(expr)) known += weight(parser, child);
    parser.weights.set(expr, known);
  }
  return known;
}

/** `count` is −1 for a macro that takes any number of arguments. */
export function macroKey(name: string, receiver: boolean, count: number): string {
  return `${name}:${receiver ? 'method' : 'function'}:${count}`;
}
