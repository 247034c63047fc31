import { CLUSTER_PROFILE } from '../../dialects/cluster-profile/index.ts';
import { CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY } from '../../dialects/karmada/index.ts';
import { RESOURCE_GRAPH_DEFINITION } from '../../dialects/kro/kinds.ts';
import { FEDERATED_GROUP } from '../../dialects/kubefed/index.ts';
import { CONTROL_KINDS, EDGE_KINDS } from '../../dialects/kubestellar/index.ts';
import { ACCESS_GRANT } from '../../engine/access/index.ts';
import { BUNDLE, DISPATCH, OWNERSHIP_RECORD, SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import { accessRoles } from '../../hub/access/index.ts';
import { ENGAGED_CLUSTER } from '../../hub/engaged/index.ts';
import { LINK_SIGNER } from '../../hub/join/index.ts';
import { KUBEFED_KINDS } from '../../hub/kubefed/index.ts';
import type { AnyCustomKind } from '../../kube/custom-resource.ts';
import type { KubeObject } from '../../kube/object.ts';
import { hubAccess, hubUserBindings, hubUserRoles, withMark } from '../../spoke/hub-access.ts';
import { ENGINE_KINDS } from '../engine.ts';
import { manifestText } from './spoke-manifests.ts';

/** ClusterRoles with this label are rights of the hub's engine: what it may read beyond the usual kinds, to propagate it. */
const HUB_AGGREGATE_LABEL = 'rbac.atoll.dev/aggregate-to-hub';
/** Dialects whose kinds are a hub's only where somebody uses them. */
export type OptionalDialect = 'kubefed' | 'kubestellar' | 'cluster-profile';

/** What a hub writes on spokes only, and what they write there. */
const OF_SPOKES: ReadonlySet<AnyCustomKind> = new Set([BUNDLE, DISPATCH, OWNERSHIP_RECORD]);

const RBAC = 'rbac.authorization.k8s.io';
const ENGINE_ROLE = 'atoll:hub-engine';
const SOURCES_ROLE = 'atoll:hub-sources';
const SECRETS_ROLE = 'atoll:hub-secrets';
const PEOPLE_ROLE = 'atoll:hub-people';
const ALL = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete'];
const READ = ['get', 'list', 'watch'];

type Rule = Readonly<Record<string, readonly string[]>>;

export interface HubRightsOptions {
  /** Who the engine is at the API server. */
  readonly subject:
    | { readonly user: string }
    | { readonly serviceAccount: string; readonly namespace: string };
  /** Whether it asks who people are, for a port by which they get to the spokes. */
  readonly accessPort?: boolean;
  /** Where it registers clusters with KubeVela's cluster gateway. */
  readonly gatewayNamespace?: string;
  /** Namespaces of SpokeClusters that are reached by kubeconfig: their credentials are Secrets there. */
  readonly credentialNamespaces?: readonly string[];
  readonly dialects?: readonly OptionalDialect[];
  /** Whether it may read the usual kinds, to propagate them; without it only what labelled ClusterRoles add. */
  readonly usualKinds: boolean;
}

const DIALECT_KINDS: Readonly<Record<OptionalDialect, readonly AnyCustomKind[]>> = {
  kubefed: KUBEFED_KINDS,
  kubestellar: [...CONTROL_KINDS, ...EDGE_KINDS],
  'cluster-profile': [CLUSTER_PROFILE],
};

/** All that a hub's engine needs on an API server where it is nobody's administrator. It is what it does and no more. */
export function hubRights(options: HubRightsOptions): KubeObject[] {
  const { gatewayNamespace, credentialNamespaces = [], accessPort = false } = options;
  const withSecrets = [
    ...credentialNamespaces,
    ...(gatewayNamespace === undefined ? [] : [gatewayNamespace]),
  ];
  const subjects = [subjectOf(options.subject)];
  const home = SYSTEM_NAMESPACE;
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: home } },
    // For people, and for a hub above it: it looks whether these are as they should be, and may not change them.
    ...keptObjects(),
    object('Role', ENGINE_ROLE, { rules: ownRules() }, home),
    object('RoleBinding', ENGINE_ROLE, binding('Role', ENGINE_ROLE, subjects), home),
    object('ClusterRole', ENGINE_ROLE, { rules: engineRules(options) }),
    object('ClusterRoleBinding', ENGINE_ROLE, binding('ClusterRole', ENGINE_ROLE, subjects)),
    object('ClusterRole', SOURCES_ROLE, {
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { [HUB_AGGREGATE_LABEL]: 'true' } }] },
    }),
    object('ClusterRoleBinding', SOURCES_ROLE, binding('ClusterRole', SOURCES_ROLE, subjects)),
    ...(options.usualKinds ? [usualKinds()] : []),
    // By which authority the API server knows people's certificates.
    ...(accessPort
      ? [
          object(
            'RoleBinding',
            PEOPLE_ROLE,
            binding('Role', 'extension-apiserver-authentication-reader', subjects),
            'kube-system',
          ),
        ]
      : []),
    ...[...new Set(withSecrets)].flatMap((namespace) => [
      object('Role', SECRETS_ROLE, { rules: [secretsRule()] }, namespace),
      object('RoleBinding', SECRETS_ROLE, binding('Role', SECRETS_ROLE, subjects), namespace),
    ]),
  ];
}

export function printHubRights(options: HubRightsOptions): void {
  process.stdout.write(manifestText(hubRights(options)));
}

function keptObjects(): KubeObject[] {
  return [...hubAccess(), ...hubUserRoles().map(withMark), ...hubUserBindings(), ...accessRoles()];
}

/** In the system namespace: its key, its position, join tokens, who leads. */
function ownRules(): Rule[] {
  return [
    { apiGroups: [''], resources: ['configmaps', 'secrets'], verbs: ALL },
    { apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ALL },
  ];
}

function engineRules({ dialects = [], accessPort = false }: HubRightsOptions): Rule[] {
  const federates = dialects.includes('kubefed');
  const used = dialects.flatMap((dialect) => DIALECT_KINDS[dialect]);
  const definitions = [
    ...ENGINE_KINDS,
    ...[ACCESS_GRANT, ENGAGED_CLUSTER, OVERRIDE_POLICY, CLUSTER_OVERRIDE_POLICY],
    ...used,
  ];
  return [
    ...rulesFor(
      [...ENGINE_KINDS.filter((kind) => !OF_SPOKES.has(kind)), ACCESS_GRANT, ENGAGED_CLUSTER, ...used],
      ALL,
    ),
    ...rulesFor([...OF_SPOKES, OVERRIDE_POLICY, CLUSTER_OVERRIDE_POLICY], READ),
    // What graphs on spokes make on the hub: instances of other graphs, which have this group unless their definitions say another.
    { apiGroups: [RESOURCE_GRAPH_DEFINITION.group], resources: ['*'], verbs: ALL },
    ...(federates ? [{ apiGroups: [FEDERATED_GROUP], resources: ['*'], verbs: ALL }] : []),
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      verbs: [...READ, 'create'],
    },
    {
      apiGroups: ['apiextensions.k8s.io'],
      resources: ['customresourcedefinitions'],
      // Which kinds there are of KubeFed is up to whoever federates types.
      ...(federates
        ? {}
        : { resourceNames: definitions.map(({ plural, group }) => `${plural}.${group}`).sort() }),
      verbs: ['update', 'patch'],
    },
    {
      apiGroups: ['admissionregistration.k8s.io'],
      resources: [
        'mutatingadmissionpolicies',
        'mutatingadmissionpolicybindings',
        'validatingadmissionpolicies',
        'validatingadmissionpolicybindings',
      ],
      verbs: [...READ, 'create', 'update', 'patch'],
    },
    { apiGroups: ['authorization.k8s.io'], resources: ['subjectaccessreviews'], verbs: ['create'] },
    ...(accessPort
      ? [{ apiGroups: ['authentication.k8s.io'], resources: ['tokenreviews'], verbs: ['create'] }]
      : []),
    {
      apiGroups: ['certificates.k8s.io'],
      resources: ['certificatesigningrequests'],
      verbs: ['get', 'list', 'create'],
    },
    {
      apiGroups: ['certificates.k8s.io'],
      resources: ['certificatesigningrequests/approval'],
      verbs: ['update'],
    },
    // Whoever comes with a token for many that is approved beforehand, and nobody else's requests.
    {
      apiGroups: ['certificates.k8s.io'],
      resources: ['signers'],
      resourceNames: [LINK_SIGNER],
      verbs: ['approve'],
    },
    { apiGroups: [''], resources: ['namespaces'], verbs: [...READ, 'create'] },
    { apiGroups: [''], resources: ['nodes'], verbs: READ },
    { apiGroups: ['', 'events.k8s.io'], resources: ['events'], verbs: ['create', 'patch'] },
    {
      apiGroups: [RBAC],
      resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
      resourceNames: [...new Set(keptObjects().map(({ metadata }) => metadata.name ?? ''))].sort(),
      verbs: ['get'],
    },
  ];
}

/** Kinds with their status, and no other of their subresources: `spokeclusters/proxy` is for people. */
function rulesFor(kinds: readonly AnyCustomKind[], verbs: readonly string[]): Rule[] {
  return groupsOf(kinds).map((group) => ({
    apiGroups: [group],
    resources: kinds
      .filter((kind) => kind.group === group)
      .flatMap(({ plural }) => [plural, `${plural}/status`])
      .sort(),
    verbs,
  }));
}

function secretsRule(): Rule {
  return { apiGroups: [''], resources: ['secrets'], verbs: ALL };
}

/** What most fleets propagate; no Secrets. */
function usualKinds(): KubeObject {
  const rules: Rule[] = [
    {
      apiGroups: [''],
      resources: [
        'configmaps',
        'limitranges',
        'persistentvolumeclaims',
        'resourcequotas',
        'serviceaccounts',
        'services',
      ],
      verbs: READ,
    },
    { apiGroups: ['apps'], resources: ['daemonsets', 'deployments', 'statefulsets'], verbs: READ },
    { apiGroups: ['batch'], resources: ['cronjobs', 'jobs'], verbs: READ },
    { apiGroups: ['autoscaling'], resources: ['horizontalpodautoscalers'], verbs: READ },
    { apiGroups: ['networking.k8s.io'], resources: ['ingresses', 'networkpolicies'], verbs: READ },
    { apiGroups: ['policy'], resources: ['poddisruptionbudgets'], verbs: READ },
  ];
  const made = object('ClusterRole', 'atoll:hub-usual-kinds', { rules });
  return { ...made, metadata: { ...made.metadata, labels: { [HUB_AGGREGATE_LABEL]: 'true' } } };
}

function object(kind: string, name: string, content: object, namespace?: string): KubeObject {
  const metadata = { name, ...(namespace === undefined ? {} : { namespace }) };
  return { apiVersion: `${RBAC}/v1`, kind, metadata, ...content };
}

function binding(kind: 'Role' | 'ClusterRole', name: string, subjects: readonly object[]): object {
  return { roleRef: { apiGroup: RBAC, kind, name }, subjects };
}

function subjectOf(subject: HubRightsOptions['subject']): object {
  return 'user' in subject
    ? { kind: 'User', apiGroup: RBAC, name: subject.user }
    : { kind: 'ServiceAccount', name: subject.serviceAccount, namespace: subject.namespace };
}

function groupsOf(kinds: readonly Pick<AnyCustomKind, 'group'>[]): string[] {
  return [...new Set(kinds.map(({ group }) => group))].sort();
}
