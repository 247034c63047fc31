/**
 * Resource graphs: an API of one's own whose instances are made up of other resources, which may use each other's values.
 *
 * - **Definition** (`definition.ts`): what an author writes. Kinds and their schemas come from a {@link SchemaSource}.
 * - **Compile time** (`compile/`, with `simple-schema/`, `template/`, `expression/`): {@link compileGraph} checks all that can be known
 *   before there is an instance, and makes the graph that all instances share. What is wrong is a {@link GraphIssue}.
 * - **Run time** (`instance/`): {@link stepInstance} says what an instance needs next and why nodes wait; {@link stepDeletion} how it goes.
 * - **Revisions** (`revision/`): digests, numbers, and what a new revision breaks.
 *
 * Pure: no I/O, no clock, no randomness. Expressions are bounded in cost, collections in size, schemas in depth.
 */
export {
  type AuthorCondition,
  type Compilation,
  type CompiledGraph,
  type CompileOptions,
  compileGraph,
  ENGINE_CONDITIONS,
  type ForEachDimension,
  type GraphNode,
  type InstanceKind,
  instanceKindOf,
  isExternal,
  isList,
  type NodeKind,
  pluralOf,
} from './compile/index.ts';
export {
  DEFAULT_GROUP,
  type ExternalRef,
  type GraphDefinition,
  type GraphResource,
  type GraphSchema,
} from './definition.ts';
export {
  ANNOTATIONS,
  applySetId,
  covers,
  type Deletion,
  type DeletionStep,
  type DesiredObject,
  EMPTY_INVENTORY,
  FINALIZER,
  type GraphOwner,
  groupKindOf,
  type InstanceState,
  type InstanceStatus,
  type InstanceStep,
  type Inventory,
  type InventoryReading,
  instanceLabels,
  instanceStatus,
  inventoryMarks,
  inventoryOf,
  isSuspended,
  LABELS,
  labelValue,
  MANAGED_BY,
  MANAGERS,
  MAX_COLLECTION_SIZE,
  memberMarks,
  type NodeReport,
  type NodeState,
  type ObjectQuery,
  type Observed,
  observedObjects,
  ownerLabels,
  pruneWaves,
  type Read,
  type Reason,
  readInventory,
  reasonText,
  renderInstance,
  type StatusInput,
  type StepOptions,
  stepDeletion,
  stepInstance,
  unionInventory,
} from './instance/index.ts';
export { type GraphIssue, issueText } from './issue.ts';
export {
  breakingText,
  type CompatibilityReport,
  chooseRevision,
  compareDefinitions,
  type DefinitionChange,
  decideRevision,
  KEPT_REVISIONS,
  newestOf,
  nextRevision,
  obsoleteRevisions,
  type RevisionChoice,
  type RevisionDecision,
  type RevisionDigest,
  type RevisionFacts,
  type RevisionRecord,
  revisionDigest,
  revisionName,
} from './revision/index.ts';
export {
  definedKinds,
  type KindSchema,
  OBJECT_META,
  resourceSchema,
  type SchemaSource,
  schemaSourceOf,
  schemaSources,
  unknownKind,
} from './schema-source.ts';
export { openApiOfSimpleSchema } from './simple-schema/index.ts';
