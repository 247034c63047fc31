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
import { advance, type Lexer, RESERVED } from './lexer.ts';
import type { Macro, MacroFactory } from './macros.ts';
import { isIntLiteral, negated } from './number-literal.ts';
import { type ExpressionIssue, issueAt } from './source-position.ts';
import { SyntaxFailure, syntaxError } from './syntax-error.ts';
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  CLOSE_PAREN,
  COLON,
  COMMA,
  DOT,
  END,
  FALSE,
  IDENT,
  LITERAL,
  MINUS,
  NOT,
  NULL_WORD,
  OPEN_BRACE,
  OPEN_BRACKET,
  OPEN_PAREN,
  OPERATOR,
  POWER,
  QUESTION,
  QUOTED_IDENT,
  type TokenKind,
  TRUE,
} from './token.ts';

export interface ParseOptions {
  /** By name. */
  readonly macros: ReadonlyMap<string, readonly Macro[]>;
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

/** Reads the source once, and makes nothing but the nodes of the tree. */
interface Parser extends Lexer {
  readonly options: ParseOptions;
  ids: number;
  depth: number;
  /** Most expressions have no macros, and need none of it. */
  expansion: Expansion | undefined;
}

interface Expansion {
  readonly factory: MacroFactory;
  readonly calls: Map<number, CallExpr>;
  readonly weights: Map<Expr, number>;
}

const NO_CALLS: ReadonlyMap<number, CallExpr> = new Map();

export function parseExpression(source: string, options: ParseOptions): ParseResult {
  // A code point takes at most two units, so most texts need no counting.
  if (source.length > options.maxLength && codePoints(source, options.maxLength) > options.maxLength) {
    const message = `expression code point size exceeds limit: size: ${source.length}, limit ${options.maxLength}`;
    return { issues: [issueAt(source, 0, message)] };
  }
  const parser: Parser = {
    source,
    options,
    kind: END,
    at: 0,
    end: 0,
    text: '',
    value: null,
    ids: 1,
    depth: 0,
    expansion: undefined,
  };
  try {
    advance(parser);
    const expr = parseTernary(parser);
    if (parser.kind !== END) throw unexpected(parser, '<EOF>');
    const macroCalls = parser.expansion === undefined ? NO_CALLS : parser.expansion.calls;
    return { ast: { source, expr, idCount: parser.ids, macroCalls } };
  } catch (error) {
    if (error instanceof SyntaxFailure) return { issues: [issueAt(source, error.offset, error.message)] };
    throw error;
  }
}

/** What an expression may begin with, as the reference grammar's parser lists it. */
const EXPRESSION_START =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

function codePoints(source: string, limit: number): number {
  let count = 0;
  for (let at = 0; at < source.length && count <= limit; count++)
    at += (source.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}

function take(parser: Parser, kind: TokenKind): boolean {
  if (parser.kind !== kind) return false;
  advance(parser);
  return true;
}

/** Where the token was. */
function expect(parser: Parser, kind: TokenKind, text: string): number {
  const { at } = parser;
  if (parser.kind !== kind) throw unexpected(parser, `'${text}'`);
  advance(parser);
  return at;
}

function unexpected(parser: Parser, wanted: string): SyntaxFailure {
  const found = parser.kind === END ? '<EOF>' : parser.source.slice(parser.at, parser.end);
  return syntaxError(parser.at, `Syntax error: mismatched input '${found}' expecting ${wanted}`);
}

function enter(parser: Parser): void {
  if (++parser.depth > parser.options.maxDepth) {
    throw syntaxError(parser.at, `expression recursion limit exceeded: ${parser.options.maxDepth}`);
  }
}

function operation(parser: Parser, at: number, name: string, args: readonly Expr[]): CallExpr {
  return { kind: 'call', id: parser.ids++, at, function: name, target: undefined, args };
}

function parseTernary(parser: Parser): Expr {
  enter(parser);
  let result = parseBinary(parser, 1);
  if (parser.kind === QUESTION) {
    const { at } = parser;
    advance(parser);
    const whenTrue = parseBinary(parser, 1);
    expect(parser, COLON, ':');
    const whenFalse = parseTernary(parser);
    result = operation(parser, at, '_?_:_', [result, whenTrue, whenFalse]);
  }
  parser.depth--;
  return result;
}

/** Left operands are gathered in a loop, but make the tree deeper all the same, which later walks must survive. */
function parseBinary(parser: Parser, least: number): Expr {
  let left = parseUnary(parser);
  let deeper = 0;
  for (;;) {
    const { kind, at } = parser;
    const power = POWER[kind] as number;
    if (power < least) break;
    if (power <= 2) {
      left = parseLogical(parser, left, power, kind);
      continue;
    }
    advance(parser);
    const right = parseBinary(parser, power + 1);
    left = operation(parser, at, OPERATOR[kind] as string, [left, right]);
    enter(parser);
    deeper++;
  }
  parser.depth -= deeper;
  return left;
}

/** `a || b || c …` becomes a balanced tree: the operators are associative, and long chains stay shallow. */
function parseLogical(parser: Parser, first: Expr, power: number, kind: TokenKind): Expr {
  const name = OPERATOR[kind] as string;
  const { at } = parser;
  advance(parser);
  const second = parseBinary(parser, power + 1);
  if (parser.kind !== kind) return operation(parser, at, name, [first, second]);
  const terms = [first, second];
  const positions = [at];
  while (parser.kind === kind) {
    positions.push(parser.at);
    advance(parser);
    terms.push(parseBinary(parser, power + 1));
  }
  const balance = (low: number, high: number): Expr => {
    const middle = Math.floor((low + high + 1) / 2);
    const left = middle === low ? terms[low] : balance(low, middle - 1);
    const right = middle === high ? terms[middle + 1] : balance(middle + 1, high);
    return operation(parser, positions[middle] ?? 0, name, [left ?? first, right ?? first]);
  };
  return balance(0, positions.length - 1);
}

function parseUnary(parser: Parser): Expr {
  const { kind, at } = parser;
  if (kind !== NOT && kind !== MINUS) return parseMember(parser);
  enter(parser);
  let count = 0;
  while (parser.kind === kind) {
    advance(parser);
    count++;
  }
  let operand: Expr;
  const { value } = parser;
  if (kind === MINUS && count === 1 && parser.kind === LITERAL && isNumeric(value)) {
    // A single sign belongs to the number.
    advance(parser);
    count--;
    const sum = checkedInt(negated(value), at);
    operand = parseSuffixes(parser, { kind: 'literal', id: parser.ids++, at, value: sum });
  } else {
    operand = parseMember(parser);
  }
  parser.depth--;
  return count % 2 === 0 ? operand : operation(parser, at, kind === NOT ? '!_' : '-_', [operand]);
}

function isNumeric(value: unknown): value is number | bigint | Double {
  return typeof value === 'number' || typeof value === 'bigint' || value instanceof Double;
}

function checkedInt<T>(value: T, at: number): T {
  if (typeof value === 'bigint' && !isIntLiteral(value)) throw syntaxError(at, 'invalid int literal');
  return value;
}

function parseMember(parser: Parser): Expr {
  const primary = parsePrimary(parser);
  const { kind } = parser;
  return kind === DOT || kind === OPEN_BRACKET || kind === OPEN_BRACE
    ? parseSuffixes(parser, primary)
    : primary;
}

function parsePrimary(parser: Parser): Expr {
  const { at, kind } = parser;
  switch (kind) {
    case IDENT:
      return parseIdent(parser, '');
    case LITERAL: {
      const value = checkedInt(parser.value, at);
      advance(parser);
      return { kind: 'literal', id: parser.ids++, at, value };
    }
    case TRUE:
    case FALSE:
    case NULL_WORD: {
      const value = kind === NULL_WORD ? null : kind === TRUE;
      advance(parser);
      return { kind: 'literal', id: parser.ids++, at, value };
    }
    case DOT:
      advance(parser);
      if (parser.kind !== IDENT) throw unexpected(parser, 'an identifier');
      return parseIdent(parser, '.');
    case OPEN_PAREN: {
      advance(parser);
      const inner = parseTernary(parser);
      expect(parser, CLOSE_PAREN, ')');
      return inner;
    }
    case OPEN_BRACKET:
      return parseList(parser);
    case OPEN_BRACE:
      return parseMap(parser);
    default:
      throw unexpected(parser, EXPRESSION_START);
  }
}

/** Words kept for later have two to nine letters. */
const LONGEST_RESERVED = 9;

function parseIdent(parser: Parser, prefix: string): Expr {
  const { at, text } = parser;
  if (text.length <= LONGEST_RESERVED && RESERVED.has(text)) {
    throw syntaxError(at, `reserved identifier: ${text}`);
  }
  advance(parser);
  const name = prefix === '' ? text : prefix + text;
  if (parser.kind === OPEN_PAREN) {
    const open = parser.at;
    return expandCall(parser, open, name, undefined, parseArguments(parser));
  }
  return { kind: 'ident', id: parser.ids++, at, name };
}

function parseArguments(parser: Parser): Expr[] {
  expect(parser, OPEN_PAREN, '(');
  const args: Expr[] = [];
  if (parser.kind !== CLOSE_PAREN) {
    do args.push(parseTernary(parser));
    while (take(parser, COMMA));
  }
  expect(parser, CLOSE_PAREN, ')');
  return args;
}

function parseSuffixes(parser: Parser, primary: Expr): Expr {
  let expr = primary;
  let deeper = 0;
  for (;;) {
    const { kind, at } = parser;
    if (kind === DOT) {
      advance(parser);
      expr = parseField(parser, expr, at);
    } else if (kind === OPEN_BRACKET) {
      advance(parser);
      const optional = takeOptional(parser, at, '[?');
      const index = parseTernary(parser);
      expect(parser, CLOSE_BRACKET, ']');
      expr = operation(parser, at, optional ? '_[?_]' : '_[_]', [expr, index]);
    } else if (kind === OPEN_BRACE) {
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

/** What comes after a dot. */
function parseField(parser: Parser, operand: Expr, dot: number): Expr {
  const optional = takeOptional(parser, dot, '.?');
  const { at } = parser;
  const quoted = parser.kind === QUOTED_IDENT;
  const field = fieldName(parser);
  if (parser.kind === OPEN_PAREN) {
    if (optional || quoted) throw unexpected(parser, 'a field, as methods take no quotes or question marks');
    const open = parser.at;
    return expandCall(parser, open, field, operand, parseArguments(parser));
  }
  if (!optional) return { kind: 'select', id: parser.ids++, at: dot, operand, field, testOnly: false };
  const name: Expr = { kind: 'literal', id: parser.ids++, at, value: field };
  return operation(parser, dot, '_?._', [operand, name]);
}

function takeOptional(parser: Parser, at: number, syntax: string): boolean {
  if (parser.kind !== QUESTION) return false;
  if (!parser.options.optionals) throw syntaxError(at, `unsupported syntax '${syntax}'`);
  advance(parser);
  return true;
}

function fieldName(parser: Parser): string {
  const { kind, text } = parser;
  if (kind === QUOTED_IDENT && !parser.options.quotedFields) {
    throw syntaxError(parser.at, "unsupported syntax: '`'");
  }
  if (kind === END) throw syntaxError(parser.at, "Syntax error: no viable alternative at input '.'");
  if (kind !== IDENT && kind !== QUOTED_IDENT) throw unexpected(parser, 'a field name');
  advance(parser);
  return text;
}

/** `a.b.C` where an expression is nothing but a name, which is what may stand before `{`. */
export function qualifiedName(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.testOnly) return undefined;
  const operand = qualifiedName(expr.operand);
  return operand === undefined ? undefined : `${operand}.${expr.field}`;
}

const NO_INDICES: readonly number[] = [];

function parseList(parser: Parser): ListExpr {
  const at = expect(parser, OPEN_BRACKET, '[');
  const id = parser.ids++;
  const elements: Expr[] = [];
  let optional: number[] | undefined;
  while (parser.kind !== CLOSE_BRACKET) {
    // A list may be a lone comma, as in Go's grammar.
    if (elements.length === 0 && take(parser, COMMA)) break;
    if (takeOptional(parser, parser.at, '?')) {
      optional ??= [];
      optional.push(elements.length);
    }
    elements.push(parseTernary(parser));
    if (!take(parser, COMMA)) break;
  }
  expect(parser, CLOSE_BRACKET, ']');
  return { kind: 'list', id, at, elements, optional: optional ?? NO_INDICES };
}

function parseMap(parser: Parser): Expr {
  const at = expect(parser, OPEN_BRACE, '{');
  const id = parser.ids++;
  const entries: MapEntry[] = [];
  while (parser.kind !== CLOSE_BRACE) {
    if (entries.length === 0 && take(parser, COMMA)) break;
    const optional = takeOptional(parser, parser.at, '?');
    const key = parseTernary(parser);
    const colon = expect(parser, COLON, ':');
    const value = parseTernary(parser);
    entries.push({ id: parser.ids++, at: colon, key, value, optional });
    if (!take(parser, COMMA)) break;
  }
  expect(parser, CLOSE_BRACE, '}');
  return { kind: 'map', id, at, entries };
}

function parseStruct(parser: Parser, type: string): Expr {
  const at = expect(parser, OPEN_BRACE, '{');
  const id = parser.ids++;
  const entries: FieldEntry[] = [];
  while (parser.kind !== CLOSE_BRACE) {
    if (entries.length === 0 && take(parser, COMMA)) break;
    const optional = takeOptional(parser, parser.at, '?');
    const field = fieldName(parser);
    const colon = expect(parser, COLON, ':');
    const value = parseTernary(parser);
    entries.push({ id: parser.ids++, at: colon, field, value, optional });
    if (!take(parser, COMMA)) break;
  }
  expect(parser, CLOSE_BRACE, '}');
  return { kind: 'struct', id, at, type, entries };
}

function expandCall(parser: Parser, at: number, name: string, target: Expr | undefined, args: Expr[]): Expr {
  const written: CallExpr = { kind: 'call', id: parser.ids++, at, function: name, target, args };
  const macros = parser.options.macros.get(name);
  const macro = macros && macroOf(macros, target !== undefined, args.length);
  if (!macro) return written;
  parser.expansion ??= expansionOf(parser);
  const { factory, calls } = parser.expansion;
  const expanded = macro.expand(factory, written);
  if (!expanded) return written;
  if (weight(parser.expansion.weights, expanded) > MAX_NODES) {
    throw syntaxError(at, `expression has more than ${MAX_NODES} nodes once its macros are expanded`);
  }
  calls.set(expanded.id, written);
  return expanded;
}

function expansionOf(parser: Parser): Expansion {
  return {
    factory: { source: parser.source, nextId: () => parser.ids++ },
    calls: new Map(),
    weights: new Map(),
  };
}

/** One for that very number of arguments before one for any number. */
function macroOf(macros: readonly Macro[], receiver: boolean, count: number): Macro | undefined {
  let any: Macro | undefined;
  for (const macro of macros) {
    if (macro.receiver !== receiver) continue;
    if (macro.argumentCount === count) return macro;
    if (macro.argumentCount === -1) any = macro;
  }
  return any;
}

/** Some macros use what they are given twice, so that a chain of them doubles with each. */
const MAX_NODES = 100_000;

function weight(weights: Map<Expr, number>, expr: Expr): number {
  let known = weights.get(expr);
  if (known === undefined) {
    known = 1;
    for (const child of childrenOf(expr)) known += weight(weights, child);
    weights.set(expr, known);
  }
  return known;
}
