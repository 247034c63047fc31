// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_PROPAGATION } from '../../src/dialects/propagation/kinds.ts';
import { BUNDLE, type Bundle, type Dispatch, SYSTEM_NAMESPACE } from '../../src/engine/dispatch/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions } from '../../src/kube/well-known.ts';
import {
  conditionOf,
  dispatchesOn,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  spokeCluster,
  stored,
  storedBelow,
  writeTo,
} from './fleet.ts';
import { configMap, merge, openShop, propagation } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const BUNDLES = resourceIdOf(BUNDLE);

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
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: { type: 'object', properties: { size: { type: 'string' }, site: { type: 'string' } } },
            },
          },
        },
      },
    ],
  },
};

const widget: KubeObject = {
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'shop' },
  spec: { size: 'none', site: 'none' },
};

const graph: KubeObject = {
  apiVersion: 'kro.run/v1alpha1',
  kind: 'ResourceGraphDefinition',
  metadata: { name: 'stall' },
  spec: {
    schema: {
      apiVersion: 'v1alpha1',
      kind: 'Stall',
      spec: { colour: 'string | default=red', version: 'string' },
    },
    resources: [
      {
        id: 'map',
        template: {
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: '${schema.metadata.name}-map' },
          data: { colour: '${schema.spec.colour}', version: '${schema.spec.version}' },
        },
      },
    ],
  },
};

const stall: KubeObject = {
  apiVersion: 'kro.run/v1alpha1',
  kind: 'Stall',
  metadata: { name: 'one', namespace: 'shop' },
  spec: { version: 'none' },
};

const spec = (object: KubeObject | undefined): unknown => object?.['spec'];
const far = (path: string): KubeObject | undefined => stored(fleet.spoke('far'), path);
const dataOf = (path: string): unknown => far(path)?.['data'];
const orderOf = (name: string): Dispatch | undefined =>
  dispatchesOn(fleet.spoke('far')).find((item) => item.metadata.name?.includes(name)) as Dispatch | undefined;

describe('what is dispatched', () => {
  it('[K35] holds all that it needs: a spoke with nothing installed, whose hub is gone, gets everything right', async () => {
    fleet = await simulateFleet(211, ['near']);
    await fleet.run(fleet.hub.client.create(customResourceDefinitions, definition));
    await writeTo(fleet, fleet.hub, graph);
    await fleet
      .until(
        () =>
          conditionOf(stored(fleet.hub, 'kro.run/resourcegraphdefinitions/-/stall'), 'Ready') ===
          'True/Ready',
        'the graph at the hub',
      )
      .catch((error: unknown) => {
        throw new Error(JSON.stringify(stored(fleet.hub, 'kro.run/resourcegraphdefinitions/-/stall')), {
          cause: error,
        });
      });
    await openShop(fleet, [configMap('settings', 'red'), widget, stall], null);
    const reported = (path: string, expression: string): object => ({ op: 'replace', path, expression });
    const placement = { clusterNames: ['far'] };
    await fleet.run(
      fleet.hub.client.create(resourceIdOf(CLUSTER_PROPAGATION), {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'ClusterPropagation',
        metadata: { name: 'widgets' },
        spec: {
          resourceSelectors: [{ apiVersion: 'example.com/v1', kind: 'Widget' }],
          dependencies: { definitions: true, namespaces: true },
          placement,
          overrides: [
            {
              target: { kind: 'Widget' },
              patch: [
                reported('/spec/size', "'of ' + cluster.name"),
                reported('/spec/site', 'cluster.labels.site'),
              ],
            },
          ],
        },
      }),
    );
    await writeTo(
      fleet,
      fleet.hub,
      propagation('stalls', {
        resourceSelectors: [{ apiVersion: 'kro.run/v1alpha1', kind: 'Stall' }],
        placement,
        overrides: [{ patch: [reported('/spec/version', 'cluster.fields.version')] }],
      }),
    );

    // A new cluster: its engine tells what it is, and is stopped before anything is ordered.
    const spoke = await fleet.add('far', fleet.hub);
    const version = (): unknown =>
      (
        stored(spoke, 'core.oam.dev/clusters/atoll-system/far')?.['status'] as
          | { clusterInfo?: { kubernetesVersion?: string } }
          | undefined
      )?.clusterInfo?.kubernetesVersion;
    await fleet.until(() => version() !== undefined, 'what the cluster is');
    const told = version();
    await fleet.run(spoke.engine?.stop() ?? Promise.resolve());
    expect(far('apiextensions.k8s.io/customresourcedefinitions/-/widgets.example.com')).toBeUndefined();
    expect(storedBelow(spoke, 'kro.run/resourcegraphdefinitions/-')).toEqual([]);
    await fleet.run(fleet.hub.client.create(SPOKE_CLUSTERS, spokeCluster('far')));
    await fleet.until(
      () => ['widgets', 'stalls', 'stall'].every((name) => orderOf(name)) && dispatchesOn(spoke).length === 3,
      'the orders are stored',
    );
    await fleet.kill(fleet.hub);

    // What it was sent is looked at: a content that is not what its digest says is not used.
    const name = orderOf('widgets')?.spec.bundles[0] ?? '';
    const bundle = stored(spoke, `atoll.dev/bundles/${SYSTEM_NAMESPACE}/${name}`) as Bundle;
    const wrong = stored(
      spoke,
      `atoll.dev/bundles/${SYSTEM_NAMESPACE}/${orderOf('stalls')?.spec.bundles[0] ?? ''}`,
    ) as Bundle;
    await merge(fleet, spoke, BUNDLES, SYSTEM_NAMESPACE, name, { spec: wrong.spec });
    await fleet.kill(spoke);
    await fleet.start(spoke);
    await fleet.until(
      () =>
        conditionOf(orderOf('widgets'), 'Accepted') !== '' ||
        conditionOf(orderOf('widgets'), 'Applied') !== '',
      'it is judged',
    );
    await fleet.rest(10_000);
    expect(JSON.stringify(orderOf('widgets')?.status?.conditions)).toContain('ContentMissing');
    expect(far('example.com/widgets/shop/w')).toBeUndefined();
    await merge(fleet, spoke, BUNDLES, SYSTEM_NAMESPACE, name, { spec: bundle.spec });

    const isRight = (): boolean =>
      JSON.stringify(spec(far('example.com/widgets/shop/w'))) ===
        JSON.stringify({ size: 'of far', site: 'far' }) &&
      JSON.stringify(dataOf('core/configmaps/shop/one-map')) ===
        JSON.stringify({ colour: 'red', version: told });
    await fleet.until(isRight, 'all of it, with nobody to ask').catch((error: unknown) => {
      const seen = dispatchesOn(spoke).map(({ metadata, status }) => [metadata.name, status]);
      throw new Error(
        JSON.stringify(
          [told, spec(far('example.com/widgets/shop/w')), dataOf('core/configmaps/shop/one-map'), seen],
          undefined,
          1,
        ),
        { cause: error },
      );
    });
    expect(
      conditionOf(
        far('apiextensions.k8s.io/customresourcedefinitions/-/widgets.example.com'),
        'Established',
      ).split('/')[0],
    ).toBe('True');
    await fleet.until(
      () => dispatchesOn(spoke).every((item) => conditionOf(item, 'Applied') === 'True/Applied'),
      'told',
    );

    // A restart changes nothing, and what is broken meanwhile is put right, still with nobody to ask.
    await fleet.rest(60_000);
    const made = (): unknown =>
      ['example.com/widgets/shop/w', 'core/configmaps/shop/one-map'].map((path) => far(path)?.metadata);
    const before = made();
    await fleet.kill(spoke);
    await fleet.start(spoke);
    await fleet.rest(30_000);
    expect(made()).toEqual(before);
    await fleet.run(spoke.engine?.stop() ?? Promise.resolve());
    const widgets = await fleet.run(spoke.client.resourceFor('example.com/v1', 'Widget'));
    await fleet.run(spoke.client.delete(widgets, 'shop', 'w'));
    await fleet.run(
      spoke.client.delete(await fleet.run(spoke.client.resourceFor('v1', 'ConfigMap')), 'shop', 'one-map'),
    );
    await fleet.kill(spoke);
    await fleet.start(spoke);
    await fleet.until(isRight, 'made again');
    expect(fleet.hub.engine).toBeUndefined();
  });
});
