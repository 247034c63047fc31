import { sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { startWorkloads } from '../../../src/apiserver/workloads/index.ts';
import type { Client, ResourceId } from '../../../src/kube/client.ts';
import { httpHandler } from '../../../src/kube/http-handler.ts';
import type { Change, Informer } from '../../../src/kube/informer.ts';
import { startInformer } from '../../../src/kube/informer-cache.ts';
import { endpointFromKubeconfig } from '../../../src/kube/kubeconfig-endpoint.ts';
import type { KubeObject } from '../../../src/kube/object.ts';
import { createClient } from '../../../src/kube/rest-client.ts';
import { hasCode } from '../../../src/kube/status-error.ts';
import {
  clusterRoles,
  configMaps,
  deployments,
  namespaces,
  pods,
  replicaSets,
  secrets,
  serviceAccounts,
} from '../../../src/kube/well-known.ts';
import { errorText, type Runtime, systemRuntime } from '../../../src/runtime/index.ts';
import type { RealApiServer } from './real-api-server.ts';
import { startStandInKubelet } from './stand-in-kubelet.ts';

const TOKEN = 'kubernetes.io/service-account-token';

/** What makes a kube-apiserver a cluster: envtest has none of it. */
export interface StandIns {
  stop(): Promise<void>;
}

const SPOKE_CLUSTERS: ResourceId = {
  group: 'core.oam.dev',
  version: 'v1beta1',
  resource: 'spokeclusters',
  kind: 'SpokeCluster',
  namespaced: true,
};

/**
 * Stands in for the controller manager, scheduler and kubelets of a cluster: the simulator of workloads that embedded servers
 * have, on Nodes `<name>-node-1` and `-2`, and of the other controllers those that these tests meet: rights that are
 * gathered, owners, authorities in namespaces.
 */
export async function startStandIns(name: string, server: RealApiServer): Promise<StandIns> {
  const runtime = systemRuntime();
  const kubeconfig = server.kubeconfigWith('controllers');
  const authority = readFileSync(server.certificateAuthority, 'utf8');
  const handler = httpHandler(endpointFromKubeconfig(readFileSync(kubeconfig, 'utf8'), { stored: false }));
  const client = createClient(handler, { userAgent: 'stand-ins' });
  const informers = [
    gatherRights(runtime, client),
    nameAuthorities(runtime, client, authority),
    signTokens(runtime, client, authority, readFileSync(server.accountKey, 'utf8')),
    ...removeOrphans(runtime, client),
  ];
  const workloads = startWorkloads(runtime, client, { nodes: { count: 2, namePrefix: `${name}-node` } });
  const kubelet = await startStandInKubelet(runtime, client);
  return {
    async stop(): Promise<void> {
      for (const informer of informers) informer.stop();
      await kubelet.stop();
      await workloads.stop();
      await handler.close();
    },
  };
}

type RoleRules = KubeObject & {
  rules?: object[] | null;
  aggregationRule?: { clusterRoleSelectors?: { matchLabels?: Record<string, string> }[] };
};

/** The rules of a ClusterRole that gathers those of others. */
function gatherRights(runtime: Runtime, client: Client): Informer {
  const roles = startInformer<RoleRules>(runtime, client, clusterRoles);
  const gather = async (): Promise<void> => {
    for (const role of roles.list()) {
      const selectors = role.aggregationRule?.clusterRoleSelectors;
      if (selectors === undefined) continue;
      const rules = roles
        .list()
        .filter(
          (other) =>
            other !== role &&
            selectors.some(({ matchLabels = {} }) =>
              Object.entries(matchLabels).every(([key, value]) => other.metadata.labels?.[key] === value),
            ),
        )
        .flatMap((other) => other.rules ?? []);
      if (JSON.stringify(rules) === JSON.stringify(role.rules ?? [])) continue;
      await client.patch(clusterRoles, '', role.metadata.name ?? '', 'merge', { rules });
    }
  };
  roles.onChange(() => {
    if (roles.synced) doing(runtime, gather());
  });
  doing(runtime, roles.whenSynced().then(gather));
  return roles as Informer;
}

/** By which authority pods know their API server. */
function nameAuthorities(runtime: Runtime, client: Client, authority: string): Informer {
  return followed(runtime, client, namespaces, async ({ type, object: { metadata } }) => {
    if (type !== 'added' || metadata.deletionTimestamp !== undefined) return;
    const map = { apiVersion: 'v1', kind: 'ConfigMap', data: { 'ca.crt': authority } };
    const at = { name: 'kube-root-ca.crt', namespace: metadata.name ?? '' };
    await unless(409, client.create(configMaps, { ...map, metadata: at }));
  });
}

/** Writes the tokens of service accounts into Secrets that ask for one. */
function signTokens(runtime: Runtime, client: Client, authority: string, key: string): Informer {
  return followed(runtime, client, secrets, async ({ type, object }) => {
    const { name = '', namespace = '', annotations = {} } = object.metadata;
    const account = annotations['kubernetes.io/service-account.name'];
    const { data } = object as { data?: Record<string, string> };
    if (type === 'deleted' || object['type'] !== TOKEN || account === undefined || data?.['token']) return;
    const { metadata } = await client.get(serviceAccounts, namespace, account);
    const claims = {
      iss: 'kubernetes/serviceaccount',
      sub: `system:serviceaccount:${namespace}:${account}`,
      'kubernetes.io/serviceaccount/namespace': namespace,
      'kubernetes.io/serviceaccount/secret.name': name,
      'kubernetes.io/serviceaccount/service-account.name': account,
      'kubernetes.io/serviceaccount/service-account.uid': metadata.uid,
    };
    const encoded = (part: string): string => Buffer.from(part).toString('base64');
    const words = [{ alg: 'RS256' }, claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    const signed = words.join('.');
    const token = `${signed}.${sign('RSA-SHA256', Buffer.from(signed), key).toString('base64url')}`;
    await client.patch(secrets, namespace, name, 'merge', {
      data: { token: encoded(token), 'ca.crt': encoded(authority), namespace: encoded(namespace) },
    });
  });
}

/** Takes away what belonged to what is gone, and lets go what says that it waits for that. */
function removeOrphans(runtime: Runtime, client: Client): Informer[] {
  const owned = [replicaSets, pods, secrets].map((resource) => ({
    resource,
    informer: startInformer(runtime, client, resource),
  }));
  const remove = async ({ type, object: { metadata } }: Change): Promise<void> => {
    if (type !== 'deleted') return;
    for (const { resource, informer } of owned)
      for (const { metadata: its } of informer.list(metadata.namespace ?? ''))
        if (its.ownerReferences?.some(({ uid }) => uid === metadata.uid))
          await unless(404, client.delete(resource, its.namespace ?? '', its.name ?? ''));
  };
  for (const { informer } of owned) informer.onChange((change) => doing(runtime, remove(change)));
  return [
    ...owned.map(({ informer }) => informer),
    followed(runtime, client, deployments, remove),
    followed(runtime, client, SPOKE_CLUSTERS, remove),
  ];
}

function followed(
  runtime: Runtime,
  client: Client,
  resource: ResourceId,
  act: (change: Change) => Promise<void>,
): Informer {
  const informer = startInformer(runtime, client, resource);
  informer.onChange((change) => doing(runtime, act(change)));
  return informer;
}

async function unless(code: number, promise: Promise<unknown>): Promise<void> {
  try {
    await promise;
  } catch (error) {
    if (!hasCode(error, code)) throw error;
  }
}

/** Tests kill API servers: what could not be done is done when they are back, or was not needed. */
function doing(runtime: Runtime, promise: Promise<unknown>): void {
  promise.catch((error: unknown) => runtime.log.debug('a stand-in', { error: errorText(error) }));
}
