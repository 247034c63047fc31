import { formatTime, parseTime } from '../../runtime/index.ts';
import { scaledValue } from '../../schema/int-or-percent.ts';
import { matchesSelector, selectorFromObject } from '../../schema/label-selector.ts';
import type { DisruptionBudget, Pod } from './kinds.ts';
import { controllerOf, isDeleting, keyOf, splitKey } from './owner.ts';
import { isReady, withCondition } from './pod-state.ts';
import type { World } from './world.ts';

/** How long a pod that was let go may still be there before it counts again. */
const DISRUPTED_MS = 120_000;
/** Readiness of many pods is counted together. */
const GATHER_MS = 30;

/** Keeps the status of PodDisruptionBudgets, by which evictions (`kubectl drain`) are let through or refused. */
export function startDisruptionBudgets(world: World): void {
  const { disruptionBudgets, pods } = world;
  const controller = world.control({
    name: 'disruption',
    concurrency: 2,
    writes: [disruptionBudgets],
    reconcile: async (key) => {
      const budget = disruptionBudgets.get(...splitKey(key));
      return budget && !isDeleting(budget) ? reconcileBudget(world, budget) : undefined;
    },
  });
  disruptionBudgets.onChange(({ type, object }) => {
    if (type !== 'deleted') controller.enqueue(keyOf(object));
  });
  pods.onChange(({ object, previous }) => {
    for (const budget of disruptionBudgets.list(object.metadata.namespace ?? ''))
      if (selects(budget, object) || (previous && selects(budget, previous)))
        controller.enqueue(keyOf(budget), GATHER_MS);
  });
}

function selects(budget: DisruptionBudget, pod: Pod): boolean {
  if (budget.spec?.selector == null) return false;
  return matchesSelector(selectorFromObject(budget.spec.selector).selector, pod.metadata.labels);
}

async function reconcileBudget(
  world: World,
  budget: DisruptionBudget,
): Promise<{ requeueAfterMs: number } | undefined> {
  const { disruptionBudgets, pods, runtime } = world;
  const now = runtime.clock.now();
  const chosen = pods
    .list(budget.metadata.namespace ?? '')
    .filter((pod) => selects(budget, pod) && !isOver(pod));
  const { expected, desired } = wanted(world, budget, chosen);
  let leftMs = Number.POSITIVE_INFINITY;
  const disrupted = Object.entries(budget.status?.disruptedPods ?? {}).filter(([name, since]) => {
    const pod = chosen.find((each) => each.metadata.name === name);
    const age = now - (parseTime(since) ?? 0);
    // One of a time to come was written when the clock was wrong.
    if (!pod || isDeleting(pod) || Math.abs(age) >= DISRUPTED_MS) return false;
    leftMs = Math.min(leftMs, DISRUPTED_MS - age);
    return true;
  });
  const gone = new Set(disrupted.map(([name]) => name));
  const healthy = chosen.filter(
    (pod) => isReady(pod) && !isDeleting(pod) && !gone.has(pod.metadata.name ?? ''),
  ).length;
  const allowed = expected <= 0 ? 0 : Math.max(0, healthy - desired);
  const generation = budget.metadata.generation ?? 0;
  await disruptionBudgets.setStatus(budget, {
    ...budget.status,
    ...(disrupted.length > 0
      ? { disruptedPods: Object.fromEntries(disrupted) }
      : { disruptedPods: undefined }),
    conditions: withCondition(
      budget.status?.conditions,
      {
        type: 'DisruptionAllowed',
        status: allowed > 0 ? 'True' : 'False',
        reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
        message: '',
        observedGeneration: generation,
      },
      formatTime(now),
    ),
    currentHealthy: healthy,
    desiredHealthy: desired,
    disruptionsAllowed: allowed,
    expectedPods: expected,
    observedGeneration: generation,
  });
  // Nothing else tells of a pod that was let go and stayed.
  return Number.isFinite(leftMs) ? { requeueAfterMs: leftMs } : undefined;
}

function isOver(pod: Pod): boolean {
  return pod.status?.phase === 'Succeeded' || pod.status?.phase === 'Failed';
}

/** A whole number of pods to keep is counted of the pods that are there; shares and losses, of what their owners ask for. */
function wanted(
  world: World,
  { spec }: DisruptionBudget,
  pods: readonly Pod[],
): { readonly expected: number; readonly desired: number } {
  if (spec.maxUnavailable != null) {
    const expected = replicasOf(world, pods);
    const lost = scaledValue(spec.maxUnavailable, expected, 'up') ?? 0;
    return { expected, desired: Math.max(0, expected - lost) };
  }
  const expected = typeof spec.minAvailable === 'string' ? replicasOf(world, pods) : pods.length;
  return { expected, desired: scaledValue(spec.minAvailable, expected, 'up') ?? 0 };
}

function replicasOf(world: World, pods: readonly Pod[]): number {
  const { replicaSets, deployments, statefulSets } = world;
  const replicas = new Map<string, number>();
  let alone = 0;
  for (const pod of pods) {
    const namespace = pod.metadata.namespace ?? '';
    const owner = controllerOf(pod);
    if (!owner) {
      alone += 1;
      continue;
    }
    if (owner.kind === 'StatefulSet')
      replicas.set(owner.uid, statefulSets.get(namespace, owner.name)?.spec.replicas ?? 1);
    else if (owner.kind === 'ReplicaSet') {
      const set = replicaSets.get(namespace, owner.name);
      const above = set && controllerOf(set);
      if (above?.kind === 'Deployment')
        replicas.set(above.uid, deployments.get(namespace, above.name)?.spec.replicas ?? 1);
      else replicas.set(owner.uid, set?.spec.replicas ?? 1);
    } else alone += 1;
  }
  return [...replicas.values()].reduce((sum, each) => sum + each, alone);
}
