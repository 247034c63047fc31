import { afterEach, describe, expect, it } from 'vitest';
import type { Dispatch } from '../../src/engine/dispatch/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const deployment: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'shop/web:1' }] },
    },
  },
};
const SELECT = {
  resourceSelectors: [
    { apiVersion: 'v1', kind: 'ConfigMap' },
    { apiVersion: 'apps/v1', kind: 'Deployment' },
  ],
};

const patch = (name: string, patches: readonly object[] | null): Promise<KubeObject> =>
  merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { spec: { patches } });
const entry = (name: string): KubeObject | undefined =>
  stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`);
const word = (name: string): string => conditionOf(entry(name), 'PatchesApplied');
const message = (name: string): string => conditionMessage(entry(name), 'PatchesApplied');
const replicasOn = (name: string): unknown =>
  (stored(fleet.spoke(name), 'apps/deployments/shop/web')?.['spec'] as { replicas?: number } | undefined)
    ?.replicas;
const order = (name: string): Dispatch => dispatchesOn(fleet.spoke(name))[0] as Dispatch;
const replicas = (count: number) => ({
  plane: 'shop/shop',
  component: 'Deployment/web',
  properties: { spec: { replicas: count } },
});

async function open(seed: number, names: readonly string[], spec: object = {}): Promise<void> {
  fleet = await simulateFleet(seed, names, { workloads: true });
  await openShop(fleet, [configMap('settings', 'red'), deployment], { ...SELECT, ...spec });
  await ready(fleet, names.length);
}

describe('patches of a cluster', () => {
  it('[K34] travel with the dispatch: the number of replicas is another one on that spoke only', async () => {
    await open(201, ['a', 'b', 'c']);
    await fleet.rest(3_000);
    const others = ['a', 'c'].map((name) => everything(fleet.spoke(name)));
    await patch('b', [replicas(5)]);
    await fleet.until(() => replicasOn('b') === 5, 'the replicas of b');
    await ready(fleet, 3);
    await fleet.until(() => word('b') === 'True/PatchesApplied', 'the condition');
    await fleet.rest(5_000);
    expect([replicasOn('a'), replicasOn('c')]).toEqual([2, 2]);
    // Nothing at all was written on the others.
    expect(['a', 'c'].map((name) => everything(fleet.spoke(name)))).toEqual(others);
    expect(order('b').spec.patches).toMatchObject([
      {
        name: 'SpokeCluster default/b patches[0]',
        operations: [{ op: 'add', path: '/spec/replicas', value: 5 }],
      },
    ]);
    expect(word('a')).toBe('');

    // The hub that starts again writes nothing, and the spoke keeps it up alone.
    const before = fleet.spokes.map(everything);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await ready(fleet, 3);
    await fleet.rest(60_000);
    expect(fleet.spokes.map(everything)).toEqual(before);

    // Everybody follows the next change of the content, each from where it is.
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => fleet.spokes.every((spoke) => colour(spoke) === 'blue'), 'the change everywhere');
    await ready(fleet, 3);
    expect(replicasOn('b')).toBe(5);
    expect(new Set(['a', 'b', 'c'].map((name) => order(name).spec.position.generation)).size).toBe(1);

    await patch('b', null);
    await fleet.until(() => replicasOn('b') === 2, 'as before');
    await ready(fleet, 3);
    await fleet.until(() => word('b') === '', 'no condition without patches');
  });

  it('have the last word, over overrides of the intent, deep in maps and whole in lists', async () => {
    await open(202, ['a'], {
      overrides: [
        {
          patch: [
            { op: 'add', path: '/data/list', value: 'x' },
            { op: 'replace', path: '/data/colour', value: 'black' },
          ],
          target: { kind: 'ConfigMap' },
        },
      ],
    });
    await patch('a', [
      { plane: 'Propagation/shop/shop', component: 'settings', properties: { data: { colour: 'gold' } } },
      {
        plane: 'shop/shop',
        component: 'Deployment/shop/web',
        properties: {
          spec: { template: { spec: { containers: [{ name: 'other', image: 'shop/other:1' }] } } },
        },
      },
    ]);
    await fleet.until(() => colour(fleet.spoke('a')) === 'gold', 'the colour of the cluster');
    const settings = stored(fleet.spoke('a'), 'core/configmaps/shop/settings');
    expect(settings?.['data']).toEqual({ colour: 'gold', list: 'x' });
    const spec = JSON.stringify(stored(fleet.spoke('a'), 'apps/deployments/shop/web')?.['spec']);
    expect(spec).toContain('shop/other:1');
    expect(spec).not.toContain('shop/web:1');
  });

  it('that name nothing, or do not fit, are told with what to do, and nothing else is lost', async () => {
    await open(203, ['a', 'b']);
    await patch('a', [{ ...replicas(3), plane: 'shop' }]);
    await fleet.until(() => word('a') === 'False/UnknownPlane', 'an unknown plane');
    expect(message('a')).toContain(
      'patches[0]: plane shop: there is no such intent in namespace default; there is Propagation/shop/shop',
    );
    expect(message('a')).toContain('kubectl -n default edit spokecluster a');

    await patch('a', [{ ...replicas(3), component: 'cart' }, replicas(4)]);
    await fleet.until(() => word('a') === 'False/UnknownComponent', 'an unknown component');
    expect(message('a')).toContain('component cart: Propagation shop/shop has no such object; it has ');
    await fleet.until(() => replicasOn('a') === 4, 'the other patch holds');

    await patch('a', [replicas(6), { ...replicas(6), properties: { metadata: { name: 'x' } } }]);
    await fleet.until(() => word('a') === 'False/PatchRefused', 'a forbidden field');
    expect(message('a')).toContain('may not change metadata.name. The cluster keeps what it has of it');
    await paint(fleet, fleet.hub, 'green');
    await fleet.until(() => colour(fleet.spoke('b')) === 'green', 'others go on');
    await fleet.rest(5_000);
    expect([colour(fleet.spoke('a')), replicasOn('a')]).toEqual(['red', 4]);

    await patch('a', [replicas(6)]);
    await fleet.until(() => replicasOn('a') === 6 && colour(fleet.spoke('a')) === 'green', 'put right');
    await fleet.until(() => word('a') === 'True/PatchesApplied', 'told');
    // An intent that comes later is found.
    await patch('a', [{ plane: 'later', component: 'settings', properties: { data: { colour: 'gold' } } }]);
    await fleet.until(() => word('a') === 'False/UnknownPlane', 'not there yet');
    await fleet.run(
      fleet.hub.client.create(PROPAGATIONS, {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'Propagation',
        metadata: { name: 'later', namespace: 'default' },
        spec: {
          resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'settings' }],
          placement: { clusterNames: ['a'] },
        },
      }),
    );
    await fleet.until(() => word('a') === 'False/UnknownComponent', 'it is there');
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec: { suspend: true } });
    expect(shopStatus(fleet)['clusters']).toBe(2);
    expect(conditionOf(shop(fleet), 'OverridesApplied')).toBe('True/OverridesApplied');
  });

  it('hold for every content that a rollout brings, and for the one that it goes back to', async () => {
    await open(204, ['a', 'b'], { rollout: { stages: [{ name: 'first', clusterNames: ['a'] }] } });
    await patch('b', [replicas(5)]);
    await fleet.until(() => replicasOn('b') === 5, 'the replicas of b');
    await fleet.until(() => word('b') === 'True/PatchesApplied', 'told');
    const before = dispatchesOn(fleet.spoke('a'))[0]?.metadata.resourceVersion;
    await fleet.rest(5_000);
    expect(dispatchesOn(fleet.spoke('a'))[0]?.metadata.resourceVersion).toBe(before);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => fleet.spokes.every((spoke) => colour(spoke) === 'blue'), 'the change everywhere');
    await fleet.rest(5_000);
    expect([replicasOn('a'), replicasOn('b')]).toEqual([2, 5]);
  });

  it('that two people change while the hub dies end as they were said last', async () => {
    await open(205, ['a', 'b']);
    for (const count of [3, 4, 5]) await patch('a', [replicas(count)]);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await patch('b', [replicas(7)]);
    await fleet.until(() => replicasOn('a') === 5 && replicasOn('b') === 7, 'the last words');
    fleet.cut('a');
    await patch('a', [replicas(6)]);
    await fleet.rest(30_000);
    expect(replicasOn('a')).toBe(5);
    fleet.heal('a');
    await fleet.until(() => replicasOn('a') === 6, 'what was missed');
    await ready(fleet, 2);
  });
});
