/**
 * How many: the division of replicas (Job parallelism, sets of pods) among chosen clusters.
 *
 * {@link divide} is a plain function: the same request gives the same answer, with a reason for every cluster. In steady mode
 * what was divided before stays where it is and only the difference is divided; one replica more never takes one away from
 * a cluster (but for `Aggregated` and `Planner`, which are what their names are known for). What fits nowhere is
 * `unassigned` and comes with a `problem`; nothing here throws.
 *
 * Room comes from {@link capacityOf} (on the spoke) through {@link estimateReplicas} (at the hub), less what
 * {@link createReservations} holds of decisions that do not show yet.
 */
export { type Amounts, amountOf, amountsOf, podNeeds } from './amounts.ts';
export {
  type ClusterCapacity,
  type Component,
  type Estimate,
  estimateReplicas,
  estimateSets,
  type NodeClass,
  type NodeTaint,
  type NodeToleration,
  type ReplicaNeeds,
} from './capacity.ts';
export { COMPLETIONS, completionsOf, divideCompletions } from './completions.ts';
export { divide } from './divide.ts';
export {
  type CapacityReport,
  capacityOf,
  type PendingPods,
  type PodTally,
  replicaNeeds,
  tallyPods,
} from './node-summary.ts';
export { type Part, partsOf } from './parts.ts';
export { type PlannerCluster, type PlannerResult, planReplicas } from './planner.ts';
export { type PreferenceCluster, preferencesOf } from './preferences.ts';
export { readReplicas, replicasPatch, replicasPathOf } from './replicas-path.ts';
export {
  type ClusterPreference,
  DIVISION_STRATEGIES,
  type Division,
  type DivisionCluster,
  type DivisionOptions,
  type DivisionRequest,
  type DivisionStrategy,
  type Share,
} from './request.ts';
export { createReservations, RESERVED_FOR_MS, type Reservation, type Reservations } from './reservations.ts';
