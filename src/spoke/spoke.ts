import type { Cluster } from '../dialects/kubevela/types.ts';
import { DISPATCH, type Dispatch, judgeDispatch, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import { correctionDelay, rememberCorrection } from '../engine/drift/back-off.ts';
import { healthOf } from '../engine/health/health.ts';
import { kindRank } from '../engine/order/kind-rank.ts';
import { render } from '../engine/render/render.ts';
import type { Client } from '../kube/client.ts';
import type { Result } from '../kube/controller.ts';
import { startController } from '../kube/controller-loop.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { Change } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { type KubeObject, refKey, refOf, refText } from '../kube/object.ts';
import { hasCode } from '../kube/status-error.ts';
import { nodes } from '../kube/well-known.ts';
import { formatTime } from '../runtime/clock.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { type Applied, applyOwned, fingerprint } from './apply.ts';
import { type ClusterReport, clusterStatusOf, readCluster, writeClusterStatus } from './cluster-report.ts';
import { ContentMissing, contentStore } from './content.ts';
import {
  contestedMs,
  type Held,
  type LocalState,
  madeBy,
  markComplete,
  newState,
  refusedStatus,
  statusOf,
} from './held.ts';
import { claim, spokeMemory } from './memory.ts';
import { prune } from './prune.ts';
import { managedWatches } from './watches.ts';

export interface SpokeOptions {
  /** The name that the hub knows this cluster by. */
  readonly name: string;
  readonly client: Client;
  /** Version of the engine, for the Cluster object. */
  readonly version: string;
}

export interface Spoke {
  stop(): Promise<void>;
}

const DISPATCHES = resourceIdOf(DISPATCH);
const PARALLEL_APPLIES = 8;
const LONGEST_RETRY_MS = 15_000;
const ANOTHER_HUB_RETRY_MS = 30_000;
const BUNDLE_COLLECTION_MS = 65_000;
/** Keys of the report loop besides names of dispatches (which hold no space). */
const CLUSTER_KEY = ' cluster';
const BUNDLES_KEY = ' bundles';

/**
 * The engine on a spoke. It converges on what was dispatched, from what is in its own API server, and knows nothing of the
 * hub: no address, no credential, no connection. Restarting it, or the hub being away for months, changes nothing.
 */
export async function startSpoke(runtime: Runtime, options: SpokeOptions): Promise<Spoke> {
  const { client, name: spokeName } = options;
  const { clock } = runtime;
  const log = runtime.log.with({ spoke: spokeName });
  const memory = spokeMemory(client);
  const content = contentStore(client);
  const held = new Map<string, Held>();
  /** Which dispatch wants an object, by the object's key. */
  const claimants = new Map<string, string>();
  /** Dispatches of which nothing is held because their first word was refused. */
  const refusals = new Map<string, { reason: string; message: string }>();

  await memory.load();
  const drift = (await readCluster(client, spokeName))?.status?.drift;
  let corrections = drift?.corrections ?? 0;
  let lastCorrection: Record<string, string> | undefined = drift?.last;
  /** Dispatches held before a restart of which nothing is known yet: until then there is nothing to report. */
  const recalling = new Set(memory.names());
  const dispatches = startInformer<Dispatch>(runtime, client, DISPATCHES, { namespace: SYSTEM_NAMESPACE });
  const nodeCopies = startInformer(runtime, client, nodes);
  const watches = managedWatches(runtime, client, onManagedChange);

  const dispatchLoop = startController(runtime, {
    name: 'converge',
    concurrency: 4,
    reconcile: convergeDispatch,
  });
  const objectLoop = startController(runtime, {
    name: 'correct',
    concurrency: PARALLEL_APPLIES,
    reconcile: correctObject,
  });
  const reportLoop = startController(runtime, { name: 'report', reconcile: report });

  dispatches.onChange((change) => {
    const name = change.object.metadata.name ?? '';
    // Our own status writes come back as changes; only a new word of the hub needs work.
    if (change.type === 'updated' && deepEqual(change.object.spec, change.previous?.spec))
      reportLoop.enqueue(name);
    else dispatchLoop.enqueue(name);
  });
  nodeCopies.onChange(() => reportLoop.enqueue(CLUSTER_KEY, 500));
  await Promise.all([dispatches.whenSynced(), nodeCopies.whenSynced()]);
  for (const name of memory.names()) dispatchLoop.enqueue(name);
  reportLoop.enqueue(CLUSTER_KEY);

  async function convergeDispatch(name: string): Promise<Result | void> {
    try {
      return await converge(name, dispatches.get(SYSTEM_NAMESPACE, name));
    } finally {
      recalling.delete(name);
      reportLoop.enqueue(CLUSTER_KEY, 50);
    }
  }

  async function converge(name: string, dispatch: Dispatch | undefined): Promise<Result | void> {
    const known = held.get(name);
    if (!known || known.missing !== undefined) await recall(name, dispatch);
    const retry = await accept(name, dispatch);
    const current = held.get(name);
    if (!current) return retry;
    if (dispatch === undefined && current.accepted.objects.length === 0 && current.owned.size === 0) {
      await memory.forget(name);
      held.delete(name);
      return;
    }
    await applyAll(current);
    await removeOrdered(current);
    const failed = [...current.states.values()].some((state) => state.failure !== undefined);
    const unclear = current.problems.length > 0 || current.missing !== undefined;
    if (failed || unclear || current.pendingRemovals.length > 0) {
      current.complete = false;
      current.attempts += 1;
      reportLoop.enqueue(name);
      return { requeueAfterMs: Math.min(LONGEST_RETRY_MS, 250 * 2 ** Math.min(current.attempts, 10)) };
    }
    markComplete(current, clock.now());
    reportLoop.enqueue(name);
    reportLoop.enqueue(BUNDLES_KEY, BUNDLE_COLLECTION_MS);
    return retry;
  }

  /** Takes a new word of the hub, if it may be taken: remembered durably before anything is done. */
  async function accept(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined> {
    if (!dispatch) return undefined;
    const before = memory.record(name);
    const trust = await memory.trust();
    const verdict = judgeDispatch(spokeName, name, dispatch.spec, trust, before?.accepted);
    if (verdict.verdict === 'refuse') {
      refuse(name, verdict.reason, verdict.message);
      // The owner may hand the spoke over.
      return verdict.reason === 'AnotherHub' ? { requeueAfterMs: ANOTHER_HUB_RETRY_MS } : undefined;
    }
    const current = held.get(name);
    if (current) current.refusal = undefined;
    if (verdict.verdict === 'known') return undefined;
    let objects: readonly KubeObject[];
    try {
      objects = await content.objects(dispatch.spec);
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      refuse(name, 'ContentMissing', error.message);
      return { requeueAfterMs: 2_000 };
    }
    const { lineage } = dispatch.spec.position;
    if (trust === undefined) await memory.pin({ lineage, publicKey: dispatch.spec.publicKey });
    const owned = claim(current?.owned.values() ?? before?.owned ?? [], dispatch.spec);
    await memory.save(name, { accepted: dispatch.spec, owned });
    log.info('accepted a dispatch', {
      dispatch: name,
      generation: dispatch.spec.position.generation,
      objects: objects.length,
    });
    hold(name, dispatch, objects);
    return undefined;
  }

  function refuse(name: string, reason: string, message: string): void {
    const current = held.get(name);
    if ((current?.refusal ?? refusals.get(name))?.message !== message)
      log.warn('refused a dispatch', { dispatch: name, reason, why: message });
    if (current) current.refusal = { reason, message };
    else refusals.set(name, { reason, message });
    reportLoop.enqueue(name);
  }

  /** After a restart: what was accepted before is held again, from the spoke's own API server. */
  async function recall(name: string, dispatch: Dispatch | undefined): Promise<void> {
    const record = memory.record(name);
    if (!record) return;
    try {
      hold(name, dispatch, await content.objects(record.accepted));
    } catch (error) {
      if (!(error instanceof ContentMissing)) throw error;
      hold(name, dispatch, [], error.message);
    }
  }

  function hold(
    name: string,
    dispatch: Dispatch | undefined,
    objects: readonly KubeObject[],
    missing?: string,
  ): void {
    const record = memory.record(name);
    if (!record) return;
    const rendered = render(objects, record.accepted.patches);
    const before = held.get(name);
    const wanted = new Map(rendered.objects.map((object) => [refKey(refOf(object)), object]));
    const states = new Map<string, LocalState>();
    for (const [key, object] of wanted) states.set(key, before?.states.get(key) ?? newState(refOf(object)));
    // Generations of another epoch say nothing about this one.
    const { epoch } = record.accepted.position;
    const applied = [before && { ...before, position: before.accepted.position }, dispatch?.status].find(
      (known) => known?.position?.epoch === epoch,
    );
    const next: Held = {
      name,
      accepted: record.accepted,
      owned: new Map(record.owned.map((object) => [refKey(object.ref), object])),
      wanted,
      problems: rendered.problems,
      missing,
      refusal: undefined,
      states,
      pendingRemovals: [],
      removed: [],
      complete: false,
      appliedGeneration: applied?.appliedGeneration,
      appliedAt: applied?.appliedAt,
      attempts: missing === undefined ? 0 : (before?.attempts ?? 0),
    };
    held.set(name, next);
    refusals.delete(name);
    for (const key of before?.wanted.keys() ?? [])
      if (claimants.get(key) === name && !wanted.has(key)) passOn(key);
    for (const key of wanted.keys()) {
      const claimant = claimants.get(key);
      if (claimant === undefined || (madeBy(next, key) && !madeBy(held.get(claimant), key)))
        claimants.set(key, name);
    }
  }

  /** An object that its claimant no longer wants belongs to the next that does. */
  function passOn(key: string): void {
    claimants.delete(key);
    for (const other of held.values()) {
      if (!other.wanted.has(key)) continue;
      claimants.set(key, other.name);
      dispatchLoop.enqueue(other.name);
      return;
    }
  }

  async function applyAll(current: Held): Promise<void> {
    const entries = [...current.wanted].sort(([, a], [, b]) => kindRank(a.kind) - kindRank(b.kind));
    for (let start = 0; start < entries.length; ) {
      const rank = kindRank(entries[start]?.[1].kind ?? '');
      let end = start;
      while (
        end < entries.length &&
        end - start < PARALLEL_APPLIES &&
        kindRank(entries[end]?.[1].kind ?? '') === rank
      )
        end += 1;
      await Promise.all(entries.slice(start, end).map(([key]) => applyOne(current, key)));
      start = end;
    }
    await rememberUids(current);
  }

  /** Brings one object to what it shall be. Writes nothing where it is so already. */
  async function applyOne(current: Held, key: string): Promise<void> {
    const object = current.wanted.get(key);
    const state = current.states.get(key);
    if (!object || !state) return;
    const claimant = claimants.get(key);
    if (claimant !== undefined && claimant !== current.name) {
      state.failure = {
        reason: 'Claimed',
        message: `it is claimed by dispatch ${claimant} as well; select it in one propagation only`,
      };
      return;
    }
    try {
      // First, so that nothing that happens after the apply is missed.
      await watches.watch(state.ref);
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
    state.applying += 1;
    const result = await applyOwned(client, current.name, object, current.owned.get(key)?.uid ?? '');
    state.applying -= 1;
    // A newer word of the hub came meanwhile: it is not this apply that says how the object shall be.
    if (held.get(current.name) === current) take(current, key, state, result);
    const { seen } = state;
    if (seen === undefined || state.applying > 0) return;
    state.seen = undefined;
    onManagedChange(seen);
  }

  function take(current: Held, key: string, state: LocalState, result: Applied): void {
    if (result.outcome === 'failed') {
      if (state.failure?.message !== result.message)
        log.warn('could not apply', {
          object: refText(state.ref),
          reason: result.reason,
          why: result.message,
        });
      state.failure = { reason: result.reason, message: result.message };
      return;
    }
    const { live } = result;
    state.failure = undefined;
    state.fingerprint = fingerprint(live);
    state.seenFingerprint = state.fingerprint;
    state.revision = revisionOf(live);
    state.health = healthOf(live);
    const owned = current.owned.get(key);
    const uid = live.metadata.uid ?? '';
    if (owned && owned.uid !== uid) current.owned.set(key, { ...owned, uid });
  }

  /** Writes down what was made, unless a newer word was accepted meanwhile: then that has the say. */
  async function rememberUids(current: Held): Promise<void> {
    if (held.get(current.name) !== current) return;
    const owned = [...current.owned.values()];
    if (!deepEqual(memory.record(current.name)?.owned, owned))
      await memory.save(current.name, { accepted: current.accepted, owned });
  }

  async function removeOrdered(current: Held): Promise<void> {
    const removed = new Set(current.removed.map(refKey));
    const open = current.accepted.tombstones.filter((tombstone) => !removed.has(refKey(tombstone.ref)));
    if (open.length === 0) return;
    const { done, pending } = await prune(client, current.name, open, current.owned);
    current.pendingRemovals = pending;
    if (done.length === 0) return;
    current.removed = [...current.removed, ...done];
    for (const ref of done) current.owned.delete(refKey(ref));
    await rememberUids(current);
    log.info('removed by order', { dispatch: current.name, objects: done.map(refText) });
  }

  function onManagedChange(change: Change): void {
    const key = refKey(refOf(change.object));
    const name = claimants.get(key);
    const current = name === undefined ? undefined : held.get(name);
    const state = current?.states.get(key);
    if (change.type === 'deleted')
      for (const other of held.values())
        if (other.pendingRemovals.some(({ ref }) => refKey(ref) === key)) dispatchLoop.enqueue(other.name);
    if (!current || !state) return;
    if (state.applying > 0) {
      state.seen = change;
      return;
    }
    if (change.type !== 'deleted') {
      observe(state, change.object);
      return;
    }
    // Told late: the object is there again since.
    const uid = current.owned.get(key)?.uid;
    if (state.fingerprint !== '' && uid !== change.object.metadata.uid) return;
    state.fingerprint = '';
    state.seenFingerprint = '';
    state.health = {
      state: 'Progressing',
      reason: 'Missing',
      message: 'it was deleted on the cluster and comes back',
    };
    correct(current.name, key, state);
  }

  /** A read of an object that is newer than our last apply: drift is corrected, health is reported. */
  function observe(state: LocalState, object: KubeObject): void {
    const name = claimants.get(refKey(state.ref));
    if (name === undefined || revisionOf(object) < state.revision) return;
    const health = healthOf(object);
    if (!deepEqual(health, state.health)) {
      state.health = health;
      reportLoop.enqueue(name, 30);
      reportLoop.enqueue(CLUSTER_KEY, 100);
    }
    state.seenFingerprint = fingerprint(object);
    if (state.seenFingerprint !== state.fingerprint) correct(name, refKey(state.ref), state);
  }

  function correct(name: string, key: string, state: LocalState): void {
    objectLoop.enqueue(`${name}\n${key}`, correctionDelay(state.corrections, clock.now()));
  }

  async function correctObject(id: string): Promise<Result | void> {
    const [name = '', key = ''] = id.split('\n');
    const current = held.get(name);
    const state = current?.states.get(key);
    if (!current || !state) return;
    const { revision, seenFingerprint, failure } = state;
    await applyOne(current, key);
    await rememberUids(current);
    if (failure !== undefined && state.failure === undefined) dispatchLoop.enqueue(name);
    // What others change besides is no drift, and applying it changes nothing.
    if (state.failure === undefined && revision > 0 && state.fingerprint !== seenFingerprint) {
      state.corrections = rememberCorrection(state.corrections, clock.now());
      corrections += 1;
      lastCorrection = { object: refText(state.ref), at: formatTime(clock.now()) };
      log.info('corrected drift', { object: refText(state.ref) });
      reportLoop.enqueue(CLUSTER_KEY, 100);
    }
    reportLoop.enqueue(name, 30);
    if (state.failure !== undefined)
      return { requeueAfterMs: Math.max(500, correctionDelay(state.corrections, clock.now())) };
  }

  async function report(key: string): Promise<Result | void> {
    if (key === CLUSTER_KEY) return reportCluster();
    if (key === BUNDLES_KEY) return collectBundles();
    const dispatch = dispatches.get(SYSTEM_NAMESPACE, key);
    if (!dispatch) return;
    const current = held.get(key);
    const refusal = refusals.get(key);
    const status = current
      ? statusOf(current, dispatch.status, clock.now())
      : refusal
        ? refusedStatus(dispatch.status, refusal, clock.now())
        : undefined;
    if (status === undefined) return;
    try {
      if (!deepEqual(status, dispatch.status))
        await client.update(DISPATCHES, { ...dispatch, status }, { subresource: 'status' });
    } catch (error) {
      if (hasCode(error, 404)) return;
      // The hub wrote in between: the informer brings its word, and the report is made again from it.
      if (hasCode(error, 409)) return { requeueAfterMs: 20 };
      throw error;
    }
    const requeueAfterMs = current && contestedMs(current, clock.now());
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  async function reportCluster(): Promise<void> {
    if (recalling.size > 0) return;
    const version = await client.getJson<{ gitVersion?: string }>('/version');
    const reportNow: ClusterReport = {
      name: spokeName,
      engine: options.version,
      gitVersion: version.gitVersion ?? '',
      nodes: nodeCopies.list(),
      dispatches: dispatches.list(SYSTEM_NAMESPACE),
      held: [...held.values()],
      corrections,
      lastCorrection,
    };
    await writeClusterStatus(client, spokeName, (previous: Cluster['status']) =>
      clusterStatusOf(reportNow, previous, clock.now()),
    );
  }

  async function collectBundles(): Promise<void> {
    const inUse = new Set<string>();
    for (const dispatch of dispatches.list(SYSTEM_NAMESPACE))
      for (const bundle of dispatch.spec.bundles) inUse.add(bundle);
    for (const name of memory.names())
      for (const bundle of memory.record(name)?.accepted.bundles ?? []) inUse.add(bundle);
    await content.collect(inUse, clock.now());
  }

  /** resourceVersions of one API server grow; they tell which of two reads is newer. */
  function revisionOf(object: KubeObject): number {
    return Number(object.metadata.resourceVersion ?? 0);
  }

  return {
    async stop(): Promise<void> {
      dispatches.stop();
      nodeCopies.stop();
      watches.stop();
      await Promise.all([dispatchLoop.stop(), objectLoop.stop(), reportLoop.stop()]);
    },
  };
}
