import { deepEqual, isObject, type JsonObject, type JsonValue } from '../json.ts';
import type { PathElement } from './field-path.ts';
import { itemElements } from './list-items.ts';
import { isEmptyObject, own, put } from './own-property.ts';
import { type FieldType, formOf, type ListType, type MapType, typeAt } from './typed-schema.ts';

/**
 * The live value with the applied one laid over it: leaves and atomic containers are the applied ones where there are,
 * maps and associative lists merge. Changes neither side; the result shares with both, and parts that the applied value leaves as they
 * are stay the live ones, so that whoever compares need not look into them.
 */
export function merge(live: JsonValue, applied: JsonValue, type: FieldType): JsonValue {
  switch (formOf(type, applied)) {
    case 'scalar':
      return standing(live, applied);
    case 'list':
      return mergeList(live, applied, type.list as ListType);
    default:
      return mergeMap(live, applied, type.map as MapType);
  }
}

function standing(live: JsonValue, applied: JsonValue): JsonValue {
  return deepEqual(live, applied) ? live : applied;
}

function mergeMap(live: JsonValue, applied: JsonValue, map: MapType): JsonValue {
  const left = isObject(live) ? live : undefined;
  const right = isObject(applied) ? applied : undefined;
  // Where nothing would be in the result, the applied kind of nothing wins: `null` or `{}`.
  if (map.atomic || left === undefined || isEmptyObject(left)) return standing(live, applied);
  let out: JsonObject | undefined;
  if (right !== undefined) {
    for (const key of Object.keys(right)) {
      const next = right[key];
      if (next === undefined) continue;
      const old = own(left, key);
      const value = old === undefined ? next : merge(old, next, typeAt(map, key));
      if (value === old) continue;
      out ??= { ...left };
      put(out, key, value);
    }
  }
  return out ?? left;
}

function mergeList(live: JsonValue, applied: JsonValue, list: ListType): JsonValue {
  const left = Array.isArray(live) ? live : [];
  const right = Array.isArray(applied) ? applied : [];
  if (list.relation === 'atomic' || left.length === 0) return standing(live, applied);
  if (right.length === 0) return left;
  const out = mergeItems(left, right, list);
  return out.length === left.length && out.every((item, i) => item === left[i]) ? left : out;
}

/**
 * Applied items come in the applied order; items that only the live list has stay where they are between the items that
 * both have.
 */
function mergeItems(left: JsonValue[], right: JsonValue[], list: ListType): JsonValue[] {
  const leftElements = itemElements(list, left);
  const rightElements = itemElements(list, right);
  // Several live items with one key are not merged into: an applied one replaces them.
  const liveItem = new Map<PathElement, JsonValue | undefined>();
  leftElements.forEach((element, i) => {
    liveItem.set(element, liveItem.has(element) ? undefined : (left[i] ?? null));
  });
  const applied = new Set(rightElements);
  const shared = rightElements.filter((element) => liveItem.has(element));
  let next = 0;

  const out: JsonValue[] = [];
  const placed = new Set<PathElement>();
  const place = (element: PathElement, item: JsonValue): void => {
    const old = liveItem.get(element);
    out.push(old === undefined ? item : merge(old, item, list.item));
    placed.add(element);
    if (shared[next] === element) next++;
  };

  let l = 0;
  let r = 0;
  while (l < left.length || r < right.length) {
    const live = leftElements[l];
    const head = rightElements[r];
    if (live !== undefined && !applied.has(live)) {
      out.push(left[l] ?? null);
      l++;
      continue;
    }
    if (live !== undefined && head !== undefined && live !== head) {
      const wanted = shared[next];
      // The applied order puts another shared item first: this one gets its place later.
      if (wanted !== undefined && wanted !== live) {
        l++;
        continue;
      }
    }
    if (live !== undefined && (live === head || placed.has(live))) l++;
    if (head === undefined) continue;
    place(head, right[r] ?? null);
    r++;
  }
  return out;
}
