import { afterEach, expect, it } from 'vitest';
import { confirmHub } from '../../src/hub/mode.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  DISPATCHES,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedFleet,
  type SimulationOptions,
  SPOKE_CLUSTERS,
  simulateFleet,
} from './fleet.ts';
import { type FaultyStorage, faultyStorage } from './rig/faults.ts';
import { observes } from './rig/oracle.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready } from './shop.ts';

let fleet: SimulatedFleet;
let disk: FaultyStorage;
afterEach(async () => fleet.stop());

async function open(options: SimulationOptions = {}): Promise<void> {
  disk = faultyStorage();
  fleet = await simulateFleet(21, ['a', 'b'], {
    ...options,
    storage: (cluster) => (cluster === 'hub' ? disk : faultyStorage()),
  });
}

async function restoreHub(): Promise<void> {
  await fleet.kill(fleet.hub);
  disk.restore();
  await fleet.start(fleet.hub);
}

it('looks through the orders of spokes that were there before it was ready to', async () => {
  // Spokes are connected while the hub still waits for answers of its own API server.
  await open({ engineLatencyMs: 80 });
  await openShop(fleet, []);
  await fleet.rest(2_000);
  await disk.backUp();
  await fleet.run(fleet.hub.client.create(configMaps, configMap('settings', 'red')));
  await ready(fleet, 2);
  await restoreHub();
  await fleet.until(() => observes(fleet.hub), 'that the hub observes');
  expect(colour(fleet.spoke('a'))).toBe('red');
  await fleet.run(confirmHub(fleet.hub.client));
  await fleet.until(() => colour(fleet.spoke('a')) === '' && colour(fleet.spoke('b')) === '', 'the takeover');
});

it('looks through the orders of spokes that came while it observed, once a person confirmed', async () => {
  await open();
  await openShop(fleet, undefined, { placement: { clusterSelector: { matchLabels: { tier: 'core' } } } });
  await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', { metadata: { labels: { tier: 'core' } } });
  await ready(fleet, 1);
  await disk.backUp();
  await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'b', { metadata: { labels: { tier: 'core' } } });
  await ready(fleet, 2);
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'a change on b');
  fleet.cut('b');
  await restoreHub();
  await fleet.until(() => observes(fleet.hub), 'that the hub observes');
  fleet.heal('b');
  await fleet.rest(20_000);
  expect(colour(fleet.spoke('b'))).toBe('blue');
  await fleet.run(confirmHub(fleet.hub.client));
  await fleet.until(
    () => colour(fleet.spoke('a')) === 'red' && colour(fleet.spoke('b')) === '',
    'the takeover',
  );
});

it('acts by the epoch that a person confirmed, also where the answer that tells it takes its time', async () => {
  await open({ engineLatencyMs: 80 });
  await openShop(fleet);
  await ready(fleet, 2);
  await disk.backUp();
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => fleet.spokes.every((spoke) => colour(spoke) === 'blue'), 'a change everywhere');
  await restoreHub();
  await fleet.until(() => observes(fleet.hub), 'that the hub observes');
  await fleet.run(confirmHub(fleet.hub.client));
  await fleet.until(() => fleet.spokes.every((spoke) => colour(spoke) === 'red'), 'the takeover');
  expect(observes(fleet.hub)).toBe(false);
});

it.each([
  ['the generation that it was restored to', []],
  ['another content under a generation that the spoke took', ['green']],
  ['a later generation of another past', ['green', 'yellow']],
])(
  'is told by a spoke whose order somebody deleted what it forgot, where it orders %s',
  async (_what, shades) => {
    await open();
    await openShop(fleet);
    await ready(fleet, 2);
    await disk.backUp();
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => fleet.spokes.every((spoke) => colour(spoke) === 'blue'), 'a change everywhere');
    const a = fleet.spoke('a');
    for (const { name } of fleet.spokes) fleet.cut(name);
    const [order] = dispatchesOn(a);
    await fleet.run(a.client.delete(DISPATCHES, 'atoll-system', order?.metadata.name ?? ''));
    await restoreHub();
    for (const shade of shades) {
      await paint(fleet, fleet.hub, shade);
      await fleet.rest(1_000);
    }
    fleet.heal('a');
    await fleet.until(() => observes(fleet.hub), 'that the hub observes');
    expect(colour(a)).toBe('blue');
    await fleet.run(confirmHub(fleet.hub.client));
    await fleet.until(() => colour(a) === (shades.at(-1) ?? 'red'), 'the takeover');
    await fleet.rest(5_000);
    expect(observes(fleet.hub)).toBe(false);
  },
);

it('is told by a spoke that keeps an order that somebody deleted and the hub does not remember', async () => {
  await open();
  await openShop(fleet, undefined, null);
  await disk.backUp();
  await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('forgotten')));
  await ready(fleet, 2, 'forgotten');
  for (const { name, client } of fleet.spokes) {
    fleet.cut(name);
    const [order] = dispatchesOn(fleet.spoke(name));
    await fleet.run(client.delete(DISPATCHES, 'atoll-system', order?.metadata.name ?? ''));
  }
  await restoreHub();
  await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('known')));
  for (const { name } of fleet.spokes) fleet.heal(name);
  await fleet.until(() => observes(fleet.hub), 'that the hub observes');
  await paint(fleet, fleet.hub, 'blue');
  await fleet.rest(20_000);
  expect(fleet.spokes.map((spoke) => colour(spoke))).toEqual(['red', 'red']);
  // What it says then goes before what it does not remember.
  await fleet.run(confirmHub(fleet.hub.client));
  await fleet.until(() => fleet.spokes.every((spoke) => colour(spoke) === 'blue'), 'the takeover');
  await ready(fleet, 2, 'known');
  await fleet.rest(60_000);
  expect(observes(fleet.hub)).toBe(false);
});
