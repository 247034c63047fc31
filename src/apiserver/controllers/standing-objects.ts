import type { KubeObject } from '../../kube/object.ts';
import { errorText, formatTime, type Runtime, uuid } from '../../runtime/index.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import { objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store, Watch } from '../store/store.ts';

/** An object that every logical cluster has, and that comes back when somebody deletes it. */
export interface StandingObject {
  readonly group: string;
  /** Plural. */
  readonly resource: string;
  /** Complete: it is stored as it is, with a uid and a time of creation. */
  readonly object: KubeObject;
  /** Top-level fields that are the server's: they are put right at every start. */
  readonly owned: readonly string[];
}

export interface StandingObjects {
  /** Makes what a logical cluster lacks and puts right what is the server's. Deletions are undone in any case. */
  ensure(cluster: string): Promise<void>;
  stop(): void;
}

const RETRY_MS = 1000;

/** Keeps the same objects in all logical clusters that it was asked to. */
export function standingObjects(
  runtime: Runtime,
  store: Store,
  objects: readonly StandingObject[],
  exists: (cluster: string) => boolean,
): StandingObjects {
  let stopped = false;

  const keyOf = (cluster: string, { group, resource, object }: StandingObject): string =>
    objectKey(group, resource, cluster, object.metadata.namespace ?? '', object.metadata.name ?? '');

  async function put(cluster: string, standing: StandingObject): Promise<void> {
    await store.write(keyOf(cluster, standing), (current) => {
      const wanted = standing.object;
      if (!current) return stamped(runtime, wanted);
      if (standing.owned.every((field) => deepEqual(current.object[field], wanted[field]))) return undefined;
      const next = clone(current.object);
      for (const field of standing.owned) {
        if (wanted[field] === undefined) delete next[field];
        else next[field] = clone(wanted[field]);
      }
      return next;
    });
  }

  function restore(cluster: string, standing: StandingObject): void {
    if (stopped || !exists(cluster)) return;
    put(cluster, standing).catch((error: unknown) => {
      if (stopped) return;
      const key = keyOf(cluster, standing);
      runtime.log.warn('making a standing object failed, trying again', { key, error: errorText(error) });
      runtime.clock.after(RETRY_MS, () => restore(cluster, standing));
    });
  }

  const watches: Watch[] = [];
  const prefixes = new Set(objects.map(({ group, resource }) => resourcePrefix(group, resource)));
  for (const prefix of prefixes) {
    const kept = objects.filter(({ group, resource }) => resourcePrefix(group, resource) === prefix);
    watches.push(
      store.watch(prefix, store.revision, (events) => {
        for (const { type, record } of events) {
          if (type !== 'deleted') continue;
          const { cluster } = parseKey(record.key);
          const standing = kept.find((candidate) => keyOf(cluster, candidate) === record.key);
          if (standing && exists(cluster)) runtime.clock.defer(() => restore(cluster, standing));
        }
      }),
    );
  }

  return {
    async ensure(cluster) {
      const own = objects.filter((standing) => !store.get(keyOf(cluster, standing))?.shared);
      await Promise.all(own.map((standing) => put(cluster, standing)));
    },
    stop() {
      stopped = true;
      for (const watch of watches) watch.stop();
    },
  };
}

/** A new object, ready to be stored. */
export function stamped(runtime: Runtime, object: KubeObject): KubeObject {
  const made = clone(object);
  made.metadata.uid = uuid(runtime.random);
  made.metadata.creationTimestamp = formatTime(runtime.clock.now());
  return made;
}
