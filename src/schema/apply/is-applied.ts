import { deepEqual, isObject, type JsonObject, type JsonValue, listAt, stringAt } from '../json.ts';
import { parseJson } from '../json-text.ts';

/** What names an object and is no field of anybody. */
const IDENTITY = new Set(['apiVersion', 'kind']);
const META_IDENTITY = new Set(['name', 'namespace', 'resourceVersion', 'uid']);

/**
 * Whether applying a configuration to a live object surely changes nothing, by the record of the object alone: the manager
 * owns by its last apply just the fields that are stated, and each has the value that is stated. It needs no schema. False
 * says nothing: a value that the server writes in another form, for example, looks like a change here.
 */
export function isApplied(live: JsonObject, applied: JsonObject, manager: string): boolean {
  const entry = listAt(live, 'metadata', 'managedFields').find(
    (one) =>
      stringAt(one, 'manager') === manager &&
      stringAt(one, 'operation') === 'Apply' &&
      (stringAt(one, 'subresource') ?? '') === '',
  );
  if (!isObject(entry) || entry['apiVersion'] !== applied['apiVersion'] || !isObject(entry['fieldsV1']))
    return false;
  return stands(fieldsOf(applied), live, entry['fieldsV1']);
}

/** A configuration without what names it. */
function fieldsOf(applied: JsonObject): JsonObject {
  const out: JsonObject = {};
  for (const key in applied) if (key !== 'metadata' && !IDENTITY.has(key)) out[key] = applied[key] ?? null;
  const { metadata } = applied;
  if (!isObject(metadata)) return out;
  const meta: JsonObject = {};
  for (const key in metadata) if (!META_IDENTITY.has(key)) meta[key] = metadata[key] ?? null;
  if (Object.keys(meta).length > 0) out['metadata'] = meta;
  return out;
}

function stands(stated: JsonValue, live: JsonValue | undefined, fields: JsonObject): boolean {
  const elements = Object.keys(fields).filter((key) => key !== '.');
  if (elements.length === 0) return deepEqual(stated, live);
  if (isObject(stated)) return isObject(live) && mapStands(stated, live, fields, elements);
  return Array.isArray(stated) && Array.isArray(live) && listStands(stated, live, fields, elements);
}

function mapStands(
  stated: JsonObject,
  live: JsonObject,
  fields: JsonObject,
  elements: readonly string[],
): boolean {
  if (Object.keys(stated).length !== elements.length) return false;
  for (const element of elements) {
    const name = element.slice(2);
    const below = fields[element];
    if (!element.startsWith('f:') || !isObject(below)) return false;
    if (!Object.hasOwn(stated, name) || !Object.hasOwn(live, name)) return false;
    if (!stands(stated[name] ?? null, live[name], below)) return false;
  }
  return true;
}

/** Items by their keys or values, and in the order in which they are stated. */
function listStands(
  stated: readonly JsonValue[],
  live: readonly JsonValue[],
  fields: JsonObject,
  elements: readonly string[],
): boolean {
  if (stated.length !== elements.length) return false;
  const places = new Array<number>(stated.length).fill(-1);
  for (const element of elements) {
    const below = fields[element];
    const wanted = elementValue(element.slice(2));
    if (wanted === undefined || !isObject(below)) return false;
    const keyed = element.startsWith('k:');
    if (!keyed && !element.startsWith('v:')) return false;
    const from = stated.findIndex((item) => (keyed ? hasKey(item, wanted, true) : deepEqual(item, wanted)));
    const to = live.findIndex((item) => (keyed ? hasKey(item, wanted, false) : deepEqual(item, wanted)));
    if (from < 0 || to < 0 || places[from] !== -1) return false;
    if (keyed && !stands(stated[from] ?? null, live[to], below)) return false;
    places[from] = to;
  }
  return places.every((place, index) => index === 0 || place > (places[index - 1] ?? -1));
}

/** Whether an item has these key fields. A key that is not stated was defaulted. */
function hasKey(item: JsonValue, key: JsonValue, mayLack: boolean): boolean {
  if (!isObject(item) || !isObject(key)) return false;
  for (const name in key) {
    if (!Object.hasOwn(item, name)) {
      if (!mayLack) return false;
    } else if (!deepEqual(item[name], key[name])) return false;
  }
  return true;
}

function elementValue(text: string): JsonValue | undefined {
  try {
    return parseJson(text);
  } catch {
    // Someone wrote the record by hand: it names no item then.
    return undefined;
  }
}
