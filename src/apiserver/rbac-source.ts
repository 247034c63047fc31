import type { KubeObject } from '../kube/object.ts';
import { errorText, type Runtime } from '../runtime/index.ts';
import { clone, deepEqual } from '../schema/json.ts';
import { aggregateRules, type RbacAuthorizer, type RbacSource } from './auth/index.ts';
import { clusterPrefix, namespacePrefix, parseKey, resourcePrefix } from './store/key.ts';
import type { Store } from './store/store.ts';

const GROUP = 'rbac.authorization.k8s.io';

const RESOURCES = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'];

/** Which logical clusters, and which namespaces in them, have RBAC objects of their own. */
export interface OwnRbac {
  has(cluster: string, namespace: string): boolean;
  add(cluster: string, namespace: string): void;
  forget(cluster: string): void;
}

/** `stored` holds nothing but what is the clusters' own. */
export function ownRbac(stored: Store): OwnRbac {
  /** By cluster: its namespaces with such objects, '' for those of the whole cluster. */
  const places = new Map<string, Set<string>>();
  const own: OwnRbac = {
    has: (cluster, namespace) => places.get(cluster)?.has(namespace) ?? false,
    add(cluster, namespace) {
      const known = places.get(cluster);
      if (known) known.add(namespace);
      else places.set(cluster, new Set([namespace]));
    },
    forget: (cluster) => void places.delete(cluster),
  };
  for (const resource of RESOURCES)
    for (const { key } of stored.list(resourcePrefix(GROUP, resource)).records) {
      const { cluster, namespace } = parseKey(key);
      own.add(cluster, namespace);
    }
  return own;
}

/**
 * Role-based access control reads the objects of the store. Without `aggregates` roles have the rules that are written in them.
 */
export function storedRbac(
  store: Store,
  own: OwnRbac,
  {
    exists,
    isShared,
    aggregates,
  }: {
    /** Whether a logical cluster has the shared objects. */
    exists(cluster: string): boolean;
    /** Whether some of them are in a namespace. */
    isShared(namespace: string): boolean;
    readonly aggregates: boolean;
  },
): RbacSource {
  const objects = (prefix: string): KubeObject[] => store.list(prefix).records.map((record) => record.object);
  return {
    clusterRoles(cluster) {
      const roles = objects(clusterPrefix(GROUP, 'clusterroles', cluster));
      return aggregates ? aggregated(roles) : roles;
    },
    clusterRoleBindings: (cluster) => objects(clusterPrefix(GROUP, 'clusterrolebindings', cluster)),
    roles: (cluster, namespace) => objects(namespacePrefix(GROUP, 'roles', cluster, namespace)),
    roleBindings: (cluster, namespace) => objects(namespacePrefix(GROUP, 'rolebindings', cluster, namespace)),
    shared(cluster, namespace) {
      if (own.has(cluster, namespace)) return undefined;
      if (!exists(cluster)) return 'none';
      if (namespace === '') return 'all';
      return isShared(namespace) ? `in ${namespace}` : 'none';
    },
  };
}

/** Aggregated roles may pick aggregated roles; this deep they are followed. */
const AGGREGATION_DEPTH = 5;

/** Cluster roles with the rules that aggregation gives them, whatever their stored rules are. */
export function aggregated(roles: readonly KubeObject[]): KubeObject[] {
  let current = [...roles];
  for (let round = 0; round < AGGREGATION_DEPTH; round++) {
    let changed = false;
    const next = current.map((role) => {
      const rules = aggregateRules(role, current);
      if (rules === undefined || deepEqual(rules, role.rules)) return role;
      changed = true;
      return { ...role, rules };
    });
    if (!changed) break;
    current = next;
  }
  return current;
}

const RETRY_MS = 1000;

/** Writes the rules of aggregated roles into them, so that people see what the authorizer goes by. */
export function roleAggregation(runtime: Runtime, store: Store): { stop(): void } {
  const due = new Set<string>();
  let stopped = false;

  function schedule(cluster: string): void {
    if (due.size === 0) runtime.clock.defer(run);
    due.add(cluster);
  }

  function run(): void {
    const clusters = [...due];
    due.clear();
    if (stopped) return;
    for (const cluster of clusters) {
      const records = store.list(clusterPrefix(GROUP, 'clusterroles', cluster)).records;
      const roles = records.map((record) => record.object);
      aggregated(roles).forEach((role, index) => {
        const record = records[index];
        if (!record || role === roles[index]) return;
        store
          .write(record.key, (present) => {
            if (!present || present.revision !== record.revision) return undefined; // its own event comes
            return { ...present.object, rules: clone(role.rules) };
          })
          .catch((error: unknown) => {
            if (stopped) return;
            runtime.log.warn('aggregating a cluster role failed', {
              key: record.key,
              error: errorText(error),
            });
            runtime.clock.after(RETRY_MS, () => schedule(cluster));
          });
      });
    }
  }

  const prefix = resourcePrefix(GROUP, 'clusterroles');
  const watch = store.watch(prefix, store.revision, (events) => {
    // What is shared is aggregated already, and comes and goes with its cluster.
    for (const { record } of events) if (!record.shared) schedule(parseKey(record.key).cluster);
  });
  for (const { key, shared, object } of store.list(prefix).records)
    if (!shared && mayAggregate(object)) schedule(parseKey(key).cluster);
  return {
    stop(): void {
      stopped = true;
      watch.stop();
    },
  };
}

/** Whether a role may have rules of others, or others its rules: by labels they are told to. */
function mayAggregate({ aggregationRule, metadata }: KubeObject): boolean {
  return aggregationRule !== undefined || metadata.labels !== undefined;
}

/** Keeps the authorizer's index in step with what is stored. Returns how to stop. */
export function followRbac(stored: Store, authorizer: RbacAuthorizer, own: OwnRbac): () => void {
  const watch = stored.watch(
    RESOURCES.map((resource) => resourcePrefix(GROUP, resource)),
    stored.revision,
    (events) => {
      for (const event of events) {
        const { cluster, namespace } = parseKey(event.record.key);
        if (event.type !== 'deleted') own.add(cluster, namespace);
        authorizer.invalidate(cluster, namespace);
      }
    },
  );
  return () => watch.stop();
}
