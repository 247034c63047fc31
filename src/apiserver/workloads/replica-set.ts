import type { Controller } from '../../kube/controller.ts';
import { errorText, formatTime, parseTime } from '../../runtime/index.ts';
import { numberAt } from '../../schema/json.ts';
import { claim, selects } from './claim.ts';
import type { LooseCondition, Pod, ReplicaSet } from './kinds.ts';
import { controllerOf, isDeleting, keyOf, splitKey } from './owner.ts';
import {
  conditionOf,
  countPods,
  isActive,
  isReady,
  podFromTemplate,
  withCondition,
  withoutCondition,
} from './pod-state.ts';
import { slowStart } from './slow-start.ts';
import type { World } from './world.ts';

/** Pods report one by one; their owners count them once in this time. */
export const GATHER_MS = 20;

/** Names are cut so that the suffix that the server adds still fits. */
export function namePrefix(owner: { metadata: { name?: string } }): string {
  return `${(owner.metadata.name ?? '').slice(0, 57)}-`;
}

/** Keeps the asked number of pods for each ReplicaSet, and counts them. */
export function startReplicaSets(world: World): void {
  const { pods, replicaSets } = world;

  async function reconcile(key: string): Promise<{ requeueAfterMs?: number } | undefined> {
    const set = replicaSets.get(...splitKey(key));
    if (!set) return undefined;
    let mine = await claim(pods, replicaSets, set, set.spec.selector);
    let failure: unknown;
    if (!isDeleting(set)) {
      try {
        if (await scale(world, set, mine.filter(isActive))) {
          await pods.caughtUp();
          mine = pods.ownedBy(set.metadata.uid ?? '');
        }
      } catch (error) {
        failure = error;
        await pods.caughtUp();
        mine = pods.ownedBy(set.metadata.uid ?? '');
      }
    }
    const requeueAfterMs = await report(world, set, mine.filter(isActive), failure);
    if (failure !== undefined) throw failure;
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  const controller: Controller = world.control({
    name: 'replicaset',
    writes: [pods, replicaSets],
    reconcile: async (key) => reconcile(key),
  });
  replicaSets.onChange(({ object }) => controller.enqueue(keyOf(object)));
  pods.onChange(({ type, object, previous }) => {
    for (const each of previous && previous !== object ? [previous, object] : [object]) {
      const owner = controllerOf(each);
      if (owner?.kind === 'ReplicaSet') {
        // A pod that is gone is replaced at once; readiness is gathered.
        const now = type === 'deleted' || isDeleting(each);
        controller.enqueue(`${each.metadata.namespace ?? ''}/${owner.name}`, now ? 0 : GATHER_MS);
      } else if (owner === undefined && type !== 'deleted') {
        for (const set of replicaSets.list(each.metadata.namespace ?? ''))
          if (selects(set.spec.selector, each.metadata.labels)) controller.enqueue(keyOf(set));
      }
    }
  });
}

/** Creates or deletes pods; whether it did anything. */
async function scale(world: World, set: ReplicaSet, active: readonly Pod[]): Promise<boolean> {
  const { pods } = world;
  const wanted = set.spec.replicas ?? 1;
  const missing = wanted - active.length;
  if (missing > 0) {
    await slowStart(missing, () =>
      pods.create(podFromTemplate(set.spec.template, set, { generateName: namePrefix(set) })),
    );
    return true;
  }
  if (missing < 0) {
    const victims = rankForDeletion(active).slice(0, -missing);
    await Promise.all(victims.map((pod) => pods.remove(pod)));
    return true;
  }
  return false;
}

/** Pods to delete first come first: unassigned, pending, not ready, cheap to delete, restarted, young. */
export function rankForDeletion(pods: readonly Pod[]): Pod[] {
  const cost = (pod: Pod): number =>
    Number(pod.metadata.annotations?.['controller.kubernetes.io/pod-deletion-cost'] ?? 0) || 0;
  const phase = (pod: Pod): number => (pod.status?.phase === 'Running' ? 1 : 0);
  const restarts = (pod: Pod): number =>
    Math.max(0, ...(pod.status?.containerStatuses ?? []).map((each) => each.restartCount));
  const born = (pod: Pod): number => parseTime(pod.metadata.creationTimestamp) ?? 0;
  return [...pods].sort(
    (a, b) =>
      Number(Boolean(a.spec.nodeName)) - Number(Boolean(b.spec.nodeName)) ||
      phase(a) - phase(b) ||
      Number(isReady(a)) - Number(isReady(b)) ||
      cost(a) - cost(b) ||
      restarts(b) - restarts(a) ||
      born(b) - born(a) ||
      ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1),
  );
}

async function report(
  world: World,
  set: ReplicaSet,
  active: readonly Pod[],
  failure: unknown,
): Promise<number | undefined> {
  const now = world.runtime.clock.now();
  const minReady = set.spec.minReadySeconds ?? 0;
  const counts = countPods(active, minReady, now);
  const labels = Object.entries(set.spec.template.metadata?.labels ?? {});
  const fullyLabeled = active.filter((pod) =>
    labels.every(([key, value]) => pod.metadata.labels?.[key] === value),
  ).length;
  const failed: LooseCondition = {
    type: 'ReplicaFailure',
    status: 'True',
    reason: 'FailedCreate',
    message: failure === undefined ? '' : errorText(failure),
  };
  // The message may name a pod that differs at each try: what was told first stays, else every try would write.
  const told = conditionOf(set.status?.conditions, 'ReplicaFailure') !== undefined;
  const conditions =
    failure === undefined
      ? withoutCondition(set.status?.conditions, 'ReplicaFailure')
      : told
        ? (set.status?.conditions ?? [])
        : withCondition(set.status?.conditions, failed, formatTime(now));
  await world.replicaSets.setStatus(set, {
    ...set.status,
    replicas: active.length,
    fullyLabeledReplicas: fullyLabeled === 0 ? undefined : fullyLabeled,
    readyReplicas: counts.ready === 0 ? undefined : counts.ready,
    availableReplicas: counts.available === 0 ? undefined : counts.available,
    observedGeneration: numberAt(set, 'metadata', 'generation'),
    conditions: conditions.length === 0 ? undefined : conditions,
  });
  return Number.isFinite(counts.nextAvailableInMs) ? counts.nextAvailableInMs : undefined;
}
