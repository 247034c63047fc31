import type { ResourceId } from './client.ts';

function id(group: string, version: string, resource: string, kind: string, namespaced: boolean): ResourceId {
  return { group, version, resource, kind, namespaced };
}

/** How to address the kinds that code names directly. Everything else is found by discovery. */
export const namespaces: ResourceId = id('', 'v1', 'namespaces', 'Namespace', false);
export const nodes: ResourceId = id('', 'v1', 'nodes', 'Node', false);
export const pods: ResourceId = id('', 'v1', 'pods', 'Pod', true);
export const services: ResourceId = id('', 'v1', 'services', 'Service', true);
export const endpoints: ResourceId = id('', 'v1', 'endpoints', 'Endpoints', true);
export const configMaps: ResourceId = id('', 'v1', 'configmaps', 'ConfigMap', true);
export const secrets: ResourceId = id('', 'v1', 'secrets', 'Secret', true);
export const serviceAccounts: ResourceId = id('', 'v1', 'serviceaccounts', 'ServiceAccount', true);
export const events: ResourceId = id('', 'v1', 'events', 'Event', true);
export const podDisruptionBudgets: ResourceId = id(
  'policy',
  'v1',
  'poddisruptionbudgets',
  'PodDisruptionBudget',
  true,
);
export const persistentVolumes: ResourceId = id('', 'v1', 'persistentvolumes', 'PersistentVolume', false);
export const persistentVolumeClaims: ResourceId = id(
  '',
  'v1',
  'persistentvolumeclaims',
  'PersistentVolumeClaim',
  true,
);

export const deployments: ResourceId = id('apps', 'v1', 'deployments', 'Deployment', true);
export const replicaSets: ResourceId = id('apps', 'v1', 'replicasets', 'ReplicaSet', true);
export const statefulSets: ResourceId = id('apps', 'v1', 'statefulsets', 'StatefulSet', true);
export const daemonSets: ResourceId = id('apps', 'v1', 'daemonsets', 'DaemonSet', true);
export const controllerRevisions: ResourceId = id(
  'apps',
  'v1',
  'controllerrevisions',
  'ControllerRevision',
  true,
);
export const jobs: ResourceId = id('batch', 'v1', 'jobs', 'Job', true);
export const cronJobs: ResourceId = id('batch', 'v1', 'cronjobs', 'CronJob', true);
export const endpointSlices: ResourceId = id(
  'discovery.k8s.io',
  'v1',
  'endpointslices',
  'EndpointSlice',
  true,
);
export const leases: ResourceId = id('coordination.k8s.io', 'v1', 'leases', 'Lease', true);
export const ingresses: ResourceId = id('networking.k8s.io', 'v1', 'ingresses', 'Ingress', true);
export const customResourceDefinitions: ResourceId = id(
  'apiextensions.k8s.io',
  'v1',
  'customresourcedefinitions',
  'CustomResourceDefinition',
  false,
);

const RBAC = 'rbac.authorization.k8s.io';
export const roles: ResourceId = id(RBAC, 'v1', 'roles', 'Role', true);
export const roleBindings: ResourceId = id(RBAC, 'v1', 'rolebindings', 'RoleBinding', true);
export const clusterRoles: ResourceId = id(RBAC, 'v1', 'clusterroles', 'ClusterRole', false);
export const clusterRoleBindings: ResourceId = id(
  RBAC,
  'v1',
  'clusterrolebindings',
  'ClusterRoleBinding',
  false,
);

export const selfSubjectReviews: ResourceId = id(
  'authentication.k8s.io',
  'v1',
  'selfsubjectreviews',
  'SelfSubjectReview',
  false,
);
export const certificateSigningRequests: ResourceId = id(
  'certificates.k8s.io',
  'v1',
  'certificatesigningrequests',
  'CertificateSigningRequest',
  false,
);
