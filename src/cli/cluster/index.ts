/**
 * `atoll cluster`: one cluster or all of them. What is not read from the spoke just now is marked as cached and has its age.
 */
export { type ClusterLine, clusterLine, clusterTable } from './facts.ts';
export { type ClusterReport, clusterReport } from './report.ts';
export { listClusters, showCluster } from './show-cluster.ts';
