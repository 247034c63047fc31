import {
  HOW_TO_GIVE_UP,
  HUB_OBJECT_KIND,
  HUB_REPLY_KIND,
  type HubObject,
  type HubObjectStatus,
  type HubReply,
  hubObjectStatus,
  isGivenUp,
} from '../../dialects/kro/index.ts';
import { HUB_OBJECT_FINALIZER } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';

const OBJECTS = resourceIdOf(HUB_OBJECT_KIND);
const REPLIES = resourceIdOf(HUB_REPLY_KIND);
/** Somebody wrote the object in between: its copy here follows. */
const CATCH_UP_MS = 40;

/** Brings what the hub answers to the HubObjects that it is about, and lets these go once what they stand for is gone. */
export function startHubObjects(runtime: Runtime, client: Client): { stop(): Promise<void> } {
  const objects = startInformer<HubObject>(runtime, client, OBJECTS);
  /** From the first HubObject on. */
  let replies: Informer<HubReply> | undefined;
  const queue = startController(runtime, { name: 'hub objects', reconcile });

  objects.onChange(({ type, object }) => {
    if (type === 'deleted') return;
    if (!replies) {
      replies = startInformer<HubReply>(runtime, client, REPLIES);
      replies.onChange((change) => queue.enqueue(change.object.metadata.name ?? ''));
    }
    queue.enqueue(object.metadata.name ?? '');
  });

  async function reconcile(name: string): Promise<Result | undefined> {
    const object = objects.get('', name);
    if (!object || !replies) return undefined;
    const { deletionTimestamp, finalizers = [], resourceVersion, uid, generation = 0 } = object.metadata;
    const said = replies.get('', name);
    const reply = said?.spec.uid === uid ? said : undefined;
    try {
      if (
        deletionTimestamp !== undefined &&
        finalizers.includes(HUB_OBJECT_FINALIZER) &&
        (reply?.spec.state === 'Gone' || isGivenUp(object))
      ) {
        const left = finalizers.filter((item) => item !== HUB_OBJECT_FINALIZER);
        await client.patch(OBJECTS, '', name, 'merge', { metadata: { resourceVersion, finalizers: left } });
        return undefined;
      }
      const unheard: HubObjectStatus | undefined =
        deletionTimestamp === undefined
          ? undefined
          : {
              observedGeneration: generation,
              state: 'Waiting',
              message: `the hub has not said yet that it is gone; ${HOW_TO_GIVE_UP}`,
            };
      const heard = reply && (deletionTimestamp === undefined || reply.spec.generation >= generation);
      const status = heard ? hubObjectStatus(object, reply) : unheard;
      if (!status || deepEqual(status as unknown, object.status as unknown)) return undefined;
      const patch = [
        { op: 'test', path: '/metadata/uid', value: uid },
        { op: 'add', path: '/status', value: status },
      ];
      await client.patch(OBJECTS, '', name, 'json', patch, { subresource: 'status' });
    } catch (error) {
      // 422: another one of its name is there by now.
      if (hasCode(error, 409) || hasCode(error, 422)) return { requeueAfterMs: CATCH_UP_MS };
      if (!hasCode(error, 404)) throw error;
    }
    return undefined;
  }

  return {
    async stop() {
      objects.stop();
      replies?.stop();
      await queue.stop();
    },
  };
}
