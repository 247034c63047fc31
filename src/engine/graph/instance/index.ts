/**
 * Run time: what a compiled graph means for one instance. Pure: no I/O, no clock, no memory of its own.
 *
 * {@link stepInstance} says from what is known of the cluster which objects shall be there, what to look at next and why nodes wait.
 * Whoever runs it: looks at `reads` and steps again until there are none; writes `inventory` to the instance, then applies
 * `objects`; steps again with what came of it; deletes {@link pruneWaves} wave by wave; writes {@link instanceStatus}.
 * An instance that is being deleted goes by {@link stepDeletion}, which needs no graph.
 */

export { MAX_COLLECTION_SIZE } from './collection.ts';
export {
  type Contributed,
  type Deletion,
  type DeletionStep,
  pruneWaves,
  releasePatch,
  stepDeletion,
  withdrawal,
} from './deletion.ts';
export { type DesiredObject, writerKey } from './desired-object.ts';
export { graphStatus } from './graph-status.ts';
export { HUB_OBJECT, HUB_OBJECT_FINALIZER, hubObjectText } from './hub-object.ts';
export {
  type Contribution,
  covers,
  EMPTY_INVENTORY,
  groupKindOf,
  type Inventory,
  type InventoryReading,
  inventoryMarks,
  inventoryOf,
  readInventory,
  unionInventory,
} from './inventory.ts';
export type { ObjectQuery, Observed, Read } from './observed.ts';
export { type Origin, placeOnHub } from './origin.ts';
export {
  applySetId,
  contributionManager,
  type GraphOwner,
  instanceLabels,
  isSuspended,
  keepingVersion,
  labelValue,
  memberMarks,
  ownerLabels,
  patchManager,
} from './owner.ts';
export { type Reason, reasonText } from './reason.ts';
export { REMOTE_OBJECT, type RemoteState, remoteText } from './remote.ts';
export { observedObjects, renderInstance } from './render.ts';
export { type InstanceStatus, instanceStatus, type StatusInput } from './status.ts';
export { type InstanceStep, stepInstance } from './step.ts';
export type { ManagedResource, NodeReport, RenderedNode, StepOptions } from './walk.ts';
export { withDefaults } from './with-defaults.ts';
export {
  ANNOTATIONS,
  FINALIZER,
  type InstanceState,
  LABELS,
  MANAGED_BY,
  MANAGERS,
  type NodeState,
  WISHES,
} from './words.ts';
