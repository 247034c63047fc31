import { afterEach, describe, expect, it } from 'vitest';
import type { Dispatch } from '../../src/engine/dispatch/index.ts';
import { conditionOf, DISPATCHES, dispatchesOn, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { colour, openShop, paint, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

/** The hub is started again on what it had stored, and b does not come. */
async function restartWithoutB(): Promise<string> {
  fleet = await simulateFleet(31, ['a', 'b']);
  await openShop(fleet);
  await ready(fleet, 2);
  await fleet.rest(10_000);
  const version = shop(fleet)?.metadata.resourceVersion ?? '';
  await fleet.kill(fleet.hub);
  fleet.spoke('b').link.cut();
  await fleet.start(fleet.hub);
  return version;
}

describe('a hub that starts again', () => {
  it('says nothing of spokes that are on their way', async () => {
    const version = await restartWithoutB();
    await fleet.rest(5_000);
    expect(shop(fleet)?.metadata.resourceVersion).toBe(version);
    fleet.spoke('b').link.heal();
    await fleet.rest(30_000);
    expect(shop(fleet)?.metadata.resourceVersion).toBe(version);
  });

  it('tells of those that do not come', async () => {
    await restartWithoutB();
    await fleet.until(() => shopStatus(fleet)['stale'] === 1, 'b told as stale');
    expect(conditionOf(shop(fleet), 'Ready')).toBe('Unknown/Stale');
  });

  it('tells at once what becomes of a change', async () => {
    await restartWithoutB();
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the change on a');
    await fleet.rest(2_000);
    expect(shopStatus(fleet)).toMatchObject({ ready: 1, stale: 1 });
  });

  it('puts right an order that somebody changed on its cluster meanwhile', async () => {
    fleet = await simulateFleet(32, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    const spoke = fleet.spoke('a');
    await fleet.kill(fleet.hub);
    const [order] = dispatchesOn(spoke) as Dispatch[];
    if (!order) throw new Error('there is no order');
    const { origin } = order.spec;
    const forged = { ...order, spec: { ...order.spec, origin: '' } };
    await fleet.run(spoke.client.update(DISPATCHES, forged));
    await fleet.start(fleet.hub);
    await fleet.until(
      () => (dispatchesOn(spoke)[0] as Dispatch | undefined)?.spec.origin === origin,
      'the order as it was signed',
    );
    await ready(fleet, 1);
  });
});
