import { BINDING_POLICY } from '../../src/dialects/kubestellar/index.ts';
import { customResourceDefinition } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { at, listAt } from '../../src/schema/json.ts';
import { applyAll, established, makeNamespace } from './federation.ts';
import { conditionOf, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import { colour } from './shop.ts';

export const everywhere: object = { clusterSelectors: [{}] };
export const maps: object = { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] };

/** A hub that serves KubeStellar's kinds and has a namespace `shop`, with spokes `a` and `b`. */
export async function kubestellarFleet(): Promise<SimulatedFleet> {
  const fleet = await simulateFleet(11, ['a', 'b']);
  await applyAll(fleet, fleet.hub, [customResourceDefinition(BINDING_POLICY)]);
  await fleet.until(() => established(fleet.hub, 'bindings.control.kubestellar.io'), 'its kinds');
  await makeNamespace(fleet, 'shop');
  return fleet;
}

export function policy(name: string, downsync: readonly object[], more: object = everywhere): KubeObject {
  return {
    apiVersion: 'control.kubestellar.io/v1alpha1',
    kind: 'BindingPolicy',
    metadata: { name },
    spec: { ...more, downsync },
  };
}

export function errorsOf(object: KubeObject | undefined): string {
  return listAt(object, 'status', 'errors').join('\n');
}

/** What is said and seen of policies on the fleet that is there when it is said. */
export interface KubestellarWords {
  apply(...objects: KubeObject[]): Promise<void>;
  ready(name: string): Promise<void>;
  policyOf(name: string): KubeObject | undefined;
  bindingOf(name: string): KubeObject | undefined;
  /** `resource namespace/name` of what a Binding lists. */
  listedBy(name: string): string[];
  /** The clusters that have a ConfigMap of this name. */
  held(name: string): string[];
}

export function kubestellarWords(present: () => SimulatedFleet): KubestellarWords {
  const policyOf = (name: string): KubeObject | undefined =>
    stored(present().hub, `control.kubestellar.io/bindingpolicies/-/${name}`);
  const bindingOf = (name: string): KubeObject | undefined =>
    stored(present().hub, `control.kubestellar.io/bindings/-/${name}`);
  return {
    policyOf,
    bindingOf,
    async apply(...objects) {
      await applyAll(present(), present().hub, objects);
    },
    async ready(name) {
      await present().until(
        () => conditionOf(policyOf(name), 'Ready') === 'True/Available',
        `${name} is ready`,
      );
    },
    listedBy(name) {
      const spec = bindingOf(name)?.['spec'];
      return ['clusterScope', 'namespaceScope'].flatMap((scope) =>
        listAt(spec, 'workload', scope).map(
          (item) => `${at(item, 'resource')} ${at(item, 'namespace') ?? '-'}/${at(item, 'name')}`,
        ),
      );
    },
    held: (name) => ['a', 'b'].filter((cluster) => colour(present().spoke(cluster), name) !== ''),
  };
}
