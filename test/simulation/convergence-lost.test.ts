import { afterEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../src/kube/well-known.ts';
import { takeOver } from '../../src/spoke/trust.ts';
import { DISPATCHES, dispatchesOn, everything, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';
import { colour, configMap, paint } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const HOUR = 3_600_000;

async function open(seed: number, removeWhenLostSeconds: number | undefined): Promise<Orders> {
  fleet = await simulateFleet(seed, ['a']);
  const orders = ordersFor(fleet, 'a');
  const extras = removeWhenLostSeconds === undefined ? {} : { removeWhenLostSeconds };
  await orders.fulfil('shop', [configMap('settings', 'red')], extras);
  await orders.fulfil('other', [configMap('other', 'red')]);
  return orders;
}

async function lose(): Promise<void> {
  await fleet.run(fleet.spoke('a').client.delete(DISPATCHES, 'atoll-system', 'shop'));
}

const record = () => stored(fleet.spoke('a'), 'atoll.dev/ownershiprecords/atoll-system/shop');

describe('the objects of an order that is lost', () => {
  it('[S63] are kept up for the time that it allowed and removed then, restarts in between or not', async () => {
    await open(111, 3600);
    await lose();
    await fleet.rest(HOUR / 2);
    await paint(fleet, fleet.spoke('a'), 'black');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'kept up meanwhile', 5_000);
    await fleet.kill('a');
    await fleet.start('a');
    await fleet.rest(HOUR / 2 - 60_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the removal', 120_000);
    await fleet.until(() => record() === undefined, 'nothing left of it');
    expect(colour(fleet.spoke('a'), 'other')).toBe('red');
    await fleet.rest(10_000);
    const before = everything(fleet.spoke('a'));
    await fleet.rest(HOUR);
    expect(everything(fleet.spoke('a'))).toEqual(before);
  });

  it.each([undefined, 100 * 365 * 86_400])(
    '[S63] stay for good where it allowed %s seconds',
    async (seconds) => {
      await open(112, seconds);
      await lose();
      await fleet.rest(5 * HOUR);
      expect(colour(fleet.spoke('a'))).toBe('red');
      await paint(fleet, fleet.spoke('a'), 'black');
      await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'still kept up', 5_000);
    },
  );

  it('stay where the order comes back in time, and have the whole time anew', async () => {
    const orders = await open(113, 3600);
    await lose();
    await fleet.rest(HOUR - 120_000);
    await orders.fulfil('shop', [configMap('settings', 'red')], { removeWhenLostSeconds: 3600 });
    await fleet.rest(HOUR);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await lose();
    await fleet.rest(HOUR - 120_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the removal', 240_000);
  });

  it('are made again where the order comes back while they are going', async () => {
    const orders = await open(115, 60);
    const { client } = fleet.spoke('a');
    const holding = (finalizers: string[]) =>
      fleet.run(client.patch(configMaps, 'shop', 'settings', 'merge', { metadata: { finalizers } }));
    await holding(['shop.io/wait']);
    await lose();
    await fleet.rest(90_000);
    expect(
      stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.deletionTimestamp,
    ).toBeDefined();
    await orders.give('shop', [configMap('settings', 'red')]);
    await fleet.rest(10_000);
    await holding([]);
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'the object again', 30_000);
    await fleet.rest(120_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
  });

  it('are removed where the spoke was handed to another hub, but for what that one orders as well', async () => {
    fleet = await simulateFleet(114, ['a']);
    const first = ordersFor(fleet, 'a');
    const lost = { removeWhenLostSeconds: 3600 };
    await first.fulfil('shop', [configMap('settings', 'red'), configMap('prices', 'gold')], lost);
    const uid = stored(fleet.spoke('a'), 'core/configmaps/shop/prices')?.metadata.uid;
    const second = ordersFor(fleet, 'a', 'b2c3d4e5-0000');
    await fleet.run(takeOver(fleet.runtime, fleet.spoke('a').client, second.hub, 'the owner'));
    await fleet.rest(HOUR / 2);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await second.fulfil('mine', [configMap('prices', 'silver')]);
    await fleet.rest(HOUR / 4);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['red', 'silver']);
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the removal', HOUR / 2);
    await fleet.rest(60_000);
    expect(colour(fleet.spoke('a'), 'prices')).toBe('silver');
    expect(stored(fleet.spoke('a'), 'core/configmaps/shop/prices')?.metadata.uid).toBe(uid);
    expect(dispatchesOn(fleet.spoke('a')).map(({ metadata }) => metadata.name)).toEqual(['mine']);
  });
});
