import {
  CelError,
  CelMap,
  countElements,
  type Library,
  mapOf,
  mapType,
  memberOverload,
  type Overload,
  typeParam,
  type Value,
} from '../../../cel/index.ts';

const MAP = mapType(typeParam('K'), typeParam('V'));
const MAX_DEPTH = 100;
/** To make an entry takes as long as to look at so many elements. */
const MADE = 10;

function merged(left: CelMap, right: CelMap, deep: boolean, depth: number): Value {
  if (depth > MAX_DEPTH) return new CelError(`deepMerge: maps nest more than ${MAX_DEPTH} deep`);
  countElements((left.size + right.size) * MADE);
  const pairs: (readonly [Value, Value])[] = [];
  for (const [key, value] of left.entries()) {
    const other = right.get(key);
    if (other === undefined) pairs.push([key, value]);
    else if (deep && value instanceof CelMap && other instanceof CelMap) {
      const inner = merged(value, other, true, depth + 1);
      if (inner instanceof CelError) return inner;
      pairs.push([key, inner]);
    } else pairs.push([key, other]);
  }
  for (const [key, value] of right.entries()) if (left.get(key) === undefined) pairs.push([key, value]);
  return mapOf(pairs) ?? new CelError('merge: a key is of a kind that keys cannot have');
}

function merging(name: string, deep: boolean): Overload {
  return memberOverload(
    `map_${name}_map`,
    [MAP, MAP],
    MAP,
    (left, right) => merged(left as CelMap, right as CelMap, deep, 0),
    { cost: (args) => 1 + args.reduce((sum: number, map) => sum + (map as CelMap).size, 0) },
  );
}

/** Two maps as one, in which the right one wins; `deepMerge` goes into maps that both have. */
export const mapLibrary: Library = {
  name: 'maps',
  functions: [
    { name: 'merge', overloads: [merging('merge', false)] },
    { name: 'deepMerge', overloads: [merging('deepMerge', true)] },
  ],
};
