import {
  DISPATCH_READERS_GROUP,
  GRANTABLE,
  type Grantable,
  grantGroup,
  HUB_USERS_GROUP,
} from '../engine/access/index.ts';
import { SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import { keepGranted, NotKept } from '../kube/keep-applied.ts';
import type { KubeObject } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import { clusterRoleBindings, clusterRoles } from '../kube/well-known.ts';
import { ensureSpokeNamespace } from './trust.ts';

/** Who the hub is on a spoke. */
export const HUB_USER = 'atoll:hub';
/** As whom a spoke counts its own room when the hub asks for it. */
export const SURVEYOR_USER = 'atoll:surveyor';

const RBAC = 'rbac.authorization.k8s.io';
const NAME = 'atoll:hub';
const MANAGER = 'atoll';
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
        // What the spoke accepted, with the hub's signature: it proves to a hub that was restored what it forgot.
        { apiGroups: ['atoll.dev'], resources: ['ownershiprecords'], verbs: ['get'] },
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
        // Its uid tells which cluster this is.
        { apiGroups: [''], resources: ['namespaces'], resourceNames: ['kube-system'], verbs: ['get'] },
        // What instances of graphs here have on the hub, by word of the engine here.
        { apiGroups: ['atoll.dev'], resources: ['hubobjects'], verbs: ['get', 'list', 'watch'] },
        // What the owner allows, so that it can be told before anything is sent.
        { apiGroups: ['atoll.dev'], resources: ['spokecontracts'], verbs: ['get', 'list', 'watch'] },
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
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRole',
      metadata: { name: SURVEYOR_USER },
      rules: [{ apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['list'] }],
    },
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: SURVEYOR_USER },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: SURVEYOR_USER },
      subjects: [{ kind: 'User', apiGroup: RBAC, name: SURVEYOR_USER }],
    },
  ];
}

interface UserAccess {
  readonly group: string;
  /** A role that every cluster has, or one of ours with these rules. */
  readonly roles: readonly (string | { readonly name: string; readonly rules: readonly object[] })[];
}

const GRANTED: Readonly<Record<Grantable, UserAccess['roles']>> = {
  exec: [{ name: 'atoll:exec', rules: [connecting('pods/exec', 'pods/attach')] }],
  'port-forward': [
    {
      name: 'atoll:port-forward',
      rules: [
        connecting('pods/portforward'),
        // Which services, the contracts of the owner say.
        {
          apiGroups: [''],
          resources: ['services/proxy'],
          verbs: ['get', 'create', 'update', 'patch', 'delete'],
        },
      ],
    },
  ],
  write: ['edit'],
};

/**
 * What people may do here whom the hub lets through: look, without Secrets; with a live grant of the hub, exec, port-forward
 * or edit. Nobody is an administrator here by way of the hub.
 */
const USER_ACCESS: readonly UserAccess[] = [
  {
    group: HUB_USERS_GROUP,
    roles: [
      'view',
      {
        name: HUB_USERS_GROUP,
        rules: [
          { apiGroups: [''], resources: ['nodes', 'persistentvolumes'], verbs: ['get', 'list', 'watch'] },
          { apiGroups: ['metrics.k8s.io'], resources: ['nodes'], verbs: ['get', 'list'] },
          { apiGroups: ['core.oam.dev'], resources: ['clusters'], verbs: ['get', 'list', 'watch'] },
          { apiGroups: ['atoll.dev'], resources: ['spokecontracts'], verbs: ['get', 'list', 'watch'] },
        ],
      },
    ],
  },
  {
    group: DISPATCH_READERS_GROUP,
    roles: [
      {
        name: DISPATCH_READERS_GROUP,
        rules: [
          { apiGroups: ['atoll.dev'], resources: ['dispatches', 'bundles'], verbs: ['get', 'list', 'watch'] },
        ],
      },
    ],
  },
  ...GRANTABLE.map((what) => ({ group: grantGroup(what), roles: GRANTED[what] })),
];

/** A WebSocket is opened by GET, SPDY by POST. */
function connecting(...resources: string[]): object {
  return { apiGroups: [''], resources, verbs: ['get', 'create'] };
}

/** The roles of {@link USER_ACCESS} that no cluster has by itself. */
export function hubUserRoles(): KubeObject[] {
  return USER_ACCESS.flatMap(({ roles }) => roles)
    .filter((role) => typeof role !== 'string')
    .map(({ name, rules }) => ({
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [...rules],
    }));
}

/** Who has which. */
export function hubUserBindings(): KubeObject[] {
  return USER_ACCESS.flatMap(({ group, roles }) =>
    roles.map((role) => {
      const name = typeof role === 'string' ? role : role.name;
      return {
        apiVersion: `${RBAC}/v1`,
        kind: 'ClusterRoleBinding',
        metadata: { name: name === group ? group : `${group}:${name.replace(/^atoll:/, '')}` },
        roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name },
        subjects: [{ kind: 'Group', apiGroup: RBAC, name: group }],
      };
    }),
  );
}

/** On the role {@link HUB_USERS_GROUP}: the bindings were made once, and are the owner's since. */
const BOUND_ANNOTATION = 'atoll.dev/bindings-made';

/**
 * Grants the hub its rights on this spoke, and its users theirs. Writes nothing where they are granted. What it may not change is
 * told to `onRefused`, and left as it is; without it that is an error.
 */
export async function grantHubAccess(client: Client, onRefused?: (refused: NotKept) => void): Promise<void> {
  await ensureSpokeNamespace(client);
  const keep = async (object: KubeObject): Promise<void> => {
    try {
      await keepGranted(client, object, MANAGER);
    } catch (error) {
      if (!(error instanceof NotKept) || !onRefused) throw error;
      onRefused(error);
    }
  };
  for (const object of hubAccess()) await keep(object);
  // Roles are kept as they are here; bindings are made the first time only, so that the owner of the cluster takes a right away
  // for good by deleting its binding.
  const isBound = await areBindingsMade(client);
  const roles = hubUserRoles();
  for (const role of roles) await keep(isBound ? withMark(role) : role);
  if (isBound) return;
  for (const binding of hubUserBindings()) await make(client, binding, onRefused);
  for (const role of roles) if (role !== withMark(role)) await keep(withMark(role));
}

async function make(
  client: Client,
  binding: KubeObject,
  onRefused?: (refused: NotKept) => void,
): Promise<void> {
  try {
    await client.create(clusterRoleBindings, binding, { fieldManager: MANAGER });
  } catch (error) {
    if (hasCode(error, 409)) return;
    if (!hasCode(error, 403) || !onRefused) throw error;
    onRefused(new NotKept(binding, error));
  }
}

async function areBindingsMade(client: Client): Promise<boolean> {
  try {
    const role = await client.get(clusterRoles, '', HUB_USERS_GROUP);
    return role.metadata.annotations?.[BOUND_ANNOTATION] === 'true';
  } catch (error) {
    if (hasCode(error, 404)) return false;
    throw error;
  }
}

/** The role that says, by being there, that the bindings were made; others as they are. */
export function withMark(role: KubeObject): KubeObject {
  if (role.metadata.name !== HUB_USERS_GROUP) return role;
  return { ...role, metadata: { ...role.metadata, annotations: { [BOUND_ANNOTATION]: 'true' } } };
}
