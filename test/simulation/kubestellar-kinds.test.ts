import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../src/kube/object.ts';
import { customResourceDefinitions } from '../../src/kube/well-known.ts';
import { applyAll, established } from './federation.ts';
import { simulateFleet, stored } from './fleet.ts';

describe('the kinds', () => {
  it('are all there once one definition is, however little is in it', async () => {
    const other = await simulateFleet(12, ['a']);
    const definition = (): KubeObject | undefined =>
      stored(
        other.hub,
        'apiextensions.k8s.io/customresourcedefinitions/-/edgeplacements.edge.kubestellar.io',
      );
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const short: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: 'edgeplacements.edge.kubestellar.io',
        annotations: { 'atoll.dev/kubestellar': 'to-be-made' },
      },
      spec: {
        group: 'edge.kubestellar.io',
        scope: 'Cluster',
        names: { kind: 'EdgePlacement', plural: 'edgeplacements' },
        versions: [{ name: 'v2alpha1', served: true, storage: true, schema }],
      },
    };
    await applyAll(other, other.hub, [short]);
    await other.until(() => established(other.hub, 'bindingpolicies.control.kubestellar.io'), 'policies');
    await other.until(() => established(other.hub, 'singleplacementslices.edge.kubestellar.io'), 'slices');
    await other.until(
      () => JSON.stringify(definition()).includes('locationSelectors'),
      'the whole definition',
    );
    // Who applies their file once more does not end up with a short definition.
    const { client } = other.hub;
    await other.run(
      client.patch(customResourceDefinitions, '', 'edgeplacements.edge.kubestellar.io', 'merge', {
        metadata: short.metadata,
        spec: short['spec'],
      }),
    );
    expect(JSON.stringify(definition())).not.toContain('locationSelectors');
    await other.until(() => JSON.stringify(definition()).includes('locationSelectors'), 'it, whole again');
    await other.stop();
  });
});
