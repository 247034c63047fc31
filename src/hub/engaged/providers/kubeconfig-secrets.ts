import type { Client } from '../../../kube/client.ts';
import { startInformer } from '../../../kube/informer-cache.ts';
import { secrets } from '../../../kube/well-known.ts';
import type { ClusterClients } from '../cluster-clients.ts';
import type { ClusterProvider } from '../provider.ts';
import { toldClusters } from '../told-clusters.ts';

export interface KubeconfigSecretsOptions {
  /** The hub's own. */
  readonly client: Client;
  readonly clients: ClusterClients;
  readonly namespace: string;
  /** A label selector. */
  readonly label: string;
  /** Of the kubeconfig in a Secret. */
  readonly key: string;
}

/** A cluster for each Secret with the label in a namespace; the name of the Secret is that of the cluster. */
export function kubeconfigSecrets(options: KubeconfigSecretsOptions): ClusterProvider {
  const { client, clients, namespace, label, key } = options;
  return {
    kind: 'kubeconfig',
    start(runtime, aware) {
      const told = toldClusters(aware, runtime.log);
      const informer = startInformer(runtime, client, secrets, { namespace, labelSelector: label });
      informer.onChange(({ type, object }) => {
        const name = object.metadata.name ?? '';
        if (type === 'deleted') told.remove(name);
        else told.set(name, name, clients.accessFrom(object, key));
      });
      return {
        synced: () => informer.synced,
        stop() {
          informer.stop();
          told.stop();
        },
      };
    },
  };
}
