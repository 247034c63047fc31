import { afterEach, expect, it } from 'vitest';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import {
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  storedBelow,
  writesBy,
} from './fleet.ts';
import { colour, openShop, paint, propagation, ready } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

it('[K19] the leaf of a tree of three levels converges on what its own parent dispatched, and on that alone', async () => {
  fleet = await simulateFleet(71, ['mid']);
  const mid = fleet.spoke('mid');
  const leaf = await fleet.add('leaf', mid);
  await openShop(fleet);
  await ready(fleet, 1);
  await fleet.rest(10_000);
  expect(colour(leaf)).toBe('');
  await fleet.run(mid.client.create(SPOKE_CLUSTERS, spokeCluster('leaf')));
  await fleet.run(mid.client.create(PROPAGATIONS, propagation('onward')));
  await fleet.until(() => colour(leaf) === 'red', 'the object on the leaf');
  // The root knows nothing of the leaf, and nobody but its parent ever spoke to it.
  expect(
    storedBelow(fleet.hub, 'core.oam.dev/spokeclusters/default').map(({ metadata }) => metadata.name),
  ).toEqual(['mid']);
  expect(fleet.hub.tunnels.has('leaf')).toBe(false);
  expect(dispatchesOn(leaf).map(({ spec }) => (spec as { source: { name: string } }).source.name)).toEqual([
    'onward',
  ]);
  expect(writesBy(leaf.audit, HUB_USER)).toEqual(['create bundles', 'create dispatches']);
  const lineage = (at: typeof mid): unknown => {
    const [spec] = dispatchesOn(at).map((dispatch) => dispatch['spec'] as { position: { lineage: string } });
    return spec?.position.lineage;
  };
  expect(lineage(leaf)).not.toBe(lineage(mid));
  await fleet.kill(fleet.hub);
  await paint(fleet, leaf, 'green');
  await fleet.until(() => colour(leaf) === 'red', 'drift corrected without the root', 5_000);
});
