import { canonicalJson, isObject, type JsonValue } from '../json.ts';
import { indexElement, type PathElement, valueElement } from './field-path.ts';
import { own } from './own-property.ts';
import type { ListType } from './typed-schema.ts';

/** The path element of a list item, or `undefined` when the item has none (see `itemProblem`). */
export function itemElement(list: ListType, item: JsonValue): PathElement | undefined {
  if (list.relation === 'set') {
    return typeof item === 'object' ? undefined : valueElement(item);
  }
  if (!isObject(item)) return undefined;
  let key = '';
  // In the order of their names, so that equal keys have equal text.
  for (const { name, text, default: fallback } of list.keys) {
    const value = own(item, name) ?? fallback;
    if (value === undefined) return undefined;
    key = `${key}${key === '' ? '' : ','}${text}${canonicalJson(value)}`;
  }
  return key === '' ? undefined : `k:{${key}}`;
}

/** Why an item has no path element. */
export function itemProblem(list: ListType, item: JsonValue): string {
  if (list.relation === 'set') {
    if (item === null) return "associative list without keys has an element that's an explicit null";
    return Array.isArray(item)
      ? 'not supported: associative list with lists as elements'
      : "associative list without keys has an element that's a map type";
  }
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isObject(item)) return 'associative list with keys may not have non-map elements';
  const missing = list.keys.find((key) => (own(item, key.name) ?? key.default) === undefined);
  return `associative list with keys has an element that omits key field ${JSON.stringify(missing?.name ?? '')} (and doesn't have default value)`;
}

/**
 * The elements of all items. Stored lists may hold items that have no element by today's schema; they go by position so
 * that nothing is lost.
 */
export function itemElements(list: ListType, items: readonly JsonValue[]): PathElement[] {
  const out: PathElement[] = new Array(items.length);
  for (let i = 0; i < items.length; i++) out[i] = itemElement(list, items[i] ?? null) ?? indexElement(i);
  return out;
}
