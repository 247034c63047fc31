import { deepEqual, isObject, type JsonObject, type JsonValue, objectAt } from '../json.ts';
import type { TypeSchema } from '../open-api-schema.ts';
import type { Conflict } from './conflicts.ts';
import { formatPath } from './field-path.ts';
import {
  difference,
  EMPTY_SET,
  equalSets,
  type FieldSet,
  isEmptySet,
  isSubset,
  pathsOf,
  setOf,
  union,
} from './field-set.ts';
import { decodeFieldsV1 } from './fields-v1.ts';
import { fieldsOfLastApplied, refreshLastApplied } from './last-applied.ts';
import {
  compareText,
  decodeManagers,
  encodeManagers,
  isReset,
  type Manager,
  type Managers,
  managerId,
  type Operation,
  seconds,
} from './managed-fields.ts';
import { objectType } from './typed-schema.ts';
import {
  applied,
  type ConflictSets,
  type Failure,
  ownershipAfterUpdate,
  type Setting,
  type Version,
} from './updater.ts';
import { objectName, problemsText, validateApplied, validateStored } from './validate.ts';

/** What both kinds of writes have in common. */
export interface Write {
  /** The stored object in the version of the request; `undefined` when it is being created. */
  readonly live: JsonObject | undefined;
  /** Who writes; empty is `unknown`. */
  readonly manager: string;
  /** The endpoint's subresource, such as `status`. */
  readonly subresource?: string;
  /** The version of the endpoint. */
  readonly apiVersion: string;
  /** RFC 3339 in UTC and whole seconds. */
  readonly time: string;
  readonly type: TypeSchema;
  /** Other versions: their type, and how an object of any version becomes one of theirs. */
  readonly typeOf?: (apiVersion: string) => OtherVersion | undefined;
  /** Fields that nobody can come to own through this endpoint, in FieldsV1 form: `{"f:status":{}}`. */
  readonly resetFields: JsonObject;
  /** Whether stored objects may not be of their types, as custom resources may be: then each is looked at first. */
  readonly checked?: boolean;
}

export interface OtherVersion {
  readonly type: TypeSchema;
  convert(object: JsonObject): JsonObject;
}

export interface UpdateWrite extends Write {
  /** The object as it is to be stored, in the version of the request. */
  readonly updated: JsonObject;
}

export interface ApplyWrite extends Write {
  /** What the applier wants to say, and nothing else. */
  readonly applied: JsonObject;
  /** What the applier sent, where `applied` is more than that. */
  readonly given?: JsonObject;
  /** Take fields from other managers instead of failing. */
  readonly force: boolean;
}

export type ApplyOutcome =
  | { readonly object: JsonObject; readonly changed: boolean }
  | { readonly conflicts: readonly Conflict[] }
  | { readonly errors: readonly string[] }
  | Failure;

/** The owner of all that an object held before it was first applied. */
const beforeFirstApply = 'before-first-apply';
/** The owner of what was written by updaters beyond the newest ones. */
const ancientChanges = 'ancient-changes';
const maxUpdaters = 10;

/** What identifies an object and what the server alone writes: nobody owns it. */
const neverOwned: FieldSet = setOf(
  ['f:apiVersion'],
  ['f:kind'],
  ['f:metadata'],
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => ['f:metadata', `f:${name}`]),
);

/** `updated` with `metadata.managedFields` as they are after a create, update or patch. Does not change its arguments. */
export function trackUpdate(write: UpdateWrite): JsonObject {
  const known = managersOfUpdate(write);
  const next = withoutManagedFields(write.updated);
  // An object that nobody tracks stays so until it is first applied.
  if (known.size === 0 && write.live !== undefined) return next;
  const live = write.live === undefined ? {} : withoutManagedFields(write.live);
  const managers = updatedManagers(live, next, known, write.manager, write, settingOf(write));
  // Of what is not of its type nobody owns anything.
  return managers === undefined ? next : withManagers(next, capUpdaters(managers));
}

/**
 * Merges `applied` into the live object as server-side apply does. Does not change its arguments; the result shares parts with
 * them.
 */
export function applyObject(write: ApplyWrite): ApplyOutcome {
  const setting = settingOf(write);
  const errors = validateApplied(write.applied, setting.version.type);
  if (errors.length > 0) return { errors };
  const live = write.live === undefined ? {} : withoutManagedFields(write.live);
  let known: Managers = decodeManagers(objectAt(write.live, 'metadata')?.managedFields) ?? new Map();
  const misfit = setting.problem(live, setting.version);
  if (misfit !== undefined)
    return { failure: `failed to create typed live object (${objectName(live)}): ${misfit}` };
  if (known.size === 0 && write.live !== undefined) {
    known = updatedManagers({}, live, known, beforeFirstApply, write, setting) ?? known;
  }

  const me = managerInfo(write, write.manager, 'Apply');
  let outcome = applied(live, write.applied, known, me, write.force, setting);
  if ('conflicts' in outcome && write.manager === 'kubectl') {
    const allowed = fieldsOfLastApplied(live, write.apiVersion, setting.version.type);
    const refused = refusedConflicts(outcome.conflicts, allowed);
    outcome =
      refused.size > 0 ? { conflicts: refused } : applied(live, write.applied, known, me, true, setting);
  }
  if ('failure' in outcome) return outcome;
  if ('conflicts' in outcome) return { conflicts: listConflicts(outcome.conflicts, known) };

  const managers = outcome.managers;
  const mine = managers.get(me.id);
  if (mine !== undefined) {
    // The time says when a value changed by this manager's hand, so that repeating an apply writes nothing.
    const time = outcome.changed ? write.time : known.get(me.id)?.time;
    keep(managers, me.id, { ...mine, time, set: difference(mine.set, neverOwned) }, known.get(me.id));
  }
  const merged =
    write.manager === 'kubectl'
      ? refreshLastApplied(outcome.object, write.given ?? write.applied)
      : outcome.object;
  const object = withManagers(merged, managers);
  const changed = write.live === undefined || !deepEqual(write.live, object);
  return { object, changed };
}

/**
 * `next` with the live object's managedFields where nothing but their times differs, so that a write without effect
 * stays one. For use after defaulting and admission.
 */
export function settleTimes(live: JsonObject, next: JsonObject): JsonObject {
  const before = objectAt(live, 'metadata')?.managedFields;
  const after = objectAt(next, 'metadata')?.managedFields;
  if (!Array.isArray(before) || !Array.isArray(after) || before.length !== after.length) return next;
  const [old, now] = [before.map(timeless), after.map(timeless)];
  // What has no time changes places with what has, though nothing else has changed.
  if (!deepEqual(old, now) && !deepEqual(old.sort(byIdentity), now.sort(byIdentity))) return next;
  if (!deepEqual(withoutManagedFields(live), withoutManagedFields(next))) return next;
  return { ...next, metadata: { ...objectAt(next, 'metadata'), managedFields: before } };
}

function byIdentity(a: JsonValue, b: JsonValue): number {
  const identity = (entry: JsonValue): string =>
    isObject(entry)
      ? JSON.stringify([entry.manager, entry.operation, entry.apiVersion, entry.subresource])
      : '';
  return compareText(identity(a), identity(b));
}

function timeless(entry: JsonValue): JsonValue {
  if (!isObject(entry)) return entry;
  const { time: _time, ...rest } = entry;
  return rest;
}

function settingOf(write: Write): Setting {
  const versions = new Map<string, Version | undefined>();
  const own = write.typeOf?.(write.apiVersion);
  return {
    version: {
      apiVersion: write.apiVersion,
      type: objectType(write.type),
      convert: (object) => (own === undefined ? object : own.convert(object)),
    },
    versionOf(apiVersion: string): Version | undefined {
      if (versions.has(apiVersion)) return versions.get(apiVersion);
      const other = write.typeOf?.(apiVersion);
      const version = other && {
        apiVersion,
        type: objectType(other.type),
        convert: (object: JsonObject) => withoutManagedFields(other.convert(object)),
      };
      versions.set(apiVersion, version);
      return version;
    },
    reset: resetSet(write.resetFields),
    problem: (object, { type }) =>
      write.checked === true ? problemsText(validateStored(object, type)) : undefined,
  };
}

/** By kind: they are the same at each write. */
const resetSets = new WeakMap<JsonObject, FieldSet>();

function resetSet(fields: JsonObject): FieldSet {
  let set = resetSets.get(fields);
  if (set === undefined) {
    set = decodeFieldsV1(fields) ?? EMPTY_SET;
    resetSets.set(fields, set);
  }
  return set;
}

/** Whose ownership an update starts from: what the body says, unless it says nothing, nonsense, or may not speak. */
function managersOfUpdate(write: UpdateWrite): Managers {
  const live = objectAt(write.live, 'metadata')?.managedFields;
  if (write.subresource === undefined || write.subresource === '') {
    const list = objectAt(write.updated, 'metadata')?.managedFields;
    if (isReset(list)) return new Map();
    const said = decodeManagers(list);
    if (said !== undefined && said.size > 0) return said;
  }
  return decodeManagers(live) ?? new Map();
}

function updatedManagers(
  live: JsonObject,
  next: JsonObject,
  known: Managers,
  name: string,
  write: Write,
  setting: Setting,
): Map<string, Manager> | undefined {
  if (setting.problem(live, setting.version) ?? setting.problem(next, setting.version)) return undefined;
  const outcome = ownershipAfterUpdate(live, next, known, setting);
  if ('failure' in outcome) return undefined;
  const { managers, taken } = outcome;
  const set = difference(taken, neverOwned);
  if (isEmptySet(set)) return managers;
  const me = managerInfo(write, name, 'Update');
  const before = managers.get(me.id);
  managers.set(me.id, {
    ...me.entry,
    time: write.time,
    // Who writes the same fields again is written back as it was read.
    set: before === undefined ? set : isSubset(set, before.set) ? before.set : union(before.set, set),
    source: before?.source,
  });
  return managers;
}

function managerInfo(write: Write, name: string, operation: Operation): { id: string; entry: Manager } {
  const entry: Manager = {
    manager: name === '' ? 'unknown' : name,
    operation,
    apiVersion: write.apiVersion,
    subresource: write.subresource ?? '',
    time: undefined,
    set: EMPTY_SET,
    source: undefined,
  };
  return { id: managerId(entry), entry };
}

function keep(managers: Map<string, Manager>, id: string, entry: Manager, before: Manager | undefined): void {
  if (isEmptySet(entry.set)) managers.delete(id);
  // The same set as before is written back as it was read.
  else if (before !== undefined && equalSets(before.set, entry.set)) {
    managers.set(id, { ...entry, set: before.set, source: before.source });
  } else managers.set(id, entry);
}

/** Beyond ten updaters, the oldest of each version share one entry. */
function capUpdaters(managers: Map<string, Manager>): Map<string, Manager> {
  let count = 0;
  for (const entry of managers.values()) if (entry.operation === 'Update') count++;
  if (count <= maxUpdaters) return managers;
  const oldestFirst = [...managers]
    .filter(([, entry]) => entry.operation === 'Update')
    .sort((a, b) => seconds(a[1].time) - seconds(b[1].time) || compareText(a[0], b[0]));
  const first = new Map<string, string>();
  for (const [id, entry] of oldestFirst) {
    if (count <= maxUpdaters) break;
    const bucket: Omit<Manager, 'set' | 'time'> = {
      manager: ancientChanges,
      operation: 'Update',
      apiVersion: entry.apiVersion,
      subresource: '',
      source: undefined,
    };
    const bucketId = managerId(bucket);
    const firstId = first.get(entry.apiVersion);
    if (firstId === undefined) {
      // One entry alone gains nothing by a new name.
      first.set(entry.apiVersion, id);
      continue;
    }
    if (id === bucketId) continue;
    const held = managers.get(bucketId) ?? managers.get(firstId);
    if (!managers.has(bucketId)) managers.delete(firstId);
    managers.set(bucketId, { ...bucket, time: entry.time, set: union(held?.set ?? EMPTY_SET, entry.set) });
    managers.delete(id);
    count--;
  }
  return managers;
}

function refusedConflicts(conflicts: ConflictSets, allowed: FieldSet): Map<string, FieldSet> {
  const out = new Map<string, FieldSet>();
  for (const [id, set] of conflicts) {
    const rest = difference(set, allowed);
    if (!isEmptySet(rest)) out.set(id, rest);
  }
  return out;
}

/** By manager and path. */
function listConflicts(sets: ConflictSets, managers: Managers): Conflict[] {
  const out: Conflict[] = [];
  for (const [id, set] of [...sets].sort((a, b) => compareText(a[0], b[0]))) {
    const entry = managers.get(id);
    if (entry === undefined) continue;
    const { manager, operation, apiVersion, subresource } = entry;
    for (const path of pathsOf(set)) {
      out.push({ manager, operation, apiVersion, subresource, path: formatPath(path) });
    }
  }
  return out;
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const metadata = objectAt(object, 'metadata');
  if (metadata?.managedFields === undefined) return object;
  const { managedFields: _managedFields, ...rest } = metadata;
  return { ...object, metadata: rest };
}

function withManagers(object: JsonObject, managers: Managers): JsonObject {
  const list = encodeManagers(managers);
  if (list === undefined) return object;
  return { ...object, metadata: { ...objectAt(object, 'metadata'), managedFields: list } };
}
