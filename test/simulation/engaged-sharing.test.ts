// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import { knownClusters, namespaceClusters, severalProviders, workerOf } from '../../src/hub/engaged/index.ts';
import { clusterName } from '../../src/kube/cluster-name.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { type BareCluster, type EngagedRig, SECRETS_NAMESPACE, startEngagedRig } from './engaged-rig.ts';
import { engagedWords, kindOn, mapOn, SHOP, shopOn, shops } from './engaged-words.ts';
import { configMap, dataOf, shopDefinition, shopInstance, shopWords } from './graph-cluster.ts';

let rig: EngagedRig;
afterEach(() => rig.close());
const { statusOf, graphsOf, engaged } = engagedWords(() => rig);

const { served } = shopWords(() => rig.hub);

async function open(...names: string[]): Promise<BareCluster[]> {
  rig = await startEngagedRig(names);
  return names.map((name) => rig.cluster(name));
}

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
