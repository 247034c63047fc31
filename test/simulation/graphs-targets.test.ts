// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  conditionOf,
  type SimulatedFleet,
  simulateFleet,
  spokeCluster,
  stored,
} from './fleet.ts';
import {
  at,
  CERTS,
  cert,
  certNode,
  configMap,
  definition,
  field,
  instance,
  map,
  state,
  targetWords,
} from './graphs-targets-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { write, remove, rgd, mesh, remotes, served, active, issue } = targetWords(() => fleet);

async function open(names: readonly string[] = ['a', 'b']): Promise<void> {
  fleet = await simulateFleet(9, names);
  for (const target of [fleet.hub, ...fleet.spokes]) await write(target, CERTS);
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
});
