import type { Controller } from '../../kube/controller.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { KubeObject, OwnerReference } from '../../kube/object.ts';
import { parseApiVersion } from '../../kube/object.ts';
import type { Runtime } from '../../runtime/index.ts';
import { type KeyParts, objectKey, parseKey } from '../store/key.ts';
import type { Store, StoreEvent, StoreRecord } from '../store/store.ts';
import type { ControllerActions, Propagation } from './actions.ts';
import { eachOf } from './each-of.ts';
import { ownerGraph, ownerId, ownerReferences } from './owner-graph.ts';

/** Finalizers by which the API server asks the collector to do something before an owner goes. */
export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

/** A kind that a logical cluster serves, enough to find an owner by its reference. */
export interface ServedKind {
  readonly group: string;
  readonly resource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface GarbageCollectorOptions {
  readonly store: Store;
  /** What a logical cluster serves now. Owners of other kinds are never taken to be absent. */
  readonly resources: (cluster: string) => Iterable<ServedKind>;
  readonly actions: ControllerActions;
}

/** What a reference points to. `unknown`: it cannot be told, so nothing may be deleted for it. */
type OwnerState = 'absent' | 'waiting' | 'solid' | 'unknown';

/** An owner that waits for the collector: its finalizer stands until its dependents are dealt with. */
interface EndingOwner {
  readonly key: string;
  readonly foreground: boolean;
}

/** Events have no dependents and come in floods. */
const IGNORED = ['/core/events/', '/events.k8s.io/events/'];
const CRD_PREFIX = '/apiextensions.k8s.io/customresourcedefinitions/';
const CONCURRENCY = 20;

/**
 * Deletes what has lost its owners, and does what `foregroundDeletion` and `orphan` ask for, in all logical clusters.
 *
 * An owner is who has the uid *and* the place that the reference tells: kind, name, and the namespace of the dependent
 * (or none). One elsewhere counts as absent, and its deletion does not wait for such a dependent. An object with an owner
 * that stands keeps standing and only loses its other references. One whose owners have all gone is deleted; with an
 * owner that is waiting in the foreground, in the foreground too.
 */
export function startGarbageCollector(
  runtime: Runtime,
  { store, resources, actions }: GarbageCollectorOptions,
): Pick<Controller, 'busy' | 'stop'> {
  const graph = ownerGraph();
  const ending = new Map<string, EndingOwner>();
  /** Owners seen to go whose dependents have not all been dealt with: known to be absent even if their kind has gone. */
  const gone = new Set<string>();
  /** Objects with an owner of a kind that is not served, by logical cluster. */
  const unresolved = new Map<string, Set<string>>();

  const controller = startController(runtime, {
    name: 'garbage-collector',
    concurrency: CONCURRENCY,
    reconcile: collect,
  });

  function observe(event: StoreEvent): void {
    const { record } = event;
    const { key } = record;
    if (IGNORED.some((prefix) => key.startsWith(prefix))) return;
    const { cluster } = parseKey(key);
    const id = ownerId(cluster, record.object.metadata.uid);
    if (event.type === 'deleted') {
      ending.delete(id);
      forgetReferences(key, cluster, graph.set(key, undefined));
      remember(cluster, key, false);
      if (graph.hasDependents(id)) {
        gone.add(id);
        for (const dependent of graph.dependents(id)) controller.enqueue(dependent);
      }
    } else {
      const before = graph.set(key, record.object);
      forgetReferences(key, cluster, before);
      if (before !== undefined && graph.owners(key).length > 0) controller.enqueue(key);
      observeEnding(id, key, record.object);
    }
    if (key.startsWith(CRD_PREFIX)) {
      // Its kind may have become known.
      for (const dependent of unresolved.get(cluster) ?? []) controller.enqueue(dependent);
    }
  }

  /** References that are no more may have been the last to hold up an owner. */
  function forgetReferences(
    key: string,
    cluster: string,
    before: readonly OwnerReference[] | undefined,
  ): void {
    for (const { uid } of before ?? []) {
      const id = ownerId(cluster, uid);
      if (!graph.hasDependents(id)) gone.delete(id);
      const owner = ending.get(id);
      if (owner !== undefined && owner.key !== key) controller.enqueue(owner.key);
    }
  }

  function observeEnding(id: string, key: string, object: KubeObject): void {
    const foreground = waitsFor(object, FOREGROUND_FINALIZER);
    if (!foreground && !waitsFor(object, ORPHAN_FINALIZER)) {
      ending.delete(id);
      return;
    }
    const before = ending.get(id);
    if (before?.foreground === foreground) return;
    ending.set(id, { key, foreground });
    controller.enqueue(key);
    if (foreground) for (const dependent of graph.dependents(id)) controller.enqueue(dependent);
  }

  /** Dependents of an owner, as far as their references lead to it. */
  function* dependentsOf(
    owner: StoreRecord,
    at: KeyParts,
  ): Generator<{ key: string; reference: OwnerReference }> {
    const uid = owner.object.metadata.uid ?? '';
    for (const key of graph.dependents(ownerId(at.cluster, uid))) {
      if (at.namespace !== '' && parseKey(key).namespace !== at.namespace) continue;
      const reference = graph.owners(key).find((candidate) => leadsTo(candidate, owner.object, at));
      if (reference !== undefined) yield { key, reference };
    }
  }

  async function collect(key: string): Promise<void> {
    const record = store.get(key);
    if (record === undefined) return;
    const { object } = record;
    if (object.metadata.deletionTimestamp === undefined) await collectDependent(record);
    else if (waitsFor(object, ORPHAN_FINALIZER)) await orphanDependents(record);
    else if (waitsFor(object, FOREGROUND_FINALIZER)) await releaseOwner(record);
  }

  async function orphanDependents(owner: StoreRecord): Promise<void> {
    const uid = owner.object.metadata.uid ?? '';
    const dependents = [...dependentsOf(owner, parseKey(owner.key))];
    await eachOf(dependents, ({ key }) => actions.removeOwnerReferences(key, [uid]));
    await actions.removeFinalizer(owner.key, ORPHAN_FINALIZER);
  }

  async function releaseOwner(owner: StoreRecord): Promise<void> {
    for (const { reference } of dependentsOf(owner, parseKey(owner.key)))
      if (reference.blockOwnerDeletion === true) return;
    await actions.removeFinalizer(owner.key, FOREGROUND_FINALIZER);
  }

  async function collectDependent(record: StoreRecord): Promise<void> {
    const { key, object } = record;
    const at = parseKey(key);
    const uids: Record<OwnerState, Set<string>> = {
      absent: new Set(),
      waiting: new Set(),
      solid: new Set(),
      unknown: new Set(),
    };
    for (const reference of ownerReferences(object)) uids[ownerState(reference, at)].add(reference.uid);
    remember(at.cluster, key, uids.unknown.size > 0);
    if (uids.unknown.size > 0) return;
    const lost = uids.absent.union(uids.waiting);
    if (lost.size === 0) return;
    if (uids.solid.size > 0) {
      const removable = lost.difference(uids.solid);
      if (removable.size > 0) await actions.removeOwnerReferences(key, [...removable]);
      return;
    }
    await actions.delete(
      key,
      object.metadata.uid ?? '',
      propagationFor(record, at, uids.waiting.size > 0),
      record.revision,
    );
  }

  function propagationFor(record: StoreRecord, at: KeyParts, ownerWaits: boolean): Propagation {
    if (ownerWaits) {
      let waits = false;
      for (const { key } of dependentsOf(record, at)) {
        const dependent = store.get(key)?.object;
        // Both would wait for each other for ever if this is a circle of owners.
        if (dependent !== undefined && waitsFor(dependent, FOREGROUND_FINALIZER)) return 'Background';
        waits = true;
      }
      if (waits) return 'Foreground';
    }
    const finalizers = record.object.metadata.finalizers ?? [];
    if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan';
    return finalizers.includes(FOREGROUND_FINALIZER) ? 'Foreground' : 'Background';
  }

  function ownerState(reference: OwnerReference, at: KeyParts): OwnerState {
    const served = servedKind(at.cluster, reference);
    if (served === undefined) return gone.has(ownerId(at.cluster, reference.uid)) ? 'absent' : 'unknown';
    // A cluster-scoped object cannot tell the namespace of its owner.
    if (served.namespaced && at.namespace === '') return 'unknown';
    const namespace = served.namespaced ? at.namespace : '';
    const owner = store.get(
      objectKey(served.group, served.resource, at.cluster, namespace, reference.name),
    )?.object;
    if (owner === undefined || owner.metadata.uid !== reference.uid) return 'absent';
    return waitsFor(owner, FOREGROUND_FINALIZER) ? 'waiting' : 'solid';
  }

  function servedKind(cluster: string, { apiVersion, kind }: OwnerReference): ServedKind | undefined {
    const { group } = parseApiVersion(apiVersion);
    for (const served of resources(cluster))
      if (served.kind === kind && served.group === group) return served;
    return undefined;
  }

  function remember(cluster: string, key: string, isUnresolved: boolean): void {
    const keys = unresolved.get(cluster);
    if (!isUnresolved) {
      if (keys?.delete(key) && keys.size === 0) unresolved.delete(cluster);
    } else if (keys === undefined) unresolved.set(cluster, new Set([key]));
    else keys.add(key);
  }

  for (const record of store.list('/').records) {
    if (!mayConcern(record)) continue;
    const { key, object } = record;
    graph.set(key, object);
    if (graph.owners(key).length > 0) controller.enqueue(key);
    observeEnding(ownerId(parseKey(key).cluster, object.metadata.uid), key, object);
  }
  const watch = store.watch('/', store.revision, (events) => {
    for (const event of events) observe(event);
  });

  return {
    get busy() {
      return controller.busy;
    },
    stop() {
      watch.stop();
      return controller.stop();
    },
  };
}

function waitsFor({ metadata }: KubeObject, finalizer: string): boolean {
  return metadata.deletionTimestamp !== undefined && (metadata.finalizers?.includes(finalizer) ?? false);
}

function leadsTo(reference: OwnerReference, owner: KubeObject, at: KeyParts): boolean {
  return (
    reference.uid === owner.metadata.uid &&
    reference.name === at.name &&
    reference.kind === owner.kind &&
    parseApiVersion(reference.apiVersion).group === at.group
  );
}

/** Whether an object has owners or is being deleted, told without parsing it: most do not and are not. */
function mayConcern({ bytes }: StoreRecord): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return text.includes('"ownerReferences"') || text.includes('"deletionTimestamp"');
}
