import type { KubeObject } from '../../kube/object.ts';
import { isObject } from '../../schema/json.ts';
import { forbiddenStatus } from '../admission/refusal.ts';
import { parseKey, SERVER_GROUP } from '../store/key.ts';
import type { Store, StoreRecord, WriteResult } from '../store/store.ts';
import { clusterOfRecord } from './cluster-record.ts';

type Decide = (current: StoreRecord | undefined) => KubeObject | null | undefined;
type Write = (key: string, decide: Decide) => Promise<WriteResult>;

/** Writes that keep a logical cluster below its number of objects. */
export interface LimitedWrites {
  /** `cluster` is the cluster's record. Rejects with 403 where one more object would be too many. */
  write(cluster: StoreRecord, key: string, decide: Decide, write?: Write): Promise<WriteResult>;
}

/**
 * Counts only where there is a limit, and only when an object is made: what is stored, and what is on its way. Shared
 * objects count from when the cluster has a copy of its own, which is never refused.
 */
export function limitedWrites(store: Store): LimitedWrites {
  /** Objects on their way, by cluster. */
  const coming = new Map<string, number>();

  return {
    async write(cluster, key, decide, write = store.write) {
      const most = limitOf(cluster);
      if (most === undefined) return write(key, decide);
      const name = clusterOfRecord(cluster.key);
      let counted = false;
      try {
        return await write(key, (current) => {
          const decided = decide(current);
          if (current !== undefined || !decided) return decided;
          const others = coming.get(name) ?? 0;
          if (countObjects(store, name) + others >= most) throw full(key, name, most);
          coming.set(name, others + 1);
          counted = true;
          return decided;
        });
      } finally {
        const others = coming.get(name) ?? 0;
        if (counted && others > 1) coming.set(name, others - 1);
        else if (counted) coming.delete(name);
      }
    },
  };
}

function limitOf(cluster: StoreRecord): number | undefined {
  const { spec } = cluster.object;
  const most = isObject(spec) ? spec.maxObjects : undefined;
  return typeof most === 'number' ? most : undefined;
}

function full(key: string, cluster: string, most: number): Error {
  const { group, resource, name } = parseKey(key);
  return forbiddenStatus(
    group,
    resource,
    name,
    `the logical cluster ${JSON.stringify(cluster)} holds as many objects as it may: ${most}`,
  );
}

const OWN = `/${SERVER_GROUP}/`;

/** How many objects are stored for a cluster. Costs a look-up for each resource that has any object. */
function countObjects(store: Store, cluster: string): number {
  let count = 0;
  for (const prefix of storedResources(store))
    if (!prefix.startsWith(OWN)) count += store.count(`${prefix}${cluster}/`);
  return count;
}

/** The prefixes of all resources with any object, found by leaping from one to the next. */
export function* storedResources(store: Store): Generator<string> {
  let after = '/';
  for (;;) {
    const [first] = store.list('/', { after, limit: 1 }).records;
    if (first === undefined) return;
    const prefix = first.key.slice(0, first.key.indexOf('/', first.key.indexOf('/', 1) + 1) + 1);
    yield prefix;
    after = `${prefix}\uffff`;
  }
}
