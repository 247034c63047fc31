import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import { type InventoryRig, inventoryRig, kubeconfigOf } from './inventory-rig.ts';

let rig: InventoryRig;
afterEach(() => rig.stop());

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

  it.each([
    ['provision', 'makes the cluster'],
    ['adopt', 'takes over'],
  ])('%s is refused where nothing can do it, and is not taken for connect', async (mode, what) => {
    const asked = await open(96, mode);
    const refused = (): Promise<boolean> =>
      rig.condition('far', 'Registered').then((word) => word === 'False/NoProvisioner');
    await rig.until(refused, 'the refusal');
    await rig.rest(120_000);
    const { connection, conditions } = (await rig.spoke('far'))?.status ?? {};
    expect(connection).toBe('Unknown');
    expect(conditions?.map(({ type }) => type)).toEqual(['Registered']);
    expect(conditions?.[0]?.message).toContain(`mode ${mode} needs a provisioner that ${what}`);
    expect(conditions?.[0]?.message).toContain('use mode connect');
    expect(asked).toEqual([]);
    expect(rig.fleet.session('far')).toBeUndefined();
    expect(await rig.events('far')).toEqual({ NoProvisioner: 1 });

    await rig.change('far', { spec: { mode: 'connect' } });
    await rig.until(async () => (await rig.spoke('far'))?.status?.connection === 'Connected', 'Connected');
    expect(await rig.condition('far', 'Registered')).toBe('True/Registered');
    await rig.change('far', { spec: { mode } });
    await rig.until(refused, 'refused again');
    expect(rig.fleet.session('far')).toBeUndefined();
  });
});
