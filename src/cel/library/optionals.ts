import { bindingMacros, optionalMacros } from '../syntax/macros.ts';
import { BOOL, INT, listType, mapType, optionalType, STRING, type Type, typeParam } from '../types/type.ts';
import { List } from '../values/list.ts';
import { sizeOf } from '../values/size.ts';
import {
  CelError,
  Double,
  Duration,
  NONE,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from '../values/value.ts';
import { countElements } from '../values/walking.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  type Library,
  memberOverload,
  type Overload,
} from './function.ts';

const T = typeParam('T');
const K = typeParam('K');
const OPTIONAL = optionalType(T);

const held = (value: Value): Value | undefined => (value as Optional).value;
const NO_VALUE = new CelError('optional.none() dereference');

function isZero(value: Value): boolean {
  if (value === null || value === false || value === 0 || value === '') return true;
  if (value instanceof Uint) return value.value === 0n;
  if (value instanceof Double) return value.value === 0;
  if (value instanceof Duration) return value.nanos === 0n;
  if (value instanceof Timestamp) return value.seconds === 0 && value.nanos === 0;
  if (value instanceof Optional) return value.value === undefined;
  return typeof value === 'object' && sizeOf(value) === 0;
}

function optionalOf(value: Value | undefined): Optional {
  return value === undefined ? NONE : new Optional(value);
}

function access(id: string, container: Type, key: Type, result: Type): Overload {
  const never = (): Value => new CelError('operator evaluated as a function');
  return globalOverload(id, [container, key], result, never);
}

function first(list: Value): Value {
  const items = list as List;
  return optionalOf(items.size === 0 ? undefined : items.get(0));
}

function last(list: Value): Value {
  const items = list as List;
  return optionalOf(items.size === 0 ? undefined : items.get(items.size - 1));
}

const functions: readonly FunctionDeclaration[] = [
  {
    name: 'optional.of',
    overloads: [globalOverload('optional_of', [T], OPTIONAL, (value) => new Optional(value))],
  },
  {
    name: 'optional.ofNonZeroValue',
    overloads: [
      globalOverload('optional_ofNonZeroValue', [T], OPTIONAL, (value) =>
        isZero(value) ? NONE : new Optional(value),
      ),
    ],
  },
  { name: 'optional.none', overloads: [globalOverload('optional_none', [], OPTIONAL, () => NONE)] },
  {
    name: 'value',
    overloads: [
      memberOverload(
        'optional_value',
        [OPTIONAL],
        T,
        (value) => held(value) ?? (held(value) === null ? null : NO_VALUE),
      ),
    ],
  },
  {
    name: 'hasValue',
    overloads: [memberOverload('optional_hasValue', [OPTIONAL], BOOL, (value) => held(value) !== undefined)],
  },
  {
    name: 'or',
    overloads: [
      memberOverload('optional_or_optional', [OPTIONAL, OPTIONAL], OPTIONAL, (a, b) =>
        held(a) === undefined ? b : a,
      ),
    ],
  },
  {
    name: 'orValue',
    overloads: [
      memberOverload('optional_orValue_value', [OPTIONAL, T], T, (a, b) => {
        const value = held(a);
        return value === undefined ? b : value;
      }),
    ],
  },
  {
    name: 'optional.unwrap',
    overloads: [globalOverload('optional_unwrap', [listType(OPTIONAL)], listType(T), unwrap)],
  },
  {
    name: 'unwrapOpt',
    overloads: [memberOverload('optional_unwrapOpt', [listType(OPTIONAL)], listType(T), unwrap)],
  },
  {
    name: '_?._',
    overloads: [access('select_optional_field', { kind: 'dyn' }, STRING, optionalType({ kind: 'dyn' }))],
  },
  {
    name: '_[?_]',
    overloads: [
      access('list_optindex_optional_int', listType(T), INT, OPTIONAL),
      access('optional_list_optindex_optional_int', optionalType(listType(T)), INT, OPTIONAL),
      access('map_optindex_optional_value', mapType(K, T), K, OPTIONAL),
      access('optional_map_optindex_optional_value', optionalType(mapType(K, T)), K, OPTIONAL),
    ],
  },
  {
    name: '_[_]',
    overloads: [
      access('optional_list_index_int', optionalType(listType(T)), INT, OPTIONAL),
      access('optional_map_index_value', optionalType(mapType(K, T)), K, OPTIONAL),
    ],
  },
];

function unwrap(list: Value): Value {
  countElements((list as List).size);
  const items: Value[] = [];
  for (const item of list as List) {
    if (!(item instanceof Optional)) return new CelError('unwrap takes a list of optionals');
    if (item.value !== undefined) items.push(item.value);
  }
  return new List(items);
}

/** Values that may be absent, and the operators `.?`, `[?`, `{?` that make them. */
export const optionalsLibrary: Library = {
  name: 'optionals',
  functions: [
    ...functions,
    { name: 'first', overloads: [memberOverload('list_first', [listType(T)], OPTIONAL, first)] },
    { name: 'last', overloads: [memberOverload('list_last', [listType(T)], OPTIONAL, last)] },
  ],
  macros: optionalMacros,
  constants: [
    { name: 'optional_type', type: { kind: 'type', of: OPTIONAL }, value: new TypeValue('optional_type') },
  ],
};

export const bindingsLibrary: Library = { name: 'bindings', functions: [], macros: bindingMacros };
