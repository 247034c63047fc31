import { afterEach, describe, expect, it } from 'vitest';
import { memoryDriver } from '../../src/apiserver/index.ts';
import { foundOn, recoveryPlan } from '../../src/cli/recover/index.ts';
import type { Dispatch } from '../../src/engine/dispatch/index.ts';
import { refOf, refText } from '../../src/kube/object.ts';
import { DISPATCHES, dispatchesOn, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { colour, configMap, openShop, paint, ready } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

async function everythingFound(): Promise<Awaited<ReturnType<typeof foundOn>>[]> {
  return Promise.all(fleet.spokes.map((spoke) => fleet.run(foundOn(spoke.name, spoke.client))));
}

describe('a hub that was lost', () => {
  it('is rebuilt from what its spokes keep, in the newest words', async () => {
    fleet = await simulateFleet(11, ['a', 'b']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await ready(fleet, 2);
    fleet.spoke('b').link.cut();
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the newest word on a');
    const lost = stored(fleet.hub, 'atoll.dev/propagations/shop/shop');
    await fleet.kill(fleet.hub);
    fleet.hub.storage = memoryDriver();
    await fleet.start(fleet.hub);

    const asked = await everythingFound();
    expect(asked.flatMap(({ unusable }) => unusable)).toEqual([]);
    const plan = recoveryPlan(asked.flatMap(({ found }) => found));
    expect(plan.objects.map((object) => refText(refOf(object)))).toEqual([
      'Namespace shop',
      'ConfigMap shop/prices',
      'ConfigMap shop/settings',
      'SpokeCluster default/a',
      'SpokeCluster default/b',
      'Propagation shop/shop',
    ]);
    expect(plan.objects[2]).toMatchObject({ data: { colour: 'blue' } });
    for (const object of plan.objects) {
      const resource = await fleet.run(fleet.hub.client.resourceFor(object.apiVersion, object.kind));
      await fleet.run(fleet.hub.client.create(resource, object));
    }
    const rebuilt = stored(fleet.hub, 'atoll.dev/propagations/shop/shop');
    expect(rebuilt?.['spec']).toEqual(lost?.['spec']);
    // It is another hub: its spokes go on as they are until their owners hand them over.
    await fleet.rest(30_000);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('b'))]).toEqual(['blue', 'red']);
  });

  it('is not rebuilt from an order that was changed on a spoke', async () => {
    fleet = await simulateFleet(12, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    const spoke = fleet.spoke('a');
    await fleet.kill(fleet.hub);
    const order = dispatchesOn(spoke)[0] as Dispatch;
    const forged = { ...order.spec, source: { ...order.spec.source, namespace: 'kube-system' } };
    await fleet.run(spoke.client.update(DISPATCHES, { ...order, spec: forged }));
    const [asked] = await everythingFound();
    expect(asked?.found).toEqual([]);
    expect(asked?.unusable).toMatchObject([{ spoke: 'a', why: expect.stringContaining('signature') }]);
  });
});
