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
  GRAPH_REVISION,
  graphRevisionDefinition,
  RESOURCE_GRAPH_DEFINITION,
  resourceGraphDefinitionDefinition,
} from './kinds.ts';
export {
  type DefinitionFindings,
  type DefinitionOwnership,
  definitionStatus,
  type Finding,
  graphReport,
  issuesMessage,
  ownershipOf,
} from './report.ts';
export type {
  GraphRevision,
  ResourceGraphDefinition,
  ResourceGraphDefinitionSpec,
  ResourceGraphDefinitionStatus,
} from './types.ts';
