import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { deployments } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { merge, openShop, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const web: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 9,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    },
  },
};
const DEPLOYMENTS = { apiVersion: 'apps/v1', kind: 'Deployment' };

/** Replicas on each spoke, by name; absent where there is no Deployment. */
function replicas(): Record<string, number> {
  const out: Record<string, number> = {};
  for (const spoke of fleet.spokes) {
    const found = stored(spoke, 'apps/deployments/shop/web')?.['spec'] as { replicas: number } | undefined;
    if (found) out[spoke.name] = found.replicas;
  }
  return out;
}

async function open(names: string[], spec: object, regions: Record<string, string> = {}): Promise<void> {
  fleet = await simulateFleet(31, names);
  for (const [name, region] of Object.entries(regions))
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels: { region } } });
  await openShop(fleet, [web], { resourceSelectors: [DEPLOYMENTS], ...spec });
}

describe('placing by more than names and labels', () => {
  it('spreads over a label, and keeps what is placed when a cluster comes that would fit as well', async () => {
    const regions = { a: 'eu', b: 'eu', c: 'us', d: 'us' };
    const spread = [{ label: 'region', minGroups: 2, maxGroups: 2 }];
    await open(
      ['a', 'b', 'c', 'd'],
      { placement: { clusterSelector: {}, spread, numberOfClusters: 2 } },
      regions,
    );
    await fleet.until(() => Object.keys(replicas()).length === 2, 'two clusters');
    const first = Object.keys(replicas());
    expect(new Set(first.map((name) => regions[name as 'a']))).toEqual(new Set(['eu', 'us']));
    const late = await fleet.add('aa', fleet.hub);
    await fleet.run(
      fleet.hub.client.create(SPOKE_CLUSTERS, {
        apiVersion: 'core.oam.dev/v1beta1',
        kind: 'SpokeCluster',
        metadata: { name: 'aa', namespace: 'default', labels: { region: 'eu' } },
        spec: { credential: { type: 'tunnel', tunnel: {} } },
      }),
    );
    await fleet.rest(30_000);
    expect(Object.keys(replicas())).toEqual(first);
    expect(stored(late, 'apps/deployments/shop/web')).toBeUndefined();
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(30_000);
    expect(Object.keys(replicas())).toEqual(first);
  });

  it('keeps away from a tainted cluster, and leaves one that no toleration covers', async () => {
    await open(['a', 'b'], { placement: { clusterSelector: {} } });
    await fleet.until(() => Object.keys(replicas()).length === 2, 'both clusters');
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'b', {
      spec: { taints: [{ key: 'maintenance', effect: 'NoSelect' }] },
    });
    await fleet.until(() => Object.keys(replicas()).join() === 'a', 'gone from b');
    expect(shopStatus(fleet)).toMatchObject({ clusters: 1, decision: { chosen: ['a'] } });
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { tolerations: [{ key: 'maintenance', operator: 'Exists' }] } },
    });
    await fleet.until(() => Object.keys(replicas()).length === 2, 'tolerated');
  });

  it('[A14] places nothing new on a cordoned cluster, and keeps what is there', async () => {
    await open(['a', 'b'], { placement: { clusterSelector: { matchLabels: { site: 'a' } } } });
    await fleet.until(() => Object.keys(replicas()).join() === 'a', 'on a');
    for (const name of ['a', 'b'])
      await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { spec: { unschedulable: true } });
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { clusterSelector: { matchLabels: { site: null } } } },
    });
    await fleet.rest(20_000);
    expect(Object.keys(replicas())).toEqual(['a']);
  });

  it('leaves a spoke that is away for long where it is placed, and everything on it', async () => {
    await open(['a', 'b'], { placement: { clusterSelector: {} } });
    await fleet.until(() => Object.keys(replicas()).length === 2, 'both clusters');
    const uid = stored(fleet.spoke('b'), 'apps/deployments/shop/web')?.metadata.uid;
    fleet.cut('b');
    await fleet.rest(600_000);
    expect(shopStatus(fleet)).toMatchObject({ clusters: 2, decision: { chosen: ['a', 'b'] } });
    fleet.heal('b');
    await fleet.rest(60_000);
    expect(stored(fleet.spoke('b'), 'apps/deployments/shop/web')?.metadata.uid).toBe(uid);
    expect(shopStatus(fleet)).toMatchObject({ clusters: 2, ready: 0, stale: 0 });
  });

  it('says what it cannot have, and takes nothing away for it', async () => {
    await open(['a', 'b'], { placement: { clusterSelector: {} } });
    await fleet.until(() => Object.keys(replicas()).length === 2, 'both clusters');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: { placement: { spread: [{ label: 'site', minGroups: 3 }] } },
    });
    await fleet.until(() => conditionOf(shop(fleet), 'Placed').startsWith('False/'), 'the shortage told');
    expect(conditionMessage(shop(fleet), 'Placed')).not.toBe('');
    await fleet.rest(10_000);
    expect(Object.keys(replicas())).toHaveLength(2);
  });
});

describe('dividing replicas', () => {
  it('gives each cluster its share, by weight and limits', async () => {
    const preferences = [
      { clusterNames: ['a'], weight: 2, maxReplicas: 4 },
      { clusterNames: ['b'], minReplicas: 1 },
      { weight: 1 },
    ];
    await open(['a', 'b', 'c'], { placement: { clusterSelector: {} }, replicas: { preferences } });
    await fleet.until(() => Object.keys(replicas()).length === 3, 'all clusters');
    const shares = replicas();
    expect(Object.values(shares).reduce((sum, value) => sum + value, 0)).toBe(9);
    expect(shares['a']).toBe(4);
    await fleet.until(() => shopStatus(fleet)['replicas'] !== undefined, 'the shares told');
  });

  it('takes none away when there is one more, and lets an override have the last word', async () => {
    await open(['a', 'b', 'c'], { placement: { clusterSelector: {} }, replicas: {} });
    await fleet.until(() => Object.keys(replicas()).length === 3, 'all clusters');
    expect(replicas()).toEqual({ a: 3, b: 3, c: 3 });
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', { spec: { replicas: 10 } });
    await fleet.until(() => Object.values(replicas()).reduce((sum, value) => sum + value, 0) === 10, 'ten');
    for (const share of Object.values(replicas())) expect(share).toBeGreaterThanOrEqual(3);
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: {
        overrides: [{ clusterNames: ['b'], patch: [{ op: 'replace', path: '/spec/replicas', value: 7 }] }],
      },
    });
    await fleet.until(() => replicas()['b'] === 7, 'the override');
  });
});
