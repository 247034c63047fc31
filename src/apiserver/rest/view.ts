import type { KubeObject } from '../../kube/object.ts';
import { formatApiVersion } from '../../kube/object.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import { jsonText } from '../../schema/json-text.ts';
import type { Resource } from '../resource.ts';
import type { StoreRecord } from '../store/store.ts';
import { changeVersion, normalizeStored } from './decode.ts';

/** An object in the version of a resource, with its JSON text. Shared: never change it. */
export interface View {
  readonly object: KubeObject;
  readonly bytes: Uint8Array;
}

/** Views that differ from what is stored, or are known not to. A CRD's change makes new resources and so new views. */
const views = new WeakMap<Resource, WeakMap<StoreRecord, View>>();

function isStoredForm(resource: Resource): boolean {
  return (
    !resource.custom && resource.version === resource.storageVersion && resource.storageGroup === undefined
  );
}

/**
 * A record as `resource` shows it. Built-ins in their storage version are shown as they are stored, without parsing;
 * custom resources are pruned and defaulted by today's schema, once per record.
 */
export function viewOf(resource: Resource, record: StoreRecord): View {
  if (isStoredForm(resource)) return record;
  let known = views.get(resource);
  if (!known) {
    known = new WeakMap();
    views.set(resource, known);
  }
  let view = known.get(record);
  if (!view) {
    view = makeView(resource, record);
    known.set(record, view);
  }
  return view;
}

function makeView(resource: Resource, record: StoreRecord): View {
  const { storedForm } = resource.strategy;
  const stored = clone(record.object);
  const object = storedForm ? storedForm.from(stored) : stored;
  const apiVersion = formatApiVersion(resource.group, resource.version);
  if (resource.custom && object.apiVersion !== apiVersion) changeVersion(resource, object);
  else {
    object.apiVersion = apiVersion;
    if (!storedForm) normalizeStored(resource, object);
  }
  if (deepEqual(object, record.object)) return record;
  return { object, bytes: Buffer.from(jsonText(object)) };
}

/** Whether a record would have to be converted by somebody outside before `resource` can show it. */
export function isForeign(resource: Resource, record: StoreRecord): boolean {
  if (resource.conversion === undefined || views.get(resource)?.has(record)) return false;
  return record.object.apiVersion !== formatApiVersion(resource.group, resource.version);
}

/** Notes what a record is in the version of `resource`, as somebody outside has converted it. */
export function noteConverted(resource: Resource, record: StoreRecord, converted: KubeObject): void {
  normalizeStored(resource, converted);
  const known = views.get(resource) ?? new WeakMap<StoreRecord, View>();
  views.set(resource, known);
  known.set(record, { object: converted, bytes: Buffer.from(jsonText(converted)) });
}

/** Notes that `record` was just written in `resource`'s own form, so that reading it needs no parse. */
export function noteFresh(resource: Resource, record: StoreRecord): void {
  if (isStoredForm(resource) || resource.version !== resource.storageVersion) return;
  if (resource.storageGroup !== undefined) return;
  let known = views.get(resource);
  if (!known) {
    known = new WeakMap();
    views.set(resource, known);
  }
  known.set(record, record);
}
