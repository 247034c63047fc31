import { startController } from '../../kube/controller-loop.ts';
import type { Handler } from '../../kube/exchange.ts';
import { asJson } from '../../kube/object.ts';
import { hasCode, StatusError } from '../../kube/status-error.ts';
import { formatTime, type Runtime } from '../../runtime/index.ts';
import type { ClusterOptions } from '../clusters/index.ts';
import type { ObjectActions } from '../controllers/index.ts';
import type { ApiBindings } from '../crd/index.ts';
import { ROOT_CLUSTER } from '../server-options.ts';
import { objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store } from '../store/store.ts';
import { childCluster } from './child-cluster.ts';
import {
  API_EXPORTS,
  type ApiExport,
  setCondition,
  TENANCY_DEFINITIONS,
  TENANCY_GROUP,
  WORKSPACE_FINALIZER,
  WORKSPACE_TYPES,
  WORKSPACES,
  type Workspace,
  type WorkspaceType,
} from './kinds.ts';

export interface WorkspaceControllerOptions {
  readonly store: Store;
  readonly actions: Pick<ObjectActions, 'change' | 'removeFinalizer'>;
  readonly bindings: ApiBindings;
  /** The server itself, as one that may do everything. */
  readonly handler: Handler;
  /** `host:port` of this server. */
  readonly address: string;
  createCluster(name: string, options: ClusterOptions): Promise<void>;
  deleteCluster(name: string): Promise<boolean>;
  /** The uid of the Workspace that a logical cluster was made for; `undefined` where there is none. */
  ownerOf(cluster: string): string | undefined;
  /** The logical clusters that there are. */
  clusters(): readonly string[];
}

const PREFIX = resourcePrefix(TENANCY_GROUP, WORKSPACES);
const OWNER_BINDING = 'workspace-owner';
const AT_ONCE = 64;

/**
 * Makes the logical cluster of each Workspace with what its type asks for, and takes it away with its Workspace. A name that
 * is taken by a logical cluster of someone else stays theirs.
 */
export function startWorkspaceController(
  runtime: Runtime,
  options: WorkspaceControllerOptions,
): { stop(): Promise<void> } {
  const { store, actions, bindings } = options;
  const controller = startController(runtime, { name: 'workspace', concurrency: AT_ONCE, reconcile });

  async function reconcile(key: string): Promise<void> {
    const { cluster: parent, name } = parseKey(key);
    const child = childCluster(parent, name);
    const workspace = store.get(key)?.object as Workspace | undefined;
    const uid = workspace?.metadata.uid;
    const owner = options.ownerOf(child);
    // Its Workspace has gone without waiting, as with the logical cluster that held it.
    if (owner !== undefined && owner !== uid) await options.deleteCluster(child);
    if (workspace === undefined) return;
    if (workspace.metadata.deletionTimestamp !== undefined) {
      if (!workspace.metadata.finalizers?.includes(WORKSPACE_FINALIZER)) return;
      await setPhase(key, 'Terminating');
      if (owner === uid) await options.deleteCluster(child);
      await actions.removeFinalizer(key, WORKSPACE_FINALIZER);
      return;
    }
    await provide(key, child, parent, workspace);
  }

  async function provide(key: string, child: string, parent: string, workspace: Workspace): Promise<void> {
    const { spec = {}, metadata, status = {} } = workspace;
    const isReady = status.phase === 'Ready';
    const reference = spec.type;
    const typeCluster = reference?.cluster ?? parent;
    const type =
      reference &&
      (store.get(objectKey(TENANCY_GROUP, WORKSPACE_TYPES, typeCluster, '', reference.name))?.object as
        | WorkspaceType
        | undefined);
    if (reference !== undefined && type === undefined && !isReady) {
      await wait(
        key,
        'TypeNotFound',
        `there is no WorkspaceType ${JSON.stringify(reference.name)} in ${typeCluster}`,
      );
      return;
    }
    const maxObjects = smallest(spec.maxObjects, type?.spec?.maxObjects);
    try {
      await options.createCluster(child, {
        owner: metadata.uid ?? '',
        ...(maxObjects === undefined ? {} : { maxObjects }),
      });
      // From then on it is its owner's.
      if (isReady) return;
      await bindApis(child, typeCluster, type);
    } catch (error) {
      if (!(error instanceof StatusError) || error.code >= 500) throw error;
      await wait(key, error.reason === 'Conflict' ? 'NameTaken' : error.reason, error.message);
      return;
    }
    const left = status.phase === 'Initializing' ? status.initializers : type?.spec?.initializers;
    if (left !== undefined && left.length > 0) {
      await setPhase(key, 'Initializing', child, left);
      return;
    }
    await admitOwner(child, spec.owner?.username);
    await setPhase(key, 'Ready', child, []);
  }

  async function bindApis(
    child: string,
    typeCluster: string,
    type: WorkspaceType | undefined,
  ): Promise<void> {
    const binds = TENANCY_DEFINITIONS.map((name) => bindings.bind(ROOT_CLUSTER, name, child));
    for (const name of type?.spec?.exports ?? []) {
      const found = store.get(objectKey(TENANCY_GROUP, API_EXPORTS, typeCluster, '', name));
      for (const definition of (found?.object as ApiExport | undefined)?.spec?.definitions ?? [])
        binds.push(bindings.bind(typeCluster, definition, child));
    }
    await Promise.all(binds);
  }

  /** Who made a workspace may do everything in it, once it is ready. Names of the system mean somebody else there. */
  async function admitOwner(child: string, username: string | undefined): Promise<void> {
    if (username === undefined || username.startsWith('system:')) return;
    const response = await options.handler({
      method: 'POST',
      path: `/clusters/${child}/apis/rbac.authorization.k8s.io/v1/clusterrolebindings`,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(
        JSON.stringify({
          metadata: { name: OWNER_BINDING },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
          subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: username }],
        }),
      ),
    });
    if (response.status !== 201 && response.status !== 409)
      throw new Error(`the owner of the workspace ${child} could not be let in: status ${response.status}`);
  }

  async function setPhase(
    key: string,
    phase: NonNullable<Workspace['status']>['phase'] & string,
    child?: string,
    initializers?: readonly string[],
  ): Promise<void> {
    await change(key, (workspace) => {
      const ready = phase === 'Ready';
      asJson(workspace).status = {
        ...(asJson(workspace).status as object),
        phase,
        ...(child === undefined
          ? {}
          : { cluster: child, URL: `https://${options.address}/clusters/${child}` }),
        ...(initializers === undefined ? {} : { initializers: [...initializers] }),
      };
      setCondition(
        workspace,
        { type: 'Ready', status: ready ? 'True' : 'False', reason: phase, message: '' },
        formatTime(runtime.clock.now()),
      );
    });
  }

  /** Says why it cannot go on; a change of what it waits for wakes it. */
  async function wait(key: string, reason: string, message: string): Promise<void> {
    await change(key, (workspace) => {
      asJson(workspace).status = { ...(asJson(workspace).status as object), phase: 'Scheduling' };
      const now = formatTime(runtime.clock.now());
      setCondition(workspace, { type: 'Ready', status: 'False', reason, message }, now);
    });
  }

  async function change(key: string, edit: (workspace: Workspace) => void): Promise<void> {
    try {
      await actions.change(
        key,
        (object) => {
          edit(object as Workspace);
          return object;
        },
        'status',
      );
    } catch (error) {
      // Its logical cluster has gone, and with it the Workspace.
      if (!hasCode(error, 404)) throw error;
    }
  }

  const watches = [
    store.watch(PREFIX, store.revision, (events) => {
      for (const { record } of events) controller.enqueue(record.key);
    }),
    // Types and exports that somebody waits for.
    ...[WORKSPACE_TYPES, API_EXPORTS].map((resource) =>
      store.watch(resourcePrefix(TENANCY_GROUP, resource), store.revision, (events) => {
        if (events.some(({ type }) => type !== 'deleted')) enqueueWaiting();
      }),
    ),
  ];

  function enqueueWaiting(): void {
    for (const { key, object } of store.list(PREFIX).records)
      if ((object as Workspace).status?.phase === 'Scheduling') controller.enqueue(key);
  }

  for (const { key } of store.list(PREFIX).records) controller.enqueue(key);
  // A Workspace that went with the logical cluster around it was seen to go by nobody, if the server ended just then.
  const present = new Set(options.clusters());
  for (const child of present) {
    const colon = child.lastIndexOf(':');
    const parent = child.slice(0, Math.max(colon, 0));
    if (colon > 0 && !present.has(parent) && options.ownerOf(child) !== undefined)
      controller.enqueue(objectKey(TENANCY_GROUP, WORKSPACES, parent, '', child.slice(colon + 1)));
  }

  return {
    stop() {
      for (const watch of watches) watch.stop();
      return controller.stop();
    },
  };
}

function smallest(...limits: readonly (number | undefined)[]): number | undefined {
  const given = limits.filter((limit) => limit !== undefined);
  return given.length === 0 ? undefined : Math.min(...given);
}
