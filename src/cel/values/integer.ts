import type { Value } from './value.ts';
import { CelError, Uint } from './value.ts';

/**
 * 64-bit integers. An int is a number where that holds it exactly, and a bigint beyond ±2⁵³; each value has one form only, so
 * that `===` compares. Arithmetic on numbers stays on numbers unless the result leaves the safe range.
 */
export type Int = number | bigint;

export const MAX_INT: bigint = 2n ** 63n - 1n;
export const MIN_INT: bigint = -(2n ** 63n);
export const MAX_UINT: bigint = 2n ** 64n - 1n;
const MAX_SAFE = BigInt(Number.MAX_SAFE_INTEGER);

/** The one form of an int that is known to be in range. */
export function toInt(value: bigint): Int {
  return value <= MAX_SAFE && value >= -MAX_SAFE ? Number(value) : value;
}

const INT_OVERFLOW = new CelError('integer overflow');
const UINT_OVERFLOW = new CelError('unsigned integer overflow');
const DIVIDE_BY_ZERO = new CelError('division by zero');
const MODULUS_BY_ZERO = new CelError('modulus by zero');

export function intResult(value: bigint): Int | CelError {
  return value > MAX_INT || value < MIN_INT ? INT_OVERFLOW : toInt(value);
}

export function uintResult(value: bigint): Uint | CelError {
  return value > MAX_UINT || value < 0n ? UINT_OVERFLOW : new Uint(value);
}

export function addInts(a: Int, b: Int): Int | CelError {
  if (typeof a === 'number' && typeof b === 'number') {
    const sum = a + b;
    if (Number.isSafeInteger(sum)) return sum;
  }
  return intResult(BigInt(a) + BigInt(b));
}

export function subtractInts(a: Int, b: Int): Int | CelError {
  if (typeof a === 'number' && typeof b === 'number') {
    const difference = a - b;
    if (Number.isSafeInteger(difference)) return difference;
  }
  return intResult(BigInt(a) - BigInt(b));
}

export function multiplyInts(a: Int, b: Int): Int | CelError {
  if (typeof a === 'number' && typeof b === 'number') {
    const product = a * b;
    // `+ 0` keeps −0 out.
    if (Number.isSafeInteger(product)) return product + 0;
  }
  return intResult(BigInt(a) * BigInt(b));
}

/** Toward zero. */
export function divideInts(a: Int, b: Int): Int | CelError {
  if (b === 0) return DIVIDE_BY_ZERO;
  if (typeof a === 'number' && typeof b === 'number')
    return Math.trunc(a / b) === a / b || Math.abs(a) < 2 ** 31
      ? Math.trunc(a / b) + 0
      : toInt(BigInt(a) / BigInt(b));
  return intResult(BigInt(a) / BigInt(b));
}

/** With the sign of the dividend. */
export function remainderInts(a: Int, b: Int): Int | CelError {
  if (b === 0) return MODULUS_BY_ZERO;
  if (typeof a === 'number' && typeof b === 'number') return (a % b) + 0;
  // Go refuses the one quotient that does not fit, though the remainder would.
  if (BigInt(b) === -1n && BigInt(a) === MIN_INT) return INT_OVERFLOW;
  return intResult(BigInt(a) % BigInt(b));
}

export function negateInt(a: Int): Int | CelError {
  return typeof a === 'number' ? 0 - a : intResult(-a);
}

export function divideUints(a: Uint, b: Uint): Value {
  return b.value === 0n ? DIVIDE_BY_ZERO : new Uint(a.value / b.value);
}

export function remainderUints(a: Uint, b: Uint): Value {
  return b.value === 0n ? MODULUS_BY_ZERO : new Uint(a.value % b.value);
}
