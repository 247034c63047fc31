/**
 * Karmada's override policies (`policy.karmada.io/v1alpha1`): changes for single clusters that stand apart from what sends the
 * objects. They are compiled to the engine's overrides, in an order that does not depend on when they were written. What they
 * find nothing of they leave as it is; what fails holds its cluster up, as any other override does.
 */
export { CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY } from './kinds.ts';
export { closeness, overridesOfPolicies, policyText } from './overrides.ts';
export type { OverridePolicy } from './types.ts';
