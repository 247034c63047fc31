// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  conditionOf,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  storedBelow,
} from './fleet.ts';
import {
  colour,
  crd,
  fleetGraphWords,
  graph,
  instance,
  map,
  rgd,
  rolloutOf,
  shop,
  state,
} from './graphs-fleet-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { write, remove, rows, servedOn, active, distributed } = fleetGraphWords(() => fleet);

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(7, names);
}

describe('a resource graph of the hub', () => {
  it('[R127] is served by every cluster, and an instance has its objects where it is', async () => {
    await open();
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(a, instance());
    await active(a);
    expect(colour(a)).toBe('red');
    for (const other of [fleet.hub, b])
      expect(
        storedBelow(other, 'core/configmaps/default').filter(
          ({ metadata }) => metadata.labels?.['kro.run/node-id'] !== undefined,
        ),
      ).toEqual([]);
    await distributed();
    expect(conditionMessage(rgd(fleet.hub), 'Distributed')).toBe('2 of 2 clusters are ready; revision 1');
  });

  it('[R120] reaches a cluster only once the hub serves it; one that is wrong never does', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(fleet.hub, graph('broken', { kind: 'Broken', data: { colour: '${schema.spec.nothing}' } }));
    await fleet.until(
      () => conditionOf(rgd(fleet.hub, 'broken'), 'GraphAccepted') === 'False/InvalidResourceGraph',
      'the issue',
    );
    await write(fleet.hub, graph());
    await fleet.until(() => {
      const early =
        rgd(a) !== undefined && conditionOf(crd(fleet.hub), 'Established').split('/')[0] !== 'True';
      expect(early).toBe(false);
      return rgd(a) !== undefined;
    }, 'the graph on the spoke');
    await servedOn(['a'], 1);
    await fleet.rest(60_000);
    expect(rgd(a, 'broken')).toBeUndefined();
    expect(crd(a, 'brokens.kro.run')).toBeUndefined();
    // One that was right and is edited wrongly stays as it was.
    await write(fleet.hub, graph('shop', { data: { colour: '${schema.spec.nothing}' } }));
    await fleet.until(
      () => conditionOf(rgd(fleet.hub), 'GraphAccepted') === 'False/InvalidResourceGraph',
      'the edit refused',
    );
    await fleet.rest(60_000);
    await servedOn(['a'], 1);
    await write(a, instance());
    await active(a);
    expect(colour(a)).toBe('red');
  });

  it('[R121] is served at once where a cluster is away, and there when it is back', async () => {
    await open(['a', 'b', 'c']);
    fleet.cut('c');
    await write(fleet.hub, graph());
    await fleet.until(
      () => ['a', 'b'].every((name) => conditionOf(rgd(fleet.spoke(name)), 'Ready') === 'True/Ready'),
      'two clusters',
      5_000,
    );
    expect(rgd(fleet.spoke('c'))).toBeUndefined();
    await fleet.rest(600_000);
    fleet.heal('c');
    await fleet.until(
      () => conditionOf(rgd(fleet.spoke('c')), 'Ready') === 'True/Ready',
      'the third',
      60_000,
    );
    await distributed();
  });

  it('[R122] comes to a cluster that joins late, however many there are', async () => {
    await open(['a']);
    const names = Array.from({ length: 20 }, (_, index) => `g${index}`);
    for (const name of names) await write(fleet.hub, graph(name, { kind: `Kind${name.slice(1)}` }));
    await fleet.until(
      () => names.every((name) => conditionOf(rgd(fleet.spoke('a'), name), 'Ready') === 'True/Ready'),
      'all on a',
    );
    const d = await fleet.add('d', fleet.hub);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('d')));
    await fleet.until(
      () => names.every((name) => conditionOf(rgd(d, name), 'Ready') === 'True/Ready'),
      'all on d',
    );
    for (const name of names) expect(crd(d, `kind${name.slice(1)}s.kro.run`)).toBeDefined();
  });

  it('[R123] is updated everywhere; a cluster whose kind would break refuses and is told', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    for (const spoke of [a, b]) {
      await write(spoke, instance());
      await active(spoke);
    }
    // Somebody gave the kind of b another field in the meantime; its engine is away, so that it stays.
    const definitions = await fleet.run(
      b.client.resourceFor('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
    );
    await fleet.run(b.engine?.stop() ?? Promise.resolve());
    await fleet.run(
      b.client.patch(definitions, '', 'shops.kro.run', 'json', [
        {
          op: 'add',
          path: '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/local',
          value: { type: 'string' },
        },
      ]),
    );
    await write(
      fleet.hub,
      graph('shop', { spec: { colour: 'string | default=red', size: 'integer | default=3' } }),
    );
    await servedOn(['a'], 2);
    await fleet.kill(b);
    await fleet.start(b);
    await distributed('False/Degraded');
    expect(conditionMessage(rgd(fleet.hub), 'Distributed')).toContain('b: ');
    expect(conditionMessage(rgd(fleet.hub), 'Distributed')).toContain('spec.local');
    expect(shop(a)?.['spec']).toMatchObject({ colour: 'red' });
    await write(b, instance({ colour: 'blue' }));
    await fleet.until(() => colour(b) === 'blue', 'b goes on to serve what it served');
  });

  it('[R124] stays at the hub where it says so; what is taken back goes with its last instance', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(fleet.hub, graph('shop', { labels: { 'kro.run/distribute': 'false' } }));
    await fleet.until(() => conditionOf(rgd(fleet.hub), 'Ready') === 'True/Ready', 'served at the hub');
    await fleet.rest(60_000);
    expect(rgd(a)).toBeUndefined();
    expect(crd(a)).toBeUndefined();
    expect(crd(fleet.hub)).toBeDefined();
    await distributed('False/HubOnly');
    await write(fleet.hub, graph('shop', { labels: { 'kro.run/distribute': 'true' } }));
    await servedOn(['a'], 1);
    await write(a, instance());
    await active(a);
    await write(fleet.hub, graph('shop', { labels: { 'kro.run/distribute': 'false' } }));
    await fleet.until(() => rgd(a)?.metadata.deletionTimestamp !== undefined, 'it is taken back');
    await distributed('False/TakingBack');
    // Its instance is looked after for as long as it is there.
    await write(a, instance({ colour: 'blue' }));
    await fleet.until(() => colour(a) === 'blue', 'the edit');
    await remove(a, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => rgd(a) === undefined && map(a, 'one-map') === undefined, 'all gone');
    await distributed('False/HubOnly');
    expect(crd(a)).toBeDefined();
    await write(fleet.hub, graph('shop', { labels: { 'kro.run/distribute': 'true' } }));
    await servedOn(['a'], 1);
    // Wanted again while it goes: it is there again after its last instance.
    await write(a, instance());
    await active(a);
    await write(fleet.hub, graph('shop', { labels: { 'kro.run/distribute': 'false' } }));
    await fleet.until(() => rgd(a)?.metadata.deletionTimestamp !== undefined, 'it is taken back again');
    await write(fleet.hub, graph('shop', { labels: { 'kro.run/distribute': 'true' } }));
    await fleet.rest(60_000);
    await write(a, instance({ colour: 'green' }));
    await fleet.until(() => colour(a) === 'green', 'the edit meanwhile');
    await remove(a, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => map(a, 'one-map') === undefined, 'the instance gone');
    await fleet.rest(60_000);
    await write(fleet.hub, graph('shop', { labels: { 'kro.run/distribute': 'true' } }));
    await servedOn(['a'], 1);
    await write(a, instance());
    await active(a);
  });

  it('[R125] takes no kind of others: a conflict for that cluster only', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(b, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'shops.kro.run', annotations: { 'api-approved.kubernetes.io': 'unapproved' } },
      spec: {
        group: 'kro.run',
        scope: 'Namespaced',
        names: { kind: 'Shop', plural: 'shops', singular: 'shop', listKind: 'ShopList' },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            schema: {
              openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
        ],
      },
    });
    const before = crd(b)?.['spec'];
    await write(fleet.hub, graph());
    await servedOn(['a'], 1);
    await distributed('False/Degraded');
    expect(conditionMessage(rgd(fleet.hub), 'Distributed')).toContain(
      'b: the CustomResourceDefinition shops.kro.run was not made by a resource graph',
    );
    await fleet.rest(60_000);
    expect(crd(b)?.['spec']).toEqual(before);
    await write(a, instance());
    await active(a);
  });

  it('[R126] repairs its kind on a cluster, and takes it away by policy only, after the last instance', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    const gone = { 'atoll.dev/kind-removal': 'AfterInstances' };
    await write(fleet.hub, graph('shop', { annotations: gone }));
    await write(fleet.hub, graph('stays', { kind: 'Stay' }));
    await servedOn(['a'], 1);
    await servedOn(['a'], 1, 'stays');
    const definitions = await fleet.run(
      a.client.resourceFor('apiextensions.k8s.io/v1', 'CustomResourceDefinition'),
    );
    const shape = crd(a)?.['spec'];
    await fleet.run(
      a.client.patch(definitions, '', 'shops.kro.run', 'json', [
        { op: 'remove', path: '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/colour' },
      ]),
    );
    await fleet.until(() => JSON.stringify(crd(a)?.['spec']) === JSON.stringify(shape), 'the kind repaired');
    await write(a, instance());
    await active(a);
    for (const name of ['shop', 'stays'])
      await remove(fleet.hub, 'kro.run/v1alpha1', 'ResourceGraphDefinition', name);
    await fleet.until(
      () => rgd(a, 'stays') === undefined && rgd(fleet.hub, 'stays') === undefined,
      'one gone',
    );
    await fleet.rest(60_000);
    expect(crd(a, 'stays.kro.run')).toBeDefined();
    expect(crd(a)?.metadata.deletionTimestamp).toBeUndefined();
    expect(rgd(fleet.hub)).toBeDefined();
    await write(a, instance({ colour: 'blue' }));
    await fleet.until(() => colour(a) === 'blue', 'its instance is looked after');
    await remove(a, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => rgd(a) === undefined && rgd(fleet.hub) === undefined, 'the other gone');
    expect(map(a, 'one-map')).toBeUndefined();
    expect(crd(a)).toBeUndefined();
  });

  it('[R136] waits with its removal for a cluster that is away, unless it is given up', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    fleet.cut('a');
    fleet.cut('b');
    await fleet.rest(600_000);
    await remove(fleet.hub, 'kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop');
    const owed = (): KubeObject | undefined => storedBelow(fleet.hub, 'atoll.dev/retractions/-')[0];
    const owing = (): unknown => (owed()?.['spec'] as { clusters?: string[] } | undefined)?.clusters;
    await fleet.until(() => rgd(fleet.hub) === undefined, 'the graph gone from the hub');
    await fleet.rest(600_000);
    expect(owing()).toEqual(['a', 'b']);
    expect(rgd(a)?.metadata.deletionTimestamp).toBeUndefined();
    fleet.heal('a');
    await fleet.until(() => rgd(a) === undefined && (owing() as string[]).length === 1, 'it is gone from a');
    expect(owing()).toEqual(['b']);
    await write(fleet.hub, {
      ...(owed() as KubeObject),
      metadata: { name: owed()?.metadata.name ?? '' },
      spec: { ...(owed()?.['spec'] as object), clusters: [] },
    });
    await fleet.rest(600_000);
    expect(owing()).toEqual([]);
    // Who was given up and comes back is told all the same.
    fleet.heal('b');
    await fleet.until(() => rgd(b) === undefined, 'it is gone from b');
  });

  it('[R137] tells at the hub how it is on each cluster, with its instances', async () => {
    await open(['a', 'b', 'c']);
    await write(fleet.hub, rolloutOf({}));
    await write(fleet.hub, graph());
    await servedOn(['a', 'b', 'c'], 1);
    for (const name of ['a', 'b', 'c']) await write(fleet.spoke(name), instance());
    for (const name of ['a', 'b', 'c']) await active(fleet.spoke(name));
    await fleet.until(
      () => rows().length === 3 && rows().every((row) => row['instances'] === 1),
      'the instances',
    );
    expect(rows()).toEqual(
      ['a', 'b', 'c'].map((cluster) => ({
        cluster,
        wanted: 1,
        revision: 1,
        instances: 1,
        active: 1,
        state: 'Ready',
        message: 'revision 1: 1 of 1 instances is active',
      })),
    );
    await distributed();
    // An object of somebody else is where one of a new instance on b shall be.
    const b = fleet.spoke('b');
    await write(b, instance({}, 'two', { annotations: { 'atoll.dev/graph-revision': '9' } }));
    await fleet.until(() => state(shop(b, 'two')) === 'ERROR', 'an instance that fails');
    await distributed('False/Degraded');
    expect(conditionMessage(rgd(fleet.hub), 'Distributed')).toContain('2 of 3 clusters are ready; b: ');
    expect(rows().map(({ cluster, state: word }) => `${cluster} ${word}`)).toEqual([
      'a Ready',
      'b Degraded',
      'c Ready',
    ]);
    expect(rows()[1]).toMatchObject({ instances: 2, active: 1, revision: 1 });
    expect(rows()[1]?.['message']).toContain('default/two is ERROR: there is no revision 9');
    fleet.cut('c');
    await fleet.until(() => rows()[2]?.['state'] === 'Stale', 'c is out of sight', 600_000);
    expect(rows()[2]?.['instances']).toBeUndefined();
  });

  it('[R138] is marked where a cluster lacks a kind that it is made of, and is served elsewhere', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    const widgets = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
        versions: [
          {
            name: 'v1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        ],
      },
    };
    for (const target of [fleet.hub, a]) await write(target, widgets);
    await write(fleet.hub, rolloutOf({}));
    const widget = {
      id: 'widget',
      template: {
        apiVersion: 'example.com/v1',
        kind: 'Widget',
        metadata: { name: '${schema.metadata.name}' },
        size: 3,
      },
    };
    await write(fleet.hub, graph('shop', { resources: [widget] }));
    await servedOn(['a'], 1);
    await distributed('False/Incompatible');
    expect(rows().map(({ cluster, state: word }) => `${cluster} ${word}`)).toEqual([
      'a Ready',
      'b Incompatible',
    ]);
    expect(rows()[1]?.['message']).toContain('Widget');
    expect(crd(b)).toBeUndefined();
    await write(a, instance());
    await active(a);
    // With the kind it becomes right.
    await write(b, widgets);
    await distributed();
  });
});
