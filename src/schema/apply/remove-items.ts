import { isObject, type JsonObject, type JsonValue } from '../json.ts';
import { fieldElement, type PathElement } from './field-path.ts';
import { EMPTY_SET, type FieldSet, isEmptySet } from './field-set.ts';
import { itemElements } from './list-items.ts';
import { put } from './own-property.ts';
import { type FieldType, formOf, typeAt } from './typed-schema.ts';

/**
 * The value without the map keys and list items whose paths are in the set. Atomic containers are not looked into.
 * A container that loses all it had goes as well, unless its own path is in `kept`: then it is empty. Without `kept` it
 * becomes `null`, so that it still counts as present while ownership is worked out. The result may share parts with
 * `value`.
 */
export function removeItems(
  value: JsonValue,
  set: FieldSet,
  type: FieldType,
  kept?: FieldSet,
): JsonValue | undefined {
  if (isEmptySet(set)) return value;
  const form = formOf(type, value);
  if (form === 'map' && isObject(value) && type.map?.atomic === false) {
    const out: JsonObject = {};
    let count = 0;
    let had = 0;
    for (const key of Object.keys(value)) {
      const item = value[key];
      if (item === undefined) continue;
      had++;
      const node = set.children?.get(fieldElement(key));
      if (node?.owned) continue;
      const rest =
        node === undefined
          ? item
          : removeItems(item, node, typeAt(type.map, key), below(kept, fieldElement(key)));
      if (rest === undefined) continue;
      put(out, key, rest);
      count++;
    }
    return count === 0 && had > 0 ? emptied(out, kept) : out;
  }
  if (form === 'list' && Array.isArray(value) && type.list !== undefined && type.list.relation !== 'atomic') {
    const out: JsonValue[] = [];
    const elements = itemElements(type.list, value);
    for (let i = 0; i < value.length; i++) {
      const item = value[i] ?? null;
      const element = elements[i] ?? '';
      const node = set.children?.get(element);
      if (node?.owned) continue;
      const rest = node === undefined ? item : removeItems(item, node, type.list.item, below(kept, element));
      if (rest !== undefined) out.push(rest);
    }
    return out.length === 0 && value.length > 0 ? emptied(out, kept) : out;
  }
  return value;
}

function below(kept: FieldSet | undefined, element: PathElement): FieldSet | undefined {
  return kept && (kept.children?.get(element) ?? EMPTY_SET);
}

function emptied(empty: JsonValue, kept: FieldSet | undefined): JsonValue | undefined {
  if (kept === undefined) return null;
  return kept.owned ? empty : undefined;
}
