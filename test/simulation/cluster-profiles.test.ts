import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_PROFILE, type ClusterProfile } from '../../src/dialects/cluster-profile/index.ts';
import { customResourceDefinition, installKinds, resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions } from '../../src/kube/well-known.ts';
import { everything, type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, stored } from './fleet.ts';
import { merge } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const PROFILES = resourceIdOf(CLUSTER_PROFILE);
const profile = (name: string): ClusterProfile | undefined =>
  stored(fleet.hub, `multicluster.x-k8s.io/clusterprofiles/default/${name}`) as ClusterProfile | undefined;
const healthOf = (name: string): string =>
  profile(name)?.status?.conditions?.find(({ type }) => type === 'ControlPlaneHealthy')?.status ?? '';

const CLAIM = { group: 'cluster.open-cluster-management.io', version: 'v1alpha1' };
const CLAIMS = { ...CLAIM, resource: 'clusterclaims', kind: 'ClusterClaim', namespaced: false };

async function claim(spoke: string, values: Record<string, string>): Promise<void> {
  const { client } = fleet.spoke(spoke);
  const definition = customResourceDefinition({
    ...CLAIM,
    kind: 'ClusterClaim',
    plural: 'clusterclaims',
    scope: 'Cluster',
    spec: { type: 'object', properties: { value: { type: 'string' } } },
  });
  await fleet.run(client.create(customResourceDefinitions, definition));
  await fleet.rest(1_000);
  for (const [name, value] of Object.entries(values))
    await fleet.run(
      client.create(CLAIMS, {
        apiVersion: 'cluster.open-cluster-management.io/v1alpha1',
        kind: 'ClusterClaim',
        metadata: { name },
        spec: { value },
      } as KubeObject),
    );
}

describe('the inventory as ClusterProfiles', () => {
  it('[S24] has one for each cluster, with the properties that the cluster claims', async () => {
    fleet = await simulateFleet(111, ['a', 'b']);
    await fleet.rest(5_000);
    await fleet.run(installKinds(fleet.runtime.clock, fleet.hub.client, [CLUSTER_PROFILE]));
    await claim('a', { gpu: 'a100', 'id.k8s.io': 'u-1' });
    await fleet.until(() => profile('a')?.status?.properties?.length === 2, 'the properties');
    expect(profile('a')).toMatchObject({
      metadata: { labels: { site: 'a', 'x-k8s.io/cluster-manager': 'atoll' } },
      spec: { clusterManager: { name: 'atoll' } },
      status: {
        version: { kubernetes: expect.stringMatching(/^v1\./) },
        properties: [
          { name: 'gpu', value: 'a100' },
          { name: 'id.k8s.io', value: 'u-1' },
        ],
      },
    });
    expect(profile('b')?.status?.properties).toEqual([]);
    expect(healthOf('a')).toBe('True');
    await fleet.rest(40_000);
    const before = everything(fleet.hub);
    await fleet.rest(65_000);
    expect(everything(fleet.hub)).toEqual(before);
  });

  it('follows labels and connections, and ends with the cluster', async () => {
    fleet = await simulateFleet(112, ['a']);
    await fleet.run(installKinds(fleet.runtime.clock, fleet.hub.client, [CLUSTER_PROFILE]));
    await fleet.until(() => healthOf('a') === 'True', 'the profile');
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', { metadata: { labels: { tier: 'gold' } } });
    await fleet.until(() => profile('a')?.metadata.labels?.['tier'] === 'gold', 'the label');
    fleet.cut('a');
    await fleet.until(() => healthOf('a') === 'False', 'the cluster lost');
    fleet.heal('a');
    await fleet.until(() => healthOf('a') === 'True', 'the cluster back');
    await fleet.run(fleet.hub.client.delete(SPOKE_CLUSTERS, 'default', 'a'));
    await fleet.until(() => profile('a') === undefined, 'the end of the profile');
  });

  it('leaves the profiles of other managers alone', async () => {
    fleet = await simulateFleet(113, ['a']);
    await fleet.run(installKinds(fleet.runtime.clock, fleet.hub.client, [CLUSTER_PROFILE]));
    await fleet.until(() => profile('a') !== undefined, 'the profile');
    const foreign = {
      apiVersion: 'multicluster.x-k8s.io/v1alpha1',
      kind: 'ClusterProfile',
      metadata: { name: 'other', namespace: 'default', labels: { 'x-k8s.io/cluster-manager': 'else' } },
      spec: { clusterManager: { name: 'else' } },
    };
    await fleet.run(fleet.hub.client.create(PROFILES, foreign as KubeObject));
    await fleet.rest(60_000);
    expect(profile('other')?.metadata.labels).toEqual({ 'x-k8s.io/cluster-manager': 'else' });
  });
});
