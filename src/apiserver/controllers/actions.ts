import type { Condition, KubeObject } from '../../kube/object.ts';

/** What happens to dependents, as in `DeleteOptions.propagationPolicy`. */
export type Propagation = 'Background' | 'Foreground' | 'Orphan';

/** A condition of `Namespace.status`: `metav1.Condition` without a generation. */
export type NamespaceCondition = Omit<Condition, 'observedGeneration'>;

/**
 * What the server's own controllers may do, through the same pipeline that serves requests, so that finalizers,
 * graceful deletion, audit and events behave as for any client. `key` is a key of the store.
 *
 * Each resolves when its effect is durable, also when there was nothing left to do: the object has gone, or has another
 * uid, or lacks what was to be removed. Each rejects for any other failure; the controllers try again with back-off.
 */
export interface ControllerActions {
  /**
   * Deletes the object if it still has `uid`. With `revision`, only if it has not changed since: rejects otherwise, and
   * the controller decides anew.
   */
  delete(key: string, uid: string, propagation: Propagation, revision?: number): Promise<void>;
  /** Removes the owner references that have one of `uids`. */
  removeOwnerReferences(key: string, uids: readonly string[]): Promise<void>;
  /** Removes one of `metadata.finalizers`; the object goes when it was the last one of an object being deleted. */
  removeFinalizer(key: string, finalizer: string): Promise<void>;
}

/** Changing what an object says, for controllers that own a part of it. */
export interface ObjectActions extends ControllerActions {
  /**
   * Writes what `edit` makes of the newest state of the object, to `subresource` where one is named. `edit` owns what it
   * is given; `undefined` leaves all as it is.
   */
  change(
    key: string,
    edit: (object: KubeObject) => KubeObject | undefined,
    subresource?: string,
  ): Promise<void>;
}

/** What the namespace controller needs beyond that. */
export interface NamespaceActions extends ControllerActions {
  /** Removes `kubernetes` from `spec.finalizers` of a namespace being deleted, as its `/finalize` subresource does. */
  finalizeNamespace(cluster: string, name: string): Promise<void>;
  /** Replaces the conditions of the types given and keeps others. */
  setNamespaceConditions(
    cluster: string,
    name: string,
    conditions: readonly NamespaceCondition[],
  ): Promise<void>;
}
