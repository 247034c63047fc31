import { type DivisionCluster, divide } from '../../engine/divide/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { parseTime } from '../../runtime/clock.ts';
import { listAt, numberAt, stringAt } from '../../schema/json.ts';
import type { ReplicaSchedulingPreference } from './types.ts';

/** What is known of the workload on one cluster. */
export interface WorkloadObservation {
  /** Replicas that run there. */
  readonly current: number;
  /** The most that can run there, known only once some could not be scheduled for long enough. */
  readonly capacity?: number;
}

/** How long a pod must be unschedulable before it counts. */
const UNSCHEDULABLE_AFTER_MS = 60_000;

/**
 * How long replicas that were asked for may take to start. Until then they count as running, unless no node takes them: a plan
 * that followed each of them would move replicas about while nothing is wrong.
 */
const STARTING_MS = UNSCHEDULABLE_AFTER_MS;

/**
 * What a cluster's workload and its pods tell. Pods are only looked at where not all replicas are ready. `changedAtMs` is when
 * it was asked for another number of replicas, where that was seen; `lookAgainAtMs` when time alone will tell something else.
 */
export function observeWorkload(
  workload: KubeObject,
  pods: readonly KubeObject[],
  nowMs: number,
  changedAtMs: number = Number.NEGATIVE_INFINITY,
): WorkloadObservation & { readonly lookAgainAtMs?: number } {
  const replicas = numberAt(workload, 'spec', 'replicas') ?? 0;
  if (isSettled(workload)) return { current: replicas };
  let running = 0;
  let unschedulable = 0;
  let lookAgainAtMs = Number.POSITIVE_INFINITY;
  for (const pod of pods) {
    const conditions = listAt(pod, 'status', 'conditions');
    const ready = conditions.some((item) => stringAt(item, 'type') === 'Ready');
    if (stringAt(pod, 'status', 'phase') === 'Running') {
      if (ready) running += 1;
      continue;
    }
    const scheduled = conditions.find(
      (item) =>
        stringAt(item, 'type') === 'PodScheduled' &&
        stringAt(item, 'status') === 'False' &&
        stringAt(item, 'reason') === 'Unschedulable',
    );
    if (!scheduled) continue;
    const counts = (parseTime(stringAt(scheduled, 'lastTransitionTime')) ?? 0) + UNSCHEDULABLE_AFTER_MS;
    if (counts < nowMs) unschedulable += 1;
    else lookAgainAtMs = Math.min(lookAgainAtMs, counts);
  }
  const room = Math.max(0, replicas - unschedulable);
  const startedAtMs = changedAtMs + STARTING_MS;
  if (nowMs < startedAtMs) lookAgainAtMs = Math.min(lookAgainAtMs, startedAtMs);
  return {
    current: nowMs < startedAtMs ? room : running,
    ...(unschedulable === 0 ? {} : { capacity: room }),
    ...(lookAgainAtMs === Number.POSITIVE_INFINITY ? {} : { lookAgainAtMs }),
  };
}

/** Whether all replicas that a workload is asked for are ready. */
export function isSettled(workload: KubeObject): boolean {
  return (
    (numberAt(workload, 'spec', 'replicas') ?? 0) === (numberAt(workload, 'status', 'readyReplicas') ?? 0)
  );
}

export interface Schedule {
  /** Replicas by cluster. A cluster that gets none is there all the same. Empty where nothing may be changed. */
  readonly replicas: ReadonlyMap<string, number>;
  /** Why each cluster gets what it gets. */
  readonly reasons: ReadonlyMap<string, string>;
  /** Why nothing is decided: what is placed must stay as it is. */
  readonly hold?: string;
  /** What could not be placed. */
  readonly problem?: string;
}

const held = (hold: string): Schedule => ({ replicas: new Map(), reasons: new Map(), hold });

/** Divides the replicas of a preference among the clusters that are ready (and, where it asks so, meant by its target). */
export function schedule(
  preference: ReplicaSchedulingPreference,
  ready: readonly string[],
  workloads: ReadonlyMap<string, WorkloadObservation> = new Map(),
): Schedule {
  const { totalReplicas, rebalance = false, clusters = {} } = preference.spec;
  const { name = '', namespace = '' } = preference.metadata;
  if (ready.length === 0) return held('no ready cluster is there to divide replicas to');
  const preferences = Object.keys(clusters).length === 0 ? { '*': { weight: 1 } } : clusters;
  const problem = preferenceProblem(totalReplicas, preferences);
  if (problem !== undefined) return held(problem);
  const others = preferences['*'];
  const taking = ready.flatMap((cluster): DivisionCluster[] => {
    const wish = Object.hasOwn(preferences, cluster) ? preferences[cluster] : others;
    if (!wish) return [];
    const { weight = 0, minReplicas = 0, maxReplicas } = wish;
    return [
      {
        name: cluster,
        weight,
        minReplicas,
        ...(maxReplicas === undefined ? {} : { maxReplicas }),
        ...workloads.get(cluster),
      },
    ];
  });
  const key = `${namespace}/${name}`;
  const division = divide({ total: totalReplicas, clusters: taking, strategy: 'Planner', key, rebalance });
  const replicas = new Map(ready.map((cluster) => [cluster, 0]));
  const reasons = new Map(ready.map((cluster) => [cluster, 'no preference means it']));
  for (const share of division.clusters) {
    replicas.set(share.cluster, share.replicas);
    reasons.set(share.cluster, share.reason);
  }
  return { replicas, reasons, ...(division.problem === undefined ? {} : { problem: division.problem }) };
}

function preferenceProblem(
  total: number,
  clusters: NonNullable<ReplicaSchedulingPreference['spec']['clusters']>,
): string | undefined {
  const bad = (value: number | undefined): boolean =>
    value !== undefined && (!Number.isInteger(value) || value < 0 || value > 2 ** 31 - 1);
  if (bad(total)) return `totalReplicas must be a whole number that is not negative, not ${total}`;
  for (const [name, wishes] of Object.entries(clusters))
    for (const [field, value] of Object.entries(wishes))
      if (bad(value))
        return `clusters.${name}.${field} must be a whole number that is not negative, not ${value}`;
  return undefined;
}
