/**
 * What travels from hub to spoke: bundles (content by digest), dispatches (small signed orders) and the ownership record
 * that the spoke keeps of what it accepted. Pure: packing, signing, judging.
 */
export { type HubTrust, judgeDispatch, type RefusalReason, type Verdict } from './accept.ts';
export { bundleName, packBundles, unpackBundles } from './bundle.ts';
export {
  ATOLL_API_VERSION,
  type Bundle,
  BYTES_ANNOTATION,
  comparePositions,
  contradicts,
  DISPATCH_LABEL,
  type Dispatch,
  type DispatchSpec,
  type DispatchStatus,
  type DispatchSummary,
  dispatchName,
  extendHistory,
  fleetRevision,
  MANAGED_BY_ANNOTATION,
  type ObjectState,
  type OwnedObject,
  type OwnershipRecord,
  type Position,
  SYSTEM_NAMESPACE,
  type Tombstone,
  WORKLOAD_UPDATE_ANNOTATION,
} from './dispatch.ts';
export { gzipped } from './gzipped.ts';
export { BUNDLE, DISPATCH, OWNERSHIP_RECORD } from './kinds.ts';
export { MAX_MANIFEST_BYTES, type ManifestProblem, manifestProblems } from './manifests.ts';
export { packOrigin, unpackOrigin } from './origin.ts';
export { dispatchRecogniser, dispatchSigner, rememberingVerifier, verifyDispatch } from './signature.ts';
export {
  ADOPT_ANNOTATION,
  PRESERVE_ANNOTATION,
  RETAIN_REPLICAS_ANNOTATION,
  STRATEGY_ANNOTATION,
  strategyOf,
} from './strategy.ts';
export { OBJECT_WORDS, type ObjectWord } from './words.ts';
