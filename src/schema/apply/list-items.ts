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
    // A key without value and default is left out: the item is another one than those that have it.
    const value = own(item, name) ?? fallback;
    if (value === undefined) continue;
    key = `${key}${key === '' ? '' : ','}${text}${canonicalJson(value)}`;
  }
  return key === '' ? undefined : `k:{${key}}`;
}

/** Why an item has no path element. */
export function itemProblem(list: ListType, item: JsonValue): string {
  if (list.relation === 'set') {
    if (item === null) return 'associative list without keys has an element that is null';
    return Array.isArray(item)
      ? 'associative list without keys has an element that is a list'
      : 'associative list without keys has an element that is a map';
  }
  if (item === null) return 'associative list with keys may not have a null element';
  if (!isObject(item)) return 'associative list with keys may not have elements that are not maps';
  const names = list.keys.map((key) => key.name).join(' ');
  return `associative list with keys has an element that omits all key fields [${names}] and has no defaults for them`;
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
