import { afterEach, describe, expect, it } from 'vitest';
import { configMaps } from '../../src/kube/well-known.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet } from './fleet.ts';
import { colour, configMap, merge, openShop, paint, ready, shopStatus } from './shop.ts';

const MINUTE_MS = 60_000;

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const allow = (bytesPerHour: string | null): Promise<unknown> =>
  merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'b', { spec: { bytesPerHour } });
const colours = (): string => ['a', 'b'].map((name) => colour(fleet.spoke(name))).join();

/** The first content goes whatever its size: what is larger than a whole budget could never go otherwise. */
async function openWithBudgetSpent(): Promise<void> {
  fleet = await simulateFleet(1, ['a', 'b']);
  await allow('100');
  await openShop(fleet, [configMap('settings', 'red'), configMap('other', 'red')]);
  await ready(fleet, 2);
  await paint(fleet, fleet.hub, 'blue');
  await fleet.rest(MINUTE_MS);
}

describe('a cluster whose bytes of the hour are spent', () => {
  it('gets what is new with the next hour, and says why not before; the others get it at once', async () => {
    await openWithBudgetSpent();
    expect(colours()).toBe('blue,red');
    const why = JSON.stringify(shopStatus(fleet)['notReady']);
    expect(why).toContain('bytes of content are due, and the 100 of spec.bytesPerHour of SpokeCluster b');
    await fleet.rest(50 * MINUTE_MS);
    expect(colours()).toBe('blue,red');
    await fleet.rest(10 * MINUTE_MS);
    expect(colours()).toBe('blue,blue');
    await ready(fleet, 2);
  });

  it('gets it no sooner from a hub that was started again', async () => {
    await openWithBudgetSpent();
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(50 * MINUTE_MS);
    expect(colours()).toBe('blue,red');
    expect(JSON.stringify(shopStatus(fleet)['notReady'])).toContain('bytes of content are due');
    await fleet.rest(10 * MINUTE_MS);
    expect(colours()).toBe('blue,blue');
  });

  it('goes on at once when it is given more', async () => {
    await openWithBudgetSpent();
    await allow('1Mi');
    await fleet.rest(MINUTE_MS / 2);
    expect(colours()).toBe('blue,blue');
    await allow('100');
    await paint(fleet, fleet.hub, 'green');
    await fleet.rest(MINUTE_MS);
    expect(colours()).toBe('green,blue');
    await allow(null);
    await fleet.rest(MINUTE_MS / 2);
    expect(colours()).toBe('green,green');
  });

  it('loses everything all the same where everything is taken away', async () => {
    await openWithBudgetSpent();
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'settings'));
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'other'));
    await fleet.until(() => colours() === ',', 'the end of both');
  });
});
