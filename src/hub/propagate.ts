import { type Compiled, compilePropagation, effectiveSelectors } from '../dialects/propagation/compile.ts';
import { CLUSTER_PROPAGATION, PROPAGATION } from '../dialects/propagation/kinds.ts';
import { type PropagationFindings, reportPropagation } from '../dialects/propagation/report.ts';
import type { Propagation, PropagationStatus } from '../dialects/propagation/types.ts';
import { dispatchName } from '../engine/dispatch/index.ts';
import { type Plan, planIntent } from '../engine/plan/plan.ts';
import { selects } from '../engine/select/select.ts';
import { type ClusterObservation, summariseFleet } from '../engine/summarise/summarise.ts';
import type { Client, ResourceId } from '../kube/client.ts';
import type { Result } from '../kube/controller.ts';
import { startController } from '../kube/controller-loop.ts';
import { resourceIdOf } from '../kube/custom-resource.ts';
import type { Change, Informer } from '../kube/informer.ts';
import { startInformer } from '../kube/informer-cache.ts';
import { refText } from '../kube/object.ts';
import { hasCode, StatusError } from '../kube/status-error.ts';
import { customResourceDefinitions } from '../kube/well-known.ts';
import { errorText } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import { deepEqual } from '../schema/json.ts';
import { createDispatcher } from './dispatcher.ts';
import type { Fleet } from './fleet.ts';
import type { HubIdentity } from './identity.ts';
import type { Inventory } from './inventory.ts';
import { createSources } from './sources.ts';

export interface Propagator {
  stop(): Promise<void>;
}

/** Keeps a Propagation until its objects are gone from every cluster that has them. */
export const PROPAGATION_FINALIZER = 'atoll.dev/propagation';
/** Changes that come close together become one dispatch. */
const GATHER_MS = 15;
const REPORT_MS = 40;
const KINDS = [PROPAGATION, CLUSTER_PROPAGATION].map(resourceIdOf);

/** What is known of one propagation, in memory. Everything here can be computed again from the API server and the spokes. */
interface Tracked {
  plan?: Plan;
  compiled?: Compiled;
  generation: number;
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
  const informers = new Map<string, Informer<Propagation>>();
  const sources = createSources(runtime, client, onSourceChange, () =>
    everyPropagation((key) => planLoop.enqueue(key)),
  );
  const definitions = startInformer(runtime, client, customResourceDefinitions);
  const dispatcher = createDispatcher(runtime, identity, (ref) => sources.exists(ref));
  const planLoop = startController(runtime, { name: 'propagate', concurrency: 4, reconcile: plan });
  const dispatchLoop = startController(runtime, { name: 'dispatch', concurrency: 32, reconcile: dispatch });
  const reportLoop = startController(runtime, { name: 'summarise', concurrency: 4, reconcile: report });

  for (const resource of KINDS) {
    const informer = startInformer<Propagation>(runtime, client, resource);
    informers.set(resource.kind, informer);
    informer.onChange(({ type, object, previous }) => {
      const key = keyOf(resource, object);
      const relevant =
        type !== 'updated' ||
        !deepEqual(object.spec, previous?.spec) ||
        object.metadata.deletionTimestamp !== previous?.metadata.deletionTimestamp;
      if (relevant) planLoop.enqueue(key, GATHER_MS);
    });
  }
  definitions.onChange(({ type }) => {
    if (type === 'updated') return;
    sources.retryUnknown();
    everyPropagation((key) => planLoop.enqueue(key, 100));
  });
  inventory.onChange(() => everyPropagation((key) => planLoop.enqueue(key, GATHER_MS)));
  fleet.onChange(({ spoke, dispatch: name }) => {
    for (const [key, item] of tracked) {
      if (name !== undefined && item.plan && dispatchName(item.plan.source) !== name) continue;
      if (!item.dispatchedTo.has(spoke)) continue;
      reportLoop.enqueue(key, REPORT_MS);
      if (name === undefined || item.retracting || !item.plan?.decision.chosen.includes(spoke))
        dispatchLoop.enqueue(`${spoke}\n${key}`);
      else if (isForeign(fleet.session(spoke)?.dispatch(name), item.generation))
        dispatchLoop.enqueue(`${spoke}\n${key}`);
    }
  });

  function everyPropagation(act: (key: string) => void): void {
    for (const resource of KINDS)
      for (const object of informers.get(resource.kind)?.list() ?? []) act(keyOf(resource, object));
  }

  function find(key: string): { resource: ResourceId; propagation: Propagation | undefined } {
    const [kind = '', namespace = '', name = ''] = key.split('/');
    const resource = KINDS.find((item) => item.kind === kind) ?? resourceIdOf(PROPAGATION);
    return { resource, propagation: informers.get(kind)?.get(namespace, name) };
  }

  function onSourceChange({ object, previous }: Change): void {
    everyPropagation((key) => {
      const { propagation } = find(key);
      if (!propagation) return;
      const hit = effectiveSelectors(propagation).some(
        (selector) => selects(selector, object) || (previous !== undefined && selects(selector, previous)),
      );
      if (hit) planLoop.enqueue(key, GATHER_MS);
    });
  }

  async function plan(key: string): Promise<Result | void> {
    const { resource, propagation } = find(key);
    if (!propagation) {
      tracked.delete(key);
      return;
    }
    await inventory.whenSynced();
    const item = track(key, propagation);
    if (propagation.metadata.deletionTimestamp !== undefined)
      return retract(key, resource, propagation, item);
    if (!propagation.metadata.finalizers?.includes(PROPAGATION_FINALIZER)) {
      await setFinalizers(resource, propagation, [
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
      return;
    }
    const next = planIntent(compiled.intent, inventory.clusters(), item.plan);
    if (compiled.intent.suspend) {
      item.plan ??= next;
      reportLoop.enqueue(key, REPORT_MS);
      return;
    }
    await commit(resource, propagation, item, next);
    for (const cluster of item.dispatchedTo) dispatchLoop.enqueue(`${cluster}\n${key}`);
    reportLoop.enqueue(key, REPORT_MS);
  }

  /** Before anything is sent: which generation this is, and whom it concerns, durable at the hub. */
  async function commit(
    resource: ResourceId,
    propagation: Propagation,
    item: Tracked,
    next: Plan,
  ): Promise<void> {
    const status = propagation.status ?? {};
    const targets = new Set([...item.dispatchedTo, ...next.decision.chosen]);
    const known = [...targets].filter((name) => inventory.has(name));
    const changed = status.dispatchDigest !== next.digest;
    const generation = changed
      ? Math.max(item.generation, status.dispatchGeneration ?? 0) + 1
      : item.generation;
    if (changed || known.some((name) => !status.dispatchedTo?.includes(name))) {
      await writeStatus(resource, propagation, {
        ...status,
        dispatchGeneration: generation,
        dispatchDigest: next.digest,
        dispatchedTo: known.sort(),
      });
    }
    item.plan = next;
    item.generation = generation;
    item.dispatchedTo = new Set(known);
  }

  /** The propagation is being deleted: everything it brought is ordered away; it goes when that is done everywhere. */
  async function retract(
    key: string,
    resource: ResourceId,
    propagation: Propagation,
    item: Tracked,
  ): Promise<void> {
    if (!item.retracting) {
      item.retracting = true;
      item.generation += 1;
      await writeStatus(resource, propagation, {
        ...propagation.status,
        dispatchGeneration: item.generation,
        dispatchDigest: 'retracted',
      });
    }
    for (const name of [...item.dispatchedTo]) if (!inventory.has(name)) item.dispatchedTo.delete(name);
    if (item.dispatchedTo.size === 0) {
      const finalizers = (propagation.metadata.finalizers ?? []).filter(
        (name) => name !== PROPAGATION_FINALIZER,
      );
      await setFinalizers(resource, propagation, finalizers);
      tracked.delete(key);
      return;
    }
    for (const cluster of item.dispatchedTo) dispatchLoop.enqueue(`${cluster}\n${key}`);
    reportLoop.enqueue(key, REPORT_MS);
  }

  async function dispatch(id: string): Promise<Result | void> {
    const [spoke = '', key = ''] = id.split('\n');
    const item = tracked.get(key);
    const session = fleet.session(spoke);
    if (!item?.dispatchedTo.has(spoke) || !session?.live) return;
    const { propagation } = find(key);
    const source = item.plan?.source ?? (propagation ? sourceOf(propagation) : undefined);
    if (!source) return;
    const chosen = !item.retracting && (item.plan?.decision.chosen.includes(spoke) ?? false);
    const blocked = chosen ? item.plan?.blocked.get(spoke) : undefined;
    if (blocked !== undefined) {
      noteProblem(key, item, spoke, blocked);
      return;
    }
    try {
      const result = await dispatcher.send(session, {
        plan: chosen ? item.plan : undefined,
        source,
        generation: item.generation,
      });
      noteProblem(key, item, spoke, result.outcome === 'held' ? result.message : undefined);
      if (result.outcome === 'gone') {
        item.dispatchedTo.delete(spoke);
        if (item.retracting) planLoop.enqueue(key);
        reportLoop.enqueue(key, REPORT_MS);
      }
    } catch (error) {
      if (!session.live) return;
      // The spoke wrote its status in between, or the copy here is behind: look again when it has caught up.
      if (hasCode(error, 409) || hasCode(error, 404)) return { requeueAfterMs: 30 };
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

  async function report(key: string): Promise<Result | void> {
    const { resource, propagation } = find(key);
    const item = tracked.get(key);
    if (!propagation || !item) return;
    const summary = summariseFleet(observe(item));
    const { decision } = item.plan ?? { decision: undefined };
    const unknown = decision?.unknown ?? [];
    const found: PropagationFindings = {
      generation: propagation.metadata.generation ?? 0,
      objects: item.compiled?.intent.objects.length ?? propagation.status?.objects ?? 0,
      revision: item.plan?.revision ?? propagation.status?.revision ?? '',
      dispatchGeneration: item.generation,
      dispatchDigest: item.retracting
        ? 'retracted'
        : (item.plan?.digest ?? propagation.status?.dispatchDigest ?? ''),
      dispatchedTo: [...item.dispatchedTo].sort(),
      summary,
      suspended: propagation.spec.suspend === true,
      selection: item.selection,
      placement: describePlacement(decision?.problem, decision?.chosen.length ?? 0, unknown),
      overrides: describeOverrides(item.plan),
    };
    const status = reportPropagation(found, propagation.status, clock.now());
    if (deepEqual(status, propagation.status)) return;
    try {
      await writeStatus(resource, propagation, status);
    } catch (error) {
      if (hasCode(error, 409)) return { requeueAfterMs: REPORT_MS };
      if (!hasCode(error, 404)) throw error;
    }
  }

  function observe(item: Tracked): ClusterObservation[] {
    const chosen = item.retracting ? [...item.dispatchedTo] : (item.plan?.decision.chosen ?? []);
    return chosen.map((cluster) => {
      const session = fleet.session(cluster);
      const seen = item.plan ? session?.dispatch(dispatchName(item.plan.source)) : undefined;
      const problem = item.problems.get(cluster);
      return {
        cluster,
        live: session?.live ?? false,
        staleReason: session?.staleReason ?? 'the spoke has not connected since this hub started',
        wantedGeneration: item.generation,
        ...(seen?.status === undefined ? {} : { status: seen.status }),
        ...(problem === undefined ? {} : { dispatchProblem: problem }),
      };
    });
  }

  function track(key: string, propagation: Propagation): Tracked {
    let item = tracked.get(key);
    if (!item) {
      item = {
        generation: propagation.status?.dispatchGeneration ?? 0,
        dispatchedTo: new Set(propagation.status?.dispatchedTo ?? []),
        problems: new Map(),
        selection: { ok: false, reason: 'Reading', message: 'the selected kinds are being read' },
        retracting: propagation.status?.dispatchDigest === 'retracted',
      };
      tracked.set(key, item);
    }
    return item;
  }

  async function writeStatus(
    resource: ResourceId,
    propagation: Propagation,
    status: PropagationStatus,
  ): Promise<void> {
    const { namespace = '', name = '' } = propagation.metadata;
    await client.patch(resource, namespace, name, 'merge', { status }, { subresource: 'status' });
  }

  async function setFinalizers(
    resource: ResourceId,
    propagation: Propagation,
    finalizers: string[],
  ): Promise<void> {
    const { namespace = '', name = '', resourceVersion } = propagation.metadata;
    try {
      await client.patch(resource, namespace, name, 'merge', { metadata: { finalizers, resourceVersion } });
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
    }
  }

  return {
    async stop(): Promise<void> {
      for (const informer of informers.values()) informer.stop();
      definitions.stop();
      sources.stop();
      await Promise.all([planLoop.stop(), dispatchLoop.stop(), reportLoop.stop()]);
    },
  };
}

function keyOf(resource: ResourceId, object: Propagation): string {
  return `${resource.kind}/${object.metadata.namespace ?? ''}/${object.metadata.name ?? ''}`;
}

function sourceOf(propagation: Propagation): Plan['source'] {
  const { namespace = '', name = '', uid = '', generation = 0 } = propagation.metadata;
  return { apiVersion: propagation.apiVersion, kind: propagation.kind, namespace, name, uid, generation };
}

/** Whether a dispatch on a spoke is not what this hub wrote there last: someone deleted or changed it. */
function isForeign(
  dispatch: { spec: { position: { generation: number } } } | undefined,
  generation: number,
): boolean {
  return dispatch === undefined || dispatch.spec.position.generation !== generation;
}

function describeSelection(
  compiled: Compiled,
  blockers: readonly string[],
): PropagationFindings['selection'] {
  if (blockers.length > 0)
    return {
      ok: false,
      reason: compiled.problems.length > 0 ? 'InvalidSelector' : 'KindNotServed',
      message: `${[...new Set(blockers)].join('; ')}. Nothing is changed on the spokes meanwhile`,
    };
  const skipped = compiled.skipped[0];
  if (skipped)
    return {
      ok: false,
      reason: 'NeverPropagated',
      message: `${refText(skipped.ref)} is selected but never propagated: ${skipped.reason}`,
    };
  if (compiled.emptySelectors.length > 0) {
    const list = compiled.emptySelectors.map((index) => `resourceSelectors[${index}]`).join(', ');
    return {
      ok: false,
      reason: 'NothingSelected',
      message: `${list} match${compiled.emptySelectors.length === 1 ? 'es' : ''} no object; objects that come to match are propagated at once`,
    };
  }
  return { ok: true, reason: 'Selected', message: `${compiled.intent.objects.length} objects are selected` };
}

function describePlacement(
  problem: string | undefined,
  chosen: number,
  unknown: readonly string[],
): PropagationFindings['placement'] {
  if (problem !== undefined) return { ok: false, reason: 'InvalidPlacement', message: problem };
  if (unknown.length > 0)
    return {
      ok: false,
      reason: 'UnknownCluster',
      message: `no SpokeCluster is named ${unknown.join(', ')}; see: kubectl get spokeclusters -A`,
    };
  if (chosen === 0)
    return {
      ok: false,
      reason: 'NoCluster',
      message: 'no cluster matches the placement; see: kubectl get spokeclusters -A --show-labels',
    };
  return { ok: true, reason: 'Placed', message: `${chosen} clusters are chosen` };
}

function describeOverrides(plan: Plan | undefined): PropagationFindings['overrides'] {
  if (!plan || plan.overrideProblems.length === 0)
    return { ok: true, reason: 'OverridesApplied', message: 'every override applies' };
  return {
    ok: false,
    reason: 'OverrideFailed',
    message: `${plan.overrideProblems.join('; ')}. These clusters keep what they have`,
  };
}
