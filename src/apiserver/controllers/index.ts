/**
 * Controllers that are part of an API server: the garbage collector and the namespace controller. They run once for all
 * logical clusters, over the store's stream of events, and act through the same pipeline as any client
 * ({@link ControllerActions}). They keep no durable state: started anew, they find all that is left to do.
 */
export type { ControllerActions, NamespaceActions, NamespaceCondition, Propagation } from './actions.ts';
export {
  FOREGROUND_FINALIZER,
  type GarbageCollectorOptions,
  ORPHAN_FINALIZER,
  type ServedKind,
  startGarbageCollector,
} from './garbage-collector.ts';
export { type NamespaceControllerOptions, startNamespaceController } from './namespace.ts';
