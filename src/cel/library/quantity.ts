import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  quantityNumber,
  subtractQuantities,
} from '../../schema/quantity.ts';
import { BOOL, DOUBLE, INT, opaqueType, STRING, type Type } from '../types/type.ts';
import { type Int, intResult } from '../values/integer.ts';
import { CelError, Double, Opaque, type OpaqueKind, type Value } from '../values/value.ts';
import { nominal, traversal } from './cost.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  type Library,
  memberOverload,
  type Overload,
} from './function.ts';

export const QUANTITY: Type = opaqueType('kubernetes.Quantity');
const NANO = 1_000_000_000n;

export const quantityKind: OpaqueKind<Quantity> = {
  type: QUANTITY,
  name: 'kubernetes.Quantity',
  equals: (a, b) => compareQuantities(a, b) === 0,
  toText: formatQuantity,
};

const wrap = (value: Quantity): Value => new Opaque(quantityKind, value) as Opaque;
const held = (value: Value): Quantity => (value as Opaque<Quantity>).value;
const compare = (a: Value, b: Value): number => compareQuantities(held(a), held(b));
const ofInt = (value: Value): Quantity => ({ nanos: BigInt(value as Int) * NANO, format: 'DecimalSI' });

function parse(text: Value): Value {
  const found = parseQuantity(text);
  return found
    ? wrap(found)
    : new CelError(
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
      );
}

function asInteger(value: Value): Value {
  const { nanos } = held(value);
  const inexact = new CelError('cannot convert value to integer');
  if (nanos % NANO !== 0n) return inexact;
  const result = intResult(nanos / NANO);
  return result instanceof CelError ? inexact : result;
}

function isInteger(value: Value): boolean {
  return !(asInteger(value) instanceof CelError);
}

function declare(name: string, ...overloads: Overload[]): FunctionDeclaration {
  return { name, overloads };
}
const PAIR = [QUANTITY, QUANTITY];

/** Amounts such as `1.5Gi`. */
export const quantityLibrary: Library = {
  name: 'quantity',
  functions: [
    declare('quantity', globalOverload('string_to_quantity', [STRING], QUANTITY, parse, traversal(0))),
    declare(
      'isQuantity',
      globalOverload(
        'is_quantity_string',
        [STRING],
        BOOL,
        (text) => parseQuantity(text) !== undefined,
        traversal(0),
      ),
    ),
    declare(
      'sign',
      memberOverload(
        'quantity_sign',
        [QUANTITY],
        INT,
        (value) => (held(value).nanos > 0n ? 1 : held(value).nanos < 0n ? -1 : 0),
        nominal,
      ),
    ),
    declare('isInteger', memberOverload('quantity_is_integer', [QUANTITY], BOOL, isInteger, nominal)),
    declare('asInteger', memberOverload('quantity_as_integer', [QUANTITY], INT, asInteger, nominal)),
    declare(
      'asApproximateFloat',
      memberOverload(
        'quantity_as_float',
        [QUANTITY],
        DOUBLE,
        (value) => new Double(quantityNumber(held(value))),
        nominal,
      ),
    ),
    declare(
      'isGreaterThan',
      memberOverload('quantity_greater_than', PAIR, BOOL, (a, b) => compare(a, b) > 0, nominal),
    ),
    declare(
      'isLessThan',
      memberOverload('quantity_less_than', PAIR, BOOL, (a, b) => compare(a, b) < 0, nominal),
    ),
    declare('compareTo', memberOverload('quantity_compare_to', PAIR, INT, compare, nominal)),
    declare(
      'add',
      memberOverload(
        'quantity_add',
        PAIR,
        QUANTITY,
        (a, b) => wrap(addQuantities(held(a), held(b))),
        nominal,
      ),
      memberOverload(
        'quantity_add_int',
        [QUANTITY, INT],
        QUANTITY,
        (a, b) => wrap(addQuantities(held(a), ofInt(b))),
        nominal,
      ),
    ),
    declare(
      'sub',
      memberOverload(
        'quantity_sub',
        PAIR,
        QUANTITY,
        (a, b) => wrap(subtractQuantities(held(a), held(b))),
        nominal,
      ),
      memberOverload(
        'quantity_sub_int',
        [QUANTITY, INT],
        QUANTITY,
        (a, b) => wrap(subtractQuantities(held(a), ofInt(b))),
        nominal,
      ),
    ),
  ],
};
