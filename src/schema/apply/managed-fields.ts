import { isObject, type JsonObject, type JsonValue, stringAt } from '../json.ts';
import { type FieldSet, isEmptySet } from './field-set.ts';
import { decodeFieldsV1, encodeFieldsV1 } from './fields-v1.ts';

export type Operation = 'Apply' | 'Update';

/** Who owns which fields, and in which version of the API they said so. */
export interface Manager {
  readonly manager: string;
  readonly operation: Operation;
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339, whole seconds; absent when the manager never changed a value. */
  readonly time: string | undefined;
  readonly set: FieldSet;
  /** The entry as it was read and its set: written back as it is while the set stays. */
  readonly source: { readonly fields: JsonObject; readonly set: FieldSet } | undefined;
}

/** By manager id. */
export type Managers = ReadonlyMap<string, Manager>;

/**
 * What makes managers different: name, operation, subresource, and for updates the version. An applier has one entry
 * over all versions.
 */
export function managerId(
  entry: Pick<Manager, 'manager' | 'operation' | 'apiVersion' | 'subresource'>,
): string {
  const version = entry.operation === 'Apply' ? '' : entry.apiVersion;
  return JSON.stringify([entry.manager, entry.operation, version, entry.subresource]);
}

/** Reads `metadata.managedFields`. One wrong entry makes the whole list invalid: `undefined`. */
export function decodeManagers(list: JsonValue | undefined): Map<string, Manager> | undefined {
  const out = new Map<string, Manager>();
  if (list === undefined || list === null) return out;
  if (!Array.isArray(list)) return undefined;
  for (const entry of list) {
    const manager = decodeManager(entry);
    if (manager === undefined) return undefined;
    out.set(managerId(manager), manager);
  }
  return out;
}

/** Sets by the stored value that they were read from, which nobody changes: most writes leave most managers as they were. */
const knownSets = new WeakMap<JsonObject, FieldSet>();

function setOfFields(fields: JsonObject): FieldSet | undefined {
  const known = knownSets.get(fields);
  if (known !== undefined) return known;
  const set = decodeFieldsV1(fields);
  if (set !== undefined) knownSets.set(fields, set);
  return set;
}

function decodeManager(entry: JsonValue): Manager | undefined {
  if (!isObject(entry)) return undefined;
  const { operation, apiVersion, fieldsType, fieldsV1 } = entry;
  if (operation !== 'Apply' && operation !== 'Update') return undefined;
  if (typeof apiVersion !== 'string' || apiVersion === '' || fieldsType !== 'FieldsV1') return undefined;
  const fields = fieldsV1 ?? {};
  const set = isObject(fields) ? setOfFields(fields) : undefined;
  if (set === undefined || !isObject(fields)) return undefined;
  return {
    manager: stringAt(entry, 'manager') ?? '',
    operation,
    apiVersion,
    subresource: stringAt(entry, 'subresource') ?? '',
    time: stringAt(entry, 'time'),
    set,
    source: { fields, set },
  };
}

/** The list as it is stored; `undefined` when nobody owns anything. */
export function encodeManagers(managers: Managers): JsonObject[] | undefined {
  const entries: Manager[] = [];
  for (const entry of managers.values()) if (!isEmptySet(entry.set)) entries.push(entry);
  if (entries.length === 0) return undefined;
  entries.sort(compareManagers);
  return entries.map((entry) => ({
    manager: entry.manager,
    operation: entry.operation,
    apiVersion: entry.apiVersion,
    ...(entry.time === undefined ? {} : { time: entry.time }),
    fieldsType: 'FieldsV1',
    fieldsV1: entry.source?.set === entry.set ? entry.source.fields : encodeFieldsV1(entry.set),
    ...(entry.subresource === '' ? {} : { subresource: entry.subresource }),
  }));
}

/** Appliers first, then by time in seconds, name, version, subresource. */
function compareManagers(a: Manager, b: Manager): number {
  return (
    compareText(a.operation, b.operation) ||
    seconds(a.time) - seconds(b.time) ||
    compareText(a.manager, b.manager) ||
    compareText(a.apiVersion, b.apiVersion) ||
    compareText(a.subresource, b.subresource)
  );
}

export function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

/** Seconds since the epoch; an absent or unreadable time is the oldest. */
export function seconds(time: string | undefined): number {
  if (time === undefined) return 0;
  const milliseconds = Date.parse(time);
  return Number.isNaN(milliseconds) ? 0 : Math.floor(milliseconds / 1000);
}

/** True for `[]` and `[{}]`: the writer asks to forget who owns what. */
export function isReset(list: JsonValue | undefined): boolean {
  if (!Array.isArray(list) || list.length > 1) return false;
  const only = list[0];
  return only === undefined || (isObject(only) && Object.keys(only).length === 0);
}
