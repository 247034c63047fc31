// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import { conditionMessage } from './fleet.ts';
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

const { rgd, map, shop, served, active } = shopWords(() => cluster);

const open = async (settings?: GraphSettings): Promise<void> => {
  cluster = await startGraphCluster(settings);
};

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
