/**
 * The API of all clusters at one endpoint (`/fleet/api…`, `/fleet/apis…`): collections are listed and watched everywhere at
 * once, with a column and an annotation for the cluster; everything else goes to the one cluster that has the object. A
 * cluster that cannot answer is told beside the answer of the others, and never waited for.
 */
export type { MissingCluster } from './ask-clusters.ts';
export { type FleetAccessOptions, fleetAccess } from './fleet-access.ts';
export { CLUSTER_ANNOTATION } from './fleet-table.ts';
