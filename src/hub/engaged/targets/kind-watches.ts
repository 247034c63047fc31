import type { Client, ResourceId } from '../../../kube/client.ts';
import type { Informer } from '../../../kube/informer.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { ObjectRef } from '../../../kube/object.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { CARRIED_LABEL } from './words.ts';

/** What is followed on a cluster: a watch for all that was carried there of a kind, one for each object that is only read. */
export interface KindWatches {
  /** `object` where it is only read. The same one for the same user until it is left. */
  use(user: string, resource: ResourceId, object?: ObjectRef): KindWatch;
  leave(user: string): void;
  stop(): void;
}

export interface KindWatch {
  readonly informer: Informer;
  /** Why it cannot be watched. */
  readonly problem: string | undefined;
}

interface Own {
  readonly informer: Informer;
  problem: string | undefined;
  readonly users: Set<string>;
}

export interface KindWatchesOptions {
  readonly client: Client;
  onChange(user: string): void;
  /** Whether all that is followed is live. */
  onLive(live: boolean, error?: unknown): void;
}

export function createKindWatches(
  runtime: Runtime,
  { client, onChange, onLive }: KindWatchesOptions,
): KindWatches {
  const watches = new Map<string, Own>();
  const used = new Map<string, string>();

  function start(resource: ResourceId, object: ObjectRef | undefined): Own {
    const informer = startInformer(runtime, client, resource, {
      ...(object
        ? { namespace: object.namespace, fieldSelector: `metadata.name=${object.name}` }
        : { labelSelector: CARRIED_LABEL }),
      onFailure(error) {
        own.problem = errorText(error);
        tellAll();
      },
    });
    const users = new Set<string>();
    const own: Own = { informer, problem: undefined, users };
    const tellAll = (): void => {
      for (const user of users) onChange(user);
    };
    informer.onChange((change) => {
      if (object) tellAll();
      else {
        const { object: now, previous } = change;
        const names = [now, previous].map((item) => item?.metadata.labels?.[CARRIED_LABEL] ?? '');
        for (const name of new Set(names)) if (users.has(name)) onChange(name);
      }
    });
    informer.onLive((live, error) => {
      if (live && own.problem !== undefined) {
        own.problem = undefined;
        // They were told of the problem, and of nothing since: a watch that goes on says only what is new.
        tellAll();
      }
      onLive(
        [...watches.values()].every((watch) => watch.informer.live || watch.users.size === 0),
        error,
      );
    });
    informer.whenSynced().then(tellAll, () => undefined);
    return own;
  }

  function leave(user: string): void {
    const key = used.get(user);
    used.delete(user);
    const own = key === undefined ? undefined : watches.get(key);
    own?.users.delete(user);
    if (key === undefined || !own || own.users.size > 0) return;
    watches.delete(key);
    own.informer.stop();
  }

  return {
    use(user, resource, object) {
      const key = [resource.group, resource.version, resource.resource, object?.namespace, object?.name].join(
        '/',
      );
      if (used.get(user) !== key) leave(user);
      const own = watches.get(key) ?? start(resource, object);
      watches.set(key, own);
      own.users.add(user);
      used.set(user, key);
      return own;
    },
    leave,
    stop() {
      for (const { informer } of watches.values()) informer.stop();
      watches.clear();
      used.clear();
    },
  };
}
