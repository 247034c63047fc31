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
export { graphOf, isGraphObject, type ReadGraph } from './compile-graph.ts';
export {
  apiVersionOfKind,
  COMPOSITION,
  type ComposedNode,
  composedNodes,
  compositionCycles,
  cycleMessage,
  type HubOnlyKind,
  hubOnlyKinds,
  namespacePolicyOf,
} from './composition.ts';
export { DISTRIBUTE_LABEL, hasTargets } from './definition-place.ts';
export {
  type CompiledDistribution,
  type Composition,
  compileDistribution,
  type DistributionContext,
  definitionAt,
  distributionConcernedBy,
  revisionFor,
} from './distribute.ts';
export {
  type DistributionFindings,
  distributionCondition,
  graphOnClusters,
} from './distribution-report.ts';
export type {
  AskedDefinition,
  DefinitionSource,
  EngagedReports,
  EngagedWork,
  EngineState,
  GraphOnEngaged,
} from './engaged.ts';
export { GRAPH } from './graph-kind.ts';
export {
  COMPOSITION_LABEL,
  HOW_TO_GIVE_UP,
  HUB_OBJECT_KIND,
  HUB_REPLY,
  HUB_REPLY_KIND,
  type HubChild,
  type HubObject,
  type HubObjectStatus,
  type HubReply,
  type HubReplyState,
  hubObjectStatus,
} from './hub-object.ts';
export { countsIn, type InstanceTally, tallyCondition } from './instance-tally.ts';
export {
  GRAPH_REVISION,
  graphRevisionDefinition,
  RESOURCE_GRAPH_DEFINITION,
  resourceGraphDefinitionDefinition,
} from './kinds.ts';
export {
  compileRemoteObject,
  type DirectObject,
  isDirect,
  isGivenUp,
  REMOTE_OBJECT_KIND,
  type RemoteFindings,
  type RemoteObject,
  type RemoteObjectStatus,
  remoteObjectStatus,
  type SecretName,
} from './remote-object.ts';
export {
  AWAITING,
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
export {
  clustersNamedBy,
  type NamedCluster,
  type RolloutFindings,
  rolloutStatus,
} from './rollout-report.ts';
export { KUBECONFIG_TARGETS_READY, type SecretAim, secretAims } from './secret-targets.ts';
export { TARGETS_READY, type TargetFacts, targetsCondition } from './target-report.ts';
export type {
  GraphRevision,
  ResourceGraphDefinition,
  ResourceGraphDefinitionSpec,
  ResourceGraphDefinitionStatus,
} from './types.ts';
