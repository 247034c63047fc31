import { afterEach, describe, expect, it } from 'vitest';
import { DISPATCH_LABEL } from '../../src/engine/dispatch/index.ts';
import { dispatchesOn, type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, stored } from './fleet.ts';
import { colour, openShop, paint, ready } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const inventory = (name: string): unknown => stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`);
const label = (name: string): string | undefined =>
  stored(fleet.spoke(name), 'core/configmaps/shop/settings')?.metadata.labels?.[DISPATCH_LABEL];

async function open(policy?: string): Promise<void> {
  fleet = await simulateFleet(21, ['a', 'b']);
  await openShop(fleet);
  await ready(fleet, 2);
  if (policy !== undefined)
    await fleet.run(
      fleet.hub.client.patch(SPOKE_CLUSTERS, 'default', 'a', 'merge', { spec: { deletionPolicy: policy } }),
    );
}

async function remove(name: string): Promise<void> {
  await fleet.run(fleet.hub.client.delete(SPOKE_CLUSTERS, 'default', name));
}

describe('a cluster that leaves the fleet', () => {
  it('[S20] keeps its workloads, free of marks', async () => {
    await open();
    await remove('a');
    await fleet.until(() => inventory('a') === undefined, 'the end of its SpokeCluster');
    expect(colour(fleet.spoke('a'))).toBe('red');
    expect(label('a')).toBeUndefined();
    expect(dispatchesOn(fleet.spoke('a'))).toEqual([]);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'the others go on');
    expect(colour(fleet.spoke('a'))).toBe('red');
    await ready(fleet, 1);
  });

  it('[S20] loses what was dispatched where that is asked for', async () => {
    await open('cleanup');
    await remove('a');
    await fleet.until(() => inventory('a') === undefined, 'the end of its SpokeCluster');
    expect(colour(fleet.spoke('a'))).toBe('');
    expect(colour(fleet.spoke('b'))).toBe('red');
  });

  it('keeps up what it was told where it is orphaned', async () => {
    await open('orphan');
    await remove('a');
    await fleet.until(() => inventory('a') === undefined, 'the end of its SpokeCluster');
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'drift is corrected as before');
    expect(dispatchesOn(fleet.spoke('a'))).toHaveLength(1);
  });

  it('[A73] need not be there to be let go', async () => {
    await open();
    fleet.spoke('a').link.cut();
    await remove('a');
    await fleet.until(() => inventory('a') === undefined, 'the end of its SpokeCluster', 180_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await paint(fleet, fleet.hub, 'blue');
    await ready(fleet, 1);
  });

  it('that is away is waited for where it shall be cleaned', async () => {
    await open('cleanup');
    fleet.spoke('a').link.cut();
    await remove('a');
    await fleet.rest(300_000);
    expect(inventory('a')).toBeDefined();
    fleet.spoke('a').link.heal();
    await fleet.until(() => inventory('a') === undefined, 'the end of its SpokeCluster', 180_000);
    expect(colour(fleet.spoke('a'))).toBe('');
  });
});
