/**
 * Failover: when the copy of an intent leaves a cluster by itself, and when it comes back. Off by default.
 *
 * {@link stepFailover} takes what is seen of clusters and copies and says what to do: decide anew without a cluster, remove the old
 * copy, go back. A new copy is healthy before the old one goes (`Gracefully`); how many move at a time is limited for the whole
 * fleet; a copy out of sight is never taken for an unhealthy one. {@link avoidedClusters} and {@link keptCopies} are what the
 * decision and the dispatcher have to mind meanwhile, {@link leftByMoves} what does not count as somebody's choice. {@link deschedule} takes back replicas that no node took.
 */
export { type Descheduling, deschedule, type PlacedReplicas } from './deschedule.ts';
export {
  type ClusterTaint,
  type FailoverOptions,
  type FailoverRate,
  type FailoverToleration,
  NOT_READY_TAINT,
  type PurgeMode,
  type StateRule,
  toleratedSeconds,
  UNREACHABLE_TAINT,
} from './options.ts';
export { shifted } from './shifted.ts';
export {
  type CarriedState,
  FAILOVER_REASONS,
  type FailoverEffect,
  type FailoverEvent,
  type FailoverReason,
  type FailoverRecord,
  type FailoverState,
  type FailoverStep,
  type IntentSight,
  type Move,
  type SightEvent,
} from './state.ts';
export { type PreservedState, preserveState } from './state-preservation.ts';
export {
  avoidedClusters,
  keptCopies,
  leftByMoves,
  mayBeLast,
  nextSight,
  noFailover,
  paidFor,
  stepFailover,
} from './step.ts';
export { type TokenBucket, takeToken } from './token-bucket.ts';
