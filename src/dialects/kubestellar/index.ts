/**
 * KubeStellar's API: BindingPolicy and Binding, and the API before with EdgePlacement, Location and SyncTarget, with their published
 * groups, versions and fields.
 *
 * A policy is resolved into a Binding ({@link resolvePolicy}), which lists objects and clusters one by one; people may write
 * one by hand. A Binding is what becomes an intent ({@link compileBinding}). What is wrong with a policy leaves its Binding as it
 * is; what is wrong with one object of a Binding keeps nothing else back. Pure.
 */
export {
  type BindingReading,
  type CompiledBinding,
  compileBinding,
  OVERWRITE_ANNOTATION,
} from './compile.ts';
export {
  EDGE_GROUP,
  EDGE_KINDS,
  EDGE_PLACEMENT,
  LOCATION,
  SINGLE_PLACEMENT_SLICE,
  SYNC_TARGET,
} from './edge-kinds.ts';
export { BINDING, BINDING_POLICY, CONTROL_GROUP, CONTROL_KINDS } from './kinds.ts';
export { instancesOf, labelValueOf, placementsOf, slicesOf } from './locations.ts';
export { combineModulations } from './modulation.ts';
export { isNeverListed, neverListed } from './never-listed.ts';
export { type CompiledTest, compileObjectTest, type NamespaceLabels } from './object-test.ts';
export { type BindingFindings, type PolicyFindings, reportBinding, reportPolicy } from './report.ts';
export {
  type CompiledPolicy,
  compileEdgePlacement,
  compilePolicy,
  listedIn,
  listedKey,
  type Resolution,
  reachesKind,
  resolvePolicy,
  type Stock,
  sameContent,
  selectLabelled,
  selectsObject,
} from './resolve.ts';
export { differenceOf } from './same-wish.ts';
export type {
  Binding,
  BindingCondition,
  BindingPolicy,
  BindingSpec,
  BindingStatus,
  DownsyncClause,
  EdgePlacement,
  ListedObject,
  Location,
  Modulation,
  ObjectTest,
  SinglePlacement,
  SinglePlacementSlice,
  SyncTarget,
} from './types.ts';
