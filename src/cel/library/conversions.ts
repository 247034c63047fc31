import { fixed, UNKNOWN_SIZE } from '../check/cost-range.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  STRING,
  TIMESTAMP,
  type Type,
  typeParam,
  UINT,
} from '../types/type.ts';
import { doubleText } from '../values/double-text.ts';
import { type Int, intResult, MAX_UINT, toInt } from '../values/integer.ts';
import {
  formatDuration,
  formatTimestamp,
  parseDuration,
  parseTimestamp,
  timestampResult,
} from '../values/time.ts';
import { CelError, Double, type Duration, type Timestamp, Uint, type Value } from '../values/value.ts';
import { traversal } from './cost.ts';
import { type FunctionDeclaration, globalOverload, type Overload } from './function.ts';

const RANGE = new CelError('range error');
/** The first doubles beyond 64 bits. */
const INT_LIMIT = 2 ** 63;
const UINT_LIMIT = 2 ** 64;

function conversion(
  name: string,
  result: Type,
  from: readonly (readonly [Type, (value: Value) => Value, Partial<Overload>?])[],
): FunctionDeclaration {
  return {
    name,
    overloads: from.map(([type, run, details]) =>
      globalOverload(`${type.kind}_to_${result.kind}`, [type], result, run, details),
    ),
  };
}

const same = (value: Value): Value => value;
const text = (value: Value): string => value as string;
const number = (value: Value): number => (value as Double).value;

function intFromDouble(value: number): Value {
  // The limits themselves are excluded on both sides, as the lower one may have been rounded.
  return value > -INT_LIMIT && value < INT_LIMIT ? toInt(BigInt(Math.trunc(value))) : RANGE;
}

function uintFromDouble(value: number): Value {
  return value >= 0 && value < UINT_LIMIT ? new Uint(BigInt(Math.trunc(value))) : RANGE;
}

function intFromText(value: string): Value {
  return /^[+-]?[0-9]{1,40}$/.test(value)
    ? intResult(BigInt(value.replace(/^\+/, '')))
    : conversionError('int');
}

function uintFromText(value: string): Value {
  if (!/^[0-9]{1,40}$/.test(value)) return conversionError('uint');
  const parsed = BigInt(value);
  return parsed > MAX_UINT ? RANGE : new Uint(parsed);
}

const DECIMAL = /^[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?$/;

function doubleFromText(value: string): Value {
  const special = /^([+-]?)(inf|infinity|nan)$/i.exec(value);
  if (special) {
    if (special[2]?.toLowerCase() === 'nan') return new Double(Number.NaN);
    return new Double(special[1] === '-' ? -Infinity : Infinity);
  }
  return DECIMAL.test(value) ? new Double(Number(value)) : conversionError('double');
}

function boolFromText(value: string): Value {
  if (['1', 't', 'T', 'TRUE', 'true', 'True'].includes(value)) return true;
  if (['0', 'f', 'F', 'FALSE', 'false', 'False'].includes(value)) return false;
  return conversionError('bool');
}

function conversionError(kind: string): CelError {
  return new CelError(`type conversion error from 'string' to '${kind}'`);
}

function textFromBytes(value: Uint8Array): Value {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(value);
  } catch (error) {
    // The only way to learn that bytes are not UTF-8.
    if (error instanceof TypeError) return new CelError('invalid UTF-8 in bytes, cannot convert to string');
    throw error;
  }
}

const SAME_SIZE: Partial<Overload> = {
  estimate: ([value]) => ({ cost: fixed(1), resultSize: value?.size ?? UNKNOWN_SIZE }),
};

export const conversions: readonly FunctionDeclaration[] = [
  conversion('bool', BOOL, [
    [BOOL, same],
    [STRING, (value) => boolFromText(text(value))],
  ]),
  conversion('int', INT, [
    [INT, same],
    [UINT, (value) => intOfUint((value as Uint).value)],
    [DOUBLE, (value) => intFromDouble(number(value))],
    [STRING, (value) => intFromText(text(value))],
    [TIMESTAMP, (value) => (value as Timestamp).seconds],
    [DURATION, (value) => toInt((value as Duration).nanos)],
  ]),
  conversion('uint', UINT, [
    [UINT, same],
    [INT, (value) => (Number(value) < 0 ? RANGE : new Uint(BigInt(value as Int)))],
    [DOUBLE, (value) => uintFromDouble(number(value))],
    [STRING, (value) => uintFromText(text(value))],
  ]),
  conversion('double', DOUBLE, [
    [DOUBLE, same],
    [INT, (value) => new Double(Number(value))],
    [UINT, (value) => new Double(Number((value as Uint).value))],
    [STRING, (value) => doubleFromText(text(value))],
  ]),
  conversion('string', STRING, [
    [STRING, same, SAME_SIZE],
    [BOOL, (value) => String(value)],
    [INT, (value) => String(value)],
    [UINT, (value) => String((value as Uint).value)],
    [DOUBLE, (value) => doubleText(number(value))],
    [BYTES, (value) => textFromBytes(value as Uint8Array), traversal(0, 1, { resultIsSize: true })],
    [TIMESTAMP, (value) => formatTimestamp(value as Timestamp)],
    [DURATION, (value) => formatDuration(value as Duration)],
  ]),
  conversion('bytes', BYTES, [
    [BYTES, same, SAME_SIZE],
    [
      STRING,
      (value) => new TextEncoder().encode(text(value)),
      {
        ...traversal(0),
        // A character takes up to four bytes.
        estimate: ([value]) => {
          const size = value?.size ?? UNKNOWN_SIZE;
          return {
            cost: traversal(0).estimate([value ?? emptyArgument]).cost,
            resultSize: { min: size.min, max: size.max * 4 },
          };
        },
      },
    ],
  ]),
  conversion('timestamp', TIMESTAMP, [
    [TIMESTAMP, same],
    [STRING, (value) => parseTimestamp(text(value))],
    [INT, (value) => timestampResult(Number(value), 0)],
  ]),
  conversion('duration', DURATION, [
    [DURATION, same],
    [STRING, (value) => parseDuration(text(value))],
  ]),
];

const emptyArgument = {
  type: STRING,
  size: UNKNOWN_SIZE,
  elementSize: () => UNKNOWN_SIZE,
  elementType: typeParam('A'),
  literal: undefined,
};

function intOfUint(value: bigint): Value {
  return value >= 2n ** 63n ? RANGE : toInt(value);
}
