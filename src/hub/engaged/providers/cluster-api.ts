import type { Client, ResourceId } from '../../../kube/client.ts';
import { isTrue } from '../../../kube/conditions.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import type { Condition, KubeObject } from '../../../kube/object.ts';
import { secrets } from '../../../kube/well-known.ts';
import { at, isObject, listAt } from '../../../schema/json.ts';
import type { ClusterClients } from '../cluster-clients.ts';
import type { ClusterProvider } from '../provider.ts';
import { toldClusters } from '../told-clusters.ts';

export interface ClusterApiOptions {
  /** Of the management cluster. */
  readonly client: Client;
  readonly clients: ClusterClients;
  /** All where nothing is said. */
  readonly namespace?: string;
  /** `v1beta2` by default; `v1beta1` has the same objects with another status. */
  readonly version?: string;
}

const KEY = 'value';
const SUFFIX = '-kubeconfig';
/** Cluster API writes it on the Secrets that it makes for a cluster. */
const CLUSTER_LABEL = 'cluster.x-k8s.io/cluster-name';

/** A cluster, called `namespace/name`, for each Cluster whose control plane was initialized, by the kubeconfig that Cluster API made. */
export function clusterApiClusters(options: ClusterApiOptions): ClusterProvider {
  const { client, clients, namespace = '', version = 'v1beta2' } = options;
  const kind: ResourceId = {
    ...{ group: 'cluster.x-k8s.io', version, resource: 'clusters', kind: 'Cluster', namespaced: true },
  };
  return {
    kind: 'cluster-api',
    start(runtime, aware) {
      const told = toldClusters(aware, runtime.log);
      const clusters = startInformer(runtime, client, kind, { namespace });
      const kubeconfigs = startInformer(runtime, client, secrets, {
        namespace,
        labelSelector: CLUSTER_LABEL,
      });

      function look(ns: string, name: string): void {
        const key = `${ns}/${name}`;
        const cluster = clusters.get(ns, name);
        const secret = kubeconfigs.get(ns, `${name}${SUFFIX}`);
        if (!cluster || !secret) {
          // While nothing is known nothing is taken back.
          if (clusters.synced && kubeconfigs.synced) told.remove(key);
          return;
        }
        // A control plane that was there once is not disengaged for being away.
        if (!told.keys().includes(key) && !isInitialized(cluster)) return;
        if (cluster.metadata.deletionTimestamp !== undefined) told.remove(key);
        else
          told.set(key, key, { ...clients.accessFrom(secret, KEY), labels: cluster.metadata.labels ?? {} });
      }

      clusters.onChange(({ object: { metadata } }) => look(metadata.namespace ?? '', metadata.name ?? ''));
      kubeconfigs.onChange(({ object: { metadata } }) => {
        const name = metadata.name ?? '';
        if (name.endsWith(SUFFIX)) look(metadata.namespace ?? '', name.slice(0, -SUFFIX.length));
      });
      return {
        synced: () => clusters.synced && kubeconfigs.synced,
        stop() {
          clusters.stop();
          kubeconfigs.stop();
          told.stop();
        },
      };
    },
  };
}

function isInitialized({ status }: KubeObject): boolean {
  const conditions = listAt(status, 'conditions').filter(isObject) as unknown as Condition[];
  return (
    at(status, 'initialization', 'controlPlaneInitialized') === true ||
    at(status, 'controlPlaneReady') === true ||
    isTrue(conditions, 'ControlPlaneInitialized')
  );
}
