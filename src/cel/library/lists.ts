import { fixed, plus, type SizeRange, scale, TEXT_FACTOR, times, UNKNOWN_SIZE } from '../check/cost-range.ts';
import { standardMacros } from '../syntax/macros.ts';
import {
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  INT,
  listType,
  optionalType,
  STRING,
  TIMESTAMP,
  type Type,
  typeParam,
  UINT,
} from '../types/type.ts';
import { compareValues, equalValues, numeric } from '../values/equality.ts';
import { addInts, type Int, uintResult } from '../values/integer.ts';
import { List } from '../values/list.ts';
import { normalKey } from '../values/map.ts';
import { traversalCost } from '../values/size.ts';
import { durationResult } from '../values/time.ts';
import { CelError, Double, Duration, Failure, NONE, Optional, Uint, type Value } from '../values/value.ts';
import { countElements } from '../values/walking.ts';
import { perElement } from './cost.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  type Library,
  memberOverload,
  type Overload,
} from './function.ts';

const T = typeParam('T');
const ANY_LIST = listType(T);
const list = (value: Value): List => value as List;

/** One look at each element, and at all of each text. */
const walk: Required<Pick<Overload, 'cost' | 'estimate'>> = {
  cost: ([items]) => traversalCost(items ?? null),
  estimate: ([items]) => {
    const size = items?.size ?? UNKNOWN_SIZE;
    const kind = items?.elementType.kind;
    const each =
      kind === 'string' || kind === 'bytes'
        ? plus(fixed(1), scale(items?.elementSize() ?? UNKNOWN_SIZE, TEXT_FACTOR))
        : fixed(1);
    return { cost: times(size, each) };
  },
};

const ORDERED: readonly Type[] = [INT, UINT, DOUBLE, BOOL, DURATION, TIMESTAMP, STRING, BYTES];
const INCOMPARABLE = new CelError('no such overload: elements of the list have no order');

function isSorted(value: Value): Value {
  const items = list(value);
  for (let index = 1; index < items.size; index++) {
    const order = compareValues(items.get(index - 1), items.get(index));
    if (order === undefined) return INCOMPARABLE;
    if (order > 0) return false;
  }
  return true;
}

function extreme(name: string, sign: 1 | -1): Overload['run'] {
  return (value) => {
    let best: Value | undefined;
    for (const item of list(value)) {
      const order = best === undefined ? 1 : compareValues(item, best);
      if (order === undefined) return INCOMPARABLE;
      if (best === undefined || order * sign > 0) best = item;
    }
    return best ?? new CelError(`${name} called on empty list`);
  };
}

function add(a: Value, b: Value): Value {
  if (a instanceof Double && b instanceof Double) return new Double(a.value + b.value);
  if (a instanceof Uint && b instanceof Uint) return uintResult(a.value + b.value);
  if (a instanceof Duration && b instanceof Duration) return durationResult(a.nanos + b.nanos);
  if (typeof a !== 'object' && typeof b !== 'object' && numeric(a) !== undefined && numeric(b) !== undefined)
    return addInts(a as Int, b as Int);
  return INCOMPARABLE;
}

function sum(zero: Value): Overload['run'] {
  return (value) => {
    let total = zero;
    for (const item of list(value)) {
      total = add(total, item);
      if (total instanceof Failure) return total;
    }
    return total;
  };
}

function indexOf(value: Value, wanted: Value): Value {
  const items = list(value);
  for (let index = 0; index < items.size; index++) if (equalValues(items.get(index), wanted)) return index;
  return -1;
}

function lastIndexOf(value: Value, wanted: Value): Value {
  const items = list(value);
  for (let index = items.size - 1; index >= 0; index--)
    if (equalValues(items.get(index), wanted)) return index;
  return -1;
}

const SUMS: readonly (readonly [Type, Value])[] = [
  [INT, 0],
  [UINT, new Uint(0n)],
  [DOUBLE, new Double(0)],
  [DURATION, new Duration(0n)],
];

/** What Kubernetes adds to lists. */
export const kubernetesListsLibrary: Library = {
  name: 'kubernetes-lists',
  functions: [
    {
      name: 'isSorted',
      overloads: ORDERED.map((type) =>
        memberOverload(`list_${type.kind}_is_sorted_bool`, [listType(type)], BOOL, isSorted, walk),
      ),
    },
    {
      name: 'sum',
      overloads: SUMS.map(([type, zero]) =>
        memberOverload(`list_${type.kind}_sum_${type.kind}`, [listType(type)], type, sum(zero), walk),
      ),
    },
    {
      name: 'max',
      overloads: ORDERED.map((type) =>
        memberOverload(`list_${type.kind}_max_${type.kind}`, [listType(type)], type, extreme('max', 1), walk),
      ),
    },
    {
      name: 'min',
      overloads: ORDERED.map((type) =>
        memberOverload(
          `list_${type.kind}_min_${type.kind}`,
          [listType(type)],
          type,
          extreme('min', -1),
          walk,
        ),
      ),
    },
    {
      name: 'indexOf',
      overloads: [memberOverload('list_a_index_of_int', [ANY_LIST, T], INT, indexOf, walk)],
    },
    {
      name: 'lastIndexOf',
      overloads: [memberOverload('list_a_last_index_of_int', [ANY_LIST, T], INT, lastIndexOf, walk)],
    },
  ],
};

function slice(value: Value, start: Value, end: Value): Value {
  const items = list(value);
  const [from, to] = [Number(start), Number(end)];
  if (from < 0 || to < 0) return new CelError(`cannot slice(${from}, ${to}), negative indexes not supported`);
  if (from > to)
    return new CelError(`cannot slice(${from}, ${to}), start index must be less than or equal to end index`);
  if (to > items.size) return new CelError(`cannot slice(${from}, ${to}), list is length ${items.size}`);
  return new List(items.toArray().slice(from, to));
}

function flatten(value: Value, depth: Value = 1): Value {
  const levels = Number(depth);
  if (levels < 0) return new CelError('level must be non-negative');
  const out: Value[] = [];
  const add = (items: List, left: number): void => {
    countElements(items.size);
    for (const item of items) {
      if (item instanceof List && left > 0) add(item, left - 1);
      else out.push(item);
      if (out.length > MAX_RANGE) return;
    }
  };
  add(list(value), Math.min(levels, 100));
  if (out.length > MAX_RANGE) return new CelError(`the list would become longer than ${MAX_RANGE}`);
  return new List(out);
}

/** Texts, numbers and bools are looked up; everything else is compared with all that came before. */
function distinct(value: Value): Value {
  const seen = new Set<unknown>();
  const others: Value[] = [];
  const out: Value[] = [];
  for (const item of list(value)) {
    const key = normalKey(item);
    if (key !== undefined) {
      if (seen.has(key)) continue;
      seen.add(key);
    } else {
      if (others.some((other) => equalValues(other, item))) continue;
      others.push(item);
    }
    out.push(item);
  }
  return new List(out);
}

const MAX_RANGE = 1_000_000;

function range(count: Value): Value {
  const size = Number(count);
  if (size > MAX_RANGE) return new CelError(`lists.range(${size}) is longer than ${MAX_RANGE}`);
  return new List(Array.from({ length: Math.max(0, size) }, (_, index) => index));
}

function sorted(items: readonly Value[], keys: readonly Value[]): Value {
  for (const key of keys) {
    if (key instanceof Failure) return key;
    if (compareValues(keys[0] ?? key, key) === undefined)
      return new CelError('list elements must have the same, comparable type');
  }
  const order = items.map((_, index) => index);
  order.sort((a, b) => (compareValues(keys[a] ?? null, keys[b] ?? null) ?? 0) || a - b);
  return new List(order.map((index) => items[index]));
}

/** Comparisons of sorting. */
const sorting: Pick<Overload, 'cost' | 'estimate'> = {
  cost: ([items]) => sortCost((items as List).size),
  estimate: ([items]) => {
    const size = items?.size ?? UNKNOWN_SIZE;
    return { cost: { min: sortCost(size.min), max: sortCost(size.max) }, resultSize: size };
  },
};
function sortCost(size: number): number {
  return 1 + Math.ceil(size * Math.max(1, Math.log2(Math.max(1, size))));
}

const squared: Pick<Overload, 'cost' | 'estimate'> = {
  cost: ([items]) => 1 + (items as List).size ** 2,
  estimate: ([items]) => {
    const size: SizeRange = items?.size ?? UNKNOWN_SIZE;
    return {
      cost: plus(fixed(1), times(size, size)),
      resultSize: { min: Math.min(1, size.min), max: size.max },
    };
  },
};

const perResult: Pick<Overload, 'cost' | 'resultCost' | 'estimate'> = {
  cost: () => 1,
  resultCost: (result) => (result instanceof List ? result.size : 0),
  estimate: () => ({ cost: { min: 1, max: UNKNOWN_SIZE.max }, resultSize: UNKNOWN_SIZE }),
};
const linear = perElement(0);

function declare(name: string, ...overloads: Overload[]): FunctionDeclaration {
  return { name, overloads };
}

const first = (value: Value): Value => (list(value).size === 0 ? NONE : new Optional(list(value).get(0)));
const last = (value: Value): Value =>
  list(value).size === 0 ? NONE : new Optional(list(value).get(list(value).size - 1));

/** Slices, sorting and the like. */
export const listsLibrary: Library = {
  name: 'lists',
  functions: [
    declare('slice', memberOverload('list_slice', [ANY_LIST, INT, INT], ANY_LIST, slice, linear)),
    declare(
      'flatten',
      memberOverload('list_flatten', [listType(ANY_LIST)], ANY_LIST, (value) => flatten(value), perResult),
      memberOverload(
        'list_flatten_int',
        [listType({ kind: 'dyn' }), INT],
        listType({ kind: 'dyn' }),
        flatten,
        perResult,
      ),
    ),
    declare('distinct', memberOverload('list_distinct', [ANY_LIST], ANY_LIST, distinct, squared)),
    declare(
      'lists.range',
      globalOverload('lists_range', [INT], listType(INT), range, {
        ...perResult,
        estimate: ([count]) => {
          const most = typeof count?.literal === 'number' ? Math.max(0, count.literal) : MAX_RANGE;
          return { cost: { min: 1, max: most + 1 }, resultSize: { min: 0, max: most } };
        },
      }),
    ),
    declare(
      'reverse',
      memberOverload(
        'list_reverse',
        [ANY_LIST],
        ANY_LIST,
        (value) => new List(list(value).toArray().reverse()),
        linear,
      ),
    ),
    declare(
      'sort',
      ...ORDERED.map((type) =>
        memberOverload(
          `list_${type.kind}_sort`,
          [listType(type)],
          listType(type),
          (value) => sorted(list(value).toArray(), list(value).toArray()),
          sorting,
        ),
      ),
    ),
    declare(
      '@sortByAssociatedKeys',
      ...ORDERED.map((type) =>
        memberOverload(
          `list_${type.kind}_sortByAssociatedKeys`,
          [ANY_LIST, listType(type)],
          ANY_LIST,
          (items, keys) => sorted(list(items).toArray(), list(keys).toArray()),
          sorting,
        ),
      ),
    ),
    declare('first', memberOverload('list_first', [ANY_LIST], optionalType(T), first)),
    declare('last', memberOverload('list_last', [ANY_LIST], optionalType(T), last)),
  ],
  macros: [
    {
      name: 'sortBy',
      receiver: true,
      argumentCount: 2,
      // The keys are what `map` would make of the list; both are then sorted together.
      expand: (factory, call) => {
        const map = standardMacros.find((macro) => macro.name === 'map' && macro.argumentCount === 2);
        const keys = map?.expand(factory, call);
        if (!keys || !call.target) return undefined;
        return {
          kind: 'call',
          id: factory.nextId(),
          at: call.at,
          function: '@sortByAssociatedKeys',
          target: call.target,
          args: [keys],
        };
      },
    },
  ],
};
