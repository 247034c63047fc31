import { afterEach, describe, expect, it } from 'vitest';
import type { Dispatch } from '../../src/engine/dispatch/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions, deployments } from '../../src/kube/well-known.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  everything,
  PROPAGATIONS,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
} from './fleet.ts';
import { colour, configMap, merge, openShop, ready, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const edit = (spec: object): Promise<KubeObject> =>
  merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', { spec });

const PROPERTIES = {
  group: 'about.k8s.io',
  version: 'v1alpha1',
  resource: 'clusterproperties',
  kind: 'ClusterProperty',
  namespaced: false,
};

async function defineProperties(spoke: string): Promise<void> {
  await fleet.run(
    fleet.spoke(spoke).client.create(customResourceDefinitions, {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: 'clusterproperties.about.k8s.io',
        annotations: { 'api-approved.kubernetes.io': 'https://github.com/kubernetes-sigs/about-api/pull/1' },
      },
      spec: {
        group: 'about.k8s.io',
        scope: 'Cluster',
        names: {
          kind: 'ClusterProperty',
          listKind: 'ClusterPropertyList',
          plural: 'clusterproperties',
          singular: 'clusterproperty',
        },
        versions: [
          {
            name: 'v1alpha1',
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    }),
  );
}

async function say(spoke: string, name: string, value: string): Promise<void> {
  const { client } = fleet.spoke(spoke);
  const object = { apiVersion: 'about.k8s.io/v1alpha1', kind: 'ClusterProperty', metadata: { name } };
  await fleet.run(
    client.apply(PROPERTIES, { ...object, spec: { value } }, { fieldManager: 'owner', force: true }),
  );
}

const deployment: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop' },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'web' } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'main', image: 'docker.io/shop/web:1', args: ['a'] }] },
    },
  },
};

function replicasOn(name: string): unknown {
  return (stored(fleet.spoke(name), 'apps/deployments/shop/web')?.['spec'] as { replicas?: number })
    ?.replicas;
}

describe('overrides', () => {
  it('[A34] are told on the cluster that they were applied to: which, by name, and what they did', async () => {
    fleet = await simulateFleet(51, ['a', 'b']);
    await openShop(fleet, undefined, {
      overrides: [
        { name: 'all-blue', patch: [{ op: 'replace', path: '/data/colour', value: 'blue' }] },
        { name: 'b-is-gold', clusterNames: ['b'], labels: { add: { tier: 'gold' } } },
      ],
    });
    await ready(fleet, 2);
    const patchesOn = (name: string): Dispatch['spec']['patches'] =>
      (dispatchesOn(fleet.spoke(name))[0] as Dispatch).spec.patches;
    expect(patchesOn('a').map(({ name }) => name)).toEqual(['all-blue']);
    expect(patchesOn('b')).toMatchObject([
      { name: 'all-blue', override: 0, operations: [{ op: 'replace', path: '/data/colour', value: 'blue' }] },
      { name: 'b-is-gold', override: 1, operations: [{ op: 'add', path: '/metadata/labels' }] },
    ]);
    const settings = stored(fleet.spoke('b'), 'core/configmaps/shop/settings');
    expect(settings?.metadata.labels).toMatchObject({ tier: 'gold' });
    expect(Object.keys(settings?.metadata.annotations ?? {})).toEqual(['atoll.dev/managed-by']);
  });

  it('[S84] give each cluster a number that it says itself: replicas 3 here and 5 there', async () => {
    fleet = await simulateFleet(52, ['a', 'b']);
    for (const [name, size] of [
      ['a', '3'],
      ['b', '5'],
    ] as const) {
      await defineProperties(name);
      await say(name, 'size', size);
    }
    await openShop(fleet, [deployment], {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
      overrides: [
        { patch: [{ op: 'replace', path: '/spec/replicas', expression: 'int(cluster.properties.size)' }] },
      ],
    });
    await fleet.until(() => replicasOn('a') === 3 && replicasOn('b') === 5, 'replicas of the clusters');
  });

  it('are computed anew by a cluster that changes, with the hub away, and nothing is dispatched for it', async () => {
    fleet = await simulateFleet(53, ['a']);
    await defineProperties('a');
    await say('a', 'size', '3');
    await openShop(fleet, [deployment], {
      resourceSelectors: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
      overrides: [
        { patch: [{ op: 'replace', path: '/spec/replicas', expression: 'int(cluster.properties.size)' }] },
      ],
    });
    await fleet.until(() => replicasOn('a') === 3, 'the first value');
    const generation = shopStatus(fleet)['dispatchGeneration'];
    await fleet.kill(fleet.hub);
    await say('a', 'size', '4');
    await fleet.until(() => replicasOn('a') === 4, 'the next value, without the hub');
    // What the cluster no longer says leaves what is there.
    await fleet.run(fleet.spoke('a').client.delete(PROPERTIES, '', 'size'));
    await fleet.rest(5_000);
    expect(replicasOn('a')).toBe(4);
    expect(conditionOf(dispatchesOn(fleet.spoke('a'))[0], 'Applied')).toBe('False/RenderFailed');
    await merge(fleet, fleet.spoke('a'), deployments, 'shop', 'web', { spec: { replicas: 9 } });
    await fleet.until(() => replicasOn('a') === 4, 'drift is corrected all the same');
    await say('a', 'size', '2');
    await fleet.until(() => replicasOn('a') === 2, 'the value after that');
    await fleet.start(fleet.hub);
    await fleet.rest(20_000);
    expect(conditionOf(shop(fleet), 'Dispatched')).toBe('True/Dispatched');
    expect(shopStatus(fleet)['dispatchGeneration']).toBe(generation);
  });

  it('read labels of the inventory, which only the hub knows: they travel, and a new one makes a new generation', async () => {
    fleet = await simulateFleet(54, ['a']);
    await openShop(fleet, undefined, {
      overrides: [{ patch: [{ op: 'replace', path: '/data/colour', expression: 'cluster.labels.colour' }] }],
    });
    await fleet.until(
      () => conditionOf(shop(fleet), 'OverridesApplied') === 'False/OverrideFailed',
      'blocked',
    );
    expect(conditionMessage(shop(fleet), 'OverridesApplied')).toContain('no such key');
    const paint = (value: string): Promise<unknown> =>
      merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', { metadata: { labels: { colour: value } } });
    await paint('green');
    await fleet.until(() => colour(fleet.spoke('a')) === 'green', 'the label of the cluster');
    await ready(fleet, 1);
    await paint('black');
    await fleet.until(() => colour(fleet.spoke('a')) === 'black', 'the next label');
    await ready(fleet, 1);
    await fleet.rest(1_000);
    const before = everything(fleet.spoke('a'));
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await ready(fleet, 1);
    await fleet.rest(20_000);
    expect(everything(fleet.spoke('a'))).toEqual(before);
  });

  it('[A33] change one key of a document in a ConfigMap on one cluster', async () => {
    fleet = await simulateFleet(55, ['a', 'b']);
    const document = '# shop\ncolour: red\nsize: 1 # small\n';
    await openShop(fleet, [{ ...configMap('settings', 'red'), data: { 'shop.yaml': document } }], {
      overrides: [
        {
          clusterNames: ['b'],
          patch: [
            {
              op: 'edit',
              path: '/data/shop.yaml',
              operations: [{ op: 'replace', path: '/colour', value: 'blue' }],
            },
          ],
        },
      ],
    });
    await ready(fleet, 2);
    const textOn = (name: string): unknown => {
      const data = stored(fleet.spoke(name), 'core/configmaps/shop/settings')?.['data'];
      return (data as Record<string, string> | undefined)?.['shop.yaml'];
    };
    expect(textOn('a')).toBe(document);
    expect(textOn('b')).toBe('# shop\ncolour: blue\nsize: 1 # small\n');
  });

  it('that reach for the marks of ownership are refused, and the cluster keeps what it has', async () => {
    fleet = await simulateFleet(56, ['a']);
    await openShop(fleet);
    await ready(fleet, 1);
    await edit({ overrides: [{ labels: { add: { 'atoll.dev/dispatch': 'mine' } } }] });
    await fleet.until(
      () => conditionOf(shop(fleet), 'OverridesApplied') === 'False/OverrideFailed',
      'refused',
    );
    expect(conditionMessage(shop(fleet), 'OverridesApplied')).toContain('atoll.dev/dispatch');
    expect(colour(fleet.spoke('a'))).toBe('red');
  });
});
