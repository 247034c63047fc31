import { formatTime, parseTime } from '../../runtime/index.ts';
import type { Deployment, DeploymentStatus, LooseCondition, ReplicaSet } from './kinds.ts';
import { conditionOf, withCondition, withoutCondition } from './pod-state.ts';
import { rollingBounds } from './rolling-update.ts';

export interface DeploymentReport {
  readonly status: DeploymentStatus;
  /** When the progress deadline is over, unless something moves before. */
  readonly deadlineInMs: number | undefined;
}

/** The status of a Deployment from its ReplicaSets. `fresh` is the one of the present template. */
export function deploymentStatus(
  deployment: Deployment,
  fresh: ReplicaSet | undefined,
  all: readonly ReplicaSet[],
  now: number,
): DeploymentReport {
  const old = deployment.status ?? {};
  const wanted = deployment.spec.replicas ?? 1;
  const sum = (count: (set: ReplicaSet) => number | undefined): number =>
    all.reduce((total, set) => total + (count(set) ?? 0), 0);
  const replicas = sum((set) => set.status?.replicas);
  const asked = sum((set) => set.spec.replicas);
  const available = sum((set) => set.status?.availableReplicas);
  const counts = {
    observedGeneration: deployment.metadata.generation,
    replicas: orAbsent(replicas),
    updatedReplicas: orAbsent(fresh?.status?.replicas ?? 0),
    readyReplicas: orAbsent(sum((set) => set.status?.readyReplicas)),
    availableReplicas: orAbsent(available),
    unavailableReplicas: orAbsent(Math.max(0, asked - available)),
  };
  const time = formatTime(now);
  let conditions = old.conditions ?? [];
  conditions = withCondition(conditions, availability(wanted, rollingBounds(deployment), available), time);

  const complete =
    fresh !== undefined &&
    (fresh.status?.replicas ?? 0) === wanted &&
    replicas === wanted &&
    available === wanted;
  const before = conditionOf(conditions, 'Progressing');
  const moved =
    (counts.updatedReplicas ?? 0) > (old.updatedReplicas ?? 0) ||
    (counts.readyReplicas ?? 0) > (old.readyReplicas ?? 0) ||
    (counts.availableReplicas ?? 0) > (old.availableReplicas ?? 0) ||
    replicas - (counts.updatedReplicas ?? 0) < (old.replicas ?? 0) - (old.updatedReplicas ?? 0);
  const progress = progressing(deployment, fresh, { complete, moved, before, now });
  conditions = withCondition(conditions, progress.condition, time);
  if (progress.touched || conditionOf(conditions, 'Progressing') !== before)
    conditions = touched(conditions, 'Progressing', time);
  if (conditions !== old.conditions) conditions = stamped(conditions, old.conditions, time);

  const failure = all.map((set) => conditionOf(set.status?.conditions, 'ReplicaFailure')).find(Boolean);
  conditions = failure
    ? withCondition(conditions, { ...failure, lastTransitionTime: time }, time)
    : withoutCondition(conditions, 'ReplicaFailure');

  return {
    status: { ...old, ...(counts as DeploymentStatus), conditions },
    deadlineInMs: progress.deadlineInMs,
  };
}

function orAbsent(count: number): number | undefined {
  return count === 0 ? undefined : count;
}

function availability(wanted: number, bounds: { unavailable: number }, available: number): LooseCondition {
  return available >= wanted - bounds.unavailable
    ? {
        type: 'Available',
        status: 'True',
        reason: 'MinimumReplicasAvailable',
        message: 'Deployment has minimum availability.',
      }
    : {
        type: 'Available',
        status: 'False',
        reason: 'MinimumReplicasUnavailable',
        message: 'Deployment does not have minimum availability.',
      };
}

interface Progress {
  readonly complete: boolean;
  /** Whether a count got better since the last status. */
  readonly moved: boolean;
  readonly before: LooseCondition | undefined;
  readonly now: number;
}

function progressing(
  deployment: Deployment,
  fresh: ReplicaSet | undefined,
  { complete, moved, before, now }: Progress,
): { condition: LooseCondition; touched: boolean; deadlineInMs: number | undefined } {
  const name = fresh?.metadata.name ?? '';
  const said = (
    status: LooseCondition['status'],
    reason: string,
    message: string,
    touch = false,
    deadlineInMs?: number,
  ): { condition: LooseCondition; touched: boolean; deadlineInMs: number | undefined } => ({
    condition: { type: 'Progressing', status, reason, message },
    touched: touch,
    deadlineInMs,
  });
  if (deployment.spec.paused === true) return said('Unknown', 'DeploymentPaused', 'Deployment is paused');
  if (complete)
    return said('True', 'NewReplicaSetAvailable', `ReplicaSet "${name}" has successfully progressed.`);
  const limit = (deployment.spec.progressDeadlineSeconds ?? 600) * 1_000;
  const sameRollout = before?.message?.includes(`"${name}"`) === true && name !== '';
  if (!sameRollout)
    return name === ''
      ? said(
          'True',
          'ReplicaSetUpdated',
          `Deployment "${deployment.metadata.name}" is progressing.`,
          true,
          limit,
        )
      : said('True', 'NewReplicaSetCreated', `Created new replica set "${name}"`, true, limit);
  if (moved) return said('True', 'ReplicaSetUpdated', `ReplicaSet "${name}" is progressing.`, true, limit);
  // A rollout that was complete, and lost pods since, is not a rollout.
  if (before?.reason === 'NewReplicaSetAvailable' || before?.reason === 'ProgressDeadlineExceeded')
    return { condition: before, touched: false, deadlineInMs: undefined };
  const since = parseTime(before?.lastUpdateTime ?? before?.lastTransitionTime) ?? now;
  const left = since + limit - now;
  if (left <= 0)
    return said('False', 'ProgressDeadlineExceeded', `ReplicaSet "${name}" has timed out progressing.`);
  return {
    condition: before ?? {
      type: 'Progressing',
      status: 'True',
      reason: 'ReplicaSetUpdated',
      message: `ReplicaSet "${name}" is progressing.`,
    },
    touched: false,
    deadlineInMs: left,
  };
}

function touched(conditions: readonly LooseCondition[], type: string, time: string): LooseCondition[] {
  return conditions.map((each) => (each.type === type ? { ...each, lastUpdateTime: time } : each));
}

/** Conditions that changed get the time of the change. */
function stamped(
  conditions: readonly LooseCondition[],
  old: readonly LooseCondition[] | undefined,
  time: string,
): LooseCondition[] {
  return conditions.map((each) =>
    old?.includes(each) || each.lastUpdateTime === time ? each : { ...each, lastUpdateTime: time },
  );
}
