// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import {
  conditionMessage,
  conditionOf,
  type SimulatedFleet,
  type SimulationOptions,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';
import { CHAIN, configMap, data, definition, field, graphsWords, instance, state } from './graphs-rig.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { a, write, remove, rgd, map, shop, served, active } = graphsWords(() => fleet);

async function open(options: SimulationOptions = {}): Promise<void> {
  fleet = await simulateFleet(7, ['a'], options);
}

describe('a definition', () => {
  it('[R60] [R9] that becomes wrong says where, and what worked goes on', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    const wrong = configMap('second', '${first.metadata.nam}-2', {});
    await write(definition([CHAIN[0] ?? {}, wrong]));
    await fleet.until(
      () => conditionOf(rgd('shop'), 'GraphAccepted') === 'False/InvalidResourceGraph',
      'the refusal',
    );
    const message = conditionMessage(rgd('shop'), 'GraphAccepted');
    expect(message).toContain('second');
    expect(message).toContain('metadata.name');
    expect(message).toContain('first.metadata.nam');
    expect(rgd('shop')?.['status']).toMatchObject({ state: 'Inactive', lastIssuedRevision: 1 });
    await write(instance({ colour: 'blue' }));
    await fleet.until(() => field(map('one-1-2-3'), 'colour') === 'blue', 'the last good one');
  });

  it('[R37] that needs a kind which is not there yet becomes active with it', async () => {
    await open();
    const widget = {
      id: 'widget',
      template: {
        apiVersion: 'example.org/v1',
        kind: 'Widget',
        metadata: { name: '${schema.metadata.name}' },
        spec: {},
      },
    };
    await write(definition([widget]));
    await fleet.until(() => conditionMessage(rgd('shop'), 'GraphAccepted').includes('Widget'), 'the refusal');
    await write({
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
                properties: { spec: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
              },
            },
          },
        ],
      },
    });
    await fleet.until(() => state(rgd('shop')) === 'Active', 'active');
    await write(instance());
    await active();
    expect(stored(a(), 'example.org/widgets/default/one')).toBeDefined();
    await remove('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'widgets.example.org');
    await fleet.until(() => conditionOf(shop(), 'GraphResolved').startsWith('False'), 'its loss told');
    await remove('kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => shop() === undefined, 'the instance gone nevertheless');
  });

  it('that gets a field with a default brings it to instances that were there before', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    await write(
      definition(
        [...CHAIN, configMap('late', '${schema.metadata.name}-late', { tone: '${schema.spec.tone}' })],
        {
          colour: 'string | default=red',
          tone: 'string | default=low',
        },
      ),
    );
    await fleet.until(() => field(map('one-late'), 'tone') === 'low', 'the default');
    await active();
  });

  it('[R50] that would break instances is refused until it is allowed', async () => {
    await open();
    await served(definition(CHAIN));
    const changed = definition([CHAIN[0] ?? {}], { colour: 'string', size: 'integer | required=true' });
    await write(changed);
    await fleet.until(() => conditionOf(rgd('shop'), 'KindReady') === 'False/Failed', 'the refusal');
    expect(conditionMessage(rgd('shop'), 'KindReady')).toContain('size');
    await write({
      ...changed,
      metadata: { ...changed.metadata, annotations: { 'kro.run/allow-breaking-changes': 'true' } },
    });
    await fleet.until(() => conditionOf(rgd('shop'), 'Ready') === 'True/Ready', 'allowed');
    expect(rgd('shop')?.['status']).toMatchObject({ lastIssuedRevision: 2 });
  });

  it('[R51] of a kind that another one serves disturbs nobody', async () => {
    await open();
    await served(definition(CHAIN));
    await write({ ...definition(CHAIN), metadata: { name: 'second' } });
    await fleet.until(() => conditionOf(rgd('second'), 'KindReady') === 'False/Failed', 'the refusal');
    expect(conditionMessage(rgd('second'), 'KindReady')).toContain('shop');
    expect(state(rgd('shop'))).toBe('Active');
    expect(state(rgd('second'))).toBe('Inactive');
    await remove('kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop');
    await fleet.until(() => rgd('shop') === undefined, 'the first gone');
    await served(definition(CHAIN));
    await write(instance());
    await active();
  });

  it('[R52] repairs its kind', async () => {
    await open();
    await served(definition(CHAIN));
    await remove('apiextensions.k8s.io/v1', 'CustomResourceDefinition', 'shops.kro.run');
    const crd = (): KubeObject | undefined =>
      stored(a(), 'apiextensions.k8s.io/customresourcedefinitions/-/shops.kro.run');
    await fleet.until(
      () => crd() !== undefined && crd()?.metadata.deletionTimestamp === undefined,
      'it made again',
    );
    await fleet.until(() => state(rgd('shop')) === 'Active', 'active');
    await write(instance());
    await active();
    const columns = (): unknown =>
      (crd()?.['spec'] as { versions: KubeObject[] } | undefined)?.versions[0]?.['additionalPrinterColumns'];
    const made = columns();
    const id = await fleet.run(a().client.resourceFor('apiextensions.k8s.io/v1', 'CustomResourceDefinition'));
    const edit = [{ op: 'remove', path: '/spec/versions/0/additionalPrinterColumns' }];
    await fleet.run(a().client.patch(id, '', 'shops.kro.run', 'json', edit));
    await fleet.until(() => JSON.stringify(columns()) === JSON.stringify(made), 'the edit undone');
  });

  it('[R58] numbers its revisions without ever going back, and keeps five', async () => {
    await open();
    const revisions = (): number[] =>
      storedBelow(a(), 'internal.kro.run/graphrevisions/-').map(
        (item) => (item['spec'] as { revision: number }).revision,
      );
    for (let round = 1; round <= 7; round++) {
      await served(definition([configMap('first', '${schema.metadata.name}', { round: `${round}` })]));
      await fleet.until(() => revisions().includes(round), `revision ${round}`);
    }
    await fleet.until(() => revisions().length === 5, 'five kept');
    expect(revisions()).toEqual([3, 4, 5, 6, 7]);
    for (const { metadata } of storedBelow(a(), 'internal.kro.run/graphrevisions/-'))
      await remove('internal.kro.run/v1alpha1', 'GraphRevision', metadata.name ?? '');
    await served(definition([configMap('first', '${schema.metadata.name}', { round: 'last' })]));
    await fleet.until(() => revisions().length > 0, 'a revision again');
    expect(Math.min(...revisions())).toBeGreaterThan(7);
  });

  it('[R61] holds an instance at the revision that it is pinned to', async () => {
    await open();
    const version = (text: string): KubeObject =>
      definition([configMap('first', '${schema.metadata.name}', { text })]);
    await served(version('old'));
    await write(instance({}, 'one', { annotations: { 'atoll.dev/graph-revision': '1' } }));
    await write(instance({}, 'two'));
    await active('one');
    await active('two');
    await write(version('new'));
    await fleet.until(() => field(map('two'), 'text') === 'new', 'the other follows');
    await fleet.rest(10_000);
    expect(data(map('one'))).toEqual({ text: 'old' });
    await write(instance({}, 'one', { annotations: { 'atoll.dev/graph-revision': '7' } }));
    await fleet.until(
      () => conditionMessage(shop(), 'GraphResolved').includes('revision 7'),
      'no such revision',
    );
    expect(data(map('one'))).toEqual({ text: 'old' });
    await write(instance({}, 'one'));
    await fleet.until(() => field(map('one'), 'text') === 'new', 'it follows when it is free');
  });

  it('[R68] that is deleted stays until its instances are gone', async () => {
    await open();
    await served(definition(CHAIN));
    await write(instance());
    await active();
    await remove('kro.run/v1alpha1', 'ResourceGraphDefinition', 'shop');
    await fleet.until(
      () => conditionMessage(rgd('shop'), 'KindReady').includes('1 instances'),
      'the wait told',
    );
    await remove('kro.run/v1alpha1', 'Shop', 'one');
    await fleet.until(() => shop() === undefined && map('one-1') === undefined, 'the instance gone');
    await fleet.until(() => rgd('shop') === undefined, 'the definition gone');
  });

  it('[R46] may be made of instances of another one', async () => {
    await open();
    await served(definition(CHAIN));
    await write({
      apiVersion: 'kro.run/v1alpha1',
      kind: 'ResourceGraphDefinition',
      metadata: { name: 'mall' },
      spec: {
        schema: { apiVersion: 'v1alpha1', kind: 'Mall', spec: {} },
        resources: [
          {
            id: 'shop',
            readyWhen: ['${shop.status.state == "ACTIVE"}'],
            template: {
              apiVersion: 'kro.run/v1alpha1',
              kind: 'Shop',
              metadata: { name: '${schema.metadata.name}-shop' },
              spec: { colour: 'grey' },
            },
          },
        ],
      },
    });
    await fleet.until(() => state(rgd('mall')) === 'Active', 'the outer one active');
    await write({ apiVersion: 'kro.run/v1alpha1', kind: 'Mall', metadata: { name: 'big' }, spec: {} });
    const mall = (): KubeObject | undefined => stored(a(), 'kro.run/malls/default/big');
    await fleet.until(() => state(mall()) === 'ACTIVE', 'the outer instance active');
    expect(data(map('big-shop-1-2-3'))).toEqual({ colour: 'grey' });
    await remove('kro.run/v1alpha1', 'Mall', 'big');
    await fleet.until(() => mall() === undefined && map('big-shop-1') === undefined, 'all gone');
  });
});
