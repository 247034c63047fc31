import { DISPATCH, type Dispatch, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import type { Client } from '../kube/client.ts';
import type { Result } from '../kube/controller.ts';
import { startController } from '../kube/controller-loop.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { ignoring } from '../kube/status-error.ts';
import { nodes } from '../kube/well-known.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { createAutoscalers } from './autoscalers.ts';
import { readCluster } from './cluster-report.ts';
import { contentStore } from './content.ts';
import { contractWait, followContracts } from './contract/index.ts';
import { createConvergence } from './converge.ts';
import { createDriftWatch, type DriftWatch } from './drift.ts';
import { type Held, markComplete } from './held.ts';
import { createHoldings } from './holdings.ts';
import { judgeAgain } from './judge.ts';
import { ownFacts } from './local-facts.ts';
import { removalOfLostMs } from './lost.ts';
import { spokeMemory } from './memory.ts';
import { createOwnership } from './ownership.ts';
import { followProperties } from './properties.ts';
import { createReporter } from './report.ts';
import { followRules } from './rules.ts';
import { watchTrust } from './trust.ts';
import { managedWatches } from './watches.ts';

export interface SpokeOptions {
  /** The name that the hub knows this cluster by. */
  readonly name: string;
  readonly client: Client;
  /** Version of the engine, for the Cluster object. */
  readonly version: string;
  /** Whether the spoke's hub was pinned when it joined. Otherwise the first hub that orders something is the spoke's. */
  readonly pinned?: boolean;
}

export interface Spoke {
  stop(): Promise<void>;
}

const LONGEST_RETRY_MS = 15_000;
const LOST_RETRY_MS = 5_000;
const BUNDLE_COLLECTION_MS = 65_000;
/** Changes that come close together become one report. */
const REPORT_MS = 30;
const CLUSTER_REPORT_MS = 50;
/** What a cluster says of itself names each dispatch, so news is gathered the longer the more there are. */
const CLUSTER_REPORT_PER_DISPATCH_MS = 4;
const LONGEST_CLUSTER_REPORT_MS = 5_000;
/** Keys of the report loop besides names of dispatches (which hold no space). */
const CLUSTER_KEY = ' cluster';
const BUNDLES_KEY = ' bundles';
const FACTS_KEY = ' facts';
const FIRST_FACTS_KEY = ' first facts';
/** Changes of what the cluster says of itself that come close together are one. */
const FACTS_MS = 100;

/**
 * The engine on a spoke. It converges on what was dispatched, from what is in its own API server, and knows nothing of the
 * hub: no address, no credential, no connection. Restarting it, or the hub being away for months, changes nothing.
 *
 * Three loops: one brings each dispatch to the cluster (`holdings`, `converge`), one corrects single objects (`drift`), one
 * tells how things are (`report`). Its kinds must be served already.
 */
export async function startSpoke(runtime: Runtime, options: SpokeOptions): Promise<Spoke> {
  const { client, name: spoke } = options;
  const { clock } = runtime;
  const log = runtime.log.with({ spoke });
  const memory = spokeMemory(client);
  const content = contentStore(client);
  await memory.load();
  /** Dispatches held before a restart of which nothing is known yet: until then there is nothing to report. */
  const recalling = new Set(memory.names());
  /** Dispatches that are lost and whose objects are being removed. */
  const parting = new Set<string>();
  const before = (await readCluster(client, spoke))?.status?.drift;
  const firstFacts = Promise.withResolvers<void>();
  /** Whether all is known that decides on orders: no order is looked at before, so that none gets by a contract. */
  let isReady = false;

  const dispatchLoop = startController(runtime, { name: 'converge', concurrency: 4, reconcile: converge });
  const objectLoop = startController(runtime, {
    name: 'correct',
    concurrency: 8,
    reconcile: (id) => drift.correct(id),
  });
  const reportLoop = startController(runtime, { name: 'report', reconcile: report });

  const dispatches = startInformer<Dispatch>(runtime, client, resourceIdOf(DISPATCH), {
    namespace: SYSTEM_NAMESPACE,
  });
  const nodeCopies = startInformer(runtime, client, nodes);
  const watches = managedWatches(runtime, client, (change) => drift.onChange(change));
  const rules = followRules(runtime, client, (kind) => {
    for (const { dispatch, id } of judgeAgain(holdings, watches, rules, kind)) {
      if (id !== undefined) objectLoop.enqueue(id);
      reportLoop.enqueue(dispatch, REPORT_MS);
    }
  });
  const contracts = followContracts(runtime, client, () => {
    convergeAll();
    reportClusterSoon();
  });
  const autoscalers = createAutoscalers(runtime, client, (key) => {
    const claimant = holdings.claims.claimant(key);
    if (claimant !== undefined && holdings.get(claimant)?.states.get(key)?.settled)
      objectLoop.enqueue(`${claimant}\n${key}`);
  });
  const holdings = createHoldings({
    spoke,
    clock,
    log,
    memory,
    content,
    pinned: options.pinned ?? false,
    facts: () => facts.current(),
    holding: contracts.holding,
    onMoved: (name) => dispatchLoop.enqueue(name),
    onRefused: (name) => reportLoop.enqueue(name),
  });
  const ownership = createOwnership({
    log,
    memory,
    holdings,
    ordered: () => dispatches.list(SYSTEM_NAMESPACE),
    onGiven: (name) => dispatchLoop.enqueue(name),
  });
  const convergence = createConvergence({
    client,
    clock,
    log,
    memory,
    holdings,
    ownership,
    watches,
    autoscalers,
    rules,
    contracts,
    onSeen: (change) => drift.onChange(change),
    onShared: (name) => dispatchLoop.enqueue(name),
    onProvided: provided,
    onDue: (name, key, delayMs) => objectLoop.enqueue(`${name}\n${key}`, delayMs),
  });
  const drift: DriftWatch = createDriftWatch(runtime, {
    holdings,
    before,
    rules,
    onProvided: provided,
    convergence: () => convergence,
    askToCorrect: (id, delayMs) => objectLoop.enqueue(id, delayMs),
    askToConverge: (name) => dispatchLoop.enqueue(name),
    onHealth(name) {
      reportLoop.enqueue(name, REPORT_MS);
      reportClusterSoon();
    },
    onCorrected: () => reportClusterSoon(),
  });
  const properties = followProperties(runtime, client, () => {
    reportClusterSoon();
    reportLoop.enqueue(FACTS_KEY, FACTS_MS);
  });
  const facts = ownFacts({
    client,
    name: spoke,
    nodes: () => nodeCopies.list(),
    properties: properties.current,
  });
  const reporter = createReporter({
    client,
    clock,
    spoke,
    engine: options.version,
    holdings,
    dispatches,
    nodes: nodeCopies,
    drift: drift.record,
    contract: contracts.digest,
    properties: properties.current,
  });

  dispatches.onChange(({ type, object, previous }) => {
    const name = object.metadata.name ?? '';
    // Our own status writes come back as changes; only a new word of the hub needs work.
    const onlyStatus = type === 'updated' && deepEqual(object.spec, previous?.spec);
    if (onlyStatus) reportLoop.enqueue(name);
    else if (isReady) dispatchLoop.enqueue(name);
  });
  const stopTrust = watchTrust(runtime, client, convergeAll);
  nodeCopies.onChange(() => {
    reportLoop.enqueue(CLUSTER_KEY, 500);
    reportLoop.enqueue(FACTS_KEY, 500);
  });
  await Promise.all([
    dispatches.whenSynced(),
    nodeCopies.whenSynced(),
    rules.whenSynced(),
    contracts.whenSynced(),
  ]);
  // Tried again until it comes off: what has been started here must not be started twice.
  reportLoop.enqueue(FIRST_FACTS_KEY);
  await firstFacts.promise;
  isReady = true;
  convergeAll();
  reportLoop.enqueue(CLUSTER_KEY);

  function reportClusterSoon(): void {
    const gatherMs = CLUSTER_REPORT_MS + holdings.size * CLUSTER_REPORT_PER_DISPATCH_MS;
    reportLoop.enqueue(CLUSTER_KEY, Math.min(LONGEST_CLUSTER_REPORT_MS, gatherMs));
  }

  function convergeAll(): void {
    if (!isReady) return;
    const ordered = dispatches.list(SYSTEM_NAMESPACE).map(({ metadata }) => metadata.name ?? '');
    for (const name of new Set([...ordered, ...memory.names()])) dispatchLoop.enqueue(name);
  }

  /** What waits for a kind is tried at once when it is served. */
  function provided(): void {
    for (const { name, states } of holdings.all())
      if ([...states.values()].some(({ waiting }) => waiting !== undefined)) dispatchLoop.enqueue(name);
  }

  async function converge(name: string): Promise<Result | undefined> {
    try {
      return await convergeOn(name, dispatches.get(SYSTEM_NAMESPACE, name));
    } finally {
      if (recalling.delete(name)) reportLoop.enqueue(name);
      reportClusterSoon();
    }
  }

  async function convergeOn(name: string, dispatch: Dispatch | undefined): Promise<Result | undefined> {
    const known = holdings.get(name);
    if (!known || known.missing !== undefined || holdings.outdated(name) || parting.delete(name))
      await holdings.recall(name, dispatch);
    const retry = await holdings.accept(name, dispatch);
    const current = holdings.get(name);
    if (!current) return retry;
    if (dispatch === undefined && current.accepted.objects.length === 0 && current.owned.size === 0) {
      await holdings.forget(name);
      return undefined;
    }
    const isLost = dispatch === undefined || holdings.isOfAnotherHub(name);
    const lostMs = await removalOfLostMs({ clock, memory }, current, isLost);
    if (lostMs === 0) return removeLost(name, current, dispatch);
    const done = await convergence.carryOut(current);
    reportLoop.enqueue(name);
    if (!done) {
      current.complete = false;
      const wait = contractWait(current, clock.now());
      if (wait !== undefined) return wait === 'never' ? retry : { requeueAfterMs: wait };
      current.attempts += 1;
      return { requeueAfterMs: Math.min(LONGEST_RETRY_MS, 50 * 2 ** Math.min(current.attempts, 10)) };
    }
    markComplete(current, clock.now());
    reportLoop.enqueue(BUNDLES_KEY, BUNDLE_COLLECTION_MS);
    if (lostMs !== undefined) dispatchLoop.enqueue(name, lostMs);
    if (ownership.isOver(current)) await retire(name, dispatch);
    else for (const other of holdings.all()) if (ownership.isOver(other)) dispatchLoop.enqueue(other.name);
    return retry;
  }

  /** An order is lost for as long as it allowed: what it made goes. */
  async function removeLost(
    name: string,
    current: Held,
    dispatch: Dispatch | undefined,
  ): Promise<Result | undefined> {
    holdings.letGo(name);
    if (!(await convergence.removeAll(current, 'its order is lost'))) {
      // Should the order come back before all is gone, it is held anew.
      parting.add(name);
      return { requeueAfterMs: LOST_RETRY_MS };
    }
    log.info('removed what a lost order made', { dispatch: name });
    await retire(name, dispatch);
    return undefined;
  }

  /** An order of a hub before of which nothing is left to keep. */
  async function retire(name: string, dispatch: Dispatch | undefined): Promise<void> {
    const { uid = '' } = dispatch?.metadata ?? {};
    if (dispatch)
      await ignoring(
        [404, 409],
        client.delete(resourceIdOf(DISPATCH), SYSTEM_NAMESPACE, name, { preconditions: { uid } }),
      );
    await holdings.forget(name);
    log.info('an order of the hub before is over', { dispatch: name });
  }

  async function report(key: string): Promise<Result | undefined> {
    if (key === BUNDLES_KEY) await collectBundles();
    else if (key === FACTS_KEY) await lookAtFacts();
    else if (key === FIRST_FACTS_KEY) {
      await facts.refresh();
      firstFacts.resolve();
    } else if (key === CLUSTER_KEY) {
      if (recalling.size === 0) await reporter.cluster();
    }
    // Until it was looked at after a restart, what was told before is all that is known.
    else if (!recalling.has(key)) return reporter.dispatch(key);
    return undefined;
  }

  /** Values that depend on the cluster are computed anew where it is another one now. */
  async function lookAtFacts(): Promise<void> {
    if (!(await facts.refresh())) return;
    for (const { name } of holdings.all()) if (holdings.outdated(name)) dispatchLoop.enqueue(name);
  }

  async function collectBundles(): Promise<void> {
    const inUse = new Set<string>();
    for (const dispatch of dispatches.list(SYSTEM_NAMESPACE))
      for (const bundle of dispatch.spec.bundles) inUse.add(bundle);
    for (const name of memory.names())
      for (const bundle of memory.record(name)?.accepted.bundles ?? []) inUse.add(bundle);
    await content.collect(inUse, clock.now());
  }

  return {
    async stop(): Promise<void> {
      dispatches.stop();
      stopTrust();
      nodeCopies.stop();
      watches.stop();
      rules.stop();
      contracts.stop();
      properties.stop();
      autoscalers.stop();
      await Promise.all([dispatchLoop.stop(), objectLoop.stop(), reportLoop.stop()]);
    },
  };
}
