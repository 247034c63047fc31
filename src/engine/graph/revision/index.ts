/**
 * Revisions: what a definition said at a time, immutable and numbered.
 *
 * {@link revisionDigest} tells whether a definition says something new, {@link decideRevision} what to do about it; numbers never go
 * back. {@link compareDefinitions} says what a new revision would mean for those who use the API, field by field.
 */
export {
  breakingText,
  type CompatibilityReport,
  compareDefinitions,
  type DefinitionChange,
} from './compatibility.ts';
export { type RevisionDigest, revisionDigest } from './digest.ts';
export { type DistributedDecision, decideDistributed } from './distributed.ts';
export {
  chooseRevision,
  decideRevision,
  KEPT_REVISIONS,
  newestOf,
  nextRevision,
  obsoleteRevisions,
  type RevisionChoice,
  type RevisionDecision,
  type RevisionFacts,
  type RevisionRecord,
  revisionName,
} from './revision.ts';
export { type Superset, supersetDefinition } from './superset.ts';
