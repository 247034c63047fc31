import type { ObjectRef } from '../../kube/object.ts';

/** What must be there before what. Kinds that are not named come after the built-in ones and before workloads' consumers. */
const RANKS: readonly (readonly string[])[] = [
  ['Namespace'],
  ['CustomResourceDefinition', 'PriorityClass', 'StorageClass', 'IngressClass', 'RuntimeClass'],
  ['ServiceAccount', 'ClusterRole', 'Role', 'ResourceQuota', 'LimitRange', 'NetworkPolicy'],
  ['ClusterRoleBinding', 'RoleBinding'],
  ['Secret', 'ConfigMap', 'PersistentVolume'],
  ['PersistentVolumeClaim', 'Service'],
  ['Pod', 'Deployment', 'StatefulSet', 'DaemonSet', 'ReplicationController', 'Job', 'CronJob'],
  [],
  ['HorizontalPodAutoscaler', 'PodDisruptionBudget', 'Ingress', 'APIService'],
  [
    'MutatingWebhookConfiguration',
    'ValidatingWebhookConfiguration',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
  ],
];
const UNKNOWN_RANK = 7;
const RANK_OF = new Map(RANKS.flatMap((kinds, rank) => kinds.map((kind) => [kind, rank] as const)));

/** Lower is applied earlier and removed later. */
export function kindRank(kind: string): number {
  return RANK_OF.get(kind) ?? UNKNOWN_RANK;
}

/** Apply order: by rank, then by name, so that equal sets have equal order. Removal is the reverse. */
export function compareForApply(a: ObjectRef, b: ObjectRef): number {
  return (
    kindRank(a.kind) - kindRank(b.kind) ||
    compareText(a.kind, b.kind) ||
    compareText(a.namespace, b.namespace) ||
    compareText(a.name, b.name) ||
    compareText(a.apiVersion, b.apiVersion)
  );
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
