// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  conditionOf,
  dispatchesOn,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import {
  configMap,
  dataOf,
  shopDefinition,
  shopInstance,
  shopWords,
  startGraphCluster,
} from './graph-cluster.ts';
import { ordersFor } from './orders.ts';
import { colour, merge, openShop } from './shop.ts';

const SETTINGS: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop' },
  data: { colour: 'red' },
};
const TWENTY_MINUTES_MS = 1_200_000;

it('corrects a spoiled object of an instance at once after the clock was set back', async () => {
  const cluster = await startGraphCluster();
  const { map, served, active } = shopWords(() => cluster);
  await served(
    shopDefinition([configMap('map', '${schema.metadata.name}-map', { colour: '${schema.spec.colour}' })]),
  );
  await cluster.write(shopInstance({ colour: 'red' }));
  await active();
  cluster.runtime.clock.jump(-TWENTY_MINUTES_MS);
  const paint = (colour: string): Promise<KubeObject> =>
    cluster.run(cluster.client.patch(configMaps, 'default', 'one-map', 'merge', { data: { colour } }));
  await paint('blue');
  await cluster.until(() => dataOf(map('one-map'))['colour'] === 'red', 'it corrected', 1_000);
  await cluster.stop();
});

it('takes a fight for over when the time for that has gone by, whatever the clock was set to', async () => {
  const fleet = await simulateFleet(8, ['a'], {});
  const a = fleet.spoke('a');
  const orders = ordersFor(fleet, 'a');
  await orders.fulfil('shop', [SETTINGS]);
  const isRed = (): boolean => dataOf(stored(a, 'core/configmaps/shop/settings'))['colour'] === 'red';
  for (let edit = 0; edit < 6; edit += 1) {
    await fleet.run(a.client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'blue' } }));
    await fleet.until(isRed, 'the edit undone', 60_000);
  }
  await fleet.rest(1_000);
  expect(conditionOf(orders.dispatch('shop'), 'Contested')).toBe('True/OtherWriter');
  fleet.runtime.clock.jump(-TWENTY_MINUTES_MS);
  await fleet.rest(70_000);
  expect(conditionOf(orders.dispatch('shop'), 'Contested')).toBe('False/Settled');
  await fleet.stop();
});

async function rollOut(fleet: SimulatedFleet): Promise<void> {
  await openShop(fleet, [SETTINGS], {
    rollout: { stages: [{ name: 'canary', clusterNames: ['a'], soakSeconds: 60 }, { name: 'rest' }] },
  });
}

/** Sets the clock, and has everything looked at. */
async function jump(fleet: SimulatedFleet, byMs: number): Promise<void> {
  fleet.runtime.clock.jump(byMs);
  const metadata = { labels: { looked: 'at' } };
  await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'b', { metadata });
}

it.each([TWENTY_MINUTES_MS, -TWENTY_MINUTES_MS])(
  'watches a stage of a rollout for as long as it is to, whatever the clock was set to (%i)',
  async (byMs) => {
    const fleet = await simulateFleet(9, ['a', 'b'], {});
    await rollOut(fleet);
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'the canary');
    await fleet.rest(5_000);
    await jump(fleet, byMs);
    await fleet.rest(50_000);
    expect(colour(fleet.spoke('b'))).toBe('');
    await fleet.until(() => colour(fleet.spoke('b')) === 'red', 'the rest', 15_000);
    await fleet.stop();
  },
);

it('does not take a cluster for failed since the clock was set forward', async () => {
  const fleet = await simulateFleet(9, ['a', 'b'], {});
  await fleet.run(fleet.spoke('a').engine?.stop() ?? Promise.resolve());
  await rollOut(fleet);
  await fleet.until(() => dispatchesOn(fleet.spoke('a')).length > 0, 'the order that nobody takes');
  await jump(fleet, 2 * TWENTY_MINUTES_MS);
  await fleet.rest(1_000);
  await fleet.kill('a');
  await fleet.start('a');
  await fleet.until(() => colour(fleet.spoke('b')) === 'red', 'the rest', 90_000);
  await fleet.stop();
});
