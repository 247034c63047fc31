import { SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { KubeObject, ObjectRef } from '../kube/object.ts';

/** Namespaces without which a cluster is none. What lies in them may be dispatched; they themselves are not touched. */
const CLUSTER_NAMESPACES = new Set([
  'default',
  'kube-system',
  'kube-public',
  'kube-node-lease',
  SYSTEM_NAMESPACE,
]);
/** Of `core.oam.dev` the kinds of clusters: others bring kinds of that group, too. */
const OWN_DEFINITION = /\.atoll\.dev$|^(spoke)?clusters\.core\.oam\.dev$/;
const RIGHTS = new Set(['ClusterRole', 'ClusterRoleBinding', 'Role', 'RoleBinding']);
/** Roles and bindings of the hub and of those whom it lets through. */
const OWN_RIGHTS_PREFIX = 'atoll:';
/** Kinds of the owner of a cluster, and of the spoke's own memory. */
const OWN_KINDS = new Set(['SpokeContract', 'OwnershipRecord']);
/** Policies by which the API server of a hub knows who wrote what. */
const OWN_POLICY = /^(Mutating|Validating)AdmissionPolicy(Binding)?$/;
const OWN_POLICY_PREFIX = 'atoll.dev-';
/** On an object of a spoke: it may not be deleted until this is taken off. A label or an annotation. */
export const DELETION_PROTECTED = 'atoll.dev/deletion-protected';
/** On an object of a spoke, with the value `false`: its owner keeps Atoll from it. */
export const MANAGED_LABEL = 'atoll.dev/managed';
/** The same, as owners of clusters write it who know KubeFed. */
const KUBEFED_MANAGED_LABEL = 'kubefed.io/managed';

/** Why no hub may write or delete an object here, whoever asks for it. */
export function untouchable(ref: ObjectRef): string | undefined {
  if (ref.kind === 'Namespace' && ref.apiVersion === 'v1' && CLUSTER_NAMESPACES.has(ref.name))
    return `namespace ${ref.name} belongs to the cluster`;
  // The spoke's own memory is there: an order that writes it could grant itself anything.
  if (ref.namespace === SYSTEM_NAMESPACE) return `what is in ${SYSTEM_NAMESPACE} belongs to the spoke itself`;
  if (ref.kind === 'CustomResourceDefinition' && OWN_DEFINITION.test(ref.name))
    return `the kind ${ref.name} belongs to the spoke itself`;
  if (OWN_KINDS.has(ref.kind) && ref.apiVersion.startsWith('atoll.dev/'))
    return `only the owner of the cluster writes a ${ref.kind}`;
  if (OWN_POLICY.test(ref.kind) && ref.name.startsWith(OWN_POLICY_PREFIX))
    return `the policies ${OWN_POLICY_PREFIX}… belong to the cluster itself`;
  if (RIGHTS.has(ref.kind) && ref.name.startsWith(OWN_RIGHTS_PREFIX))
    return "what a hub may do here is the spoke's own to say";
  return undefined;
}

export function isProtected({ metadata: { labels, annotations } }: KubeObject): boolean {
  const value = labels?.[DELETION_PROTECTED] ?? annotations?.[DELETION_PROTECTED];
  return value !== undefined && value !== 'false';
}

/** The label by which the owner of the cluster wants an object left alone, where there is one. */
export function keepingLabel({ metadata: { labels } }: KubeObject): string | undefined {
  return [MANAGED_LABEL, KUBEFED_MANAGED_LABEL].find((label) => labels?.[label] === 'false');
}

/** Whether the owner of the cluster wants an object left alone. */
export function isKeptFrom(object: KubeObject): boolean {
  return keepingLabel(object) !== undefined;
}
