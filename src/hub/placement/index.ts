/**
 * What a placement has to mind beside what its intent says: which clusters people let be used ({@link followPlacementPolicies}), and
 * where the workloads are that it goes together with or keeps away from ({@link peersOf}), and rules that whoever runs the hub adds
 * ({@link SchedulerPlugin}). {@link createPlacing} asks all of them, and keeps what was decided.
 */
export { type Peers, peersOf } from './peers.ts';
export { createPlacing, type Placing, type PlacingOptions } from './placing.ts';
export { type PluginRules, pluginRules, type SchedulerPlugin } from './plugins.ts';
export {
  followPlacementPolicies,
  PLACEMENT_POLICY,
  type PlacementPolicies,
  type PlacementPolicy,
} from './policies.ts';
export { createRetirement, type Retirement } from './retirement.ts';
export {
  CLUSTER_TAINT_POLICY,
  type ClusterConditionRule,
  type ClusterTaintPolicy,
  followTaintPolicies,
  type TaintPolicies,
  taintByPolicies,
} from './taint-policies.ts';
