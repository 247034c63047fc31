import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_NAMESPACE } from '../../src/dialects/kubefed/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { at } from '../../src/schema/json.ts';
import { config, federatedWords, onA } from './federated-words.ts';
import { applyAll, enable, federated, openFederatedShop, TYPE_CONFIGS, typeConfig } from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { until } = federatedWords(() => fleet);

describe('a type config', () => {
  it('[F9] that changes its version goes on with the new one, without a restart', async () => {
    const widgets = (...versions: string[]): KubeObject => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
        versions: ['v1alpha1', 'v1'].map((name) => ({
          name,
          served: versions.includes(name),
          storage: name === 'v1',
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
            },
          },
        })),
      },
    });
    fleet = await simulateFleet(9, ['a']);
    const both = widgets('v1alpha1', 'v1');
    await applyAll(fleet, fleet.hub, [both]);
    await applyAll(fleet, fleet.spoke('a'), [both]);
    await fleet.rest(2_000);
    const target = {
      group: 'example.com',
      version: 'v1alpha1',
      kind: 'Widget',
      pluralName: 'widgets',
      scope: 'Namespaced' as const,
    };
    await enable(fleet, ['Namespace', target]);
    await openFederatedShop(fleet, ['a']);
    const widget = (size: number): KubeObject =>
      federated('Widget', 'w', { template: { spec: { size } }, ...onA });
    await applyAll(fleet, fleet.hub, [widget(1)]);
    const there = (): KubeObject | undefined => stored(fleet.spoke('a'), 'example.com/widgets/shop/w');
    await fleet.until(() => at(there(), 'spec', 'size') === 1, 'the widget');
    const uid = there()?.metadata.uid;
    await fleet.run(
      fleet.hub.client.patch(TYPE_CONFIGS, DEFAULT_NAMESPACE, 'widgets.example.com', 'merge', {
        spec: { targetType: { version: 'v1' } },
      }),
    );
    await applyAll(fleet, fleet.spoke('a'), [widgets('v1')]);
    await fleet.rest(5_000);
    await applyAll(fleet, fleet.hub, [widget(2)]);
    await fleet.until(() => at(there(), 'spec', 'size') === 2, 'the change');
    expect(there()?.metadata.uid).toBe(uid);
    expect(at(typeConfig(fleet, 'widgets.example.com'), 'status')).toMatchObject({
      propagationController: 'Running',
      observedGeneration: 2,
    });
  });

  it('keeps definitions that somebody else made', async () => {
    fleet = await simulateFleet(9, ['a']);
    const own: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'federatedconfigmaps.types.kubefed.io' },
      spec: {
        group: 'types.kubefed.io',
        scope: 'Namespaced',
        names: {
          kind: 'FederatedConfigMap',
          listKind: 'FederatedConfigMapList',
          plural: 'federatedconfigmaps',
          singular: 'federatedconfigmap',
        },
        versions: [
          {
            name: 'v1beta1',
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    await applyAll(fleet, fleet.hub, [own]);
    await enable(fleet, ['Namespace', 'ConfigMap']);
    await openFederatedShop(fleet, ['a']);
    await applyAll(fleet, fleet.hub, [config('c', onA)]);
    await until('ConfigMap', 'c', 'True', { a: '' });
    const crd = stored(
      fleet.hub,
      'apiextensions.k8s.io/customresourcedefinitions/-/federatedconfigmaps.types.kubefed.io',
    );
    expect(crd?.metadata.annotations).toBeUndefined();
    expect(crd?.metadata.generation).toBe(1);
  });
});
