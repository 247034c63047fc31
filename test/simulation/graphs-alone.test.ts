// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { type SimulatedCluster, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { type GraphCluster, startGraphCluster } from './graph-cluster.ts';

const clusters: GraphCluster[] = [];
let fleet: SimulatedFleet | undefined;
afterEach(async () => {
  for (const cluster of clusters.splice(0)) await cluster.kill();
  await fleet?.stop();
  fleet = undefined;
});

const GRAPH = {
  apiVersion: 'kro.run/v1alpha1',
  kind: 'ResourceGraphDefinition',
  metadata: { name: 'shop' },
  spec: {
    schema: {
      apiVersion: 'v1alpha1',
      kind: 'Shop',
      spec: { colour: 'string | default=red' },
      status: { shown: '${map.data.colour}' },
    },
    resources: [
      {
        id: 'map',
        template: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '${schema.metadata.name}-map' },
          data: { colour: '${schema.spec.colour}' },
        },
      },
      {
        id: 'all',
        forEach: [{ letter: '${["x", "y"]}' }],
        template: {
          apiVersion: 'v1',
          kind: 'Secret',
          metadata: { name: '${schema.metadata.name}-${letter}' },
          stringData: { of: '${map.metadata.name}' },
        },
      },
    ],
  },
} as unknown as KubeObject;
const INSTANCE = {
  apiVersion: 'kro.run/v1alpha1',
  kind: 'Shop',
  metadata: { name: 'one', namespace: 'default' },
  spec: {},
} as KubeObject;
const OBJECTS = [
  'core/configmaps/default/one-map',
  'core/secrets/default/one-x',
  'core/secrets/default/one-y',
];

async function alone(): Promise<GraphCluster> {
  const cluster = await startGraphCluster();
  clusters.push(cluster);
  await cluster.write(GRAPH);
  await cluster.until(() => stateOf(cluster.stored(RGD)) === 'Active', 'the definition');
  await cluster.write(INSTANCE);
  await cluster.until(() => stateOf(cluster.stored(SHOP)) === 'ACTIVE', 'the instance');
  return cluster;
}

const RGD = 'kro.run/resourcegraphdefinitions/-/shop';
const SHOP = 'kro.run/shops/default/one';

function stateOf(object: KubeObject | undefined): string {
  return ((object?.['status'] ?? {}) as { state?: string }).state ?? '';
}

/** All that does not differ from one API server to the next. */
function content(object: KubeObject | undefined): unknown {
  const {
    apiVersion,
    kind,
    metadata,
    status: _status,
    ...rest
  } = object as KubeObject & { status?: unknown };
  const { name, namespace, labels = {}, annotations = {}, finalizers, ownerReferences } = metadata;
  const own = Object.entries(labels).filter(([key]) => !/(definition-id|instance-id)$/.test(key));
  return {
    ...{ apiVersion, kind, name, namespace, finalizers, ownerReferences, annotations },
    labels: Object.fromEntries(own),
    ...rest,
  };
}

describe('a cluster alone', () => {
  it('has the same objects as one of a fleet, and nothing of a fleet in it', async () => {
    const cluster = await alone();
    fleet = await simulateFleet(7, ['a']);
    const a = fleet.spoke('a');
    const write = async (target: SimulatedCluster, object: KubeObject): Promise<void> => {
      const resource = await target.client.resourceFor(object.apiVersion, object.kind);
      await target.client.apply(resource, object, { fieldManager: 'someone' });
    };
    await fleet.run(write(fleet.hub, GRAPH));
    await fleet.until(() => stateOf(stored(a, RGD)) === 'Active', 'the definition on a');
    await fleet.run(write(a, INSTANCE));
    await fleet.until(() => stateOf(stored(a, SHOP)) === 'ACTIVE', 'the instance on a');
    for (const path of [...OBJECTS, SHOP])
      expect(content(cluster.stored(path)), path).toEqual(content(stored(a, path)));
    // Neither asked for, nor there.
    expect(
      cluster
        .asked()
        .filter(({ objectRef }) => /dispatch|spokecluster|remoteobject/.test(objectRef?.resource ?? '')),
    ).toEqual([]);
    const { conditions } = cluster.stored(RGD)!['status'] as { conditions: { type: string }[] };
    expect(conditions.map(({ type }) => type)).not.toContain('Distributed');
  });

  it('[R128] knows nothing of an instance of the same name elsewhere', async () => {
    const [a, b] = [await alone(), await alone()];
    const passes = ({ runtime }: GraphCluster): string[] =>
      runtime.metrics
        .text()
        .split('\n')
        .filter((line) => line.startsWith('dynamic_controller_reconcile_total{'));
    const uids = OBJECTS.map((path) => b.stored(path)?.metadata.uid);
    const before = { a: passes(a), b: passes(b) };
    expect(before.b).toHaveLength(1);
    await a.remove('kro.run/v1alpha1', 'Shop', 'one');
    await a.until(() => OBJECTS.every((path) => a.stored(path) === undefined), 'those of a gone');
    for (const cluster of [a, b]) await cluster.rest(60_000);
    expect(OBJECTS.map((path) => b.stored(path)?.metadata.uid)).toEqual(uids);
    expect(passes(b)).toEqual(before.b);
    expect(passes(a)).not.toEqual(before.a);
  });
});

describe('instances of a definition with a pace', () => {
  it('[R165] go from one revision to the next so many within a minute, also where the engine is killed', async () => {
    const cluster = await startGraphCluster();
    clusters.push(cluster);
    const paced = (data: object): KubeObject =>
      ({
        ...GRAPH,
        metadata: { name: 'shop', annotations: { 'atoll.dev/instances-per-minute': '2' } },
        spec: {
          schema: { apiVersion: 'v1alpha1', kind: 'Shop', spec: {} },
          resources: [
            {
              id: 'map',
              template: {
                apiVersion: 'v1',
                kind: 'ConfigMap',
                metadata: { name: '${schema.metadata.name}' },
                data,
              },
            },
          ],
        },
      }) as unknown as KubeObject;
    const names = ['i0', 'i1', 'i2', 'i3', 'i4', 'i5'];
    const colourOf = (name: string): string | undefined =>
      (cluster.stored(`core/configmaps/default/${name}`)?.['data'] as { colour?: string } | undefined)
        ?.colour;
    const moved = (colour: string): number => names.filter((name) => colourOf(name) === colour).length;
    await cluster.write(paced({ colour: 'red' }));
    await cluster.until(() => stateOf(cluster.stored(RGD)) === 'Active', 'the definition');
    for (const name of names) await cluster.write({ ...INSTANCE, metadata: { name, namespace: 'default' } });
    // What is new waits for nobody.
    await cluster.until(() => moved('red') === names.length, 'all of them');
    await cluster.rest(120_000);
    await cluster.write(paced({ colour: 'blue' }));
    await cluster.until(() => moved('blue') === 2, 'the first two');
    await cluster.rest(30_000);
    expect(moved('blue')).toBe(2);
    // One that waits is looked after as it is.
    const waiting = names.find((name) => colourOf(name) === 'red') ?? '';
    await cluster.remove('v1', 'ConfigMap', waiting);
    await cluster.until(() => colourOf(waiting) === 'red', 'it is made again as it was');
    await cluster.until(() => moved('blue') === 4, 'two more');
    await cluster.rest(30_000);
    expect(moved('blue')).toBe(4);
    await cluster.kill();
    await cluster.revive();
    // None goes back, and the others go on.
    await cluster.until(() => moved('blue') === names.length, 'all', 180_000);
  });
});
