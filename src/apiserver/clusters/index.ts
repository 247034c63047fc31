/**
 * Logical clusters: API endpoints of their own (`/clusters/<name>`) over one store, each as if it were alone.
 *
 * A cluster is one stored record. What every cluster begins with (namespaces, roles, API services and so on) is computed
 * from templates that all share; it looks like any other object, with a uid of its own and the time and the revision of
 * its cluster. A write puts a copy into the cluster, a deletion leaves a tombstone. So an empty cluster costs one record,
 * and a deletion of a cluster takes with it all that was stored for it.
 */
export { type ClusterOptions, type LogicalClusters, logicalClusters } from './clusters.ts';
export { overlayStore } from './overlay-store.ts';
export { filledIn, nameUuid } from './shared-record.ts';
export { type SharedObject, type Template, type TemplateSet, templateSet } from './template.ts';
