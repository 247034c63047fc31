import {
  describeConflicts,
  describeDependencies,
  describeOverrides,
  describePlacement,
} from '../../dialects/propagation/describe.ts';
import type { PropagationFindings } from '../../dialects/propagation/report.ts';
import { rejectionSummary } from '../../engine/place/index.ts';
import { type ClusterObservation, summariseFleet } from '../../engine/summarise/summarise.ts';
import { type Result, sooner } from '../../kube/controller.ts';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Claims } from '../claims/index.ts';
import type { foreseenRefusals } from '../contract/index.ts';
import type { Fleet } from '../fleet.ts';
import type { IntentRecord, Intents } from '../intents/index.ts';
import type { Inventory } from '../inventory/index.ts';
import type { HubMode } from '../mode.ts';
import type { Rollouts } from '../rollouts/index.ts';
import type { ReflectedIntent, StatusReflector } from '../status/index.ts';
import type { ClusterBudget } from './cluster-budget.ts';
import { observeCluster, standingOn } from './observe-cluster.ts';
import { isRolledOut, type Tracked, type TrackedTable } from './tracked.ts';

export interface ReporterOptions {
  readonly clock: Clock;
  readonly inventory: Inventory;
  readonly clusterBudget: ClusterBudget;
  readonly intents: Intents;
  readonly tracked: TrackedTable;
  readonly fleet: Fleet;
  readonly mode: HubMode;
  readonly rollouts: Rollouts;
  readonly refusals: ReturnType<typeof foreseenRefusals>;
  readonly epoch: () => number;
  readonly onSeen: (item: Tracked, observations: readonly ClusterObservation[]) => void;
  readonly statuses: StatusReflector;
  readonly wanted: Claims['wanted'];
}

/** How long spokes have to come back to a hub that starts again. */
const START_GRACE_MS = 12_000;
/** Until what is being written down of an intent is written. */
const RECORDED_MS = 20;

/** Sums up what the spokes say of an intent; its dialect tells it. */
export function createReporter(options: ReporterOptions): (key: string) => Promise<Result | undefined> {
  const { intents, tracked, fleet, mode, clock, inventory } = options;
  const startedAt = clock.monotonic();

  /** Whether a cluster that was there before this hub started is still on its way. */
  function isOnItsWay(cluster: string): boolean {
    const session = fleet.session(cluster);
    if (session && (session.live || session.seenUntil !== undefined)) return false;
    return inventory.get(cluster)?.status?.connection === 'Connected';
  }

  /** A hub that starts again has not lost the spokes that are on their way: what is recorded stands, unless there is news. */
  function isEarly(item: Tracked, { metadata }: KubeObject): boolean {
    if (clock.monotonic() - startedAt >= START_GRACE_MS || mode.observing !== undefined) return false;
    const { dispatched, generation } = item.begun;
    if (dispatched === 0 || item.generation !== dispatched || item.retracting) return false;
    if (metadata.generation !== generation) return false;
    for (const cluster of item.dispatchedTo) if (isOnItsWay(cluster)) return true;
    return false;
  }

  function permitted({ compiled, latest, dispatch }: Tracked): PropagationFindings['permitted'] {
    if (!compiled || !latest) return undefined;
    return options.refusals.of(compiled.intent, latest, (spoke) => fleet.session(spoke)?.dispatch(dispatch));
  }

  /** As long as nobody looked since the hub started, what is recorded stands. */
  function rolloutOf(
    item: Tracked,
    record: IntentRecord | undefined,
  ): Pick<PropagationFindings, 'rollout' | 'revisions'> {
    if (item.orders) return options.rollouts.findings(item.key) ?? {};
    if (item.plan && !isRolledOut(item)) return {};
    return { rollout: record?.rollout, revisions: record?.revisions };
  }

  function observe(item: Tracked, clusters: readonly string[]): ClusterObservation[] {
    return clusters.map((cluster) => {
      const order = item.retracting ? undefined : item.orders?.get(cluster);
      const generation = order?.generation ?? standingOn(fleet, item, cluster, options.epoch());
      const seen = observeCluster(fleet, item, cluster, { generation, epoch: options.epoch() });
      const heldBack = order && ('withheld' in order ? order.withheld : order.behind);
      return heldBack === undefined ? seen : { ...seen, heldBack };
    });
  }

  return async (key) => {
    const intent = intents.get(key);
    const item = tracked.get(key);
    if (!intent || !item) return undefined;
    // Its object may tell of a record already that is not known here yet: it would be undone by what is told from here.
    if (item.recording) return { requeueAfterMs: RECORDED_MS };
    const { source, object } = intent;
    if (isEarly(item, object)) return { requeueAfterMs: START_GRACE_MS / 4 };
    const record = source.record(object);
    const decision = item.latest?.decision;
    const chosen = item.retracting ? undefined : item.plan?.decision.chosen;
    const observations = observe(item, chosen ?? [...item.dispatchedTo]);
    options.onSeen(item, observations);
    const summary = summariseFleet(observations);
    const leaving = chosen && [...item.dispatchedTo].filter((name) => !chosen.includes(name));
    const again = await source.report(object, {
      generation: object.metadata.generation ?? 0,
      objects: item.compiled?.intent.objects.length,
      revision: item.plan?.revision,
      dispatchGeneration: item.generation,
      dispatchDigest: item.digest,
      dispatchHistory: item.history,
      observing: mode.observing,
      dispatchedTo: [...item.dispatchedTo].sort(),
      observations,
      ...(leaving === undefined || leaving.length === 0 ? {} : { removing: observe(item, leaving) }),
      ...(item.plan === undefined ? {} : { blocked: item.plan.blocked }),
      keeping: options.clusterBudget.exceeded(item),
      summary,
      conflicts: describeConflicts(item.lost ?? [], options.wanted(key), summary.conflicts ?? []),
      suspended: item.compiled?.intent.suspend ?? false,
      selection: item.selection,
      decision: decision ?? record?.decision,
      replicas: item.latest?.replicas ?? record?.replicas,
      placement: describePlacement(
        decision?.problem,
        decision?.chosen.length ?? 0,
        decision?.unknown ?? [],
        decision?.shortage ?? item.latest?.replicaProblems[0],
        decision?.chosen.length === 0 ? rejectionSummary(decision) : '',
      ),
      overrides: describeOverrides(item.latest),
      dependencies: describeDependencies(item.compiled),
      permitted: permitted(item),
      ...rolloutOf(item, record),
    });
    return sooner(again, await options.statuses.reflect(key, reflectedOf(item, observations)));
  };
}

/** The objects of the hub whose status is made of what the clusters return: those that are sent. */
function reflectedOf(
  { compiled, plan, latest, retracting }: Tracked,
  observations: readonly ClusterObservation[],
): ReflectedIntent {
  const sent = new Set(retracting ? [] : plan?.objects.map(refKey));
  const templates = (compiled?.templates ?? []).filter((object) => sent.has(refKey(refOf(object))));
  return { templates, observations, upToDate: plan !== undefined && plan.digest === latest?.digest };
}
