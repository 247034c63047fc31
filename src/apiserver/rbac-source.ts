import type { KubeObject } from '../kube/object.ts';
import { errorText, type Runtime } from '../runtime/index.ts';
import { clone, deepEqual } from '../schema/json.ts';
import { aggregateRules, type RbacAuthorizer, type RbacSource } from './auth/index.ts';
import { clusterPrefix, namespacePrefix, parseKey, resourcePrefix } from './store/key.ts';
import type { Store } from './store/store.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** Role-based access control reads the objects of the store. */
export function storedRbac(store: Store): RbacSource {
  const objects = (prefix: string): KubeObject[] => store.list(prefix).records.map((record) => record.object);
  return {
    clusterRoles: (cluster) => aggregated(objects(clusterPrefix(GROUP, 'clusterroles', cluster))),
    clusterRoleBindings: (cluster) => objects(clusterPrefix(GROUP, 'clusterrolebindings', cluster)),
    roles: (cluster, namespace) => objects(namespacePrefix(GROUP, 'roles', cluster, namespace)),
    roleBindings: (cluster, namespace) => objects(namespacePrefix(GROUP, 'rolebindings', cluster, namespace)),
  };
}

/** Aggregated roles may pick aggregated roles; this deep they are followed. */
const AGGREGATION_DEPTH = 5;

/** Cluster roles with the rules that aggregation gives them, whatever their stored rules are. */
function aggregated(roles: readonly KubeObject[]): KubeObject[] {
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
    for (const event of events) schedule(parseKey(event.record.key).cluster);
  });
  for (const record of store.list(prefix).records) schedule(parseKey(record.key).cluster);
  return {
    stop(): void {
      stopped = true;
      watch.stop();
    },
  };
}

/** Keeps the authorizer's index in step with the store. Returns how to stop. */
export function followRbac(store: Store, authorizer: RbacAuthorizer): () => void {
  const watches = ['clusterroles', 'clusterrolebindings', 'roles', 'rolebindings'].map((resource) =>
    store.watch(resourcePrefix(GROUP, resource), store.revision, (events) => {
      for (const event of events) {
        const { cluster, namespace } = parseKey(event.record.key);
        authorizer.invalidate(cluster, namespace);
      }
    }),
  );
  return () => {
    for (const watch of watches) watch.stop();
  };
}
