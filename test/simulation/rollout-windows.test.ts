import { afterEach, describe, expect, it } from 'vitest';
import type { Dispatch } from '../../src/engine/dispatch/index.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import { dispatchesOn, PROPAGATIONS, type SimulatedFleet, simulateFleet } from './fleet.ts';
import { colour, merge, openShop, paint, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

/** While true the engine of `a` cannot write down what it takes, so that it takes nothing. */
let stuck = false;

function stubborn(handler: Handler): Handler {
  return (request) => {
    if (!stuck || request.method === 'GET' || !request.path.includes('/ownershiprecords'))
      return handler(request);
    const body = { apiVersion: 'v1', kind: 'Status', status: 'Failure', code: 500, message: 'simulated' };
    return Promise.resolve({
      status: 500,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(body)),
    });
  };
}

const rollout = (): { phase?: string; reason?: string } =>
  (shopStatus(fleet)['rollout'] ?? {}) as { phase?: string };
const clock = (ms: number): string => new Date(fleet.runtime.clock.now() + ms).toISOString().slice(11, 16);
const dispatch = (): Dispatch['spec'] => (dispatchesOn(fleet.spoke('a'))[0] as Dispatch).spec;

describe('a window that ends', () => {
  it.each([
    ['[K87] ', 'Checkpoint'],
    ['', 'Graceful'],
  ] as const)(
    '%sholds back a spoke that takes its order late, until its next window: %s',
    async (_id, atWindowEnd) => {
      stuck = false;
      fleet = await simulateFleet(93, ['a', 'b'], {
        engineApi: (cluster, handler) => (cluster === 'a' ? stubborn(handler) : handler),
      });
      await openShop(fleet, undefined, { rollout: {} });
      await fleet.until(() => rollout().phase === 'Succeeded', 'red everywhere');
      const windows = [
        { start: clock(-600_000), end: clock(600_000), timeZone: 'UTC' },
        { start: clock(2_400_000), end: clock(3_600_000), timeZone: 'UTC' },
      ];
      await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
        spec: { rollout: { maintenance: { windows, atWindowEnd } } },
      });
      stuck = true;
      await paint(fleet, fleet.hub, 'blue');
      await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'b has it');
      const { position } = dispatch();
      expect(dispatch().hold).toBeUndefined();
      await fleet.rest(700_000);
      expect(dispatch()).toMatchObject({ position, hold: true });
      stuck = false;
      await fleet.rest(300_000);
      expect([colour(fleet.spoke('a')), colour(fleet.spoke('b'))]).toEqual(['red', 'blue']);
      // The hub may start again meanwhile: it says nothing else.
      await fleet.kill(fleet.hub);
      await fleet.start(fleet.hub);
      await fleet.rest(60_000);
      expect([colour(fleet.spoke('a')), dispatch().hold]).toEqual(['red', true]);
      await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'a in its next window', 3_000_000);
      expect(dispatch().position).toEqual(position);
      expect(dispatch().hold).toBeUndefined();
      await fleet.until(() => rollout().phase === 'Succeeded', 'everywhere', 600_000);
    },
  );
});
