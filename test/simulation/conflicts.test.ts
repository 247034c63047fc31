import { afterEach, describe, expect, it } from 'vitest';
import { applyAll, enable, federated } from './federation.ts';
import { conditionMessage, conditionOf, PROPAGATIONS, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { ordersFor } from './orders.ts';
import { colour, configMap, openShop, propagation, ready, shop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const conflict = (name: string): string => conditionOf(shop(fleet, name), 'Conflict');
const text = (name: string): string => conditionMessage(shop(fleet, name), 'Conflict');

describe('an object that two sources want', () => {
  it('[S57] stays with the one that had it first, and both are told at the hub until that is over', async () => {
    fleet = await simulateFleet(211, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    expect(conflict('shop')).toBe('');
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('late')));
    await fleet.until(
      () => ['shop', 'late'].every((name) => conflict(name) === 'True/AlsoWanted'),
      'told on both',
    );
    expect(text('shop')).toBe(
      'ConfigMap shop/settings is selected by Propagation shop/late as well; it stays with this one; select it in one only',
    );
    expect(text('late')).toBe(
      'ConfigMap shop/settings stays with Propagation shop/shop; select it in one only',
    );
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(30_000);
    expect(['shop', 'late'].map(conflict)).toEqual(['True/AlsoWanted', 'True/AlsoWanted']);
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'late'));
    await fleet.until(() => conflict('shop') === 'False/Settled', 'the end of it');
    expect(conditionOf(shop(fleet), 'Ready')).toBe('True/Ready');
  });

  it('[S57] is told with the name of the cluster where only that one can know', async () => {
    fleet = await simulateFleet(212, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    await enable(fleet, ['Namespace', 'ConfigMap']);
    const placement = { clusters: [{ name: 'a' }] };
    await applyAll(fleet, fleet.hub, [
      federated('Namespace', 'shop', { placement }),
      federated('ConfigMap', 'settings', { placement, template: { data: { colour: 'blue' } } }),
    ]);
    await fleet.until(() => conflict('shop') === 'True/AlsoWanted', 'told at the hub', 60_000);
    expect(text('shop')).toBe(
      'on a: ConfigMap shop/settings is wanted by FederatedConfigMap shop/settings as well; it stays here, where it was first; select it in one only',
    );
    expect(colour(fleet.spoke('a'))).toBe('red');
  });

  it('and two hubs: the one that the spoke does not belong to is refused, and says so on its intent', async () => {
    fleet = await simulateFleet(213, ['a']);
    await ordersFor(fleet, 'a', 'b2c3d4e5-0000').fulfil('theirs', [configMap('settings', 'red')]);
    await openShop(fleet, [configMap('settings', 'blue')]);
    await fleet.until(() => conditionOf(shop(fleet), 'Ready') === 'False/AnotherHub', 'told', 60_000);
    expect(conditionMessage(shop(fleet), 'Ready')).toContain('a: this spoke belongs to hub b2c3d4e5');
    expect(colour(fleet.spoke('a'))).toBe('red');
  });
});
