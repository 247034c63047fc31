/**
 * Clusters without an engine (KREP-013): the hub runs the graphs on them itself, by the engine that every spoke has. Off unless whoever
 * runs the hub's process names a provider.
 *
 * - **Providers** (`provider.ts`, `providers/`) tell which clusters there are and how to get to them. `engage` waits for nothing; to abort
 *   its signal is to disengage; to engage the same name again is to rotate its credential.
 * - **Engagements** (`engagements.ts`, `cluster-run.ts`, `kept-connection.ts`): a run for each cluster, apart from all others. A new credential for the same API
 *   server goes below the work, which goes on; the connection of before is closed. To disengage closes all and touches nothing there.
 * - **Connections** (`cluster-clients.ts`) are shared by all who come with the same endpoint and credential, and checked as stored
 *   credentials are.
 * - **Definitions** (`hub-definitions.ts`) and their revisions are on the hub only; each cluster gets the revision that rollouts of the hub pin
 *   it to. A definition that a cluster has something of stays until that is gone.
 * - **Targets** (`targets/`): objects that graphs of the hub have on clusters which they name by a Secret.
 * - **Twins** (`twins.ts`, `once-only.ts`): a cluster that two names lead to is worked on by the first of them only.
 * - **Sharing** (`sharing.ts`, `workers.ts`): replicas of the hub share the clusters; a Lease for each cluster fences it.
 * - **Views** (`kind.ts`, `views.ts`): an EngagedCluster each, `kubectl get engagedclusters`.
 *
 * Where a cluster has an engine of graphs of its own, it is the one writer there, and the hub says so.
 */
export {
  type ClusterClients,
  type ClusterClientsOptions,
  clusterClients,
  type OpenConnection,
} from './cluster-clients.ts';
export type { ActAs, ClusterRunner, ClusterWork } from './cluster-run.ts';
export {
  type EngagedClusters,
  type EngagedClustersOptions,
  startEngagedClusters,
} from './engaged-clusters.ts';
export { ENGAGED_CLUSTER, type EngagedCluster, objectNameOf } from './kind.ts';
export type {
  Aware,
  ClusterAccess,
  ClusterConnection,
  ClusterProvider,
  RunningProvider,
} from './provider.ts';
export { clusterApiClusters } from './providers/cluster-api.ts';
export { profiledClusters } from './providers/cluster-profiles.ts';
export { type KnownClusters, knownClusters, NO_CLUSTERS } from './providers/known-clusters.ts';
export { type KubeconfigFiles, kubeconfigFiles } from './providers/kubeconfig-files.ts';
export { kubeconfigSecrets } from './providers/kubeconfig-secrets.ts';
export { namespaceClusters } from './providers/namespaces.ts';
export { severalProviders } from './providers/several.ts';
export { workerOf } from './sharing.ts';
export {
  type KubeconfigTargets,
  type KubeconfigTargetsOptions,
  startKubeconfigTargets,
} from './targets/index.ts';
