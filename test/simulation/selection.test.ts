import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, customResourceDefinitions, deployments, namespaces } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const LABELLED = {
  resourceSelectors: [
    { apiVersion: 'v1', kind: 'ConfigMap', labelSelector: { matchLabels: { app: 'shop' } } },
  ],
};
const app = { app: 'shop' };

function web(name: string, image: string): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop' },
    spec: {
      selector: { matchLabels: { app: name } },
      template: { metadata: { labels: { app: name } }, spec: { containers: [{ name: 'web', image }] } },
    },
  };
}

function imageOn(name: string): string {
  const spec = stored(fleet.spoke(name), 'apps/deployments/shop/web')?.['spec'] as
    | { template: { spec: { containers: { image: string }[] } } }
    | undefined;
  return spec?.template.spec.containers[0]?.image ?? '';
}

const edit = (spec: object, name: string = 'shop'): Promise<KubeObject> =>
  merge(fleet, fleet.hub, PROPAGATIONS, 'shop', name, { spec });

describe('selecting objects', () => {
  it('follows objects that begin to match, change and cease to match', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet, [configMap('one', 'red', app), configMap('other', 'red')], LABELLED);
    await ready(fleet, 1);
    const { client } = fleet.hub;
    const a = fleet.spoke('a');
    expect([colour(a, 'one'), colour(a, 'other')]).toEqual(['red', '']);
    await fleet.run(client.create(configMaps, configMap('two', 'blue', app)));
    await fleet.until(() => colour(a, 'two') === 'blue', 'the object that was created later');
    await merge(fleet, fleet.hub, configMaps, 'shop', 'other', { metadata: { labels: app } });
    await fleet.until(
      () => colour(a, 'other') === 'red',
      'the object that was relabelled into the selection',
    );
    await merge(fleet, fleet.hub, configMaps, 'shop', 'one', { metadata: { labels: { app: 'else' } } });
    await fleet.until(() => colour(a, 'one') === '', 'the object that was relabelled out of it is gone');
    expect([colour(a, 'two'), colour(a, 'other')]).toEqual(['blue', 'red']);
    await fleet.run(client.delete(configMaps, 'shop', 'two'));
    await fleet.until(() => colour(a, 'two') === '', 'the deleted object is gone');
    expect(colour(a, 'other')).toBe('red');
  });

  it('says so where nothing matches', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet, [], LABELLED);
    await fleet.until(
      () => conditionOf(shop(fleet), 'Selected') === 'False/NothingSelected',
      'the condition',
    );
    expect(conditionMessage(shop(fleet), 'Selected')).toContain('resourceSelectors[0]');
  });

  it('waits for an unknown kind, changes nothing meanwhile, and goes on when its definition comes', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    await edit({ resourceSelectors: [{ apiVersion: 'example.com/v1', kind: 'Widget' }] });
    await fleet.until(() => conditionOf(shop(fleet), 'Selected') === 'False/KindNotServed', 'the condition');
    await fleet.rest(2_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    await fleet.run(fleet.hub.client.create(customResourceDefinitions, definition));
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop' },
    };
    await fleet.rest(1_000);
    const resource = await fleet.run(fleet.hub.client.resourceFor('example.com/v1', 'Widget'));
    await fleet.run(fleet.hub.client.create(resource, widget));
    // The spoke does not serve the kind either: that is told, and heals when it does.
    await fleet.until(
      () =>
        dispatchesOn(fleet.spoke('a')).some((item) => conditionOf(item, 'Applied') === 'False/ApplyFailed'),
      'the failure on the spoke',
    );
    await fleet.run(fleet.spoke('a').client.create(customResourceDefinitions, definition));
    await fleet.until(
      () =>
        stored(fleet.spoke('a'), 'example.com/widgets/shop/w') !== undefined &&
        colour(fleet.spoke('a')) === '',
      'the widget on the spoke',
    );
    await ready(fleet, 1);
  });

  it('holds a change that would take away more than the deletion budget', async () => {
    fleet = await simulateFleet(3, ['a']);
    const names = ['one', 'two', 'three', 'four'];
    await openShop(
      fleet,
      names.map((name) => configMap(name, 'red', app)),
      LABELLED,
    );
    await ready(fleet, 1);
    const a = fleet.spoke('a');
    await edit({ resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'one' }] });
    await fleet.until(() => conditionOf(shop(fleet), 'Dispatched') === 'False/NotDispatched', 'the hold');
    expect(conditionMessage(shop(fleet), 'Dispatched')).toMatch(/remove 3 of 4 objects.*deletionBudget 50%/);
    expect(names.map((name) => colour(a, name))).toEqual(['red', 'red', 'red', 'red']);
    await edit({ deletionBudget: 3 });
    await fleet.until(
      () => colour(a, 'two') === '' && colour(a, 'four') === '',
      'the change after the raise',
    );
    expect(colour(a, 'one')).toBe('red');
    await ready(fleet, 1);
  });

  it('does not count objects that are deleted at the hub, also while their finalizers run there', async () => {
    fleet = await simulateFleet(3, ['a']);
    const guarded = (name: string): KubeObject => {
      const map = configMap(name, 'red', app);
      return { ...map, metadata: { ...map.metadata, finalizers: ['example.com/guard'] } };
    };
    await openShop(fleet, ['one', 'two', 'three'].map(guarded), { ...LABELLED, deletionBudget: 0 });
    await ready(fleet, 1);
    for (const name of ['one', 'two']) await fleet.run(fleet.hub.client.delete(configMaps, 'shop', name));
    await fleet.until(
      () => colour(fleet.spoke('a'), 'one') === '' && colour(fleet.spoke('a'), 'two') === '',
      'both gone',
    );
    expect(colour(fleet.spoke('a'), 'three')).toBe('red');
  });

  it('holds everything back while suspended, over a restart of the hub too', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    await edit({ suspend: true });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(2_000);
    expect(conditionOf(shop(fleet), 'Dispatched')).toBe('False/Suspended');
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(5_000);
    // Someone deletes the order on the spoke: what was ordered last may come back, nothing newer.
    const { name = '' } = dispatchesOn(fleet.spoke('a'))[0]?.metadata ?? {};
    const { client } = fleet.spoke('a');
    await fleet.run(
      client.delete(
        await fleet.run(client.resourceFor('atoll.dev/v1alpha1', 'Dispatch')),
        'atoll-system',
        name,
      ),
    );
    await fleet.rest(5_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await edit({ suspend: false });
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the change after the suspension');
    await ready(fleet, 1);
  });

  it('stops what is on its way when it is suspended: who was away is not given it when it comes back', async () => {
    fleet = await simulateFleet(3, ['a', 'b']);
    await openShop(fleet);
    await ready(fleet, 2);
    fleet.cut('b');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the change where it can be brought');
    await edit({ suspend: true });
    await fleet.rest(5_000);
    fleet.heal('b');
    await fleet.rest(90_000);
    expect(colour(fleet.spoke('b'))).toBe('red');
    expect(conditionOf(shop(fleet), 'Dispatched')).toBe('False/Suspended');
    // What is there is kept up all the same.
    await paint(fleet, fleet.spoke('b'), 'green');
    await fleet.until(() => colour(fleet.spoke('b')) === 'red', 'the correction');
    await edit({ suspend: false });
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'the change after the suspension');
    await ready(fleet, 2);
  });

  it('begins suspended and dispatches the first content when it is resumed', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet, [configMap('settings', 'red')], { suspend: true });
    await fleet.rest(5_000);
    expect(dispatchesOn(fleet.spoke('a'))).toEqual([]);
    await edit({ suspend: false });
    await ready(fleet, 1);
    expect(colour(fleet.spoke('a'))).toBe('red');
    expect(shopStatus(fleet)['dispatchGeneration']).toBe(1);
  });
});

describe('choosing clusters', () => {
  const placed = { placement: { clusterSelector: { matchLabels: { tier: 'edge' } } } };
  const relabel = (name: string, tier: string | null): Promise<KubeObject> =>
    merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels: { tier } } });

  it('[K21] follows the labels of clusters without a restart', async () => {
    fleet = await simulateFleet(3, ['a', 'b']);
    await openShop(fleet, [configMap('settings', 'red')], placed);
    await fleet.until(() => conditionOf(shop(fleet), 'Placed') === 'False/NoCluster', 'no cluster chosen');
    await relabel('a', 'edge');
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'on the cluster that was labelled');
    await relabel('b', 'edge');
    await relabel('a', null);
    await fleet.until(() => colour(fleet.spoke('b')) === 'red' && colour(fleet.spoke('a')) === '', 'moved');
    await fleet.until(() => dispatchesOn(fleet.spoke('a')).length === 0, 'no order left');
    await ready(fleet, 1);
    for (const tier of ['edge', null, 'edge', null, 'edge']) await relabel('a', tier);
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'back after some changes of mind');
    await ready(fleet, 2);
  });

  it('places a cluster that joins later, and leaves alone one that is taken out of the inventory', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    const late = await fleet.add('late', fleet.hub);
    await fleet.run(
      fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('late', {}, { deletionPolicy: 'orphan' })),
    );
    await fleet.until(() => colour(late) === 'red', 'on the new cluster');
    await fleet.run(fleet.hub.client.delete(SPOKE_CLUSTERS, 'default', 'late'));
    await fleet.rest(5_000);
    const before = everything(late);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(60_000);
    expect(everything(late)).toEqual(before);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('late')));
    await fleet.until(() => colour(late) === 'blue', 'the newest after it came back');
    await ready(fleet, 2);
  });
});

describe('overrides', () => {
  it('change images and fields on some clusters', async () => {
    fleet = await simulateFleet(3, ['a', 'b']);
    await openShop(fleet, [web('web', 'registry.example:5000/team/web:1.2')], {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
      overrides: [
        { clusterNames: ['b'], images: [{ name: 'registry.example:5000/team/web', newTag: '2.0' }] },
        { clusterNames: ['b'], patch: [{ op: 'add', path: '/spec/replicas', value: 5 }] },
      ],
    });
    await fleet.until(() => imageOn('a') !== '' && imageOn('b') !== '', 'both');
    expect([imageOn('a'), imageOn('b')]).toEqual([
      'registry.example:5000/team/web:1.2',
      'registry.example:5000/team/web:2.0',
    ]);
    expect(stored(fleet.spoke('b'), 'apps/deployments/shop/web')?.['spec']).toMatchObject({ replicas: 5 });
    await edit({ overrides: [] });
    await fleet.until(() => imageOn('b').endsWith(':1.2'), 'the override taken back');
  });

  it('that point nowhere leave their cluster as it is, are told, and hold up no other', async () => {
    fleet = await simulateFleet(3, ['a', 'b']);
    await openShop(fleet);
    await ready(fleet, 2);
    await edit({
      overrides: [{ clusterNames: ['a'], patch: [{ op: 'replace', path: '/data/nothing', value: 'x' }] }],
    });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'the other cluster');
    await fleet.until(
      () => conditionOf(shop(fleet), 'OverridesApplied') === 'False/OverrideFailed',
      'the condition',
    );
    expect(conditionMessage(shop(fleet), 'OverridesApplied')).toMatch(/overrides\[0\].*\(on a\)/);
    expect(shopStatus(fleet)['notReady']).toMatchObject([
      { cluster: 'a', state: 'Degraded', reason: 'NotDispatched' },
    ]);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await edit({ overrides: [] });
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the cluster after the repair');
    await ready(fleet, 2);
  });
});

describe('objects that are not ours alone', () => {
  it('are not overwritten, until their source says to adopt them', async () => {
    fleet = await simulateFleet(3, ['a']);
    const a = fleet.spoke('a');
    await fleet.run(
      a.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    await fleet.run(a.client.create(configMaps, configMap('settings', 'foreign')));
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await fleet.until(() => colour(a, 'prices') === 'gold', 'the other object');
    await fleet.until(() => conditionOf(shop(fleet), 'Ready') === 'False/ApplyFailed', 'the failure');
    expect(conditionMessage(shop(fleet), 'Ready')).toContain('was not made by Atoll');
    expect(dispatchesOn(a)[0]?.['status']).toMatchObject({ objects: [{ reason: 'AlreadyExists' }] });
    await fleet.rest(60_000);
    expect(colour(a)).toBe('foreign');
    await merge(fleet, fleet.hub, configMaps, 'shop', 'settings', {
      metadata: { annotations: { 'atoll.dev/adopt': 'true' } },
    });
    await fleet.until(() => colour(a) === 'red', 'the adopted object');
    await ready(fleet, 1);
  });

  it('that were never ours are not deleted with their Propagation', async () => {
    fleet = await simulateFleet(3, ['a']);
    const a = fleet.spoke('a');
    await fleet.run(
      a.client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } }),
    );
    await fleet.run(a.client.create(configMaps, configMap('settings', 'foreign')));
    await openShop(fleet);
    await fleet.until(() => conditionOf(shop(fleet), 'Ready') === 'False/ApplyFailed', 'the failure');
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(
      () => shop(fleet) === undefined && dispatchesOn(a).length === 0,
      'the Propagation gone',
    );
    expect(colour(a)).toBe('foreign');
  });

  it('belong to the first of two propagations, also after a restart, and pass to the second when it goes', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    // Its dispatch sorts before the first one's, so that a restart reads it first.
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('a-second')));
    await fleet.until(
      () => conditionOf(shop(fleet, 'a-second'), 'Selected') === 'False/ClaimedByAnother',
      'the claim',
    );
    expect(conditionMessage(shop(fleet, 'a-second'), 'Selected')).toContain(
      'Propagation shop/shop has it already',
    );
    const uid = stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.uid;
    await fleet.kill(fleet.spoke('a'));
    await fleet.start(fleet.spoke('a'));
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the first one still keeps it');
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'and corrects it', 5_000);
    expect(stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.uid).toBe(uid);
    await fleet.run(fleet.hub.client.delete(PROPAGATIONS, 'shop', 'shop'));
    await fleet.until(() => shop(fleet) === undefined, 'the first one gone');
    await ready(fleet, 1, 'a-second');
    expect(stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.uid).toBe(uid);
    expect(colour(fleet.spoke('a'))).toBe('blue');
    await paint(fleet, fleet.spoke('a'), 'green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the second one corrects it', 5_000);
  });

  it('with a finalizer are waited for when they are pruned', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('prices', 'gold')]);
    await ready(fleet, 1);
    const a = fleet.spoke('a');
    await merge(fleet, a, configMaps, 'shop', 'prices', { metadata: { finalizers: ['example.com/guard'] } });
    await fleet.run(fleet.hub.client.delete(configMaps, 'shop', 'prices'));
    await fleet.until(
      () =>
        JSON.stringify(dispatchesOn(a)[0]?.['status']).includes(
          'waits for its finalizers: example.com/guard',
        ),
      'the wait told',
    );
    await fleet.rest(60_000);
    expect(colour(a, 'prices')).toBe('gold');
    await merge(fleet, a, configMaps, 'shop', 'prices', { metadata: { finalizers: null } });
    await fleet.until(() => colour(a, 'prices') === '', 'gone');
    await ready(fleet, 1);
  });

  it('that others keep writing are corrected ever more slowly and reported, until the fight is over', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    const a = fleet.spoke('a');
    let fighting = true;
    let writes = 0;
    const fight = async (): Promise<void> => {
      for await (const event of a.client.watch(configMaps, 'shop', {
        resourceVersion: String(a.server.store.revision),
      })) {
        const data = (event.object as { data?: { colour?: string } }).data;
        if (!fighting) return;
        if (data?.colour !== 'red') continue;
        writes += 1;
        await a.client.patch(configMaps, 'shop', 'settings', 'merge', { data: { colour: 'green' } });
      }
    };
    void fight();
    await fleet.rest(10);
    await paint(fleet, a, 'green');
    await fleet.rest(300_000);
    // Ten in the first minute at the most, then one or two.
    expect(writes).toBeGreaterThan(5);
    expect(writes).toBeLessThan(50);
    expect(conditionOf(shop(fleet), 'Ready')).toBe('False/Contested');
    fighting = false;
    await fleet.rest(200_000);
    expect(conditionOf(shop(fleet), 'Ready')).toBe('True/Ready');
    expect(colour(a)).toBe('red');
  });

  it('are not counted as fought over where others change fields that nobody propagates', async () => {
    fleet = await simulateFleet(3, ['a']);
    await openShop(fleet, [web('web', 'web:1')], {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
    });
    await fleet.until(() => imageOn('a') !== '', 'the deployment');
    const a = fleet.spoke('a');
    await fleet.rest(1_000);
    for (let i = 0; i < 20; i++) {
      await merge(fleet, a, deployments, 'shop', 'web', {
        metadata: { annotations: { 'example.com/seen': String(i) } },
      });
      await fleet.rest(500);
    }
    expect(stored(a, 'core.oam.dev/clusters/atoll-system/a')?.['status']).toMatchObject({
      drift: { corrections: 0 },
    });
    expect(stored(a, 'apps/deployments/shop/web')?.metadata.annotations).toMatchObject({
      'example.com/seen': '19',
    });
  });
});
