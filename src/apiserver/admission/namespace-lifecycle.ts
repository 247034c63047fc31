import { failure, notFound } from '../../kube/status-error.ts';
import type { Scope } from '../rest/scope.ts';
import { objectKey } from '../store/key.ts';
import type { AdmissionPlugin } from './plugin.ts';
import { forbiddenStatus } from './refusal.ts';

/** Namespaces that every cluster needs. */
const UNDELETABLE: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);

/** Nothing is created in a namespace that is absent or going away, and the system's own namespaces stay. */
export const namespaceLifecycle: AdmissionPlugin = {
  name: 'NamespaceLifecycle',
  mutate({ operation, scope, name, object }): void {
    const { resource } = scope;
    if (resource.group === '' && resource.resource === 'namespaces') {
      if (operation === 'DELETE' && UNDELETABLE.has(name))
        throw forbiddenStatus('', 'namespaces', name, 'this namespace may not be deleted');
      return;
    }
    // A question leaves nothing behind.
    if (operation !== 'CREATE' || resource.group === 'authorization.k8s.io') return;
    checkNamespace(scope, name, object?.metadata.namespace);
  },
  place: checkNamespace,
};

function checkNamespace(
  { resource, cluster, server, namespace: asked }: Scope,
  name: string,
  namespace: string = asked,
): void {
  if (!resource.namespaced) return;
  const record = server.store.get(objectKey('', 'namespaces', cluster, '', namespace));
  if (!record) throw notFound('', 'namespaces', namespace);
  if (record.object.metadata.deletionTimestamp === undefined) return;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const refusal = forbiddenStatus(resource.group, resource.resource, name, why).status;
  throw failure(403, 'Forbidden', refusal.message ?? why, {
    ...refusal.details,
    causes: [
      {
        reason: 'NamespaceTerminating',
        message: `namespace ${namespace} is being terminated`,
        field: 'metadata.namespace',
      },
    ],
  });
}
