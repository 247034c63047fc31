import type { KubeObject } from '../../kube/object.ts';
import { hasCode, notFound } from '../../kube/status-error.ts';
import { clone, deepEqual, isObject, listAt } from '../../schema/json.ts';
import type { UserInfo } from '../auth/index.ts';
import type { NamespaceActions, ObjectActions } from '../controllers/actions.ts';
import { type CleanupActions, decideOnDefinition, definitionIn } from '../crd/index.ts';
import type { Resource } from '../resource.ts';
import { clusterPrefix, objectKey, parseKey } from '../store/key.ts';
import { remove } from './delete.ts';
import type { RestServer, Scope, WriteOptions } from './scope.ts';
import { changeLive } from './special-subresources.ts';
import { track } from './tracking.ts';

/** As whom the server's own controllers act. */
export const CONTROLLER_USER: UserInfo = {
  name: 'system:apiserver',
  groups: ['system:masters', 'system:authenticated'],
};

const OPTIONS: WriteOptions = { fieldManager: 'atoll', fieldValidation: 'Ignore', dryRun: false };

/** What an API server does itself, and no controller beside it, is owned by it, as in other clusters. */
function optionsFor({ group }: Resource): WriteOptions {
  return group === 'apiregistration.k8s.io' ? { ...OPTIONS, fieldManager: 'kube-apiserver' } : OPTIONS;
}

/** The scope of a stored object; `undefined` when its resource is no longer served. */
function scopeOf(server: RestServer, key: string): { scope: Scope; name: string } | undefined {
  const { group, resource: plural, cluster, namespace, name } = parseKey(key);
  const resource = server.resources(cluster).stored(group, plural);
  if (!resource) return undefined;
  return { scope: { server, cluster, resource, namespace, user: CONTROLLER_USER, warn: () => {} }, name };
}

/**
 * Removes an object whose resource is not served. Its finalizers count as long as there is a definition, which may serve it again;
 * where there is none nobody could ever take them off.
 */
async function removeUnserved(server: RestServer, key: string, uid: string): Promise<void> {
  const { group, resource, cluster, name } = parseKey(key);
  const isDefined = definitionIn(server.store, cluster, `${resource}.${group}`) !== undefined;
  const { metadata } = server.store.get(key)?.object ?? {};
  if (metadata?.uid !== uid || (isDefined && metadata.finalizers?.length)) return;
  const write = server.store.write(key, (current) => {
    if (current?.object.metadata.uid !== uid) throw notFound(group, resource, name);
    return null;
  });
  await unlessGone(write);
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
  const deciding = new Map<string, KubeObject>();

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
    await unlessGone(changeLive(target, name, optionsFor(scope.resource), edit));
  }
  const namespaceKey = (cluster: string, name: string): string =>
    objectKey('', 'namespaces', cluster, '', name);

  return {
    change,
    async delete(key, uid, propagation, revision) {
      const found = scopeOf(server, key);
      if (!found) return removeUnserved(server, key, uid);
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
    async deleteInstance(record) {
      const { cluster, namespace, name, group, resource: plural } = parseKey(record.key);
      const resource = server.resources(cluster).stored(group, plural);
      if (!resource) return removeUnserved(server, record.key, record.object.metadata.uid ?? '');
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
    changeDefinition: (key, edit) => changeDefinition(server, deciding, key, edit),
  };
}

/** Who owns what the server's own controllers write into the status of definitions, as in other servers. */
const DEFINITION_OWNER: WriteOptions = { ...OPTIONS, fieldManager: 'kube-apiserver' };

/**
 * Definitions are changed below the pipeline: what it does to status belongs to their strategy, and this is the
 * controller that owns it. `deciding` are those that are decided on and not stored yet: two at once get no name both.
 */
async function changeDefinition(
  server: RestServer,
  deciding: Map<string, KubeObject>,
  key: string,
  edit: (object: KubeObject) => KubeObject | undefined,
): Promise<void> {
  const found = scopeOf(server, key);
  if (!found) return;
  const { cluster, resource } = found.scope;
  const status: Scope = { ...found.scope, subresource: { name: 'status', verbs: [] } };
  let decided: KubeObject | undefined;
  const write = server.store.write(key, (current) => {
    if (!current) return undefined;
    const object = edit(clone(current.object));
    if (object === undefined) return undefined;
    const all = server.store.list(clusterPrefix(resource.group, resource.resource, cluster)).records;
    decideOnDefinition(
      object,
      all.map((record) => deciding.get(record.key) ?? record.object),
      server.runtime.clock.now(),
    );
    const finalizers = object.metadata.finalizers?.length ?? 0;
    if (object.metadata.deletionTimestamp !== undefined && finalizers === 0) return null;
    if (deepEqual(object, current.object)) return undefined;
    decided = track(status, object, current.object, DEFINITION_OWNER);
    deciding.set(key, decided);
    return decided;
  });
  try {
    await write;
  } finally {
    if (decided !== undefined && deciding.get(key) === decided) deciding.delete(key);
  }
}
