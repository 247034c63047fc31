import { MAX_INT, MAX_UINT, MIN_INT, toInt } from '../values/integer.ts';
import { Double, Uint } from '../values/value.ts';
import type { LiteralToken } from './lexer.ts';
import { syntaxError } from './syntax-error.ts';

const DOUBLE = /(?:[0-9]+\.[0-9]+(?:[eE][-+]?[0-9]+)?|[0-9]+[eE][-+]?[0-9]+|\.[0-9]+(?:[eE][-+]?[0-9]+)?)/y;
const INTEGER = /(0x[0-9a-fA-F]+|[0-9]+)([uU]?)/y;

/** Any number. The sign is not part of the token: {@link negated} puts it there, so that the least int can be written. */
export function readNumber(source: string, at: number): LiteralToken {
  DOUBLE.lastIndex = at;
  const double = DOUBLE.exec(source);
  if (double) {
    const value = Number(double[0]);
    if (!Number.isFinite(value)) throw syntaxError(at, 'invalid double literal');
    return { end: DOUBLE.lastIndex, value: new Double(value) };
  }
  INTEGER.lastIndex = at;
  const integer = INTEGER.exec(source);
  if (!integer) throw syntaxError(at, `Syntax error: token recognition error at: '${source[at] ?? ''}'`);
  const end = INTEGER.lastIndex;
  const value = BigInt(integer[1] ?? '0');
  if (integer[2]) {
    if (value > MAX_UINT) throw syntaxError(at, 'invalid uint literal');
    return { end, value: new Uint(value) };
  }
  // One beyond the largest is kept for the sign that may stand before it.
  if (value > -MIN_INT) throw syntaxError(at, 'invalid int literal');
  return { end, value: toInt(value) };
}

export function negated(value: number | bigint | Double): number | bigint | Double {
  if (value instanceof Double) return new Double(-value.value);
  // `0 -` keeps −0 out.
  return typeof value === 'number' ? 0 - value : toInt(-value);
}

export function isIntLiteral(value: number | bigint): boolean {
  return typeof value === 'number' || (value <= MAX_INT && value >= MIN_INT);
}
