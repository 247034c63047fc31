// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import {
  ENGAGED_CLUSTER,
  knownClusters,
  namespaceClusters,
  severalProviders,
  workerOf,
} from '../../src/hub/engaged/index.ts';
import { type ClusterName, clusterName } from '../../src/kube/cluster-name.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions } from '../../src/kube/well-known.ts';
import type { Logger } from '../../src/runtime/index.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import { type BareCluster, type EngagedRig, SECRETS_NAMESPACE, startEngagedRig } from './engaged-rig.ts';
import { configMap, dataOf, shopDefinition, shopInstance, shopWords, stateOf } from './graph-cluster.ts';

let rig: EngagedRig;
const { served } = shopWords(() => rig.hub);
afterEach(() => rig.close());

const SHOP = shopDefinition([
  configMap('app', '${schema.metadata.name}-app', { colour: '${schema.spec.colour}' }),
]);

const shops = {
  ...{ group: 'kro.run', version: 'v1alpha1', resource: 'shops', kind: 'Shop', namespaced: true },
};
const shopOn = (cluster: BareCluster, name = 'one') => cluster.stored(`kro.run/shops/default/${name}`);
const mapOn = (cluster: BareCluster, name = 'one-app') => cluster.stored(`core/configmaps/default/${name}`);
const kindOn = (cluster: BareCluster) =>
  cluster.stored('apiextensions.k8s.io/customresourcedefinitions/-/shops.kro.run');
const statusOf = (name: string): { state?: string; message?: string; worker?: string } =>
  rig.view(name)?.['status'] ?? {};
const graphsOf = (name: string): { name: string; state: string; message?: string; revision?: number }[] =>
  ((rig.view(name)?.['status'] ?? {}) as { graphs?: { name: string; state: string }[] }).graphs ?? [];

async function open(...names: string[]): Promise<BareCluster[]> {
  rig = await startEngagedRig(names);
  return names.map((name) => rig.cluster(name));
}

async function engaged(name: string): Promise<void> {
  await rig.credential(name);
  await rig.untilState(name, 'Ready');
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
    await rig.hub.rest(60_000);
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

describe('clusters of several providers', () => {
  it('[R118] are served alike: namespaces of one server, and those that are in this process', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    for (const name of ['east', 'west'])
      await a.write({ apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: { cluster: 'yes' } } });
    const known = knownClusters();
    const provider = severalProviders({
      lab: namespaceClusters({ client: a.client, label: 'cluster=yes' }),
      here: known.provider,
    });
    rig.start({ provider });
    known.set('ünï/b', {
      ...{ digest: '1', labels: {} },
      connect: async () => ({ handler: b.client.handler, place: 'b', close: () => undefined }),
    });
    for (const name of ['lab#east', 'lab#west', 'here#ünï/b']) await rig.untilState(name, 'Ready');
    await served(SHOP);
    await rig.hub.until(() => kindOn(a) !== undefined && kindOn(b) !== undefined, 'the kinds');
    await b.write(shopInstance({ colour: 'of b' }));
    for (const namespace of ['east', 'west'])
      await a.write(shopInstance({ colour: `of ${namespace}` }, 'one', { namespace }));
    const map = (namespace: string): Record<string, string> =>
      dataOf(a.stored(`core/configmaps/${namespace}/one-app`));
    await rig.hub.until(() => map('east')['colour'] === 'of east', 'east');
    await rig.hub.until(() => map('west')['colour'] === 'of west', 'west');
    await rig.hub.until(() => dataOf(mapOn(b))['colour'] === 'of b', 'b');
    expect(mapOn(a)).toBeUndefined();
    known.remove('ünï/b');
    await rig.untilState('here#ünï/b', 'Disengaged');
    expect(rig.stateOf('lab#east')).toBe('Ready');
    await rig.hub.run(a.client.delete(shops, 'east', 'one'));
    await rig.hub.until(() => Object.keys(map('east')).length === 0, 'gone in east');
    expect(map('west')['colour']).toBe('of west');
  });
});

describe('the rights on an engaged cluster', () => {
  const role = (name: string, rules: object[]): KubeObject =>
    ({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name }, rules },
    }) as never;
  const bind = (name: string, user: string): KubeObject =>
    ({
      ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding', metadata: { name } },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
    }) as never;
  const BOTH = shopDefinition([
    configMap('app', '${schema.metadata.name}-app', { colour: '${schema.spec.colour}' }),
    {
      id: 'key',
      template: { apiVersion: 'v1', kind: 'Secret', metadata: { name: '${schema.metadata.name}-key' } },
    },
  ]);
  const ALL = ['get', 'list', 'watch', 'create', 'patch', 'update', 'delete'];

  it('[R171] are those of its credential: a kind that it may not write is refused and told there and at the hub', async () => {
    const [a] = (await open('a')) as [BareCluster];
    a.users.set('one', { name: 'graphs', groups: ['system:authenticated'] });
    await a.write(
      role('graphs', [
        { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ALL },
        { apiGroups: ['kro.run'], resources: ['*'], verbs: ALL },
        { apiGroups: [''], resources: ['configmaps'], verbs: ALL },
        { apiGroups: [''], resources: ['secrets'], verbs: ['get', 'list', 'watch'] },
        { nonResourceURLs: ['*'], verbs: ['get'] },
      ]),
    );
    await a.write(bind('graphs', 'graphs'));
    rig.start();
    await engaged('a');
    await served(BOTH);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance());
    await rig.hub.until(() => mapOn(a) !== undefined, 'what is allowed');
    await rig.hub.until(() => /forbidden/.test(JSON.stringify(shopOn(a)?.['status'] ?? '')), 'told there');
    await rig.hub.until(() => /forbidden/.test(graphsOf('a')[0]?.message ?? ''), 'told at the hub');
    expect(graphsOf('a')[0]?.message).toContain('secrets');
    expect(a.stored('core/secrets/default/one-key')).toBeUndefined();
  });

  it('[R171] are, for the objects of an instance, those of a user of its graph and namespace', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await a.write(role('shop-of-default', [{ apiGroups: [''], resources: ['configmaps'], verbs: ALL }]));
    await a.write(bind('shop-of-default', 'graph:default:shop'));
    rig.start({ actAs: (graph, namespace) => `graph:${namespace}:${graph}` });
    await engaged('a');
    await served(BOTH);
    await rig.hub.until(() => kindOn(a) !== undefined, 'the kind');
    await a.write(shopInstance());
    await rig.hub.until(() => mapOn(a) !== undefined, 'what is allowed');
    await rig.hub.until(() => /forbidden/.test(graphsOf('a')[0]?.message ?? ''), 'told at the hub');
    expect(a.stored('core/secrets/default/one-key')).toBeUndefined();
    // Removal has no more rights.
    await a.remove('kro.run/v1alpha1', 'Shop', 'one');
    await rig.hub.until(() => shopOn(a) === undefined, 'gone');
    const written = a.audit.filter(
      ({ verb, objectRef }) =>
        ['patch', 'create', 'delete'].includes(verb) && objectRef?.resource === 'configmaps',
    );
    expect(new Set(written.map(({ impersonatedUser }) => impersonatedUser?.username))).toEqual(
      new Set(['graph:default:shop']),
    );
  });
});

describe('replicas of a hub', () => {
  const NAMES = ['a', 'b', 'c', 'd', 'e', 'f'];
  const worker = (identity: string) => ({ identity, namespace: SECRETS_NAMESPACE });
  const workerOn = (name: string): string | undefined => statusOf(name).worker;

  it('[R170] share the clusters; one that comes or goes moves its own only, and each has one worker at a time', async () => {
    const clusters = await open(...NAMES);
    await served(SHOP);
    for (const name of NAMES) await rig.credential(name);
    const [one] = [rig.start({ worker: worker('one') })];
    const two = rig.start({ worker: worker('two') });
    const all = (): (string | undefined)[] => NAMES.map(workerOn);
    const ready = (): boolean => NAMES.every((name) => rig.stateOf(name) === 'Ready');
    const expected = (workers: string[]): (string | undefined)[] =>
      NAMES.map((name) => workerOf(clusterName(name), workers));
    const settled = (workers: string[]) =>
      rig.hub.until(
        () => ready() && JSON.stringify(all()) === JSON.stringify(expected(workers)),
        `shared by ${workers.join()}`,
        120_000,
      );
    await settled(['one', 'two']);
    const before = all();
    // Each cluster is connected to once: nobody else works there.
    expect(clusters.map(({ connections }) => connections)).toEqual(NAMES.map(() => 1));

    rig.start({ worker: worker('three') });
    await settled(['one', 'two', 'three']);
    const after = all();
    // What moved went to the one that came.
    after.forEach((now, index) => {
      if (now !== before[index]) expect(now).toBe('three');
    });
    expect(clusters.map(({ connections }) => connections)).toEqual(NAMES.map(() => 1));

    // One cluster goes: the others are not touched.
    const tokens = clusters.map(({ tokens: { length } }) => length);
    await rig.withdraw('a');
    await rig.untilState('a', 'Disengaged');
    await rig.hub.rest(60_000);
    expect(clusters.slice(1).map(({ tokens: { length } }) => length)).toEqual(tokens.slice(1));
    expect(NAMES.slice(1).every((name) => rig.stateOf(name) === 'Ready')).toBe(true);
    await rig.credential('a');

    // One that stops gives its clusters away, and only those move.
    await rig.stop(two);
    await settled(['one', 'three']);
    all().forEach((now, index) => {
      if (after[index] !== 'two') expect(now).toBe(after[index]);
    });
    await rig.stop(one);
    await settled(['three']);
  });

  it('[R170] take the clusters of one that died over when its Leases ended, and never before', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.credential('a');
    const dying = new AbortController();
    const client = {
      ...rig.hub.client,
      handler: rig.hub.client.handler,
    };
    const cut = <T extends object>(target: T): T =>
      new Proxy(target, {
        get(of, key, receiver) {
          const value = Reflect.get(of, key, receiver);
          if (typeof value !== 'function') return value;
          return (...args: unknown[]) => {
            if (dying.signal.aborted) throw new Error('the network is cut');
            return (value as (...all: unknown[]) => unknown).apply(of, args);
          };
        },
      });
    rig.start({ worker: worker('one'), client: cut(client) });
    await rig.untilState('a', 'Ready');
    expect(workerOn('a')).toBe('one');
    const identity = NAMES.map((name) => `two-${name}`).find(
      (name) => workerOf(clusterName('a'), ['one', name]) === 'one',
    ) as string;
    rig.start({ worker: worker(identity) });
    await rig.hub.rest(30_000);
    expect(workerOn('a')).toBe('one');
    dying.abort();
    // It may still reach the cluster: it stops by itself before its Lease ends.
    await rig.hub.rest(25_000);
    expect(a.connections).toBe(0);
    await rig.hub.until(
      () => workerOn('a') === identity && rig.stateOf('a') === 'Ready',
      'taken over',
      60_000,
    );
    expect(a.connections).toBe(1);
  });
});
