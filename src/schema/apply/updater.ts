import { deepEqual, type JsonObject } from '../json.ts';
import { type Change, compare, NO_CHANGE, withoutFields } from './compare.ts';
import {
  difference,
  EMPTY_SET,
  type FieldSet,
  intersection,
  isEmptySet,
  isSubset,
  recursiveDifference,
  union,
} from './field-set.ts';
import type { Manager, Managers } from './managed-fields.ts';
import { merge } from './merge.ts';
import { removeItems } from './remove-items.ts';
import { reconcileSet, toFieldSet, withNamedFields } from './to-field-set.ts';
import type { FieldType } from './typed-schema.ts';

/** One version of an API: its type, and how objects of any other version become this one. */
export interface Version {
  readonly apiVersion: string;
  readonly type: FieldType;
  readonly convert: (object: JsonObject) => JsonObject;
}

/** What the updater knows beside the objects. Objects come without `metadata.managedFields`. */
export interface Setting {
  /** The version of the request. */
  readonly version: Version;
  /** Another version; `undefined` when it is served no more. */
  readonly versionOf: (apiVersion: string) => Version | undefined;
  /** Fields that nobody can come to own through this endpoint. */
  readonly reset: FieldSet;
  /** Why an object is not of the type of a version. */
  readonly problem: (object: JsonObject, version: Version) => string | undefined;
}

/** Why fields could not be told apart, in the API server's words. */
export interface Failure {
  readonly failure: string;
}

/** The fields that stand in the way of an apply, by manager id. */
export type ConflictSets = ReadonlyMap<string, FieldSet>;

/** Ownership after `next` has replaced `live` by the hand of someone who applies nothing. */
export function ownershipAfterUpdate(
  live: JsonObject,
  next: JsonObject,
  managers: Managers,
  setting: Setting,
): { managers: Map<string, Manager>; taken: FieldSet } | Failure {
  const reconciled = reconcile(managers, setting);
  const change = changeIn(live, next, setting.version, setting);
  const outcome = takeFrom(reconciled, undefined, live, next, change, setting, true);
  if ('failure' in outcome) return outcome;
  const taken = recursiveDifference(union(change.modified, change.added), setting.reset);
  return { managers: outcome.managers, taken };
}

export interface Applied {
  readonly object: JsonObject;
  readonly changed: boolean;
  readonly managers: Map<string, Manager>;
}

/** Merges what `me` applies, removes what `me` applied before and nobody wants any more, and settles who owns what. */
export function applied(
  live: JsonObject,
  config: JsonObject,
  managers: Managers,
  me: { readonly id: string; readonly entry: Manager },
  force: boolean,
  setting: Setting,
): Applied | { readonly conflicts: ConflictSets } | Failure {
  const { type } = setting.version;
  const reconciled = reconcile(managers, setting);
  const merged = merge(live, config, type) as JsonObject;
  const spoken = toFieldSet(config, type);
  const set = recursiveDifference(spoken, setting.reset);
  const last = reconciled.get(me.id);
  reconciled.set(me.id, { ...me.entry, set });
  const object = last === undefined ? merged : prune(merged, config, reconciled, last, set, setting);
  const changed = !deepEqual(live, object);
  const change = changed ? changeIn(live, object, setting.version, setting) : NO_CHANGE;
  const outcome = takeFrom(reconciled, me.id, live, object, change, setting, force);
  if ('failure' in outcome) return outcome;
  if (outcome.conflicts.size > 0 && !force) return { conflicts: outcome.conflicts };
  return { object, changed, managers: outcome.managers };
}

/** Follows changes of the schema in every manager's set. */
function reconcile(managers: Managers, setting: Setting): Map<string, Manager> {
  const out = new Map(managers);
  for (const [id, entry] of managers) {
    const version = versionOf(entry.apiVersion, setting);
    if (version === undefined) continue;
    const set = reconcileSet(entry.set, version.type);
    if (set !== entry.set) out.set(id, { ...entry, set });
  }
  return out;
}

function versionOf(apiVersion: string, setting: Setting): Version | undefined {
  return apiVersion === setting.version.apiVersion ? setting.version : setting.versionOf(apiVersion);
}

function converted(object: JsonObject, from: string, to: Version): JsonObject {
  return from === to.apiVersion ? object : to.convert(object);
}

function changeIn(live: JsonObject, next: JsonObject, version: Version, setting: Setting): Change {
  const from = setting.version.apiVersion;
  const change = compare(converted(live, from, version), converted(next, from, version), version.type);
  return withoutFields(change, setting.reset);
}

/** Fields that another version does not have, or has with other types, cannot be compared in it. */
function conversionFailure(
  live: JsonObject,
  next: JsonObject,
  version: Version,
  setting: Setting,
): string | undefined {
  const from = setting.version.apiVersion;
  for (const [name, object] of [
    ['old', live],
    ['new', next],
  ] as const) {
    const problem = setting.problem(converted(object, from, version), version);
    if (problem !== undefined) return `failed to convert ${name} object: ${problem}`;
  }
  return undefined;
}

/** Takes from all but `me` what changes and what is gone. Managers left with nothing, or in a dead version, go. */
function takeFrom(
  managers: Managers,
  me: string | undefined,
  live: JsonObject,
  next: JsonObject,
  change: Change,
  setting: Setting,
  force: boolean,
): { managers: Map<string, Manager>; conflicts: Map<string, FieldSet> } | Failure {
  const changes = new Map<string, Change>([[setting.version.apiVersion, change]]);
  const out = new Map<string, Manager>();
  const conflicts = new Map<string, FieldSet>();
  for (const [id, entry] of managers) {
    if (id === me) {
      if (!isEmptySet(entry.set)) out.set(id, entry);
      continue;
    }
    let theirs = changes.get(entry.apiVersion);
    if (theirs === undefined) {
      const version = setting.versionOf(entry.apiVersion);
      if (version === undefined) continue;
      const failure = conversionFailure(live, next, version, setting);
      if (failure !== undefined) return { failure };
      theirs = change === NO_CHANGE ? NO_CHANGE : changeIn(live, next, version, setting);
      changes.set(entry.apiVersion, theirs);
    }
    const conflict = intersection(entry.set, union(theirs.modified, theirs.added));
    if (!isEmptySet(conflict)) conflicts.set(id, conflict);
    const kept = force ? difference(entry.set, conflict) : entry.set;
    const set = difference(kept, theirs.removed);
    if (!isEmptySet(set)) out.set(id, set === entry.set ? entry : { ...entry, set });
  }
  return { managers: out, conflicts };
}

/**
 * Takes away what the applier spoke of last time, no longer speaks of, and nobody else owns. `managers` holds the
 * applier's new set already.
 */
function prune(
  merged: JsonObject,
  config: JsonObject,
  managers: Managers,
  last: Manager,
  set: FieldSet,
  setting: Setting,
): JsonObject {
  const here = setting.version;
  // Applied again, in the same version and with nothing left out: there is nothing to take away.
  if (isEmptySet(last.set)) return merged;
  if (last.apiVersion === here.apiVersion && isSubset(last.set, set)) return merged;
  const then = versionOf(last.apiVersion, setting);
  if (then === undefined) return merged;

  const asThen = converted(merged, here.apiVersion, then);
  const lastFields = withNamedFields(last.set, then.type);
  let pruned = without(asThen, lastFields, then.type);
  const ownedBy = new Map<string, FieldSet>([[then.apiVersion, EMPTY_SET]]);
  for (const entry of managers.values()) {
    const known = ownedBy.get(entry.apiVersion);
    ownedBy.set(entry.apiVersion, known === undefined ? entry.set : union(known, entry.set));
  }
  // What someone owns comes back, first in the version that was pruned: conversion may need it.
  let at = then;
  for (const [apiVersion, owned] of ownedBy) {
    const version = versionOf(apiVersion, setting);
    if (version === undefined || isEmptySet(owned)) continue;
    const whole = converted(merged, here.apiVersion, version);
    const rest = converted(pruned, at.apiVersion, version);
    const keep = union(named(rest, version), withNamedFields(owned, version.type));
    pruned = without(whole, difference(named(whole, version), keep), version.type);
    at = version;
  }
  // And so does all that was not the applier's: only what it owned may go.
  const rest = named(converted(pruned, at.apiVersion, then), then);
  const gone = intersection(difference(named(asThen, then), rest), lastFields);
  if (isEmptySet(gone)) return merged;
  const result = (removeItems(asThen, gone, then.type, ownedBy.get(then.apiVersion)) ?? {}) as JsonObject;
  // Merged once more, because the applier may ask for an empty container where its last content has gone.
  return merge(converted(result, then.apiVersion, here), config, here.type) as JsonObject;
}

function named(object: JsonObject, version: Version): FieldSet {
  return withNamedFields(toFieldSet(object, version.type), version.type);
}

function without(object: JsonObject, set: FieldSet, type: FieldType): JsonObject {
  return (removeItems(object, set, type) ?? {}) as JsonObject;
}
