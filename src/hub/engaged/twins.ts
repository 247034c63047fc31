import type { Client } from '../../kube/client.ts';
import type { ClusterName } from '../../kube/cluster-name.ts';
import type { Informer } from '../../kube/informer.ts';
import type { KubeObject } from '../../kube/object.ts';
import { StatusError } from '../../kube/status-error.ts';
import { namespaces } from '../../kube/well-known.ts';
import { type EngagedCluster, objectNameOf } from './kind.ts';
import type { Views } from './views.ts';

/** Which engaged clusters are one and the same: who has an id first keeps it until it is disengaged. */
export interface Twins {
  /** Takes an id for a name; resolves with the name that has it, where that is another one. The hub has it on record by then. */
  claim(cluster: ClusterName, id: string | undefined): Promise<string | undefined>;
  /** Nothing is done there by this name now. It stays on record: another worker may go on. */
  release(cluster: ClusterName): void;
  /** Hears when it may have changed who has an id. Returns how to stop listening. */
  listen(id: string, listener: () => void): () => void;
}

/** Of this namespace a cluster keeps the UID for life. */
const SELF = 'kube-system';

export function createTwins(informer: Informer<EngagedCluster>, views: Views): Twins {
  /** Objects by the id on record. */
  const recorded = new Map<string, Map<string, EngagedCluster>>();
  /** What this process has, ahead of the record. */
  const byId = new Map<string, ClusterName>();
  const own = new Map<ClusterName, string>();
  const listeners = new Map<string, Set<() => void>>();

  function tell(id: string | undefined): void {
    if (id !== undefined) for (const listener of [...(listeners.get(id) ?? [])]) listener();
  }

  informer.onChange(({ type, object, previous }) => {
    const name = object.metadata.name ?? '';
    const before = previous && idOnRecord(previous);
    const now = type === 'deleted' ? undefined : idOnRecord(object);
    for (const id of new Set([before, idOnRecord(object)])) {
      if (id === undefined || id === now) continue;
      const there = recorded.get(id);
      there?.delete(name);
      if (there?.size === 0) recorded.delete(id);
    }
    if (now !== undefined) {
      const there = recorded.get(now) ?? new Map<string, EngagedCluster>();
      recorded.set(now, there.set(name, object));
    }
    if (before === now && type === 'updated') return;
    for (const id of new Set([before, now, idOnRecord(object)])) tell(id);
  });

  function twinOf(cluster: ClusterName, id: string): string | undefined {
    const here = byId.get(id);
    if (here !== undefined && here !== cluster) return here;
    const there = recorded.get(id);
    const mine = there?.get(objectNameOf(cluster));
    for (const other of there?.values() ?? []) {
      const name = other.spec.cluster as ClusterName;
      // This process knows better by now.
      if (name === cluster || (own.has(name) && own.get(name) !== id)) continue;
      if (!mine || orderOf(other) < orderOf(mine)) return name;
    }
    return undefined;
  }

  function release(cluster: ClusterName): void {
    const id = own.get(cluster);
    own.delete(cluster);
    if (id === undefined || byId.get(id) !== cluster) return;
    byId.delete(id);
    tell(id);
  }

  return {
    async claim(cluster, id) {
      const twin = id === undefined ? undefined : twinOf(cluster, id);
      const mine = twin === undefined ? id : undefined;
      if (own.get(cluster) !== mine) release(cluster);
      if (mine !== undefined) {
        own.set(cluster, mine);
        byId.set(mine, cluster);
      }
      await views.identify(cluster, mine);
      return twin;
    },
    release,
    listen(id, listener) {
      const all = listeners.get(id) ?? new Set();
      listeners.set(id, all.add(listener));
      return () => {
        all.delete(listener);
        if (all.size === 0 && listeners.get(id) === all) listeners.delete(id);
      };
    },
  };
}

/** Who a cluster is; `undefined` where it does not tell whoever asks. */
export async function askId(client: Client, signal: AbortSignal): Promise<string | undefined> {
  try {
    return (await client.get(namespaces, '', SELF, { signal })).metadata.uid;
  } catch (error) {
    // What else such a credential may do is found out by the work.
    if (error instanceof StatusError && error.code < 500 && error.code !== 429) return undefined;
    throw error;
  }
}

function idOnRecord({ status }: EngagedCluster): string | undefined {
  return status?.state === 'Disengaged' ? undefined : status?.id;
}

function orderOf({ metadata }: KubeObject): string {
  return `${metadata.creationTimestamp ?? ''} ${metadata.uid ?? ''}`;
}
