import { badRequest, failure } from '../../kube/status-error.ts';
import { formatTime, type Runtime, uuid } from '../../runtime/index.ts';
import { clone, stringAt } from '../../schema/json.ts';
import { isClusterName } from '../request/index.ts';
import { SERVER_GROUP } from '../store/key.ts';
import type { Store, StoreRecord } from '../store/store.ts';
import {
  CLUSTERS,
  clusterObject,
  clusterOfRecord,
  clusterRecordKey,
  isLive,
  liveCluster,
} from './cluster-record.ts';
import { storedResources } from './object-limit.ts';

export interface ClusterOptions {
  /** How many objects the cluster may hold, not counting those that it shares with all others. No limit by default. */
  readonly maxObjects?: number;
  /** The uid of the object that the cluster is made for. Throws 409 where it exists and is not for that. */
  readonly owner?: string;
}

/** The logical clusters of a server. */
export interface LogicalClusters {
  /** False for a cluster that is being deleted. */
  has(name: string): boolean;
  /** Names in order. */
  names(): string[];
  /** The uid of the object that a cluster was made for, also while it is being deleted; `undefined` where there is none. */
  ownerOf(name: string): string | undefined;
  /** Does nothing when it exists with these options. Throws 400 for a bad name and 409 while it is being deleted. */
  create(name: string, options?: ClusterOptions): Promise<void>;
  /** Removes a cluster with all its objects; whether there was one. */
  delete(name: string): Promise<boolean>;
  /** Brings what is stored in step with the templates, and ends what was interrupted. To be awaited before serving. */
  start(): Promise<void>;
}

/** Writes that go into one commit. */
const BATCH = 500;
const PASSES = 20;

/** `store` shows what is stored. `digest` names the templates that shared objects are made of now. */
export function logicalClusters(runtime: Runtime, store: Store, digest: string): LogicalClusters {
  const deletions = new Map<string, Promise<boolean>>();

  async function create(name: string, { maxObjects, owner }: ClusterOptions = {}): Promise<void> {
    if (!isClusterName(name)) throw badRequest(`invalid logical cluster name ${JSON.stringify(name)}`);
    await store.write(clusterRecordKey(name), (current) => {
      if (current === undefined)
        return clusterObject({
          uid: uuid(runtime.random),
          creationTimestamp: formatTime(runtime.clock.now()),
          templates: digest,
          ...(maxObjects === undefined ? {} : { maxObjects }),
          ...(owner === undefined ? {} : { owner }),
        });
      if (!isLive(current))
        throw failure(409, 'Conflict', `the logical cluster ${JSON.stringify(name)} is being deleted`);
      if (owner !== undefined && ownerOf(current) !== owner)
        throw failure(409, 'Conflict', `the logical cluster ${JSON.stringify(name)} is somebody else's`);
      const next = clone(current.object);
      next.status = { templates: digest };
      if (maxObjects !== undefined) next.spec = { ...(next.spec as object), maxObjects };
      return next;
    });
  }

  async function remove(name: string): Promise<boolean> {
    const key = clusterRecordKey(name);
    if (store.get(key) === undefined) return false;
    await store.write(key, (current) => {
      if (current === undefined || !isLive(current)) return current?.object;
      const next = clone(current.object);
      next.metadata.deletionTimestamp = formatTime(runtime.clock.now());
      return next;
    });
    // Whoever wrote before the mark was there for all to see is in the queue before this: what comes later is refused.
    await store.write(key, (current) => current && { ...current.object, status: { isClosed: true } });
    for (let pass = 0; ; pass++) {
      const keys = keysOf(store, name);
      if (keys.length === 0) break;
      if (pass === PASSES)
        throw new Error(`the logical cluster ${JSON.stringify(name)} does not become empty`);
      for (let from = 0; from < keys.length; from += BATCH)
        await Promise.all(keys.slice(from, from + BATCH).map((stored) => removeKey(store, stored)));
    }
    await store.write(key, () => null);
    return true;
  }

  return {
    has: (name) => liveCluster(store, name) !== undefined,
    names: () =>
      store
        .list(CLUSTERS)
        .records.filter(isLive)
        .map(({ key }) => clusterOfRecord(key)),
    ownerOf(name) {
      const record = store.get(clusterRecordKey(name));
      return record && ownerOf(record);
    },
    create,
    delete(name) {
      let deletion = deletions.get(name);
      if (deletion === undefined) {
        deletion = remove(name).finally(() => deletions.delete(name));
        deletions.set(name, deletion);
      }
      return deletion;
    },
    async start() {
      const { records } = store.list(CLUSTERS);
      await Promise.all(
        records.map((record) => {
          const name = clusterOfRecord(record.key);
          return isLive(record) ? create(name) : remove(name);
        }),
      );
    },
  };
}

function ownerOf({ object }: StoreRecord): string | undefined {
  return stringAt(object, 'spec', 'owner');
}

const GONE: Error = new Error('it has gone already');

async function removeKey(store: Store, key: string): Promise<void> {
  try {
    await store.write(key, (current) => {
      if (current === undefined) throw GONE;
      return null;
    });
  } catch (error) {
    if (error !== GONE) throw error; // somebody was faster, which is as good
  }
}

/**
 * What of a cluster is to go next; nothing when all but its own record has gone. What says how the others are served comes last:
 * whoever watches them could not be shown that they have gone.
 */
function keysOf(store: Store, cluster: string): string[] {
  const keys: string[] = [];
  const last: string[] = [];
  for (const prefix of storedResources(store)) {
    if (prefix === CLUSTERS) continue;
    const target = LAST.some((group) => prefix.startsWith(group)) ? last : keys;
    for (const { key } of store.list(`${prefix}${cluster}/`).records) target.push(key);
  }
  return keys.length > 0 ? keys : last;
}

/** Bindings of APIs, and definitions. */
const LAST: readonly string[] = [`/${SERVER_GROUP}/`, '/apiextensions.k8s.io/'];
