import type { OwnedObject, Tombstone } from '../engine/dispatch/index.ts';
import { compareForApply } from '../engine/order/kind-rank.ts';
import type { Client } from '../kube/client.ts';
import { type ObjectRef, refKey } from '../kube/object.ts';
import { hasCode, StatusError } from '../kube/status-error.ts';
import { errorText } from '../runtime/log.ts';

export interface Pruned {
  /** Gone, or never ours: no longer owned. */
  readonly done: readonly ObjectRef[];
  /** Ordered to go and still there, for example because of a finalizer. */
  readonly pending: readonly { ref: ObjectRef; message: string }[];
}

/**
 * Carries out tombstones in the reverse of apply order. Only objects that this spoke made (by UID) are deleted: one that
 * someone else put in the same place stays.
 */
export async function prune(
  client: Client,
  tombstones: readonly Tombstone[],
  owned: readonly OwnedObject[],
): Promise<Pruned> {
  const uidOf = new Map(owned.map((object) => [refKey(object.ref), object.uid]));
  const done: ObjectRef[] = [];
  const pending: { ref: ObjectRef; message: string }[] = [];
  for (const { ref } of [...tombstones].sort((a, b) => compareForApply(b.ref, a.ref))) {
    const uid = uidOf.get(refKey(ref));
    if (uid === undefined || uid === '') {
      done.push(ref);
      continue;
    }
    try {
      const resource = await client.resourceFor(ref.apiVersion, ref.kind);
      await client.delete(resource, ref.namespace, ref.name, {
        preconditions: { uid },
        propagationPolicy: 'Background',
      });
      const left = await client.get(resource, ref.namespace, ref.name);
      if (left.metadata.uid !== uid) done.push(ref);
      else
        pending.push({
          ref,
          message: `it waits for its finalizers: ${(left.metadata.finalizers ?? []).join(', ') || 'graceful deletion'}`,
        });
    } catch (error) {
      // Gone, its kind is gone, or another object is in its place (the UID precondition failed).
      if (hasCode(error, 404) || hasCode(error, 409)) done.push(ref);
      else pending.push({ ref, message: error instanceof StatusError ? error.message : errorText(error) });
    }
  }
  return { done, pending };
}
