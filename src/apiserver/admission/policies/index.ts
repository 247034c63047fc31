/**
 * Admission policies: rules over writes, and changes to what is written, in expressions that the objects of a logical cluster
 * hold. A ValidatingAdmissionPolicy or a MutatingAdmissionPolicy says what is asked; its bindings put it to use, for which
 * objects and with which parameters. Policies are compiled once for each of their versions, expressions run within budgets, and
 * a cluster without policies pays nothing. What an expression cannot answer refuses the write or is passed over, as the
 * policy's `failurePolicy` says.
 */
export { mutatingAdmissionPolicies } from './mutating.ts';
export { type StoredPolicies, storedPolicies } from './stored-policies.ts';
export { type PolicyTypeChecking, policyTypeChecking } from './type-checking.ts';
export { validatingAdmissionPolicies } from './validating.ts';
