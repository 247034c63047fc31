import { afterEach, describe, expect, it } from 'vitest';
import { RESOURCE_GRAPH_DEFINITION } from '../../src/dialects/kro/index.ts';
import type { Dispatch, OwnershipRecord } from '../../src/engine/dispatch/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { dispatchesOn, type SimulatedFleet, simulateFleet, stored, storedBelow } from './fleet.ts';
import { shopGraph, shopInstance } from './rig/shop-graph.ts';
import { colour, openShop, paint, ready } from './shop.ts';

/** Things that happen on a spoke while its engine's requests are on their way, at every distance from each other. */

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

async function open(): Promise<void> {
  fleet = await simulateFleet(6, ['a'], { engineLatencyMs: 100 });
  await openShop(fleet);
  await ready(fleet, 1);
  await fleet.rest(2_000);
}

const OFFSETS = Array.from({ length: 30 }, (_, i) => i * 10);

describe('while a correction is under way', () => {
  it('[K27] a deletion is seen', async () => {
    await open();
    const spoke = fleet.spoke('a');
    for (const offset of OFFSETS) {
      await paint(fleet, spoke, 'green');
      await fleet.rest(offset);
      await fleet.run(spoke.client.delete(configMaps, 'shop', 'settings'));
      await fleet.until(() => colour(spoke) === 'red', `the object back after ${offset} ms`, 5_000);
      await fleet.rest(61_000);
    }
  });

  it('a newer word of the hub is neither forgotten nor undone', async () => {
    await open();
    const spoke = fleet.spoke('a');
    const accepted: number[] = [];
    spoke.server.store.watch('/atoll.dev/ownershiprecords/', spoke.server.store.revision, (events) => {
      for (const { record } of events)
        accepted.push((record.object as OwnershipRecord).spec.accepted.position.generation);
    });
    for (const offset of OFFSETS) {
      // A new UID has to be written down: it must not be written over the newer word.
      await fleet.run(spoke.client.delete(configMaps, 'shop', 'settings'));
      await fleet.rest(offset);
      await paint(fleet, fleet.hub, `c${offset}`);
      await fleet.until(() => colour(spoke) === `c${offset}`, `the change after ${offset} ms`, 5_000);
      await fleet.rest(61_000);
      expect(colour(spoke)).toBe(`c${offset}`);
      const [record] = storedBelow(spoke, 'atoll.dev/ownershiprecords/atoll-system') as OwnershipRecord[];
      const [order] = dispatchesOn(spoke) as Dispatch[];
      expect(record?.spec.accepted.position).toEqual(order?.spec.position);
    }
    expect(accepted).toEqual([...accepted].sort((a, b) => a - b));
  });
});

describe('while an instance of a graph is brought about', () => {
  it('its deletion is seen', async () => {
    fleet = await simulateFleet(6, ['a'], { engineLatencyMs: 100 });
    const { run } = fleet;
    const spoke = fleet.spoke('a');
    const { client } = spoke;
    const definitions = resourceIdOf(RESOURCE_GRAPH_DEFINITION);
    const shops = {
      group: 'kro.run',
      version: 'v1alpha1',
      kind: 'Shop',
      resource: 'shops',
      namespaced: true,
    };
    await run(client.create(definitions, shopGraph('first')));
    const isThere = (path: string): boolean => stored(spoke, path) !== undefined;
    await fleet.until(
      () => isThere('apiextensions.k8s.io/customresourcedefinitions/-/shops.kro.run'),
      'the kind',
    );
    await fleet.rest(5_000);
    for (const offset of OFFSETS) {
      await run(client.create(shops, shopInstance('one', 'red')));
      await fleet.rest(offset);
      await run(client.delete(shops, 'default', 'one'));
      await fleet.until(
        () => !isThere('kro.run/shops/default/one'),
        `the instance gone after ${offset} ms`,
        8_000,
      );
      expect(isThere('core/configmaps/default/one-map')).toBe(false);
    }
  });
});
