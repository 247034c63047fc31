// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionMessage, conditionOf } from './fleet.ts';
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
import { faultyStorage } from './rig/faults.ts';

let cluster: GraphCluster;
const { rgd, map, shop, served, active } = shopWords(() => cluster);
const open = async (settings?: GraphSettings): Promise<void> => {
  cluster = await startGraphCluster(settings);
};
afterEach(async () => cluster?.stop());

const SPEC = { colour: 'string | default=red' };
const CHAIN = [
  configMap('first', '${schema.metadata.name}-1', { colour: '${schema.spec.colour}' }),
  configMap('second', '${first.metadata.name}-2', { colour: '${first.data.colour}' }),
  configMap('third', '${second.metadata.name}-3', { colour: '${second.data.colour}' }),
];
const plainMap = (name: string, data: object, metadata: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});
const maps = (): string[] =>
  cluster
    .below('core/configmaps/default')
    .flatMap(({ metadata: { name = '' } }) => (name === 'kube-root-ca.crt' ? [] : [name]));
const managers = (object: KubeObject | undefined): string[] =>
  (object?.metadata.managedFields ?? []).map(({ manager = '', operation = '', subresource = '' }) =>
    [manager, operation, subresource].filter((item) => item !== '').join(' '),
  );
const leave = (name = 'one'): Promise<void> => cluster.remove('kro.run/v1alpha1', 'Shop', name);
const message = (name = 'one'): string => conditionMessage(shop(name), 'ResourcesReady');

describe('an instance', () => {
  it('[R62] is first written with finalizer, labels and an empty inventory at once; dying then leaves nothing', async () => {
    const disk = faultyStorage();
    cluster = await startGraphCluster({}, disk);
    await served(shopDefinition(CHAIN));
    await cluster.rest(1_000);
    // That of the instance, and one more.
    disk.crashAfter(2);
    await cluster.write(shopInstance());
    await cluster.rest(5_000);
    const { finalizers, labels = {}, annotations = {} } = shop()?.metadata ?? {};
    expect(finalizers).toEqual(['kro.run/finalizer']);
    expect(labels['kro.run/owned']).toBe('true');
    expect(labels['applyset.kubernetes.io/id']).toMatch(/^applyset-.*-v1$/);
    expect(annotations['applyset.kubernetes.io/contains-group-kinds']).toBe('');
    expect(annotations['internal.kro.run/applyset-inventory-hash']).toMatch(/^sha256:/);
    expect(maps()).toEqual([]);
    await cluster.kill();
    disk.revive();
    await cluster.revive();
    await leave();
    await cluster.until(() => shop() === undefined && maps().length === 0, 'all gone');
  });

  it('[R63] is written by three managers, which stay the same when the engine starts anew', async () => {
    await open();
    const wide = Array.from({ length: 12 }, (_, index) =>
      configMap(`n${index}`, `\${schema.metadata.name}-${index}`),
    );
    await served(shopDefinition(wide));
    cluster.audit.length = 0;
    await cluster.write(shopInstance());
    await active();
    expect(managers(shop())).toEqual(
      expect.arrayContaining(['kro.run/labeller Apply', 'kro.run/applyset-parent Apply']),
    );
    expect(managers(map('one-1'))).toEqual(['kro.run/applyset Apply']);
    const before = [shop(), map('one-1')].map((object) => object?.metadata.managedFields);
    await cluster.stop();
    cluster.start();
    await cluster.rest(30_000);
    expect([shop(), map('one-1')].map((object) => object?.metadata.managedFields)).toEqual(before);
    // Whoever else wrote a field of a template loses it.
    await cluster.write(plainMap('one-1', {}, { labels: { 'kro.run/node-id': 'other' } }));
    await cluster.until(() => map('one-1')?.metadata.labels?.['kro.run/node-id'] === 'n1', 'it taken back');
  });

  it('[R71] gets on by events alone: nothing is asked by the clock while it waits', async () => {
    await open();
    const ready = configMap(
      'first',
      '${schema.metadata.name}-1',
      {},
      { readyWhen: ['${first.data["done"] == "yes"}'] },
    );
    await served(shopDefinition([ready, configMap('second', '${first.metadata.name}-2')]));
    await cluster.write(shopInstance());
    await cluster.until(() => map('one-1') !== undefined && message() !== '', 'the first object');
    await cluster.rest(30_000);
    cluster.audit.length = 0;
    await cluster.rest(600_000);
    expect(cluster.asked().filter(({ verb }) => verb !== 'watch')).toEqual([]);
    await cluster.write(plainMap('one-1', { done: 'yes' }));
    await cluster.until(() => stateOf(shop()) === 'ACTIVE', 'active', 2_000);
    expect(map('one-1-2')).toBeDefined();
  });

  it('[R92] says which node, which object and which cluster it waits for', async () => {
    await open({ cluster: 'paris' });
    await served(
      shopDefinition([
        configMap(
          'first',
          '${schema.metadata.name}-1',
          {},
          { readyWhen: ['${first.data["done"] == "yes"}'] },
        ),
      ]),
    );
    await cluster.write(shopInstance());
    await cluster.until(() => message() !== '' && map('one-1') !== undefined, 'a message');
    expect(message()).toBe(
      'on cluster paris: first: ConfigMap default/one-1 is not ready: ${first.data["done"] == "yes"} is not known (no such key: data)',
    );
    await cluster.write(plainMap('one-1', {}, { finalizers: ['example.org/hold'] }));
    await leave();
    await cluster.until(() => message().includes('until'), 'what holds it');
    expect(message()).toBe('on cluster paris: waits until ConfigMap default/one-1 are gone');
  });

  it('[R43] leaves out what includeWhen says, by schema and by other nodes, with all that depends on it', async () => {
    await open();
    await served(
      shopDefinition(
        [
          configMap(
            'base',
            '${schema.metadata.name}-base',
            {},
            { readyWhen: ['${base.data["mode"] != ""}'] },
          ),
          configMap(
            'extra',
            '${schema.metadata.name}-extra',
            {},
            {
              includeWhen: ['${schema.spec.extra}', '${base.data["mode"] == "big"}'],
            },
          ),
          configMap('behind', '${extra.metadata.name}-behind'),
          configMap('apart', '${schema.metadata.name}-apart'),
        ],
        { spec: { extra: 'boolean | default=true' } },
      ),
    );
    await cluster.write(shopInstance());
    await cluster.until(() => map('one-apart') !== undefined, 'what depends on nothing');
    await cluster.rest(5_000);
    // What it looks at is not ready: it waits, and is not left out.
    expect(message()).toContain('base: ConfigMap default/one-base is not ready');
    expect(maps()).toEqual(['one-apart', 'one-base']);
    await cluster.write(plainMap('one-base', { mode: 'big' }));
    await active();
    expect(maps()).toEqual(['one-apart', 'one-base', 'one-extra', 'one-extra-behind']);
    await cluster.write(plainMap('one-base', { mode: 'small' }));
    await cluster.until(() => maps().length === 2, 'both pruned');
    await active();
    await cluster.write(plainMap('one-base', { mode: 'big' }));
    await cluster.until(() => maps().length === 4, 'both back');
    await cluster.write(shopInstance({ extra: false }));
    await cluster.until(() => maps().length === 2, 'both pruned again');
  });
});

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

describe('what a template or a schema may ask for', () => {
  it('[R79] an owner reference to the instance', async () => {
    await open();
    const owned = (namespace?: string): object => ({
      id: 'owned',
      template: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: {
          name: '${schema.metadata.name}-owned',
          ...(namespace !== undefined && { namespace }),
          annotations: { 'atoll.dev/owner-reference': 'true' },
        },
        data: {},
      },
    });
    await served(shopDefinition([owned(), CHAIN[0] ?? {}], { spec: SPEC }));
    await cluster.write(shopInstance());
    await active();
    expect(map('one-owned')?.metadata.ownerReferences).toEqual([
      {
        apiVersion: 'kro.run/v1alpha1',
        kind: 'Shop',
        name: 'one',
        uid: shop()?.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    expect(map('one-1')?.metadata.ownerReferences).toBeUndefined();
    await cluster.write({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    await served(shopDefinition([owned('other')], { spec: SPEC }));
    await cluster.until(() => message().includes('cannot be owned by an instance in default'), 'the reason');
  });

  it('[R80] a list of the objects in the status', async () => {
    await open();
    const annotations = { 'atoll.dev/managed-resources': 'true' };
    const each = configMap(
      'parts',
      '${schema.metadata.name}-${part}',
      {},
      { forEach: [{ part: '${schema.spec.items}' }] },
    );
    await served(
      shopDefinition([each, CHAIN[0] ?? {}], {
        spec: { ...SPEC, items: '[]string' },
        metadata: { annotations },
      }),
    );
    await cluster.write(shopInstance({ items: ['x', 'y'] }));
    await active();
    const listed = (): string[] =>
      (
        (
          (shop()?.['status'] ?? {}) as {
            managedResources?: { nodeID: string; kind: string; name: string; uid: string }[];
          }
        ).managedResources ?? []
      )
        .map(({ nodeID, kind, name, uid }) => `${nodeID} ${kind} ${name} ${uid}`)
        .sort();
    const labelled = (): string[] =>
      cluster
        .below('core/configmaps/default')
        .filter(({ metadata }) => metadata.labels?.['kro.run/instance-name'] === 'one')
        .map(
          ({ kind, metadata }) =>
            `${metadata.labels?.['kro.run/node-id']} ${kind} ${metadata.name} ${metadata.uid}`,
        )
        .sort();
    await cluster.until(() => listed().length === 3, 'three listed');
    expect(listed()).toEqual(labelled());
    await cluster.write(shopInstance({ items: ['y', 'z', 'w'] }));
    await cluster.until(() => listed().length === 4 && labelled().length === 4, 'four');
    expect(listed()).toEqual(labelled());
  });

  it('[R81] that a change waits until an expression is true', async () => {
    await open();
    const held = configMap(
      'held',
      '${schema.metadata.name}-held',
      { colour: '${schema.spec.colour}' },
      {
        propagateWhen: ['${gate.data["open"] == "yes"}'],
      },
    );
    const gate = {
      id: 'gate',
      externalRef: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'gate' } },
    };
    await cluster.write(plainMap('gate', { open: 'no' }));
    await served(shopDefinition([held, gate], { spec: SPEC }));
    await cluster.write(shopInstance());
    // What is not there yet is no change.
    await active();
    await cluster.write(shopInstance({ colour: 'blue' }));
    await cluster.until(() => message().includes('held back'), 'the wait told');
    expect(message()).toContain(
      'held: a change of ConfigMap default/one-held is held back: ${gate.data["open"] == "yes"} is false',
    );
    await cluster.stop();
    cluster.start();
    await cluster.rest(60_000);
    expect(dataOf(map('one-held'))).toEqual({ colour: 'red' });
    await cluster.write(plainMap('gate', { open: 'yes' }));
    await cluster.until(() => dataOf(map('one-held'))['colour'] === 'blue', 'the change');
    await active();
    await cluster.write(plainMap('gate', { open: 'no' }));
    await cluster.rest(10_000);
    expect(stateOf(shop())).toBe('ACTIVE');
  });

  it('[R82] that kubectl scale finds its field', async () => {
    await open();
    const scale = (more: object = {}): object => ({
      specReplicasPath: '.spec.size',
      statusReplicasPath: '.status.size',
      ...more,
    });
    const schema = (of: object): object => ({
      spec: { size: 'integer | default=2' },
      status: { size: '${int(first.data.size)}' },
      subresources: { scale: of },
    });
    const first = configMap('first', '${schema.metadata.name}-1', { size: '${string(schema.spec.size)}' });
    await cluster.write(shopDefinition([first], schema(scale({ specReplicasPath: '.status.size' }))));
    await cluster.until(
      () => conditionMessage(rgd(), 'GraphAccepted').includes('specReplicasPath'),
      'the refusal',
    );
    await served(shopDefinition([first], schema(scale())));
    await cluster.write(shopInstance());
    await active();
    const admin = cluster.server.as({ name: 'admin', groups: ['system:masters'] });
    const path = '/apis/kro.run/v1alpha1/namespaces/default/shops/one/scale';
    const { status } = await cluster.run(
      admin({
        method: 'PATCH',
        path,
        headers: { 'content-type': 'application/merge-patch+json' },
        body: Buffer.from('{"spec":{"replicas":5}}'),
      }),
    );
    expect(status).toBe(200);
    await cluster.until(() => dataOf(map('one-1'))['size'] === '5', 'five');
    expect(shop()?.['spec']).toEqual({ size: 5 });
    await cluster.until(
      () => ((shop()?.['status'] ?? {}) as { size?: number }).size === 5,
      'five in the status',
    );
  });

  it('[R83] values that several nodes use', async () => {
    await open();
    const using = (id: string): object =>
      configMap(id, `\${schema.metadata.name}-${id}`, { v: '${names.full}' });
    await served(
      shopDefinition(
        [
          using('a'),
          using('b'),
          using('c'),
          { id: 'names', def: { full: '${schema.metadata.name + "." + schema.spec.colour}' } },
        ],
        { spec: SPEC, status: { name: '${names.full}' } },
      ),
    );
    await cluster.write(shopInstance());
    await active();
    expect(['a', 'b', 'c'].map((id) => dataOf(map(`one-${id}`))['v'])).toEqual([
      'one.red',
      'one.red',
      'one.red',
    ]);
    expect(shop()?.['status']).toMatchObject({ name: 'one.red' });
    await cluster.write(shopInstance({ colour: 'blue' }));
    await cluster.until(() => dataOf(map('one-c'))['v'] === 'one.blue', 'the edit');
  });
});

describe('time', () => {
  it('[R85] is looked at again at the instant that an expression names, and not before', async () => {
    await open();
    const until = '${time.now(timestamp(schema.spec.until)) < timestamp(schema.spec.until)}';
    const stamped = '${string(time.now(timestamp(schema.spec.until)))}';
    await served(
      shopDefinition(
        [
          configMap('lease', '${schema.metadata.name}-lease', {}, { includeWhen: [until] }),
          configMap('stamp', '${schema.metadata.name}-stamp', { at: stamped }),
        ],
        {
          spec: { until: 'string' },
          status: { over: '${time.now(timestamp(schema.spec.until)) >= timestamp(schema.spec.until)}' },
        },
      ),
    );
    const { clock } = cluster.runtime;
    const instant = clock.now() + 3 * 3_600_000 + 1_234;
    await cluster.write(shopInstance({ until: new Date(instant).toISOString() }));
    await active();
    const over = (): unknown => ((shop()?.['status'] ?? {}) as { over?: boolean }).over;
    expect([map('one-lease') !== undefined, over()]).toEqual([true, false]);
    await cluster.rest(60_000);
    // What is computed from it stands still meanwhile, also when there is another reason to look.
    const stamp = dataOf(map('one-stamp'))['at'];
    const version = map('one-stamp')?.metadata.resourceVersion;
    await cluster.remove('v1', 'ConfigMap', 'one-lease');
    await cluster.until(() => map('one-lease') !== undefined, 'it made again');
    cluster.audit.length = 0;
    await cluster.rest(instant - clock.now() - 1_000);
    expect(cluster.asked(['patch', 'get', 'list'])).toEqual([]);
    expect([map('one-lease') !== undefined, map('one-stamp')?.metadata.resourceVersion]).toEqual([
      true,
      version,
    ]);
    await cluster.rest(2_000);
    expect([map('one-lease'), over()]).toEqual([undefined, true]);
    expect(dataOf(map('one-stamp'))['at']).not.toBe(stamp);
    expect(Math.abs(Date.parse(dataOf(map('one-stamp'))['at'] ?? '') - instant)).toBeLessThanOrEqual(1_000);
    await cluster.write(shopInstance({ until: new Date(clock.now() + 60_000).toISOString() }));
    await cluster.until(() => map('one-lease') !== undefined, 'another instant');
    await cluster.until(() => map('one-lease') === undefined, 'which comes', 61_000);
  });
});

describe('what fails', () => {
  it('[R74] is tried until it works, also after six hours, without any change of the instance', async () => {
    let down = false;
    await open({
      network: (handler) => async (request) => {
        if (down && request.path.includes('/configmaps')) throw new Error('connect ECONNREFUSED');
        return handler(request);
      },
    });
    await served(shopDefinition(CHAIN));
    down = true;
    await cluster.write(shopInstance());
    await cluster.until(() => message().includes('ECONNREFUSED'), 'the failure told');
    const before = shop()?.metadata.generation;
    await cluster.rest(6 * 3_600_000);
    expect(maps()).toEqual([]);
    down = false;
    await active();
    expect([maps(), shop()?.metadata.generation]).toEqual([['one-1', 'one-1-2', 'one-1-2-3'], before]);
  });

  it('[R76] by an admission policy is told with its words, and works once the policy allows it', async () => {
    await open();
    const policy = (expression: string): KubeObject => ({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name: 'no-red' },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: [''],
              apiVersions: ['v1'],
              operations: ['CREATE', 'UPDATE'],
              resources: ['configmaps'],
            },
          ],
        },
        validations: [{ expression, message: 'red is out of fashion' }],
      },
    });
    await cluster.write(
      policy('!has(object.data) || !("colour" in object.data) || object.data.colour != "red"'),
    );
    await cluster.write({
      apiVersion: 'admissionregistration.k8s.io/v1',
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name: 'no-red' },
      spec: { policyName: 'no-red', validationActions: ['Deny'] },
    });
    await served(shopDefinition(CHAIN));
    await cluster.write(shopInstance());
    await cluster.until(() => message().includes('red is out of fashion'), 'the denial told');
    expect([stateOf(shop()), conditionOf(shop(), 'Ready')]).toEqual(['ERROR', 'False/NotReady']);
    expect(message()).toContain('first: ConfigMap default/one-1');
    await cluster.write(policy('true'));
    await active();
  });
});

describe('an engine of another version', () => {
  it('[R105] writes nothing on what the one before it made', async () => {
    await open({ version: 'v1.0.0' });
    await served(shopDefinition(CHAIN));
    await cluster.write(shopInstance());
    await active();
    await cluster.rest(30_000);
    const versions = (): Record<string, number> =>
      Object.fromEntries(
        cluster.server.store
          .list('')
          .records.filter(({ key }) => /kro\.run|configmaps|customresourcedefinitions/.test(key))
          .map(({ key, revision }) => [key, revision]),
      );
    const before = versions();
    expect(Object.keys(before).length).toBeGreaterThan(6);
    await cluster.stop();
    cluster.start({ version: 'v2.0.0' });
    await cluster.rest(60_000);
    expect(versions()).toEqual(before);
    await cluster.write(shopInstance({}, 'two'));
    await active('two');
    const label = 'kro.run/kro-version';
    expect([map('one-1'), map('two-1')].map((object) => object?.metadata.labels?.[label])).toEqual([
      'v1.0.0',
      'v2.0.0',
    ]);
  });

  it('[R106] may write labels with both prefixes for a time', async () => {
    await open();
    await served(shopDefinition(CHAIN));
    await cluster.write(shopInstance());
    await active();
    const selected = async (selector: string): Promise<number> => {
      const id = await cluster.run(cluster.client.resourceFor('v1', 'ConfigMap'));
      return (await cluster.run(cluster.client.list(id, 'default', { labelSelector: selector }))).items
        .length;
    };
    expect(await selected('internal.kro.run/instance-name=one')).toBe(0);
    await cluster.stop();
    cluster.start({ bothPrefixes: true });
    await cluster.until(
      () => map('one-1-2-3')?.metadata.labels?.['internal.kro.run/node-id'] === 'third',
      'both',
    );
    expect(await selected('internal.kro.run/instance-name=one')).toBe(3);
    expect(await selected('kro.run/instance-name=one')).toBe(3);
    await cluster.stop();
    cluster.start({});
    await cluster.until(
      () => map('one-1-2-3')?.metadata.labels?.['internal.kro.run/node-id'] === undefined,
      'one again',
    );
    await leave();
    await cluster.until(() => shop() === undefined && maps().length === 0, 'all gone');
  });
});

describe('transitions', () => {
  it('[R91] are counted, and told by Events and by a series for each condition where the gates are open', async () => {
    const events = (): string[] =>
      cluster
        .below('core/events/default')
        .filter((item) => (item['involvedObject'] as { kind?: string } | undefined)?.kind === 'Shop')
        .map((item) => `${String(item['type'])} ${String(item['reason'])}`);
    const series = (): string[] =>
      (cluster.graphs?.metrics() ?? '')
        .split('\n')
        .filter((line) => line.startsWith('instance_condition_current'));
    await open();
    await served(shopDefinition(CHAIN));
    await cluster.write(shopInstance());
    await active();
    await cluster.rest(5_000);
    expect([events(), series()]).toEqual([[], []]);
    expect(cluster.graphs?.metrics()).toMatch(
      /instance_state_transitions_total\{gvr="kro\.run\/v1alpha1\/shops",from_state="[A-Z_]*",to_state="ACTIVE"\} 1/,
    );
    await cluster.stop();
    cluster.start({ conditionEvents: true, conditionMetrics: true });
    const ready = configMap(
      'first',
      '${schema.metadata.name}-1',
      {},
      { readyWhen: ['${first.data["done"] == "yes"}'] },
    );
    await served(shopDefinition([ready]));
    await cluster.until(() => events().includes('Warning NotReady'), 'the Event');
    expect(series().join('\n')).toContain(
      'gvr="kro.run/v1alpha1/shops",namespace="default",name="one",condition_type="Ready",condition_status="False",reason="NotReady"',
    );
    await cluster.write(plainMap('one-1', { done: 'yes' }));
    await cluster.until(() => events().includes('Normal Ready'), 'the other Event');
    // Other changes of the status are none.
    await cluster.write(shopInstance({ colour: 'blue' }));
    await cluster.rest(5_000);
    expect(events().sort()).toEqual(['Normal Ready', 'Warning NotReady']);
    expect(series().filter((line) => line.includes('"Ready"'))).toHaveLength(1);
    await leave();
    await cluster.until(() => shop() === undefined, 'the instance gone');
    await cluster.rest(1_000);
    expect(series()).toEqual([]);
  });

  it('[R113] bounds hold: the cost of an expression, and how many objects are written at the same time', async () => {
    let writing = 0;
    let most = 0;
    const network: GraphSettings['network'] = (handler) => async (request) => {
      if (request.method !== 'PATCH' || !request.path.includes('/configmaps/')) return handler(request);
      writing += 1;
      most = Math.max(most, writing);
      await Promise.resolve();
      const response = await handler(request);
      writing -= 1;
      return response;
    };
    const parts = configMap(
      'parts',
      '${schema.metadata.name}-${string(n)}',
      {},
      {
        forEach: [{ n: '${lists.range(30)}' }],
      },
    );
    const sum = '${string(lists.range(300).map(a, lists.range(300).map(b, a * b)).size())}';
    await open({ network, applyConcurrency: 3, costLimit: 50_000 });
    await served(shopDefinition([parts, configMap('sum', '${schema.metadata.name}-sum', { sum })]));
    await cluster.write(shopInstance());
    await cluster.until(() => message().includes('cost'), 'the limit of cost');
    expect(message()).toContain('sum: ');
    expect([most, maps().length]).toEqual([3, 30]);
    await cluster.stop();
    cluster.start({ network, applyConcurrency: 10, costLimit: 5_000_000 });
    await active();
    await cluster.write(shopInstance({}, 'two'));
    await active('two');
    expect(most).toBe(10);
  });
});

describe('an engine that dies between any two writes', () => {
  it('leaks nothing: neither objects, nor fields of other objects, nor marks on what is kept', async () => {
    const disk = faultyStorage();
    cluster = await startGraphCluster({}, disk);
    const annotated = (id: string, name: string, wish: string, content: object): object => ({
      id,
      template: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, annotations: { [`atoll.dev/${wish}`]: 'true' } },
        data: content,
      },
    });
    await served(
      shopDefinition(
        [
          configMap('own', '${schema.metadata.name}-own', { colour: '${schema.spec.colour}' }),
          annotated('shared', 'shared', 'contribute', { added: 'x' }),
          annotated('kept', '${own.metadata.name}-kept', 'preserve-on-deletion', {}),
        ],
        { spec: SPEC },
      ),
    );
    await cluster.write(plainMap('shared', { mine: 'y' }));
    await cluster.rest(1_000);

    async function dying(commits: number, work: () => Promise<unknown>, done: () => boolean): Promise<void> {
      await work();
      disk.crashAfter(commits);
      for (let turn = 0; turn < 20 && !disk.crashed && !done(); turn++) await cluster.rest(250);
      await cluster.kill();
      disk.revive();
      await cluster.revive();
    }

    for (let commits = 0; commits < 7; commits++) {
      const name = `c${commits}`;
      await dying(
        commits,
        () => cluster.write(shopInstance({}, name)),
        () => stateOf(shop(name)) === 'ACTIVE',
      );
      await active(name);
      expect(dataOf(map('shared'))).toEqual({ mine: 'y', added: 'x' });
      await dying(
        commits,
        () => leave(name),
        () => shop(name) === undefined,
      );
      await cluster.until(() => shop(name) === undefined, 'the instance gone');
      expect(dataOf(map('shared'))).toEqual({ mine: 'y' });
      expect(managers(map('shared'))).toEqual(['someone Apply']);
      expect(maps()).toEqual([`${name}-own-kept`, 'shared']);
      expect(map(`${name}-own-kept`)?.metadata.labels ?? {}).toEqual({});
      await cluster.remove('v1', 'ConfigMap', `${name}-own-kept`);
    }
  });
});
