/**
 * What: which objects a source means, which objects never leave their cluster, and who has an object that several sources mean.
 *
 * A selector is compiled once for each selector object, so keep it. What has problems selects nothing and says why.
 */
export { type Activation, stepActivation } from './activation.ts';
export { type CompiledSelector, compiledSelector, type NamespaceLabels } from './compile-selector.ts';
export {
  type Contest,
  compareClaims,
  type Explicitness,
  explicitnessOf,
  type SourceClaim,
  settleClaims,
} from './overlap.ts';
export { createReach, type Reach } from './reach.ts';
export { neverPropagated, type ResourceSelector, selects } from './select.ts';
