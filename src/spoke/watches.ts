import { DISPATCH_LABEL } from '../engine/dispatch/index.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import type { Change, Informer } from '../kube/informer.ts';
import { type InformerOptions, startInformer } from '../kube/informer-cache.ts';
import { type KubeObject, type ObjectRef, refKey } from '../kube/object.ts';
import { hasCode, isUnserved } from '../kube/status-error.ts';
import type { Timer } from '../runtime/clock.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Watches over the objects that a spoke manages: one stream a version of a kind, of managed objects only. */
export interface ManagedWatches {
  /** Makes sure that a kind is watched. Resolves when its present state is known. Throws when the kind is not served, or may not be watched. */
  watch(ref: ObjectRef): Promise<void>;
  /** The same for one object that does not carry the mark: one that is only looked at. */
  watchOne(ref: ObjectRef): Promise<void>;
  /** The object as it was seen last. */
  seen(ref: ObjectRef): KubeObject | undefined;
  stop(): void;
}

/** Until it is asked again whether what cannot be watched is served: what a cluster says of that may lag behind. */
const SERVED_MS = 30_000;

export function managedWatches(
  runtime: Runtime,
  client: Client,
  onChange: (change: Change) => void,
): ManagedWatches {
  const started = new Map<string, Promise<Informer>>();
  const running = new Map<string, Informer>();
  /** For those that are asked for once more. */
  const timers = new Map<Informer, Timer>();
  let stopped = false;

  /**
   * What is served no longer is not asked for again for ever. Nobody can see its objects now: whoever still states one in this version
   * finds that out by looking at it, and watches anew what is served again, maybe with another scope or name.
   */
  function end(key: string, informer: Informer): void {
    running.delete(key);
    started.delete(key);
    timers.get(informer)?.cancel();
    timers.delete(informer);
    informer.stop();
    for (const object of informer.list()) onChange({ type: 'deleted', object });
  }

  /** A 404 alone may be of somebody on the way: what the cluster serves says whether it is so. */
  async function endUnserved(
    key: string,
    { apiVersion, kind }: Pick<ObjectRef, 'apiVersion' | 'kind'>,
    followed: ResourceId,
    informer: Informer,
  ): Promise<void> {
    const isServed = await client.resourceFor(apiVersion, kind).then(
      ({ resource, namespaced }) => resource === followed.resource && namespaced === followed.namespaced,
      (error: unknown) => !hasCode(error, 404),
    );
    if (running.get(key) !== informer) return;
    if (!isServed) end(key, informer);
    // The informer tells of each reason once.
    else if (!timers.has(informer))
      timers.set(
        informer,
        runtime.clock.after(SERVED_MS, () => {
          timers.delete(informer);
          if (!informer.live) void endUnserved(key, { apiVersion, kind }, followed, informer);
        }),
      );
  }

  async function follow(
    key: string,
    ref: ObjectRef,
    namespace: string,
    options: InformerOptions,
  ): Promise<void> {
    let starting = started.get(key);
    if (!starting) {
      starting = client.resourceFor(ref.apiVersion, ref.kind).then(async (resource) => {
        const within = resource.namespaced ? namespace : '';
        const failed = Promise.withResolvers<never>();
        // Once the kind is followed, what goes wrong is for the informer to mend.
        failed.promise.catch(() => undefined);
        const informer = startInformer(runtime, client, resource, {
          ...options,
          ...(within === '' ? {} : { namespace: within }),
          // An informer never gives up; why a kind cannot be watched has to be told.
          onFailure(error): void {
            failed.reject(error);
            if (informer.synced && isUnserved(error)) void endUnserved(key, ref, resource, informer);
          },
        });
        informer.onChange(onChange);
        running.set(key, informer);
        try {
          if (stopped) throw new Error('the spoke is stopping');
          await Promise.race([informer.whenSynced(), failed.promise]);
        } catch (error) {
          running.delete(key);
          informer.stop();
          throw error;
        }
        return informer;
      });
      started.set(key, starting);
      // A kind that is not served yet (its definition comes with the same dispatch) is asked for again.
      starting.catch(() => started.delete(key));
    }
    await starting;
  }

  return {
    watch: (ref) => follow(kindKey(ref), ref, '', { labelSelector: DISPATCH_LABEL }),
    watchOne: (ref) =>
      follow(oneKey(ref), ref, ref.namespace, { fieldSelector: `metadata.name=${ref.name}` }),
    seen: (ref) => (running.get(oneKey(ref)) ?? running.get(kindKey(ref)))?.get(ref.namespace, ref.name),
    stop(): void {
      stopped = true;
      for (const informer of running.values()) informer.stop();
      for (const timer of timers.values()) timer.cancel();
      timers.clear();
      started.clear();
      running.clear();
    },
  };
}

/** An object looks different in each version, and one that is served no more tells nothing. */
function kindKey({ apiVersion, kind }: ObjectRef): string {
  return `${apiVersion}/${kind}`;
}

function oneKey(ref: ObjectRef): string {
  return `${ref.apiVersion} ${refKey(ref)}`;
}
