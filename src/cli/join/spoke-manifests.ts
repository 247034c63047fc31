import { stringify } from 'yaml';
import { HUB_GROUPS, HUB_PREFIX } from '../../engine/access/index.ts';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import {
  HUB_USER,
  hubAccess,
  hubUserBindings,
  hubUserRoles,
  SURVEYOR_USER,
  withMark,
} from '../../spoke/hub-access.ts';
import { DELETION_PROTECTED } from '../../spoke/protected.ts';
import { ENGINE_KINDS } from '../engine.ts';
import type { JoinedHub } from './join-file.ts';
import { joinSecret } from './join-secrets.ts';

/** ClusterRoles with this label are rights of the spoke's engine: how the owner of a cluster lets it handle further kinds. */
export const AGGREGATE_LABEL = 'rbac.atoll.dev/aggregate-to-spoke';

const RBAC = 'rbac.authorization.k8s.io';
const ACCOUNT = 'atoll-spoke';
/** Where the engine is that a hub may upgrade. Orders reach it, unlike the namespace of its memory. */
export const ENGINE_NAMESPACE = 'atoll-engine';
/** The engine is what would carry out that it is to go. */
const PROTECTED = { annotations: { [DELETION_PROTECTED]: 'true' } };
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
  /** Whether the hub may upgrade the engine: then it is in a namespace that orders reach. */
  readonly hubUpgrades?: boolean;
}

/** All that a real cluster needs to be a spoke: rights, join data, and the engine. Its definitions the engine brings along. */
export function spokeManifests({
  cluster,
  hub,
  image,
  usualKinds,
  hubUsers = [],
  hubGroups = [],
  hubUpgrades = false,
}: SpokeManifestOptions): KubeObject[] {
  const namespace = hubUpgrades ? ENGINE_NAMESPACE : SYSTEM_NAMESPACE;
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: SYSTEM_NAMESPACE } },
    ...(hubUpgrades ? [engineNamespace()] : []),
    ...hubObjects(),
    ...rights(hubUsers, hubGroups, namespace),
    ...(usualKinds ? [usualKindsRole()] : []),
    joinSecret(hub),
    hubUpgrades ? upgradableEngine(cluster, image) : deployment(cluster, image, namespace),
  ];
}

/** The rights of the hub and of its users. Its bindings are made with this: the engine makes none. */
function hubObjects(): KubeObject[] {
  return [...hubAccess(), ...hubUserRoles().map(withMark), ...hubUserBindings()];
}

function rights(
  hubUsers: readonly string[] = [],
  hubGroups: readonly string[] = [],
  namespace: string = SYSTEM_NAMESPACE,
): KubeObject[] {
  const prefixed = (names: readonly string[]): string[] => names.map((name) => `${HUB_PREFIX}${name}`);
  return [
    {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: ACCOUNT, namespace, ...(namespace === ENGINE_NAMESPACE ? PROTECTED : {}) },
    },
    role('Role', ENGINE_ROLE, ownRules()),
    binding('Role', ENGINE_ROLE, namespace),
    role(
      'ClusterRole',
      ENGINE_ROLE,
      clusterRules([HUB_USER, SURVEYOR_USER, ...prefixed(hubUsers)], [...HUB_GROUPS, ...prefixed(hubGroups)]),
    ),
    binding('ClusterRole', ENGINE_ROLE, namespace),
    {
      ...role('ClusterRole', WORKLOADS_ROLE, []),
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [AGGREGATE_LABEL]: 'true' } }] },
    },
    binding('ClusterRole', WORKLOADS_ROLE, namespace),
  ];
}

/** The engine's own account and rights, in the order in which they can be taken away. */
export function engineObjects(): KubeObject[] {
  const apart = rights([], [], ENGINE_NAMESPACE).filter(({ kind }) => kind === 'ServiceAccount');
  return [usualKindsRole(), ...rights(), ...apart].reverse();
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
    // Of engines one at a time answers for the cluster.
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ALL },
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

function binding(kind: 'Role' | 'ClusterRole', name: string, home: string): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: `${kind}Binding`,
    metadata: { name, ...(kind === 'Role' ? { namespace: SYSTEM_NAMESPACE } : {}) },
    roleRef: { apiGroup: RBAC, kind, name },
    subjects: [{ kind: 'ServiceAccount', name: ACCOUNT, namespace: home }],
  };
}

export function engineNamespace(): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name: ENGINE_NAMESPACE, ...PROTECTED } };
}

/**
 * The engine as a hub may upgrade it. The one before stays until the next has been there for a while, so that somebody is there to
 * go back; the next one waits for the Lease meanwhile.
 */
export function upgradableEngine(cluster: string, image: string): KubeObject {
  const engine = deployment(cluster, image, ENGINE_NAMESPACE, ['--stand-by']);
  return {
    ...engine,
    metadata: { ...engine.metadata, ...PROTECTED },
    spec: {
      ...(engine['spec'] as JsonObject),
      strategy: { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      minReadySeconds: 20,
      progressDeadlineSeconds: 300,
    },
  };
}

function deployment(
  cluster: string,
  image: string,
  namespace: string,
  more: readonly string[] = [],
): KubeObject {
  const labels = { 'app.kubernetes.io/name': ACCOUNT };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: ACCOUNT, namespace, labels },
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
              args: ['spoke', '--name', cluster, ...more],
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
