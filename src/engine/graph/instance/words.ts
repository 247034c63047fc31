/** Names that the graph engine writes on objects; the one home for them. */

export const FINALIZER = 'kro.run/finalizer';

/** Field managers. */
export const MANAGERS = {
  /** Children. */
  children: 'kro.run/applyset',
  /** The inventory on the instance. */
  inventory: 'kro.run/applyset-parent',
  /** Finalizer and labels of the instance. */
  labels: 'kro.run/labeller',
} as const;

export const LABELS = {
  owned: 'kro.run/owned',
  version: 'kro.run/kro-version',
  nodeId: 'kro.run/node-id',
  collectionIndex: 'kro.run/collection-index',
  collectionSize: 'kro.run/collection-size',
  instanceId: 'kro.run/instance-id',
  instanceName: 'kro.run/instance-name',
  instanceNamespace: 'kro.run/instance-namespace',
  instanceGroup: 'kro.run/instance-group',
  instanceVersion: 'kro.run/instance-version',
  instanceKind: 'kro.run/instance-kind',
  graphId: 'kro.run/resource-graph-definition-id',
  graphName: 'kro.run/resource-graph-definition-name',
  revisionHash: 'kro.run/graph-revision-hash',
  managedBy: 'app.kubernetes.io/managed-by',
  setId: 'applyset.kubernetes.io/id',
  partOf: 'applyset.kubernetes.io/part-of',
} as const;

export const ANNOTATIONS = {
  applyOrder: 'internal.kro.run/apply-order',
  tooling: 'applyset.kubernetes.io/tooling',
  groupKinds: 'applyset.kubernetes.io/contains-group-kinds',
  namespaces: 'applyset.kubernetes.io/additional-namespaces',
  inventoryHash: 'internal.kro.run/applyset-inventory-hash',
  reconcile: 'kro.run/reconcile',
  allowBreakingChanges: 'kro.run/allow-breaking-changes',
  /** Of what was applied, where a change of it may be held back. */
  applied: 'atoll.dev/applied-digest',
  /** On an instance: the objects that it adds fields to, which are not its own. */
  contributions: 'atoll.dev/contributions',
  /** On an instance of the hub that the graph of another cluster's instance is made of: that cluster. Told, never asked. */
  origin: 'kro.run/originating-cluster',
} as const;

/** What a template says of its object, by annotations with the value `"true"`. */
export const WISHES = {
  /** The object outlives its node and its instance; only the engine's marks go. */
  retain: 'atoll.dev/preserve-on-deletion',
  /** It belongs to its instance also for the garbage collector. */
  ownerReference: 'atoll.dev/owner-reference',
} as const;

export const MANAGED_BY = 'kro';

export type NodeState =
  | 'IN_PROGRESS'
  | 'WAITING_FOR_READINESS'
  | 'SYNCED'
  | 'SKIPPED'
  | 'ERROR'
  | 'DELETING'
  | 'DELETED';

export type InstanceState = 'IN_PROGRESS' | 'ACTIVE' | 'DELETING' | 'ERROR';
