import { afterEach, describe, expect, it } from 'vitest';
import {
  conditionMessage,
  conditionOf,
  DISPATCHES,
  type SimulatedFleet,
  simulateFleet,
  stored,
} from './fleet.ts';
import { type Orders, ordersFor } from './orders.ts';
import { colour, configMap } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const conflict = (orders: Orders, name: string): string => conditionOf(orders.dispatch(name), 'Conflict');
const text = (orders: Orders, name: string): string => conditionMessage(orders.dispatch(name), 'Conflict');
const uid = (): string | undefined => stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.uid;

describe('an object that two sources want on one spoke', () => {
  it.each([
    ['front', 'late'],
    ['late', 'front'],
  ])('stays with %s, which had it first, and both are told', async (first, second) => {
    fleet = await simulateFleet(81, ['a']);
    const orders = ordersFor(fleet, 'a');
    await orders.fulfil(first, [configMap('settings', 'red'), configMap(first, 'own')]);
    expect(conflict(orders, first)).toBe('');
    const before = uid();
    await orders.give(second, [configMap('settings', 'blue'), configMap(second, 'own')]);
    await fleet.until(
      () => [first, second].every((name) => conflict(orders, name) === 'True/AlsoWanted'),
      'told on both',
    );
    expect(text(orders, first)).toBe(
      `ConfigMap shop/settings is wanted by Propagation shop/${second} as well; it stays here, where it was first; select it in one only`,
    );
    expect(text(orders, second)).toBe(
      `ConfigMap shop/settings stays with Propagation shop/${first}, which had it first; select it in one only`,
    );
    expect(colour(fleet.spoke('a'), second)).toBe('own');
    for (const round of ['blue', 'green']) {
      await fleet.kill('a');
      await fleet.start('a');
      await orders.give(second, [configMap('settings', round), configMap(second, 'own')]);
      await fleet.rest(60_000);
      expect(colour(fleet.spoke('a'))).toBe('red');
      expect([first, second].map((name) => conflict(orders, name))).toEqual([
        'True/AlsoWanted',
        'True/AlsoWanted',
      ]);
    }

    await orders.fulfil(first, [configMap(first, 'own')]);
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'the other one has it');
    expect(uid()).toBe(before);
    await fleet.until(
      () => [first, second].every((name) => conflict(orders, name) === 'False/Settled'),
      'the end of it',
    );
  });

  it('stays with the one that had it first while the content of that is not here', async () => {
    fleet = await simulateFleet(82, ['a']);
    const orders = ordersFor(fleet, 'a');
    await orders.fulfil('front', [configMap('settings', 'red')]);
    await orders.give('late', [configMap('settings', 'blue')]);
    await fleet.until(() => conflict(orders, 'late') === 'True/AlsoWanted', 'the conflict');
    const bundles = { ...DISPATCHES, resource: 'bundles', kind: 'Bundle' };
    for (const name of orders.dispatch('front')?.spec.bundles ?? [])
      await fleet.run(fleet.spoke('a').client.delete(bundles, 'atoll-system', name));
    await fleet.kill('a');
    await fleet.start('a');
    await fleet.until(
      () => conditionOf(orders.dispatch('front'), 'Applied') === 'False/ContentMissing',
      'the word about the content',
    );
    await fleet.rest(20_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await orders.fulfil('front', [configMap('settings', 'green')]);
    expect(colour(fleet.spoke('a'))).toBe('green');
  });
});
