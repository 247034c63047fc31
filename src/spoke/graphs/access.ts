import type { KubeObject } from '../../kube/object.ts';

/** What the engine may do: everything, or its own work and what roles with a label add. */
export type AccessMode = 'unrestricted' | 'aggregation';

/** On a ClusterRole, `"true"`: with the mode `aggregation` the engine may do what it says. */
export const AGGREGATE_TO_ENGINE = 'rbac.kro.run/aggregate-to-controller';

const RBAC = 'rbac.authorization.k8s.io';
const ENGINE_ROLE = 'atoll:graph-engine';
const OWN_ROLE = 'atoll:graph-engine-own';
const ALL = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const READ = ['get', 'list', 'watch'];

function clusterRole(
  name: string,
  rules: readonly object[],
  labels: Record<string, string> = {},
): KubeObject {
  return { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name, labels }, rules };
}

/**
 * The roles that graphs need on a cluster: those of the engine, bound to `subject`, and those by which people who may view or edit a
 * namespace may do so with definitions, and with instances of kro.run.
 */
export function graphAccess(mode: AccessMode, subject: object): KubeObject[] {
  const engine =
    mode === 'unrestricted'
      ? [clusterRole(ENGINE_ROLE, [{ apiGroups: ['*'], resources: ['*'], verbs: ['*'] }])]
      : [
          {
            ...clusterRole(ENGINE_ROLE, []),
            aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [AGGREGATE_TO_ENGINE]: 'true' } }] },
          },
          clusterRole(OWN_ROLE, OWN_RULES, { [AGGREGATE_TO_ENGINE]: 'true' }),
        ];
  return [
    ...engine,
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: ENGINE_ROLE },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: ENGINE_ROLE },
      subjects: [subject],
    },
    clusterRole('atoll:graphs-view', [{ apiGroups: ['kro.run'], resources: ['*'], verbs: READ }], {
      [`${RBAC}/aggregate-to-view`]: 'true',
    }),
    clusterRole('atoll:graphs-edit', [{ apiGroups: ['kro.run'], resources: ['*'], verbs: ALL }], {
      [`${RBAC}/aggregate-to-edit`]: 'true',
      [`${RBAC}/aggregate-to-admin`]: 'true',
    }),
  ];
}

/** Definitions, revisions, the kinds of instances and instances of kro.run. What instances are made of is for others to allow. */
const OWN_RULES: readonly object[] = [
  { apiGroups: ['kro.run', 'internal.kro.run'], resources: ['*'], verbs: ALL },
  { apiGroups: ['atoll.dev'], resources: ['rgdrollouts'], verbs: READ },
  // What stands for objects on other clusters.
  { apiGroups: ['atoll.dev'], resources: ['remoteobjects', 'hubobjects'], verbs: ALL },
  { apiGroups: ['atoll.dev'], resources: ['hubobjects/status'], verbs: ['patch'] },
  { apiGroups: ['atoll.dev'], resources: ['hubreplies'], verbs: READ },
  { apiGroups: ['apiextensions.k8s.io'], resources: ['customresourcedefinitions'], verbs: ALL },
  { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ALL },
  // Watches with the rights of an account end with these.
  {
    apiGroups: [RBAC],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
    verbs: READ,
  },
  { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
  { nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*'], verbs: ['get'] },
];
