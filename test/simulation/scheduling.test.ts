import { afterEach, describe, expect, it } from 'vitest';
import type { ClusterFacts, Intent } from '../../src/engine/intent.ts';
import { pods } from '../../src/kube/well-known.ts';
import { PROPAGATIONS, type SimulatedFleet, simulateFleet, storedBelow } from './fleet.ts';
import { colour, configMap, merge, openShop, propagation, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const chosen = (): readonly string[] =>
  (shopStatus(fleet)['decision'] as { chosen?: readonly string[] } | undefined)?.chosen ?? [];

describe('the queue of what is to be planned', () => {
  it('[A27] plans what has a higher priority first, however much waits', async () => {
    fleet = await simulateFleet(91, ['a'], { engineLatencyMs: 5 });
    await openShop(fleet, [configMap('settings', 'red')], null);
    await fleet.kill('hub');
    await fleet.start('hub');
    const selector = { resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' }] };
    const names = Array.from({ length: 30 }, (_, index) => `low-${index + 10}`);
    const create = (name: string, spec: object): Promise<unknown> =>
      fleet.hub.client.create(PROPAGATIONS, propagation(name, { ...selector, ...spec }));
    await fleet.run(
      Promise.all([
        ...names.map((name) => create(name, {})),
        create('urgent', { schedulePriority: 1_000_000 }),
        create('zealous', { schedulePriority: 10 }),
      ]),
    );
    // The first that the engine writes of an intent that it plans is the finalizer.
    const planned = (): string[] =>
      fleet.hub.audit
        .filter(
          ({ verb, objectRef, user }) =>
            verb === 'patch' &&
            user.username === 'atoll:engine' &&
            objectRef?.resource === 'propagations' &&
            objectRef.subresource === undefined,
        )
        .map(({ objectRef }) => objectRef?.name ?? '');
    await fleet.until(() => planned().length >= 32, 'all planned');
    // Four are planned at a time, and those that were begun end.
    expect(planned().indexOf('urgent')).toBeLessThan(8);
    expect(planned().indexOf('zealous')).toBeLessThan(8);
  });
});

describe('schedulers', () => {
  it('[A30] asks rules that are registered with the hub, and survives one that fails', async () => {
    const asked: string[] = [];
    fleet = await simulateFleet(92, ['a', 'b', 'c'], {
      schedulerPlugins: [
        {
          name: 'licences',
          filter: (cluster: ClusterFacts, intent: Intent, placed: boolean) => {
            asked.push(`${intent.source.name} ${cluster.name} ${placed}`);
            return cluster.name === 'b' ? 'has no licence' : undefined;
          },
        },
        { name: 'green', weight: 3, score: ({ name }: ClusterFacts) => (name === 'c' ? 100 : 0) },
        {
          name: 'broken',
          filter(cluster: ClusterFacts): undefined {
            if (cluster.name === 'a') throw new Error('out of order');
          },
        },
      ],
    });
    await openShop(fleet, undefined, { placement: { clusterSelector: {}, numberOfClusters: 1 } });
    await ready(fleet, 1);
    expect(chosen()).toEqual(['c']);
    expect(asked).toContain('shop b false');
    expect(JSON.stringify(shopStatus(fleet)['decision'])).toContain('has no licence');
    expect(JSON.stringify(shopStatus(fleet)['decision'])).toContain('it failed: out of order');
  });

  it('[A30] leaves alone what names another scheduler, and carries out what that one says', async () => {
    fleet = await simulateFleet(93, ['a', 'b']);
    await openShop(fleet, undefined, { placement: { clusterSelector: {}, schedulerName: 'theirs' } });
    await fleet.rest(60_000);
    expect(chosen()).toEqual([]);
    expect(fleet.spokes.map((spoke) => colour(spoke))).toEqual(['', '']);
    const says = (schedulerName: string, clusterNames: string[]): Promise<unknown> =>
      fleet.run(
        fleet.hub.client.patch(
          PROPAGATIONS,
          'shop',
          'shop',
          'merge',
          { status: { scheduled: { schedulerName, clusterNames } } },
          { subresource: 'status' },
        ),
      );
    await says('somebody-else', ['a']);
    await fleet.rest(30_000);
    expect(chosen()).toEqual([]);
    await says('theirs', ['b']);
    await ready(fleet, 1);
    expect(fleet.spokes.map((spoke) => colour(spoke))).toEqual(['', 'red']);
    await says('theirs', ['a']);
    await fleet.until(() => colour(fleet.spoke('a')) === 'red' && colour(fleet.spoke('b')) === '', 'moved');
    // It stays where it is, also over a restart, until it is asked to be placed by the hub again.
    await fleet.kill('hub');
    await fleet.start('hub');
    await fleet.rest(30_000);
    expect(fleet.spokes.map((spoke) => colour(spoke))).toEqual(['red', '']);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { schedulerName: null } },
    });
    await ready(fleet, 2);
  });
});

describe('a hub', () => {
  it('[A1] makes no pods of a workload that is applied to it, and sends it where a policy says', async () => {
    fleet = await simulateFleet(94, ['a', 'b'], { workloads: true });
    const web = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        replicas: 2,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'web', image: 'web:1' }] },
        },
      },
    };
    await openShop(fleet, [web], null);
    await fleet.rest(60_000);
    const podsOf = (name: string): number => storedBelow(fleet.spoke(name), 'core/pods/shop').length;
    expect([podsOf('a'), podsOf('b')]).toEqual([0, 0]);
    await fleet.run(
      fleet.hub.client.create(
        PROPAGATIONS,
        propagation('shop', {
          resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
          placement: { clusterNames: ['a'] },
        }),
      ),
    );
    await ready(fleet, 1);
    expect([podsOf('a'), podsOf('b')]).toEqual([2, 0]);
    const { items } = await fleet.run(fleet.hub.client.list(pods, ''));
    expect(items).toEqual([]);
  });
});
