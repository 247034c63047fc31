import type { Client } from '../../kube/client.ts';
import { startController } from '../../kube/controller-loop.ts';
import type { Informer } from '../../kube/informer.ts';
import type { Timer } from '../../runtime/clock.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { parseQuantity, quantityNumber } from '../../schema/quantity.ts';
import { readingRights } from '../author/index.ts';
import { foreseenRefusals, spokeContracts } from '../contract/index.ts';
import { createByteBudget } from '../dispatch/byte-budget.ts';
import { createDispatcher, isObjectedTo } from '../dispatch/dispatcher.ts';
import type { HubIdentity } from '../dispatch/identity.ts';
import { createLanes } from '../dispatch/lanes.ts';
import type { Fleet, FleetChange } from '../fleet.ts';
import { type Dialects, openIntents } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import type { HubMode } from '../mode.ts';
import { followOverridePolicies } from '../overrides/index.ts';
import { followPlacementPolicies, type SchedulerPlugin } from '../placement/index.ts';
import type { PoliciesInForce } from '../policies/index.ts';
import { type Measure, startRollouts } from '../rollouts/index.ts';
import { createStatusReflector, followResourceRules } from '../status/index.ts';
import { createClusterBudget } from './cluster-budget.ts';
import { createClusterPatches } from './cluster-patches.ts';
import { createConcerned } from './concerned.ts';
import { createDeciding } from './deciding.ts';
import { createDispatching } from './dispatching.ts';
import { inTurns } from './in-turns.ts';
import { createMeeting } from './meeting.ts';
import { createPasses } from './passes.ts';
import { createPlanning } from './planning.ts';
import { startRebalances } from './rebalances.ts';
import { createReporter } from './report.ts';
import { openRetractions } from './retractions.ts';
import { createRollingOut } from './rolling-out.ts';
import { createSources } from './sources.ts';
import { createTakingBack } from './taking-back.ts';
import { isChosen, RETRACTION_KEY, ROLLOUT_KEY, type Tracked, trackedTable } from './tracked.ts';

export interface Propagator {
  stop(): Promise<void>;
}

export interface PropagatorOptions {
  readonly client: Client;
  readonly identity: HubIdentity;
  readonly fleet: Fleet;
  readonly inventory: Inventory;
  readonly mode: HubMode;
  readonly policies: PoliciesInForce;
  readonly definitions: Informer;
  readonly dialects: Dialects;
  readonly plugins: readonly SchedulerPlugin[];
  readonly measure: Measure;
  /** Whether the hub's API server tells who wrote an override policy. */
  readonly overridesAuthored: boolean;
}

/** Changes that come close together become one dispatch. */
const GATHER_MS = 15;
const REPORT_MS = 40;
/** A report looks at each cluster of its intent, so news of an intent is gathered the longer the more clusters it has. */
const REPORT_PER_CLUSTER_MS = 3;
const LONGEST_REPORT_MS = 2_000;
/** The orders of a spoke are looked through once for a burst of them. */
const MEETING_MS = 100;
/** They mostly wait. */
const MEETINGS = 512;
/** A look at a rollout looks at all of its clusters: what many of them say at once is one look. */
const LOOK_MS = 50;
const RETRY_MS = 100;
const UNREAD_MS = 5_000;
const LONGEST_WAIT_MS = 3_600_000;
/** What cannot be planned is tried again after a second at first, and every ten in the end. */
const BACKOFF = { baseMs: 1_000, maxMs: 10_000 };

/**
 * Carries the intents of all dialects to the fleet: plan, dispatch the newest plan to every chosen cluster, sum up what the
 * clusters report. Level-triggered throughout: a spoke that was away gets the state of now, not a replay.
 */
export function startPropagator(runtime: Runtime, options: PropagatorOptions): Propagator {
  const { client, identity, fleet, inventory, mode, policies, definitions, dialects } = options;
  const { plugins, measure, overridesAuthored } = options;
  const epoch = (): number => mode.epoch;
  let stopped = false;
  const tracked = trackedTable();
  /** Intents that were changed, or whose objects were, since they were planned last. */
  const changed = new Set<string>();
  const intents = openIntents(runtime, client, dialects, (key, left) => {
    if (left) passes.leave(key, left);
    deciding.touch(key);
    concerned.touch(key);
    if (intents.synced) changed.add(key);
    planLoop.enqueue(key, GATHER_MS);
  });
  const concerned = createConcerned(
    () => intents,
    (key) => tracked.get(key)?.compiled,
  );
  const retractions = openRetractions(runtime, client, (name) => planLoop.enqueue(RETRACTION_KEY + name));
  const sources = createSources(
    runtime,
    client,
    (change, readers) => {
      for (const key of concerned.by(change, readers)) {
        changed.add(key);
        planLoop.enqueue(key, GATHER_MS);
      }
    },
    (readers) => {
      for (const key of readers) planLoop.enqueue(key);
    },
  );
  const contracts = spokeContracts(runtime, fleet, (spoke) => {
    for (const item of tracked.onSpoke(spoke)) reportSoon(item.key);
  });
  const rights = readingRights(client, runtime.clock);
  const rollouts = startRollouts(runtime, {
    client,
    believed: policies.authors !== 'unknown',
    measure,
    onAction: (key) => planLoop.enqueue(ROLLOUT_KEY + key),
  });
  const rollingOut = createRollingOut({
    rollouts,
    fleet,
    inventory,
    policies,
    rights,
    tracked,
    epoch,
    onDue(key, atMs): void {
      const waitMs = Math.max(GATHER_MS, atMs - runtime.clock.now());
      planLoop.enqueue(ROLLOUT_KEY + key, Math.min(LONGEST_WAIT_MS, waitMs));
    },
  });
  const placementPolicies = followPlacementPolicies(runtime, client, () => planAll(GATHER_MS));
  const deciding = createDeciding(runtime, {
    fleet,
    intents,
    inventory,
    placementPolicies,
    plugins,
    sources,
    tracked,
    isChanged: (key) => changed.has(key),
    isObserving: () => mode.observing !== undefined,
    onChange: (key) => planLoop.enqueue(key, GATHER_MS),
    onLook: (key) => reportSoon(key),
  });
  const overridePolicies = followOverridePolicies(runtime, overridesAuthored, {
    client,
    onChange(means): void {
      for (const item of tracked.values())
        if (item.compiled?.intent.objects.some(means)) planLoop.enqueue(item.key, GATHER_MS);
    },
  });
  const planning = createPlanning({
    clock: runtime.clock,
    deciding,
    fleet,
    inventory,
    overridePolicies,
    policies,
    rights,
    rollingOut,
    sources,
    tracked,
  });
  const rebalances = startRebalances(runtime, {
    client,
    sendersOf: tracked.sendersOf,
    anew: deciding.anew,
    isAnew: deciding.isAnew,
  });
  const clusterBudget = createClusterBudget({ inventory, isMoved: deciding.isMoved });
  const clusterPatches = createClusterPatches({ intents, inventory });
  inventory.askPatches(clusterPatches.of);
  const takingBack = createTakingBack({ inventory, retractions, tracked });
  const dispatcher = createDispatcher(
    runtime,
    identity,
    epoch,
    async (ref) => !deciding.isHandedOn(ref) && sources.exists(ref),
    createByteBudget(runtime.clock, (spoke) => {
      const size = parseQuantity(inventory.get(spoke)?.spec.bytesPerHour);
      return size && quantityNumber(size);
    }),
  );
  const meeting = createMeeting({
    identity,
    dispatcher,
    epoch,
    fleet,
    mode,
    intents,
    retractions,
    tracked,
    remembers: dialects.records.has,
    onFound: (key) => planLoop.enqueue(key),
  });
  const planLoop = startController(runtime, {
    name: 'propagate',
    concurrency: 4,
    backoff: BACKOFF,
    priorityOf,
    reconcile: inTurns(runtime.clock, (key) => {
      changed.delete(key);
      return passes.over(key);
    }),
  });
  // A look at what a spoke keeps waits for its answer: one that does not answer must not hold up what is planned for others.
  const meetings = startController(runtime, {
    name: 'meet',
    concurrency: MEETINGS,
    backoff: BACKOFF,
    reconcile: inTurns(runtime.clock, meeting),
  });
  const dispatching = createDispatching({
    clusterBudget,
    epoch,
    heldBack: deciding.heldBack,
    dispatcher,
    fleet,
    intents,
    inventory,
    mode,
    tracked,
    onNews(key): void {
      reportSoon(key);
      if (tracked.get(key)?.orders) planLoop.enqueue(ROLLOUT_KEY + key, LOOK_MS);
    },
    onClaim: (spoke) => inventory.recheck(spoke),
    onGone(item, spoke): void {
      if (item.retracting) planLoop.enqueue(item.key);
      if (inventory.leaving(spoke) !== undefined) inventory.recheck(spoke);
      reportSoon(item.key);
    },
  });
  inventory.askClaim(dispatching.claimOf);
  const lanes = createLanes(runtime, 'dispatch', dispatching.bring);
  const refusals = foreseenRefusals(contracts);
  const rules = followResourceRules(runtime, client);
  const statuses = createStatusReflector({
    client,
    clock: runtime.clock,
    log: runtime.log,
    rule: (object) => rules.of(object)?.aggregate,
  });
  const passes = createPasses({
    clusterPatches,
    deciding,
    intents,
    inventory,
    mode,
    overridePolicies,
    placementPolicies,
    planning,
    rollingOut,
    rollouts,
    statuses,
    takingBack,
    tracked,
    onOrders: send,
    onOrder: (spoke, key) => lanes.enqueue(spoke, key),
    onHandedOver: (dispatch) => planLoop.enqueue(RETRACTION_KEY + dispatch),
    onNews: reportSoon,
    onFailed: (key) => reportLoop.enqueue(key, REPORT_MS),
  });
  const reportLoop = startController(runtime, {
    name: 'summarise',
    concurrency: 4,
    reconcile: inTurns(
      runtime.clock,
      createReporter({
        clock: runtime.clock,
        clusterBudget,
        inventory,
        intents,
        tracked,
        fleet,
        mode,
        refusals,
        rollouts,
        statuses,
        epoch,
        onSeen: deciding.seen,
        wanted: deciding.wanted,
      }),
    ),
  });

  mode.onChange(resume);
  definitions.onChange(({ type }) => {
    if (type === 'updated') return;
    sources.retryUnknown();
    planAll(RETRY_MS);
  });
  // Before all intents were looked at, nobody knows.
  inventory.askHolder((name) => {
    for (const key of intents.keys()) if (!tracked.has(key)) return true;
    return [...tracked.onSpoke(name)].length > 0 || !intents.synced;
  });
  inventory.onChange((only) => {
    lanes.keep((spoke) => inventory.has(spoke));
    dispatching.keep((spoke) => inventory.has(spoke));
    deciding.fleetChanged(only === undefined);
    if (only) for (const key of clusterPatches.keysOf(only)) planLoop.enqueue(key, GATHER_MS);
    else planAll(GATHER_MS);
  });
  fleet.onChange(onFleetChange);
  let unread: Timer | undefined;
  void inventory.whenTried().then(tellUnread);

  /** While it cannot be read which clusters there are nothing is decided, and everybody is told. */
  function tellUnread(): void {
    if (inventory.unread === undefined || stopped) return;
    planAll(0);
    unread = runtime.clock.after(UNREAD_MS, tellUnread);
  }

  /** After a person confirmed: the hub's word is a new one, for every spoke. */
  function resume(): void {
    deciding.resume();
    for (const item of tracked.values()) send(item);
    // Orders that were met meanwhile were not looked through.
    for (const spoke of fleet.names()) meetings.enqueue(spoke);
    planAll(0);
  }

  /** Brings what stands now to every spoke that may have something of it, and tells of it. */
  function send(item: Tracked): void {
    for (const spoke of item.dispatchedTo) bring(spoke, item);
    reportSoon(item.key);
  }

  /** What is new comes before looks at what should stand, of which there are many when a hub or a spoke comes back. */
  function bring(spoke: string, item: Tracked): void {
    // It is brought when the spoke is seen, and when it is known what it is to have.
    if (fleet.session(spoke)?.live !== true || (!item.plan && !item.retracting)) return;
    if (dispatching.isLikelyThere(item, spoke)) lanes.enqueueLater(spoke, item.key);
    else lanes.enqueue(spoke, item.key);
  }

  function reportSoon(key: string): void {
    const clusters = tracked.get(key)?.dispatchedTo.size ?? 0;
    reportLoop.enqueue(key, Math.min(LONGEST_REPORT_MS, REPORT_MS + clusters * REPORT_PER_CLUSTER_MS));
  }

  /**
   * Of many intents that wait the more important ones are planned first, and so are looks at their rollouts. Of the equally
   * important, those that were changed come before those that are looked at again, after a start or since the fleet changed.
   */
  function priorityOf(key: string): number {
    const name = key.startsWith(ROLLOUT_KEY) ? key.slice(ROLLOUT_KEY.length) : key;
    const intent = intents.get(name);
    return (intent?.source.schedulePriority?.(intent.object) ?? 0) + (changed.has(name) ? 0.5 : 0);
  }

  function planAll(afterMs: number): void {
    for (const key of intents.keys()) planLoop.enqueue(key, afterMs);
    for (const retraction of retractions.entries())
      planLoop.enqueue(RETRACTION_KEY + (retraction.metadata.name ?? ''), afterMs);
  }

  function onFleetChange({ spoke, dispatch: name, order, cluster }: FleetChange): void {
    const session = fleet.session(spoke);
    if (cluster) {
      // What a spoke says of itself matters for an order that is not there.
      const kept = (session?.cluster()?.status?.dispatches ?? []).filter((told) => told.kept);
      for (const told of kept) {
        const item = tracked.ofDispatch(told.name);
        if (item?.dispatchedTo.has(spoke)) lanes.enqueue(spoke, item.key);
      }
      for (const key of dispatching.awaitingWordOf(spoke)) lanes.enqueue(spoke, key);
      if (kept.length > 0) meetings.enqueue(spoke, MEETING_MS);
      return;
    }
    if (name === undefined) {
      for (const item of tracked.onSpoke(spoke)) {
        reportSoon(item.key);
        bring(spoke, item);
      }
      deciding.linkChanged();
      for (const key of rollouts.concernedBy(spoke)) planLoop.enqueue(ROLLOUT_KEY + key, LOOK_MS);
      meetings.enqueue(spoke, MEETING_MS);
      return;
    }
    const item = tracked.ofDispatch(name);
    if (item && rollouts.concerns(item.key, spoke)) planLoop.enqueue(ROLLOUT_KEY + item.key, LOOK_MS);
    if (!item?.dispatchedTo.has(spoke)) {
      meetings.enqueue(spoke, MEETING_MS);
      return;
    }
    reportSoon(item.key);
    const unsettled = !isChosen(item, spoke) || item.problems.has(spoke);
    if (order === true || unsettled || isObjectedTo(session?.dispatch(name))) lanes.enqueue(spoke, item.key);
  }

  return {
    async stop(): Promise<void> {
      stopped = true;
      unread?.cancel();
      intents.stop();
      retractions.stop();
      sources.stop();
      rules.stop();
      statuses.stop();
      rollouts.stop();
      placementPolicies.stop();
      overridePolicies.stop();
      deciding.stop();
      await Promise.all([planLoop, meetings, reportLoop, lanes, rebalances].map((loop) => loop.stop()));
    },
  };
}
