import {
  COMPOSITION_LABEL,
  HUB_REPLY,
  REMOTE_OBJECT_KIND,
  type RemoteObject,
} from '../../dialects/kro/index.ts';
import { ANNOTATIONS, type DesiredObject, type Origin } from '../../engine/graph/index.ts';
import type { Client } from '../../kube/client.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { Change, Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { objectAt, stringAt } from '../../schema/json.ts';

/** What is known of where an instance comes from. */
export type OriginFinding =
  /** From here. */
  | { readonly kind: 'Here' }
  | { readonly kind: 'Elsewhere'; readonly origin: Origin }
  /** It says that it comes from another cluster, and nobody who can know it says so. */
  | { readonly kind: 'Unconfirmed'; readonly message: string };

/**
 * Which instances of this cluster come from others. What an instance says of itself counts for nothing: it is what the hub remembers of
 * the cluster that asked for it, by its link; and what an instance with such an origin makes has the same.
 */
export interface Origins {
  /** `onKnown` hears of `key` when more is known. */
  of(instance: KubeObject, key: string): OriginFinding;
  /** What an instance makes, as `owner`. */
  made(owner: string, objects: readonly DesiredObject[]): void;
  forget(owner: string): void;
  /** Hears of what other clusters ask for, from now on: there is a kind that only this cluster serves. */
  listen(): void;
  stop(): void;
}

const HERE: OriginFinding = { kind: 'Here' };

/** Nothing comes from elsewhere. */
export const NO_ORIGINS: Origins = {
  of: () => HERE,
  made: () => undefined,
  forget: () => undefined,
  listen: () => undefined,
  stop: () => undefined,
};

export function openOrigins(runtime: Runtime, client: Client, onKnown: (key: string) => void): Origins {
  /** By `refKey` of the instance. */
  const asked = new Map<string, Origin>();
  const made = new Map<string, { readonly owner: string; readonly origin: Origin }>();
  const ownedBy = new Map<string, Set<string>>();
  /** Instances that wait to be confirmed, with their keys. */
  const waiting = new Map<string, string>();
  /** The same by key. */
  const waitsFor = new Map<string, string>();
  let records: Informer<RemoteObject> | undefined;

  function known(ref: string): void {
    const key = waiting.get(ref);
    if (key === undefined) return;
    waiting.delete(ref);
    waitsFor.delete(key);
    onKnown(key);
  }

  function heard({ type, object }: Change<RemoteObject>): void {
    const found = askedFor(object);
    if (!found) return;
    if (type === 'deleted') asked.delete(found.ref);
    else asked.set(found.ref, found.origin);
    known(found.ref);
  }

  return {
    listen() {
      if (records) return;
      records = startInformer<RemoteObject>(runtime, client, resourceIdOf(REMOTE_OBJECT_KIND), {
        labelSelector: COMPOSITION_LABEL,
      });
      records.onChange(heard);
    },
    of(instance, key) {
      const ref = refKey(refOf(instance));
      const origin = asked.get(ref) ?? made.get(ref)?.origin;
      if (origin) return { kind: 'Elsewhere', origin };
      const said = instance.metadata.annotations?.[ANNOTATIONS.origin];
      if (said === undefined) return HERE;
      waiting.set(ref, key);
      waitsFor.set(key, ref);
      return {
        kind: 'Unconfirmed',
        message: `the annotation ${ANNOTATIONS.origin}=${said} is refused: nothing was made here for that cluster under this name; only the engine writes it, so remove it`,
      };
    },
    made(owner, objects) {
      for (const { ref, origin } of objects) {
        if (!origin) continue;
        const key = refKey(ref);
        made.set(key, { owner, origin });
        ownedBy.set(owner, (ownedBy.get(owner) ?? new Set()).add(key));
        known(key);
      }
    },
    forget(owner) {
      for (const key of ownedBy.get(owner) ?? []) if (made.get(key)?.owner === owner) made.delete(key);
      ownedBy.delete(owner);
      const ref = waitsFor.get(owner);
      if (ref !== undefined && waitsFor.delete(owner)) waiting.delete(ref);
    },
    stop: () => records?.stop(),
  };
}

function askedFor({ spec }: RemoteObject): { ref: string; origin: Origin } | undefined {
  const { apiVersion, kind } = spec.object;
  if (apiVersion !== HUB_REPLY.apiVersion || kind !== HUB_REPLY.kind) return undefined;
  const child = objectAt(spec.object, 'spec', 'child');
  const origin = objectAt(spec.object, 'spec', 'origin');
  if (!child || !origin) return undefined;
  return {
    ref: refKey({
      apiVersion: stringAt(child, 'apiVersion') ?? '',
      kind: stringAt(child, 'kind') ?? '',
      namespace: stringAt(child, 'namespace') ?? '',
      name: stringAt(child, 'name') ?? '',
    }),
    origin: {
      cluster: spec.cluster,
      namespace: stringAt(origin, 'namespace') ?? '',
      name: stringAt(origin, 'name') ?? '',
    },
  };
}
