/**
 * Admission: rules over writes that look beyond the object itself. Plugins run inside the store's decision on a write, in
 * order, first those that change the object, then those that refuse; a refusal is the `StatusError` that the client gets. The
 * policies that a cluster holds are such plugins, the last of them.
 * Webhooks are asked outside of it, after the plugins of each phase: the decision waits, and is made anew when the object has
 * changed meanwhile. Quotas are charged last, at the moment of the write. Writes that concern no webhook never wait.
 */
export { claimResize } from './claim-resize.ts';
export { defaultIngressClass, defaultStorageClass } from './default-classes.ts';
export { limitRanger } from './limit-ranger.ts';
export { namespaceLifecycle } from './namespace-lifecycle.ts';
export { type Accountant, type AdmissionPlugin, admissionChain, type RemoteAdmission } from './plugin.ts';
export { podSecurity } from './pod-security/index.ts';
export {
  mutatingAdmissionPolicies,
  policyTypeChecking,
  type StoredPolicies,
  storedPolicies,
  validatingAdmissionPolicies,
} from './policies/index.ts';
export { priority } from './priority.ts';
export {
  type QuotaLedger,
  quotaLedger,
  resourceQuota,
  startQuotaStatus,
  statedQuota,
} from './quota/index.ts';
export { rbacEscalation } from './rbac-escalation.ts';
export { forbiddenStatus } from './refusal.ts';
export { runtimeClass } from './runtime-class.ts';
export { serviceAccount } from './service-account.ts';
export { terminatingDefinition } from './terminating-definition.ts';
export {
  conditionCheck,
  type ObjectForms,
  type ResolveService,
  serviceResolver,
  type WebhookAnswer,
  type WebhookCaller,
  type WebhookCredentials,
  type WebhookTarget,
  webhookAdmission,
  webhookConfigurations,
  webhookConnections,
  webhookCredentials,
} from './webhooks/index.ts';
