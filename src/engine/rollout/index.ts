/**
 * When: which cluster may have which revision now.
 *
 * {@link step} takes an event (a revision is wanted, clusters were seen, a metric was sampled, a person decided, time went by) and says what
 * to do: release, hold or roll back clusters, measure, record. It never edits what people wrote: {@link permittedRevision} is the
 * whole answer. A stage begins only over clusters that are seen at that moment to be Ready with the revision; what was seen
 * before, and what a hub read back from its store ({@link recoverRollout}), passes no gate. Rollbacks go at once.
 *
 * {@link rolloutStatus} says it in words; {@link viewWindows} is what maintenance windows mean on a day on which clocks change;
 * {@link stepUpdate} is how the pods of one workload change within one cluster; its spoke drives it, with or without the hub.
 * `history.ts` keeps revisions, `content.ts` says what one is, and {@link stampOrders} under which generation each cluster is told.
 */
export { type Condition, parseCondition } from './analysis.ts';
export { contentOf, type RevisionContent, revisionDigest, withContent } from './content.ts';
export { gateProblems } from './gates.ts';
export {
  DEFAULT_HISTORY_LIMIT,
  type Revision,
  type RevisionHistory,
  revisionToRestore,
  withPin,
  withRevision,
  withSuccess,
} from './history.ts';
export { DEFAULT_TIMEOUT_S } from './judge.ts';
export { isTimeZone } from './local-time.ts';
export {
  type MaintenanceWindow,
  type Opening,
  viewWindows,
  type WindowView,
  windowProblems,
} from './maintenance-window.ts';
export { memorable } from './memory.ts';
export { lastStamp, shifted } from './shifted.ts';
export { stagesAhead } from './stage-assignment.ts';
export {
  NO_REVISION,
  type Stamp,
  type Stamped,
  type Stamps,
  stampOrders,
  UNKNOWN_REVISION,
  type WantedContent,
} from './stamps.ts';
export {
  type ClusterPhase,
  type ClusterProgress,
  type Observation,
  type Person,
  ROLLOUT_REASONS,
  type RolloutEffect,
  type RolloutEvent,
  type RolloutPhase,
  type RolloutReason,
  type RolloutState,
  type RolloutStep,
  type SightWord,
  type StagePhase,
  type StageProgress,
  type Waiting,
  type WaitReason,
} from './state.ts';
export {
  type ClusterCounts,
  type ClusterNote,
  type RolloutStatus,
  type RolloutWord,
  rolloutStatus,
  type StageStatus,
  WAIT_REMEDIES,
} from './status.ts';
export { permittedRevision, recoverRollout, step, withSights } from './step.ts';
export {
  type Analysis,
  type AnalysisMetric,
  type Approval,
  type MaintenancePolicy,
  type RollbackPolicy,
  type RollbackScope,
  type RolloutCluster,
  type RolloutGate,
  type RolloutStage,
  type RolloutStrategy,
  skippedStages,
  strategyProblems,
} from './strategy.ts';
export {
  countsOf,
  givenBack,
  heldFields,
  holding,
  isHeld,
  isStepwise,
  minReadyOf,
  ownFields,
  replicasWanted,
} from './workload-fields.ts';
export {
  type CanaryStep,
  type ChangeUnderWay,
  podsOf,
  type SeenWorkload,
  stepUpdate,
  type UpdateMove,
  type UpdateProgress,
  updateProblems,
  type WorkloadUpdate,
} from './workload-update.ts';
