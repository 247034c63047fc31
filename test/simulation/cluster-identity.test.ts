import { afterEach, describe, expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../../src/apiserver/index.ts';
import type { SpokeClusterStatus } from '../../src/dialects/kubevela/types.ts';
import {
  configMaps,
  customResourceDefinitions,
  deployments,
  jobs,
  namespaces,
  nodes,
  secrets,
} from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { type InventoryRig, inventoryRig, kubeconfigOf } from './inventory-rig.ts';
import { openShop, ready, shop, shopStatus } from './shop.ts';

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function openFleet(names: readonly string[]): Promise<SimulatedFleet> {
  const fleet = await simulateFleet(61, names);
  stops.push(() => fleet.stop());
  return fleet;
}

const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
const WIDGET = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'shop' } };

describe('the status of a cluster', () => {
  it('[S12] [A46] has its version, what its nodes offer, its id and its APIs within 60 s', async () => {
    const fleet = await openFleet(['a']);
    const { client } = fleet.spoke('a');
    for (const name of ['n1', 'n2']) {
      const made = await fleet.run(
        client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name } }),
      );
      const status = {
        capacity: { cpu: '4', memory: '8Gi', pods: '110', 'nvidia.com/gpu': '2' },
        allocatable: { cpu: '3500m', memory: '7Gi', pods: '100', 'nvidia.com/gpu': '2' },
      };
      await fleet.run(client.update(nodes, { ...made, status }, { subresource: 'status' }));
    }
    const { uid } = (await fleet.run(client.get(namespaces, '', 'kube-system'))).metadata;
    const status = (): SpokeClusterStatus =>
      (stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.['status'] ?? {}) as SpokeClusterStatus;
    await fleet.until(() => status().clusterInfo?.nodeCount === 2, 'the nodes', 60_000);
    expect(status().clusterInfo).toMatchObject({
      kubernetesVersion: expect.stringMatching(/^v1\./),
      id: uid,
      capacity: { cpu: '8', memory: '16Gi', pods: '220', 'nvidia.com/gpu': '4' },
      allocatable: { cpu: '7', memory: '14Gi', pods: '200', 'nvidia.com/gpu': '4' },
    });
    const apps = status().apiEnablements?.find(({ groupVersion }) => groupVersion === 'apps/v1');
    expect(apps?.kinds).toContain('Deployment');
    const core = status().apiEnablements?.find(({ groupVersion }) => groupVersion === 'v1');
    expect(core?.kinds).toContain('Pod');
    // What nothing changes of is not written again.
    const written = stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.metadata.resourceVersion;
    await fleet.rest(65_000);
    expect(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.metadata.resourceVersion).toBe(written);
  });

  it('[A46] keeps what needs a missing kind off a cluster until it serves that kind', async () => {
    const fleet = await openFleet(['a', 'b']);
    for (const target of [fleet.hub, fleet.spoke('a')])
      await fleet.run(target.client.create(customResourceDefinitions, WIDGETS));
    await fleet.rest(62_000);
    await openShop(fleet, [WIDGET], {
      resourceSelectors: [{ apiVersion: 'example.com/v1', kind: 'Widget' }],
      placement: { clusterSelector: {}, requireApis: true },
    });
    await ready(fleet, 1);
    expect(stored(fleet.spoke('a'), 'example.com/widgets/shop/w')).toBeDefined();
    expect(JSON.stringify(shopStatus(fleet)['decision'])).toContain('ApiNotServed');
    expect(conditionOf(shop(fleet), 'Ready')).toContain('True');
    await fleet.run(fleet.spoke('b').client.create(customResourceDefinitions, WIDGETS));
    await fleet.until(
      () => stored(fleet.spoke('b'), 'example.com/widgets/shop/w') !== undefined,
      'the widget on b',
      60_000,
    );
  });
});

describe('one cluster under two names', () => {
  let rig: InventoryRig;

  async function openRig(): Promise<void> {
    rig = await inventoryRig(62);
    stops.push(() => rig.stop());
    const far = await rig.cluster('far');
    const handler = rig.servers.get('far');
    if (handler) rig.servers.set('same', handler);
    expect(far).toBeDefined();
    for (const name of ['far', 'same'])
      await rig.store('default', `${name}-kubeconfig`, { kubeconfig: kubeconfigOf(name) });
  }

  it('[A46] is refused the second time, and let in once the first is gone', async () => {
    await openRig();
    await rig.register({ name: 'far' });
    const status = async (name: string): Promise<string> => (await rig.spoke(name))?.status?.connection ?? '';
    await rig.until(async () => (await status('far')) === 'Connected', 'the first');
    await rig.register({ name: 'same' });
    await rig.until(
      async () => (await rig.condition('same', 'Registered')) === 'False/AlreadyRegistered',
      'the refusal',
    );
    const refused = await rig.spoke('same');
    expect(conditionMessage(refused, 'Registered')).toContain('SpokeCluster default/far');
    expect(rig.fleet.session('same')).toBeUndefined();
    await rig.rest(65_000);
    expect(await status('far')).toBe('Connected');
    expect(await rig.condition('same', 'Registered')).toBe('False/AlreadyRegistered');
    await rig.run(rig.client.delete(SPOKE_CLUSTERS, 'default', 'far'));
    await rig.until(async () => (await status('same')) === 'Connected', 'the second', 35_000);
    expect(rig.fleet.session('same')).toBeDefined();
  });

  it('is let in where it says that it is another one, as copies of one machine have to', async () => {
    await openRig();
    const { runtime } = rig;
    const real = rig.servers.get('same');
    rig.servers.set('same', async (request) => {
      if (!request.path.startsWith('/apis/core.oam.dev/v1beta1/namespaces/atoll-system/clusters/same'))
        return real?.(request) ?? Promise.reject(new Error('gone'));
      const cluster = {
        apiVersion: 'core.oam.dev/v1beta1',
        kind: 'Cluster',
        metadata: { name: 'same', namespace: 'atoll-system' },
        status: { properties: { 'id.k8s.io': 'the-copy' } },
      };
      const headers = { 'content-type': 'application/json' };
      return { status: 200, headers, body: Buffer.from(JSON.stringify(cluster)) };
    });
    for (const name of ['far', 'same']) {
      await rig.register({ name });
      await rig.until(async () => (await rig.spoke(name))?.status?.connection === 'Connected', name);
    }
    await runtime.clock.advance(65_000);
    expect((await rig.spoke('same'))?.status?.clusterInfo?.id).toBe('the-copy');
    expect(await rig.condition('same', 'Registered')).toBe('True/Registered');
  });

  it('is another one once another cluster is behind its name', async () => {
    await openRig();
    await rig.register({ name: 'far' });
    await rig.until(async () => (await rig.spoke('far'))?.status?.clusterInfo?.id !== undefined, 'the first');
    const before = (await rig.spoke('far'))?.status?.clusterInfo?.id;
    rig.servers.delete('far');
    await rig.until(
      async () => (await rig.spoke('far'))?.status?.connection === 'Disconnected',
      'gone',
      45_000,
    );
    const { runtime } = rig;
    const other = await rig.run(createApiServer({ runtime, storage: memoryDriver() }));
    stops.unshift(() => other.close());
    rig.servers.set('far', other.as({ name: 'admin', groups: ['system:masters'] }));
    await rig.until(
      async () => {
        const id = (await rig.spoke('far'))?.status?.clusterInfo?.id;
        return id !== undefined && id !== before;
      },
      'the other id',
      45_000,
    );
  });
});

describe('a cluster of mode connect that does not exist', () => {
  it('is told as lost, and nothing is made for it anywhere', async () => {
    const rig = await inventoryRig(63);
    stops.push(() => rig.stop());
    await rig.store('default', 'far-kubeconfig', { kubeconfig: kubeconfigOf('far') });
    const all = async (): Promise<string[]> => {
      const lists = await Promise.all(
        [secrets, configMaps, namespaces, deployments, jobs, customResourceDefinitions].map((resource) =>
          rig.run(rig.client.list(resource, '')),
        ),
      );
      return lists.flatMap(({ items }) =>
        items.map(({ metadata }) => `${metadata.uid} ${metadata.resourceVersion}`),
      );
    };
    const before = await all();
    await rig.register({ name: 'far' });
    await rig.rest(300_000);
    expect((await rig.spoke('far'))?.status?.connection).toBe('Disconnected');
    expect(await all()).toEqual(before);
  });
});
