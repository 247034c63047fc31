import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_PROPAGATION } from '../../src/dialects/propagation/kinds.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { configMaps, customResourceDefinitions, deployments, namespaces } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, paint, propagation, ready, shop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const WITH_DEPENDENCIES = {
  resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
  dependencies: { references: true },
};

/** A Deployment without replicas, so that it is healthy where no controllers run. */
function web(name: string, ...settings: string[]): KubeObject {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'shop' },
    spec: {
      replicas: 0,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          serviceAccountName: 'runner',
          containers: [
            {
              name: 'main',
              image: 'shop/web:1',
              envFrom: settings.map((item) => ({ configMapRef: { name: item } })),
            },
          ],
          volumes: [{ name: 'keys', secret: { secretName: 'keys' } }],
        },
      },
    },
  };
}

const secret: KubeObject = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: 'keys', namespace: 'shop' },
  data: { key: 'c2VjcmV0' },
};
const runner: KubeObject = {
  apiVersion: 'v1',
  kind: 'ServiceAccount',
  metadata: { name: 'runner', namespace: 'shop' },
};

const on = (cluster: string, path: string): KubeObject | undefined => stored(fleet.spoke(cluster), path);
/** Without workload controllers nothing observes a Deployment: what is applied is looked at instead. */
const applied = (cluster: string, name: string): string =>
  conditionOf(
    dispatchesOn(fleet.spoke(cluster)).find((item) => item.metadata.name?.includes(name)),
    'Applied',
  );

describe('what selected objects need', () => {
  it('[A52] comes along, follows what is named, and what is missing is told', async () => {
    fleet = await simulateFleet(71, ['a']);
    await openShop(fleet, [configMap('settings', 'red'), secret, web('web', 'settings', 'prices')], {
      ...WITH_DEPENDENCIES,
    });
    await fleet.until(() => applied('a', 'shop-shop') === 'True/Applied', 'what is there');
    expect(colour(fleet.spoke('a'))).toBe('red');
    expect(on('a', 'core/secrets/shop/keys')?.['data']).toEqual({ key: 'c2VjcmV0' });
    await fleet.until(
      () => conditionOf(shop(fleet), 'Dependencies') === 'False/DependencyMissing',
      'the condition',
    );
    expect(conditionMessage(shop(fleet), 'Dependencies')).toContain(
      'ConfigMap shop/prices, which Deployment shop/web names, is not at the hub',
    );
    expect(conditionMessage(shop(fleet), 'Dependencies')).toContain('ServiceAccount shop/runner');
    const { client } = fleet.hub;
    await fleet.run(client.create(configMaps, configMap('prices', 'gold')));
    await fleet.run(
      client.create(await fleet.run(client.resourceFor('v1', 'ServiceAccount')), structuredClone(runner)),
    );
    await fleet.until(() => colour(fleet.spoke('a'), 'prices') === 'gold', 'the one that came later');
    await fleet.until(() => conditionOf(shop(fleet), 'Dependencies') === 'True/Complete', 'all is there');
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'a change of what came along');
    const containers = [
      { name: 'main', image: 'shop/web:1', envFrom: [{ configMapRef: { name: 'prices' } }] },
    ];
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', {
      spec: { template: { spec: { containers } } },
    });
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'what is no longer named goes');
    expect(colour(fleet.spoke('a'), 'prices')).toBe('gold');
    expect(colour(fleet.hub)).toBe('blue');
  });

  it('[A52] is shared by several: each brings it to its clusters, and the last one takes it away', async () => {
    fleet = await simulateFleet(72, ['a', 'b']);
    const select = (name: string, placement: object): object => ({
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment', name }],
      dependencies: { references: true },
      placement,
    });
    await openShop(
      fleet,
      [configMap('settings', 'red'), secret, runner, web('one', 'settings'), web('two', 'settings')],
      null,
    );
    const { client } = fleet.hub;
    const all = { clusterSelector: {} };
    await fleet.run(client.create(PROPAGATIONS, propagation('one', select('one', all))));
    await fleet.run(client.create(PROPAGATIONS, propagation('two', select('two', { clusterNames: ['b'] }))));
    await fleet.until(
      () =>
        applied('a', 'shop-one') === 'True/Applied' &&
        applied('b', 'shop-one') === 'True/Applied' &&
        applied('b', 'shop-two') === 'True/Applied',
      'both on b, one on a',
    );
    const uid = on('b', 'core/configmaps/shop/settings')?.metadata.uid;
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'the change');
    await fleet.until(
      () => applied('b', 'shop-one') === 'True/Applied' && applied('b', 'shop-two') === 'True/Applied',
      'both are content again',
    );
    await fleet.run(client.delete(PROPAGATIONS, 'shop', 'one'));
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'gone from a');
    await fleet.until(() => on('b', 'apps/deployments/shop/one') === undefined, 'the first gone from b');
    await fleet.rest(10_000);
    expect(on('b', 'core/configmaps/shop/settings')?.metadata.uid).toBe(uid);
    // It is kept up by the other one now.
    await paint(fleet, fleet.spoke('b'), 'pink');
    await fleet.until(() => colour(fleet.spoke('b')) === 'blue', 'drift is corrected');
    await fleet.run(client.delete(PROPAGATIONS, 'shop', 'two'));
    await fleet.until(() => colour(fleet.spoke('b')) === '', 'gone with the last one');
  });

  it('[A52] of kinds that nobody knows is what a rule says, and a kind that is not served is only missing', async () => {
    fleet = await simulateFleet(73, ['a']);
    const definition: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
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
    for (const cluster of [fleet.hub, fleet.spoke('a')])
      await fleet.run(cluster.client.create(customResourceDefinitions, structuredClone(definition)));
    const widget: KubeObject = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop' },
      spec: { settings: 'settings' },
    };
    await openShop(fleet, [configMap('settings', 'red'), widget], {
      resourceSelectors: [{ apiVersion: 'example.com/v1', kind: 'Widget' }],
      dependencies: { references: true },
    });
    await ready(fleet, 1);
    expect(colour(fleet.spoke('a'))).toBe('');
    const rules = {
      group: 'atoll.dev',
      version: 'v1alpha1',
      resource: 'resourcerules',
      kind: 'ResourceRule',
      namespaced: false,
    };
    await fleet.run(
      fleet.hub.client.create(rules, {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'ResourceRule',
        metadata: { name: 'widgets' },
        spec: {
          target: { group: 'example.com', kind: 'Widget' },
          references: [
            "[{'apiVersion': 'v1', 'kind': 'ConfigMap', 'name': object.spec.settings}]",
            "[{'apiVersion': 'none.example.com/v1', 'kind': 'Nothing', 'name': 'x'}]",
          ],
        },
      }),
    );
    await fleet.until(() => colour(fleet.spoke('a')) === 'red', 'what the rule names');
    await fleet.until(
      () => conditionMessage(shop(fleet), 'Dependencies').includes('Nothing shop/x'),
      'what is not served is missing',
    );
    expect(conditionOf(shop(fleet), 'Selected')).toBe('True/Selected');
  });
});

describe('namespaces everywhere', () => {
  it('[A53] a new namespace comes to all members, but for those that are the cluster’s own or that opt out', async () => {
    fleet = await simulateFleet(74, ['a', 'b']);
    const { client } = fleet.hub;
    const everywhere: KubeObject = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'ClusterPropagation',
      metadata: { name: 'namespaces' },
      spec: {
        resourceSelectors: [
          {
            apiVersion: 'v1',
            kind: 'Namespace',
            expression: "!object.metadata.name.startsWith('kube-')",
            labelSelector: {
              matchExpressions: [{ key: 'atoll.dev/skip-propagation', operator: 'NotIn', values: ['true'] }],
            },
          },
        ],
        placement: { clusterSelector: {} },
        apply: { adopt: 'Always', preserveOnDeletion: true },
      },
    };
    await fleet.run(client.create(resourceIdOf(CLUSTER_PROPAGATION), everywhere));
    const make = (name: string, labels: Record<string, string> = {}): Promise<KubeObject> =>
      fleet.run(
        client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } }),
      );
    await make('shop', { team: 'shop' });
    await make('kube-extras');
    await make('private', { 'atoll.dev/skip-propagation': 'true' });
    const has = (cluster: string, name: string): boolean =>
      on(cluster, `core/namespaces/-/${name}`) !== undefined;
    await fleet.until(() => has('a', 'shop') && has('b', 'shop'), 'the namespace on both');
    await make('late');
    await fleet.until(() => has('a', 'late') && has('b', 'late'), 'a later one');
    await fleet.add('c', fleet.hub);
    await fleet.run(client.create(SPOKE_CLUSTERS, spokeCluster('c')));
    await fleet.until(() => has('c', 'shop') && has('c', 'late'), 'all on a cluster that joins');
    await fleet.rest(5_000);
    expect(on('a', 'core/namespaces/-/shop')?.metadata.labels).toMatchObject({ team: 'shop' });
    for (const cluster of ['a', 'b', 'c'])
      for (const name of ['kube-extras', 'private']) expect(has(cluster, name)).toBe(false);
    await merge(fleet, fleet.hub, namespaces, '', 'private', {
      metadata: { labels: { 'atoll.dev/skip-propagation': null } },
    });
    await fleet.until(() => has('a', 'private'), 'one that opts in again');
  });
});
