import { type ClusterName, clusterName } from '../../kube/cluster-name.ts';
import { errorText, type Logger } from '../../runtime/log.ts';
import { deepEqual } from '../../schema/json.ts';
import type { Aware, ClusterAccess } from './provider.ts';

/** What a provider has told of, so that it tells changes only, and each of them once. */
export interface ToldClusters {
  /** `key` is the provider's own; the name may be no name, which is logged. */
  set(key: string, name: string, access: ClusterAccess): void;
  remove(key: string): void;
  keys(): string[];
  stop(): void;
}

interface Told {
  readonly name: ClusterName;
  readonly access: ClusterAccess;
  readonly ending: AbortController;
}

export function toldClusters(aware: Aware, log: Logger): ToldClusters {
  const told = new Map<string, Told>();
  let stopped = false;

  function remove(key: string): void {
    const before = told.get(key);
    told.delete(key);
    before?.ending.abort();
  }

  return {
    set(key, text, access) {
      if (stopped) return;
      let name: ClusterName;
      try {
        name = clusterName(text);
      } catch (error) {
        log.warn('a cluster is left out', { cluster: text.slice(0, 80), why: errorText(error) });
        remove(key);
        return;
      }
      const before = told.get(key);
      if (
        before?.name === name &&
        before.access.digest === access.digest &&
        deepEqual({ ...before.access.labels }, { ...access.labels })
      )
        return;
      const ending = new AbortController();
      told.set(key, { name, access, ending });
      // The new one first: a name that stays is never disengaged in between.
      aware.engage(name, access, ending.signal);
      before?.ending.abort();
    },
    remove,
    keys: () => [...told.keys()],
    stop() {
      stopped = true;
      for (const key of [...told.keys()]) remove(key);
    },
  };
}
