import { fixed, plus, scale, TEXT_FACTOR, times, UNKNOWN_SIZE } from '../check/cost-range.ts';
import { standardMacros } from '../syntax/macros.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listType,
  mapType,
  NULL,
  STRING,
  TIMESTAMP,
  TYPE,
  type Type,
  typeParam,
  UINT,
} from '../types/type.ts';
import { concatenate } from '../values/concat-list.ts';
import { typeNameOf } from '../values/convert.ts';
import {
  addInts,
  divideInts,
  divideUints,
  type Int,
  multiplyInts,
  negateInt,
  remainderInts,
  remainderUints,
  subtractInts,
  uintResult,
} from '../values/integer.ts';
import type { List } from '../values/list.ts';
import { costSize, sizeOf } from '../values/size.ts';
import { addToTimestamp, durationResult, timestampDifference } from '../values/time.ts';
import {
  CelError,
  Double,
  type Duration,
  type Timestamp,
  TypeValue,
  type Uint,
  type Value,
} from '../values/value.ts';
import { conversions } from './conversions.ts';
import { matching, traversal } from './cost.ts';
import {
  type Constant,
  type FunctionDeclaration,
  globalOverload,
  type Library,
  memberOverload,
  type Overload,
} from './function.ts';
import { mergeLists } from './list-merging.ts';
import { matchingPattern } from './pattern.ts';
import { timeFunctions } from './time-functions.ts';

const A = typeParam('A');
const B = typeParam('B');

const text = (value: Value): string => value as string;
const int = (value: Value): Int => value as Int;
const uint = (value: Value): Uint => value as Uint;
const double = (value: Value): number => (value as Double).value;
const nanos = (value: Value): bigint => (value as Duration).nanos;

const smallerSize: Pick<Overload, 'estimate'> = {
  estimate: ([left, right]) => {
    const max = Math.min(left?.size.max ?? 1, right?.size.max ?? 1);
    return { cost: scale({ min: max > 0 ? 1 : 0, max }, TEXT_FACTOR) };
  },
};

const joining: Pick<Overload, 'cost' | 'estimate'> = {
  cost: ([left, right]) => Math.ceil((costSize(left ?? null) + costSize(right ?? null)) * TEXT_FACTOR),
  estimate: ([left, right]) => {
    const resultSize = plus(left?.size ?? UNKNOWN_SIZE, right?.size ?? UNKNOWN_SIZE);
    return { cost: scale(resultSize, TEXT_FACTOR), resultSize };
  },
};

const joiningLists: Pick<Overload, 'cost' | 'estimate'> = {
  cost: () => 1,
  estimate: ([left, right]) => ({
    cost: fixed(1),
    resultSize: plus(left?.size ?? UNKNOWN_SIZE, right?.size ?? UNKNOWN_SIZE),
  }),
};

/** The planner evaluates these without asking for an overload; they are here for the checker. */
function never(): Value {
  return new CelError('operator evaluated as a function');
}

function relation(name: string, id: string): FunctionDeclaration {
  const pair = (type: Type): Overload =>
    globalOverload(`${id}_${type.kind}`, [type, type], BOOL, never, smallerSize);
  const mixed = [INT, UINT, DOUBLE].flatMap((left) =>
    [INT, UINT, DOUBLE]
      .filter((right) => right !== left)
      .map((right) => globalOverload(`${id}_${left.kind}_${right.kind}`, [left, right], BOOL, never)),
  );
  const alike = [BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION].map(pair);
  return { name, overloads: [...alike, ...mixed] };
}

function equality(name: string, id: string): FunctionDeclaration {
  return { name, overloads: [globalOverload(id, [A, A], BOOL, never, smallerSize)] };
}

const timeSum = (time: Value, duration: bigint): Value => addToTimestamp(time as Timestamp, duration);

const operators: readonly FunctionDeclaration[] = [
  { name: '_&&_', overloads: [globalOverload('logical_and', [BOOL, BOOL], BOOL, never)] },
  { name: '_||_', overloads: [globalOverload('logical_or', [BOOL, BOOL], BOOL, never)] },
  { name: '!_', overloads: [globalOverload('logical_not', [BOOL], BOOL, (value) => !value)] },
  {
    name: '@not_strictly_false',
    overloads: [globalOverload('not_strictly_false', [BOOL], BOOL, never)],
  },
  { name: '_?_:_', overloads: [globalOverload('conditional', [BOOL, A, A], A, never)] },
  equality('_==_', 'equals'),
  equality('_!=_', 'not_equals'),
  relation('_<_', 'less'),
  relation('_<=_', 'less_equals'),
  relation('_>_', 'greater'),
  relation('_>=_', 'greater_equals'),
  {
    name: '_[_]',
    overloads: [
      globalOverload('index_list', [listType(A), INT], A, never),
      globalOverload('index_map', [mapType(A, B), A], B, never),
    ],
  },
  {
    name: '@in',
    overloads: [
      globalOverload('in_list', [A, listType(A)], BOOL, never, {
        cost: ([, list]) => (list as List).size,
        estimate: ([, list]) => ({ cost: list?.size ?? UNKNOWN_SIZE }),
      }),
      globalOverload('in_map', [A, mapType(A, B)], BOOL, never),
    ],
  },
  {
    name: '_+_',
    overloads: [
      globalOverload('add_int64', [INT, INT], INT, (a, b) => addInts(int(a), int(b))),
      globalOverload('add_uint64', [UINT, UINT], UINT, (a, b) => uintResult(uint(a).value + uint(b).value)),
      globalOverload('add_double', [DOUBLE, DOUBLE], DOUBLE, (a, b) => new Double(double(a) + double(b))),
      globalOverload('add_string', [STRING, STRING], STRING, (a, b) => joinTexts(text(a), text(b)), joining),
      globalOverload(
        'add_bytes',
        [BYTES, BYTES],
        BYTES,
        (a, b) => joinBytes(a as Uint8Array, b as Uint8Array),
        joining,
      ),
      globalOverload(
        'add_list',
        [listType(A), listType(A)],
        listType(A),
        (a, b) => addLists(a as List, b as List),
        {
          ...joiningLists,
          cost: ([a, b]) => ((a as List).merging === undefined ? 1 : (a as List).size + (b as List).size),
        },
      ),
      globalOverload('add_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP, (a, b) =>
        timeSum(a, nanos(b)),
      ),
      globalOverload('add_duration_timestamp', [DURATION, TIMESTAMP], TIMESTAMP, (a, b) =>
        timeSum(b, nanos(a)),
      ),
      globalOverload('add_duration_duration', [DURATION, DURATION], DURATION, (a, b) =>
        durationResult(nanos(a) + nanos(b)),
      ),
    ],
  },
  {
    name: '_-_',
    overloads: [
      globalOverload('subtract_int64', [INT, INT], INT, (a, b) => subtractInts(int(a), int(b))),
      globalOverload('subtract_uint64', [UINT, UINT], UINT, (a, b) =>
        uintResult(uint(a).value - uint(b).value),
      ),
      globalOverload(
        'subtract_double',
        [DOUBLE, DOUBLE],
        DOUBLE,
        (a, b) => new Double(double(a) - double(b)),
      ),
      globalOverload('subtract_timestamp_timestamp', [TIMESTAMP, TIMESTAMP], DURATION, (a, b) =>
        timestampDifference(a as Timestamp, b as Timestamp),
      ),
      globalOverload('subtract_timestamp_duration', [TIMESTAMP, DURATION], TIMESTAMP, (a, b) =>
        timeSum(a, -nanos(b)),
      ),
      globalOverload('subtract_duration_duration', [DURATION, DURATION], DURATION, (a, b) =>
        durationResult(nanos(a) - nanos(b)),
      ),
    ],
  },
  {
    name: '_*_',
    overloads: [
      globalOverload('multiply_int64', [INT, INT], INT, (a, b) => multiplyInts(int(a), int(b))),
      globalOverload('multiply_uint64', [UINT, UINT], UINT, (a, b) =>
        uintResult(uint(a).value * uint(b).value),
      ),
      globalOverload(
        'multiply_double',
        [DOUBLE, DOUBLE],
        DOUBLE,
        (a, b) => new Double(double(a) * double(b)),
      ),
    ],
  },
  {
    name: '_/_',
    overloads: [
      globalOverload('divide_int64', [INT, INT], INT, (a, b) => divideInts(int(a), int(b))),
      globalOverload('divide_uint64', [UINT, UINT], UINT, (a, b) => divideUints(uint(a), uint(b))),
      globalOverload('divide_double', [DOUBLE, DOUBLE], DOUBLE, (a, b) => new Double(double(a) / double(b))),
    ],
  },
  {
    name: '_%_',
    overloads: [
      globalOverload('modulo_int64', [INT, INT], INT, (a, b) => remainderInts(int(a), int(b))),
      globalOverload('modulo_uint64', [UINT, UINT], UINT, (a, b) => remainderUints(uint(a), uint(b))),
    ],
  },
  {
    name: '-_',
    overloads: [
      globalOverload('negate_int64', [INT], INT, (a) => negateInt(int(a))),
      globalOverload('negate_double', [DOUBLE], DOUBLE, (a) => new Double(-double(a))),
    ],
  },
];

/** Longer texts than any request could bring are not built. */
const MAX_TEXT = 64 * 1024 * 1024;

function joinTexts(a: string, b: string): Value {
  return a.length + b.length > MAX_TEXT ? new CelError('the text would become too long') : a + b;
}

function joinBytes(a: Uint8Array, b: Uint8Array): Uint8Array {
  const out = new Uint8Array(a.length + b.length);
  out.set(a);
  out.set(b, a.length);
  return out;
}

function addLists(a: List, b: List): List {
  return a.merging ? mergeLists(a, b, a.merging) : concatenate(a, b);
}

function sized(id: string, type: Type): Overload[] {
  const run = (value: Value): Value => sizeOf(value) ?? new CelError('no such overload: size');
  return [globalOverload(`size_${id}`, [type], INT, run), memberOverload(`${id}_size`, [type], INT, run)];
}

/** Comparing the beginning or end of a text takes as long as what is looked for, but is counted by the text. */
const textFunctions: readonly FunctionDeclaration[] = [
  {
    name: 'size',
    overloads: [
      ...sized('string', STRING),
      ...sized('bytes', BYTES),
      ...sized('list', listType(A)),
      ...sized('map', mapType(A, B)),
    ],
  },
  {
    name: 'contains',
    overloads: [
      memberOverload('contains_string', [STRING, STRING], BOOL, (a, b) => text(a).includes(text(b)), {
        cost: ([a, b]) =>
          Math.ceil(text(a ?? '').length * TEXT_FACTOR) * Math.ceil(text(b ?? '').length * TEXT_FACTOR),
        estimate: ([a, b]) => ({
          cost: times(
            scale(a?.size ?? UNKNOWN_SIZE, TEXT_FACTOR),
            scale(b?.size ?? UNKNOWN_SIZE, TEXT_FACTOR),
          ),
        }),
      }),
    ],
  },
  {
    name: 'startsWith',
    overloads: [
      memberOverload(
        'starts_with_string',
        [STRING, STRING],
        BOOL,
        (a, b) => text(a).startsWith(text(b)),
        traversal(1),
      ),
    ],
  },
  {
    name: 'endsWith',
    overloads: [
      memberOverload(
        'ends_with_string',
        [STRING, STRING],
        BOOL,
        (a, b) => text(a).endsWith(text(b)),
        traversal(1),
      ),
    ],
  },
  {
    name: 'matches',
    overloads: [
      globalOverload('matches', [STRING, STRING], BOOL, matchingPattern.run, {
        ...matching(0, 1),
        ...matchingPattern,
      }),
      memberOverload('matches_string', [STRING, STRING], BOOL, matchingPattern.run, {
        ...matching(0, 1),
        ...matchingPattern,
      }),
    ],
  },
];

const typeFunctions: readonly FunctionDeclaration[] = [
  { name: 'dyn', overloads: [globalOverload('to_dyn', [A], DYN, (value) => value)] },
  {
    name: 'type',
    overloads: [
      globalOverload('type', [A], { kind: 'type', of: A }, (value) => new TypeValue(typeNameOf(value))),
    ],
  },
];

const mapInsert: FunctionDeclaration = {
  name: 'cel.@mapInsert',
  overloads: [
    globalOverload('@mapInsert_map_map', [mapType(A, B), mapType(A, B)], mapType(A, B), never, {
      estimate: ([into, from]) => ({
        cost: fixed(1),
        resultSize: plus(into?.size ?? UNKNOWN_SIZE, from?.size ?? UNKNOWN_SIZE),
      }),
    }),
    globalOverload('@mapInsert_map_key_value', [mapType(A, B), A, B], mapType(A, B), never, {
      estimate: ([into]) => ({ cost: fixed(1), resultSize: plus(into?.size ?? UNKNOWN_SIZE, fixed(1)) }),
    }),
  ],
};

function typeConstant(name: string, type: Type): Constant {
  return { name, type: { kind: 'type', of: type }, value: new TypeValue(name) };
}

/** Everything that the language itself defines. */
export const standardLibrary: Library = {
  name: 'standard',
  functions: [...operators, ...textFunctions, ...typeFunctions, ...conversions, ...timeFunctions, mapInsert],
  macros: standardMacros,
  constants: [
    typeConstant('bool', BOOL),
    typeConstant('int', INT),
    typeConstant('uint', UINT),
    typeConstant('double', DOUBLE),
    typeConstant('string', STRING),
    typeConstant('bytes', BYTES),
    typeConstant('list', listType(DYN)),
    typeConstant('map', mapType(DYN, DYN)),
    typeConstant('null_type', NULL),
    typeConstant('type', TYPE),
    typeConstant('google.protobuf.Timestamp', TIMESTAMP),
    typeConstant('google.protobuf.Duration', DURATION),
  ],
};
