import { BOOL, listType, typeParam } from '../types/type.ts';
import { equalValues } from '../values/equality.ts';
import type { List } from '../values/list.ts';
import type { Value } from '../values/value.ts';
import { product } from './cost.ts';
import { globalOverload, type Library } from './function.ts';

const T = typeParam('T');
const LISTS = [listType(T), listType(T)];
const list = (value: Value): List => value as List;

function has(items: List, wanted: Value): boolean {
  for (const item of items) if (equalValues(item, wanted)) return true;
  return false;
}

function containsAll(all: Value, some: Value): boolean {
  for (const item of list(some)) if (!has(list(all), item)) return false;
  return true;
}

function intersect(a: Value, b: Value): boolean {
  for (const item of list(a)) if (has(list(b), item)) return true;
  return false;
}

/** Lists taken as sets. */
export const setsLibrary: Library = {
  name: 'sets',
  functions: [
    {
      name: 'sets.contains',
      overloads: [globalOverload('list_sets_contains_list', LISTS, BOOL, containsAll, product(1))],
    },
    {
      name: 'sets.equivalent',
      overloads: [
        globalOverload(
          'list_sets_equivalent_list',
          LISTS,
          BOOL,
          (a, b) => containsAll(a, b) && containsAll(b, a),
          product(2),
        ),
      ],
    },
    {
      name: 'sets.intersects',
      overloads: [globalOverload('list_sets_intersects_list', LISTS, BOOL, intersect, product(1))],
    },
  ],
};
