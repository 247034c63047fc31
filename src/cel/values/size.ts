import { List } from './list.ts';
import { CelMap } from './map.ts';
import { Opaque, type Value } from './value.ts';
import { countElements } from './walking.ts';

const SURROGATE = /[\ud800-\udbff]/;

/** Code points, not UTF-16 units. */
export function textLength(text: string): number {
  if (!SURROGATE.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** `size(value)`, or `undefined` for values that have none. */
export function sizeOf(value: Value): number | undefined {
  if (typeof value === 'string') return textLength(value);
  if (value instanceof List || value instanceof CelMap) return value.size;
  if (value instanceof Uint8Array) return value.length;
  return undefined;
}

/** What a value counts for in costs: its size, or 1. Texts count by UTF-16 units, which are never fewer than code points. */
export function costSize(value: Value): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 1;
  if (value instanceof Opaque) return value.kind.size?.(value.value) ?? 1;
  return sizeOf(value) ?? 1;
}

/** A value walked through as a tree: texts by their length, everything else by the piece. */
export function traversalCost(value: Value): number {
  if (typeof value === 'string') return Math.floor(value.length * 0.1);
  if (value instanceof Uint8Array) return Math.floor(value.length * 0.1);
  let cost = 0;
  if (value instanceof List || value instanceof CelMap) countElements(value.size);
  if (value instanceof List) for (const item of value) cost += traversalCost(item);
  else if (value instanceof CelMap) {
    for (const [key, item] of value.entries()) cost += traversalCost(key) + traversalCost(item);
  } else return 1;
  return cost;
}
