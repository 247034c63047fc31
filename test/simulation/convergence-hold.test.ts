import { afterEach, describe, expect, it } from 'vitest';
import { SPOKE_CONTRACT } from '../../src/engine/contract/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { conditionMessage, conditionOf, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';
import { colour, configMap, paint } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const CONTRACTS = resourceIdOf(SPOKE_CONTRACT);

async function open(seed: number): Promise<Orders> {
  fleet = await simulateFleet(seed, ['a']);
  const orders = ordersFor(fleet, 'a');
  await orders.fulfil('shop', [configMap('settings', 'red'), configMap('prices', 'gold')]);
  return orders;
}

async function contract(spec: object): Promise<void> {
  const object = {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'SpokeContract',
    metadata: { name: 'owner' },
    spec,
  };
  await fleet.run(fleet.spoke('a').client.apply(CONTRACTS, object, { fieldManager: 'owner', force: true }));
}

/** What another writer makes of the object is undone, as ever. */
async function isKeptUp(shade: string): Promise<void> {
  await paint(fleet, fleet.spoke('a'), 'black');
  await fleet.until(() => colour(fleet.spoke('a')) === shade, 'the edit undone', 5_000);
}

describe('an order that its hub holds', () => {
  it('is not taken: what is there stays and is kept up, and nothing is taken away', async () => {
    const orders = await open(61);
    await orders.give('shop', [configMap('settings', 'blue')], { hold: true });
    await fleet.until(
      () => conditionOf(orders.dispatch('shop'), 'Accepted') === 'False/Held',
      'told as held',
    );
    expect(conditionMessage(orders.dispatch('shop'), 'Accepted')).toBe(
      'the hub holds generation 2; generation 1 stays and is kept up',
    );
    expect(orders.dispatch('shop')?.status).toMatchObject({
      position: { generation: 1 },
      appliedGeneration: 1,
      summary: { total: 2, applied: 2, healthy: 2 },
    });
    await isKeptUp('red');
    await fleet.kill('a');
    await fleet.start('a');
    await isKeptUp('red');
    await fleet.rest(60_000);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['red', 'gold']);
    expect(conditionOf(orders.dispatch('shop'), 'Accepted')).toBe('False/Held');

    await orders.fulfil('shop', [configMap('settings', 'blue'), configMap('prices', 'gold')]);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['blue', 'gold']);
    expect(conditionOf(orders.dispatch('shop'), 'Accepted')).toBe('True/Accepted');
  });

  it('makes nothing where it is the first, and says so', async () => {
    const orders = await open(62);
    await orders.give('late', [configMap('late', 'red')], { hold: true });
    await fleet.until(
      () => conditionOf(orders.dispatch('late'), 'Accepted') === 'False/Held',
      'told as held',
    );
    expect(conditionMessage(orders.dispatch('late'), 'Accepted')).toBe(
      'the hub holds generation 1; nothing was taken before',
    );
    await fleet.rest(60_000);
    expect(colour(fleet.spoke('a'), 'late')).toBe('');
    await orders.fulfil('late', [configMap('late', 'red')]);
    expect(colour(fleet.spoke('a'), 'late')).toBe('red');
  });

  it('loses nothing that another order hands over to it', async () => {
    const orders = await open(63);
    const uid = (): string | undefined =>
      fleet.spoke('a').server.store.get('//configmaps/root/shop/prices')?.object.metadata.uid;
    await orders.give('heir', [configMap('prices', 'gold')], { hold: true });
    await fleet.until(
      () => conditionOf(orders.dispatch('heir'), 'Accepted') === 'False/Held',
      'told as held',
    );
    const before = uid();
    await orders.give('shop', [configMap('settings', 'red')]);
    await fleet.rest(30_000);
    expect(uid()).toBe(before);
    await orders.fulfil('heir', [configMap('prices', 'silver')]);
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === 'silver', 'the heir at work');
    expect(uid()).toBe(before);
  });
});

describe('the owner of a spoke', () => {
  it('holds all new orders by the contract, while what is there is kept up', async () => {
    const orders = await open(64);
    await contract({ hold: true });
    await orders.give('shop', [configMap('settings', 'blue')]);
    await orders.give('late', [configMap('late', 'red')]);
    await fleet.until(
      () => conditionOf(orders.dispatch('late'), 'Accepted') === 'False/Held',
      'told as held',
    );
    expect(conditionMessage(orders.dispatch('shop'), 'Accepted')).toBe(
      'generation 2 waits, since SpokeContract owner holds new orders; generation 1 stays and is kept up',
    );
    await isKeptUp('red');
    expect(colour(fleet.spoke('a'), 'prices')).toBe('gold');
    expect(colour(fleet.spoke('a'), 'late')).toBe('');

    await contract({ hold: false });
    await fleet.until(
      () => colour(fleet.spoke('a')) === 'blue' && colour(fleet.spoke('a'), 'late') === 'red',
      'both orders carried out',
    );
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === '', 'the removal');
    expect(conditionOf(orders.dispatch('shop'), 'Accepted')).toBe('True/Accepted');
  });

  it('pauses everything by the contract: nothing is undone and nothing new is made', async () => {
    const orders = await open(65);
    await contract({ paused: true });
    await paint(fleet, fleet.spoke('a'), 'black');
    await orders.give('late', [configMap('late', 'red')]);
    await fleet.rest(60_000);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'late')]).toEqual(['black', '']);
    await contract({ paused: false });
    await fleet.until(
      () => colour(fleet.spoke('a')) === 'red' && colour(fleet.spoke('a'), 'late') === 'red',
      'all of it afterwards',
    );
  });
});
