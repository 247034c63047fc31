import { type Compiled, compilePropagation, effectiveSelectors } from '../dialects/propagation/compile.ts';
import { describeOverrides, describePlacement, describeSelection } from '../dialects/propagation/describe.ts';
import { type PropagationFindings, reportPropagation } from '../dialects/propagation/report.ts';
import type { Propagation } from '../dialects/propagation/types.ts';
import { dispatchName } from '../engine/dispatch/index.ts';
import { type Plan, planIntent } from '../engine/plan/plan.ts';
import { selects } from '../engine/select/select.ts';
import { type ClusterObservation, summariseFleet } from '../engine/summarise/summarise.ts';
import type { Client } from '../kube/client.ts';
import type { Result } from '../kube/controller.ts';
import { startController } from '../kube/controller-loop.ts';
import type { Change } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { hasCode, StatusError } from '../kube/status-error.ts';
import { customResourceDefinitions } from '../kube/well-known.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { createDispatcher, lacksContent } from './dispatcher.ts';
import type { Fleet } from './fleet.ts';
import type { HubIdentity } from './identity.ts';
import type { Inventory } from './inventory.ts';
import { createLanes } from './lanes.ts';
import { openPropagations } from './propagations.ts';
import { createSources } from './sources.ts';

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
/** Recorded instead of a plan's digest when everything is to go. */
const RETRACTED = 'retracted';

/** What is known of one propagation, in memory. Everything here can be computed again from the API server and the spokes. */
interface Tracked {
  readonly uid: string;
  /** What is sent: the plan that `generation` and `digest` stand for. Absent until it is known after a start. */
  plan?: Plan;
  /** What was computed last, for explanations. The same as `plan` but while changes are held back. */
  latest?: Plan;
  compiled?: Compiled;
  /** Position and digest of the plan as they are recorded at the hub. */
  generation: number;
  digest: string;
  /** Clusters that may hold objects of it. */
  dispatchedTo: Set<string>;
  /** Why a cluster did not get its order. */
  problems: Map<string, string>;
  selection: PropagationFindings['selection'];
  retracting: boolean;
}

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
): Propagator {
  const { clock } = runtime;
  const tracked = new Map<string, Tracked>();
  const propagations = openPropagations(runtime, client, (key) => planLoop.enqueue(key, GATHER_MS));
  const sources = createSources(runtime, client, onSourceChange, () => planAll(0));
  const definitions = startInformer(runtime, client, customResourceDefinitions);
  const dispatcher = createDispatcher(runtime, identity, (ref) => sources.exists(ref));
  const planLoop = startController(runtime, { name: 'propagate', concurrency: 4, reconcile: plan });
  const lanes = createLanes(runtime, 'dispatch', dispatch);
  const reportLoop = startController(runtime, { name: 'summarise', concurrency: 4, reconcile: report });

  definitions.onChange(({ type }) => {
    if (type === 'updated') return;
    sources.retryUnknown();
    planAll(100);
  });
  inventory.onChange(() => {
    lanes.keep((spoke) => inventory.has(spoke));
    planAll(GATHER_MS);
  });
  fleet.onChange(({ spoke, dispatch: name, order, cluster }) => {
    for (const [key, item] of tracked) {
      if (name !== undefined && dispatchNameOf(key, item) !== name) continue;
      if (!item.dispatchedTo.has(spoke)) continue;
      if (cluster) {
        // What a spoke says of itself matters for an order that is not there.
        const intent = dispatchNameOf(key, item);
        if (intent !== undefined && !fleet.session(spoke)?.dispatch(intent)) lanes.enqueue(spoke, key);
        continue;
      }
      reportLoop.enqueue(key, REPORT_MS);
      const leaving = item.retracting || !item.plan?.decision.chosen.includes(spoke);
      if (
        name === undefined ||
        order === true ||
        leaving ||
        lacksContent(fleet.session(spoke)?.dispatch(name))
      )
        lanes.enqueue(spoke, key);
    }
  });

  function planAll(afterMs: number): void {
    for (const [key] of propagations.entries()) planLoop.enqueue(key, afterMs);
  }

  function sourceOfKey(key: string, item: Tracked): Plan['source'] | undefined {
    const propagation = propagations.get(key);
    return item.plan?.source ?? (propagation && sourceOf(propagation));
  }

  function dispatchNameOf(key: string, item: Tracked): string | undefined {
    const source = sourceOfKey(key, item);
    return source && dispatchName(source);
  }

  function onSourceChange({ object, previous }: Change): void {
    for (const [key, propagation] of propagations.entries()) {
      const hit = effectiveSelectors(propagation).some(
        (selector) => selects(selector, object) || (previous !== undefined && selects(selector, previous)),
      );
      if (hit) planLoop.enqueue(key, GATHER_MS);
    }
  }

  async function plan(key: string): Promise<Result | undefined> {
    const propagation = propagations.get(key);
    if (!propagation) {
      tracked.delete(key);
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
    const next = planIntent(compiled.intent, inventory.clusters(), item.latest);
    item.latest = next;
    // While suspended, what was recorded before is sent and nothing newer.
    if (!compiled.intent.suspend) await commit(propagation, item, next);
    else if (next.digest === item.digest) item.plan = next;
    for (const cluster of item.dispatchedTo) lanes.enqueue(cluster, key);
    reportLoop.enqueue(key, REPORT_MS);
  }

  /** Before anything is sent: which generation this is, and whom it concerns, durable at the hub. */
  async function commit(propagation: Propagation, item: Tracked, next: Plan): Promise<void> {
    const targets = new Set([...item.dispatchedTo, ...next.decision.chosen]);
    const known = [...targets].filter((name) => inventory.has(name)).sort();
    const changed = item.digest !== next.digest;
    const generation = changed ? item.generation + 1 : item.generation;
    if (changed || known.some((name) => !item.dispatchedTo.has(name))) {
      await propagations.writeStatus(propagation, {
        dispatchGeneration: generation,
        dispatchDigest: next.digest,
        dispatchedTo: known,
      });
    }
    item.plan = next;
    item.generation = generation;
    item.digest = next.digest;
    item.dispatchedTo = new Set(known);
  }

  /** The propagation is being deleted: everything it brought is ordered away; it goes when that is done everywhere. */
  async function retract(key: string, propagation: Propagation, item: Tracked): Promise<void> {
    if (!item.retracting) {
      const generation = item.generation + 1;
      await propagations.writeStatus(propagation, {
        dispatchGeneration: generation,
        dispatchDigest: RETRACTED,
      });
      item.retracting = true;
      item.generation = generation;
      item.digest = RETRACTED;
    }
    for (const name of [...item.dispatchedTo]) if (!inventory.has(name)) item.dispatchedTo.delete(name);
    if (item.dispatchedTo.size === 0) {
      const finalizers = (propagation.metadata.finalizers ?? []).filter(
        (name) => name !== PROPAGATION_FINALIZER,
      );
      await propagations.setFinalizers(propagation, finalizers);
      tracked.delete(key);
      return;
    }
    for (const cluster of item.dispatchedTo) lanes.enqueue(cluster, key);
    reportLoop.enqueue(key, REPORT_MS);
  }

  async function dispatch(spoke: string, key: string): Promise<Result | undefined> {
    const item = tracked.get(key);
    const session = fleet.session(spoke);
    if (!item?.dispatchedTo.has(spoke) || !session?.live) return undefined;
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
      });
      noteProblem(key, item, spoke, result.outcome === 'held' ? result.message : undefined);
      if (result.outcome === 'behind') return { requeueAfterMs: BEHIND_MS };
      // It may have been chosen again meanwhile.
      if (result.outcome === 'gone' && !isChosen(item, spoke)) {
        item.dispatchedTo.delete(spoke);
        if (item.retracting) planLoop.enqueue(key);
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
      );
      throw error;
    }
  }

  function noteProblem(key: string, item: Tracked, spoke: string, problem: string | undefined): void {
    if (item.problems.get(spoke) === problem) return;
    if (problem === undefined) item.problems.delete(spoke);
    else item.problems.set(spoke, problem);
    reportLoop.enqueue(key, REPORT_MS);
  }

  async function report(key: string): Promise<Result | undefined> {
    const propagation = propagations.get(key);
    const item = tracked.get(key);
    if (!propagation || !item) return undefined;
    const summary = summariseFleet(observe(item, sourceOf(propagation)));
    const decision = item.latest?.decision;
    const unknown = decision?.unknown ?? [];
    const found: PropagationFindings = {
      generation: propagation.metadata.generation ?? 0,
      objects: item.compiled?.intent.objects.length ?? propagation.status?.objects ?? 0,
      revision: item.plan?.revision ?? propagation.status?.revision ?? '',
      dispatchGeneration: item.generation,
      dispatchDigest: item.digest,
      dispatchedTo: [...item.dispatchedTo].sort(),
      summary,
      suspended: propagation.spec.suspend === true,
      selection: item.selection,
      placement: describePlacement(decision?.problem, decision?.chosen.length ?? 0, unknown),
      overrides: describeOverrides(item.latest),
    };
    const status = reportPropagation(found, propagation.status, clock.now());
    if (deepEqual(status, propagation.status)) return undefined;
    try {
      // Only over what was read: a plan that was recorded meanwhile must not be undone.
      await propagations.writeStatus(propagation, status, propagation.metadata.resourceVersion);
    } catch (error) {
      if (hasCode(error, 409)) return { requeueAfterMs: REPORT_MS };
      if (!hasCode(error, 404)) throw error;
    }
  }

  function observe(item: Tracked, source: Plan['source']): ClusterObservation[] {
    const known = item.retracting || !item.plan ? [...item.dispatchedTo] : item.plan.decision.chosen;
    return known.map((cluster) => {
      const session = fleet.session(cluster);
      const seen = session?.dispatch(dispatchName(source));
      const problem = item.problems.get(cluster);
      return {
        cluster,
        live: session?.live ?? false,
        staleReason: session?.staleReason ?? 'the spoke has not connected since this hub started',
        wantedGeneration: item.generation,
        wantedEpoch: identity.epoch,
        ...(seen?.status === undefined ? {} : { status: seen.status }),
        ...(problem === undefined ? {} : { dispatchProblem: problem }),
      };
    });
  }

  function track(key: string, propagation: Propagation): Tracked {
    const { uid = '' } = propagation.metadata;
    let item = tracked.get(key);
    if (item?.uid !== uid) {
      item = {
        uid,
        generation: propagation.status?.dispatchGeneration ?? 0,
        digest: propagation.status?.dispatchDigest ?? '',
        dispatchedTo: new Set(propagation.status?.dispatchedTo ?? []),
        problems: new Map(),
        selection: { ok: false, reason: 'Reading', message: 'the selected kinds are being read' },
        retracting: propagation.status?.dispatchDigest === RETRACTED,
      };
      tracked.set(key, item);
    }
    return item;
  }

  return {
    async stop(): Promise<void> {
      propagations.stop();
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

function isChosen(item: Tracked, spoke: string): boolean {
  return !item.retracting && (item.plan?.decision.chosen.includes(spoke) ?? false);
}
