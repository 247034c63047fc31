import { asJson, gvkOf, type KubeObject } from '../../kube/object.ts';
import { clone, deepEqual, isObject, type JsonValue, listAt } from '../../schema/json.ts';
import type { IgnoredFields } from '../intent.ts';
import { RETAINED_BY_KIND, type RetainedField, retainItems } from './built-in.ts';
import { ownsField } from './field-owner.ts';
import {
  expandFieldPath,
  type FieldPath,
  formatFieldPath,
  parseFieldPath,
  readField,
  removeField,
  writeField,
} from './field-path.ts';

/** What besides the kind decides which fields of an object are its cluster's. */
export interface RetentionOptions {
  /** Rules of the owner of the cluster for the kind. `down` takes a rule of the kind back. */
  readonly rules?: readonly { readonly path: FieldPath; readonly mode: RetainedField['mode'] | 'down' }[];
  readonly ignoreFields?: readonly IgnoredFields[];
  /** Where the number of replicas is, if its source leaves it to the cluster. */
  readonly replicas?: FieldPath;
  /** Where the number of replicas is, if an autoscaler of the cluster sets it: then no override does. */
  readonly autoscaled?: FieldPath;
  /** JSON pointers that an override of this cluster sets: what it says holds. */
  readonly overridden?: readonly string[];
}

/** The fields of an object that its cluster owns. */
export function retainedFields(object: KubeObject, options: RetentionOptions = {}): RetainedField[] {
  const { group, kind } = gvkOf(object);
  const fields = new Map<string, RetainedField>();
  const add = (retained: RetainedField): void => void fields.set(formatFieldPath(retained.path), retained);
  for (const retained of RETAINED_BY_KIND.get(`${group}/${kind}`) ?? []) add(retained);
  if (options.replicas) add({ path: options.replicas, mode: 'keep' });
  for (const { condition, paths } of options.ignoreFields ?? [])
    for (const text of paths) {
      const path = parseFieldPath(text);
      if (path) add({ path, mode: condition === 'OnPresent' ? 'keep' : 'changed' });
    }
  for (const { path, mode } of options.rules ?? []) {
    if (mode === 'down') fields.delete(formatFieldPath(path));
    else add({ path, mode });
  }
  const overridden = (options.overridden ?? []).map((pointer) =>
    formatFieldPath(parseFieldPath(pointer) ?? []),
  );
  const kept = [...fields.values()].filter(({ path, mode }) => {
    if (mode === 'fill' || mode === 'local') return true;
    const text = formatFieldPath(path);
    return !overridden.some((set) => set !== '' && (set === text || text.startsWith(`${set}.`)));
  });
  return options.autoscaled ? [...kept, { path: options.autoscaled, mode: 'keep' }] : kept;
}

/** Injected later by somebody else: what manifests carry where a certificate will be. */
const SAYS_NOTHING = new Set<unknown>([undefined, null, '', 'Cg==']);

function statesNothing(value: JsonValue | undefined): boolean {
  return SAYS_NOTHING.has(value) || (Array.isArray(value) && value.length === 0);
}

/** Each field with the paths that it stands for, and the values on both sides. */
function* sides(
  wanted: KubeObject,
  live: KubeObject,
  fields: readonly RetainedField[],
): Generator<{
  field: RetainedField;
  path: FieldPath;
  want: JsonValue | undefined;
  has: JsonValue | undefined;
}> {
  for (const field of fields) {
    if (field.when && !field.when(wanted, live)) continue;
    for (const path of expandFieldPath(field.path, wanted, live))
      yield { field, path, want: readField(wanted, path), has: readField(live, path) };
  }
}

/** Whether the cluster's value of a field holds. */
function isClusters(
  field: RetainedField,
  want: JsonValue | undefined,
  has: JsonValue | undefined,
  owned: () => boolean,
): boolean {
  if (field.mode === 'fill') return statesNothing(want) && has !== undefined;
  if (field.mode === 'changed') return has !== undefined && !deepEqual(want, has) && !owned();
  return true;
}

/** An object as it is made: without what is never sent. */
export function forCreation(wanted: KubeObject, fields: readonly RetainedField[]): KubeObject {
  const local = fields.filter(({ mode }) => mode === 'local');
  if (local.length === 0) return wanted;
  const draft = clone(wanted);
  for (const { path } of sides(wanted, wanted, local)) removeField(asJson(draft), path);
  return draft;
}

/** An object as server-side apply is told it. */
export interface ApplyConfiguration {
  readonly object: KubeObject;
  /** It repeats values that were read: it may only be applied to the object as it was then. */
  readonly pinned: boolean;
}

/**
 * What to apply to a live object so that the fields of its cluster stay as they are. A field that `manager` applied before
 * cannot just be left out, since that would take it away: it is repeated until another writer has set it.
 */
export function forApply(
  wanted: KubeObject,
  live: KubeObject,
  fields: readonly RetainedField[],
  manager: string,
): ApplyConfiguration {
  let draft: KubeObject | undefined;
  let pinned = false;
  for (const { field, path, want, has } of sides(wanted, live, fields)) {
    const owned = ownsField(live, path, manager, 'Apply');
    // What is not stated, and was not stated before, server-side apply leaves alone by itself.
    if (want === undefined && !owned) continue;
    if (!isClusters(field, want, has, () => owned) || (owned && deepEqual(want, has))) continue;
    draft ??= clone(wanted);
    if (owned && has !== undefined) {
      writeField(asJson(draft), path, has);
      pinned = true;
    } else removeField(asJson(draft), path);
  }
  if (!draft) return { object: wanted, pinned };
  const { resourceVersion } = live.metadata;
  if (pinned && resourceVersion !== undefined) draft.metadata.resourceVersion = resourceVersion;
  return { object: draft, pinned };
}

/** Notes on an object which labels and annotations a full replacement put there, so that it can take them away again. */
export const TRACKING_ANNOTATION = 'atoll.dev/applied-metadata';

/**
 * An object to replace a live one with: all that is wanted, and of the live one what its cluster owns. Labels, annotations,
 * finalizers and owners that others added stay.
 */
export function forUpdate(
  wanted: KubeObject,
  live: KubeObject,
  fields: readonly RetainedField[],
  manager: string,
): KubeObject {
  const draft = clone(wanted);
  const before = tracked(live);
  const { resourceVersion, uid } = live.metadata;
  const labels = merged(live.metadata.labels, wanted.metadata.labels, before.labels);
  const annotations = merged(live.metadata.annotations, wanted.metadata.annotations, before.annotations);
  const finalizers = united(live.metadata.finalizers, wanted.metadata.finalizers, String);
  const owners = united(live.metadata.ownerReferences, wanted.metadata.ownerReferences, (owner) => owner.uid);
  draft.metadata = {
    ...draft.metadata,
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
    ...(uid === undefined ? {} : { uid }),
    labels,
    annotations: { ...annotations, ...trackingOf(wanted) },
    ...(finalizers.length === 0 ? {} : { finalizers }),
    ...(owners.length === 0 ? {} : { ownerReferences: owners }),
  };
  delete draft['status'];
  retainItems(draft, live);
  for (const { field, path, want, has } of sides(wanted, live, fields)) {
    if (!isClusters(field, want, has, () => ownsField(live, path, manager))) continue;
    if (has === undefined) removeField(asJson(draft), path);
    else writeField(asJson(draft), path, has);
  }
  return draft;
}

/** The annotation with which an object is made that will be replaced later. */
export function trackingOf(wanted: KubeObject): Record<string, string> {
  const { labels = {}, annotations = {} } = wanted.metadata;
  const keys = { labels: Object.keys(labels).sort(), annotations: Object.keys(annotations).sort() };
  return { [TRACKING_ANNOTATION]: JSON.stringify(keys) };
}

function tracked(live: KubeObject): { labels: readonly string[]; annotations: readonly string[] } {
  const text = live.metadata.annotations?.[TRACKING_ANNOTATION];
  let value: unknown;
  try {
    value = text === undefined ? undefined : JSON.parse(text);
  } catch {
    // Someone wrote something else there: nothing is known of what was put there then, and nothing is taken away.
    value = undefined;
  }
  const keys = (name: string): string[] =>
    isObject(value) ? listAt(value, name).filter((key) => typeof key === 'string') : [];
  return { labels: keys('labels'), annotations: keys('annotations') };
}

function merged(
  live: Record<string, string> | undefined,
  wanted: Record<string, string> | undefined,
  before: readonly string[],
): Record<string, string> {
  const kept = { ...live };
  for (const key of before) delete kept[key];
  return { ...kept, ...wanted };
}

function united<T>(a: readonly T[] = [], b: readonly T[] = [], id: (item: T) => string): T[] {
  const ids = new Set(b.map(id));
  return [...a.filter((item) => !ids.has(id(item))), ...b];
}
