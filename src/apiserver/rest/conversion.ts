import { formatApiVersion, type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { failure } from '../../kube/status-error.ts';
import { clone } from '../../schema/json.ts';
import type { Resource } from '../resource.ts';
import { clusterOfKey } from '../store/key.ts';
import type { StoreRecord } from '../store/store.ts';
import type { Decision } from './decision.ts';
import { type Scope, spansClusters } from './scope.ts';
import { isForeign, noteConverted } from './view.ts';

/**
 * Custom objects whose versions differ in form are converted by a webhook. Reading is synchronous everywhere, so whatever
 * is about to be read is converted beforehand, all of it with one call, and remembered with its record.
 */

/** Conversions that are under way, so that many watchers of one change ask once. */
const underWay = new WeakMap<Resource, WeakMap<StoreRecord, Promise<void>>>();

/** Gets records ready to be viewed in the version of the scope; `undefined` when they are, as nearly always. */
export function readied(scope: Scope, records: readonly StoreRecord[]): Promise<void> | undefined {
  const { resource } = scope;
  if (resource.custom && spansClusters(scope)) return readiedEach(scope, records);
  if (resource.conversion === undefined) return undefined;
  const foreign = records.filter((record) => isForeign(resource, record));
  if (foreign.length === 0) return undefined;
  const known = underWay.get(resource) ?? new WeakMap<StoreRecord, Promise<void>>();
  underWay.set(resource, known);
  const waits = new Set<Promise<void>>();
  const fresh: StoreRecord[] = [];
  for (const record of foreign) {
    const wait = known.get(record);
    if (wait) waits.add(wait);
    else fresh.push(record);
  }
  if (fresh.length > 0) {
    const conversion = convertRecords(scope, fresh).finally(() => {
      for (const record of fresh) known.delete(record);
    });
    for (const record of fresh) known.set(record, conversion);
    waits.add(conversion);
  }
  const all = Promise.all(waits).then(() => undefined);
  all.catch(() => {}); // whoever waits hears of it
  return all;
}

/**
 * Throws 500 where a record is stored in a version that its definition has no longer: nobody can be shown that. It can still be
 * written anew, and deleted.
 */
export function refuseStrayed(
  { custom, group, version, versionTypes }: Resource,
  records: readonly StoreRecord[],
): void {
  if (!custom || versionTypes === undefined) return;
  const own = formatApiVersion(group, version);
  for (const { object } of records) {
    const { apiVersion } = object;
    if (apiVersion === own || versionTypes.has(parseApiVersion(apiVersion).version)) continue;
    throw failure(500, '', `request to convert CR from an invalid group/version: ${apiVersion}`);
  }
}

/** Each logical cluster has its own definition, and with it its own webhook. */
function readiedEach(scope: Scope, records: readonly StoreRecord[]): Promise<void> | undefined {
  const { group, version, resource: plural } = scope.resource;
  const byCluster = new Map<string, StoreRecord[]>();
  for (const record of records) {
    const cluster = clusterOfKey(record.key);
    const own = byCluster.get(cluster);
    if (own) own.push(record);
    else byCluster.set(cluster, [record]);
  }
  const waits: Promise<void>[] = [];
  for (const [cluster, own] of byCluster) {
    const resource = scope.server.resources(cluster).find(group, version, plural);
    const wait = resource && readied({ ...scope, cluster, resource }, own);
    if (wait) waits.push(wait);
  }
  return waits.length === 0 ? undefined : Promise.all(waits).then(() => undefined);
}

/** Whether what is shown in a scope may have to be converted by somebody outside. */
export function mayBeForeign(scope: Scope): boolean {
  const { resource } = scope;
  return resource.conversion !== undefined || (resource.custom && spansClusters(scope));
}

async function convertRecords(scope: Scope, records: readonly StoreRecord[]): Promise<void> {
  const objects = records.map((record) => record.object);
  const converted = await convertObjects(scope, scope.resource, objects, scope.resource.version);
  for (const [index, record] of records.entries()) {
    const object = converted[index];
    if (object) noteConverted(scope.resource, record, object);
  }
}

/** Copies of `objects` in another version of a resource with a webhook. */
export async function convertObjects(
  { server, cluster }: Scope,
  resource: Resource,
  objects: readonly KubeObject[],
  version: string,
): Promise<KubeObject[]> {
  if (server.convert) return server.convert(cluster, resource, objects, version);
  const apiVersion = formatApiVersion(resource.group, version);
  return objects.map((object) => ({ ...clone(object), apiVersion }));
}

/** Objects that are about to be written, in the form in which they are stored. */
const storedForms = new WeakMap<KubeObject, KubeObject>();

/** The form in which an object of a resource with a webhook is stored, once it is known. */
export function convertedForStorage(object: KubeObject): KubeObject | undefined {
  return storedForms.get(object);
}

/** Postpones a decision to put an object until its stored form is known. */
export function untilStorable(scope: Scope, decision: Decision): Decision {
  const { resource } = scope;
  if (decision.action !== 'put' || resource.conversion === undefined) return decision;
  const { object, release } = decision;
  if (resource.version === resource.storageVersion || storedForms.has(object)) return decision;
  const until = convertObjects(scope, resource, [object], resource.storageVersion).then(([converted]) => {
    storedForms.set(object, converted ?? object);
  });
  until.catch(() => {});
  return {
    action: 'wait',
    until,
    next: () => decision,
    ...(release === undefined ? {} : { abandon: release }),
  };
}
