/**
 * Admission webhooks: rules over writes that other processes keep. Configurations in each logical cluster say who is asked
 * about what; those concerned get an AdmissionReview over TLS, at a URL or at a Service of the cluster. Mutating ones are
 * asked one after the other and change the object by JSON patches; validating ones are asked all at once. A webhook that
 * cannot be reached, or whose answer makes no sense, fails the write with 500 or is passed over, as its `failurePolicy` says.
 */
export {
  type ClientConfig,
  clientConfigOf,
  type ResolveService,
  serviceResolver,
  targetOf,
} from './client-config.ts';
export { webhookConfigurations } from './configurations.ts';
export { conditionCheck } from './match-conditions.ts';
export {
  postReview,
  type WebhookAnswer,
  type WebhookCaller,
  WebhookFailure,
  type WebhookTarget,
  webhookConnections,
} from './webhook-client.ts';
export { type WebhookCredentials, webhookCredentials } from './webhook-credentials.ts';
export { type ObjectForms, webhookAdmission } from './webhooks.ts';
