import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Client, Reader } from '../../kube/client.ts';
import { apiVersionOf, resourceIdOf } from '../../kube/custom-resource.ts';
import { hasCode } from '../../kube/status-error.ts';
import type { SpokeDecision } from '../../link/index.ts';

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);

export interface NewSpokeCluster {
  readonly name: string;
  readonly namespace: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly accepted: boolean;
}

/** A SpokeCluster whose spoke dials. */
export function tunnelCluster({ name, namespace, labels = {}, accepted }: NewSpokeCluster): SpokeCluster {
  return {
    apiVersion: apiVersionOf(SPOKE_CLUSTER),
    kind: SPOKE_CLUSTER.kind,
    metadata: { name, namespace, labels: { 'atoll.dev/cluster': name, ...labels } },
    spec: {
      mode: 'connect',
      credential: { type: 'tunnel', ...({ tunnel: {} } as object) },
      hubAcceptsClient: accepted,
    },
  };
}

/** The SpokeCluster of a name: of several the oldest is the cluster. */
export async function spokeClusterNamed(client: Reader, name: string): Promise<SpokeCluster | undefined> {
  return (await spokeClustersNamed(client, name))[0];
}

/** All SpokeClusters of a name, the oldest first. */
export async function spokeClustersNamed(client: Reader, name: string): Promise<SpokeCluster[]> {
  const list = await client.list<SpokeCluster>(SPOKE_CLUSTERS, '', {
    fieldSelector: `metadata.name=${name}`,
  });
  return list.items.sort((a, b) => (ageKey(a) < ageKey(b) ? -1 : 1));
}

/** Whether the hub lets a spoke in, and why not. */
export async function admitsSpoke(client: Reader, spoke: string): Promise<SpokeDecision> {
  return admits(await spokeClusterNamed(client, spoke), spoke);
}

/** Whether a SpokeCluster lets its spoke in, and why not. */
export function admits(cluster: SpokeCluster | undefined, spoke: string): SpokeDecision {
  const refuse = (message: string): SpokeDecision => ({ allowed: false, message });
  if (cluster === undefined)
    return refuse(`the hub has no SpokeCluster ${spoke}; at the hub: atoll join ${spoke}`);
  if (cluster.spec.credential.type !== 'tunnel')
    return refuse(
      `SpokeCluster ${spoke} has a credential of type ${cluster.spec.credential.type}: the hub reaches it by that`,
    );
  if (cluster.metadata.deletionTimestamp !== undefined && cluster.spec.deletionPolicy === 'orphan')
    return refuse(`SpokeCluster ${spoke} is being deleted`);
  if (cluster.spec.hubAcceptsClient === false)
    return refuse(`the hub does not accept spoke ${spoke}; at the hub: atoll accept ${spoke}`);
  return { allowed: true };
}

/** Lets a spoke in from now on, or holds it out. */
export async function setAccepted(client: Client, cluster: SpokeCluster, accepted: boolean): Promise<void> {
  const { namespace = '', name = '' } = cluster.metadata;
  await client.patch(SPOKE_CLUSTERS, namespace, name, 'merge', { spec: { hubAcceptsClient: accepted } });
}

/** Makes a SpokeCluster; resolves with false where one of that name and namespace is there. */
export async function createSpokeCluster(client: Client, cluster: SpokeCluster): Promise<boolean> {
  try {
    await client.create(SPOKE_CLUSTERS, cluster);
    return true;
  } catch (error) {
    if (hasCode(error, 409)) return false;
    throw error;
  }
}

/** Orders SpokeClusters by age. */
export function ageKey(cluster: SpokeCluster): string {
  return `${cluster.metadata.creationTimestamp ?? ''} ${cluster.metadata.uid ?? ''}`;
}
