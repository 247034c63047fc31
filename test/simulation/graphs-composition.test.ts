// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  conditionOf,
  everything,
  type SimulatedCluster,
  type SimulatedFleet,
  simulateFleet,
  writesBy,
} from './fleet.ts';
import {
  app,
  below,
  compositionWords,
  conditions,
  DATABASE,
  FULL_STACK,
  field,
  graph,
  instance,
  leaf,
  map,
  node,
  on,
  replies,
  rgd,
  state,
  statusField,
  WEB,
  wishes,
} from './graphs-composition-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { publish, write, remove, composed, until, facts, active } = compositionWords(() => fleet);

async function open(
  names: readonly string[] = ['a', 'b'],
  graphs: readonly KubeObject[] = [DATABASE, WEB, FULL_STACK],
): Promise<void> {
  fleet = await simulateFleet(11, names);
  await publish(graphs);
}

describe('a graph with parts on the hub', () => {
  it('[R148] [R150] has its composed children on the hub, all leaves where the instance is, and their status there', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(a, instance());
    await active(a);
    const [database, web] = [on(fleet.hub, 'databases')[0], on(fleet.hub, 'webapplications')[0]];
    expect(
      [database, web].map((object) => object?.metadata.annotations?.['kro.run/originating-cluster']),
    ).toEqual(['a', 'a']);
    expect(field(map(a, 'shop-db'), 'size')).toBe('small');
    await until(
      () => field(map(a, 'shop-web'), 'url') === 'pg://shop.default',
      () => facts(a),
    );
    expect(field(map(a, 'shop-note'), 'url')).toBe('pg://shop.default');
    expect(statusField(app(a), 'url')).toBe('pg://shop.default');
    for (const other of [b, fleet.hub])
      expect(
        below(other, 'core/configmaps').filter(({ metadata }) => metadata.name?.startsWith('shop')),
      ).toEqual([]);
    expect(on(a, 'databases')).toEqual([]);
    // Only what the expressions name comes back.
    expect(replies(a).map(({ spec }) => (spec as { status?: object }).status)).toContainEqual({
      connectionString: 'pg://shop.default',
    });
    await write(a, instance('shop', { size: 'large' }));
    await until(
      () => field(map(a, 'shop-db'), 'size') === 'large',
      () => facts(a),
    );
    await fleet.rest(120_000);
    const before = [everything(fleet.hub), everything(a)];
    await fleet.rest(600_000);
    expect([everything(fleet.hub), everything(a)]).toEqual(before);
  });

  it('[R149] passes the origin on through levels of graphs; an explicit target wins', async () => {
    const disk = graph('disk', 'Disk', [leaf('disk', { of: '${schema.metadata.name}' })], { hubOnly: true });
    const store = graph('store', 'Store', [node('disk', 'Disk', {}), leaf('store', {})], { hubOnly: true });
    const database = graph(
      'database',
      'Database',
      [node('store', 'Store', {}), leaf('db', {}), leaf('copy', {}, { target: { cluster: { name: 'b' } } })],
      { hubOnly: true, spec: { size: 'string' } },
    );
    const root = graph('full-stack', 'FullStackApp', [node('database', 'Database', { size: 's' })]);
    await open(['a', 'b', 'c'], [disk, store, database, root]);
    const [a, b, c] = [fleet.spoke('a'), fleet.spoke('b'), fleet.spoke('c')];
    await write(a, instance());
    const leaves = (target: SimulatedCluster): string[] =>
      below(target, 'core/configmaps')
        .filter(({ metadata }) => metadata.name?.startsWith('shop') === true)
        .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`)
        .sort();
    await until(
      () => leaves(a).length === 3 && leaves(b).length === 1,
      () => [leaves(a), leaves(b), ...facts(a)],
    );
    expect(leaves(a)).toEqual(['default/shop-db', 'default/shop-disk', 'default/shop-store']);
    // Its template names no namespace: as the instance of a would have it.
    expect(leaves(b)).toEqual(['default/shop-copy']);
    expect([leaves(c), leaves(fleet.hub)]).toEqual([[], []]);
    for (const plural of ['databases', 'stores', 'disks'])
      expect(
        on(fleet.hub, plural).map(({ metadata }) => metadata.annotations?.['kro.run/originating-cluster']),
      ).toEqual(['a']);
    // The hub knows it after a restart, whichever of them it looks at first.
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect([leaves(a).length, leaves(b).length, leaves(fleet.hub).length]).toEqual([3, 1, 0]);
    expect(on(fleet.hub, 'disks').map(state)).toEqual(['ACTIVE']);
    await remove(a, 'FullStackApp', 'shop');
    await until(
      () => app(a) === undefined,
      () => facts(a),
    );
    expect([leaves(a), leaves(b)]).toEqual([[], []]);
    for (const plural of ['databases', 'stores', 'disks']) expect(on(fleet.hub, plural)).toEqual([]);
    await until(
      () => composed().length === 0 && replies(a).length === 0,
      () => facts(a),
    );
  });

  it('[R152] says of definitions that make each other without end that they do', async () => {
    await open(['a'], [DATABASE, WEB]);
    const loop = graph('database', 'Database', [node('back', 'FullStackApp', {}, {}, { name: 'again' })], {
      hubOnly: true,
      spec: { size: 'string' },
    });
    const root = graph('full-stack', 'FullStackApp', [node('database', 'Database', { size: 's' })]);
    await write(fleet.hub, root);
    const said = (name: string): string => conditionOf(rgd(fleet.hub, name), 'Composition');
    await until(
      () => rgd(fleet.spoke('a'), 'full-stack') !== undefined,
      () => [rgd(fleet.hub, 'full-stack')],
    );
    expect(said('full-stack')).toBe('');
    await write(fleet.hub, loop);
    await until(
      () => said('full-stack') === 'False/CompositionCycle' && said('database') === 'False/CompositionCycle',
      () => [rgd(fleet.hub, 'full-stack'), rgd(fleet.hub, 'database')],
    );
    expect(conditionMessage(rgd(fleet.hub, 'database'), 'Composition')).toContain(
      'database -> full-stack -> database',
    );
    expect(conditionMessage(rgd(fleet.hub, 'full-stack'), 'Composition')).toContain(
      'full-stack -> database -> full-stack',
    );
    expect(said('web')).toBe('');
    await write(fleet.spoke('a'), instance());
    await fleet.rest(120_000);
    expect(on(fleet.hub, 'databases')).toEqual([]);
    expect(conditions(app(fleet.spoke('a')))).toContain('without end');
    await write(fleet.hub, { ...DATABASE, spec: { ...(DATABASE['spec'] as object) } });
    await until(
      () => said('full-stack') === '' && said('database') === '',
      () => [rgd(fleet.hub, 'database')],
    );
    await until(
      () => map(fleet.spoke('a'), 'shop-db') !== undefined,
      () => facts(fleet.spoke('a')),
    );
  });

  it('[R153] refuses origins that users of clusters write, and makes nothing that the hub did not send', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(b, instance('forged', {}, { annotations: { 'kro.run/originating-cluster': 'a' } }));
    await until(
      () => conditions(app(b, 'forged')).includes('is refused'),
      () => [app(b, 'forged')],
    );
    expect(conditions(app(b, 'forged'))).toContain('kro.run/originating-cluster=a is refused');
    await write(b, instance('honest'));
    await active(b, 'honest');
    const wish = wishes(b).find(({ spec }) => (spec as { node: string }).node === 'database');
    const tampered = async (name: string, spec: object): Promise<string> => {
      const was = wish?.['spec'] as { object: KubeObject };
      const object = {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'HubObject',
        metadata: { name },
        spec: { ...was, ...spec },
      } as unknown as KubeObject;
      await write(b, object);
      const reply = (): string =>
        JSON.stringify(replies(b).find(({ metadata }) => metadata.name === name)?.['spec'] ?? '');
      await until(
        () => reply() !== '""',
        () => [name, ...facts(b)],
      );
      await fleet.rest(30_000);
      return reply();
    };
    const object = (more: object, metadata: object = {}): object => ({
      apiVersion: 'kro.run/v1alpha1',
      kind: 'Database',
      metadata: { name: 'evil', namespace: 'default', ...metadata },
      spec: { size: 'x' },
      ...more,
    });
    expect(
      await tampered('one', { object: object({}, { annotations: { 'kro.run/originating-cluster': 'a' } }) }),
    ).toContain('kro.run/originating-cluster=a was not taken over: it comes from b');
    const evil = on(fleet.hub, 'databases').find(({ metadata }) => metadata.name === 'evil');
    expect(evil?.metadata.annotations?.['kro.run/originating-cluster']).toBe('b');
    expect(map(a, 'evil-db')).toBeUndefined();
    expect(await tampered('two', { object: object({ kind: 'Secret', apiVersion: 'v1' }) })).toContain(
      'refused',
    );
    expect(await tampered('three', { graph: 'web' })).toContain('the hub sent no definition web to b');
    expect(await tampered('four', { node: 'note' })).toContain('refused');
    expect(await tampered('five', { object: object({}, { name: '../../x' }) })).toContain('refused');
    expect(below(fleet.hub, 'core/secrets').filter(({ metadata }) => metadata.name === 'evil')).toEqual([]);
    // Whoever may write such an instance on the hub reaches no cluster by the annotation either.
    await write(fleet.hub, {
      apiVersion: 'kro.run/v1alpha1',
      kind: 'Database',
      metadata: { name: 'mine', annotations: { 'kro.run/originating-cluster': 'a' } },
      spec: { size: 'x' },
    } as KubeObject);
    await fleet.rest(60_000);
    expect(map(a, 'mine-db')).toBeUndefined();
    expect(map(fleet.hub, 'mine-db')).toBeUndefined();
    expect(
      below(a, 'core/configmaps').filter(({ metadata }) => /honest|evil|mine/.test(metadata.name ?? '')),
    ).toEqual([]);
    // The boundary holds: the hub wrote orders on the spokes, these wrote nothing on the hub.
    expect(writesBy(b.audit, 'atoll:hub').every((text) => /dispatches|bundles/.test(text))).toBe(true);
  });

  it('[R154] keeps what two clusters call the same apart on the hub', async () => {
    await open();
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    await write(a, instance('shop', { size: 'small' }));
    await write(b, instance('shop', { size: 'large' }));
    await active(a);
    await active(b);
    const databases = on(fleet.hub, 'databases');
    expect(databases.map(({ metadata }) => metadata.name)).toEqual(['shop', 'shop']);
    expect(databases.map(({ metadata }) => metadata.namespace?.replace(/-[0-9a-f]{10}$/, ''))).toEqual([
      'a-default',
      'b-default',
    ]);
    expect([a, b].map((target) => field(map(target, 'shop-db'), 'size'))).toEqual(['small', 'large']);
    await remove(a, 'FullStackApp', 'shop');
    await until(
      () => app(a) === undefined,
      () => facts(a),
    );
    expect(state(app(b))).toBe('ACTIVE');
    expect(map(b, 'shop-db')).toBeDefined();
  });

  it('[R154] keeps what has no namespace apart as well', async () => {
    const database = graph('database', 'Database', [leaf('db', {}, {}, { namespace: 'default' })], {
      hubOnly: true,
    });
    (database['spec'] as { schema: { scope?: string } }).schema.scope = 'Cluster';
    const root = graph('full-stack', 'FullStackApp', [node('database', 'Database', {})]);
    await open(['a', 'b'], [database, root]);
    const [a, b] = [fleet.spoke('a'), fleet.spoke('b')];
    for (const target of [a, b]) await write(target, instance());
    await until(
      () => [a, b].every((target) => map(target, 'shop-db') !== undefined),
      () => facts(a),
    );
    const names = on(fleet.hub, 'databases').map(({ metadata }) => metadata.name ?? '');
    expect(names.map((name) => name.replace(/-[0-9a-f]{10}$/, ''))).toEqual(['a-shop', 'b-shop']);
  });

  it('[R155] makes the namespace of the origin on the hub, or waits for it and says so', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(fleet.hub, {
      ...FULL_STACK,
      metadata: { ...FULL_STACK.metadata, annotations: { 'atoll.dev/composed-namespaces': 'Require' } },
    });
    await write(a, instance());
    await until(
      () => conditions(app(a)).includes('there is no namespace a-default-'),
      () => facts(a),
    );
    const name = /there is no namespace (\S+) on the hub/.exec(conditions(app(a)))?.[1] ?? '';
    expect(on(fleet.hub, 'databases')).toEqual([]);
    await write(fleet.hub, { apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
    await active(a);
    expect(on(fleet.hub, 'databases').map(({ metadata }) => metadata.namespace)).toEqual([name]);
    await write(fleet.hub, FULL_STACK);
    await write(a, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } });
    await write(a, instance('other', {}, { namespace: 'team' }));
    await until(
      () => map(a, 'other-db', 'team') !== undefined,
      () => facts(a),
    );
    expect(field(map(a, 'other-db', 'team'), 'url')).toBe('pg://other.team');
  });

  it('reads on spokes only where there is something of this sort, by one watch', async () => {
    await open(['a'], [DATABASE, WEB]);
    const a = fleet.spoke('a');
    const asked = (): string[] =>
      a.audit
        .filter(
          ({ user, objectRef }) => user.username === 'atoll:hub' && objectRef?.resource === 'hubobjects',
        )
        .map(({ verb, responseStatus }) => `${verb} ${responseStatus?.code}`);
    await fleet.rest(60_000);
    expect(asked()).toEqual([]);
    await write(fleet.hub, FULL_STACK);
    await until(
      () => asked().length > 0,
      () => facts(a),
    );
    await write(a, instance());
    await active(a);
    await fleet.rest(60_000);
    const before = asked().length;
    expect(asked().every((text) => text.endsWith(' 200'))).toBe(true);
    await fleet.rest(60_000);
    expect(asked().length).toBeLessThanOrEqual(before + 1);
  });

  it('follows a kind that is no longer only at the hub, that is again, and that changes', async () => {
    await open(['a']);
    const a = fleet.spoke('a');
    await write(a, instance());
    await active(a);
    const resource = await fleet.run(
      fleet.hub.client.resourceFor('kro.run/v1alpha1', 'ResourceGraphDefinition'),
    );
    const label = (value: string): Promise<unknown> => {
      const patch = { metadata: { labels: { 'kro.run/distribute': value } } };
      return fleet.run(fleet.hub.client.patch(resource, '', 'database', 'merge', patch));
    };
    await label('true');
    await until(
      () => on(a, 'databases').map(state).join() === 'ACTIVE' && on(fleet.hub, 'databases').length === 0,
      () => facts(a),
    );
    await active(a);
    await until(
      () => map(a, 'shop-db') !== undefined && composed().length === 1,
      () => facts(a),
    );
    await label('false');
    // What the cluster made by itself is not taken away from it: somebody has to say that it may go.
    await until(
      () => on(fleet.hub, 'databases').some((item) => conditions(item).includes('was not made by Atoll')),
      () => facts(a),
    );
    await remove(a, 'Database', 'shop');
    await until(
      () => on(fleet.hub, 'databases').map(state).join() === 'ACTIVE' && state(app(a)) === 'ACTIVE',
      () => facts(a),
    );
    const leaf2 = leaf('db', { size: '${schema.spec.size}', url: 'x', port: '${schema.spec.port}' });
    await write(
      fleet.hub,
      graph('database', 'Database', [leaf2], {
        hubOnly: true,
        spec: { size: 'string', port: 'string | default="5432"' },
        status: { connectionString: '${db.data.url}', secret: '${db.data.size}', port: '${db.data.port}' },
      }),
    );
    // One that is wrong changes nothing of what clusters run.
    await write(fleet.hub, graph('full-stack', 'FullStackApp', [leaf('note', { port: '${nobody.port}' })]));
    await until(
      () => conditionOf(rgd(fleet.hub, 'full-stack'), 'GraphAccepted').startsWith('False'),
      () => [rgd(fleet.hub, 'full-stack')],
    );
    await write(a, instance('second'));
    await active(a, 'second');
    await remove(a, 'FullStackApp', 'second');
    await write(
      fleet.hub,
      graph(
        'full-stack',
        'FullStackApp',
        [
          node('database', 'Database', { size: 'tiny', port: '7' }),
          leaf('note', { port: '${database.status.port}' }),
        ],
        { spec: { size: 'string | default=small' }, status: { url: '${database.status.connectionString}' } },
      ),
    );
    await until(
      () => field(map(a, 'shop-note'), 'port') === '7' && field(map(a, 'shop-db'), 'port') === '7',
      () => [rgd(a, 'full-stack')?.['status'], rgd(fleet.hub, 'full-stack')?.['status'], ...facts(a)],
    );
    await until(
      () => on(fleet.hub, 'webapplications').length === 0 && map(a, 'shop-web') === undefined,
      () => facts(a),
    );
  });
});
