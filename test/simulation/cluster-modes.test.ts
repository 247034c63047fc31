import { afterEach, describe, expect, it } from 'vitest';
import { SPOKE_CLUSTER } from '../../src/dialects/kubevela/kinds.ts';
import type { ClusterProvider } from '../../src/hub/provision/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import { configMaps, namespaces } from '../../src/kube/well-known.ts';
import { SPOKE_CLUSTERS, simulateFleet } from './fleet.ts';
import { type InventoryRig, inventoryRig, kubeconfigOf } from './inventory-rig.ts';
import { colour, configMap, merge, openShop } from './shop.ts';

let rig: InventoryRig;
afterEach(() => rig?.stop());

const CREDENTIAL = { type: 'kubeconfig', kubeconfig: { secretRef: { name: 'far-kubeconfig' } } };

async function open(seed: number, mode: string): Promise<string[]> {
  rig = await inventoryRig(seed);
  await rig.cluster('far');
  const real = rig.servers.get('far') as Handler;
  const asked: string[] = [];
  rig.servers.set('far', (request) => {
    asked.push(`${request.method} ${request.path.split('?')[0]}`);
    return real(request);
  });
  await rig.store('default', 'far-kubeconfig', { kubeconfig: kubeconfigOf('far') });
  await rig.register({ name: 'far', spec: { mode, credential: CREDENTIAL } });
  return asked;
}

describe('the mode of a cluster', () => {
  it('connect creates nothing, neither where there is no cluster nor where there is one', async () => {
    const asked = await open(95, 'connect');
    await rig.until(async () => (await rig.spoke('far'))?.status?.connection === 'Connected', 'Connected');
    const real = rig.servers.get('far') as Handler;
    rig.servers.delete('far');
    await rig.until(
      async () => (await rig.spoke('far'))?.status?.connection === 'Disconnected',
      'lost',
      45_000,
    );
    await rig.rest(600_000);
    expect((await rig.spoke('far'))?.status?.connection).toBe('Disconnected');
    rig.servers.set('far', real);
    await rig.until(async () => (await rig.spoke('far'))?.status?.connection === 'Connected', 'back', 45_000);
    expect(asked.filter((request) => !request.startsWith('GET '))).toEqual([]);
  });

  it('provision is refused where nothing can do it, and is not taken for connect', async () => {
    const asked = await open(96, 'provision');
    const refused = (): Promise<boolean> =>
      rig.condition('far', 'Registered').then((word) => word === 'False/NoProvisioner');
    await rig.until(refused, 'the refusal');
    await rig.rest(120_000);
    const { connection, conditions } = (await rig.spoke('far'))?.status ?? {};
    expect(connection).toBe('Unknown');
    expect(conditions?.map(({ type }) => type)).toEqual(['Registered']);
    expect(conditions?.[0]?.message).toContain('mode provision needs a provisioner that makes the cluster');
    expect(conditions?.[0]?.message).toContain('use mode connect');
    expect(asked).toEqual([]);
    expect(rig.fleet.session('far')).toBeUndefined();
    expect(await rig.events('far')).toEqual({ NoProvisioner: 1 });

    await rig.change('far', { spec: { mode: 'connect' } });
    await rig.until(async () => (await rig.spoke('far'))?.status?.connection === 'Connected', 'Connected');
    expect(await rig.condition('far', 'Registered')).toBe('True/Registered');
    await rig.change('far', { spec: { mode: 'provision' } });
    await rig.until(refused, 'refused again');
    expect(rig.fleet.session('far')).toBeUndefined();
  });

  it('adopt creates no cluster, and uses the one that is there', async () => {
    const asked = await open(97, 'adopt');
    await rig.until(async () => (await rig.spoke('far'))?.status?.connection === 'Connected', 'Connected');
    rig.servers.delete('far');
    await rig.until(
      async () => (await rig.spoke('far'))?.status?.connection === 'Disconnected',
      'lost',
      45_000,
    );
    await rig.rest(120_000);
    expect((await rig.spoke('far'))?.status?.connection).toBe('Disconnected');
    expect(asked.filter((request) => !request.startsWith('GET '))).toEqual([]);
  });

  it('adopt takes over what is there of what is dispatched, where the intent does not say otherwise', async () => {
    const fleet = await simulateFleet(98, ['a', 'b']);
    try {
      for (const name of ['a', 'b']) {
        const { client } = fleet.spoke(name);
        await fleet.run(
          client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
        );
        await fleet.run(client.create(configMaps, configMap('settings', 'old')));
      }
      await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', { spec: { mode: 'adopt' } });
      await openShop(fleet);
      await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'taken over');
      await fleet.rest(30_000);
      expect(colour(fleet.spoke('b'))).toBe('old');
      await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'b', { spec: { mode: 'adopt' } });
      await fleet.until(() => colour(fleet.spoke('b')) === 'red', 'taken over once it is to be');
    } finally {
      await fleet.stop();
    }
  });
});

describe('a hub that makes clusters', () => {
  const made: string[] = [];
  const removed: string[] = [];
  let broken = false;
  const provider: ClusterProvider = {
    name: 'fake',
    create: async ({ metadata }) => {
      made.push(metadata.name ?? '');
      if (broken) throw new Error('no room: free some');
      if (!rig.servers.has('far')) await rig.cluster('far');
    },
    remove: async ({ metadata }) => {
      removed.push(metadata.name ?? '');
      rig.servers.delete(metadata.name ?? '');
    },
  };

  async function begin(seed: number, spec: object): Promise<void> {
    for (const list of [made, removed]) list.length = 0;
    rig = await inventoryRig(seed, {}, provider);
    await rig.store('default', 'far-kubeconfig', { kubeconfig: kubeconfigOf('far') });
    await rig.register({ name: 'far', spec: { credential: CREDENTIAL, ...spec } });
  }
  const connected = async (): Promise<boolean> =>
    (await rig.spoke('far'))?.status?.connection === 'Connected';
  const remove = (): Promise<unknown> =>
    rig.run(rig.client.delete(resourceIdOf(SPOKE_CLUSTER), 'default', 'far'));

  it('[K2] makes nothing for connect and adopt where no API server is; with the same spec provision makes it', async () => {
    await begin(99, { mode: 'connect' });
    await rig.until(
      async () => (await rig.spoke('far'))?.status?.connection === 'Disconnected',
      'nobody is there',
    );
    await rig.rest(600_000);
    await rig.change('far', { spec: { mode: 'adopt' } });
    await rig.rest(600_000);
    expect(made).toEqual([]);
    expect(await connected()).toBe(false);
    await rig.change('far', { spec: { mode: 'provision' } });
    await rig.until(connected, 'made, and connected');
    await rig.rest(120_000);
    expect(made).toEqual(['far']);
    expect(await rig.condition('far', 'Registered')).toBe('True/Registered');
  });

  it.each([
    ['detach', []],
    ['orphan', []],
    ['cleanup', ['far']],
  ])('takes the cluster away with %s: %j', async (deletionPolicy, expected) => {
    await begin(100, { mode: 'provision', deletionPolicy });
    await rig.until(connected, 'Connected');
    await remove();
    await rig.until(async () => (await rig.spoke('far')) === undefined, 'it is gone');
    expect(removed).toEqual(expected);
  });

  it('never takes away a cluster that was only connected', async () => {
    await begin(101, { mode: 'connect', deletionPolicy: 'cleanup' });
    await rig.cluster('far');
    await rig.until(connected, 'Connected', 120_000);
    await remove();
    await rig.until(async () => (await rig.spoke('far')) === undefined, 'it is gone');
    expect([made, removed]).toEqual([[], []]);
  });

  it('tries again, and says why it could not', async () => {
    broken = true;
    await begin(102, { mode: 'provision' });
    await rig.until(
      async () => (await rig.condition('far', 'Registered')) === 'False/ProvisioningFailed',
      'told',
    );
    expect((await rig.spoke('far'))?.status?.conditions?.[0]?.message).toBe('no room: free some');
    broken = false;
    await rig.until(connected, 'made in the end');
  });
});
