import { equalValues } from '../values/equality.ts';
import { List, type ListMerging } from '../values/list.ts';
import { CelMap } from '../values/map.ts';
import type { Value } from '../values/value.ts';

/**
 * `+` of lists that Kubernetes merges: a set takes in what it lacks; a list with keys takes items by key, those of the right side
 * replacing those of the left in place.
 */
export function mergeLists(a: List, b: List, merging: ListMerging): List {
  const items = a.toArray();
  const same =
    merging.kind === 'set'
      ? equalValues
      : (x: Value, y: Value): boolean => merging.keys.every((key) => sameField(x, y, key));
  for (const item of b) {
    const at = items.findIndex((other) => same(other, item));
    if (at === -1) items.push(item);
    else if (merging.kind === 'map') items[at] = item;
  }
  return new List(items, undefined, merging);
}

function sameField(a: Value, b: Value, key: string): boolean {
  if (!(a instanceof CelMap) || !(b instanceof CelMap)) return false;
  const x = a.get(key);
  const y = b.get(key);
  return x === undefined || y === undefined ? x === y : equalValues(x, y);
}
