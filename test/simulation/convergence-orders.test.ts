import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { failure } from '../../src/kube/status-error.ts';
import { customResourceDefinitions } from '../../src/kube/well-known.ts';
import { conditionMessage, conditionOf, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { ordersFor } from './orders.ts';
import { colour, configMap, openShop, ready, shop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const WIDGETS: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.shop.io' },
  spec: {
    group: 'shop.io',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
      },
    ],
  },
};
const WEB: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'web', image: 'web:1' }] },
    },
  },
};
const nameless = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { namespace: 'shop' } };

describe('an order that cannot be carried out as it is', () => {
  it.each([
    ['an empty manifest', {}, 'manifest 1 is empty'],
    ['one without a name', nameless, 'a ConfigMap (manifest 1) has no metadata.name'],
    [
      'a generated name',
      { ...nameless, metadata: { namespace: 'shop', generateName: 'web-' } },
      'ConfigMap web-… (manifest 1) has metadata.generateName',
    ],
    ['one twice', configMap('settings', 'blue'), 'ConfigMap shop/settings is ordered twice'],
  ])(
    '[S64] %s: the order is refused by the spoke, which keeps what it has',
    async (_what, manifest, text) => {
      fleet = await simulateFleet(91, ['a']);
      const orders = ordersFor(fleet, 'a');
      await orders.fulfil('shop', [configMap('settings', 'red'), configMap('prices', 'gold')]);
      const bad = { ...manifest, metadata: { ...(manifest as KubeObject).metadata } } as KubeObject;
      await orders.give('shop', [configMap('settings', 'green'), bad]);
      await fleet.until(
        () => conditionOf(orders.dispatch('shop'), 'Accepted') === 'False/InvalidManifests',
        'the refusal',
      );
      expect(conditionMessage(orders.dispatch('shop'), 'Accepted')).toContain(text);
      expect(conditionMessage(orders.dispatch('shop'), 'Accepted')).toContain('generation 1 stays');
      await fleet.rest(60_000);
      expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['red', 'gold']);
      await orders.fulfil('shop', [configMap('settings', 'green'), configMap('prices', 'gold')]);
      expect([colour(fleet.spoke('a')), colour(fleet.spoke('a'), 'prices')]).toEqual(['green', 'gold']);
    },
  );

  it('[S64] a first order of nothing is refused; one that takes all away is not', async () => {
    fleet = await simulateFleet(94, ['a']);
    const orders = ordersFor(fleet, 'a');
    await orders.give('void', []);
    await fleet.until(
      () => conditionOf(orders.dispatch('void'), 'Accepted') === 'False/InvalidManifests',
      'the refusal',
    );
    expect(conditionMessage(orders.dispatch('void'), 'Accepted')).toBe(
      'it orders no object; select at least one; nothing was taken before',
    );
    await orders.fulfil('shop', [configMap('settings', 'red')]);
    await orders.fulfil('shop', []);
    expect(colour(fleet.spoke('a'))).toBe('');
  });

  it('[S56] an object larger than clusters take is named on its intent; one that is just large arrives', async () => {
    fleet = await simulateFleet(93, ['a']);
    const large = { ...configMap('large', 'red'), data: { colour: 'red', much: 'x'.repeat(900 * 1024) } };
    await fleet.run(fleet.hub.client.create(customResourceDefinitions, WIDGETS));
    await openShop(fleet, [large], {
      resourceSelectors: [
        { apiVersion: 'v1', kind: 'ConfigMap' },
        { apiVersion: 'shop.io/v1', kind: 'Widget' },
      ],
    });
    await ready(fleet, 1);
    expect(colour(fleet.spoke('a'), 'large')).toBe('red');
    const huge = {
      apiVersion: 'shop.io/v1',
      kind: 'Widget',
      metadata: { name: 'huge', namespace: 'shop' },
      spec: { much: 'x'.repeat(1450 * 1024) },
    };
    const widgets = await fleet.run(fleet.hub.client.resourceFor('shop.io/v1', 'Widget'));
    await fleet.run(fleet.hub.client.create(widgets, huge));
    await fleet.until(() => conditionMessage(shop(fleet), 'Ready').includes('huge'), 'told on the intent');
    expect(conditionOf(shop(fleet), 'Ready')).toMatch(/^False/);
    expect(conditionMessage(shop(fleet), 'Ready')).toMatch(
      /Widget shop\/huge has 1451 KiB, and clusters take 1408 KiB at the most/,
    );
    expect(colour(fleet.spoke('a'), 'large')).toBe('red');
  });
});

describe('a kind that the API server cannot answer for', () => {
  it('holds up nothing else of its order, and is named', async () => {
    const isDown = { now: true };
    fleet = await simulateFleet(97, ['a'], {
      engineApi: (_name, api) => async (request) => {
        if (!isDown.now || !request.path.startsWith('/apis/shop.io/v1')) return api(request);
        throw failure(503, 'ServiceUnavailable', 'nobody answers for shop.io');
      },
    });
    const spoke = fleet.spoke('a');
    await fleet.run(spoke.client.create(customResourceDefinitions, WIDGETS));
    const orders = ordersFor(fleet, 'a');
    await orders.fulfil('shop', [configMap('settings', 'red'), configMap('old', 'red')]);
    const widget = { apiVersion: 'shop.io/v1', kind: 'Widget', metadata: { name: 'w', namespace: 'shop' } };
    const budget = {
      apiVersion: 'policy/v1',
      kind: 'PodDisruptionBudget',
      metadata: { name: 'later', namespace: 'shop' },
      spec: { minAvailable: 1, selector: {} },
    };
    await orders.give('shop', [configMap('settings', 'red'), widget, budget]);
    await fleet.rest(30_000);
    expect(stored(spoke, 'policy/poddisruptionbudgets/shop/later')).toBeDefined();
    expect(stored(spoke, 'core/configmaps/shop/old')).toBeUndefined();
    expect(conditionMessage(orders.dispatch('shop'), 'Applied')).toContain('nobody answers for shop.io');
    isDown.now = false;
    await fleet.until(() => stored(spoke, 'shop.io/widgets/shop/w') !== undefined, 'the widget');
  });

  it('is told of workloads, where it is that of autoscalers: who scales them has to be known', async () => {
    const isDown = { now: true };
    fleet = await simulateFleet(98, ['a'], {
      workloads: true,
      engineApi: (_name, api) => async (request) => {
        if (!isDown.now || !request.path.startsWith('/apis/autoscaling/v2/')) return api(request);
        throw failure(403, 'Forbidden', 'the engine may not list autoscalers');
      },
    });
    const orders = ordersFor(fleet, 'a');
    await orders.give('shop', [WEB, configMap('settings', 'red')]);
    await fleet.rest(30_000);
    expect(conditionMessage(orders.dispatch('shop'), 'Applied')).toContain('may not list autoscalers');
    expect(colour(fleet.spoke('a'))).toBe('red');
    isDown.now = false;
    await fleet.until(
      () => stored(fleet.spoke('a'), 'apps/deployments/shop/web') !== undefined,
      'the workload',
    );
  });
});
