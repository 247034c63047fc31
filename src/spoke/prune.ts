import { DISPATCH_LABEL, type OwnedObject, type Tombstone } from '../engine/dispatch/index.ts';
import { compareForApply } from '../engine/order/kind-rank.ts';
import type { Client, ResourceId } from '../kube/client.ts';
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
 * Carries out tombstones in the reverse of apply order. Only objects that this spoke made are deleted: one that someone
 * else put in the same place stays. What it made it knows by UID; where it stopped between making an object and noting
 * its UID, by the mark that it put on it.
 */
export async function prune(
  client: Client,
  dispatch: string,
  tombstones: readonly Tombstone[],
  owned: ReadonlyMap<string, OwnedObject>,
): Promise<Pruned> {
  const done: ObjectRef[] = [];
  const pending: { ref: ObjectRef; message: string }[] = [];
  for (const { ref } of [...tombstones].sort((a, b) => compareForApply(b.ref, a.ref))) {
    const claimed = owned.get(refKey(ref));
    if (claimed === undefined) {
      done.push(ref);
      continue;
    }
    try {
      const resource = await client.resourceFor(ref.apiVersion, ref.kind);
      const uid = claimed.uid || (await uidOfMarked(client, resource, ref, dispatch));
      if (uid === undefined) {
        done.push(ref);
        continue;
      }
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

/** UID of the object if it has the mark of the dispatch. Throws a 404 where there is no object. */
async function uidOfMarked(
  client: Client,
  resource: ResourceId,
  ref: ObjectRef,
  dispatch: string,
): Promise<string | undefined> {
  const { metadata } = await client.get(resource, ref.namespace, ref.name);
  return metadata.labels?.[DISPATCH_LABEL] === dispatch ? metadata.uid : undefined;
}
