import {
  type CompiledFederated,
  compileFederated,
  deletionOptionsOf,
  type FederatedObject,
  type FederatedStatus,
  type FederatedType,
  isOrphaned,
  reportFederated,
} from '../../../dialects/kubefed/index.ts';
import type { Compiled } from '../../../engine/compiled.ts';
import { NOT_READY_TAINT, UNREACHABLE_TAINT } from '../../../engine/failover/index.ts';
import type { ClusterFacts, Intent } from '../../../engine/intent.ts';
import type { Result } from '../../../kube/controller.ts';
import type { EventRecorder } from '../../../kube/events.ts';
import { formatApiVersion, type KubeObject, type ObjectRef } from '../../../kube/object.ts';
import { optimisticWrite } from '../../../kube/optimistic-write.ts';
import { StatusError } from '../../../kube/status-error.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import {
  authorOf,
  type ControlPlane,
  type Federation,
  type Following,
  federatedKey,
  type Remote,
  type TypeEntry,
  timed,
} from '../../kubefed/index.ts';
import { setFinalizers } from '../finalizers.ts';
import type { CompileReading, IntentFindings, IntentSource } from '../intent-source.ts';
import type { IntentRecords } from '../records.ts';
import { heldIntent, recordedSource, rememberDecision } from './recorded.ts';

/** The one that KubeFed itself puts on federated objects. */
export const FEDERATED_FINALIZER = 'kubefed.io/sync-controller';

export interface FederatedSourceOptions {
  readonly controlPlane: ControlPlane;
  readonly federation: Federation;
  readonly records: IntentRecords;
  readonly remote: Remote;
  readonly events: EventRecorder;
  /** Whether what objects say of their author is the API server's word. */
  readonly authorsBelieved: () => boolean;
}

/** Objects of the generated kinds `Federated<Kind>`, as intents. */
export function openFederatedSource(
  runtime: Runtime,
  options: FederatedSourceOptions,
  onChange: (key: string) => void,
): IntentSource<FederatedObject> {
  const { controlPlane, federation, records, remote, events } = options;
  const { client } = controlPlane;
  /** What each object came to last, for its status. */
  const last = new Map<string, CompiledFederated>();
  const reconciling = timed(runtime, 'reconciling');
  const dispatching = timed(runtime, 'dispatching');
  /** When the pass over an object began, by key. */
  const began = new Map<string, number>();
  /** When this hub gave its last order of an object, by key. */
  const orderedAt = new Map<string, number>();
  /** The newest generation that each cluster carried out, by key. */
  const carriedOut = new Map<string, Map<string, number>>();
  /** Those of which nothing can be decided yet. */
  const waiting = new Set<string>();
  /** The generation whose warnings were told, by key. */
  const warned = new Map<string, string>();
  /** What was told of as that which a deletion waits for, clusters or a correction, by key. */
  const awaited = new Map<string, string>();
  /** Those of which what the hub must remember cannot be read or written. */
  const unrecorded = new Set<string>();
  /** A key that could not be looked up before everything was known is told again then. */
  const unsubscribe = federation.onWish(onChange);

  function find(key: string): { entry: TypeEntry; namespace: string; name: string } | undefined {
    const [kind = '', namespace = '', name = ''] = key.split('/');
    const entry = federation.entry(kind);
    return entry && { entry, namespace, name };
  }

  function entryOf(object: KubeObject): TypeEntry | undefined {
    const slash = object.apiVersion.indexOf('/');
    return federation.entry(`${object.kind}.${object.apiVersion.slice(0, slash)}`);
  }

  /** A control plane of one namespace sees no other. */
  function isSeen({ metadata }: KubeObject): boolean {
    return federation.settings.scope === 'Cluster' || metadata.namespace === federation.controlPlane;
  }

  function authorIn(object: FederatedObject): Intent['author'] {
    // Where nobody is known to have written it, it is no more than the control plane may do itself.
    return (options.authorsBelieved() ? authorOf(object) : undefined) ?? controlPlane.author;
  }

  function compiledBy(
    object: FederatedObject,
    type: FederatedType,
    reading: CompileReading,
  ): CompiledFederated {
    const author = authorIn(object);
    const preference = federation.preferenceOf(object);
    const replicasPath = federation.replicasPath(type);
    const silent = preference && followed(object, type, reading).silent;
    const ready = silent ? reading.clusters.filter((facts) => isReady(facts) && !silent.has(facts.name)) : [];
    return compileFederated(object, {
      type,
      federatedNamespace: federation.federatedNamespace(object.metadata.namespace ?? ''),
      controlPlane: federation.controlPlane,
      namespaced: federation.settings.scope === 'Namespaced',
      adopt: federation.settings.syncController.adoptResources === 'Enabled',
      ...(author === undefined ? {} : { author }),
      ...(preference === undefined
        ? {}
        : { preference, ready, workloads: remote.workloads(federatedKeyOf(object)) }),
      ...(replicasPath === undefined ? {} : { replicasPath }),
    });
  }

  function federatedKeyOf(object: FederatedObject): string {
    const entry = entryOf(object);
    return entry ? federatedKey(entry, object) : '';
  }

  /** What an object needs that is not there yet: until then nothing is decided of it. */
  function waitingFor(
    object: FederatedObject,
    type: FederatedType,
    reading: CompileReading,
  ): string | undefined {
    if (
      type.target.scope === 'Namespaced' &&
      federation.settings.scope === 'Cluster' &&
      federation.namespaces === undefined
    )
      return 'the type namespaces is not enabled, and nothing in a namespace is federated without it. Next: atoll enable namespaces';
    if (!federation.preferenceOf(object)) return undefined;
    return followed(object, type, reading).waitingFor;
  }

  function followed(object: FederatedObject, type: FederatedType, { clusters }: CompileReading): Following {
    const names = clusters.filter(isReady).map(({ name }) => name);
    return remote.follow(federatedKeyOf(object), type, object, names);
  }

  /** Once for each generation: what it says of does not change without one. */
  function warn(key: string, object: FederatedObject, { warnings }: CompiledFederated): void {
    const told = `${object.metadata.uid ?? ''}/${object.metadata.generation ?? 0}`;
    if (warned.get(key) === told) return;
    warned.set(key, told);
    for (const { reason, message } of warnings) events.record(object, 'Warning', reason, message);
  }

  function tellOfWaiting(key: string, object: FederatedObject, { observations }: IntentFindings): void {
    const names = observations.map(({ cluster }) => cluster).join(', ');
    if (names === '' || awaited.get(key) === names) return;
    awaited.set(key, names);
    events.record(object, 'Normal', 'WaitForRemovalInCluster', `waiting until it is gone from ${names}`);
  }

  function forget(key: string): void {
    if (last.delete(key)) remote.forget(key);
    waiting.delete(key);
    unrecorded.delete(key);
    warned.delete(key);
    awaited.delete(key);
    began.delete(key);
    for (const _cluster of carriedOut.get(key) ?? []) timeOrder(key, 'delete');
    carriedOut.delete(key);
    orderedAt.delete(key);
  }

  function timeOrder(key: string, action: 'create' | 'update' | 'delete'): void {
    const since = orderedAt.get(key);
    // What was ordered before this hub started is not timed.
    if (since !== undefined) dispatching.observe((runtime.clock.monotonic() - since) / 1000, { action });
  }

  function timeOrders(key: string, { observations, removing = [] }: IntentFindings): void {
    const done = carriedOut.get(key) ?? new Map<string, number>();
    for (const { cluster, status, wantedGeneration } of observations) {
      const before = done.get(cluster);
      if (status?.appliedGeneration !== wantedGeneration || before === wantedGeneration) continue;
      timeOrder(key, before === undefined ? 'create' : 'update');
      done.set(cluster, wantedGeneration);
    }
    const there = new Set([...observations, ...removing].map(({ cluster }) => cluster));
    for (const cluster of done.keys()) {
      if (there.has(cluster)) continue;
      timeOrder(key, 'delete');
      done.delete(cluster);
    }
    carriedOut.set(key, done);
  }

  return {
    finalizer: FEDERATED_FINALIZER,
    selfContained: true,
    get synced() {
      return federation.synced;
    },
    owns: (key) => federation.entry(key.slice(0, key.indexOf('/'))) !== undefined,
    get(key) {
      if (!federation.synced || federation.blind) return undefined;
      const found = find(key);
      const object = found?.entry.watch.get(found.namespace, found.name);
      if (!object) forget(key);
      return object && isSeen(object) ? object : undefined;
    },
    *entries(): Iterable<[string, FederatedObject]> {
      if (!federation.synced || federation.blind) return;
      for (const entry of federation.types())
        for (const object of entry.watch.list())
          if (isSeen(object)) yield [federatedKey(entry, object), object];
    },
    compile(object, reading): Compiled {
      const entry = entryOf(object);
      if (!entry?.type) return heldIntent(object, `no FederatedTypeConfig enables the kind ${object.kind}`);
      const key = federatedKey(entry, object);
      began.set(key, runtime.clock.monotonic());
      if (!federation.preferenceOf(object) && !entry.type.collectsStatus) remote.forget(key);
      const missing = waitingFor(object, entry.type, reading);
      if (missing === undefined) waiting.delete(key);
      else {
        waiting.add(key);
        return heldIntent(object, missing);
      }
      const compiled = compiledBy(object, entry.type, reading);
      last.set(key, compiled);
      warn(key, object, compiled);
      return {
        intent: compiled.intent,
        skipped: [],
        emptySelectors: [],
        problems: compiled.hold === undefined ? [] : [compiled.hold],
        blocked: compiled.blocked,
      };
    },
    concernedBy: () => false,
    author: authorIn,
    releases: ({ metadata }) => isOrphaned(metadata.annotations),
    holdsDeletion(object) {
      const { annotations } = object.metadata;
      const problem = isOrphaned(annotations) ? undefined : deletionOptionsOf(annotations).problem;
      const key = federatedKeyOf(object);
      if (problem !== undefined && awaited.get(key) !== problem) {
        awaited.set(key, problem);
        events.record(
          object,
          'Warning',
          'InvalidDeleteOption',
          `nothing is deleted on clusters until it is corrected or taken away: ${problem}`,
        );
      }
      return problem;
    },
    record: (object) => records.get(recordedSource(object)),
    async writeRecord(object, record): Promise<void> {
      if (record.dispatchGeneration !== undefined)
        orderedAt.set(federatedKeyOf(object), runtime.clock.monotonic());
      try {
        await records.write(recordedSource(object), record);
        unrecorded.delete(federatedKeyOf(object));
      } catch (error) {
        if (isUnanswered(error)) unrecorded.add(federatedKeyOf(object));
        throw error;
      }
    },
    async report(object, findings): Promise<Result | undefined> {
      const entry = entryOf(object);
      if (!entry?.type || !entry.watch.resource) return undefined;
      const key = federatedKey(entry, object);
      try {
        await rememberDecision(records, object, findings);
      } catch (error) {
        // It is told below, and tried again with the next plan.
        if (!isUnanswered(error)) throw error;
        unrecorded.add(key);
      }
      const compiled = last.get(key);
      const isGoing = object.metadata.deletionTimestamp !== undefined;
      if (isGoing) tellOfWaiting(key, object, findings);
      else timeOrders(key, findings);
      // Not yet read is no state to tell of.
      if (!isGoing && waiting.has(key)) return undefined;
      const isHeld = !isGoing && findings.selection.reason === 'InvalidSelector';
      const reason = compiled?.reason || (isHeld ? ('ComputePlacementFailed' as const) : '');
      const status = reportFederated(
        {
          generation: findings.generation,
          target: targetRef(object, entry.type),
          observations: isGoing ? [] : findings.observations,
          removing: isGoing ? findings.observations : (findings.removing ?? []),
          blocked: new Map([...(compiled?.blocked ?? []), ...(findings.blocked ?? [])]),
          reason,
          ...(unrecorded.has(key) && !isGoing ? { unrecorded: findings.decision?.chosen ?? [] } : {}),
          ...remoteStatus(entry, object, findings),
        },
        object.status,
        runtime.clock.now(),
      );
      const again = status === object.status ? undefined : await writeStatus(entry, object, status);
      const since = began.get(key);
      if (since !== undefined) reconciling.observe((runtime.clock.monotonic() - since) / 1000);
      began.delete(key);
      return again;
    },
    async tellUnread(object): Promise<void> {
      const entry = entryOf(object);
      if (!entry?.type || !entry.watch.resource) return;
      const found = {
        generation: object.metadata.generation ?? 0,
        target: targetRef(object, entry.type),
        observations: [],
        reason: 'ClusterRetrievalFailed' as const,
      };
      const status = reportFederated(found, object.status, runtime.clock.now());
      if (status !== object.status) await writeStatus(entry, object, status);
    },
    async setFinalizers(object, finalizers): Promise<void> {
      const resource = entryOf(object)?.watch.resource;
      if (!resource) return;
      await setFinalizers(client, resource, object, finalizers);
      if (!finalizers.includes(FEDERATED_FINALIZER) && object.metadata.deletionTimestamp !== undefined)
        await records.remove(recordedSource(object));
    },
    stop(): void {
      unsubscribe();
    },
  };

  function remoteStatus(
    entry: TypeEntry,
    object: FederatedObject,
    findings: IntentFindings,
  ): Pick<Parameters<typeof reportFederated>[0], 'remote'> {
    if (!entry.type?.collectsStatus || object.metadata.deletionTimestamp !== undefined) return {};
    const gate = federation.settings.featureGates.find(
      ({ name }) => name === 'RawResourceStatusCollection',
    )?.configuration;
    if (gate !== 'Enabled') return {};
    const names = findings.observations.map(({ cluster }) => cluster);
    return { remote: remote.statuses(federatedKey(entry, object), entry.type, object, names) };
  }

  async function writeStatus(
    entry: TypeEntry,
    object: FederatedObject,
    status: FederatedStatus,
  ): Promise<Result | undefined> {
    const { resource, hasStatus } = entry.watch;
    if (!resource) return undefined;
    const { namespace = '', name = '', resourceVersion } = object.metadata;
    const patch = {
      metadata: { resourceVersion },
      status: { ...status, ...(status.clusters === undefined ? { clusters: null } : {}) },
    };
    return optimisticWrite(
      client.patch(resource, namespace, name, 'merge', patch, hasStatus ? { subresource: 'status' } : {}),
    );
  }
}

/** Whether a cluster answers and can be given work, as preferences mean it. One that never did has told no version. */
function isReady({ taints = [], fields }: ClusterFacts): boolean {
  if (fields?.['version'] === undefined) return false;
  return !taints.some(({ key }) => key === UNREACHABLE_TAINT || key === NOT_READY_TAINT);
}

function targetRef({ metadata }: KubeObject, { target }: FederatedType): ObjectRef {
  return {
    apiVersion: formatApiVersion(target.group ?? '', target.version),
    kind: target.kind,
    namespace: target.scope === 'Namespaced' ? (metadata.namespace ?? '') : '',
    name: metadata.name ?? '',
  };
}

/** The API server of the hub is there and does not do what it should. */
function isUnanswered(error: unknown): boolean {
  return error instanceof StatusError && error.code >= 500;
}
