// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import type { KubeObject } from '../../../src/kube/object.ts';

/** What histories about graphs are about: an instance has a config map, and a second one that is made from the first. */
export function shopGraph(edition: string): KubeObject {
  const map = (id: string, colour: string): object => ({
    id,
    template: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `\${schema.metadata.name}-${id}` },
      data: { colour, edition },
    },
  });
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'ResourceGraphDefinition',
    metadata: { name: 'shop' },
    spec: {
      schema: { apiVersion: 'v1alpha1', kind: 'Shop', spec: { colour: 'string | default=red' } },
      resources: [map('map', '${schema.spec.colour}'), map('twin', '${map.data.colour}')],
    },
  } as KubeObject;
}

export const CHILDREN: readonly string[] = ['map', 'twin'];

export function shopInstance(name: string, colour: string): KubeObject {
  return {
    apiVersion: 'kro.run/v1alpha1',
    kind: 'Shop',
    metadata: { name, namespace: 'default' },
    spec: { colour },
  } as KubeObject;
}
