import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { type LabelSelector, matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';

/** Which objects of the hub are meant. `name` and `labelSelector` must both hold where both are given. */
export interface ResourceSelector {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name?: string;
  /** Only for selectors that reach over namespaces; `undefined` means every namespace. */
  readonly namespace?: string;
  readonly labelSelector?: LabelSelector;
}

/** Whether a selector means an object of its kind. The caller has looked at problems of the selector before. */
export function selects(selector: ResourceSelector, object: KubeObject): boolean {
  if (object.kind !== selector.kind) return false;
  if (parseApiVersion(object.apiVersion).group !== parseApiVersion(selector.apiVersion).group) return false;
  if (selector.name !== undefined && object.metadata.name !== selector.name) return false;
  if (selector.namespace !== undefined && (object.metadata.namespace ?? '') !== selector.namespace)
    return false;
  if (selector.labelSelector === undefined) return true;
  const { selector: parsed, issues } = selectorFromObject(selector.labelSelector);
  return issues.length === 0 && matchesSelector(parsed, object.metadata.labels ?? {});
}

/** API groups of the control plane itself: what they hold drives the fleet and must not be sent around in it. */
const OWN_GROUPS = new Set(['atoll.dev', 'core.oam.dev']);
/** Kinds that describe one cluster's own machinery. */
const CLUSTER_OWN_KINDS = new Set([
  'Event',
  'Endpoints',
  'EndpointSlice',
  'Lease',
  'Node',
  'ReplicaSet',
  'ControllerRevision',
  'ComponentStatus',
  'Binding',
  'CertificateSigningRequest',
  'TokenReview',
  'APIService',
  'CSINode',
  'VolumeAttachment',
]);
const SYSTEM_NAMESPACES = new Set(['kube-system', 'kube-public', 'kube-node-lease', 'atoll-system']);

/** Why an object must never be propagated, or `undefined`. What every cluster makes for itself stays where it is. */
export function neverPropagated(object: KubeObject): string | undefined {
  const { name = '', namespace = '', ownerReferences = [] } = object.metadata;
  const group = parseApiVersion(object.apiVersion).group;
  if (OWN_GROUPS.has(group)) return `objects of ${group} steer the fleet`;
  if (
    SYSTEM_NAMESPACES.has(namespace) ||
    (object.kind === 'Namespace' && (SYSTEM_NAMESPACES.has(name) || name === 'default'))
  ) {
    return `namespace ${namespace || name} belongs to the cluster`;
  }
  if (CLUSTER_OWN_KINDS.has(object.kind)) return `each cluster makes its own objects of kind ${object.kind}`;
  const controller = ownerReferences.find((owner) => owner.controller === true);
  if (controller) return `it is made by ${controller.kind} ${controller.name}`;
  if (object.kind === 'ConfigMap' && name === 'kube-root-ca.crt')
    return 'each cluster has its own root certificate';
  if (object.kind === 'ServiceAccount' && name === 'default')
    return 'each namespace has its own default service account';
  if (object.kind === 'Secret' && object['type'] === 'kubernetes.io/service-account-token')
    return 'service account tokens are valid on one cluster only';
  if (object.kind === 'Service' && name === 'kubernetes' && namespace === 'default')
    return 'each cluster has its own API service';
  if (object.metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  return undefined;
}
