import { SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import type { KubeObject } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import { namespaces } from '../kube/well-known.ts';

/** Who the hub is on a spoke. */
export const HUB_USER = 'atoll:hub';

const RBAC = 'rbac.authorization.k8s.io';
const NAME = 'atoll:hub';
const subjects = [{ kind: 'User', apiGroup: RBAC, name: HUB_USER }];

/** All that a hub may do on a spoke: write dispatches and bundles, read what the spoke says of itself. Not Secrets, not workloads. */
export function hubAccess(): KubeObject[] {
  return [
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'Role',
      metadata: { name: NAME, namespace: SYSTEM_NAMESPACE },
      rules: [
        {
          apiGroups: ['atoll.dev'],
          resources: ['dispatches', 'bundles'],
          verbs: ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'],
        },
        { apiGroups: ['core.oam.dev'], resources: ['clusters'], verbs: ['get', 'list', 'watch'] },
      ],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'RoleBinding',
      metadata: { name: NAME, namespace: SYSTEM_NAMESPACE },
      roleRef: { apiGroup: RBAC, kind: 'Role', name: NAME },
      subjects,
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRole',
      metadata: { name: NAME },
      rules: [
        { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list'] },
        {
          nonResourceURLs: [
            '/livez',
            '/readyz',
            '/healthz',
            '/version',
            '/api',
            '/api/*',
            '/apis',
            '/apis/*',
          ],
          verbs: ['get'],
        },
      ],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: NAME },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: NAME },
      subjects,
    },
  ];
}

/** Grants the hub its rights on this spoke. Writes nothing where they are granted. */
export async function grantHubAccess(client: Client): Promise<void> {
  try {
    await client.create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: SYSTEM_NAMESPACE },
    });
  } catch (error) {
    if (!hasCode(error, 409)) throw error;
  }
  for (const object of hubAccess()) {
    await client.apply(await client.resourceFor(object.apiVersion, object.kind), object, {
      fieldManager: 'atoll',
      force: true,
    });
  }
}
