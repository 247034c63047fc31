/**
 * Admission: rules over writes that look beyond the object itself. Plugins run inside the store's decision on a write, in
 * order, first those that change the object, then those that refuse; a refusal is the `StatusError` that the client gets.
 */
export { namespaceLifecycle } from './namespace-lifecycle.ts';
export { type AdmissionPlugin, admissionChain } from './plugin.ts';
export { rbacEscalation } from './rbac-escalation.ts';
export { forbiddenStatus } from './refusal.ts';
export { serviceAccount } from './service-account.ts';
export { terminatingDefinition } from './terminating-definition.ts';
