// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import { ENGAGED_CLUSTER } from '../../src/hub/engaged/index.ts';
import { type ClusterName, clusterName } from '../../src/kube/cluster-name.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { customResourceDefinitions } from '../../src/kube/well-known.ts';
import { type Logger, sleep } from '../../src/runtime/index.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { startEngagedGraphs } from '../../src/spoke/graphs/index.ts';
import { type BareCluster, type EngagedRig, startEngagedRig } from './engaged-rig.ts';
import { engagedWords, kindOn, mapOn, SHOP, shopOn } from './engaged-words.ts';
import { configMap, dataOf, shopDefinition, shopInstance, shopWords, stateOf } from './graph-cluster.ts';

let rig: EngagedRig;
afterEach(() => rig.close());
const { statusOf, graphsOf, engaged } = engagedWords(() => rig);

const { served } = shopWords(() => rig.hub);

async function open(...names: string[]): Promise<BareCluster[]> {
  rig = await startEngagedRig(names);
  return names.map((name) => rig.cluster(name));
}

describe('clusters without an engine', () => {
  it('[R115] are engaged within 5 s of their Secret', async () => {
    const [a] = await open('a');
    rig.start();
    await rig.hub.rest(2_000);
    await rig.credential('a');
    await rig.untilState('a', 'Ready', 5_000);
    expect(a?.connections).toBe(1);
  });

  it('[R119] have kinds, instances and objects, and no definition or revision', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await engaged('a');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await rig.hub.until(() => graphsOf('a')[0]?.state === 'Active', 'the graph');
    await a.write(shopInstance({ colour: 'blue' }));
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    expect(dataOf(mapOn(a))).toEqual({ colour: 'blue' });
    expect(rig.hub.below('kro.run/shops/default')).toEqual([]);
    for (const kind of ['resourcegraphdefinitions.kro.run', 'graphrevisions.internal.kro.run'])
      expect(a.stored(`apiextensions.k8s.io/customresourcedefinitions/-/${kind}`)).toBeUndefined();
    expect(a.below('kro.run/resourcegraphdefinitions/-')).toEqual([]);
    await rig.hub.rest(2_000);
    expect(graphsOf('a')).toMatchObject([
      { name: 'shop', state: 'Active', revision: 1, instances: 1, active: 1 },
    ]);
  });

  it('[R116] are let go of with their Secret: all is closed there and nothing touched', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await served(SHOP);
    // Until no history of the stores waits for its end.
    await rig.hub.rest(400_000);
    const timers = rig.hub.runtime.clock.pending();
    await engaged('a');
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance({ colour: 'blue' }));
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    await rig.hub.rest(5_000);
    const before = a.audit.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb)).length;
    await rig.withdraw('a');
    await rig.untilState('a', 'Disengaged', 5_000);
    expect([a.connections, a.watches]).toEqual([0, 0]);
    const asked = a.audit.length;
    await rig.hub.rest(600_000);
    expect(a.audit.length).toBe(asked);
    expect(rig.hub.runtime.clock.pending()).toBe(timers);
    expect(a.audit.filter(({ verb }) => !['get', 'list', 'watch'].includes(verb)).length).toBe(before);
    expect(stateOf(shopOn(a))).toBe('ACTIVE');
    expect(shopOn(a)?.metadata.finalizers).toBeDefined();
    expect(mapOn(a)).toBeDefined();
    // Engaged again it goes on where it was.
    await engaged('a');
    await a.remove('kro.run/v1alpha1', 'Shop', 'one');
    await rig.hub.until(() => shopOn(a) === undefined && mapOn(a) === undefined, 'gone');
  });

  it('[R117] stay engaged while their credential is rotated fifty times', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await served(SHOP);
    await engaged('a');
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance({ colour: 'c0' }));
    const states = new Set<string>();
    for (let turn = 1; turn <= 50; turn += 1) {
      await rig.credential('a', `token-${turn}`);
      await rig.hub.rest(turn % 3 === 0 ? 0 : 700);
      states.add(rig.stateOf('a'));
      await a.write(shopInstance({ colour: `c${turn}` }));
    }
    await rig.hub.until(() => dataOf(mapOn(a))['colour'] === 'c50', 'the last colour');
    await rig.hub.until(() => a.connections === 1, 'one connection');
    expect([...states]).toEqual(['Ready']);
    expect(a.tokens.at(-1)).toBe('token-50');
    await rig.hub.rest(10_000);
    const who = a.audit.length;
    await a.remove('v1', 'ConfigMap', 'one-app');
    await rig.hub.until(() => mapOn(a) !== undefined, 'repaired');
    const users = a.audit.slice(who).map(({ user }) => user.username);
    expect(new Set(users.filter((user) => user !== 'admin'))).toEqual(new Set(['engine-token-50']));
  });
});

describe('an engaged cluster', () => {
  it('gets kinds from the hub only once they are served there, late ones too, and never what is wrong', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    rig.start();
    await engaged('a');
    await rig.hub.write(shopDefinition([configMap('app', '${schema.spec.nothing}')]));
    await rig.hub.rest(10_000);
    expect(kindOn(a)).toBeUndefined();
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind on a');
    await engaged('b');
    await rig.hub.until(() => kindOn(b) !== undefined, 'the kind on b');
    // What is edited wrongly leaves what is served.
    await rig.hub.write(shopDefinition([configMap('app', '${schema.spec.nothing}')]));
    await rig.hub.rest(5_000);
    expect(graphsOf('a')).toMatchObject([{ state: 'Active', revision: 1 }]);
    // It stays at the hub when that is asked for.
    await rig.hub.write({
      ...SHOP,
      metadata: { name: 'shop', labels: { 'kro.run/distribute': 'false' } },
    });
    await rig.hub.until(() => graphsOf('a').length === 0 && graphsOf('b').length === 0, 'left');
  });

  it('is left alone where an engine of its own runs, and served once that is gone', async () => {
    const [a] = (await open('a')) as [BareCluster];
    const crd = rig.hub.stored(
      'apiextensions.k8s.io/customresourcedefinitions/-/resourcegraphdefinitions.kro.run',
    );
    const { spec } = crd as unknown as { spec: object };
    const engine = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'resourcegraphdefinitions.kro.run' },
      spec,
    } as never;
    await a.write(engine);
    await served(SHOP);
    rig.start();
    await rig.credential('a');
    await rig.untilState('a', 'EnginePresent');
    await rig.hub.rest(30_000);
    expect(kindOn(a)).toBeUndefined();
    expect(statusOf('a').message).toContain('an engine of its own');
    const writes = a.audit.filter(
      ({ verb, user }) => user.username.startsWith('engine-') && !['get', 'list', 'watch'].includes(verb),
    );
    expect(writes).toEqual([]);
    await a.remove('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'resourcegraphdefinitions.kro.run');
    await rig.untilState('a', 'Ready');
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(engine);
    await rig.untilState('a', 'EnginePresent');
    expect(graphsOf('a')).toEqual([]);
  });

  it('is left alone where an engine of its own comes while a kind is being made there', async () => {
    const [a] = (await open('a')) as [BareCluster];
    const name = 'resourcegraphdefinitions.kro.run';
    const { spec } = rig.hub.stored(
      `apiextensions.k8s.io/customresourcedefinitions/-/${name}`,
    ) as unknown as {
      spec: object;
    };
    const { apiVersion, kind } = { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition' };
    await served(SHOP);
    rig.start({
      runner: (runtime, work) =>
        startEngagedGraphs(runtime, {
          ...work,
          version: '1.0.0',
          client: {
            ...work.client,
            async apply(resource, object, options) {
              const result = await work.client.apply(resource, object, options);
              if (!options.fieldManager.startsWith('atoll-engaged-')) return result as never;
              const engine = { apiVersion, kind, metadata: { name }, spec };
              await a.client.apply(customResourceDefinitions, engine, { fieldManager: 'someone' });
              await sleep(runtime.clock, 2_000);
              return result as never;
            },
          },
        }),
    });
    await rig.credential('a');
    await rig.untilState('a', 'EnginePresent');
    await rig.hub.rest(5_000);
    await a.write(shopInstance({ colour: 'red' }));
    await rig.hub.rest(10_000);
    expect(shopOn(a)?.metadata.finalizers).toBeUndefined();
    expect(graphsOf('a')).toEqual([]);
  });

  it('whose credential may not be used is refused and shown, without what it holds', async () => {
    await open('a');
    rig.start();
    const text = JSON.stringify({
      'current-context': 'c',
      clusters: [
        { name: 'c', cluster: { server: 'https://a.example', 'certificate-authority-data': 'aGlkZGVu' } },
      ],
      contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
      users: [{ name: 'u', user: { exec: { command: 'steal-hidden' } } }],
    });
    await rig.credential('a', 'x', { data: { kubeconfig: Buffer.from(text).toString('base64') } });
    await rig.untilState('a', 'Refused');
    const { message = '' } = statusOf('a');
    expect(message).toContain('exec plugin');
    expect(message).not.toContain('hidden');
    await rig.hub.rest(300_000);
    expect(rig.stateOf('a')).toBe('Refused');
    // Made right it is engaged; made wrong again the credential of before goes on.
    await engaged('a');
    await rig.credential('a', 'x', { data: { kubeconfig: Buffer.from('{').toString('base64') } });
    await rig.untilState('a', 'Refused');
    expect(statusOf('a').message).toContain('of before is used');
    expect(rig.cluster('a').connections).toBe(1);
    await engaged('a');
  });

  it('that is away holds up no other, is shown, and goes on when it is back', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    a.silent = true;
    rig.start();
    await rig.credential('a');
    await engaged('b');
    await rig.untilState('a', 'Unreachable');
    await served(SHOP);
    await b.write(shopInstance());
    await rig.hub.until(() => stateOf(shopOn(b)) === 'ACTIVE', 'the instance on b');
    a.silent = false;
    // What was asked into the silence is asked again on another connection.
    await rig.untilState('a', 'Ready');
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind on a');
    // It hangs with its connections open, watches included.
    a.silent = true;
    await rig.untilState('a', 'Unreachable', 120_000);
    expect(rig.stateOf('b')).toBe('Ready');
    const dialled = a.tokens.length;
    await rig.hub.rest(600_000);
    expect(a.tokens.length - dialled).toBeLessThan(40);
    a.silent = false;
    await rig.untilState('a', 'Ready', 60_000);
    await a.write(shopInstance());
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance on a');
  });

  it('keeps a definition that is deleted until its last instance there is gone', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await engaged('a');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance());
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    await rig.hub.remove('kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop', '');
    await rig.hub.rest(90_000);
    expect(rig.hub.stored('kro.run/resourcegraphdefinitions/-/shop')).toBeDefined();
    expect(graphsOf('a')).toMatchObject([{ state: 'Leaving' }]);
    // Drift is undone until then.
    await a.remove('v1', 'ConfigMap', 'one-app');
    await rig.hub.until(() => mapOn(a) !== undefined, 'repaired');
    await a.remove('kro.run/v1alpha1', 'Shop', 'one');
    await rig.hub.until(
      () => rig.hub.stored('kro.run/resourcegraphdefinitions/-/shop') === undefined,
      'the definition is gone',
    );
    expect(mapOn(a)).toBeUndefined();
  });

  it('that never comes back is given up with its credential', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await engaged('a');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance());
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    a.silent = true;
    await rig.hub.remove('kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop', '');
    await rig.hub.rest(60_000);
    expect(rig.hub.stored('kro.run/resourcegraphdefinitions/-/shop')).toBeDefined();
    await rig.withdraw('a');
    await rig.hub.until(
      () => rig.hub.stored('kro.run/resourcegraphdefinitions/-/shop') === undefined,
      'the definition is gone',
    );
    expect(shopOn(a)).toBeDefined();
  });

  it('goes on after a restart of the hub, and is shown as it is if it was withdrawn meanwhile', async () => {
    const [a] = (await open('a', 'b')) as [BareCluster];
    const first = rig.start();
    await engaged('a');
    await engaged('b');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance({ colour: 'red' }));
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    await rig.stop(first);
    expect([a.connections, a.watches]).toEqual([0, 0]);
    expect(rig.stateOf('a')).toBe('Ready');
    await rig.withdraw('b');
    await a.write(shopInstance({ colour: 'blue' }));
    const writes = rig.hub.audit.length;
    rig.start();
    await rig.hub.until(() => dataOf(mapOn(a))['colour'] === 'blue', 'went on');
    await rig.untilState('b', 'Disengaged');
    await rig.hub.rest(30_000);
    // At rest it is asked now and then whether it is there, and nothing else.
    const asked = (): number[] => [
      a.audit.filter(({ requestURI }) => requestURI !== '/version').length,
      rig.hub.audit.length,
    ];
    const now = asked();
    expect(now[1]).toBeGreaterThan(writes);
    await rig.hub.rest(300_000);
    expect(asked()).toEqual(now);
  });

  it('is shown again, with what it has, when somebody deletes or changes what shows it', async () => {
    await open('a');
    rig.start();
    await engaged('a');
    await served(SHOP);
    await rig.hub.until(() => graphsOf('a')[0]?.state === 'Active', 'served');
    await rig.hub.remove('atoll.dev/v1alpha1', 'EngagedCluster', 'a', '');
    await rig.hub.until(() => graphsOf('a')[0]?.state === 'Active', 'shown again');
    const views = resourceIdOf(ENGAGED_CLUSTER);
    const nothing = { status: { graphs: null } };
    await rig.hub.run(rig.hub.client.patch(views, '', 'a', 'merge', nothing, { subresource: 'status' }));
    await rig.hub.until(() => graphsOf('a')[0]?.state === 'Active', 'put right');
    await rig.withdraw('a');
    await rig.untilState('a', 'Disengaged');
    await rig.hub.remove('atoll.dev/v1alpha1', 'EngagedCluster', 'a', '');
    await rig.hub.rest(60_000);
    expect(rig.view('a')).toBeUndefined();
    // What somebody made up stands for nothing.
    await rig.hub.write({
      ...{ apiVersion: 'atoll.dev/v1alpha1', kind: 'EngagedCluster', metadata: { name: 'x' } },
      spec: { cluster: 'a\nb', provider: '' },
    } as never);
    await engaged('a');
  });

  it('[R169] belongs to one hub: another one is refused its kinds and told so, until they are free', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await engaged('a');
    await served(SHOP);
    await rig.hub.until(() => graphsOf('a')[0]?.state === 'Active', 'served');
    await a.write(shopInstance({ colour: 'red' }));
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    const by = kindOn(a)?.metadata.annotations?.['atoll.dev/engaged-by'];
    expect(by).toBeDefined();
    const crd = (hub: string | null): Promise<unknown> =>
      rig.hub.run(
        a.client.patch(customResourceDefinitions, '', 'shops.kro.run', 'merge', {
          metadata: { annotations: { 'atoll.dev/engaged-by': hub } },
        }),
      );
    await crd('of-somebody-else');
    await rig.hub.until(
      () => graphsOf('a')[0]?.message?.includes('another hub (of-somebody-else)') === true,
      'told',
    );
    const writes = (): number =>
      a.audit.filter(
        ({ verb, user }) => user.username.startsWith('engine-') && !['get', 'list', 'watch'].includes(verb),
      ).length;
    const before = writes();
    await a.write(shopInstance({ colour: 'blue' }));
    await served(shopDefinition([configMap('app', '${schema.metadata.name}-app', { colour: 'green' })]));
    await rig.hub.rest(60_000);
    expect(writes()).toBe(before);
    expect(dataOf(mapOn(a))['colour']).toBe('red');
    await crd(null);
    await rig.hub.until(() => dataOf(mapOn(a))['colour'] === 'green', 'taken up');
    expect(kindOn(a)?.metadata.annotations?.['atoll.dev/engaged-by']).toBe(by);
  });

  it('gets the revision that a rollout pins it to', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    rig.start();
    await engaged('a');
    await engaged('b');
    await served(SHOP);
    await served(
      shopDefinition([configMap('app', '${schema.metadata.name}-app', { colour: 'always green' })]),
    );
    await rig.hub.write({
      ...{ apiVersion: 'atoll.dev/v1alpha1', kind: 'RGDRollout', metadata: { name: 'shop' } },
      spec: { graph: 'shop', pins: [{ clusterSelector: { matchLabels: { site: 'b' } }, revision: 1 }] },
    });
    for (const cluster of [a, b]) {
      await rig.hub.until(() => kindOn(cluster) !== undefined, 'the kind');
      await cluster.write(shopInstance({ colour: 'blue' }));
    }
    await rig.hub.until(() => dataOf(mapOn(a))['colour'] === 'always green', 'a');
    await rig.hub.until(() => dataOf(mapOn(b))['colour'] === 'blue', 'b');
    await rig.hub.until(() => graphsOf('b')[0]?.revision === 1, 'shown');
  });

  it('[R131] has the same instance as the hub itself, apart from it', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await engaged('a');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await rig.hub.write(shopInstance({ colour: 'of the hub' }));
    await a.write(shopInstance({ colour: 'of a' }));
    const onHub = (): Record<string, string> => dataOf(rig.hub.stored('core/configmaps/default/one-app'));
    await rig.hub.until(() => onHub()['colour'] === 'of the hub', 'the hub');
    await rig.hub.until(() => dataOf(mapOn(a))['colour'] === 'of a', 'a');
    await a.remove('kro.run/v1alpha1', 'Shop', 'one');
    await rig.hub.until(() => mapOn(a) === undefined, 'gone on a');
    expect(onHub()['colour']).toBe('of the hub');
    expect(() => clusterName('')).toThrow('that is the local one');
  });

  it('[R130] has its name in each of its metrics, and log lines', async () => {
    const [a] = (await open('a')) as [BareCluster];
    const lines: Record<string, unknown>[] = [];
    const log = (fields: Record<string, unknown>): Logger => {
      const add = (message: string, more = {}): void => void lines.push({ ...fields, ...more, message });
      return { debug: add, info: add, warn: add, error: add, with: (more) => log({ ...fields, ...more }) };
    };
    const metrics = createMetrics();
    rig.start({}, { ...rig.hub.runtime, metrics, log: log({}) });
    await engaged('a');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance());
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    const series = metrics
      .text()
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(series.filter((line) => line.startsWith('instance_')).length).toBeGreaterThan(3);
    expect(series.filter((line) => !/[{,]cluster="a"/.test(line))).toEqual([]);
    const ofGraphs = lines.filter(({ controller }) => controller === 'graph instances');
    expect(ofGraphs.every(({ cluster }) => cluster === 'a')).toBe(true);
    expect(lines.some(({ informer, cluster }) => informer === 'shops' && cluster !== 'a')).toBe(false);
    // A text is no name of a cluster until it was looked at.
    const name: ClusterName = clusterName('a');
    // @ts-expect-error a plain text is none
    const plain: ClusterName = 'a';
    expect(name).toBe(plain);
    // The hub's own series have no label, which to Prometheus is the empty name of the local cluster.
    expect(rig.hub.graphs?.metrics()).not.toContain('cluster="');
  });
});

describe('the series of an engaged cluster', () => {
  it('leave /metrics with it, and begin anew when it is back', async () => {
    const [a] = (await open('a', 'b')) as [BareCluster];
    const metrics = createMetrics();
    rig.start({}, { ...rig.hub.runtime, metrics });
    await served(SHOP);
    await engaged('a');
    await engaged('b');
    const of = (name: string): string[] =>
      metrics
        .text()
        .split('\n')
        .filter((line) => new RegExp(`[{,]cluster="${name}"`).test(line));
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance());
    await rig.hub.until(() => stateOf(shopOn(a)) === 'ACTIVE', 'the instance');
    expect([of('a').length > 20, of('b').length > 20]).toEqual([true, true]);
    await rig.withdraw('a');
    await rig.untilState('a', 'Disengaged');
    await rig.hub.rest(60_000);
    expect(of('a')).toEqual([]);
    expect(of('b').length).toBeGreaterThan(20);
    await engaged('a');
    expect(of('a').length).toBeGreaterThan(10);
  });
});
