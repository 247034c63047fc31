import type { KubeObject } from '../kube/object.ts';
import type { RbacAuthorizer, RbacSource } from './auth/index.ts';
import { clusterPrefix, namespacePrefix, parseKey, resourcePrefix } from './store/key.ts';
import type { Store } from './store/store.ts';

const GROUP = 'rbac.authorization.k8s.io';

/** Role-based access control reads the objects of the store. */
export function storedRbac(store: Store): RbacSource {
  const objects = (prefix: string): KubeObject[] => store.list(prefix).records.map((record) => record.object);
  return {
    clusterRoles: (cluster) => objects(clusterPrefix(GROUP, 'clusterroles', cluster)),
    clusterRoleBindings: (cluster) => objects(clusterPrefix(GROUP, 'clusterrolebindings', cluster)),
    roles: (cluster, namespace) => objects(namespacePrefix(GROUP, 'roles', cluster, namespace)),
    roleBindings: (cluster, namespace) => objects(namespacePrefix(GROUP, 'rolebindings', cluster, namespace)),
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
