import {
  BINDING_POLICY,
  type Binding,
  type BindingPolicy,
  EDGE_PLACEMENT,
  type EdgePlacement,
} from '../../../dialects/kubestellar/index.ts';
import type { ResourceId } from '../../../kube/client.ts';
import { type KubeObject, type OwnerReference, parseApiVersion } from '../../../kube/object.ts';

/** What a Binding may be of. The two kinds differ in how they say where, and in what they are told. */
export type Policy = BindingPolicy | EdgePlacement;

/** Keeps a policy until its Binding is gone. */
export const POLICY_FINALIZER = 'bindingpolicy.kubestellar.io/kscontroller';
const PLACEMENT_FINALIZER = 'edgeplacement.kubestellar.io/kscontroller';

export function isPlacement(policy: KubeObject): policy is EdgePlacement {
  return policy.kind === EDGE_PLACEMENT.kind;
}

export function finalizerOf(policy: Policy): string {
  return isPlacement(policy) ? PLACEMENT_FINALIZER : POLICY_FINALIZER;
}

/** Names a policy among those of both kinds. */
export function keyOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name ?? ''}`;
}

export function resourceOf(policy: Policy): ResourceId {
  const kind = isPlacement(policy) ? EDGE_PLACEMENT : BINDING_POLICY;
  const { version } = parseApiVersion(policy.apiVersion);
  return { group: kind.group, version, resource: kind.plural, kind: kind.kind, namespaced: false };
}

/** The policy that a Binding says it is of. */
export function ownerOf({ metadata }: KubeObject): OwnerReference | undefined {
  return metadata.ownerReferences?.find(
    ({ controller, kind, apiVersion }) =>
      controller === true &&
      [BINDING_POLICY, EDGE_PLACEMENT].some(
        (owning) => owning.kind === kind && owning.group === parseApiVersion(apiVersion).group,
      ),
  );
}

/** Whether a Binding says that it is of a policy. */
export function ownedBy(policy: Policy, binding: Binding): boolean {
  const owner = ownerOf(binding);
  return owner?.kind === policy.kind && owner.name === policy.metadata.name;
}
