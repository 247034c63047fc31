/**
 * Controllers that are part of an API server: the garbage collector, the namespace controller, the keepers of tokens, and
 * what keeps the objects that every cluster has. They run once for all logical clusters, over the store's stream of events,
 * and act through the same pipeline as any client ({@link ControllerActions}). They keep no durable state: started anew,
 * they find all that is left to do. At rest they do nothing: what waits for a time waits under one timer
 * ({@link deadlines}).
 */
export type {
  ControllerActions,
  NamespaceActions,
  NamespaceCondition,
  ObjectActions,
  Propagation,
} from './actions.ts';
export { type ApiServiceOptions, builtinApiServices, localApiServices } from './api-services.ts';
export { type BootstrapTokenOptions, startBootstrapTokens } from './bootstrap-tokens.ts';
export { type Deadlines, deadlines } from './deadlines.ts';
export { startEventExpiry } from './event-expiry.ts';
export {
  FOREGROUND_FINALIZER,
  type GarbageCollectorOptions,
  ORPHAN_FINALIZER,
  type ServedKind,
  startGarbageCollector,
} from './garbage-collector.ts';
export { type NamespaceControllerOptions, startNamespaceController } from './namespace.ts';
export { type ServiceAccountSecretOptions, startServiceAccountSecrets } from './service-account-secrets.ts';
export { type StandingObject, type StandingObjects, standingObjects } from './standing-objects.ts';
