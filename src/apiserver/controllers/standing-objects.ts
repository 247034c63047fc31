import type { KubeObject } from '../../kube/object.ts';
import { errorText, formatTime, type Runtime, uuid } from '../../runtime/index.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import { filledIn, type Template, type TemplateSet } from '../clusters/index.ts';
import { objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store, Watch } from '../store/store.ts';

/** An object that every logical cluster has, and that comes back when somebody deletes it. */
export interface StandingObject {
  readonly group: string;
  /** Plural. */
  readonly resource: string;
  /** As its template has it, but for the owners of its fields. */
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

/** Keeps the same objects in all logical clusters that it was asked to. Of kinds that are not served there is no template. */
export function standingObjects(
  runtime: Runtime,
  store: Store,
  templates: Pick<TemplateSet, 'byResource'>,
  wanted: readonly StandingObject[],
  exists: (cluster: string) => boolean,
): StandingObjects {
  const templateOf = ({ group, resource, object }: StandingObject): Template | undefined => {
    const { name = '', namespace = '' } = object.metadata;
    const suffix = `${namespace === '' ? '-' : namespace}/${name}`;
    return templates.byResource.get(resourcePrefix(group, resource))?.bySuffix.get(suffix);
  };
  const objects = wanted.filter((standing) => templateOf(standing) !== undefined);
  let stopped = false;

  const keyOf = (cluster: string, { group, resource, object }: StandingObject): string =>
    objectKey(group, resource, cluster, object.metadata.namespace ?? '', object.metadata.name ?? '');

  async function put(cluster: string, standing: StandingObject): Promise<void> {
    await store.write(keyOf(cluster, standing), (current) => {
      const template = templateOf(standing);
      if (!current)
        return template && clone(filledIn(template, uuid(runtime.random), formatTime(runtime.clock.now())));
      const wanted = standing.object;
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
