import type { KubeObject } from '../../kube/object.ts';
import { hasCode } from '../../kube/status-error.ts';
import { clone, isObject, listAt } from '../../schema/json.ts';
import type { UserInfo } from '../auth/index.ts';
import type { NamespaceActions, ObjectActions } from '../controllers/actions.ts';
import { type CleanupActions, decideOnDefinition } from '../crd/index.ts';
import { clusterPrefix, objectKey, parseKey } from '../store/key.ts';
import { remove } from './delete.ts';
import type { RestServer, Scope, WriteOptions } from './scope.ts';
import { changeLive } from './special-subresources.ts';

/** As whom the server's own controllers act. */
export const CONTROLLER_USER: UserInfo = {
  name: 'system:apiserver',
  groups: ['system:masters', 'system:authenticated'],
};

const OPTIONS: WriteOptions = { fieldManager: 'atoll', fieldValidation: 'Ignore', dryRun: false };

/** The scope of a stored object; `undefined` when its resource is no longer served. */
function scopeOf(server: RestServer, key: string): { scope: Scope; name: string } | undefined {
  const { group, resource: plural, cluster, namespace, name } = parseKey(key);
  const resource = server.resources(cluster).stored(group, plural);
  if (!resource) return undefined;
  return { scope: { server, cluster, resource, namespace, user: CONTROLLER_USER, warn: () => {} }, name };
}

/** Waits for a write whose object may be gone by now. */
async function unlessGone(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!hasCode(error, 404)) throw error;
  }
}

/** What the server's controllers do, through the pipeline that serves requests. */
export function serverActions(server: RestServer): NamespaceActions & ObjectActions & CleanupActions {
  async function change(
    key: string,
    edit: (object: KubeObject) => KubeObject | undefined,
    subresource?: string,
  ): Promise<void> {
    const found = scopeOf(server, key);
    if (!found) return;
    const { scope, name } = found;
    const target: Scope =
      subresource === undefined ? scope : { ...scope, subresource: { name: subresource, verbs: [] } };
    await unlessGone(changeLive(target, name, OPTIONS, edit));
  }
  const namespaceKey = (cluster: string, name: string): string =>
    objectKey('', 'namespaces', cluster, '', name);

  return {
    change,
    async delete(key, uid, propagation, revision) {
      const found = scopeOf(server, key);
      if (!found) return;
      const record = server.store.get(key);
      if (!record || record.object.metadata.uid !== uid) return;
      await unlessGone(
        remove(found.scope, found.name, {
          gracePeriodSeconds: undefined,
          propagation,
          preconditions: { uid, ...(revision === undefined ? {} : { resourceVersion: String(revision) }) },
          dryRun: false,
        }),
      );
    },
    removeOwnerReferences: (key, uids) =>
      change(key, (object) => {
        const owners = object.metadata.ownerReferences ?? [];
        const kept = owners.filter((owner) => !uids.includes(owner.uid));
        if (kept.length === owners.length) return undefined;
        object.metadata.ownerReferences = kept;
        return object;
      }),
    removeFinalizer: (key, finalizer) =>
      change(key, (object) => {
        if (!object.metadata.finalizers?.includes(finalizer)) return undefined;
        object.metadata.finalizers = object.metadata.finalizers.filter((name) => name !== finalizer);
        return object;
      }),
    finalizeNamespace: (cluster, name) =>
      change(
        namespaceKey(cluster, name),
        (object) => {
          const spec = isObject(object.spec) ? object.spec : {};
          const kept = listAt(spec, 'finalizers').filter((finalizer) => finalizer !== 'kubernetes');
          if (kept.length > 0) spec.finalizers = kept;
          else delete spec.finalizers;
          object.spec = spec;
          return object;
        },
        'finalize',
      ),
    setNamespaceConditions: (cluster, name, conditions) =>
      change(
        namespaceKey(cluster, name),
        (object) => {
          const status = isObject(object.status) ? object.status : {};
          const types = new Set<unknown>(conditions.map((condition) => condition.type));
          const kept = listAt(status, 'conditions').filter(
            (condition) => isObject(condition) && !types.has(condition.type),
          );
          status.conditions = [...kept, ...conditions.map((condition) => ({ ...condition }))];
          object.status = status;
          return object;
        },
        'status',
      ),
    async deleteInstance(definition, record) {
      const { cluster, namespace, name } = parseKey(record.key);
      const { group, names } = definition.spec;
      const resource = server.resources(cluster).stored(group, names.plural);
      if (!resource) return;
      const scope: Scope = { server, cluster, resource, namespace, user: CONTROLLER_USER, warn: () => {} };
      await unlessGone(
        remove(scope, name, {
          gracePeriodSeconds: undefined,
          propagation: undefined,
          preconditions: {},
          dryRun: false,
        }),
      );
    },
    changeDefinition: (key, edit) => changeDefinition(server, key, edit),
  };
}

/**
 * Definitions are changed below the pipeline: what it does to status belongs to their strategy, and this is the
 * controller that owns it.
 */
async function changeDefinition(
  server: RestServer,
  key: string,
  edit: (object: KubeObject) => KubeObject | undefined,
): Promise<void> {
  const found = scopeOf(server, key);
  if (!found) return;
  const { cluster, resource } = found.scope;
  await server.store.write(key, (current) => {
    if (!current) return undefined;
    const object = edit(clone(current.object));
    if (object === undefined) return undefined;
    decideOnDefinition(
      object,
      server.store
        .list(clusterPrefix(resource.group, resource.resource, cluster))
        .records.map(({ object }) => object),
      server.runtime.clock.now(),
    );
    const finalizers = object.metadata.finalizers?.length ?? 0;
    return object.metadata.deletionTimestamp !== undefined && finalizers === 0 ? null : object;
  });
}
