import type { KubeObject } from '../../kube/object.ts';
import { readData } from './data-file.ts';
import { minorOf, NEWEST_RELEASE, type Release } from './release.ts';

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

interface Rows {
  readonly clusterRoles: Row[];
  readonly clusterRoleBindings: Row[];
  readonly roles: Row[];
  readonly roleBindings: Row[];
}

interface Table extends Rows {
  readonly older: {
    /** The last minor version that had the rows below in the place of those of the same name. */
    readonly until: number;
    readonly changed: Rows;
    /** Names of what was not there yet. */
    readonly later: string[];
  };
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
 * The RBAC objects that every new cluster of a release has: cluster roles and their bindings, then roles and theirs. Aggregated
 * roles (`admin`, `edit`, `view`) have null rules until aggregation fills them in. Fresh objects at each call.
 */
export function bootstrapRbac(release: Release = NEWEST_RELEASE): KubeObject[] {
  const table = readData<Table>('bootstrap-rbac.json.gz');
  const rowsOf = minorOf(release) > table.older.until ? (kind: keyof Rows) => table[kind] : olderRows(table);
  return [
    ...rowsOf('clusterRoles').map((row) => expand('ClusterRole', row)),
    ...rowsOf('clusterRoleBindings').map((row) => expand('ClusterRoleBinding', row)),
    ...rowsOf('roles').map((row) => expand('Role', row)),
    ...rowsOf('roleBindings').map((row) => expand('RoleBinding', row)),
  ];
}

function olderRows(table: Table): (kind: keyof Rows) => Row[] {
  const { changed, later } = table.older;
  return (kind) =>
    table[kind]
      .filter(({ name }) => !later.includes(name))
      .map(
        (row) =>
          changed[kind].find(({ name, namespace }) => name === row.name && namespace === row.namespace) ??
          row,
      );
}
