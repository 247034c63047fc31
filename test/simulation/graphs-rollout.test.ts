// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import { SYSTEM_NAMESPACE } from '../../src/engine/dispatch/index.ts';
import { ENGAGED_CLUSTER } from '../../src/hub/engaged/index.ts';
import { customResourceDefinition } from '../../src/kube/custom-resource.ts';
import {
  conditionMessage,
  conditionOf,
  type SimulatedCluster,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
} from './fleet.ts';
import {
  colour,
  fleetGraphWords,
  graph,
  instance,
  revisionOn,
  rgd,
  rolloutOf,
  shop,
  state,
} from './graphs-fleet-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { write, remove, rows, servedOn, active } = fleetGraphWords(() => fleet);

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(7, names);
}

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

describe('what an RGDRollout says of itself', () => {
  const told = (name = 'shop') => stored(fleet.hub, `atoll.dev/rgdrollouts/-/${name}`);

  it('names the graph that is not there, until it is, and again when it is gone', async () => {
    await open(['a']);
    await write(fleet.hub, rolloutOf({}));
    const missing = (): boolean => conditionOf(told(), 'Ready') === 'False/GraphNotFound';
    await fleet.until(missing, 'no graph');
    expect(conditionMessage(told(), 'Ready')).toBe(
      'the hub has no ResourceGraphDefinition shop: apply it, or correct spec.graph; next: kubectl get rgd',
    );
    expect(told()?.['status']).toMatchObject({ observedGeneration: 1, clusters: [] });
    await write(fleet.hub, graph());
    await fleet.until(() => conditionOf(told(), 'Ready') === 'True/Distributed', 'it is there');
    await remove(fleet.hub, 'kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop');
    await fleet.until(missing, 'it is gone');
    // A hub that starts finds the same, and has nothing to write.
    const { resourceVersion } = told()?.metadata ?? {};
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(told()?.metadata.resourceVersion).toBe(resourceVersion);
    await write(fleet.hub, graph());
    await fleet.until(() => conditionOf(told(), 'Ready') === 'True/Distributed', 'it is there once more');
  });

  it('names clusters that nobody knows, and where they are named', async () => {
    await open(['a', 'b']);
    await write(fleet.hub, graph());
    const WRONG = {
      clusters: { clusterNames: ['a', 'bb'] },
      pins: [{ clusterNames: ['b', 'museum'], revision: 1 }],
      strategy: { stages: [{ name: 'canary', clusterNames: ['läb'] }] },
    };
    await write(fleet.hub, rolloutOf(WRONG));
    await fleet.until(() => conditionOf(told(), 'Placed') === 'False/UnknownCluster', 'it is told');
    expect(conditionMessage(told(), 'Placed')).toBe(
      'no cluster is named bb (spec.clusters), museum (spec.pins[0]), läb (stage canary); next: kubectl get spokeclusters -A',
    );
    await write(fleet.hub, rolloutOf({ clusters: { clusterNames: ['a'] } }));
    await fleet.until(() => conditionOf(told(), 'Placed') === 'True/Placed', 'all are known');
    await write(fleet.hub, rolloutOf({ clusters: { clusterNames: ['c'] } }));
    await fleet.until(() => conditionOf(told(), 'Placed') === 'False/UnknownCluster', 'c is not');
    await write(fleet.hub, spokeCluster('c'));
    await fleet.until(() => conditionOf(told(), 'Placed') === 'True/Placed', 'c is');
    await write(fleet.hub, rolloutOf({}));
    await fleet.until(() => conditionOf(told(), 'Placed') === '', 'none is named');
    // Those without an engine are clusters as well.
    await write(fleet.hub, rolloutOf({ pins: [{ clusterNames: ['Kasse 1'], revision: 1 }] }));
    await fleet.until(() => conditionOf(told(), 'Placed') === 'False/UnknownCluster', 'not yet');
    await write(fleet.hub, customResourceDefinition(ENGAGED_CLUSTER));
    await fleet.rest(5_000);
    const { group, version, kind } = ENGAGED_CLUSTER;
    await write(fleet.hub, {
      ...{ apiVersion: `${group}/${version}`, kind, metadata: { name: 'kasse-1' } },
      spec: { cluster: 'Kasse 1', provider: 'file' },
    });
    await fleet.until(() => conditionOf(told(), 'Placed') === 'True/Placed', 'it is engaged');
  });

  it('says of the second one of a graph which counts, and counts once the first is gone', async () => {
    await open(['a']);
    await write(fleet.hub, rolloutOf({}));
    await fleet.rest(2_000);
    await write(fleet.hub, { ...rolloutOf({}), metadata: { name: 'zweite' } });
    await write(fleet.hub, graph());
    await fleet.until(() => conditionOf(told('zweite'), 'Ready') === 'False/NotInForce', 'the second');
    await remove(fleet.hub, 'atoll.dev/v1alpha1', 'RGDRollout', 'shop');
    await fleet.until(() => conditionOf(told('zweite'), 'Ready') === 'True/Distributed', 'it counts');
    await write(fleet.hub, { ...rolloutOf({ graph: 'other' }), metadata: { name: 'zweite' } });
    await fleet.until(() => conditionOf(told('zweite'), 'Ready') === 'False/GraphNotFound', 'another');
  });
});
