import type { KubeObject } from '../../kube/object.ts';
import { readData } from './data-file.ts';

/** One object in the form of `data/bootstrap-rbac.json.gz`. */
interface Row {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Record<string, string>;
  /** Label selectors of an aggregated role. */
  readonly aggregate?: Record<string, string>[];
  /** `verbs|groups|resources|names|urls`, each a list joined with commas; `core` stands for the core group. */
  readonly rules?: string[];
  /** `kind|name` */
  readonly roleRef?: string;
  /** `kind|namespace|name` */
  readonly subjects?: string[];
}

interface Table {
  readonly clusterRoles: Row[];
  readonly clusterRoleBindings: Row[];
  readonly roles: Row[];
  readonly roleBindings: Row[];
}

const RBAC_GROUP = 'rbac.authorization.k8s.io';

function expandRule(text: string): Record<string, string[]> {
  const [verbs, groups, resources, names, urls] = text
    .split('|')
    .map((list) => (list === '' ? undefined : list.split(',')));
  return {
    verbs: verbs ?? [],
    ...(groups ? { apiGroups: groups.map((group) => (group === 'core' ? '' : group)) } : {}),
    ...(resources ? { resources } : {}),
    ...(names ? { resourceNames: names } : {}),
    ...(urls ? { nonResourceURLs: urls } : {}),
  };
}

/** Names of users hold colons, never bars. */
function expandSubject(text: string): Record<string, string> {
  const [kind = '', namespace = '', name = ''] = text.split('|');
  return kind === 'ServiceAccount' ? { kind, name, namespace } : { apiGroup: RBAC_GROUP, kind, name };
}

function expand(kind: string, row: Row): KubeObject {
  const [roleKind, roleName] = row.roleRef?.split('|') ?? [];
  return {
    apiVersion: `${RBAC_GROUP}/v1`,
    kind,
    metadata: {
      name: row.name,
      ...(row.namespace === undefined ? {} : { namespace: row.namespace }),
      labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults', ...row.labels },
      annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
    },
    ...(row.aggregate
      ? { aggregationRule: { clusterRoleSelectors: row.aggregate.map((matchLabels) => ({ matchLabels })) } }
      : {}),
    ...(kind.endsWith('Role') ? { rules: row.rules ? row.rules.map(expandRule) : null } : {}),
    ...(row.subjects ? { subjects: row.subjects.map(expandSubject) } : {}),
    ...(row.roleRef === undefined
      ? {}
      : { roleRef: { apiGroup: RBAC_GROUP, kind: roleKind ?? '', name: roleName ?? '' } }),
  };
}

/**
 * The RBAC objects that every new cluster has: cluster roles and their bindings, then roles and theirs. Aggregated roles
 * (`admin`, `edit`, `view`) have null rules until aggregation fills them in. Fresh objects at each call.
 */
export function bootstrapRbac(): KubeObject[] {
  const table = readData<Table>('bootstrap-rbac.json.gz');
  return [
    ...table.clusterRoles.map((row) => expand('ClusterRole', row)),
    ...table.clusterRoleBindings.map((row) => expand('ClusterRoleBinding', row)),
    ...table.roles.map((row) => expand('Role', row)),
    ...table.roleBindings.map((row) => expand('RoleBinding', row)),
  ];
}
