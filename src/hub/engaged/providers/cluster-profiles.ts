import { CLUSTER_PROFILE } from '../../../dialects/cluster-profile/index.ts';
import type { Client } from '../../../kube/client.ts';
import { isTrue } from '../../../kube/conditions.ts';
import { resourceIdOf } from '../../../kube/custom-resource.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { Condition, KubeObject } from '../../../kube/object.ts';
import { secrets } from '../../../kube/well-known.ts';
import { isObject, listAt } from '../../../schema/json.ts';
import type { ClusterClients } from '../cluster-clients.ts';
import type { ClusterProvider } from '../provider.ts';
import { toldClusters } from '../told-clusters.ts';

export interface ClusterProfilesOptions {
  readonly client: Client;
  readonly clients: ClusterClients;
  /** Who the credentials in the inventory are meant for. */
  readonly consumer: string;
  readonly namespace?: string;
}

const CONSUMER_LABEL = 'x-k8s.io/cluster-inventory-consumer';
const PROFILE_LABEL = 'x-k8s.io/cluster-profile';
const KEY = 'Config';

/**
 * A cluster, called `namespace/name`, for each ClusterProfile whose control plane was healthy once, by the Secret of its namespace that
 * the inventory made for this consumer.
 */
export function profiledClusters(options: ClusterProfilesOptions): ClusterProvider {
  const { client, clients, consumer, namespace = '' } = options;
  return {
    kind: 'cluster-profiles',
    start(runtime, aware) {
      const told = toldClusters(aware, runtime.log);
      const profiles = startInformer(runtime, client, resourceIdOf(CLUSTER_PROFILE), { namespace });
      const credentials = startInformer(runtime, client, secrets, {
        namespace,
        labelSelector: `${CONSUMER_LABEL}=${consumer},${PROFILE_LABEL}`,
      });

      function look(ns: string, name: string): void {
        const key = `${ns}/${name}`;
        const profile = profiles.get(ns, name);
        // The oldest by name, where there are several.
        const secret = credentials
          .list(ns === '' ? undefined : ns)
          .find((item) => item.metadata.labels?.[PROFILE_LABEL] === name);
        if (!profile || !secret) {
          if (profiles.synced && credentials.synced) told.remove(key);
          return;
        }
        if (!told.keys().includes(key) && !isHealthy(profile)) return;
        told.set(key, key, { ...clients.accessFrom(secret, KEY), labels: profile.metadata.labels ?? {} });
      }

      profiles.onChange(({ object: { metadata } }) => look(metadata.namespace ?? '', metadata.name ?? ''));
      credentials.onChange(({ object: { metadata }, previous }) => {
        const names = [metadata, previous?.metadata].map((item) => item?.labels?.[PROFILE_LABEL]);
        for (const name of new Set(names)) if (name !== undefined) look(metadata.namespace ?? '', name);
      });
      return {
        synced: () => profiles.synced && credentials.synced,
        stop() {
          profiles.stop();
          credentials.stop();
          told.stop();
        },
      };
    },
  };
}

function isHealthy({ status }: KubeObject): boolean {
  const conditions = listAt(status, 'conditions').filter(isObject) as unknown as Condition[];
  return isTrue(conditions, 'ControlPlaneHealthy');
}
