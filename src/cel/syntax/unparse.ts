import { Double, Uint } from '../values/value.ts';
import type { CallExpr, Expr, LiteralValue, ParsedExpression } from './ast.ts';
import { quoteBytes, quoteText } from './quoted-literal.ts';

/** An expression as text, which parses to the same tree. Macros are written as they were called. */
export function unparse(ast: ParsedExpression): string {
  return write(ast, ast.expr, 0);
}

const OPERATORS: Readonly<Record<string, readonly [power: number, symbol: string]>> = {
  '_?_:_': [1, '?'],
  '_||_': [2, '||'],
  '_&&_': [3, '&&'],
  '_==_': [4, '=='],
  '_!=_': [4, '!='],
  '_<_': [4, '<'],
  '_<=_': [4, '<='],
  '_>_': [4, '>'],
  '_>=_': [4, '>='],
  '@in': [4, 'in'],
  '_+_': [5, '+'],
  '_-_': [5, '-'],
  '_*_': [6, '*'],
  '_/_': [6, '/'],
  '_%_': [6, '%'],
  '!_': [7, '!'],
  '-_': [7, '-'],
};
const MEMBER = 8;

const IDENT = /^[_a-zA-Z][_a-zA-Z0-9]*$/;
const WORDS: ReadonlySet<string> = new Set(['in', 'true', 'false', 'null']);

function fieldName(name: string): string {
  return IDENT.test(name) && !WORDS.has(name) ? name : `\`${name}\``;
}

/** In parentheses where it binds less than its place asks. */
function write(ast: ParsedExpression, expr: Expr, least: number): string {
  const macro = ast.macroCalls.get(expr.id);
  if (macro) return call(ast, macro);
  const inner = (item: Expr): string => write(ast, item, 0);
  switch (expr.kind) {
    case 'literal':
      return literal(expr.value, least);
    case 'ident':
      return expr.name;
    case 'select': {
      const text = `${write(ast, expr.operand, MEMBER)}.${fieldName(expr.field)}`;
      return expr.testOnly ? `has(${text})` : text;
    }
    case 'call':
      return operatorOrCall(ast, expr, least);
    case 'list': {
      const optional = new Set(expr.optional);
      return `[${expr.elements.map((item, index) => (optional.has(index) ? '?' : '') + inner(item)).join(', ')}]`;
    }
    case 'map':
      return `{${expr.entries.map(({ optional, key, value }) => `${optional ? '?' : ''}${inner(key)}: ${inner(value)}`).join(', ')}}`;
    case 'struct': {
      const fields = expr.entries.map(
        ({ optional, field, value }) => `${optional ? '?' : ''}${fieldName(field)}: ${inner(value)}`,
      );
      return `${expr.type}{${fields.join(', ')}}`;
    }
    case 'comprehension':
      // Only macros make folds, and those are written as macros.
      return `__fold__(${[expr.range, expr.init, expr.condition, expr.step, expr.result].map(inner).join(', ')})`;
  }
}

function literal(value: LiteralValue, least: number): string {
  if (typeof value === 'string') return quoteText(value);
  if (value instanceof Uint8Array) return quoteBytes(value);
  if (value instanceof Uint) return `${value.value}u`;
  const text = value instanceof Double ? doubleLiteral(value.value) : String(value);
  return text.startsWith('-') && least >= 7 ? `(${text})` : text;
}

/** With a point or an exponent, so that it is no int. */
function doubleLiteral(value: number): string {
  const text = Object.is(value, -0) ? '-0.0' : String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

function operatorOrCall(ast: ParsedExpression, expr: CallExpr, least: number): string {
  const [first, second, third] = expr.args;
  if (expr.target !== undefined || !first) return call(ast, expr);
  if (second && expr.function === '_[_]') return `${write(ast, first, MEMBER)}[${write(ast, second, 0)}]`;
  if (second && expr.function === '_[?_]') return `${write(ast, first, MEMBER)}[?${write(ast, second, 0)}]`;
  if (expr.function === '_?._' && second?.kind === 'literal') {
    return `${write(ast, first, MEMBER)}.?${fieldName(String(second.value))}`;
  }
  const operator = Object.hasOwn(OPERATORS, expr.function) ? OPERATORS[expr.function] : undefined;
  if (!operator) return call(ast, expr);
  const [power, symbol] = operator;
  let text: string;
  if (power === 7) text = unary(ast, symbol, first);
  else if (third && second) {
    text = `${write(ast, first, 2)} ? ${write(ast, second, 2)} : ${write(ast, third, 1)}`;
  } else if (second && power <= 3) {
    // A chain is read as a balanced tree; one that is shaped otherwise needs its parentheses.
    const operands = balanced(expr, leaves(expr, expr.function)) ? power : power + 1;
    text = `${write(ast, first, operands)} ${symbol} ${write(ast, second, operands)}`;
  } else text = `${write(ast, first, power)} ${symbol} ${second ? write(ast, second, power + 1) : ''}`;
  return power < least ? `(${text})` : text;
}

function leaves(expr: Expr | undefined, name: string): number {
  if (expr?.kind !== 'call' || expr.function !== name || expr.target !== undefined) return 1;
  return leaves(expr.args[0], name) + leaves(expr.args[1], name);
}

/** Whether the parser would make the same tree of so many operands in a row. */
function balanced(expr: Expr | undefined, count: number): boolean {
  if (count === 1 || expr?.kind !== 'call') return true;
  const [left, right] = expr.args;
  const before = leaves(left, expr.function);
  return (
    before === Math.floor((count - 1) / 2) + 1 && balanced(left, before) && balanced(right, count - before)
  );
}

/** Two signs in a row would cancel each other, and a sign before a number would become part of it. */
function unary(ast: ParsedExpression, symbol: string, operand: Expr): string {
  const isSame =
    operand.kind === 'call' && operand.target === undefined && ['!_', '-_'].includes(operand.function);
  const startsWithNumber = symbol === '-' && /^[0-9.]/.test(write(ast, operand, MEMBER));
  const text = write(ast, operand, MEMBER);
  return isSame || startsWithNumber ? `${symbol}(${write(ast, operand, 0)})` : symbol + text;
}

function call(ast: ParsedExpression, expr: CallExpr): string {
  const args = expr.args.map((arg) => write(ast, arg, 0)).join(', ');
  return expr.target
    ? `${write(ast, expr.target, MEMBER)}.${expr.function}(${args})`
    : `${expr.function}(${args})`;
}
