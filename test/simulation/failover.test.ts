import { afterEach, describe, expect, it } from 'vitest';
import type { FailoverRecord } from '../../src/engine/failover/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const NAMES = ['a', 'b', 'c'];
/** One cluster of all. */
const ONE = { placement: { clusterSelector: {}, numberOfClusters: 1 } };
const LOST = { cluster: { tolerationSeconds: 60 } };

function on(name = 'settings'): string[] {
  return fleet.spokes.filter((spoke) => colour(spoke, name) !== '').map((spoke) => spoke.name);
}

function chosen(name = 'shop'): readonly string[] {
  const { decision } = shopStatus(fleet, name) as { decision?: { chosen: readonly string[] } };
  return decision?.chosen ?? [];
}

function moves(name = 'shop'): readonly string[] {
  const { failover } = shopStatus(fleet, name) as { failover?: FailoverRecord };
  return (failover?.moves ?? []).map(({ from, phase }) => `${from} ${phase}`);
}

async function open(spec: object, names: readonly string[] = NAMES): Promise<string> {
  fleet = await simulateFleet(11, names);
  await openShop(fleet, [configMap('settings', 'red')], { ...ONE, ...spec });
  await ready(fleet, 1);
  return chosen()[0] ?? '';
}

async function taint(name: string, taints: object[] | null): Promise<KubeObject> {
  return merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { spec: { taints } });
}

describe('failover of a cluster', () => {
  it('moves nothing unless it is asked for', async () => {
    const home = await open({});
    fleet.cut(home);
    await fleet.rest(900_000);
    expect(chosen()).toEqual([home]);
    expect(on()).toEqual([home]);
  });

  it('moves the copy of a lost cluster when the toleration is over, and takes the old one away when it can', async () => {
    const home = await open({ failover: LOST });
    fleet.cut(home);
    await fleet.rest(90_000);
    expect(chosen()).toEqual([home]);
    await fleet.until(() => on().length === 2 && !chosen().includes(home), 'a new copy', 30_000);
    const [next = ''] = chosen();
    await fleet.until(() => moves().join() === `${home} Left`, 'healthy there, so the old one may go');
    // A spoke keeps what it has for as long as nobody tells it otherwise.
    expect(on()).toContain(home);
    fleet.heal(home);
    await fleet.until(() => on().join() === next, 'the old copy is gone', 120_000);
    await fleet.rest(60_000);
    expect(chosen()).toEqual([next]);
    expect(on()).toEqual([next]);
  });

  it('moves nothing for a link that comes and goes', async () => {
    const home = await open({ failover: LOST });
    for (let times = 0; times < 8; times++) {
      fleet.cut(home);
      await fleet.rest(30_000);
      fleet.heal(home);
      await fleet.rest(25_000);
    }
    expect(chosen()).toEqual([home]);
    expect(moves()).toEqual([]);
    expect(on()).toEqual([home]);
  });

  it('keeps the old copy of a tainted cluster until the new one is healthy', async () => {
    const home = await open({ failover: { cluster: {}, graceSeconds: 3600 } }, ['a', 'b']);
    const other = home === 'a' ? 'b' : 'a';
    fleet.cut(other);
    await taint(home, [{ key: 'maintenance', effect: 'NoSelect' }]);
    await fleet.until(() => chosen().join() === other, 'decided anew');
    await fleet.rest(30_000);
    expect(moves()).toEqual([`${home} Leaving`]);
    expect(on()).toEqual([home]);
    fleet.heal(other);
    await fleet.until(() => on().join() === other, 'moved');
    expect(moves()).toEqual([`${home} Left`]);
  });

  it.each([
    ['', 0],
    [', also where the clock was set forward meanwhile', 3_600_000],
  ])(
    'leaves the last copy where it is while a cluster that is chosen has none, and cannot get one%s',
    async (_when, byMs) => {
      fleet = await simulateFleet(11, ['a', 'b']);
      for (const [name, tier] of [
        ['a', 'edge'],
        ['b', 'core'],
      ] as const)
        await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels: { tier } } });
      const placed = (tier: string) => ({ placement: { clusterSelector: { matchLabels: { tier } } } });
      await openShop(fleet, [configMap('settings', 'red')], { ...placed('core'), failover: LOST });
      await ready(fleet, 1);
      // It is not known yet as lost.
      fleet.cut('a');
      await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: placed('edge') });
      await fleet.until(() => chosen().join() === 'a', 'decided anew');
      await fleet.rest(20_000);
      expect(colour(fleet.spoke('b'))).toBe('red');
      fleet.runtime.clock.jump(byMs);
      fleet.heal('a');
      await fleet.until(() => colour(fleet.spoke('a')) === 'red' && colour(fleet.spoke('b')) === '', 'moved');
    },
  );

  it.each([7_200_000, -7_200_000])('minds no clock that is set while a copy moves (%i)', async (byMs) => {
    const failover = { cluster: { tolerationSeconds: 100_000 }, graceSeconds: 600 };
    const home = await open({ failover }, ['a', 'b']);
    fleet.cut(home === 'a' ? 'b' : 'a');
    await taint(home, [{ key: 'maintenance', effect: 'NoSelect' }]);
    await fleet.until(() => moves().join() === `${home} Leaving`, 'it is to move');
    fleet.runtime.clock.jump(byMs);
    await taint(home, [{ key: 'maintenance', effect: 'NoSelect', value: 'long' }]);
    await fleet.rest(120_000);
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(120_000);
    expect([moves(), on()]).toEqual([[`${home} Leaving`], [home]]);
    await fleet.until(() => on().length === 0, 'the end of its time', 600_000);
  });

  it('goes at once where that is asked for, and never without someone where that is', async () => {
    const home = await open({ failover: { cluster: { purge: 'Directly' } } });
    await taint(home, [{ key: 'maintenance', effect: 'NoSelect' }]);
    await fleet.until(() => on().length === 1 && !on().includes(home), 'moved');
    await fleet.stop();

    const second = await open({ failover: { cluster: { purge: 'Never' } } });
    await taint(second, [{ key: 'maintenance', effect: 'NoSelect' }]);
    await fleet.until(() => on().length === 2, 'a second copy');
    await fleet.rest(1_200_000);
    expect(on()).toContain(second);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { failover: { release: [second] } },
    });
    await fleet.until(() => on().length === 1 && !on().includes(second), 'given up');
  });

  it('goes back when the cluster has been well for long enough, the copy elsewhere staying until then', async () => {
    const home = await open({ failover: { ...LOST, failBack: { stabilisationSeconds: 600 } } });
    fleet.cut(home);
    await fleet.until(() => moves().join() === `${home} Left`, 'moved', 200_000);
    const [away = ''] = chosen();
    fleet.heal(home);
    await fleet.until(() => on().join() === away, 'the old copy gone', 120_000);
    await fleet.rest(500_000);
    expect(chosen()).toEqual([away]);
    await fleet.until(() => chosen().join() === home, 'decided to go back', 150_000);
    expect(on()).toContain(away);
    await fleet.until(() => on().join() === home && moves().length === 0, 'back');
  });

  it('moves what is rolled out as well, and keeps the old copy as it was', async () => {
    const home = await open(
      { failover: { cluster: {}, graceSeconds: 3600 }, revisionHistoryLimit: 3, rollout: {} },
      ['a', 'b'],
    );
    const other = home === 'a' ? 'b' : 'a';
    fleet.cut(other);
    await taint(home, [{ key: 'maintenance', effect: 'NoSelect' }]);
    await fleet.until(() => chosen().join() === other, 'decided anew');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(30_000);
    expect(colour(fleet.spoke(home))).toBe('red');
    fleet.heal(other);
    await fleet.until(() => on().join() === other, 'moved', 120_000);
    expect(colour(fleet.spoke(other))).toBe('blue');
  });
});

describe('a hub that starts again in the middle', () => {
  it('neither forgets a copy that is kept nor moves it twice', async () => {
    const home = await open({ failover: { cluster: {}, graceSeconds: 3600 } }, ['a', 'b', 'c']);
    await fleet.run(
      fleet.hub.client.create(
        PROPAGATIONS,
        propagation('idle', { ...ONE, resourceSelectors: [{ apiVersion: 'v1', kind: 'Secret' }] }),
      ),
    );
    for (const name of NAMES) if (name !== home) fleet.cut(name);
    await taint(home, [{ key: 'maintenance', effect: 'NoSelect' }]);
    await fleet.until(() => moves().join() === `${home} Leaving` && !chosen().includes(home), 'on its way');
    const [next = ''] = chosen();
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(moves()).toEqual([`${home} Leaving`]);
    expect(chosen()).toEqual([next]);
    expect(on()).toEqual([home]);
    fleet.heal(next);
    await fleet.until(() => on().join() === next, 'moved once, and the old copy gone', 120_000);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    const before = everything(fleet.spoke(next));
    await fleet.rest(600_000);
    expect(chosen()).toEqual([next]);
    expect(moves()).toEqual([`${home} Left`]);
    expect(everything(fleet.spoke(next))).toEqual(before);
    await taint(home, null);
    await fleet.until(() => moves().length === 0, 'it may be chosen again');
    expect(on()).toEqual([next]);
  });

  it('counts the time that a cluster is lost from when it was lost', async () => {
    const home = await open({ failover: { cluster: { tolerationSeconds: 300 } } });
    fleet.cut(home);
    await fleet.rest(200_000);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(chosen()).toEqual([home]);
    await fleet.until(() => !chosen().includes(home), 'moved in time', 100_000);
  });
});

describe('two clusters lost at once', () => {
  it('moves one copy after the other', async () => {
    fleet = await simulateFleet(11, ['a', 'b', 'c']);
    await openShop(fleet, [], null);
    const names = ['s0', 's1', 's2', 's3', 's4', 's5'];
    for (const [index, name] of names.entries()) {
      await fleet.run(
        fleet.hub.client.create(
          await fleet.run(fleet.hub.client.resourceFor('v1', 'ConfigMap')),
          configMap(name, 'red'),
        ),
      );
      const spec = {
        resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name }],
        placement: {
          clusterSelector: {},
          numberOfClusters: 1,
          scores: [{ type: 'Affinity', clusterNames: [index % 2 === 0 ? 'a' : 'b'] }],
        },
        failover: { cluster: { tolerationSeconds: 30 } },
      };
      await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation(name, spec)));
    }
    await fleet.until(
      () => names.every((name, index) => on(name).join() === (index % 2 === 0 ? 'a' : 'b')),
      'placed',
    );
    fleet.cut('a');
    fleet.cut('b');
    await fleet.until(() => names.some((name) => on(name).includes('c')), 'the first', 200_000);
    const movedAt = new Map<string, number>();
    const started = fleet.runtime.clock.now();
    await fleet.until(
      () => {
        for (const name of names)
          if (on(name).includes('c') && !movedAt.has(name)) movedAt.set(name, fleet.runtime.clock.now());
        return movedAt.size === names.length;
      },
      'all of them',
      60_000,
    );
    // 0.5 in a second: six take ten seconds from the first to the last.
    const took = fleet.runtime.clock.now() - started;
    expect(took).toBeGreaterThanOrEqual(9_000);
    expect(took).toBeLessThan(14_000);
    expect(stored(fleet.spoke('c'), 'core/configmaps/shop/s5')).toBeDefined();
  });
});

describe('the state of what is moved', () => {
  it('[A51] comes to the new copy as labels, and stays over a restart', async () => {
    fleet = await simulateFleet(11, ['a', 'b'], { workloads: true });
    const app = { app: 'web' };
    const web: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        replicas: 2,
        selector: { matchLabels: app },
        template: { metadata: { labels: app }, spec: { containers: [{ name: 'web', image: 'web:1' }] } },
      },
    };
    await openShop(fleet, [web], {
      ...ONE,
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
      failover: {
        cluster: { tolerationSeconds: 0 },
        statePreservation: [{ label: 'example.com/replicas-before', jsonPath: '{.readyReplicas}' }],
      },
    });
    await ready(fleet, 1);
    const [home = ''] = chosen();
    const next = home === 'a' ? 'b' : 'a';
    await fleet.rest(5_000);
    fleet.cut(home);
    const labels = (): object | undefined =>
      stored(fleet.spoke(next), 'apps/deployments/shop/web')?.metadata.labels;
    await fleet.until(() => labels() !== undefined, 'the new copy', 200_000);
    expect(labels()).toMatchObject({ 'example.com/replicas-before': '2' });
    await fleet.rest(60_000);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(labels()).toMatchObject({ 'example.com/replicas-before': '2' });
  });
});

describe('failover of an application', () => {
  it('[A50] moves a copy that has not been healthy for as long as is tolerated, and keeps it until someone gives it up', async () => {
    fleet = await simulateFleet(11, ['a', 'b'], { workloads: true });
    const web: KubeObject = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' }, annotations: {} },
          spec: { containers: [{ name: 'web', image: 'web:1' }] },
        },
      },
    };
    const sick = {
      op: 'add',
      path: '/spec/template/metadata/annotations',
      value: { 'sim.atoll.dev/fail': 'never-ready' },
    };
    await openShop(fleet, [web], {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
      placement: {
        clusterSelector: {},
        numberOfClusters: 1,
        scores: [{ type: 'Affinity', clusterNames: ['a'] }],
      },
      overrides: [{ clusterNames: ['a'], patch: [sick] }],
      failover: { application: { tolerationSeconds: 300, purge: 'Never' } },
    });
    await fleet.until(() => chosen().join() === 'a', 'placed');
    await fleet.rest(280_000);
    expect(chosen()).toEqual(['a']);
    await fleet.until(() => chosen().join() === 'b', 'moved', 60_000);
    const there = (name: string): boolean =>
      stored(fleet.spoke(name), 'apps/deployments/shop/web') !== undefined;
    await fleet.until(() => there('b'), 'the new copy');
    await fleet.rest(1_200_000);
    expect(there('a')).toBe(true);
    expect(moves()).toEqual(['a Leaving']);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { failover: { release: ['a'] } } });
    await fleet.until(() => !there('a'), 'given up');
    await fleet.rest(60_000);
    expect(chosen()).toEqual(['b']);
  });
});
