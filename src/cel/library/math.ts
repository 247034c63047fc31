import { BOOL, DOUBLE, DYN, INT, listType, type Type, UINT } from '../types/type.ts';
import { compareValues, numeric } from '../values/equality.ts';
import { type Int, intResult, MAX_UINT, negateInt, toInt } from '../values/integer.ts';
import type { List } from '../values/list.ts';
import { CelError, Double, Uint, type Value } from '../values/value.ts';
import { perElement } from './cost.ts';
import { type FunctionDeclaration, globalOverload, type Library, type Overload } from './function.ts';

const NUMBERS = [INT, UINT, DOUBLE] as const;
const MAX_ARGUMENTS = 16;

/** The greatest or the least of numbers of any kinds; the first of equal ones. */
function extreme(name: string, sign: 1 | -1): FunctionDeclaration {
  const best = (values: readonly Value[]): Value => {
    let found: Value | undefined;
    for (const value of values) {
      if (numeric(value) === undefined) return new CelError(`no such overload: ${name}`);
      if (found === undefined || (compareValues(value, found) ?? 0) * sign > 0) found = value;
    }
    return found ?? new CelError(`${name}: the list is empty`);
  };
  const id = name.replace('.', '_');
  const overloads: Overload[] = NUMBERS.flatMap((type) => [
    globalOverload(`${id}_${type.kind}`, [type], type, (value) => value),
    globalOverload(
      `${id}_list_${type.kind}`,
      [listType(type)],
      type,
      (list) => best((list as List).toArray()),
      perElement(0),
    ),
  ]);
  for (const left of NUMBERS) {
    for (const right of NUMBERS) {
      const result = left === right ? left : DYN;
      const pair = `${id}_${left.kind}_${right.kind}`;
      overloads.push(globalOverload(pair, [left, right], result, (...values) => best(values)));
    }
  }
  for (let count = 3; count <= MAX_ARGUMENTS; count++) {
    for (const type of NUMBERS) overloads.push(alike(`${id}_${count}_${type.kind}`, count, type, best));
    overloads.push(alike(`${id}_${count}_dyn`, count, DYN, best));
  }
  return { name, overloads };
}

function alike(id: string, count: number, type: Type, best: (values: readonly Value[]) => Value): Overload {
  return globalOverload(id, new Array<Type>(count).fill(type), type, (...values) => best(values));
}

function ofDouble(name: string, run: (value: number) => number): FunctionDeclaration {
  const id = name.replace('.', '_');
  return {
    name,
    overloads: [
      globalOverload(`${id}_double`, [DOUBLE], DOUBLE, (value) => new Double(run((value as Double).value))),
    ],
  };
}

function testDouble(name: string, run: (value: number) => boolean): FunctionDeclaration {
  const id = name.replace('.', '_');
  return {
    name,
    overloads: [globalOverload(`${id}_double`, [DOUBLE], BOOL, (value) => run((value as Double).value))],
  };
}

/** Halves away from zero. */
function round(value: number): number {
  const whole = Math.trunc(value);
  return Math.abs(value - whole) >= 0.5 ? whole + Math.sign(value) : whole;
}

const big = (value: Value): bigint => (value instanceof Uint ? value.value : BigInt(value as Int));

function bits(name: string, run: (a: bigint, b: bigint) => bigint): FunctionDeclaration {
  const id = name.replace('.', '_');
  return {
    name,
    overloads: [
      globalOverload(`${id}_int_int`, [INT, INT], INT, (a, b) =>
        toInt(BigInt.asIntN(64, run(big(a), big(b)))),
      ),
      globalOverload(
        `${id}_uint_uint`,
        [UINT, UINT],
        UINT,
        (a, b) => new Uint(BigInt.asUintN(64, run(big(a), big(b)))),
      ),
    ],
  };
}

function shift(name: string, run: (value: bigint, by: bigint) => bigint): FunctionDeclaration {
  const id = name.replace('.', '_');
  const amount = (by: Value): bigint | undefined => (big(by) < 0n ? undefined : big(by));
  const negative = new CelError(`${name}() negative offset`);
  const shifted = (value: Value, by: bigint): bigint =>
    by >= 64n ? 0n : run(BigInt.asUintN(64, big(value)), by);
  return {
    name,
    overloads: [
      globalOverload(`${id}_int_int`, [INT, INT], INT, (value, by) => {
        const count = amount(by);
        return count === undefined ? negative : toInt(BigInt.asIntN(64, shifted(value, count)));
      }),
      globalOverload(`${id}_uint_int`, [UINT, INT], UINT, (value, by) => {
        const count = amount(by);
        return count === undefined ? negative : new Uint(BigInt.asUintN(64, shifted(value, count)));
      }),
    ],
  };
}

function signOf(value: number): number {
  return Number.isNaN(value) ? value : Math.sign(value) + 0;
}

const bitNot: FunctionDeclaration = {
  name: 'math.bitNot',
  overloads: [
    globalOverload('math_bitNot_int_int', [INT], INT, (value) => intResult(~big(value))),
    globalOverload('math_bitNot_uint_uint', [UINT], UINT, (value) => new Uint(big(value) ^ MAX_UINT)),
  ],
};

const abs: FunctionDeclaration = {
  name: 'math.abs',
  overloads: [
    globalOverload('math_abs_int', [INT], INT, (value) =>
      big(value) < 0n ? negateInt(value as Int) : value,
    ),
    globalOverload('math_abs_uint', [UINT], UINT, (value) => value),
    globalOverload(
      'math_abs_double',
      [DOUBLE],
      DOUBLE,
      (value) => new Double(Math.abs((value as Double).value)),
    ),
  ],
};

const sign: FunctionDeclaration = {
  name: 'math.sign',
  overloads: [
    globalOverload('math_sign_int', [INT], INT, (value) => Math.sign(Number(value)) + 0),
    globalOverload('math_sign_uint', [UINT], UINT, (value) => new Uint(big(value) === 0n ? 0n : 1n)),
    globalOverload(
      'math_sign_double',
      [DOUBLE],
      DOUBLE,
      (value) => new Double(signOf((value as Double).value)),
    ),
  ],
};

const sqrt: FunctionDeclaration = {
  name: 'math.sqrt',
  overloads: NUMBERS.map((type) =>
    globalOverload(
      `math_sqrt_${type.kind}`,
      [type],
      DOUBLE,
      (value) => new Double(Math.sqrt(Number(numeric(value)))),
    ),
  ),
};

/** `math.greatest`, rounding, bits. */
export const mathLibrary: Library = {
  name: 'math',
  functions: [
    extreme('math.greatest', 1),
    extreme('math.least', -1),
    ofDouble('math.ceil', Math.ceil),
    ofDouble('math.floor', Math.floor),
    ofDouble('math.round', round),
    ofDouble('math.trunc', Math.trunc),
    testDouble('math.isNaN', Number.isNaN),
    testDouble('math.isInf', (value) => Math.abs(value) === Infinity),
    testDouble('math.isFinite', Number.isFinite),
    abs,
    sign,
    sqrt,
    bits('math.bitAnd', (a, b) => a & b),
    bits('math.bitOr', (a, b) => a | b),
    bits('math.bitXor', (a, b) => a ^ b),
    bitNot,
    shift('math.bitShiftLeft', (value, by) => value << by),
    shift('math.bitShiftRight', (value, by) => value >> by),
  ],
};
