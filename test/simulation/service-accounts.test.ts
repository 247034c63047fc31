import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { ordersFor } from './orders.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const account = (labels: Record<string, string>, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'builder', namespace: 'shop', labels },
  ...more,
});
const TOKENS = [{ name: 'builder-token-x1' }, { name: 'builder-token-x2' }];

describe.each(['ServerSideApply', 'Update'] as const)('a service account, by %s', (strategy) => {
  it('[F21] keeps the tokens that its cluster listed, where the order names none', async () => {
    fleet = await simulateFleet(81, ['a']);
    const orders = ordersFor(fleet, 'a');
    const { client } = fleet.spoke('a');
    const live = () => stored(fleet.spoke('a'), 'core/serviceaccounts/shop/builder');
    await orders.fulfil('shop', [account({ step: '1' })], { apply: { strategy } });
    const accounts = await fleet.run(client.resourceFor('v1', 'ServiceAccount'));
    await fleet.run(
      client.patch(
        accounts,
        'shop',
        'builder',
        'merge',
        { secrets: TOKENS },
        { fieldManager: 'token-controller' },
      ),
    );
    for (const step of ['2', '3', '4']) {
      await orders.fulfil('shop', [account({ step })], { apply: { strategy } });
      expect(live()).toMatchObject({ metadata: { labels: { step } }, secrets: TOKENS });
    }
    await fleet.rest(60_000);
    expect(live()?.['secrets']).toEqual(TOKENS);
  });
});
