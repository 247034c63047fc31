import { type Draft, membersOf } from './draft.ts';
import type { ClusterProgress } from './state.ts';
import type { RollbackScope } from './strategy.ts';

export interface StageFailure {
  readonly cluster?: string;
  readonly reason: string;
  readonly message: string;
  /** Whether something was changed that can be taken back. */
  readonly undo: boolean;
}

/** Ends the rollout at a stage; what goes back by itself is for the strategy to say. */
export function failStage(draft: Draft, index: number, failure: StageFailure): void {
  const { state, now } = draft;
  const stage = state.stages[index];
  if (!stage) return;
  stage.phase = 'Failed';
  delete stage.waiting;
  const { cluster, reason, message, undo } = failure;
  state.failure = {
    at: now,
    stage: stage.name,
    ...(cluster === undefined ? {} : { cluster }),
    reason,
    message,
  };
  state.phase = 'Failed';
  draft.record('RolloutFailed', `stage ${stage.name}: ${message}`, { stage: stage.name });
  const { automatic = false, scope = 'Stage' } = state.strategy.rollback ?? {};
  if (automatic && undo && scope !== 'Cluster') rollBack(draft, scope, index, 'automatic');
}

/** Sends clusters that were started back to what they had, at once and outside of windows too: what is broken does not wait. */
export function rollBack(
  draft: Draft,
  scope: Exclude<RollbackScope, 'Cluster'>,
  stage: number,
  by: string,
): void {
  const { state } = draft;
  const members = scope === 'Stage' ? membersOf(draft, stage) : Object.entries(state.clusters);
  const back = members.filter(
    ([, { startedAt, phase }]) => startedAt !== undefined && phase !== 'RolledBack',
  );
  if (back.length === 0) return;
  const where = scope === 'Stage' ? `of stage ${state.stages[stage]?.name ?? ''}` : 'of all stages';
  draft.record('RollbackStarted', `${back.length} clusters ${where} go back (${by})`);
  state.phase = 'RollingBack';
  if (scope === 'Fleet' && state.stable === state.target) {
    if (state.previous === undefined) delete state.stable;
    else state.stable = state.previous;
  }
  for (const [name, cluster] of back)
    if (cluster.phase !== 'RollingBack') rollBackCluster(draft, name, cluster);
}

export function rollBackCluster(draft: Draft, name: string, cluster: ClusterProgress): void {
  const { from } = cluster;
  delete cluster.readySince;
  delete cluster.degradedSince;
  delete cluster.heldAt;
  delete cluster.checkpointUntil;
  if (from === undefined || from === cluster.permitted) {
    if (from === undefined)
      draft.record('NothingToRollBackTo', `${name} had nothing before, and keeps what it has`, {
        cluster: name,
      });
    cluster.phase = 'RolledBack';
    return;
  }
  cluster.phase = 'RollingBack';
  cluster.permitted = from;
  draft.effects.push({ type: 'rollback', cluster: name, revision: from });
}

/** Ends a rollback when every cluster that went back is known to be Ready. */
export function finishRollback(draft: Draft): void {
  const { state } = draft;
  if (state.phase !== 'RollingBack') return;
  const clusters = Object.values(state.clusters);
  if (clusters.some(({ phase }) => phase === 'RollingBack')) return;
  state.phase = 'RolledBack';
  state.finishedAt = draft.now;
  draft.record('RolledBack', 'all clusters that went back are Ready');
}
