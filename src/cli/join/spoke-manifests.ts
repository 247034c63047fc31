import { stringify } from 'yaml';
import { HUB_GROUPS, HUB_PREFIX } from '../../engine/access/index.ts';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  HUB_USER,
  hubAccess,
  hubUserBindings,
  hubUserRoles,
  SURVEYOR_USER,
  withMark,
} from '../../spoke/hub-access.ts';
import { ENGINE_KINDS } from '../engine.ts';
import type { JoinedHub } from './join-file.ts';
import { joinSecret } from './join-secrets.ts';

/** ClusterRoles with this label are rights of the spoke's engine: how the owner of a cluster lets it handle further kinds. */
export const AGGREGATE_LABEL = 'rbac.atoll.dev/aggregate-to-spoke';

const RBAC = 'rbac.authorization.k8s.io';
const ACCOUNT = 'atoll-spoke';
const ENGINE_ROLE = 'atoll:spoke-engine';
const WORKLOADS_ROLE = 'atoll:spoke-workloads';
const ALL = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const READ = ['get', 'list', 'watch'];

type Rule = Readonly<Record<string, readonly string[]>>;

export interface SpokeManifestOptions {
  readonly cluster: string;
  readonly hub: JoinedHub;
  /** Container image whose entry point is atoll. */
  readonly image: string;
  /** Whether the engine may handle the usual kinds of workloads; without it only what labelled ClusterRoles add. */
  readonly usualKinds: boolean;
  /** Users of the hub who may look into the cluster through it, by their names there. */
  readonly hubUsers?: readonly string[];
  /** Groups of the hub that they are in: whoever acts as somebody needs the right to each of their groups. */
  readonly hubGroups?: readonly string[];
}

/** All that a real cluster needs to be a spoke: rights, join data, and the engine. Its definitions the engine brings along. */
export function spokeManifests({
  cluster,
  hub,
  image,
  usualKinds,
  hubUsers = [],
  hubGroups = [],
}: SpokeManifestOptions): KubeObject[] {
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } },
    ...hubObjects(),
    ...rights(hubUsers, hubGroups),
    ...(usualKinds ? [usualKindsRole()] : []),
    joinSecret(hub),
    deployment(cluster, image),
  ];
}

/** The rights of the hub and of its users. Its bindings are made with this: the engine makes none. */
function hubObjects(): KubeObject[] {
  return [...hubAccess(), ...hubUserRoles().map(withMark), ...hubUserBindings()];
}

function rights(hubUsers: readonly string[] = [], hubGroups: readonly string[] = []): KubeObject[] {
  const prefixed = (names: readonly string[]): string[] => names.map((name) => `${HUB_PREFIX}${name}`);
  return [
    { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: ACCOUNT, namespace: SYSTEM_NAMESPACE } },
    role('Role', ENGINE_ROLE, ownRules()),
    binding('Role', ENGINE_ROLE),
    role(
      'ClusterRole',
      ENGINE_ROLE,
      clusterRules([HUB_USER, SURVEYOR_USER, ...prefixed(hubUsers)], [...HUB_GROUPS, ...prefixed(hubGroups)]),
    ),
    binding('ClusterRole', ENGINE_ROLE),
    {
      ...role('ClusterRole', WORKLOADS_ROLE, []),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [AGGREGATE_LABEL]: 'true' } }] },
    },
    binding('ClusterRole', WORKLOADS_ROLE),
  ];
}

/** The engine's own account and rights, in the order in which they can be taken away. */
export function engineObjects(): KubeObject[] {
  return [usualKindsRole(), ...rights()].reverse();
}

/** One YAML text, in the order in which it can be applied. */
export function manifestText(objects: readonly KubeObject[]): string {
  return objects
    .map((object) => stringify(object, { lineWidth: 0, aliasDuplicateObjects: false }))
    .join('---\n');
}

/** In the system namespace. */
function ownRules(): Rule[] {
  return [
    { apiGroups: ['atoll.dev'], resources: ['*'], verbs: ALL },
    { apiGroups: ['core.oam.dev'], resources: ['clusters', 'clusters/status'], verbs: ALL },
    // Whom it belongs to, its join data and its link key: its own namespace, which no hub may read.
    { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ALL },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
  ];
}

function clusterRules(users: readonly string[], groups: readonly string[]): Rule[] {
  const definitions = ENGINE_KINDS.map(({ plural, group }) => `${plural}.${group}`);
  const hubRules = [...hubAccess(), ...hubUserRoles()]
    .filter(({ kind }) => kind === 'ClusterRole')
    .flatMap((object) => object['rules'] as Rule[]);
  return [
    { apiGroups: ['atoll.dev'], resources: ['*'], verbs: READ },
    {
      apiGroups: ['atoll.dev'],
      resources: ['resourcerules/status', 'spokecontracts/status'],
      verbs: ['update', 'patch'],
    },
    { apiGroups: ['core.oam.dev'], resources: ['spokeclusters', 'clusters'], verbs: READ },
    // Resource graphs and their instances; what they make is granted like everything that is propagated.
    { apiGroups: ['kro.run', 'internal.kro.run'], resources: ['*'], verbs: ALL },
    { apiGroups: [''], resources: ['nodes'], verbs: READ },
    { apiGroups: [''], resources: ['namespaces'], verbs: ['get', 'create'] },
    { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: READ },
    { apiGroups: ['about.k8s.io'], resources: ['clusterproperties'], verbs: READ },
    { apiGroups: ['cluster.open-cluster-management.io'], resources: ['clusterclaims'], verbs: READ },
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      verbs: [...READ, 'create'],
    },
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      resourceNames: definitions.sort(),
      verbs: ['update', 'patch'],
    },
    {
      apiGroups: [RBAC],
      resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
      resourceNames: [...new Set(hubObjects().map(({ metadata }) => metadata.name ?? ''))].sort(),
      verbs: ['get', 'update', 'patch'],
    },
    // A hub's requests are made as the hub, or as a user of it, whom the cluster authorizes itself. Whoever may be any user may
    // be an administrator: each is named.
    { apiGroups: [''], resources: ['users'], resourceNames: users, verbs: ['impersonate'] },
    { apiGroups: [''], resources: ['groups'], resourceNames: groups, verbs: ['impersonate'] },
    // Nobody may grant what they do not have: what it keeps granted to the hub.
    ...hubRules,
  ];
}

function usualKindsRole(): KubeObject {
  const rules: Rule[] = [
    {
      apiGroups: [''],
      resources: [
        'configmaps',
        'limitranges',
        'namespaces',
        'persistentvolumeclaims',
        'pods',
        'resourcequotas',
        'secrets',
        'serviceaccounts',
        'services',
      ],
      verbs: ALL,
    },
    {
      apiGroups: ['apps'],
      resources: ['daemonsets', 'deployments', 'replicasets', 'statefulsets'],
      verbs: ALL,
    },
    { apiGroups: ['batch'], resources: ['cronjobs', 'jobs'], verbs: ALL },
    { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: ALL },
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'networkpolicies'], verbs: ALL },
    { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: ALL },
  ];
  const object = role('ClusterRole', 'atoll:spoke-usual-kinds', rules);
  return { ...object, metadata: { ...object.metadata, labels: { [AGGREGATE_LABEL]: 'true' } } };
}

function role(kind: 'Role' | 'ClusterRole', name: string, rules: readonly Rule[]): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind,
    metadata: { name, ...(kind === 'Role' ? { namespace: SYSTEM_NAMESPACE } : {}) },
    rules,
  };
}

function binding(kind: 'Role' | 'ClusterRole', name: string): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: `${kind}Binding`,
    metadata: { name, ...(kind === 'Role' ? { namespace: SYSTEM_NAMESPACE } : {}) },
    roleRef: { apiGroup: RBAC, kind, name },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: SYSTEM_NAMESPACE }],
  };
}

function deployment(cluster: string, image: string): KubeObject {
  const labels = { 'app.kubernetes.io/name': ACCOUNT };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: ACCOUNT, namespace: SYSTEM_NAMESPACE, labels },
    spec: {
      replicas: 1,
      // Two engines would both answer for the cluster.
      strategy: { type: 'Recreate' },
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: ACCOUNT,
          securityContext: {
            runAsNonRoot: true,
            runAsUser: 65532,
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'spoke',
              image,
              args: ['spoke', '--name', cluster],
              resources: { requests: { cpu: '50m', memory: '128Mi' }, limits: { memory: '512Mi' } },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
            },
          ],
        },
      },
    },
  };
}
