// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import { SYSTEM_NAMESPACE } from '../../src/engine/dispatch/index.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';
import {
  conditionMessage,
  conditionOf,
  everything,
  removeFrom,
  type SimulatedCluster,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
  writesBy,
  writeTo,
} from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());

const write = (target: SimulatedCluster, object: KubeObject): Promise<KubeObject> =>
  writeTo(fleet, target, object);
const remove = (target: SimulatedCluster, apiVersion: string, kind: string, name: string): Promise<void> =>
  removeFrom(fleet, target, apiVersion, kind, name);

const rgd = (target: SimulatedCluster, name = 'shop'): KubeObject | undefined =>
  stored(target, `kro.run/resourcegraphdefinitions/-/${name}`);
const crd = (target: SimulatedCluster, name = 'shops.kro.run'): KubeObject | undefined =>
  stored(target, `apiextensions.k8s.io/customresourcedefinitions/-/${name}`);
const shop = (target: SimulatedCluster, name = 'one'): KubeObject | undefined =>
  stored(target, `kro.run/shops/default/${name}`);
const map = (target: SimulatedCluster, name: string): KubeObject | undefined =>
  stored(target, `core/configmaps/default/${name}`);
const rollout = (): KubeObject | undefined => stored(fleet.hub, 'atoll.dev/rgdrollouts/-/shop');
const state = (object: KubeObject | undefined): string =>
  ((object?.['status'] ?? {}) as { state?: string }).state ?? '';
const colour = (target: SimulatedCluster, name = 'one-map'): string | undefined =>
  (map(target, name)?.['data'] as Record<string, string> | undefined)?.['colour'];
const revisionOn = (target: SimulatedCluster): string | undefined =>
  rgd(target)?.metadata.annotations?.['atoll.dev/distributed-revision'];
const rows = (): Record<string, unknown>[] =>
  ((rollout()?.['status'] ?? {}) as { clusters?: Record<string, unknown>[] }).clusters ?? [];

interface Shape {
  readonly spec?: object;
  readonly data?: object;
  /** Of the config map. */
  readonly called?: string;
  readonly kind?: string;
  readonly labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  readonly resources?: readonly object[];
}

/** A graph of one config map whose data may use the instance's colour. */
function graph(name = 'shop', shape: Shape = {}): KubeObject {
  const { labels, annotations, kind = 'Shop' } = shape;
  const data = shape.data ?? { colour: '${schema.spec.colour}' };
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name, ...(labels && { labels }), ...(annotations && { annotations }) },
    spec: {
      schema: { apiVersion: 'v1alpha1', kind, spec: shape.spec ?? { colour: 'string | default=red' } },
      resources: [
        {
          id: 'map',
          template: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: shape.called ?? '${schema.metadata.name}-map' },
            data,
          },
        },
        ...(shape.resources ?? []),
      ],
    },
  };
}

function instance(spec: object = {}, name = 'one', metadata: object = {}): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Shop', metadata: { name, ...metadata }, spec };
}

function rolloutOf(spec: object): KubeObject {
  return {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'RGDRollout',
    metadata: { name: 'shop' },
    spec: { graph: 'shop', ...spec },
  };
}

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(7, names);
}

async function servedOn(names: readonly string[], revision: number, name = 'shop'): Promise<void> {
  await fleet
    .until(
      () =>
        names.every((spoke) => {
          const object = rgd(fleet.spoke(spoke), name);
          return (
            object?.metadata.annotations?.['atoll.dev/distributed-revision'] === String(revision) &&
            conditionOf(object, 'Ready') === 'True/Ready' &&
            state(object) === 'Active'
          );
        }),
      `revision ${revision} on ${names.join(', ')}`,
    )
    .catch((error: unknown) => {
      const seen = [fleet.hub, ...names.map((spoke) => fleet.spoke(spoke))].map((target) => [
        target.name,
        rgd(target, name)?.metadata,
        rgd(target, name)?.['status'],
      ]);
      throw new Error(JSON.stringify(seen, undefined, 1), { cause: error });
    });
}

async function active(target: SimulatedCluster, name = 'one'): Promise<void> {
  await fleet.until(() => state(shop(target, name)) === 'ACTIVE', `${name} active on ${target.name}`);
}

async function distributed(reason = 'True/Distributed'): Promise<void> {
  await fleet
    .until(() => conditionOf(rgd(fleet.hub), 'Distributed') === reason, `distributed: ${reason}`)
    .catch((error: unknown) => {
      throw new Error(JSON.stringify(rgd(fleet.hub)?.['status'], undefined, 1), { cause: error });
    });
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

describe('a hub that starts', () => {
  it('[R133] with one of five clusters in a black hole serves four at once, and that one later', async () => {
    const hole = { open: false };
    const names = ['a', 'b', 'c', 'd', 'e'];
    const network = (spoke: string, handler: Handler): Handler =>
      spoke === 'e' ? (request) => (hole.open ? new Promise(() => undefined) : handler(request)) : handler;
    fleet = await simulateFleet(7, names, { network });
    await write(fleet.hub, graph());
    await servedOn(names, 1);
    await fleet.kill(fleet.hub);
    hole.open = true;
    await fleet.start(fleet.hub);
    await write(fleet.hub, graph('shop', { data: { colour: 'new' } }));
    await fleet.until(
      () => names.slice(0, 4).every((name) => revisionOn(fleet.spoke(name)) === '2'),
      'the four',
      5_000,
    );
    expect(revisionOn(fleet.spoke('e'))).toBe('1');
    await fleet.rest(600_000);
    hole.open = false;
    fleet.cut('e');
    fleet.heal('e');
    await fleet.until(() => revisionOn(fleet.spoke('e')) === '2', 'the fifth', 600_000);
    await distributed();
  });

  it('[R131] serves instances itself as well, beside a cluster that is called as if it were it', async () => {
    await open(['hub-local', 'local']);
    const local = fleet.spoke('local');
    await write(fleet.hub, graph());
    await servedOn(['hub-local', 'local'], 1);
    await write(fleet.hub, instance({ colour: 'blue' }));
    await write(local, instance({ colour: 'green' }));
    for (const target of [fleet.hub, local]) await active(target);
    expect([fleet.hub, local, fleet.spoke('hub-local')].map((target) => colour(target))).toEqual([
      'blue',
      'green',
      undefined,
    ]);
    await remove(local, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => map(local, 'one-map') === undefined, 'that of the cluster gone');
    await fleet.rest(30_000);
    expect(colour(fleet.hub)).toBe('blue');
  });
});

describe('clusters without their hub', () => {
  it('[R167] make, repair and remove instances by themselves', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(a, instance());
    await active(a);
    await fleet.kill(fleet.hub);
    await fleet.rest(3_600_000);
    await write(b, instance({ colour: 'green' }));
    await active(b);
    expect(colour(b)).toBe('green');
    await write(a, {
      ...(map(a, 'one-map') as KubeObject),
      metadata: { name: 'one-map' },
      data: { colour: 'grey' },
    });
    await fleet.until(() => colour(a) === 'red', 'the drift undone');
    await remove(a, 'v1', 'ConfigMap', 'one-map');
    await fleet.until(() => colour(a) === 'red', 'the object made again');
    await write(a, instance({ colour: 'blue' }));
    await fleet.until(() => colour(a) === 'blue', 'the edit');
    await fleet.kill(a);
    await fleet.start(a);
    await write(a, instance({}, 'two'));
    await active(a, 'two');
    await remove(a, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => shop(a) === undefined && map(a, 'one-map') === undefined, 'the instance gone');
    // What was dispatched is put back as well.
    await remove(b, 'kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop').catch(() => undefined);
    await fleet.rest(60_000);
    expect(state(shop(b))).toBe('ACTIVE');
  });

  it('[R168] write nothing when it is back; it learns what happened meanwhile', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, rolloutOf({}));
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(a, instance());
    await active(a);
    await distributed();
    await fleet.rest(120_000);
    await fleet.kill(fleet.hub);
    await fleet.rest(3_600_000);
    await write(a, instance({ colour: 'blue' }));
    await write(b, instance({}, 'three'));
    await active(b, 'three');
    await fleet.until(() => colour(a) === 'blue', 'the edit');
    await fleet.rest(120_000);
    const before = [a, b].map(everything);
    for (const spoke of [a, b]) spoke.audit.length = 0;
    const revision = fleet.hub.server.store.revision;
    await fleet.start(fleet.hub);
    await fleet.until(
      () => rows().length === 2 && rows().every(({ instances }) => instances === 1),
      'what happened is known',
    );
    await distributed();
    await fleet.rest(120_000);
    expect([a, b].map(everything)).toEqual(before);
    for (const spoke of [a, b]) expect(writesBy(spoke.audit, HUB_USER)).toEqual([]);
    expect(fleet.hub.server.store.revision - revision).toBeLessThan(20);
    expect(colour(a)).toBe('blue');
  });
});

describe('a cluster that two hubs send graphs', () => {
  it('[R169] takes those of its own hub; the other one is refused and told so', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(fleet.hub, graph());
    await servedOn(['a'], 1);
    await write(a, instance());
    await active(a);
    const other = await fleet.add('other', fleet.hub);
    other.tunnels.set('a', a.link);
    await fleet.run(other.client.create(SPOKE_CLUSTERS, spokeCluster('a')));
    await write(other, graph('shop', { data: { colour: 'theirs' } }));
    await fleet.until(
      () => conditionOf(rgd(other), 'Distributed').startsWith('False/'),
      'the other hub knows',
    );
    await fleet.rest(600_000);
    expect(conditionMessage(rgd(other), 'Distributed')).toContain('hub');
    expect(colour(a)).toBe('red');
    expect(conditionOf(rgd(a), 'Ready')).toBe('True/Ready');
    const before = everything(a);
    await fleet.rest(3_600_000);
    expect(everything(a)).toEqual(before);
  });
});

describe('an RGDRollout', () => {
  it('[R162] holds clusters at revisions of their own, and gives them graphs of their own', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(fleet.hub, rolloutOf({ pins: [{ clusterNames: ['b'], revision: 1 }] }));
    await write(fleet.hub, graph('shop', { data: { colour: 'dark ${schema.spec.colour}' } }));
    await servedOn(['a'], 2);
    for (const spoke of [a, b]) {
      await write(spoke, instance());
      await active(spoke);
    }
    await fleet.rest(60_000);
    expect([revisionOn(a), revisionOn(b)]).toEqual(['2', '1']);
    expect([colour(a), colour(b)]).toEqual(['dark red', 'red']);
    await fleet.until(
      () => rows().length === 2 && rows().every(({ instances }) => instances === 1),
      'the instances',
    );
    expect(rows().map(({ cluster, revision, wanted }) => [cluster, revision, wanted])).toEqual([
      ['a', 2, 2],
      ['b', 1, 1],
    ]);
    // The pin goes: b follows.
    await write(fleet.hub, rolloutOf({}));
    await fleet.until(() => colour(b) === 'dark red', 'b at revision 2');
    // Another graph, for b only.
    await write(fleet.hub, graph('other', { kind: 'Other' }));
    const only = rolloutOf({ graph: 'other', clusters: { clusterSelector: { matchLabels: { site: 'b' } } } });
    await write(fleet.hub, { ...only, metadata: { name: 'other' } });
    await servedOn(['b'], 1, 'other');
    await fleet.until(() => rgd(a, 'other') === undefined, 'the other graph on b only');
  });

  it('[R164] leaves instances of an older revision valid where the newer one has other fields', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(fleet.hub, graph());
    await servedOn(['a'], 1);
    await write(a, instance({ colour: 'blue' }, 'one', { annotations: { 'atoll.dev/graph-revision': '1' } }));
    await active(a);
    const shape = {
      spec: { size: 'integer' },
      data: { colour: 'none' },
      annotations: { 'kro.run/allow-breaking-changes': 'true' },
    };
    await write(fleet.hub, graph('shop', shape));
    await servedOn(['a'], 2);
    await write(a, instance({ size: 3 }, 'two'));
    await active(a, 'two');
    expect(shop(a)?.['spec']).toEqual({ colour: 'blue' });
    const pinned = { annotations: { 'atoll.dev/graph-revision': '1' } };
    await write(a, instance({ colour: 'green' }, 'one', pinned));
    await fleet.until(() => colour(a) === 'green', 'the older one is still edited');
    expect(colour(a, 'two-map')).toBe('none');
  });

  it('[R166] keeps a revision for as long as a cluster is held at it', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(fleet.hub, rolloutOf({ pins: [{ clusterNames: ['b'], revision: 1 }] }));
    for (let edit = 2; edit <= 11; edit += 1) {
      await write(fleet.hub, graph('shop', { data: { colour: `${edit} \${schema.spec.colour}` } }));
      await servedOn(['a'], edit);
    }
    const kept = (target: SimulatedCluster): number[] =>
      storedBelow(target, 'internal.kro.run/graphrevisions/-')
        .map(({ spec }) => (spec as { revision: number }).revision)
        .sort((x, y) => x - y);
    await fleet.rest(60_000);
    expect(kept(fleet.hub)).toEqual([1, 7, 8, 9, 10, 11]);
    expect(kept(a)).toEqual([7, 8, 9, 10, 11]);
    expect(kept(b)).toEqual([1]);
    await write(b, instance());
    await active(b);
    expect(colour(b)).toBe('red');
  });

  it('[R158] is not needed: without one all clusters move at once', async () => {
    await open(['a', 'b', 'c']);
    await write(fleet.hub, graph());
    await servedOn(['a', 'b', 'c'], 1);
    await write(fleet.hub, graph('shop', { data: { colour: 'x' } }));
    await fleet.until(
      () => ['a', 'b', 'c'].every((name) => revisionOn(fleet.spoke(name)) === '2'),
      'all clusters at revision 2',
      2_000,
    );
  });

  /** First the canary `a`, then the others one at a time. */
  const WAVES = {
    stages: [
      { name: 'canary', clusterNames: ['a'], soakSeconds: 600 },
      { name: 'rest', maxConcurrency: 1 },
    ],
    readySeconds: 60,
    degradedSeconds: 30,
  };
  const revisions = (): (string | undefined)[] => fleet.spokes.map(revisionOn);

  async function openWaves(names: readonly string[]): Promise<void> {
    await open(names);
    await write(fleet.hub, rolloutOf({ strategy: WAVES }));
    await write(fleet.hub, graph());
    await fleet.until(() => revisions().every((revision) => revision === '1'), 'revision 1', 3_600_000);
    await servedOn(names, 1);
    for (const name of names) {
      await write(fleet.spoke(name), instance());
      await active(fleet.spoke(name));
    }
    await fleet.rest(120_000);
  }

  it('[R159] moves clusters in waves: the canary first, then the others one at a time', async () => {
    await openWaves(['a', 'b', 'c']);
    await write(fleet.hub, rolloutOf({ strategy: { ...WAVES, paused: true } }));
    await write(fleet.hub, graph('shop', { data: { colour: 'dark ${schema.spec.colour}' } }));
    await fleet.rest(3_600_000);
    expect(revisions()).toEqual(['1', '1', '1']);
    await write(fleet.hub, rolloutOf({ strategy: { ...WAVES, paused: false } }));
    await servedOn(['a'], 2);
    await fleet.until(() => colour(fleet.spoke('a')) === 'dark red', 'the canary');
    await fleet.rest(500_000);
    expect(revisions()).toEqual(['2', '1', '1']);
    expect(['b', 'c'].map((name) => colour(fleet.spoke(name)))).toEqual(['red', 'red']);
    let both = 0;
    await fleet.until(
      () => {
        both = revisions().filter((revision) => revision === '2').length;
        return both === 2;
      },
      'the next one',
      3_600_000,
    );
    await fleet.rest(30_000);
    expect(revisions().filter((revision) => revision === '2')).toHaveLength(2);
    await fleet.until(() => revisions().every((revision) => revision === '2'), 'all of them', 3_600_000);
    await fleet.until(() => colour(fleet.spoke('c')) === 'dark red', 'the last one');
  });

  it('[R160] halts at the first wave when a revision makes instances fail there', async () => {
    await openWaves(['a', 'b']);
    // It is right as a graph; on the canary is an instance of which it makes what no cluster takes.
    await write(fleet.spoke('a'), instance({ colour: 'Not a name' }));
    await active(fleet.spoke('a'));
    await write(fleet.hub, graph('shop', { called: '${schema.spec.colour}' }));
    await servedOn(['a'], 2);
    await fleet.until(() => state(shop(fleet.spoke('a'))) === 'ERROR', 'the instance fails');
    await fleet.rest(7_200_000);
    expect(revisions()).toEqual(['2', '1']);
    expect(state(shop(fleet.spoke('b')))).toBe('ACTIVE');
    expect(conditionOf(rgd(fleet.hub), 'Distributed')).toBe('False/Degraded');
    // Somebody mends the instance, and says that it may go on.
    await write(fleet.spoke('a'), instance({ colour: 'blue' }));
    await active(fleet.spoke('a'));
    await fleet.rest(7_200_000);
    expect(revisions()).toEqual(['2', '1']);
    await write(fleet.hub, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'RolloutAction',
      metadata: { name: 'go-on', namespace: SYSTEM_NAMESPACE },
      spec: { target: { kind: 'ResourceGraphDefinition', name: 'shop' }, action: 'Retry' },
    });
    await fleet.until(() => revisions().every((revision) => revision === '2'), 'all of them', 7_200_000);
  });

  it('[R161] takes all clusters back to an earlier revision, if it fits under the kind', async () => {
    await open();
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    const more = { spec: { colour: 'string | default=red', size: 'integer | default=1' } };
    await write(
      fleet.hub,
      graph('shop', { ...more, data: { colour: 'new', size: '${string(schema.spec.size)}' } }),
    );
    await servedOn(['a', 'b'], 2);
    for (const name of ['a', 'b']) {
      await write(fleet.spoke(name), instance({ size: 4 }));
      await active(fleet.spoke(name));
    }
    await write(fleet.hub, rolloutOf({ revision: 1 }));
    await servedOn(['a', 'b'], 1);
    for (const name of ['a', 'b'])
      await fleet.until(() => colour(fleet.spoke(name)) === 'red', `${name} back at revision 1`);
    // Nothing that instances hold is lost by it.
    expect(shop(fleet.spoke('a'))?.['spec']).toEqual({ colour: 'red', size: 4 });
    // A revision that gives a field another type could not be gone back from.
    const other = {
      spec: { colour: 'integer | default=3' },
      data: { colour: '${string(schema.spec.colour)}' },
    };
    await write(fleet.hub, rolloutOf({}));
    await servedOn(['a', 'b'], 2);
    const breaking = { annotations: { 'kro.run/allow-breaking-changes': 'true' } };
    await write(fleet.hub, graph('shop', { ...other, ...breaking }));
    await fleet.until(() => revisions().every((revision) => revision === '3'), 'revision 3');
    await write(fleet.hub, rolloutOf({ revision: 1 }));
    await fleet.until(
      () =>
        conditionMessage(rgd(fleet.hub), 'Distributed').includes('do not fit under one kind: spec.colour'),
      'the refusal',
    );
    expect(revisions()).toEqual(['3', '3']);
  });

  it('[R163] gives a cluster that joins meanwhile the revision of its wave', async () => {
    await openWaves(['a', 'b']);
    await write(fleet.hub, graph('shop', { data: { colour: 'dark ${schema.spec.colour}' } }));
    await servedOn(['a'], 2);
    const d = await fleet.add('d', fleet.hub);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('d')));
    await fleet.until(() => rgd(d) !== undefined, 'the graph on d', 3_600_000);
    await fleet.rest(60_000);
    expect([revisionOn(fleet.spoke('b')), revisionOn(d)]).toEqual(['1', '1']);
    await fleet.until(() => revisions().every((revision) => revision === '2'), 'all of them', 7_200_000);
  });
});

/** What the engines of the fleet counted together, of one metric. */
function counted(metric: string): number {
  return fleet.runtime.metrics
    .text()
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

describe('clusters beside each other', () => {
  it('have instances of one name that know nothing of each other', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await write(a, instance({ colour: 'blue' }));
    await write(b, instance({ colour: 'green' }));
    await active(a);
    await active(b);
    const uid = map(b, 'one-map')?.metadata.uid;
    await remove(a, 'kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => map(a, 'one-map') === undefined, 'that of a gone');
    await fleet.rest(60_000);
    expect(map(b, 'one-map')?.metadata.uid).toBe(uid);
    expect(colour(b)).toBe('green');
  });

  it('[R129] have a queue and watches of their own: what happens on one enqueues nothing on another', async () => {
    const passes = async (others: boolean): Promise<readonly number[]> => {
      const asked = new Map<string, number>();
      fleet = await simulateFleet(7, ['a', 'b'], {
        engineApi: (cluster, handler) => (request) => {
          asked.set(cluster, (asked.get(cluster) ?? 0) + 1);
          return handler(request);
        },
      });
      const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
      await write(fleet.hub, graph());
      await servedOn(['a', 'b'], 1);
      for (const target of others ? [a, b, fleet.hub] : [a]) {
        await write(target, instance());
        await active(target);
      }
      await fleet.rest(300_000);
      const metrics = ['dynamic_controller_reconcile_total', 'dynamic_controller_informer_events_total'];
      const before = metrics.map(counted);
      const quiet = asked.get('b');
      for (const name of ['blue', 'green', 'grey', 'pink', 'white']) {
        await write(a, instance({ colour: name }));
        await fleet.until(() => colour(a) === name, name);
        await fleet.rest(5_000);
      }
      expect((asked.get('b') ?? 0) - (quiet ?? 0)).toBeLessThanOrEqual(5);
      const after = metrics.map((metric, index) => counted(metric) - (before[index] ?? 0));
      await fleet.stop();
      return after;
    };
    const alone = await passes(false);
    expect(alone[0]).toBeGreaterThanOrEqual(5);
    expect(await passes(true)).toEqual(alone);
  });

  it('[R134] are asked no more than now and then while one of them is in a black hole, which is shown', async () => {
    const hole = { open: false, asked: 0 };
    const network = (spoke: string, handler: Handler): Handler =>
      spoke === 'b'
        ? (request) => {
            if (!hole.open) return handler(request);
            hole.asked += 1;
            return new Promise(() => undefined);
          }
        : handler;
    fleet = await simulateFleet(7, ['a', 'b'], { network });
    await write(fleet.hub, graph());
    await servedOn(['a', 'b'], 1);
    await distributed();
    const connected = (): string =>
      conditionOf(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/b'), 'Connected');
    const hubWrites = (): number => writesBy(fleet.hub.audit, 'atoll:engine').length;
    hole.open = true;
    // A hiccup is none.
    await fleet.rest(3_000);
    expect(connected()).toMatch(/^True/);
    await write(fleet.hub, graph('shop', { data: { colour: 'new' } }));
    await fleet.until(() => revisionOn(fleet.spoke('a')) === '2', 'a has it');
    await fleet.until(() => !connected().startsWith('True'), 'it is shown', 300_000);
    const [asked, written] = [hole.asked, hubWrites()];
    await fleet.rest(600_000);
    expect(hole.asked - asked).toBeLessThanOrEqual(60);
    expect(hubWrites() - written).toBeLessThanOrEqual(5);
    expect(conditionMessage(rgd(fleet.hub), 'Distributed')).toContain('b');
    hole.open = false;
    fleet.cut('b');
    fleet.heal('b');
    await fleet.until(() => revisionOn(fleet.spoke('b')) === '2', 'b has it', 600_000);
    await distributed();
  });

  it('[R135] are as fast as ever while the API server of one of them hangs with its connections open', async () => {
    let goOn: PromiseWithResolvers<void> | undefined;
    // Stopped, not dead: what was asked is answered when it goes on.
    const stopped =
      (handler: Handler): Handler =>
      async (request) => {
        await goOn?.promise;
        return handler(request);
      };
    fleet = await simulateFleet(7, ['a', 'b', 'c'], {
      network: (spoke, handler) => (spoke === 'b' ? stopped(handler) : handler),
      engineApi: (cluster, handler) => (cluster === 'b' ? stopped(handler) : handler),
    });
    const names = ['a', 'c'];
    await write(fleet.hub, graph());
    await servedOn(['a', 'b', 'c'], 1);
    for (const name of names) {
      await write(fleet.spoke(name), instance());
      await active(fleet.spoke(name));
    }
    let edits = 0;
    /** Until a new revision of the hub is what instances are made of, longest of three times. */
    const longest = async (): Promise<number> => {
      const took: number[] = [];
      for (let round = 0; round < 3; round++) {
        edits += 1;
        const data = { colour: `colour-${edits}` };
        await fleet.rest(30_000);
        const began = fleet.runtime.clock.now();
        await write(fleet.hub, graph('shop', { data }));
        await fleet.until(
          () => names.every((name) => colour(fleet.spoke(name)) === data.colour),
          data.colour,
        );
        took.push(fleet.runtime.clock.now() - began);
      }
      return Math.max(...took);
    };
    const before = await longest();
    goOn = Promise.withResolvers();
    expect(await longest()).toBeLessThanOrEqual(before + 100);
    await fleet.rest(600_000);
    expect(await longest()).toBeLessThanOrEqual(before + 100);
    goOn.resolve();
    goOn = undefined;
    await fleet.until(() => revisionOn(fleet.spoke('b')) === String(edits + 1), 'b has it', 600_000);
  });
});
