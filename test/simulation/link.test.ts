import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterInfo, SpokeClusterStatus } from '../../src/dialects/kubevela/types.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  conditionOf,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedFleet,
  type SimulatedSpoke,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

async function open(names: string[] = ['a', 'b'], objects = [configMap('settings', 'red')]): Promise<void> {
  fleet = await simulateFleet(2, names);
  await openShop(fleet, objects);
  await ready(fleet, names.length);
}

/** Every colour that a spoke's config map takes from now on. */
async function coloursSeen(spoke: SimulatedSpoke): Promise<string[]> {
  const seen: string[] = [];
  const watch = async (): Promise<void> => {
    for await (const event of spoke.client.watch(configMaps, 'shop', {
      resourceVersion: String(spoke.server.store.revision),
    })) {
      if (event.type === 'ERROR' || event.object.metadata.name !== 'settings') continue;
      seen.push((event.object as { data?: { colour?: string } }).data?.colour ?? '');
    }
  };
  void watch();
  await fleet.rest(10);
  return seen;
}

describe('a link that is cut', () => {
  it('[K27] brings the newest state only when it heals', async () => {
    await open();
    const seen = await coloursSeen(fleet.spoke('a'));
    fleet.spoke('a').link.cut();
    for (const value of ['orange', 'yellow', 'green', 'blue']) {
      await paint(fleet, fleet.hub, value);
      await fleet.until(() => colour(fleet.spoke('b')) === value, `${value} on the other spoke`);
    }
    expect(colour(fleet.spoke('a'))).toBe('red');
    fleet.spoke('a').link.heal();
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the newest state');
    await fleet.rest(5_000);
    expect(seen).toEqual(['blue']);
  });

  it('[K15] makes a ready cluster stale in every count, and not ready', async () => {
    await open();
    fleet.spoke('a').link.cut();
    await fleet.until(() => shopStatus(fleet)['stale'] === 1, 'the stale count', 5_000);
    expect(shopStatus(fleet)).toMatchObject({ clusters: 2, ready: 1, stale: 1 });
    expect(conditionOf(shop(fleet), 'Ready')).toBe('Unknown/Stale');
    fleet.spoke('a').link.heal();
    await ready(fleet, 2);
  });

  it('[K12] is Disconnected within its interval; the inventory is kept with its age [K15]', async () => {
    await open(['a']);
    await fleet.rest(600_000);
    const status = (): Pick<SpokeClusterStatus, 'connection'> & { clusterInfo: ClusterInfo } =>
      (stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.['status'] ?? {}) as never;
    expect(status().connection).toBe('Connected');
    const info = status().clusterInfo;
    const cutAt = fleet.runtime.clock.now();
    fleet.spoke('a').link.cut();
    await fleet.until(() => status().connection === 'Disconnected', 'Disconnected', 30_000);
    await fleet.rest(300_000);
    const { lastSyncedTime, latencyMillis: _latency, ...kept } = status().clusterInfo;
    const { lastSyncedTime: _before, latencyMillis: _other, ...facts } = info;
    expect(kept).toEqual(facts);
    // It was true until just before the cut, not only when it was written first.
    const age = cutAt - Date.parse(lastSyncedTime ?? '');
    expect(age).toBeGreaterThanOrEqual(-1_000);
    expect(age).toBeLessThan(31_000);
    fleet.spoke('a').link.heal();
    await fleet.until(() => status().connection === 'Connected', 'Connected');
  });

  it('[K12] flips within interval and timeout where the spoke hangs', async () => {
    await open(['a']);
    fleet.spoke('a').link.setLatency(1_000_000);
    const status = (): Record<string, unknown> =>
      (stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.['status'] ?? {}) as never;
    await fleet.until(() => status().connection === 'Disconnected', 'Disconnected', 41_000);
    expect(conditionOf(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a'), 'Connected')).toBe(
      'False/ProbeFailed',
    );
  });

  it('carries deletions to a spoke that was offline when they were ordered', async () => {
    await open(['a', 'b'], [configMap('settings', 'red'), configMap('prices', 'gold')]);
    fleet.spoke('a').link.cut();
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(() => colour(fleet.spoke('b'), 'prices') === '', 'the deletion on the connected spoke');
    expect(colour(fleet.spoke('a'), 'prices')).toBe('gold');
    fleet.spoke('a').link.heal();
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === '', 'the deletion after the heal');
    expect(colour(fleet.spoke('a'))).toBe('red');
  });

  it('retracts a deleted Propagation everywhere, also on a spoke that is away for a while', async () => {
    await open();
    fleet.spoke('a').link.cut();
    const { client } = fleet.hub;
    await fleet.run(client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(
      () => colour(fleet.spoke('b')) === '' && dispatchesOn(fleet.spoke('b')).length === 0,
      'gone on the connected spoke',
    );
    await fleet.rest(15_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    expect(shop(fleet)).toBeDefined();
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(5_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    fleet.spoke('a').link.heal();
    await fleet.until(() => colour(fleet.spoke('a')) === '' && shop(fleet) === undefined, 'gone everywhere');
    await fleet.rest(2_000);
    expect(stored(fleet.spoke('a'), 'atoll.dev/ownershiprecords/atoll-system')).toBeUndefined();
  });

  it('retracts what was dispatched only just now, before the hub has seen it there', async () => {
    fleet = await simulateFleet(2, ['a']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')], null);
    await fleet.rest(1_000);
    const { client } = fleet.hub;
    fleet.spoke('a').link.setLatency(300);
    for (const name of ['settings', 'prices'])
      await fleet.run(
        client.create(
          PROPAGATIONS,
          propagation(name, { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name }] }),
        ),
      );
    await fleet.until(() => dispatchesOn(fleet.spoke('a')).length === 2, 'both orders on the spoke');
    for (const name of ['settings', 'prices']) await fleet.run(client.delete(PROPAGATIONS, 'shop', name));
    await fleet.until(
      () => shop(fleet, 'settings') === undefined && shop(fleet, 'prices') === undefined,
      'both gone at the hub',
    );
    await fleet.rest(10_000);
    expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['', '']);
    expect(dispatchesOn(fleet.spoke('a'))).toEqual([]);
  });

  it('costs the other spokes nothing where one is slow', async () => {
    await open(['a', 'b', 'c']);
    fleet.spoke('a').link.setLatency(9_000);
    const started = fleet.runtime.clock.monotonic();
    for (const value of ['orange', 'yellow', 'green']) {
      await paint(fleet, fleet.hub, value);
      await fleet.until(
        () => colour(fleet.spoke('b')) === value && colour(fleet.spoke('c')) === value,
        `${value} on the fast spokes`,
        2_000,
      );
    }
    expect(fleet.runtime.clock.monotonic() - started).toBeLessThan(2_000);
    fleet.spoke('a').link.setLatency(0);
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'the slow spoke at last', 120_000);
  });

  it('costs others nothing where many propagations wait for a spoke that hangs', async () => {
    fleet = await simulateFleet(2, ['a', 'b']);
    await openShop(fleet, [], null);
    for (let i = 0; i < 40; i++) {
      const spec = { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: `more-${i}` }] };
      await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation(`more-${i}`, spec)));
    }
    await fleet.rest(1_000);
    fleet.spoke('a').link.setLatency(1_000_000);
    for (let i = 0; i < 40; i++)
      await fleet.run(fleet.hub.client.create(configMaps, configMap(`more-${i}`, 'grey')));
    await fleet.until(
      () =>
        Array.from({ length: 40 }, (_, i) => i).every(
          (i) => colour(fleet.spoke('b'), `more-${i}`) === 'grey',
        ),
      'all on the other spoke',
      3_000,
    );
  });
});

describe('revisions', () => {
  it('[K33] differ while a change is on its way and agree afterwards', async () => {
    await open(['a']);
    const status = (): Record<string, unknown> =>
      (stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.['status'] ?? {}) as never;
    await fleet.until(
      () =>
        status()['dispatchedRevision'] !== undefined &&
        status()['dispatchedRevision'] === status()['appliedRevision'],
      'both the same',
    );
    const first = status()['appliedRevision'];
    // The engine of the spoke stands still: the hub dispatches, nothing applies.
    await fleet.run(fleet.spoke('a').engine?.stop() ?? Promise.resolve());
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => status()['dispatchedRevision'] !== first, 'the new one dispatched');
    expect(status()['appliedRevision']).toBe(first);
    await fleet.kill(fleet.spoke('a'));
    await fleet.start(fleet.spoke('a'));
    fleet.spoke('a').link.cut();
    fleet.spoke('a').link.heal();
    await fleet.until(
      () => status()['dispatchedRevision'] === status()['appliedRevision'],
      'both the new one',
      120_000,
    );
    expect(status()['appliedRevision']).not.toBe(first);
  });

  it('[K32] leave the spec of SpokeCluster and Propagation byte for byte as it was written', async () => {
    await open();
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', {
      spec: { blueprintRef: { name: 'base', revision: 'v1' } },
    });
    const specs = (): string =>
      JSON.stringify([
        stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.['spec'],
        shop(fleet)?.['spec'],
      ]);
    const before = specs();
    for (const value of ['orange', 'yellow']) await paint(fleet, fleet.hub, value);
    fleet.spoke('a').link.cut();
    await fleet.rest(40_000);
    fleet.spoke('a').link.heal();
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(70_000);
    expect(specs()).toBe(before);
  });
});
