import { afterEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  DISPATCHES,
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  simulateFleet,
  storedBelow,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

async function steer(spec: object): Promise<void> {
  await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec });
}

const takingOn = (...clusterNames: string[]): object => ({
  suspension: { takingOnClusters: { clusterNames } },
});

const accepted = (spoke: string): string => conditionOf(dispatchesOn(fleet.spoke(spoke))[0], 'Accepted');

describe('clusters that a Propagation lets have what is new, and not take it', () => {
  it('keep up what they took before, hold the content already, and go on with it when they are let', async () => {
    fleet = await simulateFleet(201, ['a', 'b']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await ready(fleet, 2);
    await steer(takingOn('a'));
    await paint(fleet, fleet.hub, 'blue');
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'the other one goes on');
    await fleet.until(() => colour(fleet.spoke('b'), 'prices') === '', 'the removal there');
    await fleet.until(() => conditionOf(shop(fleet), 'Dispatched') === 'False/Held', 'told at the hub');
    await fleet.until(() => shopStatus(fleet)['ready'] === 1, 'the other one is ready');
    expect(conditionOf(shop(fleet), 'Ready')).toBe('False/Held');
    expect(conditionMessage(shop(fleet), 'Ready')).toMatch(
      /^1 of 2 clusters are ready; a: the hub holds generation \d+; generation 1 stays and is kept up$/,
    );
    expect(shopStatus(fleet)['notReady']).toMatchObject([{ cluster: 'a', state: 'Waiting', reason: 'Held' }]);
    await paint(fleet, fleet.spoke('a'), 'black');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'the edit undone');
    expect(colour(fleet.spoke('a'), 'prices')).toBe('gold');

    // Whoever starts again holds it still, and nothing is written meanwhile.
    for (const one of [fleet.hub, 'a'] as const) {
      await fleet.kill(one);
      await fleet.start(one);
    }
    await fleet.rest(60_000);
    const before = everything(fleet.spoke('a'));
    await fleet.rest(60_000);
    expect(everything(fleet.spoke('a'))).toEqual(before);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['red', 'gold']);

    const bundles = storedBelow(fleet.spoke('a'), 'atoll.dev/bundles/atoll-system').map(
      ({ metadata }) => metadata.name,
    );
    const order = (dispatchesOn(fleet.spoke('a'))[0]?.['spec'] ?? {}) as { bundles?: string[] };
    expect(bundles).toEqual(expect.arrayContaining(order.bundles ?? ['none']));
    await steer(takingOn('b'));
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'let go on');
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === '', 'and its removal');
    await ready(fleet, 2);
    // Holding back what a cluster has already says nothing to it.
    expect(accepted('b')).toBe('True/Accepted');
  });

  it('give everything up all the same where the Propagation goes', async () => {
    fleet = await simulateFleet(202, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    await steer(takingOn('a'));
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => accepted('a') === 'False/Held', 'held');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => shop(fleet) === undefined, 'gone');
    expect(colour(fleet.spoke('a'))).toBe('');
  });
});

describe('a Propagation that says what becomes of orders that get lost', () => {
  it('has its objects removed so long after, and only by those that were told so', async () => {
    fleet = await simulateFleet(203, ['a']);
    await openShop(fleet, undefined, { removeWhenLostSeconds: 600 });
    await ready(fleet, 1);
    const [order] = dispatchesOn(fleet.spoke('a'));
    expect(order?.['spec']).toMatchObject({ removeWhenLostSeconds: 600 });
    // With its hub away nobody gives the order again.
    await fleet.kill(fleet.hub);
    await fleet.rest(1_200_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await fleet.run(fleet.spoke('a').client.delete(DISPATCHES, 'atoll-system', order?.metadata.name ?? ''));
    await fleet.rest(500_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the removal', 200_000);
    await fleet.start(fleet.hub);
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'ordered anew', 60_000);
  });
});

describe('a Propagation of nothing', () => {
  it('[S64] sends no order, and is not ready', async () => {
    fleet = await simulateFleet(204, ['a']);
    await openShop(fleet, []);
    await fleet.until(() => conditionOf(shop(fleet), 'Ready') === 'False/NothingSelected', 'told');
    await fleet.rest(30_000);
    expect(conditionOf(shop(fleet), 'Selected')).toBe('False/NothingSelected');
    expect(conditionOf(shop(fleet), 'Dispatched')).toBe('False/NothingSelected');
    expect(shopStatus(fleet)).toMatchObject({ clusters: 1, ready: 0, objects: 0, dispatchGeneration: 0 });
    expect(dispatchesOn(fleet.spoke('a'))).toEqual([]);

    await fleet.run(fleet.hub.client.create(configMaps, configMap('settings', 'red')));
    await ready(fleet, 1);
    expect(conditionOf(shop(fleet), 'Ready')).toBe('True/Ready');
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'settings'));
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the removal');
    await fleet.until(() => conditionOf(shop(fleet), 'Ready') === 'False/NothingSelected', 'empty again');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => shop(fleet) === undefined, 'gone');
  });
});
