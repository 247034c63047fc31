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

let cluster: GraphCluster;
const { rgd, map, shop, served, active } = shopWords(() => cluster);
const open = async (settings?: GraphSettings): Promise<void> => {
  cluster = await startGraphCluster(settings);
};
afterEach(async () => cluster?.stop());

const ONE = configMap('first', '${schema.metadata.name}-1', { colour: '${schema.spec.colour}' });
const crd = (name = 'shops.kro.run'): KubeObject | undefined =>
  cluster.stored(`apiextensions.k8s.io/customresourcedefinitions/-/${name}`);
type CrdSpec = {
  names: { shortNames?: string[]; categories?: string[] };
  versions: { additionalPrinterColumns?: { name: string }[]; schema: { openAPIV3Schema: object } }[];
};
const crdSpec = (): CrdSpec => (crd()?.['spec'] ?? { names: {}, versions: [] }) as CrdSpec;

describe('the API of a definition', () => {
  it('[R4] may be cluster-scoped: instances make namespaced objects where they say', async () => {
    await open();
    const inNamespace = {
      id: 'first',
      template: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: '${schema.metadata.name}', namespace: 'default' },
        data: {},
      },
    };
    await cluster.write(
      shopDefinition([configMap('first', '${schema.metadata.name}')], { scope: 'Cluster' }),
    );
    await cluster.until(
      () => conditionMessage(rgd(), 'GraphAccepted').includes('metadata.namespace'),
      'the namespace that is missing',
    );
    expect(conditionMessage(rgd(), 'GraphAccepted')).toContain(
      'ConfigMap is namespaced and the instance is cluster-scoped',
    );
    await served(shopDefinition([inNamespace], { scope: 'Cluster' }));
    await cluster.write(shopInstance());
    await cluster.until(() => stateOf(cluster.stored('kro.run/shops/-/one')) === 'ACTIVE', 'active');
    expect(map('one')).toBeDefined();
    await cluster.remove('kro.run/v1alpha1', 'Shop', 'one');
    await cluster.until(() => map('one') === undefined, 'all gone');
  });

  it('[R5] has only the columns that are given', async () => {
    await open();
    const column = { name: 'Colour', type: 'string', jsonPath: '.spec.colour' };
    await served(
      shopDefinition([ONE], {
        spec: { colour: 'string | default=red' },
        additionalPrinterColumns: [column],
      }),
    );
    await cluster.write(shopInstance());
    const { body } = await cluster.run(
      cluster.server.as({ name: 'admin', groups: ['system:masters'] })({
        method: 'GET',
        path: '/apis/kro.run/v1alpha1/namespaces/default/shops',
        headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
      }),
    );
    const table = JSON.parse(Buffer.from(body as Uint8Array).toString()) as {
      columnDefinitions: { name: string }[];
      rows: { cells: string[] }[];
    };
    expect(table.columnDefinitions.map(({ name }) => name)).toEqual(['Name', 'Colour']);
    expect(table.rows.map(({ cells }) => cells)).toEqual([['one', 'red']]);
  });

  it('[R6] has short names, categories, labels and annotations, which may change later', async () => {
    await open();
    const named = (short: string, label: string): KubeObject =>
      shopDefinition([ONE], {
        spec: { colour: 'string | default=red' },
        shortNames: [short],
        categories: ['all'],
        metadata: { labels: { team: label }, annotations: { owner: label } },
      });
    await served(named('sh', 'a'));
    expect(crdSpec().names).toMatchObject({ shortNames: ['sh'], categories: ['all'] });
    expect(crd()?.metadata).toMatchObject({ labels: { team: 'a' }, annotations: { owner: 'a' } });
    await cluster.write(named('sp', 'b'));
    await cluster.until(() => crdSpec().names.shortNames?.join() === 'sp', 'the other name');
    expect(crd()?.metadata).toMatchObject({ labels: { team: 'b' }, annotations: { owner: 'b' } });
  });

  it('[R53] follows changes of columns, labels or rules alone', async () => {
    await open();
    const spec = { colour: 'string | default=red' };
    const column = (name: string): object => ({ name, type: 'string', jsonPath: '.spec.colour' });
    await served(shopDefinition([ONE], { spec }));
    await cluster.write(shopDefinition([ONE], { spec, additionalPrinterColumns: [column('Tint')] }));
    const columns = (): string =>
      (crdSpec().versions[0]?.additionalPrinterColumns ?? []).map(({ name }) => name).join();
    await cluster.until(() => columns() === 'Tint', 'the column');
    await cluster.write(shopDefinition([ONE], { spec, metadata: { labels: { team: 'a' } } }));
    await cluster.until(() => crd()?.metadata.labels?.['team'] === 'a', 'the label');
    expect(columns()).toBe('State,Ready,Age');
    const ruled = { colour: 'string | default=red validation="self != \'pink\'"' };
    await cluster.write(shopDefinition([ONE], { spec: ruled }));
    const schema = (): string => JSON.stringify(crdSpec().versions[0]?.schema.openAPIV3Schema);
    await cluster.until(() => schema().includes('pink'), 'the rule');
  });

  it('[R38] may be of kinds that come later, also of those that a node of the same graph defines', async () => {
    await open();
    const widgets = {
      id: 'widgets',
      readyWhen: ['${widgets.status.conditions.exists(c, c.type == "Established" && c.status == "True")}'],
      template: {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'widgets.example.org' },
        spec: {
          group: 'example.org',
          scope: 'Namespaced',
          names: { kind: 'Widget', plural: 'widgets', singular: 'widget', listKind: 'WidgetList' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: {
                openAPIV3Schema: {
                  type: 'object',
                  properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
                },
              },
            },
          ],
        },
      },
    };
    const widget = {
      id: 'widget',
      template: {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        metadata: { name: '${schema.metadata.name}' },
        spec: { size: 3 },
      },
    };
    // Its schema is known from the node, and it comes after it without being told.
    await served(shopDefinition([widget, widgets]));
    expect(rgd()?.['status']).toMatchObject({ topologicalOrder: ['widgets', 'widget'] });
    await cluster.write(shopInstance());
    await active();
    expect(cluster.stored('example.org/widgets/default/one')).toMatchObject({ spec: { size: 3 } });
    await cluster.write(
      shopDefinition([{ ...widget, template: { ...widget.template, spec: { size: 'three' } } }, widgets]),
    );
    await cluster.until(() => conditionMessage(rgd(), 'GraphAccepted').includes('spec.size'), 'the type');
    await cluster.remove('kro.run/v1alpha1', 'Shop', 'one');
    await cluster.until(() => shop() === undefined && crd('widgets.example.org') === undefined, 'all gone');
  });

  it('[R39] is not held up by an API of somebody else that does not answer', async () => {
    await open();
    await cluster.write({
      apiVersion: 'apiregistration.k8s.io/v1',
      kind: 'APIService',
      metadata: { name: 'v1.broken.example.org' },
      spec: {
        group: 'broken.example.org',
        version: 'v1',
        groupPriorityMinimum: 1000,
        versionPriority: 10,
        insecureSkipTLSVerify: true,
        service: { name: 'nothing', namespace: 'default' },
      },
    });
    await served(shopDefinition([ONE]));
    await cluster.write(shopInstance());
    await active();
  });
});

describe('a definition that is deleted', () => {
  const leave = (): Promise<void> => cluster.remove('kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop');

  it('[R54] leaves its kind unless it may take it along', async () => {
    await open();
    await served(shopDefinition([ONE]));
    await leave();
    await cluster.until(() => rgd() === undefined, 'the definition gone');
    expect(crd()).toBeDefined();
    await cluster.stop();
    cluster.start({ allowKindDeletion: true });
    await served(shopDefinition([ONE]));
    await cluster.write(shopInstance());
    await active();
    await leave();
    await cluster.until(() => rgd() === undefined, 'the definition gone');
    expect([crd(), shop(), map('one-1')]).toEqual([undefined, undefined, undefined]);
  });

  it('[R55] waits for its instances, deletes them, or lets them go, as it says; no finalizer is left without a worker', async () => {
    const said = (policy: string): KubeObject => ({
      ...shopDefinition([ONE]),
      metadata: { name: 'shop', annotations: { 'atoll.dev/on-deletion': policy } },
    });
    await open();
    await served(shopDefinition([ONE]));
    await cluster.write(shopInstance());
    await active();
    await leave();
    await cluster.until(() => conditionMessage(rgd(), 'KindReady').includes('1 instances'), 'the wait told');
    await cluster.rest(120_000);
    expect([rgd(), shop(), map('one-1')].every((item) => item !== undefined)).toBe(true);
    // Somebody looks after them meanwhile.
    await cluster.write(shopInstance({ colour: 'blue' }));
    await cluster.until(() => dataOf(map('one-1'))['colour'] === 'blue', 'the edit');
    await cluster.write(said('orphan'));
    await cluster.until(() => rgd() === undefined, 'the definition gone');
    expect(shop()?.metadata.finalizers ?? []).toEqual([]);
    expect(map('one-1')?.metadata.labels ?? {}).not.toHaveProperty('applyset.kubernetes.io/part-of');
    await cluster.remove('kro.run/v1alpha1', 'Shop', 'one');
    expect([shop(), dataOf(map('one-1'))]).toEqual([undefined, { colour: 'blue' }]);

    await served(said('cascade'));
    await cluster.write(shopInstance({}, 'two'));
    await active('two');
    await leave();
    await cluster.until(() => rgd() === undefined, 'the definition gone');
    expect([shop('two'), map('two-1')]).toEqual([undefined, undefined]);
    expect(crd()).toBeDefined();

    await served(said('whatever'));
    await cluster.write(shopInstance({}, 'three'));
    await active('three');
    await leave();
    await cluster.until(
      () => conditionMessage(rgd(), 'KindReady').includes('"whatever"'),
      'what is not known',
    );
    expect(shop('three')).toBeDefined();
    expect(conditionOf(rgd(), 'KindReady')).toBe('False/Failed');
  });
});
