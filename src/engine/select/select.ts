import { type KubeObject, parseApiVersion } from '../../kube/object.ts';
import { stringAt } from '../../schema/json.ts';
import type { LabelSelector } from '../../schema/label-selector.ts';
import { compiledSelector, type NamespaceLabels } from './compile-selector.ts';

/** Which objects of the hub are meant. All that is given must hold. */
export interface ResourceSelector {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name?: string;
  /** Only for selectors that reach over namespaces; `undefined` means every namespace. */
  readonly namespace?: string;
  readonly labelSelector?: LabelSelector;
  /** By the labels of the namespace that an object is in. Objects without a namespace only where it is `{}`. */
  readonly namespaceSelector?: LabelSelector;
  /** CEL over `object`, which must be true. */
  readonly expression?: string;
}

/**
 * Whether a selector means an object of its kind. The caller has looked at problems of the selector before: one that has some
 * means nothing. `namespaces` tells the labels of namespaces, for selectors that ask.
 */
export function selects(
  selector: ResourceSelector,
  object: KubeObject,
  namespaces?: NamespaceLabels,
): boolean {
  return compiledSelector(selector).selects(object, namespaces);
}

/** What drives the fleet must not be sent around in it: all of our own group, and the clusters of a group that others use as well. */
function isOwn(group: string, kind: string): boolean {
  if (group === 'core.oam.dev') return kind === 'SpokeCluster' || kind === 'Cluster';
  // Rules say what a cluster's engine is to make of a kind: they travel with the objects of that kind.
  return group === 'atoll.dev' && kind !== 'ResourceRule';
}

/** Kinds of Kubernetes itself that describe one cluster's own machinery, or that are questions and not objects. */
const CLUSTER_OWN_KINDS = new Set([
  'Event',
  'Endpoints',
  'EndpointSlice',
  'Lease',
  'LeaseCandidate',
  'Node',
  'NodeMetrics',
  'PodMetrics',
  'ReplicaSet',
  'ControllerRevision',
  'ComponentStatus',
  'Binding',
  'CertificateSigningRequest',
  'TokenReview',
  'TokenRequest',
  'SubjectAccessReview',
  'LocalSubjectAccessReview',
  'SelfSubjectAccessReview',
  'SelfSubjectRulesReview',
  'SelfSubjectReview',
  'CSINode',
  'CSIStorageCapacity',
  'VolumeAttachment',
  'ResourceSlice',
  'IPAddress',
  'ServiceCIDR',
  'StorageVersion',
  'StorageVersionMigration',
]);
/** Secrets that are good on one cluster only. */
const CLUSTER_OWN_SECRETS: ReadonlyMap<unknown, string> = new Map([
  ['kubernetes.io/service-account-token', 'service account tokens are valid on one cluster only'],
  ['bootstrap.kubernetes.io/token', 'bootstrap tokens are valid on one cluster only'],
]);
/** What marks objects that an API server makes for itself when it starts. */
const BOOTSTRAP_LABELS = ['kubernetes.io/bootstrapping', 'kube-aggregator.kubernetes.io/automanaged'];
const AUTO_UPDATE = 'apf.kubernetes.io/autoupdate-spec';
const SYSTEM_NAMESPACES = new Set(['kube-system', 'kube-public', 'kube-node-lease', 'atoll-system']);

/** Why an object must never be propagated, or `undefined`. What every cluster makes for itself stays where it is. */
export function neverPropagated(object: KubeObject): string | undefined {
  const { name = '', namespace = '', ownerReferences = [] } = object.metadata;
  const group = parseApiVersion(object.apiVersion).group;
  if (isOwn(group, object.kind)) return `objects of ${group} steer the fleet`;
  if (
    SYSTEM_NAMESPACES.has(namespace) ||
    (object.kind === 'Namespace' && (SYSTEM_NAMESPACES.has(name) || name === 'default'))
  ) {
    return `namespace ${namespace || name} belongs to the cluster`;
  }
  const builtIn = !group.includes('.') || group.endsWith('.k8s.io');
  if (builtIn && CLUSTER_OWN_KINDS.has(object.kind))
    return `each cluster makes its own objects of kind ${object.kind}`;
  if (builtIn && isMadeByItsServer(object)) return 'each API server makes it for itself';
  const controller = ownerReferences.find((owner) => owner.controller === true);
  if (controller) return `it is made by ${controller.kind} ${controller.name}`;
  if (object.kind === 'ConfigMap' && name === 'kube-root-ca.crt')
    return 'each cluster has its own root certificate';
  if (object.kind === 'ServiceAccount' && name === 'default')
    return 'each namespace has its own default service account';
  const ownSecret = object.kind === 'Secret' ? CLUSTER_OWN_SECRETS.get(object['type']) : undefined;
  if (ownSecret !== undefined) return ownSecret;
  if (object.kind === 'Service' && name === 'kubernetes' && namespace === 'default')
    return 'each cluster has its own API service';
  if (object.metadata.deletionTimestamp !== undefined) return 'it is being deleted';
  return undefined;
}

function isMadeByItsServer(object: KubeObject): boolean {
  const { name = '', labels = {}, annotations = {} } = object.metadata;
  if (BOOTSTRAP_LABELS.some((label) => Object.hasOwn(labels, label))) return true;
  switch (object.kind) {
    case 'ClusterRole':
    case 'ClusterRoleBinding':
      return name.startsWith('system:');
    case 'PriorityClass':
      return name.startsWith('system-');
    case 'APIService':
      // Versions that the server itself serves have no service behind them.
      return stringAt(object, 'spec', 'service', 'name') === undefined;
    case 'FlowSchema':
    case 'PriorityLevelConfiguration':
      return Object.hasOwn(annotations, AUTO_UPDATE);
    default:
      return false;
  }
}
