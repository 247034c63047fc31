import type { KubeObject } from '../../kube/object.ts';
import type { AuthorizationDecision, Authorizer, RequestAttributes } from './attributes.ts';
import { type PolicyRule, ruleAllowsPath, ruleAllowsResource } from './policy-rule.ts';
import { roleRefOf, rulesOf, subjectsOf } from './rbac-objects.ts';
import { isMaster, serviceAccountName, type UserInfo } from './user.ts';

/** Where the RBAC objects of a logical cluster are; bootstrap objects included. */
export interface RbacSource {
  clusterRoles(cluster: string): Iterable<KubeObject>;
  clusterRoleBindings(cluster: string): Iterable<KubeObject>;
  roles(cluster: string, namespace: string): Iterable<KubeObject>;
  roleBindings(cluster: string, namespace: string): Iterable<KubeObject>;
  /**
   * Where the objects of the whole cluster (`namespace` ''), or of one namespace, are the same as elsewhere: a name for
   * what they are, so that they are indexed once. `undefined` for objects of its own.
   */
  shared?(cluster: string, namespace: string): string | undefined;
}

export interface RbacAuthorizer extends Authorizer {
  /** Every rule that a user has: of the whole cluster, and with `namespace` those of that namespace as well. */
  rulesFor(user: UserInfo, cluster: string, namespace: string): PolicyRule[];
  /** What is wrong with the bindings of a user there: roles that do not exist. */
  missingFor(user: UserInfo, cluster: string, namespace: string): string[];
  /** The rules of the role that a binding in `namespace` ('' for a ClusterRoleBinding) names; `undefined` without one. */
  rulesOfRef(cluster: string, namespace: string, kind: string, name: string): PolicyRule[] | undefined;
  /** Forgets what is cached of a logical cluster, or of one namespace in it. To be called when an RBAC object changes. */
  invalidate(cluster: string, namespace?: string): void;
}

interface Grant {
  readonly rules: readonly PolicyRule[];
  /** Such as `ClusterRoleBinding "x" of ClusterRole "y" to Group "z"`. */
  readonly text: string;
}

interface Index {
  readonly users: Map<string, Grant[]>;
  readonly groups: Map<string, Grant[]>;
  /** Bindings whose role is missing: the reason of a denial names them. */
  readonly missing: Map<string, string[]>;
}

interface ClusterIndex {
  readonly roles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly bindings: Index;
  readonly namespaces: Map<string, NamespaceIndex>;
}

interface NamespaceIndex {
  readonly roles: ReadonlyMap<string, readonly PolicyRule[]>;
  readonly bindings: Index;
}

/**
 * Role-based access control as Kubernetes has it: grants of cluster role bindings hold everywhere, those of role bindings
 * in their namespace; nothing denies. `system:masters` may do everything, so that no change of roles can lock the owner out.
 *
 * Subjects are indexed per logical cluster on first use, so a decision costs the grants of the user, not all bindings.
 */
export function createRbacAuthorizer(source: RbacSource): RbacAuthorizer {
  const clusters = new Map<string, ClusterIndex>();
  /** By {@link RbacSource.shared}. What is shared never changes. */
  const sharedClusters = new Map<string, ClusterIndex>();

  function clusterIndex(cluster: string): ClusterIndex {
    const shared = source.shared?.(cluster, '');
    const known = shared === undefined ? clusters : sharedClusters;
    let index = known.get(shared ?? cluster);
    if (index === undefined) {
      const roles = roleMap(source.clusterRoles(cluster));
      const bindings = bindingIndex(source.clusterRoleBindings(cluster), (_kind, name) => roles.get(name));
      index = { roles, bindings, namespaces: new Map() };
      known.set(shared ?? cluster, index);
    }
    return index;
  }

  function namespaceIndex(cluster: string, namespace: string): NamespaceIndex {
    const parent = clusterIndex(cluster);
    const id = source.shared?.(cluster, namespace) ?? `${cluster}/${namespace}`;
    let index = parent.namespaces.get(id);
    if (index === undefined) {
      const roles = roleMap(source.roles(cluster, namespace));
      const bindings = bindingIndex(source.roleBindings(cluster, namespace), (kind, name) =>
        kind === 'ClusterRole' ? parent.roles.get(name) : roles.get(name),
      );
      index = { roles, bindings };
      parent.namespaces.set(id, index);
    }
    return index;
  }

  function* indexes(cluster: string, namespace: string): Generator<Index> {
    yield clusterIndex(cluster).bindings;
    if (namespace !== '') yield namespaceIndex(cluster, namespace).bindings;
  }

  function authorize(attributes: RequestAttributes): AuthorizationDecision {
    const { within } = attributes.user;
    if (within !== undefined && within !== attributes.cluster)
      return {
        allowed: false,
        reason: `who that is was said in the logical cluster ${JSON.stringify(within)} alone`,
      };
    if (isMaster(attributes.user)) return { allowed: true, reason: '' };
    const missing: string[] = [];
    // Rules for paths hold only when granted for the whole cluster.
    for (const index of indexes(attributes.cluster, attributes.isResource ? attributes.namespace : '')) {
      for (const grant of grantsOf(index, attributes.user)) {
        if (grant.rules.some((rule) => ruleAllows(rule, attributes))) {
          return { allowed: true, reason: `RBAC: allowed by ${grant.text}` };
        }
      }
      missing.push(...missingOf(index, attributes.user));
    }
    return {
      allowed: false,
      reason: missing.length === 0 ? '' : `RBAC: ${[...new Set(missing)].join(', ')}`,
    };
  }

  return {
    authorize,
    rulesFor(user, cluster, namespace): PolicyRule[] {
      const rules: PolicyRule[] = isMaster(user) ? [...EVERYTHING] : [];
      for (const index of indexes(cluster, namespace)) {
        for (const grant of grantsOf(index, user)) rules.push(...grant.rules);
      }
      return rules;
    },
    missingFor(user, cluster, namespace): string[] {
      const missing: string[] = [];
      for (const index of indexes(cluster, namespace)) missing.push(...missingOf(index, user));
      return [...new Set(missing)];
    },
    rulesOfRef(cluster, namespace, kind, name): PolicyRule[] | undefined {
      const rules =
        kind === 'ClusterRole'
          ? clusterIndex(cluster).roles.get(name)
          : namespace === ''
            ? undefined
            : namespaceIndex(cluster, namespace).roles.get(name);
      return rules === undefined ? undefined : [...rules];
    },
    invalidate(cluster, namespace): void {
      const wholeCluster = namespace === undefined || namespace === '';
      if (wholeCluster) clusters.delete(cluster);
      else clusters.get(cluster)?.namespaces.delete(`${cluster}/${namespace}`);
      for (const { namespaces } of sharedClusters.values()) {
        if (!wholeCluster) namespaces.delete(`${cluster}/${namespace}`);
        else for (const id of namespaces.keys()) if (id.startsWith(`${cluster}/`)) namespaces.delete(id);
      }
    },
  };
}

const EVERYTHING: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

function ruleAllows(rule: PolicyRule, attributes: RequestAttributes): boolean {
  return attributes.isResource
    ? ruleAllowsResource(rule, attributes)
    : ruleAllowsPath(rule, attributes.verb, attributes.path);
}

function roleMap(roles: Iterable<KubeObject>): Map<string, readonly PolicyRule[]> {
  const out = new Map<string, readonly PolicyRule[]>();
  for (const role of roles) out.set(role.metadata.name ?? '', rulesOf(role));
  return out;
}

function bindingIndex(
  bindings: Iterable<KubeObject>,
  resolve: (kind: string, name: string) => readonly PolicyRule[] | undefined,
): Index {
  const index: Index = { users: new Map(), groups: new Map(), missing: new Map() };
  for (const binding of bindings) {
    const ref = roleRefOf(binding);
    const { name = '', namespace = '' } = binding.metadata;
    const rules = resolve(ref.kind, ref.name);
    const what =
      namespace === ''
        ? `ClusterRoleBinding ${JSON.stringify(name)}`
        : `RoleBinding ${JSON.stringify(`${name}/${namespace}`)}`;
    for (const subject of subjectsOf(binding)) {
      const group = subject.kind === 'Group';
      const key =
        subject.kind === 'ServiceAccount'
          ? serviceAccountName(subject.namespace || namespace, subject.name)
          : subject.name;
      if (rules === undefined) {
        const resource = ref.kind === 'ClusterRole' ? 'clusterrole' : 'role';
        const text = `${resource}.rbac.authorization.k8s.io ${JSON.stringify(ref.name)} not found`;
        push(index.missing, `${group ? 'g' : 'u'}:${key}`, text);
        continue;
      }
      const who =
        subject.kind === 'ServiceAccount'
          ? `ServiceAccount ${JSON.stringify(`${subject.name}/${subject.namespace || namespace}`)}`
          : `${subject.kind} ${JSON.stringify(subject.name)}`;
      const text = `${what} of ${ref.kind} ${JSON.stringify(ref.name)} to ${who}`;
      push(group ? index.groups : index.users, key, { rules, text });
    }
  }
  return index;
}

function* grantsOf(index: Index, user: UserInfo): Generator<Grant> {
  yield* index.users.get(user.name) ?? [];
  for (const group of user.groups) yield* index.groups.get(group) ?? [];
}

function missingOf(index: Index, user: UserInfo): string[] {
  if (index.missing.size === 0) return [];
  const keys = [`u:${user.name}`, ...user.groups.map((group) => `g:${group}`)];
  return keys.flatMap((key) => index.missing.get(key) ?? []);
}

function push<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list === undefined) map.set(key, [value]);
  else list.push(value);
}
