import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterStatus, SpokeClusterStatus } from '../../src/dialects/kubevela/types.ts';
import type { ResourceId } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions, nodes } from '../../src/kube/well-known.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { colour, merge, openShop, ready } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const CLAIMS: ResourceId = {
  group: 'cluster.open-cluster-management.io',
  version: 'v1alpha1',
  resource: 'clusterclaims',
  kind: 'ClusterClaim',
  namespaced: false,
};
const DEFINITION: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${CLAIMS.resource}.${CLAIMS.group}` },
  spec: {
    group: CLAIMS.group,
    scope: 'Cluster',
    names: {
      kind: CLAIMS.kind,
      plural: CLAIMS.resource,
      singular: 'clusterclaim',
      listKind: 'ClusterClaimList',
    },
    versions: [
      {
        name: 'v1alpha1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { value: { type: 'string' } } } },
          },
        },
      },
    ],
  },
};

async function claimOn(
  spoke: string,
  name: string,
  value: string,
  labels: Record<string, string> = {},
): Promise<void> {
  const object = {
    apiVersion: 'cluster.open-cluster-management.io/v1alpha1',
    kind: 'ClusterClaim',
    metadata: { name, labels },
    spec: { value },
  };
  await fleet.run(fleet.spoke(spoke).client.create(CLAIMS, object));
}
const status = (name: string): SpokeClusterStatus =>
  (stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`)?.['status'] ?? {}) as SpokeClusterStatus;

describe('what a cluster says of itself', () => {
  it('[S21] of 25 custom claims 20 come to the hub, none that is for the spoke only, and all reserved ones', async () => {
    fleet = await simulateFleet(91, ['a']);
    await fleet.run(fleet.spoke('a').client.create(customResourceDefinitions, DEFINITION));
    await fleet.rest(1_000);
    for (let i = 10; i < 35; i += 1) await claimOn('a', `claim-${i}`, `${i}`);
    await claimOn('a', 'a-secret', 'x', { 'open-cluster-management.io/spoke-only': '' });
    await claimOn('a', 'id.k8s.io', 'u-1');
    await claimOn('a', 'product.open-cluster-management.io', 'atoll');
    const properties = (): Record<string, string> => status('a').properties ?? {};
    await fleet.until(
      () =>
        properties()['claim-29'] !== undefined &&
        'id.k8s.io' in properties() &&
        'product.open-cluster-management.io' in properties(),
      'the claims at the hub',
    );
    await fleet.rest(5_000);
    expect(Object.keys(properties()).filter((name) => name.startsWith('claim-'))).toEqual(
      Array.from({ length: 20 }, (_, i) => `claim-${10 + i}`),
    );
    expect(Object.keys(properties())).toHaveLength(22);
  });

  it('decides where things go, and moves them when it changes', async () => {
    fleet = await simulateFleet(92, ['a', 'b']);
    for (const name of ['a', 'b'])
      await fleet.run(fleet.spoke(name).client.create(customResourceDefinitions, DEFINITION));
    await fleet.rest(1_000);
    await claimOn('a', 'gpu', 'a100');
    await claimOn('b', 'gpu', 'none');
    await openShop(fleet, undefined, {
      placement: { clusterExpressions: ["'gpu' in cluster.properties && cluster.properties.gpu == 'a100'"] },
    });
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'the object on a');
    await ready(fleet, 1);
    await merge(fleet, fleet.spoke('b'), CLAIMS, '', 'gpu', { spec: { value: 'a100' } });
    await ready(fleet, 2);
    expect(colour(fleet.spoke('b'))).toBe('red');
    await fleet.run(
      fleet.spoke('a').client.delete(customResourceDefinitions, '', DEFINITION.metadata.name ?? ''),
    );
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the object gone with the kind');
    expect(status('a').properties).toBeUndefined();
  });
});

describe('what the nodes of a cluster tell', () => {
  it('[F5] its version, region and zones are in its status', async () => {
    fleet = await simulateFleet(93, ['a']);
    for (const [name, zone] of [
      ['n1', 'eu-1b'],
      ['n2', 'eu-1a'],
      ['n3', 'eu-1b'],
    ] as const) {
      const labels = { 'topology.kubernetes.io/region': 'eu-1', 'topology.kubernetes.io/zone': zone };
      await fleet.run(
        fleet.spoke('a').client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name, labels } }),
      );
    }
    const { gitVersion } = await fleet.run(
      fleet.spoke('a').client.getJson<{ gitVersion: string }>('/version'),
    );
    const expected = { kubernetesVersion: gitVersion, region: 'eu-1', zones: ['eu-1a', 'eu-1b'] };
    await fleet.until(() => status('a').clusterInfo?.nodeCount === 3, 'the nodes at the hub', 90_000);
    expect(status('a').clusterInfo).toMatchObject(expected);
    await fleet.rest(2_000);
    const own = stored(fleet.spoke('a'), 'core.oam.dev/clusters/atoll-system/a')?.['status'] as ClusterStatus;
    expect(own.clusterInfo).toMatchObject(expected);
  });
});
