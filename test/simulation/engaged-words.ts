// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import type { ResourceId } from '../../src/kube/client.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import type { BareCluster, EngagedRig } from './engaged-rig.ts';
import { configMap, shopDefinition } from './graph-cluster.ts';

export const SHOP: KubeObject = shopDefinition([
  configMap('app', '${schema.metadata.name}-app', { colour: '${schema.spec.colour}' }),
]);

export const shops: ResourceId = {
  ...{ group: 'kro.run', version: 'v1alpha1', resource: 'shops', kind: 'Shop', namespaced: true },
};

export const shopOn = (cluster: BareCluster, name = 'one'): KubeObject | undefined =>
  cluster.stored(`kro.run/shops/default/${name}`);

export const mapOn = (cluster: BareCluster, name = 'one-app'): KubeObject | undefined =>
  cluster.stored(`core/configmaps/default/${name}`);

export const kindOn = (cluster: BareCluster): KubeObject | undefined =>
  cluster.stored('apiextensions.k8s.io/customresourcedefinitions/-/shops.kro.run');

/** Words of tests about clusters that a hub engages. */
export interface EngagedWords {
  statusOf(name: string): { state?: string; message?: string; worker?: string };
  graphsOf(name: string): { name: string; state: string; message?: string; revision?: number }[];
  engaged(name: string): Promise<void>;
}

export function engagedWords(of: () => EngagedRig): EngagedWords {
  const statusOf = (name: string): { state?: string; message?: string; worker?: string } =>
    of().view(name)?.['status'] ?? {};
  const graphsOf = (name: string): { name: string; state: string; message?: string; revision?: number }[] =>
    ((of().view(name)?.['status'] ?? {}) as { graphs?: { name: string; state: string }[] }).graphs ?? [];
  async function engaged(name: string): Promise<void> {
    await of().credential(name);
    await of().untilState(name, 'Ready');
  }
  return { statusOf, graphsOf, engaged };
}
