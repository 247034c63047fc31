import type { CredentialOptions } from '../hub/credential/index.ts';
import type { ActAs, ClusterProvider, EngagedClusters } from '../hub/engaged/index.ts';
import type { Client } from '../kube/client.ts';
import { httpHandler } from '../kube/http-handler.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { GraphSettings } from '../spoke/graphs/index.ts';
import { watchedKubeconfigs } from './kubeconfig-files.ts';

/** Clusters without an engine whose graphs a hub runs: what its operator says of them. */
export interface EngagedFlags {
  readonly enableMulticluster?: boolean;
  /** Where clusters are told of; `kubeconfig` where nothing is said. */
  readonly clusterProvider?: readonly string[];
  readonly clusterSecretsNamespace?: string;
  readonly clusterSecretsLabel?: string;
  readonly clusterSecretsKey?: string;
  /** Kubeconfigs, for the provider `file`. */
  readonly clusterFiles?: readonly string[];
  /** Whom the credentials of ClusterProfiles are meant for. */
  readonly clusterConsumer?: string;
  /** A user in which `{graph}` and `{namespace}` stand for those of an instance. */
  readonly clusterActAs?: string;
}

export const CLUSTER_PROVIDERS = ['kubeconfig', 'cluster-api', 'cluster-profiles', 'file'] as const;

export interface EngagedOptions {
  readonly client: Client;
  readonly version: string;
  readonly credentials: Pick<CredentialOptions, 'resolve' | 'rules'>;
  readonly graphs?: GraphSettings;
  readonly flags: EngagedFlags;
  /** Where replicas of the hub share the clusters. */
  readonly worker?: { readonly identity: string; readonly namespace: string };
}

/** Throws an Error for flags that mean nothing, which says what would. To be asked before anything is started. */
export function checkEngagedFlags(flags: EngagedFlags): void {
  if (flags.enableMulticluster !== true) {
    const [given] = Object.entries(flags).find(([name, value]) => isOurs(name) && value !== undefined) ?? [];
    if (given !== undefined) throw new Error(`${flagOf(given)} means nothing without --enable-multicluster`);
    return;
  }
  if (flags.clusterActAs !== undefined) actAsOf(flags.clusterActAs);
  const known: readonly string[] = CLUSTER_PROVIDERS;
  const strange = flags.clusterProvider?.find((name) => !known.includes(name));
  if (strange !== undefined)
    throw new Error(
      `--cluster-provider ${strange}: there is no such provider; there are ${known.join(', ')}`,
    );
  if (flags.clusterProvider?.includes('file') === true && flags.clusterFiles === undefined)
    throw new Error('--cluster-provider file needs --cluster-files: the kubeconfigs of the clusters');
}

/** Starts nothing, and loads nothing, unless it was asked for. Throws what {@link checkEngagedFlags} throws. */
export async function startEngaged(
  runtime: Runtime,
  options: EngagedOptions,
): Promise<EngagedClusters | undefined> {
  const { flags, client, version, graphs, worker } = options;
  checkEngagedFlags(flags);
  if (flags.enableMulticluster !== true) return undefined;
  const actAs = flags.clusterActAs === undefined ? undefined : actAsOf(flags.clusterActAs);
  const [hub, { startEngagedGraphs }] = await Promise.all([
    import('../hub/engaged/index.ts'),
    import('../spoke/graphs/index.ts'),
  ]);
  const clients = hub.clusterClients({ open: httpHandler, ...options.credentials });
  const chosen = [...new Set(flags.clusterProvider ?? ['kubeconfig'])];
  const providers = chosen.map((name): [string, ClusterProvider] => {
    switch (name) {
      case 'kubeconfig':
        return [
          name,
          hub.kubeconfigSecrets({
            client,
            clients,
            namespace: flags.clusterSecretsNamespace ?? 'kro-system',
            label: flags.clusterSecretsLabel ?? 'multicluster.runtime/cluster=true',
            key: flags.clusterSecretsKey ?? 'kubeconfig',
          }),
        ];
      case 'cluster-api':
        return [name, hub.clusterApiClusters({ client, clients })];
      case 'cluster-profiles': {
        const consumer = flags.clusterConsumer ?? 'atoll';
        return [name, hub.profiledClusters({ client, clients, consumer })];
      }
      default: {
        const files = watchedKubeconfigs(runtime, flags.clusterFiles ?? []);
        return ['file', hub.kubeconfigFiles({ files, clients })];
      }
    }
  });
  const [only] = providers;
  const key = flags.clusterSecretsKey ?? 'kubeconfig';
  const targets = hub.startKubeconfigTargets(runtime, {
    ...{ client, clients, key },
    ...(actAs && { actAs }),
    ...(worker && { worker }),
  });
  const engaged = hub.startEngagedClusters(runtime, {
    client,
    provider: providers.length === 1 && only ? only[1] : hub.severalProviders(Object.fromEntries(providers)),
    runner: (of, work) => startEngagedGraphs(of, { ...graphs, version, ...work }),
    ...(actAs && { actAs }),
    ...(worker && { worker }),
  });
  return {
    async stop() {
      await Promise.all([targets.stop(), engaged.stop()]);
    },
  };
}

/** Throws an Error for what can be the name of no user. */
export function actAsOf(template: string): ActAs {
  const strange = [...template.matchAll(/\{([^}]*)\}/g)].find(
    ([, name]) => name !== 'graph' && name !== 'namespace',
  );
  if (strange)
    throw new Error(
      `--cluster-act-as ${template}: ${strange[0]} stands for nothing; {graph} and {namespace} do`,
    );
  // A user name goes into a header.
  if (template.trim() === '' || /[^\u0021-\u007e]/.test(template))
    throw new Error(
      '--cluster-act-as must be the name of a user, in which {graph} and {namespace} may stand',
    );
  return (graph, namespace) => template.replaceAll('{graph}', graph).replaceAll('{namespace}', namespace);
}

const OURS = ['clusterProvider', 'clusterFiles', 'clusterConsumer', 'clusterActAs'];

function isOurs(name: string): boolean {
  return OURS.includes(name) || name.startsWith('clusterSecrets');
}

function flagOf(name: string): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}
