import { afterEach, describe, expect, it } from 'vitest';
import {
  conditionMessage,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, merge, openShop, paint } from './shop.ts';

const SPOKES = ['a', 'b', 'c', 'd'];
const ANYWHERE = { clusterSelector: {} };
let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const having = (): string[] => SPOKES.filter((name) => colour(fleet.spoke(name)) !== '');
const place = (placement: object, more: object = {}): Promise<unknown> =>
  merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { placement, ...more } });
const only = (...sites: string[]): object => ({
  clusterSelector: { matchExpressions: [{ key: 'site', operator: 'In', values: sites }] },
});
const dispatched = (): string =>
  conditionMessage(stored(fleet.hub, 'atoll.dev/propagations/shop/shop'), 'Dispatched');

async function openBudgeted(clusterBudget: number | string): Promise<void> {
  fleet = await simulateFleet(1, SPOKES);
  await openShop(fleet, undefined, { placement: ANYWHERE, clusterBudget });
  await fleet.until(() => having().length === SPOKES.length, 'the shop everywhere');
}

describe('a change of placement that leaves more clusters than its budget', () => {
  it('takes nothing away anywhere and says so, over a restart, until the budget allows it', async () => {
    await openBudgeted('50%');
    await place(only('a'));
    await fleet.until(() => dispatched().includes('3 of 4 clusters would be left'), 'the word');
    expect(dispatched()).toContain('more than spec.clusterBudget 50% allows');
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(having()).toEqual(SPOKES);
    // Whoever is still chosen gets what is new.
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'what is new');
    expect(colour(fleet.spoke('b'))).toBe('red');
    await place(only('a'), { clusterBudget: '75%' });
    await fleet.until(() => having().join() === 'a', 'the end of the others');
  });

  it('is held back where a mistake leaves no cluster at all, and forgotten when it is mended', async () => {
    await openBudgeted(1);
    await place({ clusterSelector: { matchLabels: { site: 'atlantis' } } });
    await fleet.rest(60_000);
    expect(having()).toEqual(SPOKES);
    await place({ clusterSelector: { matchLabels: null } });
    await fleet.until(() => !dispatched().includes('clusterBudget'), 'the end of the word');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(
      () => SPOKES.every((name) => colour(fleet.spoke(name)) === 'blue'),
      'what is new everywhere',
    );
  });
});

it('what stays within its budget goes, and so does what is deleted or detached', async () => {
  await openBudgeted('50%');
  await place(only('a', 'b'));
  await fleet.until(() => having().join() === 'a,b', 'the end of two');
  await fleet.run(fleet.hub.client.delete(SPOKE_CLUSTERS, 'default', 'b'));
  await fleet.rest(10_000);
  await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
  await fleet.until(() => colour(fleet.spoke('a')) === '', 'the end of all');
});

describe('copies that move', () => {
  const LOST = { cluster: { tolerationSeconds: 60 }, failBack: { stabilisationSeconds: 600 } };

  it('leave clusters that nobody chose to leave, over a restart: they go, and go back, within any budget', async () => {
    fleet = await simulateFleet(1, ['a', 'b']);
    const placed = { placement: { clusterSelector: {}, numberOfClusters: 1 }, failover: LOST };
    await openShop(fleet, undefined, { ...placed, clusterBudget: 0 });
    const both = (): string[] => ['a', 'b'].filter((name) => colour(fleet.spoke(name)) !== '');
    await fleet.until(() => both().length === 1, 'the shop');
    const [home = ''] = both();
    const other = home === 'a' ? 'b' : 'a';
    fleet.cut(home);
    await fleet.until(() => both().length === 2, 'a copy elsewhere', 200_000);
    await fleet.rest(30_000);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    expect(dispatched()).not.toContain('clusterBudget');
    fleet.heal(home);
    await fleet.until(() => both().join() === other, 'the end of the old copy', 120_000);
    await fleet.until(() => both().join() === home, 'the way back', 1_500_000);
    expect(dispatched()).not.toContain('clusterBudget');
  });
});
