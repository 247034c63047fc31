import { afterEach, describe, expect, it } from 'vitest';
import { ROLLOUT_ACTION } from '../../src/hub/rollouts/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { PROPAGATIONS, type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, stored } from './fleet.ts';
import { colour, merge, openShop, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const MINUTES = 60_000;
const colours = (): string => fleet.spokes.map((spoke) => colour(spoke) || '-').join(' ');

async function label(name: string, generation: string): Promise<void> {
  await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels: { generation } } });
}

async function open(names: readonly string[], spec: object): Promise<void> {
  fleet = await simulateFleet(97, names);
  for (const name of names) await label(name, name.startsWith('blue') ? 'blue' : 'green');
  await openShop(fleet, undefined, spec);
}

const placement = (generation: string, retireAfterSeconds: number): object => ({
  clusterSelector: { matchLabels: { generation } },
  retireAfterSeconds,
});

describe('clusters that others take the place of', () => {
  it('[K89] blue ones keep their copies until green ones passed their test and the retention is over', async () => {
    const rollout = { stages: [{ name: 'green', soakSeconds: 300 }] };
    await open(['blue-1', 'blue-2', 'green-1', 'green-2'], {
      placement: placement('blue', 720),
      rollout,
    });
    await ready(fleet, 2);
    expect(colours()).toBe('red red - -');
    await fleet.rest(10 * MINUTES);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: placement('green', 720) },
    });
    await fleet.until(() => colours() === 'red red red red', 'green beside blue');
    await fleet.rest(11 * MINUTES);
    expect(colours()).toBe('red red red red');
    // A green one that is not Ready any more proves nothing: the retention begins anew.
    fleet.cut('green-2');
    await fleet.rest(2 * MINUTES);
    fleet.heal('green-2');
    await fleet.rest(10 * MINUTES);
    expect(colours()).toBe('red red red red');
    await fleet.until(() => colours() === '- - red red', 'blue gone', 3 * MINUTES);
  });

  it('what is tested before counts: as long as the newest content is not everywhere, nothing goes', async () => {
    await open(['blue-1', 'green-1', 'green-2'], { placement: placement('blue', 60) });
    await ready(fleet, 1);
    const stages = [
      { name: 'smoke', clusterNames: ['green-1'] },
      { name: 'switch', approval: {} },
    ];
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { rollout: { stages } } });
    await fleet.rest(60_000);
    await fleet.run(
      fleet.hub.client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'green' } }),
    );
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: placement('green', 60) },
    });
    await fleet.until(() => colour(fleet.spoke('green-1')) === 'green', 'the smoke test');
    await fleet.rest(2 * MINUTES);
    expect(colour(fleet.spoke('blue-1'))).not.toBe('');
    await fleet.run(
      fleet.hub.client.create(resourceIdOf(ROLLOUT_ACTION), {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'RolloutAction',
        metadata: { name: 'go', namespace: 'shop' },
        spec: { target: { kind: 'Propagation', name: 'shop' }, action: 'Approve', stage: 'switch' },
      }),
    );
    await fleet.until(() => colours() === '- green green', 'switched', 300_000);
  });

  it('[K90] an old cluster leaves the fleet only after the one in its place is healthy', async () => {
    await open(['blue-1', 'green-1'], { placement: { clusterSelector: {}, retireAfterSeconds: 300 } });
    await ready(fleet, 2);
    fleet.cut('green-1');
    await fleet.run(
      fleet.hub.client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'newer' } }),
    );
    await fleet.until(() => colour(fleet.spoke('blue-1')) === 'newer', 'the change');
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'blue-1', {
      spec: { deletionPolicy: 'cleanup' },
    });
    await fleet.run(fleet.hub.client.delete(SPOKE_CLUSTERS, 'default', 'blue-1'));
    await fleet.rest(30 * MINUTES);
    const isThere = (): boolean =>
      stored(fleet.hub, 'core.oam.dev/spokeclusters/default/blue-1') !== undefined;
    expect([isThere(), colour(fleet.spoke('blue-1'))]).toEqual([true, 'newer']);
    fleet.heal('green-1');
    await fleet.until(() => colour(fleet.spoke('green-1')) === 'newer', 'the new one');
    await fleet.rest(200_000);
    expect([isThere(), colour(fleet.spoke('blue-1'))]).toEqual([true, 'newer']);
    await fleet.until(() => !isThere(), 'the old one gone', 300_000);
    expect(colour(fleet.spoke('blue-1'))).toBe('');
    expect(shopStatus(fleet)['clusters']).toBe(1);
  });
});
