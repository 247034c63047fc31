// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { Author } from '../../src/engine/intent.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  removeFrom,
  type SimulatedCluster,
  type SimulatedFleet,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
  writeTo,
} from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());

const write = (target: SimulatedCluster, object: KubeObject): Promise<KubeObject> =>
  writeTo(fleet, target, object);
const remove = (target: SimulatedCluster, apiVersion: string, kind: string, name: string): Promise<void> =>
  removeFrom(fleet, target, apiVersion, kind, name);

const rgd = (): KubeObject | undefined => stored(fleet.hub, 'kro.run/resourcegraphdefinitions/-/mesh');
const mesh = (name = 'one'): KubeObject | undefined => stored(fleet.hub, `kro.run/meshes/default/${name}`);
const map = (target: SimulatedCluster, name: string): KubeObject | undefined =>
  stored(target, `core/configmaps/default/${name}`);
const field = (object: KubeObject | undefined, name: string): string | undefined =>
  (object?.['data'] as Record<string, string> | undefined)?.[name];
const cert = (target: SimulatedCluster, name: string): KubeObject | undefined =>
  stored(target, `example.com/certs/default/${name}`);
const state = (object: KubeObject | undefined): string =>
  ((object?.['status'] ?? {}) as { state?: string }).state ?? '';
const remotes = (): KubeObject[] => storedBelow(fleet.hub, 'atoll.dev/remoteobjects/-');

/** A kind whose status somebody on its cluster writes. */
const CERTS = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'certs.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Cert', plural: 'certs', singular: 'cert', listKind: 'CertList' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { host: { type: 'string' } } },
              status: { type: 'object', properties: { key: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};

function at(cluster: string): object {
  return { target: { cluster: { name: cluster } } };
}

function configMap(
  id: string,
  data: object,
  more: object = {},
  name = `\${schema.metadata.name}-${id}`,
): object {
  return { id, template: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data }, ...more };
}

function certNode(id: string, cluster: string, more: object = {}): object {
  return {
    id,
    ...at(cluster),
    template: {
      apiVersion: 'example.com/v1',
      kind: 'Cert',
      metadata: { name: '${schema.metadata.name}' },
      spec: { host: `${id}.example.com` },
    },
    ...more,
  };
}

function definition(resources: readonly object[], spec: object = {}, more: object = {}): KubeObject {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name: 'mesh' },
    spec: { schema: { apiVersion: 'v1alpha1', kind: 'Mesh', spec }, resources, ...more },
  };
}

function instance(spec: object = {}, name = 'one'): KubeObject {
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Mesh', metadata: { name }, spec };
}

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(9, names);
  for (const target of [fleet.hub, ...fleet.spokes]) await write(target, CERTS);
}

async function served(object: KubeObject): Promise<void> {
  await write(fleet.hub, object);
  await fleet
    .until(
      () =>
        conditionOf(rgd(), 'Ready') === 'True/Ready' &&
        (rgd()!['status'] as { conditions: { observedGeneration: number }[] }).conditions.every(
          ({ observedGeneration }) => observedGeneration === rgd()?.metadata.generation,
        ),
      'the definition ready',
    )
    .catch((error: unknown) => {
      throw new Error(JSON.stringify(rgd()?.['status'], undefined, 1), { cause: error });
    });
}

async function active(name = 'one'): Promise<void> {
  await fleet
    .until(() => state(mesh(name)) === 'ACTIVE', `${name} active`)
    .catch((error: unknown) => {
      throw new Error(JSON.stringify([mesh(name)?.['status'], remotes()], undefined, 1), { cause: error });
    });
}

/** Somebody on a cluster issues a certificate. */
async function issue(target: SimulatedCluster, name: string, key: string): Promise<void> {
  await fleet.until(() => cert(target, name) !== undefined, `${name} on ${target.name}`);
  const resource = await fleet.run(target.client.resourceFor('example.com/v1', 'Cert'));
  await fleet.run(
    target.client.patch(resource, 'default', name, 'merge', { status: { key } }, { subresource: 'status' }),
  );
}

describe('a graph with targets', () => {
  it('[R142] has a database on one cluster and the application that reads its status at home', async () => {
    await open();
    const ready = { readyWhen: ['${db.status.key != ""}'] };
    await served(definition([certNode('db', 'a', ready), configMap('app', { key: '${db.status.key}' })]));
    await write(fleet.hub, instance());
    await fleet.until(() => cert(fleet.spoke('a'), 'one') !== undefined, 'the database on a');
    await fleet.rest(60_000);
    expect(map(fleet.hub, 'one-app')).toBeUndefined();
    expect(state(mesh())).toBe('IN_PROGRESS');
    await issue(fleet.spoke('a'), 'one', 'secret');
    await active();
    expect(field(map(fleet.hub, 'one-app'), 'key')).toBe('secret');
    expect(cert(fleet.hub, 'one')).toBeUndefined();
    expect(cert(fleet.spoke('b'), 'one')).toBeUndefined();
    // The graph itself stays at the hub: that is where the clusters are known.
    expect(stored(fleet.spoke('a'), 'kro.run/resourcegraphdefinitions/-/mesh')).toBeUndefined();
    await issue(fleet.spoke('a'), 'one', 'another');
    await fleet.until(() => field(map(fleet.hub, 'one-app'), 'key') === 'another', 'the new value');
  });

  it('[R141] puts instances on the clusters that they name', async () => {
    await open();
    await served(
      definition([configMap('app', { colour: 'red' })], { cluster: 'string' }, at('${schema.spec.cluster}')),
    );
    await write(fleet.hub, instance({ cluster: 'a' }, 'one'));
    await write(fleet.hub, instance({ cluster: 'b' }, 'two'));
    for (const name of ['one', 'two']) await active(name);
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    expect([map(a, 'one-app'), map(b, 'two-app')].map((object) => field(object, 'colour'))).toEqual([
      'red',
      'red',
    ]);
    expect([map(b, 'one-app'), map(a, 'two-app'), map(fleet.hub, 'one-app')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('says of an instance that it names a cluster which is not there', async () => {
    await open(['a']);
    await served(definition([configMap('app', {}, at('${schema.spec.cluster}'))], { cluster: 'string' }));
    await write(fleet.hub, instance({ cluster: 'nowhere' }));
    await fleet.until(
      () => conditionMessage(mesh(), 'ResourcesReady').includes('on cluster nowhere'),
      'the reason',
    );
    expect(conditionMessage(mesh(), 'ResourcesReady')).toContain('one-app on cluster nowhere: ');
    await write(fleet.hub, instance({ cluster: 'a' }));
    await active();
    expect(map(fleet.spoke('a'), 'one-app')).toBeDefined();
  });

  it('[R144] repairs, prunes and removes across clusters, in order', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    const both = [
      configMap('first', { colour: '${schema.spec.colour}' }, at('a')),
      configMap('second', { colour: '${first.data.colour}' }, at('b')),
      configMap('third', { colour: '${second.data.colour}' }),
    ];
    await served(definition(both, { colour: 'string | default=red' }));
    await write(fleet.hub, instance());
    await active();
    const { annotations = {} } = mesh()?.metadata ?? {};
    expect(annotations['applyset.kubernetes.io/contains-group-kinds']).toContain('RemoteObject.atoll.dev');
    const uid = map(b, 'one-second')?.metadata.uid;
    await remove(b, 'v1', 'ConfigMap', 'one-second');
    await fleet.until(() => (map(b, 'one-second')?.metadata.uid ?? uid) !== uid, 'it is made again');
    await write(a, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'one-first' },
      data: { colour: 'grey' },
    } as KubeObject);
    await fleet.until(() => field(map(a, 'one-first'), 'colour') === 'red', 'the drift undone');
    await write(fleet.hub, instance({ colour: 'blue' }));
    await fleet.until(() => field(map(fleet.hub, 'one-third'), 'colour') === 'blue', 'the edit through both');
    expect(field(map(b, 'one-second'), 'colour')).toBe('blue');
    // One node less: its object goes.
    await served(
      definition([both[0] as object, configMap('third', { colour: '${first.data.colour}' })], {
        colour: 'string | default=red',
      }),
    );
    await fleet.until(() => map(b, 'one-second') === undefined, 'pruned on b');
    await active();
    await served(definition(both, { colour: 'string | default=red' }));
    await fleet.until(() => map(b, 'one-second') !== undefined, 'there again');
    await active();
    const gone: string[] = [];
    const watch = (): void => {
      for (const [name, target] of [
        ['one-third', fleet.hub],
        ['one-second', b],
        ['one-first', a],
      ] as const)
        if (!gone.includes(name) && map(target, name) === undefined) gone.push(name);
    };
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    await fleet.until(() => {
      watch();
      return mesh() === undefined;
    }, 'the instance gone');
    expect(gone).toEqual(['one-third', 'one-second', 'one-first']);
    expect(remotes()).toEqual([]);
  });

  it('[R145] moves an object when its target changes, and leaves nothing behind', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await served(
      definition([configMap('app', { colour: 'red' }, at('${schema.spec.cluster}'))], { cluster: 'string' }),
    );
    await write(fleet.hub, instance({ cluster: 'a' }));
    await active();
    expect(map(a, 'one-app')).toBeDefined();
    await write(fleet.hub, instance({ cluster: 'b' }));
    await fleet.until(() => {
      // The old one stays until the new one is there.
      expect([map(a, 'one-app'), map(b, 'one-app')].some((object) => object !== undefined)).toBe(true);
      return map(b, 'one-app') !== undefined && map(a, 'one-app') === undefined;
    }, 'it moved');
    await active();
    expect(remotes()).toHaveLength(1);
  });

  it('[R143] [R157] takes clusters by name and by labels, and follows those that a selector means', async () => {
    await open(['a', 'b']);
    const clusters = {
      id: 'clusters',
      externalRef: {
        apiVersion: 'core.oam.dev/v1beta1',
        kind: 'SpokeCluster',
        metadata: { selector: { matchLabels: { tier: 'gold' } } },
      },
    };
    const member = configMap(
      'member',
      { site: '${cluster.metadata.name}' },
      { forEach: [{ cluster: '${clusters}' }], ...at('${cluster.metadata.name}') },
    );
    await served(definition([clusters, member]));
    await write(fleet.hub, instance());
    const label = async (name: string, tier: string): Promise<unknown> =>
      write(fleet.hub, spokeCluster(name, { tier }));
    await label('a', 'gold');
    await fleet.until(() => field(map(fleet.spoke('a'), 'one-member'), 'site') === 'a', 'the member on a');
    await active();
    await label('b', 'gold');
    await fleet.until(() => field(map(fleet.spoke('b'), 'one-member'), 'site') === 'b', 'the member on b');
    await label('a', 'none');
    await fleet.until(() => map(fleet.spoke('a'), 'one-member') === undefined, 'that on a cleaned');
    await active();
    expect(map(fleet.spoke('b'), 'one-member')).toBeDefined();
    expect(remotes()).toHaveLength(1);
  });

  it('[R156] spans two clusters: values go both ways, the link comes last, all is undone in reverse', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    const nodes = [
      certNode('certA', 'a', { readyWhen: ['${certA.status.key != ""}'] }),
      certNode('certB', 'b', { readyWhen: ['${certB.status.key != ""}'] }),
      configMap('gatewayA', { trusts: '${certB.status.key}' }, at('a'), '${schema.metadata.name}-gateway'),
      configMap('gatewayB', { trusts: '${certA.status.key}' }, at('b'), '${schema.metadata.name}-gateway'),
      configMap('link', { between: '${gatewayA.metadata.name}/${gatewayB.metadata.name}' }),
    ];
    await served(definition(nodes));
    await write(fleet.hub, instance());
    await issue(a, 'one', 'key-of-a');
    await fleet.rest(30_000);
    expect(map(a, 'one-gateway')).toBeUndefined();
    await fleet.until(() => field(map(b, 'one-gateway'), 'trusts') === 'key-of-a', 'the gateway on b');
    expect(map(fleet.hub, 'one-link')).toBeUndefined();
    await issue(b, 'one', 'key-of-b');
    await active();
    expect(field(map(a, 'one-gateway'), 'trusts')).toBe('key-of-b');
    expect(field(map(fleet.hub, 'one-link'), 'between')).toBe('one-gateway/one-gateway');
    const left = (): string =>
      [
        map(fleet.hub, 'one-link') && 'link',
        (map(a, 'one-gateway') ?? map(b, 'one-gateway')) && 'gateways',
        (cert(a, 'one') ?? cert(b, 'one')) && 'certs',
      ]
        .filter(Boolean)
        .join(' ');
    const seen: string[] = [];
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    await fleet.until(() => {
      if (seen.at(-1) !== left()) seen.push(left());
      return mesh() === undefined;
    }, 'the instance gone');
    expect(seen.filter((item) => item !== 'link gateways certs')).toEqual(['gateways certs', 'certs', '']);
  });

  it('[R147] makes a cluster and puts objects on it, and takes them away before it', async () => {
    await open(['a']);
    const fresh = await fleet.add('fresh', fleet.hub);
    const cluster = {
      id: 'cluster',
      template: {
        apiVersion: 'core.oam.dev/v1beta1',
        kind: 'SpokeCluster',
        metadata: { name: '${schema.spec.cluster}', namespace: 'default' },
        spec: { credential: { type: 'tunnel', tunnel: {} } },
      },
    };
    const app = configMap('app', { on: '${cluster.metadata.name}' }, at('${cluster.metadata.name}'));
    await served(definition([cluster, app], { cluster: 'string' }));
    await write(fleet.hub, instance({ cluster: 'fresh' }));
    await active();
    expect(field(map(fresh, 'one-app'), 'on')).toBe('fresh');
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    const known = (): boolean => stored(fleet.hub, 'core.oam.dev/spokeclusters/default/fresh') !== undefined;
    await fleet.until(() => {
      if (map(fresh, 'one-app') !== undefined) expect(known()).toBe(true);
      return mesh() === undefined && !known();
    }, 'the cluster gone');
    expect(map(fresh, 'one-app')).toBeUndefined();
  });

  it('waits where a cluster is out of sight, and takes nothing away for it', async () => {
    await open();
    const nodes = [
      certNode('db', 'a', { readyWhen: ['${db.status.key != ""}'] }),
      configMap('app', { key: '${db.status.key}' }),
    ];
    await served(definition(nodes));
    await write(fleet.hub, instance());
    await issue(fleet.spoke('a'), 'one', 'secret');
    await active();
    fleet.cut('a');
    await fleet.until(() => state(mesh()) === 'IN_PROGRESS', 'it is known not to be known', 600_000);
    await fleet.rest(600_000);
    expect(field(map(fleet.hub, 'one-app'), 'key')).toBe('secret');
    fleet.heal('a');
    await active();
  });

  it('gives the mark of a target no meaning where no node has one', async () => {
    await open();
    const forged = {
      metadata: { name: '${schema.metadata.name}', annotations: { 'atoll.dev/target-cluster': 'b' } },
    };
    await served(definition([{ id: 'app', template: { apiVersion: 'v1', kind: 'ConfigMap', ...forged } }]));
    await write(fleet.hub, instance());
    await active();
    expect(map(fleet.hub, 'one')).toBeDefined();
    await fleet.rest(60_000);
    expect(remotes()).toEqual([]);
    expect(map(fleet.spoke('b'), 'one')).toBeUndefined();
    // Nor can anybody but the engine say where something goes.
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', namespace: 'default' } };
    await expect(
      write(fleet.hub, {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'RemoteObject',
        metadata: { name: 'forged' },
        spec: { cluster: 'b', object },
      }),
    ).rejects.toThrow('only the engine writes RemoteObjects');
  });

  it('is carried out for who wrote the definition', async () => {
    await open(['a']);
    await served(definition([configMap('app', { colour: 'red' }, at('a'))]));
    await write(fleet.hub, instance());
    await active();
    const authors = dispatchesOn(fleet.spoke('a')).map(({ spec }) => (spec as { author?: Author }).author);
    expect(authors.map((author) => author?.username)).toEqual(['admin']);
  });

  it('leaks nothing where the hub dies while objects come, move and go', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    const nodes = [
      configMap('first', { colour: 'red' }, at('${schema.spec.cluster}')),
      configMap('second', { colour: '${first.data.colour}' }, at('b')),
    ];
    await served(definition(nodes, { cluster: 'string' }));
    const dies = async (afterMs: number): Promise<void> => {
      await fleet.rest(afterMs);
      await fleet.kill(fleet.hub);
      await fleet.start(fleet.hub);
    };
    for (const afterMs of [10, 40, 90, 200]) {
      await write(fleet.hub, instance({ cluster: 'a' }));
      await dies(afterMs);
      await active();
      await write(fleet.hub, instance({ cluster: 'b' }));
      await dies(afterMs);
      await fleet.until(
        () => map(b, 'one-first') !== undefined && map(a, 'one-first') === undefined,
        'moved',
      );
      await active();
      await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
      await dies(afterMs);
      await fleet.until(() => mesh() === undefined, 'the instance gone');
      await fleet.rest(5_000);
      expect(remotes()).toEqual([]);
      for (const target of [a, b])
        for (const name of ['one-first', 'one-second']) expect(map(target, name)).toBeUndefined();
    }
  });

  it('[R140] says of a definition what is wrong with the clusters that it names', async () => {
    fleet = await simulateFleet(9, ['a', 'b']);
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    for (const target of [fleet.hub, a]) await write(target, CERTS);
    const says = async (wanted: string, message: string): Promise<void> => {
      await fleet
        .until(() => conditionOf(rgd(), 'TargetsReady') === wanted, wanted, 600_000)
        .catch((error: unknown) => {
          throw new Error(JSON.stringify(rgd()?.['status'], undefined, 1), { cause: error });
        });
      expect(conditionMessage(rgd(), 'TargetsReady')).toContain(message);
    };
    const on = (cluster: string): KubeObject => definition([certNode('cert', cluster)]);
    await served(on('a'));
    await says('True/Reachable', 'its objects can be on a');
    await write(fleet.hub, on('nowhere'));
    await says(
      'False/TargetMissing',
      'resources[0].target.cluster.name: there is no cluster nowhere in the fleet',
    );
    await write(fleet.hub, on('b'));
    await says('False/KindAbsent', 'the cluster b does not serve example.com/v1 Cert');
    await write(b, CERTS);
    await says('True/Reachable', 'its objects can be on b');
    fleet.cut('b');
    await says('False/TargetUnreachable', 'the cluster b is not to be reached now');
    fleet.heal('b');
    await says('True/Reachable', 'its objects can be on b');
    await write(b, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'SpokeContract',
      metadata: { name: 'owner' },
      spec: { allow: [{ namespaces: ['mine'] }] },
    } as unknown as KubeObject);
    const cert = certNode('cert', 'b') as { template: { metadata: object } };
    cert.template.metadata = { ...cert.template.metadata, namespace: 'theirs' };
    await write(fleet.hub, definition([cert]));
    await says('False/TargetForbidden', 'the cluster b refuses');
    // What can be the name of no cluster is no graph.
    await write(fleet.hub, on('Not/One'));
    await fleet.until(() => conditionOf(rgd(), 'GraphAccepted').startsWith('False'), 'refused');
    expect(conditionMessage(rgd(), 'GraphAccepted')).toContain(
      'resources[0].target.cluster.name: "Not/One" can be the name of no cluster',
    );
    await served(definition([configMap('app', {})]));
    await fleet.until(() => conditionOf(rgd(), 'TargetsReady') === '', 'nothing to say');
  });

  it('waits with its removal, in order, for a cluster that is away, and says why', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await served(
      definition([
        configMap('first', { colour: 'red' }, at('a')),
        configMap('second', { colour: '${first.data.colour}' }, at('b')),
        configMap('third', { colour: '${second.data.colour}' }, at('a')),
      ]),
    );
    await write(fleet.hub, instance());
    await active();
    fleet.cut('b');
    await fleet.rest(600_000);
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    await fleet.until(() => map(a, 'one-third') === undefined, 'the last one gone');
    await fleet
      .until(
        () =>
          conditionMessage(mesh(), 'ResourcesReady').includes(
            'waits until ConfigMap default/one-second on cluster b (',
          ),
        'why it waits',
        600_000,
      )
      .catch((error: unknown) => {
        throw new Error(JSON.stringify([mesh()?.['status'], remotes()], undefined, 1), { cause: error });
      });
    await fleet.rest(600_000);
    // What comes after it in the order of removal is not touched.
    expect(map(a, 'one-first')).toBeDefined();
    expect(map(b, 'one-second')).toBeDefined();
    fleet.heal('b');
    await fleet.until(() => mesh() === undefined, 'the instance gone');
    for (const target of [a, b])
      for (const name of ['one-first', 'one-second']) expect(map(target, name)).toBeUndefined();
    expect(remotes()).toEqual([]);
  });

  it('gives a cluster that is away up where somebody says so, and tells it when it is back', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await served(
      definition([
        configMap('first', { colour: 'red' }, at('a')),
        configMap('second', { colour: '${first.data.colour}' }, at('b')),
      ]),
    );
    await write(fleet.hub, instance());
    await active();
    fleet.cut('b');
    await fleet.rest(600_000);
    await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', 'one');
    const leaving = (): KubeObject | undefined =>
      remotes().find(({ metadata }) => metadata.deletionTimestamp !== undefined);
    await fleet.until(() => leaving() !== undefined, 'the second about to go');
    await fleet.rest(600_000);
    expect(map(a, 'one-first')).toBeDefined();
    const resource = await fleet.run(fleet.hub.client.resourceFor('atoll.dev/v1alpha1', 'RemoteObject'));
    const patch = { metadata: { annotations: { 'atoll.dev/give-up': 'true' } } };
    await fleet.run(fleet.hub.client.patch(resource, '', leaving()?.metadata.name ?? '', 'merge', patch));
    await fleet.until(() => mesh() === undefined, 'the instance gone');
    expect(map(a, 'one-first')).toBeUndefined();
    expect(map(b, 'one-second')).toBeDefined();
    fleet.heal('b');
    await fleet.until(() => map(b, 'one-second') === undefined, 'it is gone from b');
  });

  it('is made with the rights that the cluster gives the author of the definition; what they lack is told', async () => {
    await open();
    const a = fleet.spoke('a');
    const rbac = 'rbac.authorization.k8s.io';
    const rights = { apiGroups: [''], resources: ['configmaps'], verbs: ['*'] };
    const account = { kind: 'ServiceAccount', name: 'graphs', namespace: 'default' };
    for (const object of [
      { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'graphs' } },
      { apiVersion: `${rbac}/v1`, kind: 'Role', metadata: { name: 'graphs' }, rules: [rights] },
      {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'graphs' },
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'graphs' },
        subjects: [account],
      },
      {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'SpokeContract',
        metadata: { name: 'owner' },
        spec: {
          allow: [{ kinds: [{ kind: '*', group: '*' }] }],
          executors: [
            { authors: { users: ['admin'] }, serviceAccount: { namespace: 'default', name: 'graphs' } },
          ],
        },
      },
    ])
      await write(a, object as unknown as KubeObject);
    const metadata = { name: '${schema.metadata.name}-secret' };
    const secret = { id: 'secret', ...at('a'), template: { apiVersion: 'v1', kind: 'Secret', metadata } };
    await served(definition([configMap('app', { colour: 'red' }, at('a')), secret]));
    await write(fleet.hub, instance());
    await fleet
      .until(
        () => /secrets? .*forbidden|cannot .* secrets/i.test(conditionMessage(mesh(), 'ResourcesReady')),
        'the refusal',
      )
      .catch((error: unknown) => {
        throw new Error(JSON.stringify([mesh()?.['status'], remotes()], undefined, 1), { cause: error });
      });
    expect(conditionMessage(mesh(), 'ResourcesReady')).toContain('on cluster a');
    expect(map(a, 'one-app')).toBeDefined();
    expect(stored(a, 'core/secrets/default/one-secret')).toBeUndefined();
    expect(state(mesh())).not.toBe('ACTIVE');
  });
});

describe('what is on another cluster', () => {
  const secret = (target: SimulatedCluster, name: string): KubeObject | undefined =>
    stored(target, `core/secrets/default/${name}`);
  const token = (value: string): KubeObject =>
    ({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'issued', labels: { from: value } },
      data: { token: Buffer.from(value).toString('base64'), other: 'b3RoZXI=' },
    }) as KubeObject;
  const issued = {
    id: 'issued',
    externalRef: { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'issued' } },
    ...at('a'),
  };
  const uses = configMap('app', {
    token: '${string(issued.data.token)}',
    from: '${issued.metadata.labels.from}',
  });

  it('[R146] is read, followed, and never written', async () => {
    await open();
    const a = fleet.spoke('a');
    await served(definition([issued, uses]));
    // Any number of instances may read the same.
    for (const name of ['one', 'two']) await write(fleet.hub, instance({}, name));
    await fleet.until(
      () => conditionMessage(mesh(), 'ResourcesReady').includes('issued on cluster a: it does not exist'),
      'that it is waited for',
    );
    expect(state(mesh())).toBe('IN_PROGRESS');
    await write(a, token('first'));
    for (const name of ['one', 'two']) await active(name);
    for (const name of ['one-app', 'two-app']) {
      expect(field(map(fleet.hub, name), 'token')).toBe('first');
      expect(field(map(fleet.hub, name), 'from')).toBe('first');
    }
    expect(secret(fleet.hub, 'issued')).toBeUndefined();
    const writers = (secret(a, 'issued')?.metadata.managedFields ?? []).map(({ manager }) => manager);
    expect(writers).toEqual(['someone']);
    await write(a, token('second'));
    await fleet.until(() => field(map(fleet.hub, 'one-app'), 'token') === 'second', 'the new value');
    // Away, it is not believed; nothing is taken away for it.
    await remove(a, 'v1', 'Secret', 'issued');
    await fleet.until(() => state(mesh()) === 'IN_PROGRESS', 'that it is gone');
    expect(field(map(fleet.hub, 'one-app'), 'token')).toBe('second');
    await write(a, token('third'));
    await fleet.until(() => field(map(fleet.hub, 'two-app'), 'token') === 'third', 'the third');
    for (const name of ['one', 'two']) await remove(fleet.hub, 'kro.run/v1alpha1', 'Mesh', name);
    await fleet.until(() => mesh() === undefined && mesh('two') === undefined, 'the instances gone');
    await fleet.rest(60_000);
    expect(secret(a, 'issued')?.metadata.deletionTimestamp).toBeUndefined();
    expect(secret(a, 'issued')).toBeDefined();
    expect(remotes()).toEqual([]);
  });

  it('is not read where the contract of the cluster forbids it', async () => {
    await open();
    const a = fleet.spoke('a');
    await write(a, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'SpokeContract',
      metadata: { name: 'owner' },
      spec: { deny: [{ kinds: [{ kind: 'Secret' }], verbs: ['adopt'] }] },
    } as unknown as KubeObject);
    await write(a, token('first'));
    await served(definition([issued, uses]));
    await write(fleet.hub, instance());
    await fleet.until(
      () => conditionMessage(mesh(), 'ResourcesReady').includes('may not adopt'),
      'the refusal',
    );
    await fleet.rest(60_000);
    expect(map(fleet.hub, 'one-app')).toBeUndefined();
    expect(JSON.stringify([remotes(), dispatchesOn(a)])).not.toContain(
      Buffer.from('first').toString('base64'),
    );
  });

  it('is seen with what others write there, and with no more of it than is asked for', async () => {
    await open();
    const a = fleet.spoke('a');
    const metadata = { name: '${schema.metadata.name}-made' };
    const made = { id: 'made', ...at('a'), template: { apiVersion: 'v1', kind: 'Secret', metadata } };
    const reads = configMap('app', { token: '${string(made.data.token)}' });
    await served(definition([made, reads]));
    await write(fleet.hub, instance());
    await fleet.until(() => secret(a, 'one-made') !== undefined, 'the secret on a');
    await fleet.rest(30_000);
    expect(state(mesh())).toBe('IN_PROGRESS');
    const patch = { data: { token: Buffer.from('given').toString('base64') }, immutable: false };
    const resource = await fleet.run(a.client.resourceFor('v1', 'Secret'));
    await fleet.run(a.client.patch(resource, 'default', 'one-made', 'merge', patch));
    await active();
    expect(field(map(fleet.hub, 'one-app'), 'token')).toBe('given');
    const told = (remotes()[0]!['status'] as { fields: object }).fields;
    expect(Object.keys(told)).toEqual(['data']);
  });
});
