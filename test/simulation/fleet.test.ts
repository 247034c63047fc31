import { afterEach, describe, it } from 'vitest';
import { configMaps, namespaces } from '../../src/kube/well-known.ts';
import { driven, PROPAGATIONS, type SimulatedFleet, simulateFleet } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

async function propagateConfig(names: string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(1, names);
  const { client } = fleet.hub;
  const run = <T>(work: Promise<T>): Promise<T> => driven(fleet.runtime, work);
  await run(client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }));
  await run(client.create(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'settings', namespace: 'shop' }, data: { colour: 'red' } }));
  await run(
    client.create(PROPAGATIONS, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Propagation',
      metadata: { name: 'shop', namespace: 'shop' },
      spec: { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap' }], placement: { clusterSelector: {} } },
    }),
  );
}

async function colourOn(name: string): Promise<string | undefined> {
  try {
    const map = await driven(fleet.runtime, fleet.spoke(name).client.get(configMaps, 'shop', 'settings'));
    return (map['data'] as Record<string, string> | undefined)?.['colour'];
  } catch (error) {
    if ((error as { code?: number }).code === 404) return undefined;
    throw error;
  }
}

describe('a hub and two spokes on a virtual clock', () => {
  it('[K26] carries an object of the hub to every spoke', async () => {
    await propagateConfig();
    await fleet.runtime.clock.until(async () => (await colourOn('a')) === 'red' && (await colourOn('b')) === 'red', 30_000, 'the config map on both spokes');
  });
});
