import { CLUSTER_PROPAGATION, PROPAGATION } from '../dialects/propagation/kinds.ts';
import type { Propagation, PropagationStatus } from '../dialects/propagation/types.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { hasCode } from '../kube/status-error.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';

/** `null` takes a field away. */
export type StatusPatch = Omit<PropagationStatus, 'freshness' | 'decision' | 'replicas'> & {
  freshness?: object;
  replicas?: object;
  decision?: object;
};

/** The Propagations and ClusterPropagations of the hub, by key (`kind/namespace/name`). */
export interface Propagations {
  get(key: string): Propagation | undefined;
  /** Whether all that there are are known. */
  readonly synced: boolean;
  entries(): Iterable<[string, Propagation]>;
  /**
   * Merges into the status. With `resourceVersion` only over what was read: 409 where it moved on. The object may be gone
   * (404).
   */
  writeStatus(propagation: Propagation, status: StatusPatch, resourceVersion?: string): Promise<void>;
  /** A no-op where the object is gone. */
  setFinalizers(propagation: Propagation, finalizers: readonly string[]): Promise<void>;
  stop(): void;
}

const KINDS = [PROPAGATION, CLUSTER_PROPAGATION].map(resourceIdOf);

/** `onChange` hears of keys whose wish changed: not of status, which is the hub's own. */
export function openPropagations(
  runtime: Runtime,
  client: Client,
  onChange: (key: string) => void,
): Propagations {
  const informers = new Map<string, Informer<Propagation>>();
  for (const resource of KINDS) {
    const informer = startInformer<Propagation>(runtime, client, resource);
    informers.set(resource.kind, informer);
    informer.onChange(({ type, object, previous }) => {
      const relevant =
        type !== 'updated' ||
        !deepEqual(object.spec, previous?.spec) ||
        object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp;
      if (relevant) onChange(keyOf(resource, object));
    });
  }

  function resourceOf(propagation: Propagation): ResourceId {
    return KINDS.find((resource) => resource.kind === propagation.kind) ?? resourceIdOf(PROPAGATION);
  }

  return {
    get(key: string): Propagation | undefined {
      const [kind = '', namespace = '', name = ''] = key.split('/');
      return informers.get(kind)?.get(namespace, name);
    },
    get synced() {
      return [...informers.values()].every((informer) => informer.synced);
    },
    *entries(): Iterable<[string, Propagation]> {
      for (const resource of KINDS)
        for (const object of informers.get(resource.kind)?.list() ?? [])
          yield [keyOf(resource, object), object];
    },
    async writeStatus(propagation, status, resourceVersion): Promise<void> {
      const { namespace = '', name = '' } = propagation.metadata;
      const patch = resourceVersion === undefined ? { status } : { metadata: { resourceVersion }, status };
      await client.patch(resourceOf(propagation), namespace, name, 'merge', patch, { subresource: 'status' });
    },
    async setFinalizers(propagation, finalizers): Promise<void> {
      const { namespace = '', name = '', resourceVersion } = propagation.metadata;
      const patch = { metadata: { finalizers, resourceVersion } };
      try {
        await client.patch(resourceOf(propagation), namespace, name, 'merge', patch);
      } catch (error) {
        if (!hasCode(error, 404)) throw error;
      }
    },
    stop(): void {
      for (const informer of informers.values()) informer.stop();
    },
  };
}

function keyOf(resource: ResourceId, object: Propagation): string {
  return `${resource.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
}
