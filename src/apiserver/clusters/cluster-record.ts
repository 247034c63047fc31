import type { KubeObject } from '../../kube/object.ts';
import { resourcePrefix, SERVER_GROUP } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';

/**
 * The one object by which a logical cluster exists. It is no part of the API: `createCluster` and `deleteCluster` write it.
 * Its uid, time and revision are those that the cluster's shared objects are made of.
 */
export const CLUSTERS: string = resourcePrefix(SERVER_GROUP, 'logicalclusters');
/** No object of the API can have it. */
const API_VERSION = `${SERVER_GROUP}/v1`;

/** The prefix of the record of one cluster, of which there is exactly one. */
export function clusterRecordPrefix(cluster: string): string {
  return `${CLUSTERS}${cluster}/`;
}

export function clusterRecordKey(cluster: string): string {
  return `${CLUSTERS}${cluster}/-/cluster`;
}

/** The name of the cluster whose record has this key. */
export function clusterOfRecord(key: string): string {
  return key.slice(CLUSTERS.length, key.indexOf('/', CLUSTERS.length));
}

/** The record of a cluster that exists: one that is being deleted does not. */
export function liveCluster(store: Store, cluster: string): StoreRecord | undefined {
  const record = store.get(clusterRecordKey(cluster));
  return record && isLive(record) ? record : undefined;
}

export function isLive(record: StoreRecord): boolean {
  return record.object.metadata.deletionTimestamp === undefined;
}

export interface ClusterState {
  readonly uid: string;
  readonly creationTimestamp: string;
  /** Of the templates that its shared objects were made of. */
  readonly templates: string;
  readonly maxObjects?: number;
  readonly owner?: string;
}

export function clusterObject(state: ClusterState): KubeObject {
  const { uid, creationTimestamp, templates, maxObjects, owner } = state;
  return {
    apiVersion: API_VERSION,
    kind: 'LogicalCluster',
    metadata: { name: 'cluster', uid, creationTimestamp },
    ...(maxObjects === undefined && owner === undefined
      ? {}
      : {
          spec: {
            ...(maxObjects === undefined ? {} : { maxObjects }),
            ...(owner === undefined ? {} : { owner }),
          },
        }),
    status: { templates },
  };
}

/** Stands in the place of a shared object that was deleted. */
export function tombstone(name: string): KubeObject {
  return { apiVersion: API_VERSION, kind: 'Tombstone', metadata: { name } };
}

const TOMBSTONE_START: Buffer = Buffer.from(`{"apiVersion":"${API_VERSION}","kind":"Tombstone",`);

const TOMBSTONE_SIGN = TOMBSTONE_START.byteLength - 2;

/** Told by how it begins, and by one byte of that first: this is asked of everything that is read. */
export function isTombstone({ bytes }: StoreRecord): boolean {
  if (bytes[TOMBSTONE_SIGN] !== TOMBSTONE_START[TOMBSTONE_SIGN]) return false;
  if (bytes.byteLength < TOMBSTONE_START.byteLength) return false;
  return TOMBSTONE_START.compare(bytes, 0, TOMBSTONE_START.byteLength) === 0;
}
