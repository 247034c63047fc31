import { FINALIZER, readInventory } from '../../engine/graph/index.ts';
import { DeadlineExceeded } from '../../kube/deadline.ts';
import { type KubeObject, refKey } from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import { errorText } from '../../runtime/log.ts';
import type { InstanceMemory } from './instance-memory.ts';
import { wishesFor } from './instance-view.ts';
import type { InstanceWrites } from './instance-writes.ts';
import {
  AT_REST,
  GONE,
  LEAVING_POLL_MS,
  type PassContext,
  type PassResult,
  tellInstance,
} from './pass-context.ts';
import { letGo, type Removal, removable, removeAll, waitingMessage } from './removal.ts';
import { lean, type ServedGraph } from './served-graph.ts';

/** Somebody else was at it at the same time. */
const AGAIN_MS = 500;

/** Lets an instance and its objects be, without anybody who looks after them. */
export async function abandonInstance(
  { members }: PassContext,
  instance: KubeObject,
  writes: InstanceWrites,
): Promise<PassResult> {
  const reading = readInventory(instance);
  if (reading.kind === 'None' && !instance.metadata.finalizers?.includes(FINALIZER)) return GONE;
  // Where the inventory is not to be believed marks may stay on objects; nothing is deleted by them without a finalizer.
  const removal = reading.kind === 'Read' ? await letGo(members, instance, reading.inventory) : undefined;
  if (removal?.kind === 'Again') return { ...AT_REST, requeueAfterMs: AGAIN_MS };
  await writes.abandon(instance);
  return GONE;
}

/** Removes the objects of an instance that is being deleted, and lets it go when they are gone. */
export async function removeInstance(
  context: PassContext,
  served: ServedGraph,
  copy: KubeObject,
  memory: InstanceMemory,
  writes: InstanceWrites,
): Promise<PassResult> {
  const { client, members } = context;
  const resource = await client.resourceFor(copy.apiVersion, copy.kind);
  const { namespace = '', name = '', uid } = copy.metadata;
  let instance: KubeObject;
  try {
    instance = lean(await client.get(resource, namespace, name));
  } catch (error) {
    if (hasCode(error, 404)) return GONE;
    throw error;
  }
  const what = removable(instance);
  if (instance.metadata.uid !== uid || what === undefined) return GONE;
  const tell = (deleting: string): Promise<void> =>
    tellInstance(context, served, writes, memory, instance, { deleting });
  if ('blocked' in what) {
    await tell(what.blocked);
    return AT_REST;
  }
  let removal: Removal;
  try {
    removal = await removeAll(members, instance, what.inventory);
  } catch (error) {
    // It is tried again for as long as it takes; until then it is to say why it is there still.
    if (error instanceof StatusError || error instanceof DeadlineExceeded)
      await tell(`the deletion cannot go on: ${errorText(error)}`);
    throw error;
  }
  switch (removal.kind) {
    case 'Done':
      await writes.release(instance);
      return GONE;
    case 'Again':
      return { ...AT_REST, requeueAfterMs: AGAIN_MS };
    case 'Waiting':
      await tell(waitingMessage(removal.what));
      return {
        interest: { refs: new Set(removal.refs.map(refKey)), queries: [] },
        wishes: wishesFor(removal.refs),
        requeueAfterMs: LEAVING_POLL_MS,
      };
  }
}
