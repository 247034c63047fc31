import type { KubeObject } from '../../kube/object.ts';
import { errorText, formatTime, type Runtime, type Timer } from '../../runtime/index.ts';
import { clone, deepEqual } from '../../schema/json.ts';
import { clusterPrefix, parseKey, resourcePrefix, SERVER_GROUP } from '../store/key.ts';
import type { Store, StoreEvent, StoreRecord, Watch } from '../store/store.ts';
import { definitionIn } from './bindings.ts';
import {
  asDefinition,
  CLEANUP_FINALIZER,
  conditionOf,
  DEFINITIONS_GROUP,
  DEFINITIONS_RESOURCE,
  type Definition,
  isTerminating,
  setCondition,
} from './definition.ts';

/** What the clean-up does to the cluster, through the same pipeline as clients. */
export interface CleanupActions {
  /** Deletes one instance, whatever version is served. Resolves also when it has gone already. */
  deleteInstance(record: StoreRecord): Promise<void>;
  /** Changes a definition in place of its controllers: status and finalizers. `undefined` leaves it. */
  changeDefinition(key: string, change: (object: KubeObject) => KubeObject | undefined): Promise<void>;
}

export interface CleanupSources {
  readonly store: Store;
  /** Below it, only what is stored. */
  readonly stored: Store;
  /** Whether the server has resources of a group by itself, whatever is defined. */
  readonly isBuiltIn: (group: string) => boolean;
}

const RETRY_MS = 1000;
/** How long a definition that went with force may take to come back, before what waits for finalizers without it is given up. */
const COME_BACK_MS = 60_000;
/** No key goes on with more than this. */
const BEHIND_ALL = '\uffff';

/**
 * Empties definitions that are being deleted: deletes all instances, and when the last has gone removes the finalizer.
 * When a definition goes, those that waited for its names are decided on again.
 */
export function definitionCleanup(
  runtime: Runtime,
  { store, stored, isBuiltIn }: CleanupSources,
  actions: CleanupActions,
): { stop(): void } {
  const waiting = new Map<string, Watch>();
  const running = new Set<string>();
  const timers = new Set<Timer>();
  let stopped = false;

  function start(key: string): void {
    if (stopped || running.has(key)) return;
    running.add(key);
    clean(key)
      .catch((error: unknown) => {
        runtime.log.warn('cleaning up after a definition failed, trying again', {
          key,
          error: errorText(error),
        });
        runtime.clock.after(RETRY_MS, () => start(key));
      })
      .finally(() => running.delete(key));
  }

  async function clean(key: string): Promise<void> {
    const record = store.get(key);
    if (!record) return;
    const definition = asDefinition(record.object);
    if (!isTerminating(definition) || !definition.metadata.finalizers?.includes(CLEANUP_FINALIZER)) return;
    const prefix = instancePrefix(key, definition);
    if (store.count(prefix) > 0) {
      await mark(key, 'InstanceDeletionInProgress', 'CustomResource deletion is in progress', 'True');
      for (const instance of store.list(prefix).records)
        if (instance.object.metadata.deletionTimestamp === undefined) await actions.deleteInstance(instance);
      if (store.count(prefix) > 0) {
        waitForInstances(key, prefix);
        return;
      }
    }
    await mark(key, 'InstanceDeletionCompleted', 'removed all instances', 'False');
    // What was decided before the deletion could be seen is stored by now.
    if (store.count(prefix) > 0) return clean(key);
    await actions.changeDefinition(key, (object) => {
      const finalizers = object.metadata.finalizers?.filter((name) => name !== CLEANUP_FINALIZER) ?? [];
      const { finalizers: _old, ...metadata } = object.metadata;
      return { ...object, metadata: finalizers.length > 0 ? { ...metadata, finalizers } : metadata };
    });
  }

  function waitForInstances(key: string, prefix: string): void {
    if (waiting.has(key) || stopped) return;
    waiting.set(
      key,
      store.watch(prefix, store.revision, () => {
        if (store.count(prefix) > 0) return;
        waiting.get(key)?.stop();
        waiting.delete(key);
        runtime.clock.defer(() => start(key));
      }),
    );
  }

  async function mark(key: string, reason: string, message: string, status: 'True' | 'False'): Promise<void> {
    await actions.changeDefinition(key, (object) => {
      const copy = asDefinition(clone(object));
      if (conditionOf(copy, 'Terminating')?.reason === reason) return undefined;
      setCondition(copy, 'Terminating', status, reason, message, formatTime(runtime.clock.now()));
      return copy;
    });
  }

  /**
   * What is being deleted and was held by finalizers when its definition went (someone took the definition's own away) could never
   * go: nobody sees it any more. What is not being deleted stays, for a definition that is made anew.
   */
  async function removeUnseen(group: string, plural: string): Promise<void> {
    if (stopped) return;
    for (const record of store.list(resourcePrefix(group, plural)).records) {
      const { cluster } = parseKey(record.key);
      if (record.object.metadata.deletionTimestamp === undefined) continue;
      if (definitionIn(store, cluster, `${plural}.${group}`) === undefined)
        await actions.deleteInstance(record);
    }
  }

  function removeUnseenLater(group: string, plural: string): void {
    if (stopped) return;
    const timer = runtime.clock.after(COME_BACK_MS, () => {
      timers.delete(timer);
      removeUnseen(group, plural).catch((error: unknown) => {
        runtime.log.warn('what a definition left behind could not be removed, trying again', {
          definition: `${plural}.${group}`,
          error: errorText(error),
        });
        removeUnseenLater(group, plural);
      });
    });
    timers.add(timer);
  }

  /**
   * What waits for that is in the store and nowhere else, so that a server that starts finds it again: objects of a cluster that has no
   * definition for them. Only the first key of each resource in each cluster is looked at.
   */
  function findUnseen(): void {
    const unseen = new Map<string, readonly [group: string, plural: string]>();
    let after = '';
    for (;;) {
      const [first] = stored.list('', { after, limit: 1 }).records;
      if (first === undefined) break;
      const { group, resource, cluster } = parseKey(first.key);
      const prefix = resourcePrefix(group, resource);
      const isSettled = unseen.has(prefix) || group === SERVER_GROUP || isBuiltIn(group);
      if (!isSettled && definitionIn(store, cluster, `${resource}.${group}`) === undefined)
        unseen.set(prefix, [group, resource]);
      after = `${isSettled ? prefix : clusterPrefix(group, resource, cluster)}${BEHIND_ALL}`;
    }
    for (const [group, plural] of unseen.values()) removeUnseenLater(group, plural);
  }

  /** Definitions whose names were taken are written again unchanged: the write decides on names anew. */
  function retryNames(cluster: string): void {
    for (const record of store.list(clusterPrefix(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE, cluster))
      .records) {
      if (conditionOf(asDefinition(record.object), 'NamesAccepted')?.status === 'False')
        decideAgain(record.key);
    }
  }

  function decideAgain(key: string): void {
    actions
      .changeDefinition(key, (object) => clone(object))
      .catch((error: unknown) => {
        runtime.log.warn('deciding on names again failed', { key, error: errorText(error) });
      });
  }

  const prefix = resourcePrefix(DEFINITIONS_GROUP, DEFINITIONS_RESOURCE);
  const watch = store.watch(prefix, store.revision, (events) => {
    for (const event of events) {
      const { key } = event.record;
      if (event.type === 'deleted') {
        waiting.get(key)?.stop();
        waiting.delete(key);
        runtime.clock.defer(() => retryNames(parseKey(key).cluster));
        const definition = asDefinition(event.record.object);
        const { group, names } = definition.spec;
        if (store.count(resourcePrefix(group, names.plural)) > 0) removeUnseenLater(group, names.plural);
      } else if (isTerminating(asDefinition(event.record.object))) runtime.clock.defer(() => start(key));
      else if (givesUpNames(event)) runtime.clock.defer(() => retryNames(parseKey(key).cluster));
    }
  });
  for (const record of store.list(prefix).records) {
    const definition = asDefinition(record.object);
    if (isTerminating(definition)) start(record.key);
    // The server ended between a creation and what follows it.
    else if (!conditionOf(definition, 'NamesAccepted')) decideAgain(record.key);
  }
  findUnseen();

  return {
    stop(): void {
      stopped = true;
      watch.stop();
      for (const entry of waiting.values()) entry.stop();
      waiting.clear();
      for (const timer of timers) timer.cancel();
      timers.clear();
    },
  };
}

/** Whether a change leaves names to others. */
function givesUpNames({ record, previous }: StoreEvent): boolean {
  const before = previous && asDefinition(previous.object).status?.acceptedNames;
  // A new definition has none that it could give up.
  if (!before?.plural && !before?.kind) return false;
  return !deepEqual(before, asDefinition(record.object).status?.acceptedNames);
}

function instancePrefix(key: string, definition: Definition): string {
  return clusterPrefix(definition.spec.group, definition.spec.names.plural, parseKey(key).cluster);
}
