import type { ClusterPhase, RolloutState, StagePhase, Waiting, WaitReason } from './state.ts';

/** A rollout for people: where it is, what it waits for, until when, and what to do. */
export interface RolloutStatus {
  readonly phase: RolloutWord;
  readonly reason: string;
  readonly message: string;
  readonly target: string;
  readonly stages: readonly StageStatus[];
  readonly clusters: ClusterCounts;
  /** Those that are neither done nor waiting for their turn, in name order. */
  readonly unsettled: readonly ClusterNote[];
}

export type RolloutWord = RolloutState['phase'] | 'Paused';

export interface StageStatus {
  readonly name: string;
  readonly phase: StagePhase;
  readonly clusters: number;
  readonly updated: number;
  readonly startedAt?: number;
  readonly doneAt?: number;
  readonly waiting?: Waiting & { readonly remedy: string };
}

export interface ClusterCounts {
  readonly total: number;
  readonly updated: number;
  readonly updating: number;
  readonly pending: number;
  readonly skipped: number;
  readonly failed: number;
  readonly rolledBack: number;
}

export interface ClusterNote {
  readonly cluster: string;
  readonly phase: ClusterPhase;
  readonly message: string;
}

/** What to do about it, for each thing that a stage can wait for. */
export const WAIT_REMEDIES: Readonly<Record<WaitReason, string>> = {
  Paused: 'resume it',
  Incident: 'close the incidents (kubectl get incidents -A), or take their severity out of pauseOnIncidents',
  StaleStatus: 'reconnect the clusters; or skip them, or promote the rollout to go on without knowing',
  EarlierNotReady: 'repair the clusters, roll back, or promote the rollout',
  Gate: 'nothing, if it will become true; or promote the rollout',
  Approval: 'approve or reject the stage',
  Window: 'wait for the window; in an emergency declare one, where the owner of the cluster allows it',
  Updating: 'nothing; look at the clusters if it takes long',
  Soaking: 'nothing; or promote the rollout',
  Analysis: 'nothing; see that the metric can be measured if it takes long',
  Batch: 'nothing',
  Rate: 'nothing',
  Concurrency: 'nothing; look at the clusters if it takes long',
  Unavailable: 'bring clusters back, or allow more to be unavailable',
};

export function rolloutStatus(state: RolloutState): RolloutStatus {
  const clusters = Object.entries(state.clusters);
  const count = (...phases: readonly ClusterPhase[]): number =>
    clusters.filter(([, { phase }]) => phases.includes(phase)).length;
  const stages = state.stages.map(({ name, phase, startedAt, doneAt, waiting }, index): StageStatus => {
    const members = clusters.filter(([, { stage }]) => stage === index);
    return {
      name,
      phase,
      clusters: members.length,
      updated: members.filter(([, cluster]) => cluster.phase === 'Updated').length,
      ...(startedAt === undefined ? {} : { startedAt }),
      ...(doneAt === undefined ? {} : { doneAt }),
      ...(waiting && state.phase === 'Progressing'
        ? { waiting: { ...waiting, remedy: WAIT_REMEDIES[waiting.reason] } }
        : {}),
    };
  });
  // The stage for those left over is no news while nobody is.
  const named = state.strategy.stages?.length ?? 0;
  const shown = stages.filter(({ clusters: size }, index) => size > 0 || index < named);
  const counts: ClusterCounts = {
    total: clusters.length,
    updated: count('Updated'),
    updating: count('Updating', 'Held'),
    pending: count('Pending'),
    skipped: count('Skipped'),
    failed: clusters.filter(([, { failed }]) => failed === true).length,
    rolledBack: count('RolledBack', 'RollingBack'),
  };
  const unsettled = clusters
    .filter(([, { phase }]) => phase !== 'Updated' && phase !== 'Pending' && phase !== 'RolledBack')
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([cluster, { phase, message = '' }]): ClusterNote => ({ cluster, phase, message }));
  return {
    ...wordOf(state, stages, counts),
    target: state.target,
    stages: shown,
    clusters: counts,
    unsettled,
  };
}

function wordOf(
  state: RolloutState,
  stages: readonly StageStatus[],
  { updated, total }: ClusterCounts,
): Pick<RolloutStatus, 'phase' | 'reason' | 'message'> {
  const { phase, failure, paused } = state;
  if (phase !== 'Progressing' || paused === undefined) {
    if (phase === 'Succeeded')
      return { phase, reason: 'Succeeded', message: `${updated} of ${total} clusters updated` };
    if (failure && phase !== 'Progressing')
      return { phase, reason: failure.reason, message: `stage ${failure.stage}: ${failure.message}` };
    if (phase !== 'Progressing')
      return { phase, reason: phase, message: `${updated} of ${total} clusters have the revision` };
  }
  const at =
    stages.find(({ phase: of, waiting }) => of !== 'Done' && waiting) ??
    stages.find(({ waiting }) => waiting);
  const word = paused === undefined ? phase : 'Paused';
  const progress = `${updated} of ${total} clusters updated`;
  if (!at?.waiting) return { phase: word, reason: word, message: progress };
  const { reason, message, remedy } = at.waiting;
  return {
    phase: word,
    reason,
    message: `${progress}; stage ${at.name}: ${message}. What to do: ${remedy}.`,
  };
}
