/**
 * kro's API, `kro.run/v1alpha1`: ResourceGraphDefinitions, served unchanged.
 *
 * {@link definitionOf} gives the engine's form of an object; {@link definitionStatus} is the status of a definition,
 * {@link graphRevisionOf} the object that keeps what it said. What graphs mean is in `engine/graph`.
 */
export {
  definitionOf,
  definitionOfRevision,
  definitionOfSpec,
  graphRevisionOf,
  isGraphDefinition,
  type ReadDefinition,
} from './compile.ts';
export {
  type CompiledDistribution,
  compileDistribution,
  DISTRIBUTE_LABEL,
  type DistributionContext,
  distributionConcernedBy,
  hasTargets,
  revisionFor,
} from './distribute.ts';
export {
  type DistributionFindings,
  distributionCondition,
  graphOnClusters,
  rolloutStatus,
} from './distribution-report.ts';
export { countsIn, type InstanceTally, tallyCondition } from './instance-tally.ts';
export {
  GRAPH_REVISION,
  graphRevisionDefinition,
  RESOURCE_GRAPH_DEFINITION,
  resourceGraphDefinitionDefinition,
} from './kinds.ts';
export {
  compileRemoteObject,
  isGivenUp,
  REMOTE_OBJECT_KIND,
  type RemoteFindings,
  type RemoteObject,
  type RemoteObjectStatus,
  remoteObjectStatus,
} from './remote-object.ts';
export {
  type DefinitionFindings,
  type DefinitionOwnership,
  DISTRIBUTED,
  definitionStatus,
  type Finding,
  graphReport,
  issuesMessage,
  ownershipOf,
} from './report.ts';
export {
  AT_REVISION,
  atRevisionOf,
  DISTRIBUTED_REVISION,
  distributedRevisionOf,
  KIND_REMOVAL,
  type KindRemoval,
  kindRemovalOf,
  ON_DELETION,
  paceOf,
  pinOf,
  REVISION_PIN,
} from './revision-marks.ts';
export {
  GRAPH_ROLLOUT,
  type GraphOnCluster,
  type GraphRollout,
  type GraphRolloutStatus,
  graphRolloutDefinition,
  type RevisionPin,
  type RolloutClusters,
  revisionsInUse,
  rolloutOf,
} from './rollout.ts';
export { TARGETS_READY, type TargetFacts, targetsCondition } from './target-report.ts';
export type {
  GraphRevision,
  ResourceGraphDefinition,
  ResourceGraphDefinitionSpec,
  ResourceGraphDefinitionStatus,
} from './types.ts';
