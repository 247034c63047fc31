import { afterEach, describe, expect, it } from 'vitest';
import { UNREACHABLE_TAINT } from '../../src/engine/failover/index.ts';
import { nodes } from '../../src/kube/well-known.ts';
import { conditionOf, everything, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { configMap, openShop, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(() => fleet.stop());

const NAMES = ['a', 'b', 'c'];

async function open(): Promise<void> {
  fleet = await simulateFleet(31, NAMES);
  await openShop(fleet, [configMap('settings', 'red')]);
  await ready(fleet, NAMES.length);
  await fleet.rest(120_000);
}

/** What is stored at the hub but for the intent itself, whose counts are always those of now. */
function kept(): Record<string, number> {
  const all = Object.entries(everything(fleet.hub));
  return Object.fromEntries(all.filter(([key]) => !key.includes('/propagations/')));
}

function statusOf(name: string): { connection?: string; clusterInfo?: { nodeCount?: number } } {
  return stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`)?.['status'] ?? {};
}

describe('spokes that come back as they were', () => {
  it('are no news after all links broke, though the intent counts them as stale meanwhile', async () => {
    await open();
    const before = kept();
    for (const name of NAMES) fleet.spoke(name).link.cut();
    await fleet.rest(8_000);
    expect(shopStatus(fleet)).toMatchObject({ ready: 0, stale: NAMES.length });
    for (const name of NAMES) fleet.spoke(name).link.heal();
    await ready(fleet, NAMES.length);
    await fleet.rest(120_000);
    expect(kept()).toEqual(before);
  });

  it('are no news to a hub that starts again before they dial', async () => {
    await open();
    const before = kept();
    await fleet.kill(fleet.hub);
    for (const name of NAMES) fleet.spoke(name).link.cut();
    await fleet.start(fleet.hub);
    await fleet.rest(10_000);
    for (const name of NAMES) fleet.spoke(name).link.heal();
    await ready(fleet, NAMES.length);
    await fleet.rest(120_000);
    expect(kept()).toEqual(before);
  });

  it('are told to be away after 15 s, and no sooner', async () => {
    await open();
    fleet.spoke('a').link.cut();
    await fleet.rest(14_000);
    expect(statusOf('a').connection).toBe('Connected');
    await fleet.rest(2_000);
    expect([statusOf('a').connection, statusOf('b').connection]).toEqual(['Disconnected', 'Connected']);
  });

  it('are told to be away, and why, by a hub that started again meanwhile as well', async () => {
    await open();
    fleet.spoke('a').link.cut();
    await fleet.rest(8_000);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(14_000);
    expect(statusOf('a').connection).toBe('Connected');
    await fleet.rest(3_000);
    expect([statusOf('a').connection, statusOf('b').connection]).toEqual(['Disconnected', 'Connected']);
    const entry = stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a');
    expect(conditionOf(entry, 'Connected')).toBe('False/ProbeFailed');
    await fleet.until(
      () =>
        JSON.stringify(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')).includes(UNREACHABLE_TAINT),
      'that nothing new is placed there',
      40_000,
    );
  });
});

describe('what the engine of a spoke states of its cluster', () => {
  it('is known at the hub when it changes, without waiting for a probe', async () => {
    await open();
    const { client } = fleet.spoke('a');
    const before = statusOf('a').clusterInfo?.nodeCount ?? 0;
    const node = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'one-more' } };
    await fleet.run(client.create(nodes, node));
    await fleet.until(
      () => statusOf('a').clusterInfo?.nodeCount === before + 1,
      'the node at the hub',
      5_000,
    );
  });
});
