import type { Controller, Result } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { Condition, KubeObject } from '../../kube/object.ts';
import { asJson } from '../../kube/object.ts';
import { errorText, type Runtime } from '../../runtime/index.ts';
import { listAt } from '../../schema/json.ts';
import { objectKey, parseKey, resourcePrefix } from '../store/key.ts';
import type { Store, StoreEvent, StoreRecord, Watch } from '../store/store.ts';
import type { NamespaceActions } from './actions.ts';
import { eachOf } from './each-of.ts';
import { namespaceConditions } from './namespace-conditions.ts';

export interface NamespaceControllerOptions {
  readonly store: Store;
  readonly actions: NamespaceActions;
}

/** The entry of `spec.finalizers` that stands for this controller. */
const FINALIZER = 'kubernetes';
const NAMESPACES = resourcePrefix('', 'namespaces');
const PODS = resourcePrefix('', 'pods');
const CONCURRENCY = 5;
/** How soon the conditions follow what goes on in a namespace that is not empty yet. */
const REFRESH_MS = 1000;

/** Content of a namespace being deleted, as last counted and kept up to date by events. */
interface Remainder {
  readonly keys: Set<string>;
  pods: number;
}

/**
 * Empties namespaces that are being deleted, in all logical clusters: first the pods, so that nothing that they use goes
 * before them, then all else; when nothing is left, removes the finalizer that held the namespace. What is left meanwhile,
 * and what for, is told in the namespace's conditions.
 */
export function startNamespaceController(
  runtime: Runtime,
  { store, actions }: NamespaceControllerOptions,
): Pick<Controller, 'busy' | 'stop'> {
  /** By `<cluster>/<name>`, as the keys of the queue. */
  const terminating = new Map<string, Remainder>();
  /** Open only while some namespace is being deleted. */
  let contentWatch: Watch | undefined;

  const controller = startController(runtime, {
    name: 'namespace',
    concurrency: CONCURRENCY,
    reconcile,
  });

  function observeNamespace(record: StoreRecord, exists: boolean): void {
    if (record.shared) return; // untouched, so not being deleted
    const { cluster, name } = parseKey(record.key);
    const id = `${cluster}/${name}`;
    if (!exists) forget(id);
    else if (record.object.metadata.deletionTimestamp === undefined) return;
    // Our own conditions come back as events: they must not drive the work.
    else if (terminating.has(id)) controller.enqueue(id, REFRESH_MS);
    else controller.enqueue(id);
  }

  function observeContent(event: StoreEvent): void {
    const { key } = event.record;
    const { cluster, namespace } = parseKey(key);
    const id = `${cluster}/${namespace}`;
    const remainder = terminating.get(id);
    if (namespace === '' || remainder === undefined) return;
    if (event.type === 'created') {
      controller.enqueue(id);
      return;
    }
    controller.enqueue(id, REFRESH_MS);
    if (event.type !== 'deleted' || !remainder.keys.delete(key)) return;
    const wasLastPod = key.startsWith(PODS) && --remainder.pods === 0;
    if (wasLastPod || remainder.keys.size === 0) controller.enqueue(id);
  }

  function forget(id: string): void {
    terminating.delete(id);
    if (terminating.size > 0) return;
    contentWatch?.stop();
    contentWatch = undefined;
  }

  function remember(id: string, content: readonly StoreRecord[]): void {
    const keys = new Set(content.map(({ key }) => key));
    let pods = 0;
    for (const key of keys) if (key.startsWith(PODS)) pods += 1;
    terminating.set(id, { keys, pods });
    contentWatch ??= store.watch('/', store.revision, (events) => {
      for (const event of events) observeContent(event);
    });
  }

  async function reconcile(id: string): Promise<Result | void> {
    const slash = id.indexOf('/');
    const cluster = id.slice(0, slash);
    const name = id.slice(slash + 1);
    const namespace = store.get(objectKey('', 'namespaces', cluster, '', name))?.object;
    if (
      namespace?.metadata.deletionTimestamp === undefined ||
      !specFinalizers(namespace).includes(FINALIZER)
    ) {
      forget(id);
      return;
    }
    const content = contentOf(store, cluster, name);
    // From here on, in the same turn, events keep the remainder up to date.
    remember(id, content);
    const failures = await deleteContent(content);
    await tell(cluster, name, failures);
    if (failures.length > 0)
      throw new Error(`${failures.length} objects of the namespace could not be deleted: ${failures[0]}`);
    if (terminating.get(id)?.keys.size === 0 && contentOf(store, cluster, name).length === 0)
      await actions.finalizeNamespace(cluster, name);
  }

  /** Asks for the deletion of what is to go now and is not being deleted yet. Returns what failed. */
  async function deleteContent(content: readonly StoreRecord[]): Promise<string[]> {
    const pods = content.filter(({ key }) => key.startsWith(PODS));
    const due = (pods.length > 0 ? pods : content).filter(
      ({ object }) => object.metadata.deletionTimestamp === undefined,
    );
    const failures: string[] = [];
    await eachOf(due, async ({ key, object }) => {
      try {
        await actions.delete(key, object.metadata.uid ?? '', 'Background');
      } catch (error) {
        const { resource, name } = parseKey(key);
        failures.push(`${resource} "${name}": ${errorText(error)}`);
      }
    });
    return failures;
  }

  async function tell(cluster: string, name: string, failures: readonly string[]): Promise<void> {
    const namespace = store.get(objectKey('', 'namespaces', cluster, '', name))?.object;
    if (namespace === undefined) return;
    const present = listAt(asJson(namespace), 'status', 'conditions') as unknown as readonly Condition[];
    const conditions = namespaceConditions(
      present,
      contentOf(store, cluster, name),
      failures,
      runtime.clock.now(),
    );
    if (conditions !== undefined) await actions.setNamespaceConditions(cluster, name, conditions);
  }

  for (const record of store.list(NAMESPACES).records) observeNamespace(record, true);
  const namespaceWatch = store.watch(NAMESPACES, store.revision, (events) => {
    for (const { record, type } of events) observeNamespace(record, type !== 'deleted');
  });

  return {
    get busy() {
      return controller.busy;
    },
    stop() {
      namespaceWatch.stop();
      contentWatch?.stop();
      return controller.stop();
    },
  };
}

function specFinalizers(namespace: KubeObject): readonly unknown[] {
  return listAt(asJson(namespace), 'spec', 'finalizers');
}

/** All objects of a namespace, whatever serves them: the store knows resources that no longer are served. */
function contentOf(store: Store, cluster: string, namespace: string): StoreRecord[] {
  const content: StoreRecord[] = [];
  for (const prefix of new Set([...resourcePrefixes(store), ...(store.sharedPrefixes ?? [])]))
    content.push(...store.list(`${prefix}${cluster}/${namespace}/`).records);
  return content;
}

/** The prefixes of all resources with any object, found by leaping from one to the next. */
function* resourcePrefixes(store: Store): Generator<string> {
  let after = '/';
  for (;;) {
    const [record] = store.list('/', { after, limit: 1 }).records;
    if (record === undefined) return;
    const { group, resource } = parseKey(record.key);
    const prefix = resourcePrefix(group, resource);
    yield prefix;
    after = `${prefix}\uffff`;
  }
}
