// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import {
  type BareCluster,
  type EngagedRig,
  kubeconfigOf,
  SECRETS_NAMESPACE,
  startEngagedRig,
} from './engaged-rig.ts';
import { configMap, dataOf, shopDefinition, shopInstance, shopWords, stateOf } from './graph-cluster.ts';

let rig: EngagedRig;
const { served, shop, rgd } = shopWords(() => rig.hub);
afterEach(() => rig.close());

async function open(...names: string[]): Promise<BareCluster[]> {
  rig = await startEngagedRig(names);
  return names.map((name) => rig.cluster(name));
}

const at = (kubeconfigSecretName: string, more: object = {}): { target: object } => ({
  target: { cluster: { kubeconfigSecretName, ...more } },
});
const node = (id: string, secret: string | undefined, data: object, more: object = {}): object => ({
  ...configMap(id, `\${schema.metadata.name}-${id}`, data),
  ...(secret === undefined ? {} : at(secret)),
  ...more,
});
const mapOn = (cluster: BareCluster, name: string) => cluster.stored(`core/configmaps/default/${name}`);
const remotes = (): KubeObject[] => rig.hub.below('atoll.dev/remoteobjects/-');
const MAP = { apiVersion: 'v1', kind: 'ConfigMap' };
const RBAC = 'rbac.authorization.k8s.io/v1';
const WIDGET = { apiVersion: 'example.com/v1', kind: 'Widget', metadata: { name: 'w' } };
const WIDGETS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    ...{ group: 'example.com', scope: 'Namespaced' },
    names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

/** A Secret of that name with any text for a kubeconfig. */
async function secret(name: string, text: string): Promise<void> {
  const kubeconfig = Buffer.from(text).toString('base64');
  await rig.hub.write({
    ...{ apiVersion: 'v1', kind: 'Secret', data: { kubeconfig } },
    metadata: { name, namespace: SECRETS_NAMESPACE },
  });
}

const accepted = (): string => {
  const { conditions = [] } = (rgd()?.['status'] ?? {}) as {
    conditions?: { type: string; message: string }[];
  };
  return conditions.find(({ type }) => type === 'GraphAccepted')?.message ?? '';
};
const shown = (): string =>
  JSON.stringify(
    [rgd()?.['status'], shop()?.['status'], remotes().map((item) => item['status'])],
    undefined,
    1,
  );
const until = (what: string, condition: () => boolean, limitMs?: number): Promise<void> =>
  rig.hub.until(condition, what, limitMs).catch((error: unknown) => {
    throw new Error(shown(), { cause: error });
  });
const ready = (): { status: string; reason: string; message: string } | undefined =>
  (
    (rgd()?.['status'] ?? {}) as {
      conditions?: { type: string; status: string; reason: string; message: string }[];
    }
  ).conditions?.find(({ type }) => type === 'KubeconfigTargetsReady');

describe('a graph with a target by a kubeconfig Secret', () => {
  it('[R132] shares the connection of an engaged cluster, and values come back', async () => {
    const [a] = (await open('a')) as [BareCluster];
    rig.start();
    await rig.startTargets();
    await rig.credential('a');
    await rig.untilState('a', 'Ready');
    expect(a.connections).toBe(1);
    await served(
      shopDefinition([
        node('far', 'a', { colour: '${schema.spec.colour}' }),
        node('near', undefined, { copy: '${far.data.colour}' }),
      ]),
    );
    await until('the condition', () => ready()?.status === 'True');
    await rig.hub.write(shopInstance({ colour: 'blue' }));
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    expect(dataOf(mapOn(a, 'one-far'))).toEqual({ colour: 'blue' });
    expect(dataOf(rig.hub.stored('core/configmaps/default/one-near'))).toEqual({ copy: 'blue' });
    expect([a.connections, rig.clients.size]).toEqual([1, 1]);
    // Nobody needs it for a target any more: the engaged cluster goes on with it.
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shop() === undefined);
    expect(mapOn(a, 'one-far')).toBeUndefined();
    expect(remotes()).toEqual([]);
    expect([a.connections, rig.clients.size]).toEqual([1, 1]);
  });

  it('[R140] says of a definition what is wrong with a Secret that it names', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.startTargets();
    await served(shopDefinition([node('far', 'a', { colour: 'x' })]));
    const told = (reason: string, message: string): Promise<void> =>
      until(reason, () => ready()?.reason === reason && (ready()?.message ?? '').includes(message));
    await told('TargetMissing', 'there is no Secret kro-system/a');
    await secret('a', 'no kubeconfig, but hidden');
    await told('TargetMalformed', 'the Secret kro-system/a is of no use');
    expect(ready()?.message).not.toContain('hidden');
    a.silent = true;
    await rig.credential('a');
    await told('TargetUnreachable', 'is not to be reached now');
    a.silent = false;
    a.users.set('poor', { name: 'poor', groups: ['system:authenticated'] });
    await rig.credential('a', 'poor');
    const there = { metadata: { name: 'fixed', namespace: 'default' } };
    await served(shopDefinition([{ ...node('far', 'a', {}), template: { ...MAP, ...there } }]));
    await told(
      'TargetForbidden',
      'its user may not get, list, watch, create, patch, delete v1 ConfigMap there',
    );
    await rig.credential('a', 'rich');
    await until('all right', () => ready()?.status === 'True', 120_000);
    await rig.hub.write(WIDGETS as never);
    await served(shopDefinition([{ id: 'far', ...at('a'), template: WIDGET }]));
    await told('KindAbsent', 'the cluster does not serve example.com/v1 Widget');
    await a.write(WIDGETS as never);
    await until('the kind is there', () => ready()?.status === 'True', 120_000);
    // Without a target nothing is said, and nothing connected to.
    await served(shopDefinition([node('near', undefined, { colour: 'x' })]));
    await until('nothing is said', () => ready() === undefined && a.connections === 0);
  });

  it('[R140] is refused where names can be none, and where no hub reaches clusters so', async () => {
    rig = await startEngagedRig([], {});
    await rig.hub.write(shopDefinition([node('far', 'a', { colour: 'x' })]));
    await until('it is off', () =>
      accepted().includes('target.cluster.kubeconfigSecretName: no hub here reaches'),
    );
    expect(accepted()).toContain('--enable-multicluster');
    await rig.close();
    await open();
    await rig.hub.write(shopDefinition([node('far', 'Not_A_Name', { colour: 'x' })]));
    await until('malformed', () => accepted().includes('"Not_A_Name" can be the name of no Secret'));
    const both = { target: { cluster: { name: 'a', kubeconfigSecretName: 'b' } } };
    await expect(rig.hub.write(shopDefinition([node('far', undefined, {}, both)]))).rejects.toThrow(
      'exactly one of name and kubeconfigSecretName',
    );
  });

  it('[R141] puts instances where they say, and says of one that names no Secret', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    await rig.credential('b');
    await served(shopDefinition([node('far', '${schema.spec.colour}', { at: '${schema.spec.colour}' })]));
    for (const name of ['a', 'b', 'c']) await rig.hub.write(shopInstance({ colour: name }, name));
    await rig.hub.write(shopInstance({ colour: 'x/y' }, 'd'));
    await until('a and b', () => ['a', 'b'].every((name) => stateOf(shop(name)) === 'ACTIVE'));
    expect(dataOf(mapOn(a, 'a-far'))).toEqual({ at: 'a' });
    expect(dataOf(mapOn(b, 'b-far'))).toEqual({ at: 'b' });
    expect([mapOn(a, 'b-far'), mapOn(b, 'a-far')]).toEqual([undefined, undefined]);
    await until('c', () => JSON.stringify(shop('c')?.['status']).includes('there is no Secret kro-system/c'));
    await until('d', () => JSON.stringify(shop('d')?.['status']).includes('can be no Secret'));
    // A Secret that comes later is what it waits for.
    await secret('c', kubeconfigOf('a', 'one'));
    await until('c goes on', () => stateOf(shop('c')) === 'ACTIVE');
    expect(dataOf(mapOn(a, 'c-far'))).toEqual({ at: 'c' });
    expect(a.connections).toBe(1);
  });

  it('[R144] is repaired, pruned and removed there, in order, and nothing of others is touched', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    await served(
      shopDefinition([
        node('one', 'a', { colour: '${schema.spec.colour}' }),
        node(
          'two',
          'a',
          { of: '${one.metadata.name}' },
          { includeWhen: ['${schema.spec.colour != "none"}'] },
        ),
        node('three', undefined, { of: '${one.data.colour}' }),
      ]),
    );
    await rig.hub.write(shopInstance({ colour: 'red' }));
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    await a.remove('v1', 'ConfigMap', 'one-one');
    await until('made again', () => mapOn(a, 'one-one') !== undefined);
    await a.write({
      ...MAP,
      metadata: { name: 'one-one' },
      data: { colour: 'green', more: 'kept' },
    } as never);
    await until('repaired', () => dataOf(mapOn(a, 'one-one'))['colour'] === 'red');
    expect(dataOf(mapOn(a, 'one-one'))['more']).toBe('kept');
    const bare = { metadata: { labels: { 'atoll.dev/remote-object': null } } };
    await rig.hub.run(a.client.patch(configMaps, 'default', 'one-one', 'merge', bare));
    await until(
      'its mark is back',
      () => mapOn(a, 'one-one')?.metadata.labels?.['atoll.dev/remote-object'] !== undefined,
    );
    await rig.hub.write(shopInstance({ colour: 'none' }));
    await until('pruned', () => mapOn(a, 'one-two') === undefined);
    await rig.hub.write(shopInstance({ colour: 'red' }));
    await until('active again', () => stateOf(shop()) === 'ACTIVE' && mapOn(a, 'one-two') !== undefined);
    const from = a.audit.length;
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shop() === undefined);
    const removed = a.audit
      .slice(from)
      .filter(({ verb }) => verb === 'delete')
      .map(({ objectRef }) => objectRef?.name);
    expect(removed).toEqual(['one-two', 'one-one']);
    expect([remotes(), mapOn(a, 'one-one'), mapOn(a, 'one-two')]).toEqual([[], undefined, undefined]);
    expect(a.connections).toBe(1);
    // What others made under the name is left alone, and so told.
    await a.write({ ...MAP, metadata: { name: 'one-one' }, data: { colour: 'mine' } } as never);
    await rig.hub.write(shopInstance({ colour: 'red' }));
    await until('conflict', () =>
      JSON.stringify(shop()?.['status']).includes('is there and not of this graph'),
    );
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone again', () => shop() === undefined);
    expect(dataOf(mapOn(a, 'one-one'))).toEqual({ colour: 'mine' });
  });

  it('[R145] moves when its target changes, and leaves nothing behind', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    await rig.credential('b');
    await served(shopDefinition([node('far', '${schema.spec.colour}', { at: '${schema.spec.colour}' })]));
    await rig.hub.write(shopInstance({ colour: 'a' }));
    await until('on a', () => stateOf(shop()) === 'ACTIVE' && mapOn(a, 'one-far') !== undefined);
    await rig.hub.write(shopInstance({ colour: 'b' }));
    await until('on b', () => mapOn(b, 'one-far') !== undefined && mapOn(a, 'one-far') === undefined);
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    await until('nothing holds a', () => a.connections === 0 && b.connections === 1);
  });

  it('[R145] stays where it is when another Secret leads to the same cluster', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    await secret('same', kubeconfigOf('a', 'one'));
    await served(shopDefinition([node('far', '${schema.spec.colour}', { at: '${schema.spec.colour}' })]));
    await rig.hub.write(shopInstance({ colour: 'a' }));
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    const { uid } = mapOn(a, 'one-far')?.metadata ?? {};
    await rig.hub.rest(2_000);
    await rig.hub.write(shopInstance({ colour: 'same' }));
    await until(
      'handed on',
      () => dataOf(mapOn(a, 'one-far'))['at'] === 'same' && stateOf(shop()) === 'ACTIVE',
    );
    await until('one is left', () => remotes().length === 1);
    await rig.hub.rest(60_000);
    expect([mapOn(a, 'one-far')?.metadata.uid, a.connections, stateOf(shop())]).toEqual([uid, 1, 'ACTIVE']);
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shop() === undefined);
    expect(mapOn(a, 'one-far')).toBeUndefined();
  });

  it('[R146] is read, followed and never written', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    await served(
      shopDefinition([
        {
          id: 'far',
          ...at('a'),
          externalRef: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name: 'facts', namespace: 'default' },
          },
        },
        node('near', undefined, { zone: '${far.data.zone}' }),
      ]),
    );
    await rig.hub.write(shopInstance());
    await until('it waits', () => JSON.stringify(shop()?.['status']).includes('it does not exist'));
    await a.write({ ...MAP, metadata: { name: 'facts' }, data: { zone: 'north' } } as never);
    await until(
      'north',
      () => dataOf(rig.hub.stored('core/configmaps/default/one-near'))['zone'] === 'north',
    );
    await a.write({ ...MAP, metadata: { name: 'facts' }, data: { zone: 'south' } } as never);
    await until(
      'south',
      () => dataOf(rig.hub.stored('core/configmaps/default/one-near'))['zone'] === 'south',
    );
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shop() === undefined && remotes().length === 0);
    expect(dataOf(mapOn(a, 'facts'))).toEqual({ zone: 'south' });
    const writes = a.audit.filter(
      ({ verb, user }) => user.username !== 'admin' && !['get', 'list', 'watch', 'create'].includes(verb),
    );
    expect(writes).toEqual([]);
  });

  it('[R147] goes to a cluster whose Secret another node of the graph makes, and is removed before it', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.startTargets();
    const text = Buffer.from(kubeconfigOf('a', 'made')).toString('base64');
    await served(
      shopDefinition([
        {
          id: 'cluster',
          template: {
            apiVersion: 'v1',
            kind: 'Secret',
            metadata: { name: '${schema.metadata.name}-access' },
            data: { value: text },
          },
        },
        {
          ...node('far', '${cluster.metadata.name}', { colour: 'blue' }),
          ...at('${cluster.metadata.name}', { kubeconfigSecretNamespace: '${cluster.metadata.namespace}' }),
        },
      ]),
    );
    await rig.hub.write(shopInstance());
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    expect(dataOf(mapOn(a, 'one-far'))).toEqual({ colour: 'blue' });
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shop() === undefined);
    expect([mapOn(a, 'one-far'), rig.hub.stored('core/secrets/default/one-access')]).toEqual([
      undefined,
      undefined,
    ]);
    expect(a.connections).toBe(0);
  });

  it('waits with its removal for a cluster that is away, and ends that where somebody says so', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    await served(shopDefinition([node('far', 'a', { colour: 'x' })]));
    await rig.hub.write(shopInstance({}, 'one'));
    await rig.hub.write(shopInstance({}, 'two'));
    await until('active', () => ['one', 'two'].every((name) => stateOf(shop(name)) === 'ACTIVE'));
    a.silent = true;
    await rig.hub.rest(180_000);
    expect(stateOf(shop())).not.toBe('ACTIVE');
    expect(JSON.stringify(shop()?.['status'])).toContain('is not to be reached now');
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'two');
    await rig.hub.rest(120_000);
    expect([shop('one'), shop('two')].every((item) => item !== undefined)).toBe(true);
    const [held] = remotes();
    expect(JSON.stringify(held?.['status'])).toContain('atoll.dev/give-up=true');
    const annotations = { 'atoll.dev/give-up': 'true' };
    const of = remotes().find(({ spec }) => JSON.stringify(spec).includes('two-far'));
    const resource = await rig.hub.run(rig.hub.client.resourceFor('atoll.dev/v1alpha1', 'RemoteObject'));
    await rig.hub.run(
      rig.hub.client.patch(resource, '', of?.metadata.name ?? '', 'merge', { metadata: { annotations } }),
    );
    await until('two is given up', () => shop('two') === undefined, 120_000);
    expect(shop('one')).toBeDefined();
    a.silent = false;
    await until('one is gone', () => shop('one') === undefined, 180_000);
    expect([mapOn(a, 'one-far'), mapOn(a, 'two-far') === undefined]).toEqual([undefined, false]);
  });

  it('goes on over a Secret that is rotated, is deleted or leads elsewhere', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    await rig.startTargets();
    await rig.credential('a', 'one');
    await served(shopDefinition([node('far', 'a', { colour: '${schema.spec.colour}' })]));
    await rig.hub.write(shopInstance({ colour: 'c1' }));
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    await rig.credential('a', 'two');
    await until('on the new one', () => a.tokens.at(-1) === 'two' && a.connections === 1);
    await rig.hub.write(shopInstance({ colour: 'c2' }));
    await until('written', () => dataOf(mapOn(a, 'one-far'))['colour'] === 'c2');
    await rig.withdraw('a');
    await until('told', () => JSON.stringify(shop()?.['status']).includes('there is no Secret kro-system/a'));
    expect(a.connections).toBe(0);
    await secret('a', kubeconfigOf('b', 'three'));
    await until('on b', () => dataOf(mapOn(b, 'one-far'))['colour'] === 'c2');
    await until('active there', () => stateOf(shop()) === 'ACTIVE');
    expect(dataOf(mapOn(a, 'one-far'))).toEqual({ colour: 'c2' });
  });

  it('takes the right to get the Secret, of whoever wrote the definition', async () => {
    const [a] = (await open('a')) as [BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    const alice = createClient(rig.hub.server.as({ name: 'alice', groups: ['system:authenticated'] }));
    const role = (name: string, rules: object[], namespace?: string): object[] => [
      {
        apiVersion: RBAC,
        kind: namespace ? 'Role' : 'ClusterRole',
        metadata: { name, ...(namespace && { namespace }) },
        rules,
      },
      {
        ...{ apiVersion: RBAC, kind: namespace ? 'RoleBinding' : 'ClusterRoleBinding' },
        metadata: { name, ...(namespace && { namespace }) },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: namespace ? 'Role' : 'ClusterRole', name },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'alice' }],
      },
    ];
    const graphs = { apiGroups: ['kro.run'], resources: ['*'], verbs: ['*'] };
    for (const object of role('graphs', [graphs])) await rig.hub.write(object as never);
    const written = shopDefinition([node('far', 'a', { colour: 'x' })]);
    const resource = await rig.hub.run(alice.resourceFor('kro.run/v1alpha1', 'ResourceGraphDefinition'));
    await rig.hub.run(alice.apply(resource, written, { fieldManager: 'alice', force: true }));
    await until('told', () => ready()?.reason === 'TargetForbidden');
    expect(ready()?.message).toContain(
      'alice, who wrote the definition, may not get the Secret kro-system/a',
    );
    // Somebody else's instance of it reaches no further.
    await until('served', () => JSON.stringify(rgd()?.['status']).includes('"Active"'));
    await rig.hub.write(shopInstance());
    await until('the instance says so', () =>
      JSON.stringify(shop()?.['status']).includes('may not get the Secret'),
    );
    await rig.hub.rest(120_000);
    expect([a.tokens, a.connections]).toEqual([[], 0]);
    const secretsOf = { apiGroups: [''], resources: ['secrets'], resourceNames: ['a'], verbs: ['get'] };
    for (const object of role('the-secret', [secretsOf], SECRETS_NAMESPACE))
      await rig.hub.write(object as never);
    await until('allowed', () => stateOf(shop()) === 'ACTIVE' && ready()?.status === 'True', 120_000);
    // Taken away again, what is there stays, and is written no more.
    await rig.hub.remove(RBAC, 'RoleBinding', 'the-secret', SECRETS_NAMESPACE);
    await rig.hub.rest(120_000);
    await a.write({ ...MAP, metadata: { name: 'one-far' }, data: { colour: 'drift' } } as never);
    await until('it says so', () => JSON.stringify(remotes()).includes('may not get the Secret'));
    expect(dataOf(mapOn(a, 'one-far'))).toEqual({ colour: 'drift' });
  });

  it('[R142] may be said of all nodes at once, and of one for each element of a list', async () => {
    const [a, b] = (await open('a', 'b')) as [BareCluster, BareCluster];
    await rig.startTargets();
    await rig.credential('a');
    await rig.credential('b');
    const definition = shopDefinition([
      node('one', undefined, { colour: '${schema.spec.colour}' }),
      node('two', 'b', { of: '${one.data.colour}' }),
      {
        ...node('many', '${where}', { where: '${where}' }),
        forEach: [{ where: '${["a", "b"]}' }],
      },
    ]);
    const spec = { ...(definition as unknown as { spec: object }).spec, ...at('a') };
    await served({ ...definition, spec } as never);
    await rig.hub.write(shopInstance({ colour: 'red' }));
    await until('active', () => stateOf(shop()) === 'ACTIVE');
    expect([dataOf(mapOn(a, 'one-one')), dataOf(mapOn(b, 'one-two'))]).toEqual([
      { colour: 'red' },
      { of: 'red' },
    ]);
    expect([a, b].map((cluster) => dataOf(mapOn(cluster, 'one-many')))).toEqual([
      { where: 'a' },
      { where: 'b' },
    ]);
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shop() === undefined && remotes().length === 0);
    expect([mapOn(a, 'one-one'), mapOn(a, 'one-many'), mapOn(b, 'one-two'), mapOn(b, 'one-many')]).toEqual(
      new Array(4).fill(undefined),
    );
  });

  it('is written as the user of its graph and namespace, where the operator says so', async () => {
    const [a] = (await open('a')) as [BareCluster];
    const actAs = (graph: string, namespace: string): string => `graph:${namespace}:${graph}`;
    await rig.startTargets({ actAs });
    await rig.credential('a');
    await served(shopDefinition([node('far', 'a', { colour: 'x' })]));
    await rig.hub.write(shopInstance());
    await until('refused', () => JSON.stringify(shop()?.['status']).includes('graph:default:shop'));
    expect(mapOn(a, 'one-far')).toBeUndefined();
    const verbs = ['get', 'create', 'patch', 'delete'];
    const rules = [{ apiGroups: [''], resources: ['configmaps'], verbs }];
    const metadata = { name: 'graphs' };
    await a.write({ apiVersion: RBAC, kind: 'ClusterRole', metadata, rules } as never);
    await a.write({
      ...{ apiVersion: RBAC, kind: 'ClusterRoleBinding', metadata },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'graphs' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'graph:default:shop' }],
    } as never);
    await until('active', () => stateOf(shop()) === 'ACTIVE', 120_000);
    await rig.hub.remove('kro.run/v1alpha1', 'Shop', 'one');
    await until('gone', () => shop() === undefined && mapOn(a, 'one-far') === undefined);
  });
});
