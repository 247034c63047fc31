/**
 * Clusters that are made because somebody declared them: SpokeClusters with `mode: provision`. The mode alone decides whether anything
 * may be created: `connect` and `adopt` create nothing, wherever a provider is. A hub without a provider refuses such clusters and
 * says so. Making is asked for again until it is done, also after a restart; taking away is asked for with `deletionPolicy: cleanup`
 * only, and hits what the provider made for that very object.
 */
export type { ClusterProvider } from './provider.ts';
export { createProvisioning, type Provisioned, type Provisioning } from './provisioning.ts';
