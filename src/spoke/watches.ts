import { DISPATCH_LABEL } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import type { Change, Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { gvkOf, type ObjectRef } from '../kube/object.ts';
import type { Runtime } from '../runtime/runtime.ts';

/** Watches over the objects that a spoke manages: one stream a kind, of managed objects only. */
export interface ManagedWatches {
  /** Makes sure that a kind is watched. Resolves when its present state is known. Throws when the kind is not served. */
  watch(ref: ObjectRef): Promise<void>;
  stop(): void;
}

export function managedWatches(
  runtime: Runtime,
  client: Client,
  onChange: (change: Change) => void,
): ManagedWatches {
  const informers = new Map<string, Promise<Informer>>();
  return {
    async watch(ref: ObjectRef): Promise<void> {
      const { group, kind } = gvkOf(ref);
      const key = `${group}/${kind}`;
      let started = informers.get(key);
      if (!started) {
        started = client.resourceFor(ref.apiVersion, ref.kind).then((resource) => {
          const informer = startInformer(runtime, client, resource, { labelSelector: DISPATCH_LABEL });
          informer.onChange(onChange);
          return informer;
        });
        informers.set(key, started);
        // A kind that is not served yet (its definition comes with the same dispatch) is asked for again.
        started.catch(() => informers.delete(key));
      }
      await (await started).whenSynced();
    },
    stop(): void {
      for (const informer of informers.values())
        informer.then(
          (running) => running.stop(),
          () => undefined,
        );
      informers.clear();
    },
  };
}
