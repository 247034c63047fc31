import type { Logger } from '../../../runtime/log.ts';
import type { Aware, ClusterAccess, ClusterProvider } from '../provider.ts';
import { type ToldClusters, toldClusters } from '../told-clusters.ts';

/** Clusters that code of the same process adds and removes: embedded ones, or those of tests. */
export interface KnownClusters {
  readonly provider: ClusterProvider;
  /** Adds it, or gives it another access. */
  set(name: string, access: ClusterAccess): void;
  remove(name: string): void;
}

export function knownClusters(): KnownClusters {
  const known = new Map<string, ClusterAccess>();
  const running = new Set<ToldClusters>();
  return {
    provider: {
      kind: 'in-process',
      start({ log }: { readonly log: Logger }, aware: Aware) {
        const told = toldClusters(aware, log);
        running.add(told);
        for (const [name, access] of known) told.set(name, name, access);
        return {
          synced: () => true,
          stop() {
            running.delete(told);
            told.stop();
          },
        };
      },
    },
    set(name, access) {
      known.set(name, access);
      for (const told of running) told.set(name, name, access);
    },
    remove(name) {
      known.delete(name);
      for (const told of running) told.remove(name);
    },
  };
}

/** Tells of nothing. */
export const NO_CLUSTERS: ClusterProvider = {
  kind: 'none',
  start: () => ({ synced: () => true, stop: () => undefined }),
};
