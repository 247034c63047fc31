import {
  CLUSTER_PROFILE,
  type ClusterProfile,
  clusterProfileOf,
  MANAGER_LABEL,
  PROFILE_MANAGER,
} from '../../dialects/cluster-profile/index.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import type { Controller } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import { resourceIdOf } from '../../kube/custom-resource.ts';
import type { Informer } from '../../kube/informer.ts';
import { startInformer } from '../../kube/informer-cache.ts';
import { ignoring } from '../../kube/status-error.ts';
import { customResourceDefinitions } from '../../kube/well-known.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { deepEqual } from '../../schema/json.ts';

/** Shows the inventory as ClusterProfiles, as long as the hub serves that kind. Profiles of others are never touched. */
export interface Profiles {
  /** A SpokeCluster came, went or changed. */
  seen(key: string): void;
  stop(): Promise<void>;
}

export interface ProfileSource {
  get(key: string): SpokeCluster | undefined;
  keys(): readonly string[];
}

const PROFILES = resourceIdOf(CLUSTER_PROFILE);
const DEFINITION = `${CLUSTER_PROFILE.plural}.${CLUSTER_PROFILE.group}`;

export function mirrorProfiles(runtime: Runtime, client: Client, source: ProfileSource): Profiles {
  let mirror: { readonly loop: Controller; readonly informer: Informer<ClusterProfile> } | undefined;
  const definitions = startInformer(runtime, client, customResourceDefinitions, {
    fieldSelector: `metadata.name=${DEFINITION}`,
  });
  definitions.onChange(({ type }) => {
    if (type === 'deleted') halt();
    else begin();
  });

  function begin(): void {
    if (mirror) return;
    const informer = startInformer<ClusterProfile>(runtime, client, PROFILES, {
      labelSelector: `${MANAGER_LABEL}=${PROFILE_MANAGER}`,
    });
    const loop = startController(runtime, {
      name: 'cluster-profiles',
      reconcile: (key) => reconcile(informer, key),
    });
    mirror = { loop, informer };
    informer.onChange(({ object }) =>
      loop.enqueue(`${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`),
    );
    informer.whenSynced().then(
      () => {
        for (const key of source.keys()) loop.enqueue(key);
      },
      // It was stopped before.
      () => undefined,
    );
  }

  function halt(): Promise<void> {
    const ending = mirror;
    mirror = undefined;
    ending?.informer.stop();
    return ending?.loop.stop() ?? Promise.resolve();
  }

  async function reconcile(informer: Informer<ClusterProfile>, key: string): Promise<void> {
    if (!informer.synced) return;
    const slash = key.indexOf('/');
    const [namespace, name] = [key.slice(0, slash), key.slice(slash + 1)];
    const present = informer.get(namespace, name);
    const spoke = source.get(key);
    if (!spoke) {
      // Where the garbage collector does not come to it.
      if (present) await ignoring(404, client.delete(PROFILES, namespace, name));
      return;
    }
    const wanted = clusterProfileOf(spoke, present?.status, runtime.clock.now());
    if (!present) {
      // One of somebody else may have the name; its maker keeps it.
      const made = await ignoring(409, client.create(PROFILES, wanted));
      if (made) await writeStatus({ ...made, status: wanted.status ?? {} });
      return;
    }
    const { labels, ownerReferences } = wanted.metadata;
    const next = {
      ...present,
      metadata: { ...present.metadata, labels, ownerReferences },
      spec: wanted.spec,
    } as ClusterProfile;
    const stored = deepEqual(present, next) ? present : await client.update(PROFILES, next);
    if (!deepEqual(stored.status, wanted.status))
      await writeStatus({ ...stored, status: wanted.status ?? {} });
  }

  async function writeStatus(profile: ClusterProfile): Promise<void> {
    await ignoring(404, client.update(PROFILES, profile, { subresource: 'status' }));
  }

  return {
    seen: (key) => mirror?.loop.enqueue(key),
    async stop(): Promise<void> {
      definitions.stop();
      await halt();
    },
  };
}
