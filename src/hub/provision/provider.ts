import type { SpokeCluster } from '../../dialects/kubevela/types.ts';

/** Makes clusters, and takes away those that it made. What it is given to make is known by the uid of the object. */
export interface ClusterProvider {
  /** For people: `embedded`. */
  readonly name: string;
  /**
   * Resolves when the cluster is there. What was made for the object before is left as it is, so that this can be asked again at any
   * time. Rejects, with what to do, where it cannot be made; a cluster that it did not make is never taken over.
   */
  create(spoke: SpokeCluster): Promise<void>;
  /** Resolves when what was made for the object is gone; at once where nothing was. */
  remove(spoke: SpokeCluster): Promise<void>;
}
