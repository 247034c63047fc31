import type { KubeObject } from '../../kube/object.ts';
import { errorText, formatTime, type Runtime } from '../../runtime/index.ts';
import { groupResources, type ServedGroup, servicePriorities } from '../discovery/index.ts';
import type { Resource } from '../resource.ts';
import { clusterPrefix, objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { stamped } from './standing-objects.ts';

export interface ApiServiceOptions {
  readonly store: Store;
  /** What a logical cluster serves now. */
  readonly resources: (cluster: string) => readonly Resource[];
  /** Calls back when that changes. */
  readonly onChange: (listener: (cluster: string) => void) => () => void;
  /** Whether a logical cluster is there, and not on its way out. */
  readonly exists: (cluster: string) => boolean;
}

const GROUP = 'apiregistration.k8s.io';
const RESOURCE = 'apiservices';
const PREFIX = resourcePrefix(GROUP, RESOURCE);
/** Marks the objects that are made here; others are their makers'. */
const MANAGED = 'kube-aggregator.kubernetes.io/automanaged';
const RETRY_MS = 1000;

/** Keeps an APIService for every group version that a logical cluster serves itself. */
export function localApiServices(
  runtime: Runtime,
  { store, resources, onChange, exists }: ApiServiceOptions,
): { ensure(cluster: string): Promise<void>; stop(): void } {
  const due = new Set<string>();
  let stopped = false;

  async function sync(cluster: string): Promise<void> {
    const served = resources(cluster);
    if (!served.some(({ group, resource }) => group === GROUP && resource === RESOURCE)) return;
    const wanted = new Map(
      listedGroups(served).flatMap(({ name, versions }) =>
        versions.map(({ version, resources: [first] }) => {
          const key = objectKey(GROUP, RESOURCE, cluster, '', `${version}.${name}`);
          return [
            key,
            { name, version, custom: first !== undefined && 'custom' in first && first.custom === true },
          ];
        }),
      ),
    );
    const writes: Promise<unknown>[] = [];
    for (const record of store.list(clusterPrefix(GROUP, RESOURCE, cluster)).records) {
      const known = wanted.delete(record.key);
      if (known || record.object.metadata.labels?.[MANAGED] === undefined) continue;
      const { revision, key } = record;
      writes.push(store.write(key, (current) => (current?.revision === revision ? null : undefined)));
    }
    for (const [key, { name, version, custom }] of wanted)
      writes.push(
        store.write(key, (current) =>
          current
            ? undefined
            : stamped(runtime, apiService(name, version, custom, formatTime(runtime.clock.now()))),
        ),
      );
    await Promise.all(writes);
  }

  function schedule(cluster: string): void {
    if (!exists(cluster)) return;
    if (due.size === 0) runtime.clock.defer(run);
    due.add(cluster);
  }

  function run(): void {
    const now = [...due];
    due.clear();
    for (const cluster of now) {
      if (stopped) return;
      sync(cluster).catch((error: unknown) => {
        if (stopped) return;
        runtime.log.warn('listing API services failed, trying again', { cluster, error: errorText(error) });
        runtime.clock.after(RETRY_MS, () => schedule(cluster));
      });
    }
  }

  const forget = onChange(schedule);
  const watch = store.watch(PREFIX, store.revision, (events) => {
    for (const { type, record } of events) if (type === 'deleted') schedule(parseKey(record.key).cluster);
  });

  return {
    ensure: sync,
    stop() {
      stopped = true;
      forget();
      watch.stop();
    },
  };
}

/** All groups but the one of APIServices itself, which nobody else could serve. */
function listedGroups(served: readonly Resource[]): ServedGroup[] {
  return groupResources(served).filter(({ name }) => name !== GROUP);
}

/** The APIServices of what every logical cluster serves, from its beginning on. */
export function builtinApiServices(served: readonly Resource[]): KubeObject[] {
  return listedGroups(served).flatMap(({ name, versions }) =>
    versions.map(({ version }) => apiService(name, version, false, '')),
  );
}

function apiService(group: string, version: string, custom: boolean, since: string): KubeObject {
  return {
    apiVersion: `${GROUP}/v1`,
    kind: 'APIService',
    metadata: { name: `${version}.${group}`, labels: { [MANAGED]: custom ? 'true' : 'onstart' } },
    spec: { ...(group === '' ? {} : { group }), ...servicePriorities(group, version, custom), version },
    status: {
      conditions: [
        {
          lastTransitionTime: since,
          message: 'Local APIServices are always available',
          reason: 'Local',
          status: 'True',
          type: 'Available',
        },
      ],
    },
  };
}
