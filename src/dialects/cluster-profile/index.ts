/**
 * ClusterProfiles (multicluster.x-k8s.io, of SIG Multicluster): the inventory as other tools read it. Each is a view of one
 * SpokeCluster, made anew from that whenever it changes; nobody's wish is in it, and no credential.
 */
export { CLUSTER_PROFILE, MANAGER_LABEL, PROFILE_MANAGER } from './kinds.ts';
export {
  type ClusterProfile,
  type ClusterProfileStatus,
  clusterProfileOf,
  type ProfiledCluster,
} from './profile.ts';
