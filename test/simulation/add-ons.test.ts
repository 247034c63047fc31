import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_PROPAGATION } from '../../src/dialects/propagation/kinds.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions } from '../../src/kube/well-known.ts';
import { applyAll } from './federation.ts';
import { conditionOf, dispatchesOn, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { openShop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

function definition(plural: string, kind: string): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.core.oam.dev`, labels: { addon: 'apps' } },
    spec: {
      group: 'core.oam.dev',
      scope: 'Namespaced',
      names: { kind, listKind: `${kind}List`, plural, singular: kind.toLowerCase() },
      versions: [
        {
          name: 'v1beta1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
        },
      ],
    },
  };
}

const application: KubeObject = {
  apiVersion: 'core.oam.dev/v1beta1',
  kind: 'Application',
  metadata: { name: 'web', namespace: 'shop', labels: { addon: 'apps' } },
  spec: { components: [] },
};
const controller: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'apps-controller', namespace: 'shop', labels: { addon: 'apps' } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: 'apps-controller' } },
    template: {
      metadata: { labels: { app: 'apps-controller' } },
      spec: { containers: [{ name: 'controller', image: 'apps:1' }] },
    },
  },
};

describe('an engine that is brought to spokes as an add-on', () => {
  it('[K38] is usable after the dispatch: its kinds are served, its controller runs, its objects are there', async () => {
    fleet = await simulateFleet(231, ['a'], { workloads: true });
    await openShop(fleet, [], null);
    await applyAll(fleet, fleet.hub, [definition('applications', 'Application'), controller]);
    await fleet.until(
      () =>
        conditionOf(
          stored(fleet.hub, 'apiextensions.k8s.io/customresourcedefinitions/-/applications.core.oam.dev'),
          'Established',
        ).startsWith('True'),
      'the kind at the hub',
    );
    await applyAll(fleet, fleet.hub, [application]);
    const labelSelector = { matchLabels: { addon: 'apps' } };
    await fleet.run(
      fleet.hub.client.create(resourceIdOf(CLUSTER_PROPAGATION), {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'ClusterPropagation',
        metadata: { name: 'apps' },
        spec: {
          resourceSelectors: [
            { apiVersion: 'apiextensions.k8s.io/v1', kind: 'CustomResourceDefinition', labelSelector },
            { apiVersion: 'apps/v1', kind: 'Deployment', labelSelector, namespace: 'shop' },
            { apiVersion: 'core.oam.dev/v1beta1', kind: 'Application', labelSelector, namespace: 'shop' },
          ],
          placement: { clusterSelector: {} },
        },
      }),
    );
    const status = (): string =>
      conditionOf(stored(fleet.hub, 'atoll.dev/clusterpropagations/-/apps'), 'Ready');
    await fleet.until(() => status() === 'True/Ready', 'ready', 60_000);
    const { client } = fleet.spoke('a');
    const applications = await fleet.run(client.resourceFor('core.oam.dev/v1beta1', 'Application'));
    expect((await fleet.run(client.get(applications, 'shop', 'web'))).spec).toEqual({ components: [] });
    // Whoever is on the spoke can use the kind as well.
    const own = { ...application, metadata: { name: 'own', namespace: 'shop' } };
    await fleet.run(client.create(applications, own));
  });

  it("never reaches the kinds of the spoke's own engine", async () => {
    fleet = await simulateFleet(232, ['a']);
    await openShop(fleet, [], null);
    const clusters = 'apiextensions.k8s.io/customresourcedefinitions/-/clusters.core.oam.dev';
    const before = stored(fleet.spoke('a'), clusters)?.metadata.uid;
    expect(before).toBeDefined();
    await fleet.run(
      fleet.hub.client.patch(customResourceDefinitions, '', 'clusters.core.oam.dev', 'merge', {
        metadata: { labels: { addon: 'apps' } },
      }),
    );
    await fleet.run(
      fleet.hub.client.create(resourceIdOf(CLUSTER_PROPAGATION), {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'ClusterPropagation',
        metadata: { name: 'apps' },
        spec: {
          resourceSelectors: [
            {
              apiVersion: 'apiextensions.k8s.io/v1',
              kind: 'CustomResourceDefinition',
              name: 'clusters.core.oam.dev',
            },
          ],
          placement: { clusterSelector: {} },
        },
      }),
    );
    await fleet.rest(30_000);
    const there = stored(fleet.spoke('a'), clusters);
    expect([there?.metadata.uid, there?.metadata.labels?.['addon']]).toEqual([before, undefined]);
    expect(dispatchesOn(fleet.spoke('a')).map((item) => conditionOf(item, 'Applied'))).not.toContain(
      'True/Applied',
    );
  });
});
