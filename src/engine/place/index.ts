/**
 * Where: which clusters an intent is placed on, and why not on the others.
 *
 * ```ts
 * const placer = createPlacer(clusters);                      // keeps index, compiled placements, decisions
 * placer.setFleet(clusters);                                  // at each change of the inventory
 * const decision = placer.decide(key, intent.placement, { nowMs, requires: requiredApis(intent.objects) });
 * ```
 *
 * {@link decideOn} is the pure function within, {@link decide} the same for one decision.
 *
 * - **Filters** leave clusters out, each with the rule and the value that it met ({@link REJECTIONS}).
 * - **Choice**: affinity groups in order, overflow tiers, spread, number, scores.
 * - **Sticky**: what is placed stays while it fits. The decision before is the only memory; it is plain JSON.
 * - **Time** is an input. `reconsiderAtMs` says when it alone would change the answer.
 *
 * A placement that cannot be understood decides nothing: what is placed stays. So it is with spread that cannot be had: nothing
 * new is placed, nothing is taken away for it. Nothing here throws for what placements or clusters hold.
 */

export { type AllowPolicy, allows, type CompiledAllow, compileAllow } from './allow.ts';
export { type ClusterExpression, compileClusterTest } from './cluster-expression.ts';
export { type CompiledMatch, compileMatch, matchesCluster } from './cluster-match.ts';
export { type CompiledPlacement, compilePlacement } from './compile-placement.ts';
export {
  type DecisionContext,
  decide,
  decideOn,
  type PlacementExtension,
  rejectionOf,
} from './decide.ts';
export {
  type ClusterRejection,
  type Decision,
  REJECTIONS,
  type Rejection,
  type RejectionReason,
  rejectionIn,
  rejectionSummary,
  rejectionText,
} from './decision.ts';
export { createFleetIndex, type FleetIndex } from './fleet-index.ts';
export type { Capacity } from './pick.ts';
export type {
  AffinityGroup,
  ClusterAffinity,
  ClusterFacts,
  ClusterMatch,
  ExternalScores,
  FieldRequirement,
  Placement,
  ScoreTerm,
  SpreadConstraint,
  Taint,
  TaintEffect,
  Toleration,
} from './placement.ts';
export { createPlacer, type Placer } from './placer.ts';
export { requiredApis } from './required-apis.ts';
