// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import { knownClusters } from '../../src/hub/engaged/index.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { createMetrics } from '../../src/runtime/metrics.ts';
import {
  type BareCluster,
  type EngagedRig,
  kubeconfigOf,
  SECRETS_NAMESPACE,
  startEngagedRig,
} from './engaged-rig.ts';
import {
  configMap,
  dataOf,
  ENGINE_USER,
  shopDefinition,
  shopInstance,
  shopWords,
  stateOf,
} from './graph-cluster.ts';

let rig: EngagedRig;
const { served, shop } = shopWords(() => rig.hub);
afterEach(() => rig.close());

async function open(...names: string[]): Promise<BareCluster[]> {
  rig = await startEngagedRig(names);
  return names.map((name) => rig.cluster(name));
}

const SHOP = shopDefinition([
  configMap('app', '${schema.metadata.name}-app', { colour: '${schema.spec.colour}' }),
  configMap('more', '${schema.metadata.name}-more', { of: '${app.metadata.name}' }),
]);
const far = (secret: string): object =>
  shopDefinition([
    {
      ...configMap('app', '${schema.metadata.name}-app', { colour: '${schema.spec.colour}' }),
      target: { cluster: { kubeconfigSecretName: secret } },
    },
    {
      ...configMap('more', '${schema.metadata.name}-more', { of: '${app.data.colour}' }),
      target: { cluster: { kubeconfigSecretName: secret } },
    },
  ]);
const shopOn = (cluster: BareCluster, name = 'one') => cluster.stored(`kro.run/shops/default/${name}`);
const mapOn = (cluster: BareCluster, name = 'one-app') => cluster.stored(`core/configmaps/default/${name}`);
const own = (cluster: BareCluster): string[] =>
  cluster
    .below('core/configmaps/default')
    .map(({ metadata: { name = '' } }) => name)
    .filter((name) => name !== 'kube-root-ca.crt');
const kindOn = (cluster: BareCluster) =>
  cluster.stored('apiextensions.k8s.io/customresourcedefinitions/-/shops.kro.run');
const until = (what: string, condition: () => boolean, limitMs?: number): Promise<void> =>
  rig.hub.until(condition, what, limitMs);
const remotes = () => rig.hub.below('atoll.dev/remoteobjects/-');

async function secret(name: string, kubeconfig: string, labels: Record<string, string> = {}): Promise<void> {
  await rig.hub.write({
    ...{ apiVersion: 'v1', kind: 'Secret' },
    metadata: { name, namespace: SECRETS_NAMESPACE, labels },
    data: { kubeconfig: Buffer.from(kubeconfig).toString('base64') },
  });
}
const LABEL = { 'multicluster.runtime/cluster': 'true' };

describe('graphs that the hub runs elsewhere', () => {
  it('leak nothing where the hub dies between any two writes on a cluster', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.credential('a');
    await served(SHOP);
    let begun = rig.start();
    await until('the kind', () => kindOn(a) !== undefined);
    for (let writes = 0; writes < 9; writes += 1) {
      const name = `i${writes}`;
      a.writesLeft = writes;
      await a.write(shopInstance({ colour: 'red' }, name));
      await rig.hub.rest(3_000);
      await rig.stop(begun);
      a.writesLeft = Number.POSITIVE_INFINITY;
      begun = rig.start();
      await until(`${name} is active`, () => stateOf(shopOn(a, name)) === 'ACTIVE', 120_000);
      expect(own(a).sort()).toEqual([`${name}-app`, `${name}-more`]);
      a.writesLeft = writes % 5;
      await a.remove('kro.run/v1alpha1', 'Shop', name);
      await rig.hub.rest(3_000);
      await rig.stop(begun);
      a.writesLeft = Number.POSITIVE_INFINITY;
      begun = rig.start();
      await until(`${name} is gone`, () => shopOn(a, name) === undefined, 120_000);
      expect(own(a)).toEqual([]);
    }
  });

  it('leak nothing of a target where the hub dies between any two writes there', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.credential('a');
    let begun = await rig.startTargets();
    await served(far('a') as never);
    for (let writes = 0; writes < 4; writes += 1) {
      const name = `i${writes}`;
      a.writesLeft = writes;
      await rig.hub.write(shopInstance({ colour: 'red' }, name));
      await rig.hub.rest(3_000);
      await rig.stop(begun);
      a.writesLeft = Number.POSITIVE_INFINITY;
      begun = await rig.startTargets();
      await until(`${name} is active`, () => stateOf(shop(name)) === 'ACTIVE', 120_000);
      expect(own(a).sort()).toEqual([`${name}-app`, `${name}-more`]);
      a.writesLeft = writes % 3;
      await rig.hub.remove('kro.run/v1alpha1', 'Shop', name);
      await rig.hub.rest(3_000);
      await rig.stop(begun);
      a.writesLeft = Number.POSITIVE_INFINITY;
      begun = await rig.startTargets();
      await until(`${name} is gone`, () => shop(name) === undefined, 120_000);
      expect([own(a), remotes()]).toEqual([[], []]);
    }
  });

  it('leak nothing of a target where the hub dies between any two writes of its own', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.credential('a');
    let left = Number.POSITIVE_INFINITY;
    const handle = rig.hub.server.as({ ...ENGINE_USER, groups: [...ENGINE_USER.groups] });
    const client = createClient(async (request) => {
      const writes = request.method !== 'GET' && !request.path.includes('accessreviews');
      if (writes && left <= 0) throw new Error('the process died');
      if (writes) left -= 1;
      return handle(request);
    });
    let begun = await rig.startTargets({ client });
    await served(far('a') as never);
    for (let writes = 0; writes < 7; writes += 1) {
      const name = `i${writes}`;
      for (const wish of ['there', 'gone']) {
        left = writes;
        if (wish === 'there') await rig.hub.write(shopInstance({ colour: 'red' }, name));
        else await rig.hub.remove('kro.run/v1alpha1', 'Shop', name);
        await rig.hub.rest(3_000);
        await rig.stop(begun);
        left = Number.POSITIVE_INFINITY;
        begun = await rig.startTargets({ client });
        if (wish === 'there') await until('active', () => stateOf(shop(name)) === 'ACTIVE', 120_000);
        else await until('gone', () => shop(name) === undefined, 120_000);
      }
      expect([own(a), remotes()]).toEqual([[], []]);
    }
  });

  it('get off a connection that hangs, engaged and targeted, over one new one', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await rig.startTargets();
    await rig.credential('a');
    await served(far('a') as never);
    await rig.untilState('a', 'Ready');
    await rig.hub.write(shopInstance({ colour: 'red' }));
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    expect(a.connections).toBe(1);
    a.hang();
    await rig.hub.write(shopInstance({ colour: 'green' }));
    await until('it goes on', () => dataOf(mapOn(a))['colour'] === 'green', 240_000);
    await until('ready', () => rig.stateOf('a') === 'Ready' && stateOf(shop()) === 'ACTIVE', 240_000);
    await rig.hub.rest(120_000);
    expect([a.connections, rig.clients.size]).toEqual([1, 1]);
  });

  it('have one worker for the targets, and another when that one ends', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.credential('a');
    const worker = (identity: string): object => ({ worker: { identity, namespace: SECRETS_NAMESPACE } });
    const one = await rig.startTargets(worker('one'));
    await rig.startTargets(worker('two'));
    await served(far('a') as never);
    await rig.hub.write(shopInstance({ colour: 'red' }));
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    expect(a.tokens.length).toBe(1);
    await rig.stop(one);
    await rig.hub.write(shopInstance({ colour: 'green' }));
    await until('the other goes on', () => dataOf(mapOn(a))['colour'] === 'green', 120_000);
    expect([a.connections, own(a).length]).toEqual([1, 2]);
  });

  it('follow a Secret that leads to another cluster, and back', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    rig.start();
    await secret('site', kubeconfigOf('a', 'one'), LABEL);
    await served(SHOP);
    await until('the kind on a', () => kindOn(a) !== undefined);
    await a.write(shopInstance({ colour: 'red' }));
    await until('active on a', () => stateOf(shopOn(a)) === 'ACTIVE');
    await secret('site', kubeconfigOf('b', 'one'), LABEL);
    await until('the kind on b', () => kindOn(b) !== undefined);
    await b.write(shopInstance({ colour: 'blue' }));
    await until('active on b', () => stateOf(shopOn(b)) === 'ACTIVE');
    expect([a.connections, b.connections]).toEqual([0, 1]);
    expect([dataOf(mapOn(a))['colour'], dataOf(mapOn(b))['colour']]).toEqual(['red', 'blue']);
    await a.write(shopInstance({ colour: 'green' }));
    await secret('site', kubeconfigOf('a', 'two'), LABEL);
    await until('a goes on', () => dataOf(mapOn(a))['colour'] === 'green');
    await until('ready', () => rig.stateOf('site') === 'Ready');
    expect([a.connections, b.connections]).toEqual([1, 0]);
  });

  it('come to rest where two names lead to one cluster', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    for (const name of ['first', 'second']) await secret(name, kubeconfigOf('a', 'same'), LABEL);
    await served(SHOP);
    await until('the kind', () => kindOn(a) !== undefined);
    await a.write(shopInstance({ colour: 'red' }));
    await until('active', () => stateOf(shopOn(a)) === 'ACTIVE');
    expect(a.connections).toBe(1);
    await rig.hub.rest(60_000);
    expect([rig.stateOf('first'), rig.stateOf('second')].sort()).toEqual(['AlreadyEngaged', 'Ready']);
    const writes = a.audit.filter(({ verb }) =>
      ['create', 'update', 'patch', 'delete'].includes(verb),
    ).length;
    await rig.hub.rest(600_000);
    const later = a.audit.filter(({ verb }) => ['create', 'update', 'patch', 'delete'].includes(verb)).length;
    expect(later).toBe(writes);
    await a.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shopOn(a) === undefined && own(a).length === 0);
  });

  it('refuse Secrets of a mebibyte, of nothing and of nonsense, and say no word of them', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await rig.startTargets();
    const big = 'hidden'.repeat(170_000).slice(0, 1_000_000 * 0.7);
    const deep = `${'['.repeat(100_000)}`;
    const bomb = [
      'a0: &a0 [x,x,x,x,x,x,x,x,x]',
      ...Array.from({ length: 9 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(9)}]`),
    ].join('\n');
    const texts = { big, deep, bomb, none: '', padded: `# ${big}\n${kubeconfigOf('a', 'one')}` };
    for (const [name, text] of Object.entries(texts)) await secret(name, text, LABEL);
    for (const name of ['big', 'deep', 'bomb', 'none'])
      await until(`${name} is refused`, () => rig.stateOf(name) === 'Refused', 120_000);
    await until('padded is judged', () => ['Ready', 'Refused'].includes(rig.stateOf('padded')), 120_000);
    for (const name of Object.keys(texts)) {
      const said = JSON.stringify(rig.view(name)?.['status']);
      expect(said).not.toContain('hidden');
      expect(said.length).toBeLessThan(1_500);
    }
    await rig.withdraw('padded');
    await rig.credential('a');
    await rig.untilState('a', 'Ready');
    await served(far('bomb') as never);
    await rig.hub.write(shopInstance());
    await until('told', () => JSON.stringify(shop()?.['status']).includes('is of no use'));
    expect(a.connections).toBe(1);
  });

  it('know clusters by names of any script', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    const known = knownClusters();
    const metrics = createMetrics();
    rig.start({ provider: known.provider }, { ...rig.hub.runtime, metrics });
    const names = ['Zürich/東京 "1"\\', 'zürich/東京 "1"\\'];
    for (const [index, name] of names.entries())
      known.set(
        name,
        rig.clients.accessOf({ text: kubeconfigOf(index === 0 ? 'a' : 'b', 'one'), labels: {} }),
      );
    await served(SHOP);
    for (const cluster of [a, b]) {
      await until('the kind', () => kindOn(cluster) !== undefined);
      await cluster.write(shopInstance({ colour: 'red' }));
      await until('active', () => stateOf(shopOn(cluster)) === 'ACTIVE');
    }
    for (const name of names) await rig.untilState(name, 'Ready');
    const views = rig.hub.below('atoll.dev/engagedclusters/-');
    expect(views.map(({ spec }) => (spec as { cluster: string }).cluster).sort()).toEqual(names.toSorted());
    expect(metrics.text()).toContain('cluster="Zürich/東京 \\"1\\"\\\\"');
    for (const name of names) known.remove(name);
    await until('let go of', () => a.connections + b.connections === 0);
    await rig.hub.rest(60_000);
    expect(metrics.text()).not.toContain('東京');
  });

  it('are on fifty clusters, of which one is silent, one is no cluster and one dies', async () => {
    const names = Array.from({ length: 50 }, (_, index) => `c${index}`);
    const clusters = await open(...names.slice(0, 49));
    rig.start();
    const [silent, dying, ...others] = clusters as [BareCluster, BareCluster, ...BareCluster[]];
    silent.silent = true;
    for (const name of names.slice(0, 49)) await rig.credential(name);
    await secret('c49', 'no kubeconfig', LABEL);
    await served(SHOP);
    await until('all have the kind', () =>
      [dying, ...others].every((cluster) => kindOn(cluster) !== undefined),
    );
    dying.silent = true;
    for (const cluster of others) await cluster.write(shopInstance({ colour: 'red' }));
    await until('all are active', () => others.every((cluster) => stateOf(shopOn(cluster)) === 'ACTIVE'));
    await until(
      'the others are shown',
      () => rig.stateOf('c0') === 'Unreachable' && rig.stateOf('c49') === 'Refused',
      120_000,
    );
    await until('dead', () => rig.stateOf('c1') === 'Unreachable', 180_000);
    for (const cluster of [silent, dying]) cluster.silent = false;
    await until(
      'both are back',
      () => [silent, dying].every((cluster) => kindOn(cluster) !== undefined),
      180_000,
    );
    await until('ready', () => names.slice(0, 49).every((name) => rig.stateOf(name) === 'Ready'), 180_000);
    // Definitions, kinds, instances, two of the graph: no more watches where nothing is.
    expect(Math.max(...clusters.map(({ watches }) => watches))).toBeLessThanOrEqual(4);
  });
});
