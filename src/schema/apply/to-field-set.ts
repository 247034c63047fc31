import { isObject, type JsonValue } from '../json.ts';
import { fieldElement, isField, isKey, type PathElement } from './field-path.ts';
import { EMPTY_SET, type FieldSet, isEmptySet, LEAF, ownedNode, setNode } from './field-set.ts';
import { itemElements } from './list-items.ts';
import { isEmptyObject } from './own-property.ts';
import { deducedType, type FieldType, formOf, type ListType, type MapType } from './typed-schema.ts';

/** The paths that an applied value speaks of: leaves, list items, keys of maps, and what is explicitly empty. */
export function toFieldSet(value: JsonValue, type: FieldType): FieldSet {
  switch (formOf(type, value)) {
    case 'scalar':
      return LEAF;
    case 'list':
      return listSet(value, type.list as ListType);
    default:
      return mapSet(value, type.map as MapType);
  }
}

function listSet(value: JsonValue, list: ListType): FieldSet {
  if (list.relation === 'atomic') return LEAF;
  if (!Array.isArray(value)) return EMPTY_SET;
  const children = new Map<PathElement, FieldSet>();
  const elements = itemElements(list, value);
  for (let i = 0; i < elements.length; i++) {
    const element = elements[i] as PathElement;
    // Items that occur twice are owned as a whole.
    if (children.has(element)) children.set(element, LEAF);
    else children.set(element, ownedNode(toFieldSet(value[i] ?? null, list.item)));
  }
  return setNode(false, children);
}

function mapSet(value: JsonValue, map: MapType): FieldSet {
  if (map.atomic) return LEAF;
  if (!isObject(value)) return EMPTY_SET;
  const children = new Map<PathElement, FieldSet>();
  for (const key of Object.keys(value)) {
    const item = value[key];
    if (item === undefined) continue;
    const field = map.field(key);
    const below = toFieldSet(item, field?.type ?? map.element ?? deducedType);
    const whole = field === undefined || item === null || (isObject(item) && isEmptyObject(item));
    const node = whole ? ownedNode(below) : below;
    if (!isEmptySet(node)) children.set(field?.step ?? fieldElement(key), node);
  }
  return setNode(false, children);
}

/** The same set in which every declared field on the way to an owned path is owned too. */
export function withNamedFields(set: FieldSet, type: FieldType): FieldSet {
  if (set.children === undefined) return set;
  let children: Map<PathElement, FieldSet> | undefined;
  for (const [element, node] of set.children) {
    let below: FieldType = deducedType;
    let named = false;
    if (isField(element) && type.map !== undefined) {
      const field = type.map.field(element.slice(2));
      named = field !== undefined;
      below = field?.type ?? type.map.element ?? deducedType;
    } else if (isKey(element) && type.list !== undefined) below = type.list.item;
    let next = withNamedFields(node, below);
    if (named) next = ownedNode(next);
    if (next !== node) {
      children ??= new Map(set.children);
      children.set(element, next);
    }
  }
  return children === undefined ? set : setNode(set.owned, children);
}

/** What sets are in a type, by whole sets as they are read: those of an object are the same from write to write. */
const reconciledSets = new WeakMap<FieldType, WeakMap<FieldSet, FieldSet>>();

/**
 * Follows a change of schema: where a list or map has become atomic, paths inside it become the path itself. The
 * reverse is left alone: such a field behaves as if it had always been granular.
 */
export function reconcileSet(set: FieldSet, type: FieldType): FieldSet {
  let known = reconciledSets.get(type);
  if (known === undefined) {
    known = new WeakMap();
    reconciledSets.set(type, known);
  }
  let found = known.get(set);
  if (found === undefined) {
    found = reconciledNode(set, type);
    known.set(set, found);
  }
  return found;
}

function reconciledNode(set: FieldSet, type: FieldType): FieldSet {
  if (set.children === undefined || type.deduced) return set;
  const first = set.children.keys().next().value;
  const inMap = first !== undefined && isField(first) && type.map !== undefined;
  if (inMap ? type.map?.atomic : type.list?.relation === 'atomic') return LEAF;
  let children: Map<PathElement, FieldSet> | undefined;
  for (const [element, node] of set.children) {
    let below: FieldType | undefined;
    if (isField(element)) below = type.map?.field(element.slice(2))?.type ?? type.map?.element;
    else below = type.list?.item;
    if (below === undefined) continue;
    const next = reconciledNode(node, below);
    if (next !== node) {
      children ??= new Map(set.children);
      children.set(element, next);
    }
  }
  return children === undefined ? set : setNode(set.owned, children);
}
