import { afterEach, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { dispatchesOn, PROPAGATIONS, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { colour, configMap, merge, openShop, paint, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

/** Answers to the hub's own records of a generation come only when they are let. */
function slowRecords(generation: number): { over(handler: Handler): Handler; let(): void } {
  const gate = Promise.withResolvers<void>();
  return {
    let: () => gate.resolve(),
    over: (handler) => async (request) => {
      const answer = await handler(request);
      const body = request.body === undefined ? '' : Buffer.from(request.body as Uint8Array).toString();
      // A record has no conditions, which every report has.
      const isRecord = body.includes(`"dispatchGeneration":${generation}`) && !body.includes('conditions');
      if (request.path.includes('/propagations/shop/status') && isRecord) await gate.promise;
      return answer;
    },
  };
}

it('what was written down of an order is not undone by a report that is made before the answer comes', async () => {
  const records = slowRecords(2);
  fleet = await simulateFleet(41, ['a', 'b'], {
    engineApi: (cluster, handler) => (cluster === 'hub' ? records.over(handler) : handler),
  });
  await openShop(fleet);
  await ready(fleet, 2);
  await paint(fleet, fleet.hub, 'blue');
  await fleet.until(() => shopStatus(fleet)['dispatchGeneration'] === 2, 'the record');
  const digest = shopStatus(fleet)['dispatchDigest'];
  // There is something to report, which has nothing to do with the order.
  fleet.cut('b');
  await fleet.rest(10_000);
  expect(shopStatus(fleet)).toMatchObject({ dispatchGeneration: 2, dispatchDigest: digest });
  records.let();
  await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the order');
  await fleet.until(() => shopStatus(fleet)['stale'] === 1, 'the report');
  expect(shopStatus(fleet)).toMatchObject({ dispatchGeneration: 2, dispatchDigest: digest });
});

it('a rollout that was begun and said to nobody ends where nothing is left of what it was to bring', async () => {
  fleet = await simulateFleet(42, ['a', 'b']);
  await openShop(fleet, [], {
    rollout: { stages: [{ name: 'canary', clusterNames: ['a'], soakSeconds: 20 }] },
  });
  await fleet.rest(5_000);
  for (const { name } of fleet.spokes) fleet.cut(name);
  await fleet.run(fleet.hub.client.create(configMaps, configMap('settings', 'red')));
  await fleet.until(() => shopStatus(fleet)['rollout'] !== undefined, 'the rollout');
  await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'settings'));
  await fleet.rest(1_000);
  await fleet.kill(fleet.hub);
  await fleet.start(fleet.hub);
  for (const { name } of fleet.spokes) fleet.heal(name);
  await fleet.rest(60_000);
  expect(fleet.spokes.map(dispatchesOn)).toEqual([[], []]);
  expect(shopStatus(fleet)['rollout']).toMatchObject({ phase: 'Succeeded' });
  await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { rollout: null } });
  await fleet.run(fleet.hub.client.create(configMaps, configMap('settings', 'green')));
  await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'what is sent at once');
});
