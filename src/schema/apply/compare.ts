import { deepEqual, isObject, type JsonValue } from '../json.ts';
import { fieldElement, type PathElement } from './field-path.ts';
import {
  EMPTY_SET,
  type FieldSet,
  isEmptySet,
  LEAF,
  recursiveDifference,
  setNode,
  union,
} from './field-set.ts';
import { itemElements } from './list-items.ts';
import { isEmptyObject, own } from './own-property.ts';
import { deducedType, type FieldType, formOf, type ListType, type MapType } from './typed-schema.ts';

/** What differs between two objects, as paths. */
export interface Change {
  readonly removed: FieldSet;
  readonly modified: FieldSet;
  readonly added: FieldSet;
}

export const NO_CHANGE: Change = { removed: EMPTY_SET, modified: EMPTY_SET, added: EMPTY_SET };

const leafModified: Change = { ...NO_CHANGE, modified: LEAF };

/** Compares two whole objects. Unchanged parts cost no memory. */
export function compare(before: JsonValue, after: JsonValue, type: FieldType): Change {
  const change = changeOf(before, after, type);
  if (change === undefined) return NO_CHANGE;
  return {
    removed: rootless(change.removed),
    modified: rootless(change.modified),
    added: rootless(change.added),
  };
}

/** The same change without the paths in `fields` and below. */
export function withoutFields(change: Change, fields: FieldSet): Change {
  if (change === NO_CHANGE || isEmptySet(fields)) return change;
  return {
    removed: recursiveDifference(change.removed, fields),
    modified: recursiveDifference(change.modified, fields),
    added: recursiveDifference(change.added, fields),
  };
}

function rootless(set: FieldSet): FieldSet {
  return set.owned ? setNode(false, set.children) : set;
}

function changeOf(before: JsonValue, after: JsonValue, type: FieldType): Change | undefined {
  if (before === after) return undefined;
  const formBefore = formOf(type, before);
  const formAfter = formOf(type, after);
  const change = changeAs(formAfter, before, after, type);
  if (formBefore === formAfter) return change;
  // An untyped field that changes its form: the old one goes and the new one comes.
  return joined(changeAs(formBefore, before, after, type), change);
}

function joined(a: Change | undefined, b: Change | undefined): Change | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return {
    removed: union(a.removed, b.removed),
    modified: union(a.modified, b.modified),
    added: union(a.added, b.added),
  };
}

function changeAs(
  form: 'scalar' | 'list' | 'map',
  before: JsonValue,
  after: JsonValue,
  type: FieldType,
): Change | undefined {
  if (form === 'map') return mapChange(before, after, type.map as MapType);
  if (form === 'list') return listChange(before, after, type.list as ListType);
  return deepEqual(before, after) ? undefined : leafModified;
}

function mapChange(before: JsonValue, after: JsonValue, map: MapType): Change | undefined {
  const left = isObject(before) ? before : undefined;
  const right = isObject(after) ? after : undefined;
  // Both empty or null is a leaf too: it keeps `null` and `{}` apart.
  const bothEmpty =
    (left === undefined || isEmptyObject(left)) && (right === undefined || isEmptyObject(right));
  if (map.atomic || bothEmpty) return deepEqual(before, after) ? undefined : leafModified;
  const parts = noParts();
  if (right !== undefined) {
    for (const key of Object.keys(right)) {
      const value = right[key];
      if (value !== undefined) addEntry(parts, map, key, own(left, key), value);
    }
  }
  if (left !== undefined) {
    for (const key of Object.keys(left)) {
      const value = left[key];
      if (value !== undefined && own(right, key) === undefined) addEntry(parts, map, key, value, undefined);
    }
  }
  return changeFrom(parts);
}

function addEntry(
  parts: Parts,
  map: MapType,
  key: string,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
): void {
  if (before === after) return;
  const field = map.field(key);
  const type = field?.type ?? map.element ?? deducedType;
  if (field?.builtIn && (before ?? null) === null && (after ?? null) === null) return;
  const left = before === undefined ? field?.zero : before;
  const right = after === undefined ? field?.zero : after;
  addPair(parts, field?.step ?? fieldElement(key), left, right, type);
}

function listChange(before: JsonValue, after: JsonValue, list: ListType): Change | undefined {
  const left = Array.isArray(before) ? before : [];
  const right = Array.isArray(after) ? after : [];
  if (list.relation === 'atomic' || (left.length === 0 && right.length === 0)) {
    return deepEqual(before, after) ? undefined : leafModified;
  }
  const parts = noParts();
  const olds = grouped(list, left);
  const news = grouped(list, right);
  for (const [element, old] of olds) {
    const now = news.get(element);
    if (old.length === 1 && (now === undefined || now.length === 1)) {
      addPair(parts, element, old[0], now?.[0], list.item);
    } else if (old.length > 1) {
      if (now !== undefined && now.length > 1) {
        if (!deepEqual(old, now)) addTo(parts, 'modified', element, LEAF);
      } else {
        // Several items become one or none: all are gone, what is left is new.
        addTo(parts, 'removed', element, LEAF);
        if (now?.[0] !== undefined) addTo(parts, 'added', element, wholeSet(now[0], list.item));
      }
    } else {
      addPair(parts, element, old[0], undefined, list.item);
      addTo(parts, 'added', element, LEAF);
    }
  }
  for (const [element, now] of news) {
    if (olds.has(element)) continue;
    addTo(parts, 'added', element, now.length > 1 ? LEAF : wholeSet(now[0] ?? null, list.item));
  }
  return changeFrom(parts);
}

function grouped(list: ListType, items: readonly JsonValue[]): Map<PathElement, JsonValue[]> {
  const out = new Map<PathElement, JsonValue[]>();
  const elements = itemElements(list, items);
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i] as PathElement;
    const group = out.get(element);
    if (group === undefined) out.set(element, [items[i] ?? null]);
    else group.push(items[i] ?? null);
  }
  return out;
}

/** All paths of a value that one side has and the other has not: unlike `toFieldSet`, containers count as well. */
function wholeSet(value: JsonValue, type: FieldType): FieldSet {
  const form = formOf(type, value);
  if (form === 'map' && isObject(value) && type.map?.atomic === false) {
    const children = new Map<PathElement, FieldSet>();
    for (const key of Object.keys(value)) {
      const item = value[key];
      if (item === undefined) continue;
      const field = type.map.field(key);
      const step = field?.step ?? fieldElement(key);
      children.set(step, wholeSet(item, field?.type ?? type.map.element ?? deducedType));
    }
    return setNode(true, children);
  }
  if (form === 'list' && Array.isArray(value) && type.list !== undefined && type.list.relation !== 'atomic') {
    const children = new Map<PathElement, FieldSet>();
    for (const [element, items] of grouped(type.list, value)) {
      children.set(element, items.length > 1 ? LEAF : wholeSet(items[0] ?? null, type.list.item));
    }
    return setNode(true, children);
  }
  return LEAF;
}

/** The changes of the children of one container, with a map for a kind of change only where there is one. */
interface Parts {
  removed: Map<PathElement, FieldSet> | undefined;
  modified: Map<PathElement, FieldSet> | undefined;
  added: Map<PathElement, FieldSet> | undefined;
}

function noParts(): Parts {
  return { removed: undefined, modified: undefined, added: undefined };
}

function addTo(parts: Parts, kind: keyof Parts, element: PathElement, set: FieldSet): void {
  if (isEmptySet(set)) return;
  const children = parts[kind] ?? new Map<PathElement, FieldSet>();
  parts[kind] = children;
  const present = children.get(element);
  children.set(element, present === undefined ? set : union(present, set));
}

function addPair(
  parts: Parts,
  element: PathElement,
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  type: FieldType,
): void {
  if (before === undefined) {
    if (after !== undefined) addTo(parts, 'added', element, wholeSet(after, type));
  } else if (after === undefined) addTo(parts, 'removed', element, wholeSet(before, type));
  else {
    const change = changeOf(before, after, type);
    if (change === undefined) return;
    addTo(parts, 'removed', element, change.removed);
    addTo(parts, 'modified', element, change.modified);
    addTo(parts, 'added', element, change.added);
  }
}

function changeFrom(parts: Parts): Change | undefined {
  if (parts.removed === undefined && parts.modified === undefined && parts.added === undefined)
    return undefined;
  return {
    removed: setNode(false, parts.removed),
    modified: setNode(false, parts.modified),
    added: setNode(false, parts.added),
  };
}
