import { compilePropagation, concernedBy } from '../dialects/propagation/compile.ts';
import { describeSelection } from '../dialects/propagation/describe.ts';
import type { Propagation } from '../dialects/propagation/types.ts';
import { dispatchName, extendHistory, packOrigin } from '../engine/dispatch/index.ts';
import { createPlacer, requiredApis } from '../engine/place/index.ts';
import { type Plan, planIntent } from '../engine/plan/plan.ts';
import { portable } from '../engine/render/portable.ts';
import type { Client } from '../kube/client.ts';
import type { Result } from '../kube/controller.ts';
import { startController } from '../kube/controller-loop.ts';
import type { Change } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { type KubeObject, type ObjectRef, refKey } from '../kube/object.ts';
import { hasCode, StatusError } from '../kube/status-error.ts';
import { customResourceDefinitions } from '../kube/well-known.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { authorize, readingRights } from './author/index.ts';
import { foreseenRefusals, spokeContracts } from './contract/index.ts';
import { createDispatcher, lacksContent, SpokeTimedOut } from './dispatcher.ts';
import type { Fleet } from './fleet.ts';
import { currentEpoch, type HubIdentity } from './identity.ts';
import type { Inventory } from './inventory.ts';
import { createLanes } from './lanes.ts';
import { createMeeting } from './meeting.ts';
import type { HubMode } from './mode.ts';
import type { PoliciesInForce } from './policies/index.ts';
import { openPropagations } from './propagations.ts';
import { createReporter } from './report.ts';
import { openRetractions, type Retraction } from './retractions.ts';
import { createSources } from './sources.ts';
import { isChosen, RETRACTION_KEY, type Tracked, trackedTable } from './tracked.ts';

export interface Propagator {
  stop(): Promise<void>;
}

/** Keeps a Propagation until its objects are gone from every cluster that has them. */
export const PROPAGATION_FINALIZER = 'atoll.dev/propagation';
/** Changes that come close together become one dispatch. */
const GATHER_MS = 15;
const REPORT_MS = 40;
const CATCH_UP_MS = 30;
const BEHIND_MS = 1_000;
const LONGEST_WAIT_MS = 3_600_000;
/** Until rights are asked for again that the author of an intent lacks. */
const ASK_RIGHTS_MS = 30_000;
/** Prefix of the keys of spokes whose orders are to be looked through. */
const MEETING_KEY = 'Meeting/';
/** Recorded instead of a plan's digest when everything is to go. */
const RETRACTED = 'retracted';

/**
 * Carries propagations to the fleet: selects, plans, dispatches the newest plan to every chosen cluster, and sums up what
 * the clusters report. Level-triggered throughout: a spoke that was away gets the state of now, not a replay.
 */
export function startPropagator(
  runtime: Runtime,
  client: Client,
  identity: HubIdentity,
  fleet: Fleet,
  inventory: Inventory,
  mode: HubMode,
  policies: PoliciesInForce,
): Propagator {
  const { clock } = runtime;
  let { epoch } = identity;
  const tracked = trackedTable();
  const placer = createPlacer();
  let fleetChanged = true;
  const propagations = openPropagations(runtime, client, (key) => planLoop.enqueue(key, GATHER_MS));
  const retractions = openRetractions(runtime, client, (name) => planLoop.enqueue(RETRACTION_KEY + name));
  const sources = createSources(runtime, client, onSourceChange, () => planAll(0));
  const definitions = startInformer(runtime, client, customResourceDefinitions);
  const rights = readingRights(client, clock);
  const contracts = spokeContracts(runtime, fleet, (spoke) => {
    for (const item of tracked.onSpoke(spoke)) reportLoop.enqueue(item.key, REPORT_MS);
  });
  const refusals = foreseenRefusals(contracts);
  const dispatcher = createDispatcher(
    runtime,
    identity,
    () => epoch,
    (ref) => sources.exists(ref),
  );
  const planLoop = startController(runtime, { name: 'propagate', concurrency: 4, reconcile: plan });
  const lanes = createLanes(runtime, 'dispatch', dispatch);
  const reportLoop = startController(runtime, {
    name: 'summarise',
    concurrency: 4,
    reconcile: createReporter({ clock, propagations, tracked, fleet, mode, refusals, epoch: () => epoch }),
  });
  const meeting = createMeeting({
    identity,
    epoch: () => epoch,
    fleet,
    mode,
    propagations,
    retractions,
    tracked,
    onFound: (key) => planLoop.enqueue(key),
  });

  mode.onChange(() => {
    resume().catch((error: unknown) =>
      runtime.log.error('the epoch could not be read', { why: errorText(error) }),
    );
  });
  /** After a person confirmed: the hub's word is a new one, for every spoke. */
  async function resume(): Promise<void> {
    epoch = await currentEpoch(client);
    for (const item of tracked.values()) {
      for (const cluster of item.dispatchedTo) lanes.enqueue(cluster, item.key);
      reportLoop.enqueue(item.key, REPORT_MS);
    }
  }

  definitions.onChange(({ type }) => {
    if (type === 'updated') return;
    sources.retryUnknown();
    planAll(100);
  });
  // Before all propagations were looked at, nobody knows.
  inventory.askHolder((name) => {
    for (const [key] of propagations.entries()) if (!tracked.has(key)) return true;
    return [...tracked.onSpoke(name)].length > 0 || !propagations.synced;
  });
  inventory.onChange(() => {
    lanes.keep((spoke) => inventory.has(spoke));
    fleetChanged = true;
    planAll(GATHER_MS);
  });
  fleet.onChange(({ spoke, dispatch: name, order, cluster }) => {
    const session = fleet.session(spoke);
    if (cluster) {
      // What a spoke says of itself matters for an order that is not there.
      const kept = new Set(
        (session?.cluster()?.status?.dispatches ?? []).filter((told) => told.kept).map(({ name }) => name),
      );
      for (const item of tracked.onSpoke(spoke))
        if (kept.has(item.dispatch) || !session?.dispatch(item.dispatch)) lanes.enqueue(spoke, item.key);
      planLoop.enqueue(MEETING_KEY + spoke);
      return;
    }
    if (name === undefined) {
      for (const item of tracked.onSpoke(spoke)) {
        reportLoop.enqueue(item.key, REPORT_MS);
        lanes.enqueue(spoke, item.key);
      }
      planLoop.enqueue(MEETING_KEY + spoke);
      return;
    }
    const item = tracked.ofDispatch(name);
    if (!item?.dispatchedTo.has(spoke)) {
      planLoop.enqueue(MEETING_KEY + spoke);
      return;
    }
    reportLoop.enqueue(item.key, REPORT_MS);
    const unsettled = !isChosen(item, spoke) || item.problems.has(spoke);
    if (order === true || unsettled || lacksContent(session?.dispatch(name))) lanes.enqueue(spoke, item.key);
  });

  function planAll(afterMs: number): void {
    for (const [key] of propagations.entries()) planLoop.enqueue(key, afterMs);
    for (const retraction of retractions.entries())
      planLoop.enqueue(RETRACTION_KEY + (retraction.metadata.name ?? ''), afterMs);
  }

  function sourceOfKey(key: string, item: Tracked): Plan['source'] | undefined {
    const propagation = propagations.get(key);
    return item.source ?? item.plan?.source ?? (propagation && sourceOf(propagation));
  }

  function onSourceChange({ object, previous }: Change): void {
    for (const [key, propagation] of propagations.entries()) {
      const compiled = tracked.get(key)?.compiled;
      const hit = [object, previous].some(
        (state) => state !== undefined && concernedBy(propagation, compiled, state),
      );
      if (hit) planLoop.enqueue(key, GATHER_MS);
    }
  }

  async function plan(key: string): Promise<Result | undefined> {
    if (key.startsWith(RETRACTION_KEY)) return takeBack(key);
    if (key.startsWith(MEETING_KEY)) return meeting(key.slice(MEETING_KEY.length));
    const propagation = propagations.get(key);
    if (!propagation) {
      tracked.remove(key);
      placer.forget(key);
      return undefined;
    }
    await inventory.whenSynced();
    const item = track(key, propagation);
    if (propagation.metadata.deletionTimestamp !== undefined) {
      await retract(key, propagation, item);
      return undefined;
    }
    if (!propagation.metadata.finalizers?.includes(PROPAGATION_FINALIZER)) {
      await propagations.setFinalizers(propagation, [
        ...(propagation.metadata.finalizers ?? []),
        PROPAGATION_FINALIZER,
      ]);
    }
    const blockers: string[] = [];
    const compiled = compilePropagation(propagation, (selector) => {
      const found = sources.objects(selector.apiVersion, selector.kind);
      if ('objects' in found) return found.objects;
      blockers.push('unknown' in found ? found.unknown : found.waiting);
      return [];
    });
    blockers.push(...compiled.problems);
    item.compiled = compiled;
    item.selection = describeSelection(compiled, blockers);
    if (blockers.length > 0) {
      reportLoop.enqueue(key, REPORT_MS);
      return undefined;
    }
    const authorized = await authorize(compiled.intent, policies, rights, (ref) => mayBeThere(item, ref));
    if (authorized.problem) item.selection = authorized.problem;
    // Rights may be given at any time, of which the hub hears nothing.
    const again = authorized.problem ? { requeueAfterMs: ASK_RIGHTS_MS } : undefined;
    const { intent } = authorized;
    if (intent === undefined) {
      reportLoop.enqueue(key, REPORT_MS);
      return again;
    }
    item.compiled = { ...compiled, intent };
    if (fleetChanged) placer.setFleet(inventory.clusters());
    fleetChanged = false;
    const decision = placer.decide(key, intent.placement, {
      nowMs: clock.now(),
      requires: requiredApis(intent.objects),
    });
    const next = planIntent(
      intent,
      inventory.clusters(),
      item.latest,
      decision,
      item.latest?.replicas ?? propagation.status?.replicas,
    );
    item.latest = next;
    // While suspended, what was recorded before is sent and nothing newer.
    if (!intent.suspend) await commit(propagation, item, next);
    else if (next.digest === item.digest) item.plan = next;
    for (const cluster of item.dispatchedTo) lanes.enqueue(cluster, key);
    reportLoop.enqueue(key, REPORT_MS);
    return sooner(again, decision.reconsiderAtMs);
  }

  /** Time alone may change where something goes: when a toleration ends, when a better group has been there for long enough. */
  function sooner(again: Result | undefined, reconsiderAtMs: number | undefined): Result | undefined {
    if (reconsiderAtMs === undefined) return again;
    const waitMs = Math.min(LONGEST_WAIT_MS, Math.max(GATHER_MS, reconsiderAtMs - clock.now()));
    return { requeueAfterMs: Math.min(waitMs, again?.requeueAfterMs ?? waitMs) };
  }

  /** Whether a spoke may hold an object of a propagation; so it is as long as nobody knows. */
  function mayBeThere(item: Tracked, ref: ObjectRef): boolean {
    return [...item.dispatchedTo].some((cluster) => {
      const session = fleet.session(cluster);
      const held = session?.dispatch(item.dispatch);
      if (!held) return session?.live !== true;
      const key = refKey(ref);
      return held.spec.objects.some((one) => refKey(one) === key);
    });
  }

  /** Before anything is sent: which generation this is, and whom it concerns, durable at the hub. */
  async function commit(propagation: Propagation, item: Tracked, next: Plan): Promise<void> {
    const targets = new Set([...item.dispatchedTo, ...next.decision.chosen, ...item.found]);
    const known = [...targets].filter((name) => inventory.has(name)).sort();
    const changed = item.digest !== next.digest;
    const generation = changed ? item.generation + 1 : item.generation;
    const history = changed ? remember(item) : item.history;
    if (changed || known.some((name) => !item.dispatchedTo.has(name))) {
      await propagations.writeStatus(propagation, {
        dispatchGeneration: generation,
        dispatchDigest: next.digest,
        ...(history.length === 0 ? {} : { dispatchHistory: [...history] }),
        dispatchedTo: known,
      });
    }
    item.plan = next;
    item.generation = generation;
    item.digest = next.digest;
    item.history = history;
    tracked.setDispatchedTo(item, known);
    item.found.clear();
  }

  /** The propagation is being deleted: everything it brought is ordered away; it goes when that is done everywhere. */
  async function retract(key: string, propagation: Propagation, item: Tracked): Promise<void> {
    if (!item.retracting) {
      const generation = item.generation + 1;
      const history = remember(item);
      await propagations.writeStatus(propagation, {
        dispatchGeneration: generation,
        dispatchDigest: RETRACTED,
        dispatchHistory: [...history],
      });
      item.history = history;
      item.retracting = true;
      item.generation = generation;
      item.digest = RETRACTED;
    }
    settleOn(item, [...item.dispatchedTo, ...item.found]);
    const left = [...item.dispatchedTo].sort();
    const remembered = retractions.get(item.dispatch)?.spec;
    const handedOver = remembered !== undefined || retractions.adding(item.dispatch);
    // Spokes that are away hold up nobody: what they owe is remembered apart, and done when they return.
    if (handedOver || left.every((name) => inventory.unreachable(name))) {
      const source = sourceOf(propagation);
      const { generation, digest, history } = item;
      const spec = remembered ?? { source, generation, digest, history, clusters: left };
      if (!handedOver) await retractions.add(item.dispatch, spec);
      let heir = tracked.get(RETRACTION_KEY + item.dispatch);
      if (!heir) {
        heir = trackedRetraction(item.dispatch, spec);
        tracked.add(heir);
      }
      for (const name of left) if (!heir.dispatchedTo.has(name)) heir.found.add(name);
      planLoop.enqueue(heir.key);
      const finalizers = (propagation.metadata.finalizers ?? []).filter(
        (name) => name !== PROPAGATION_FINALIZER,
      );
      await propagations.setFinalizers(propagation, finalizers);
      tracked.remove(key);
      return;
    }
    for (const cluster of item.dispatchedTo) lanes.enqueue(cluster, key);
    reportLoop.enqueue(key, REPORT_MS);
  }

  /** Clusters that are no longer of the fleet owe nothing. */
  function settleOn(item: Tracked, spokes: readonly string[]): void {
    tracked.setDispatchedTo(
      item,
      spokes.filter((name) => inventory.has(name)),
    );
    item.found.clear();
  }

  /** What a deleted propagation left on spokes that were away. It is remembered for some time after the last one is done. */
  async function takeBack(key: string): Promise<Result | undefined> {
    await inventory.whenSynced();
    const name = key.slice(RETRACTION_KEY.length);
    const retraction = retractions.get(name);
    let item = tracked.get(key);
    if (!retraction) {
      // It may only not have come back from the API server yet.
      if (item && retractions.adding(name)) return { requeueAfterMs: CATCH_UP_MS };
      tracked.remove(key);
      return undefined;
    }
    const { clusters } = retraction.spec;
    if (!item) {
      item = trackedRetraction(name, retraction.spec);
      tracked.add(item);
    }
    const owing = [...item.dispatchedTo].filter((spoke) => clusters.includes(spoke));
    settleOn(item, [...new Set([...owing, ...item.found])]);
    const left = [...item.dispatchedTo].sort();
    if (!deepEqual(left, [...clusters])) await retractions.leave(retraction, left);
    for (const cluster of left) lanes.enqueue(cluster, key);
    return left.length > 0 ? undefined : retractions.forgetLater(retraction);
  }

  async function dispatch(spoke: string, key: string): Promise<Result | undefined> {
    const item = tracked.get(key);
    const session = fleet.session(spoke);
    if (!item?.dispatchedTo.has(spoke) || !session?.live || mode.observing !== undefined) return undefined;
    const source = sourceOfKey(key, item);
    // Not knowing what shall be there is no reason to take anything away.
    if (!source || (!item.plan && !item.retracting)) return undefined;
    const chosen = isChosen(item, spoke);
    const blocked = session.misnamed() ?? (chosen ? item.plan?.blocked.get(spoke) : undefined);
    if (blocked !== undefined) {
      noteProblem(key, item, spoke, blocked);
      return undefined;
    }
    try {
      const result = await dispatcher.send(session, {
        plan: chosen ? item.plan : undefined,
        source,
        generation: item.generation,
        digest: item.digest,
        history: item.history,
        ...(inventory.leaving(spoke) === 'release' ? { release: true } : {}),
        author: propagations.get(key)?.spec.author,
        origin: () => (chosen ? originOf(propagations.get(key), inventory.get(spoke)) : ''),
      });
      if (result.outcome === 'held' && result.restored) await mode.observe(`${spoke}: ${result.message}`);
      noteProblem(key, item, spoke, result.outcome === 'held' ? result.message : undefined);
      if (result.outcome === 'behind') return { requeueAfterMs: BEHIND_MS };
      // It may have been chosen again meanwhile.
      if (result.outcome === 'gone' && !isChosen(item, spoke)) {
        tracked.setDispatchedTo(
          item,
          [...item.dispatchedTo].filter((name) => name !== spoke),
        );
        if (item.retracting) planLoop.enqueue(key);
        if (inventory.leaving(spoke) !== undefined) inventory.recheck(spoke);
        reportLoop.enqueue(key, REPORT_MS);
      }
    } catch (error) {
      if (!session.live) return undefined;
      // The spoke wrote its status in between, or the copy here is behind: look again when it has caught up.
      if (hasCode(error, 409) || hasCode(error, 404)) return { requeueAfterMs: CATCH_UP_MS };
      noteProblem(
        key,
        item,
        spoke,
        error instanceof StatusError ? `the spoke answers ${error.code}: ${error.message}` : errorText(error),
        error instanceof SpokeTimedOut,
      );
      throw error;
    }
  }

  function noteProblem(
    key: string,
    item: Tracked,
    spoke: string,
    message: string | undefined,
    late = false,
  ): void {
    if (item.problems.get(spoke)?.message === message) return;
    if (message === undefined) item.problems.delete(spoke);
    else item.problems.set(spoke, { message, ...(late ? { late } : {}) });
    reportLoop.enqueue(key, REPORT_MS);
  }

  function track(key: string, propagation: Propagation): Tracked {
    const { uid = '' } = propagation.metadata;
    let item = tracked.get(key);
    if (item?.uid !== uid) {
      item = {
        key,
        uid,
        dispatch: dispatchName(sourceOf(propagation)),
        generation: propagation.status?.dispatchGeneration ?? 0,
        digest: propagation.status?.dispatchDigest ?? '',
        history: propagation.status?.dispatchHistory ?? [],
        dispatchedTo: new Set(propagation.status?.dispatchedTo ?? []),
        found: new Set(),
        problems: new Map(),
        selection: { ok: false, reason: 'Reading', message: 'the selected kinds are being read' },
        retracting: propagation.status?.dispatchDigest === RETRACTED,
      };
      tracked.add(item);
      // A status can be written by others: one that is no decision is none.
      const { decision } = propagation.status ?? {};
      if (Array.isArray(decision?.chosen)) placer.restore(key, decision);
    }
    return item;
  }

  return {
    async stop(): Promise<void> {
      propagations.stop();
      retractions.stop();
      definitions.stop();
      sources.stop();
      await Promise.all([planLoop, reportLoop, lanes].map((loop) => loop.stop()));
    },
  };
}

function sourceOf(propagation: Propagation): Plan['source'] {
  const { namespace = '', name = '', uid = '', generation = 0 } = propagation.metadata;
  return { apiVersion: propagation.apiVersion, kind: propagation.kind, namespace, name, uid, generation };
}

/** What a lost hub would need to ask the same of this spoke again. */
function originOf(...objects: readonly (KubeObject | undefined)[]): string {
  const present = objects.filter((object) => object !== undefined).map(portable);
  return present.length === 0 ? '' : packOrigin(present);
}

/** What is tracked of something that is only taken back. */
function trackedRetraction(dispatch: string, spec: Retraction['spec']): Tracked {
  const { source, generation, digest, history = [], clusters } = spec;
  return {
    key: RETRACTION_KEY + dispatch,
    uid: source.uid,
    dispatch,
    source,
    generation,
    digest,
    history,
    dispatchedTo: new Set(clusters),
    found: new Set(),
    problems: new Map(),
    selection: { ok: true, reason: 'Retracted', message: '' },
    retracting: true,
  };
}

/** The history once the present generation is of the past. */
function remember({ history, generation, digest }: Tracked): readonly string[] {
  return generation === 0 ? history : extendHistory(history, generation, digest);
}
