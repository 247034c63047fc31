/**
 * What comes along: the objects that selected ones need to work on another cluster, and what those need in turn.
 *
 * {@link referencesOf} knows the kinds of Kubernetes and of the Gateway API; {@link compileReferenceRule} teaches others in CEL.
 * {@link closureOf} follows both, within the bounds of who asks, and says what is missing and what it left behind.
 */
export {
  type Closure,
  type ClosureOptions,
  type ClosureSource,
  closureOf,
  definitionsAmong,
} from './closure.ts';
export { type CompiledReferenceRule, compileReferenceRule, type ReferenceRule } from './reference-rule.ts';
export { type Reference, referencesOf } from './references.ts';
