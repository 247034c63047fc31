import { afterEach, describe, expect, it } from 'vitest';
import { enableTypes } from '../../src/cli/federate/index.ts';
import { DEFAULT_NAMESPACE, EARLY_GROUP, EARLY_VERSION } from '../../src/dialects/kubefed/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { namespaces } from '../../src/kube/well-known.ts';
import { at } from '../../src/schema/json.ts';
import { applyAll, established, makeNamespace } from './federation.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, stored } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

async function open(names: string[], kinds: string[]): Promise<void> {
  fleet = await simulateFleet(3, names);
  await fleet.run(
    enableTypes(fleet.runtime.clock, fleet.hub.client, kinds, {
      kubefedNamespace: DEFAULT_NAMESPACE,
      federatedGroup: EARLY_GROUP,
      federatedVersion: EARLY_VERSION,
    }),
  );
  await fleet.until(() => established(fleet.hub, `federationplacements.${EARLY_GROUP}`), 'the kinds');
  await makeNamespace(fleet, 'shop');
}

function early(kind: string, name: string, spec: object): KubeObject {
  return {
    apiVersion: 'core.federation.k8s.io/v1alpha1',
    kind,
    metadata: { name, namespace: 'shop' },
    spec,
  };
}

const template = early('FederatedDeployment', 'web', {
  template: {
    metadata: { labels: { app: 'web' } },
    spec: {
      replicas: 3,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web:1' }] },
      },
    },
  },
});
const placement = (...clusterNames: string[]): KubeObject =>
  early('FederatedDeploymentPlacement', 'web', { clusterNames });

function replicas(): Record<string, unknown> {
  return Object.fromEntries(
    fleet.spokes.flatMap((spoke) => {
      const found = stored(spoke, 'apps/deployments/shop/web');
      return found ? [[spoke.name, at(found, 'spec', 'replicas')]] : [];
    }),
  );
}

async function until(wanted: Record<string, number>): Promise<void> {
  await fleet.until(() => JSON.stringify(replicas()) === JSON.stringify(wanted), JSON.stringify(wanted));
}

describe('template, placement and override', () => {
  it('[F59] are three objects of one name; their namespace goes everywhere where nothing is said', async () => {
    await open(['a', 'b'], ['deployments', 'configmaps']);
    await applyAll(fleet, fleet.hub, [template]);
    for (const spoke of fleet.spokes)
      await fleet.until(() => stored(spoke, 'core/namespaces/-/shop') !== undefined, 'the namespace');
    expect(replicas()).toEqual({});
    const override = early('FederatedDeploymentOverride', 'web', {
      overrides: [{ clusterName: 'b', replicas: 5 }],
    });
    await applyAll(fleet, fleet.hub, [override, placement('a', 'b')]);
    await until({ a: 3, b: 5 });
    await applyAll(fleet, fleet.hub, [placement('b')]);
    await until({ b: 5 });
    await applyAll(fleet, fleet.hub, [
      early('FederatedNamespacePlacement', 'shop', { clusterNames: ['a'] }),
      placement('a', 'b'),
    ]);
    await until({ a: 3 });
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(replicas()).toEqual({ a: 3 });
    await fleet.run(fleet.hub.client.delete(namespaces, '', 'shop'));
    await fleet.until(
      () => stored(fleet.hub, 'core/namespaces/-/shop') === undefined,
      'gone at the hub',
      120_000,
    );
    await until({});
  });
});

describe('a FederationPlacement', () => {
  it('[F60] brings objects with some labels to clusters with some labels', async () => {
    await open(['a', 'b'], ['configmaps']);
    const map = (name: string, tier: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'shop', labels: { tier } },
      data: { x: '1' },
    });
    await applyAll(fleet, fleet.hub, [
      map('one', 'web'),
      map('two', 'data'),
      early('FederationPlacement', 'web', {
        resourceSelector: { matchLabels: { tier: 'web' } },
        clusterSelector: { matchLabels: { region: 'eu' } },
      }),
    ]);
    const label = async (name: string, region: string | null): Promise<void> => {
      const patch = { metadata: { labels: { region } } };
      await fleet.run(fleet.hub.client.patch(SPOKE_CLUSTERS, 'default', name, 'merge', patch));
    };
    await label('b', 'eu');
    const on = (): string[] =>
      fleet.spokes.flatMap((spoke) =>
        ['one', 'two']
          .filter((name) => stored(spoke, `core/configmaps/shop/${name}`))
          .map((name) => `${spoke.name}/${name}`),
      );
    await fleet.until(() => on().join() === 'b/one', 'one on b');
    await applyAll(fleet, fleet.hub, [map('two', 'web')]);
    await fleet.until(() => on().join() === 'b/one,b/two', 'both on b');
    await label('a', 'eu');
    await label('b', null);
    await fleet.until(() => on().join() === 'a/one,a/two', 'both on a');
  });
});
