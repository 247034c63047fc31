// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  configMap,
  dataOf,
  type GraphCluster,
  type GraphSettings,
  shopDefinition,
  shopInstance,
  shopWords,
  startGraphCluster,
  stateOf,
} from './graph-cluster.ts';
import { CHAIN, instanceWords, plainMap, SPEC } from './graph-instances-rig.ts';

let cluster: GraphCluster;
afterEach(async () => cluster?.stop());
const { maps, leave, message } = instanceWords(() => cluster);

const { map, shop, served, active } = shopWords(() => cluster);

const open = async (settings?: GraphSettings): Promise<void> => {
  cluster = await startGraphCluster(settings);
};

describe('what is not wanted any more', () => {
  it('[R65] goes when all else is known, from the last node to the first, if it is the object that was seen', async () => {
    await open();
    const parts = (nodes: readonly object[]): KubeObject => shopDefinition(nodes, { spec: SPEC });
    await served(parts(CHAIN));
    await cluster.write(shopInstance());
    await active();
    // While a node fails nothing is removed.
    const failing = configMap('bad', '${schema.metadata.name}-bad', {
      v: '${string(1 / int(schema.spec.colour))}',
    });
    await cluster.write(parts([failing]));
    await cluster.until(() => stateOf(shop()) === 'ERROR', 'the failure');
    await cluster.rest(10_000);
    expect(maps()).toEqual(['one-1', 'one-1-2', 'one-1-2-3']);
    const kinds = (): string =>
      shop()?.metadata.annotations?.['applyset.kubernetes.io/contains-group-kinds'] ?? '';
    expect(kinds()).toBe('ConfigMap');
    cluster.audit.length = 0;
    await cluster.write(parts([]));
    await cluster.until(() => maps().length === 0, 'all gone');
    const deleted = cluster.asked(['delete'], 'configmaps');
    expect(deleted.map(({ objectRef }) => objectRef?.name)).toHaveLength(3);
    // The inventory shrinks last.
    await cluster.until(() => kinds() === '', 'the inventory empty');
    const order = cluster.asked(['delete', 'patch']).map(({ objectRef }) => objectRef?.resource);
    expect(order.lastIndexOf('configmaps')).toBeLessThan(order.lastIndexOf('shops'));
  });

  it('[R65] goes from the last node to the first where the nodes are still there', async () => {
    await open();
    const [first, ...others] = CHAIN;
    await served(
      shopDefinition([{ ...first, includeWhen: ['${schema.spec.wanted}'] }, ...others], {
        spec: { ...SPEC, wanted: 'boolean | default=true' },
      }),
    );
    await cluster.write(shopInstance());
    await active();
    cluster.audit.length = 0;
    await cluster.write(shopInstance({ wanted: false }));
    await cluster.until(() => maps().length === 0, 'all gone');
    expect(cluster.asked(['delete'], 'configmaps').map(({ objectRef }) => objectRef?.name)).toEqual([
      'one-1-2-3',
      'one-1-2',
      'one-1',
    ]);
  });

  it('[R65] is not the object that somebody made anew meanwhile', async () => {
    let before: (() => Promise<void>) | undefined;
    await open({
      network: (handler) => async (request) => {
        if (request.method === 'DELETE' && request.path.includes('/configmaps/') && before) {
          const act = before;
          before = undefined;
          await act();
        }
        return handler(request);
      },
    });
    await served(shopDefinition(CHAIN));
    await cluster.write(shopInstance());
    await active();
    const admin = cluster.server.as({ name: 'admin', groups: ['system:masters'] });
    before = async () => {
      const path = '/api/v1/namespaces/default/configmaps';
      await admin({ method: 'DELETE', path: `${path}/one-1-2-3`, headers: {} });
      await admin({
        method: 'POST',
        path,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(plainMap('one-1-2-3', { of: 'somebody' }))),
      });
    };
    await cluster.write(shopDefinition([]));
    await cluster.until(() => map('one-1') === undefined && map('one-1-2') === undefined, 'the rest gone');
    expect(dataOf(map('one-1-2-3'))).toEqual({ of: 'somebody' });
  });

  it('[R77] outlives its node and its instance where its template says so, without our marks', async () => {
    await open();
    const kept = {
      id: 'kept',
      template: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: '${schema.metadata.name}-kept',
          annotations: { 'atoll.dev/preserve-on-deletion': '${string(schema.spec.keep)}' },
        },
        data: { content: 'dear' },
      },
    };
    const schema = { spec: { keep: 'boolean | default=true' } };
    await served(shopDefinition([kept, configMap('other', '${kept.metadata.name}-2')], schema));
    await cluster.write(shopInstance());
    await cluster.write(shopInstance({ keep: false }, 'two'));
    await active();
    await active('two');
    await leave();
    await leave('two');
    await cluster.until(() => shop() === undefined && shop('two') === undefined, 'the instances gone');
    expect(maps()).toEqual(['one-kept']);
    const { labels = {}, annotations = {} } = map('one-kept')?.metadata ?? {};
    expect([labels, annotations]).toEqual([{}, { 'atoll.dev/preserve-on-deletion': 'true' }]);
    // Another instance takes it up again, and its node may go.
    await cluster.write(shopInstance());
    await active();
    expect(map('one-kept')?.metadata.labels?.['kro.run/instance-name']).toBe('one');
    await cluster.write(shopDefinition([], schema));
    await cluster.until(() => maps().join() === 'one-kept', 'the other object gone');
    expect(map('one-kept')?.metadata.labels ?? {}).toEqual({});
  });
});

describe('objects of others', () => {
  const adding = (key: string): object => ({
    id: 'shared',
    template: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'shared', annotations: { 'atoll.dev/contribute': 'true' } },
      data: { [key]: '${schema.spec.colour}' },
    },
  });

  it('[R78] get fields of several graphs, each of which takes back its own only', async () => {
    await open();
    await served(shopDefinition([adding('left')], { spec: SPEC }));
    await served(shopDefinition([adding('right')], { kind: 'Stall', spec: SPEC }, 'stall'));
    const stall: KubeObject = { ...shopInstance({ colour: 'blue' }, 'other'), kind: 'Stall' };
    const ofStall = (): KubeObject | undefined => cluster.stored('kro.run/stalls/default/other');
    await cluster.write(shopInstance());
    await cluster.until(
      () => message().includes('shared: ConfigMap default/shared does not exist'),
      'the wait',
    );
    expect(map('shared')).toBeUndefined();
    await cluster.write(plainMap('shared', { own: 'x' }));
    await active();
    await cluster.write(stall);
    await cluster.until(() => stateOf(ofStall()) === 'ACTIVE', 'the other one');
    expect(dataOf(map('shared'))).toEqual({ own: 'x', left: 'red', right: 'blue' });
    expect(map('shared')?.metadata.labels ?? {}).toEqual({});
    // Who takes a field by force has it, which is told; once it is free it is added again.
    await cluster.write(plainMap('shared', { own: 'x', left: 'grey' }));
    await cluster.until(() => message().includes('conflict with "someone"'), 'the conflict');
    cluster.audit.length = 0;
    await cluster.rest(60_000);
    expect(cluster.asked(['patch']).length).toBeLessThan(12);
    await cluster.write(plainMap('shared', { own: 'x' }));
    await active();
    expect(dataOf(map('shared'))).toEqual({ own: 'x', left: 'red', right: 'blue' });
    await cluster.write(shopInstance({ colour: 'green' }));
    await cluster.until(() => dataOf(map('shared'))['left'] === 'green', 'the edit');
    // A field of somebody else's is not taken.
    await cluster.write({ ...stall, metadata: { name: 'third' } });
    const third = (): KubeObject | undefined => cluster.stored('kro.run/stalls/default/third');
    await cluster.until(() => stateOf(third()) === 'ACTIVE', 'a third that says the same');
    await cluster.remove('kro.run/v1alpha1', 'Stall', 'third');
    await leave();
    await cluster.until(() => shop() === undefined && third() === undefined, 'two gone');
    expect(dataOf(map('shared'))).toEqual({ own: 'x', right: 'blue' });
    await cluster.write(shopDefinition([], { kind: 'Stall', spec: SPEC }, 'stall'));
    await cluster.until(() => dataOf(map('shared'))['right'] === undefined, 'it taken back with the node');
    expect(dataOf(map('shared'))).toEqual({ own: 'x' });
  });

  it('[R78] keep fields that they have: who wants another value is told whose they are', async () => {
    await open();
    await served(shopDefinition([adding('own')], { spec: SPEC }));
    await cluster.write(plainMap('shared', { own: 'x' }));
    await cluster.write(shopInstance());
    await cluster.until(() => stateOf(shop()) === 'ERROR', 'the conflict');
    expect(message()).toContain('conflict with "someone"');
    expect(dataOf(map('shared'))).toEqual({ own: 'x' });
    await leave();
    await cluster.until(() => shop() === undefined, 'the instance gone');
    expect(dataOf(map('shared'))).toEqual({ own: 'x' });
  });

  it('[R87] are found by labels: live, in all namespaces, by values of the instance', async () => {
    await open();
    const found = (selector: object, more: object = {}): object => ({
      id: 'found',
      externalRef: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { selector, ...more } },
    });
    const names = configMap('names', '${schema.metadata.name}-names', {
      all: '${found.map(f, f.metadata.namespace + "/" + f.metadata.name).sort().join(" ")}',
    });
    const seen = (): string | undefined => dataOf(map('one-names'))['all'];
    await cluster.write({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    await served(
      shopDefinition([found({ matchLabels: { site: '${schema.spec.colour}' } }), names], { spec: SPEC }),
    );
    await cluster.write(plainMap('a', {}, { labels: { site: 'red' } }));
    await cluster.write(plainMap('b', {}, { namespace: 'other', labels: { site: 'red' } }));
    await cluster.write(plainMap('c', {}, { labels: { site: 'blue' } }));
    await cluster.write(shopInstance());
    await cluster.until(() => seen() === 'default/a other/b', 'those of two namespaces');
    await cluster.write(plainMap('c', {}, { labels: { site: 'red' } }));
    await cluster.until(() => seen() === 'default/a default/c other/b', 'one more');
    await cluster.write(plainMap('a', {}, { labels: { site: 'grey' } }));
    await cluster.until(() => seen() === 'default/c other/b', 'one that lost its label');
    await cluster.write(shopInstance({ colour: 'grey' }));
    await cluster.until(() => seen() === 'default/a', 'another value');
    await served(shopDefinition([found({}, { namespace: 'other' }), names], { spec: SPEC }));
    await cluster.until(() => (seen() ?? '').includes('other/b'), 'all of a namespace');
    expect(
      seen()
        ?.split(' ')
        .every((name) => name.startsWith('other/')),
    ).toBe(true);
  });

  it('[R88] are never written and never deleted', async () => {
    await open();
    const by = (id: string, metadata: object): object => ({
      id,
      externalRef: { apiVersion: 'v1', kind: 'ConfigMap', metadata },
    });
    await served(
      shopDefinition([
        by('named', { name: 'named' }),
        by('listed', { selector: { matchLabels: { site: 'x' } } }),
        configMap('own', '${schema.metadata.name}-own', {
          n: '${named.metadata.name}',
          l: '${string(listed.size())}',
        }),
      ]),
    );
    await cluster.write(plainMap('named', {}));
    await cluster.write(plainMap('listed', {}, { labels: { site: 'x' } }));
    cluster.audit.length = 0;
    await cluster.write(shopInstance());
    await active();
    await leave();
    await cluster.until(() => shop() === undefined, 'the instance gone');
    const touched = cluster
      .asked()
      .filter(
        ({ verb, objectRef }) =>
          !['get', 'list', 'watch'].includes(verb) && objectRef?.resource === 'configmaps',
      );
    expect(new Set(touched.map(({ objectRef }) => objectRef?.name))).toEqual(new Set(['one-own']));
    expect(maps()).toEqual(['listed', 'named']);
  });
});
