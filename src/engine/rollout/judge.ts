import { formatTime } from '../../runtime/clock.ts';
import { scaledValue } from '../../schema/int-or-percent.ts';
import { type Draft, hasWindows, isReadyAt, membersOf } from './draft.ts';
import { failStage, rollBackCluster } from './rollback.ts';
import type { ClusterProgress, Observation, Waiting } from './state.ts';

/** How long a cluster has to become Ready. */
export const DEFAULT_TIMEOUT_S = 1800;
const DEFAULT_DEGRADED_S = 60;
const CHECKPOINT_MS = 3 * 24 * 3600 * 1000;

/** A cluster with what was seen of it. */
export function seenAt(
  cluster: ClusterProgress,
  { cluster: _name, ...seen }: Observation,
  now: number,
): ClusterProgress {
  const before = cluster.seen;
  const liveSince = before?.live === true ? before.liveSince : now;
  return { ...cluster, seen: { ...seen, ...(seen.live && liveSince !== undefined ? { liveSince } : {}) } };
}

/** Moves every cluster on by what is known of it now. */
export function judgeClusters(draft: Draft): void {
  for (const [name, cluster] of Object.entries(draft.state.clusters)) {
    if (cluster.phase === 'Updating') judgeUpdating(draft, name, cluster);
    else if (cluster.phase === 'Updated') judgeDegraded(draft, name, cluster);
    else if (cluster.phase === 'Held') judgeHeld(draft, name, cluster);
    else if (
      cluster.phase === 'RollingBack' &&
      cluster.permitted !== undefined &&
      isReadyAt(cluster, cluster.permitted)
    ) {
      cluster.phase = 'RolledBack';
      cluster.doneAt = draft.now;
    }
  }
  for (const index of draft.state.stages.keys()) judgeStage(draft, index);
}

function judgeUpdating(draft: Draft, name: string, cluster: ClusterProgress): void {
  const { now, state } = draft;
  const { strategy, target } = state;
  if (isReadyAt(cluster, target)) {
    cluster.readySince ??= now;
    const doneAt = cluster.readySince + (strategy.readySeconds ?? 0) * 1000;
    if (now >= doneAt) {
      cluster.phase = 'Updated';
      cluster.doneAt = now;
      delete cluster.message;
      delete cluster.degradedSince;
      draft.record('ClusterUpdated', `${name} has the revision and is Ready`, about(draft, name, cluster));
      return;
    }
    draft.wake(doneAt);
  } else delete cluster.readySince;
  if (judgeDegraded(draft, name, cluster)) return;
  if (holdAtWindowEnd(draft, name, cluster)) return;
  const { seen, startedAt = now } = cluster;
  if (seen?.live !== true) {
    cluster.message = 'out of sight since it was started; nothing is known of it';
    return;
  }
  cluster.message =
    seen.revision === target ? (seen.message ?? seen.word) : (seen.claim ?? 'has not taken the revision yet');
  if (cluster.readySince !== undefined) return;
  const deadline =
    Math.max(startedAt, seen.liveSince ?? startedAt) + (strategy.timeoutSeconds ?? DEFAULT_TIMEOUT_S) * 1000;
  if (now >= deadline)
    failCluster(
      draft,
      name,
      cluster,
      `not Ready within ${strategy.timeoutSeconds ?? DEFAULT_TIMEOUT_S} s: ${cluster.message}`,
    );
  else draft.wake(deadline);
}

/** Whether it has been Degraded for too long with the new revision. */
function judgeDegraded(draft: Draft, name: string, cluster: ClusterProgress): boolean {
  const { now, state } = draft;
  const { seen } = cluster;
  if (seen?.live !== true || seen.revision !== state.target || seen.word !== 'Degraded') {
    delete cluster.degradedSince;
    return false;
  }
  if (state.phase !== 'Progressing') return false;
  cluster.degradedSince ??= now;
  const failsAt = cluster.degradedSince + (state.strategy.degradedSeconds ?? DEFAULT_DEGRADED_S) * 1000;
  if (now < failsAt) {
    draft.wake(failsAt);
    return false;
  }
  failCluster(draft, name, cluster, `Degraded: ${seen.message ?? 'no message'}`);
  return true;
}

/** What was begun in a window and is not done when it ends goes on, or stops where it is. */
function holdAtWindowEnd(draft: Draft, name: string, cluster: ClusterProgress): boolean {
  const policy = draft.state.strategy.maintenance?.atWindowEnd ?? 'Continue';
  const facts = draft.state.facts[name];
  if (policy === 'Continue' || !facts || !hasWindows(draft.state, facts)) return false;
  const { openUntil, next } = draft.windowsOf(facts);
  if (openUntil !== undefined) {
    draft.wake(openUntil);
    return false;
  }
  cluster.phase = 'Held';
  cluster.heldAt = draft.now;
  const opens = next
    ? `; it goes on when the window opens at ${formatTime(next.start)}`
    : '; no window opens within two weeks';
  draft.effects.push({ type: 'hold', cluster: name, at: policy === 'Graceful' ? 'StepEnd' : 'Once' });
  if (policy === 'Checkpoint') {
    cluster.checkpointUntil = draft.now + CHECKPOINT_MS;
    draft.record(
      'CheckpointCreated',
      `${name} stopped within its change${opens}`,
      about(draft, name, cluster),
    );
  } else draft.record('ClusterHeld', `${name} stops after its step${opens}`, about(draft, name, cluster));
  cluster.message = `its window ended${opens}`;
  judgeHeld(draft, name, cluster);
  return true;
}

function judgeHeld(draft: Draft, name: string, cluster: ClusterProgress): void {
  const { now, state } = draft;
  const facts = state.facts[name];
  if (!facts || !canGoOn(draft)) return;
  const { checkpointUntil } = cluster;
  if (checkpointUntil !== undefined) {
    if (now >= checkpointUntil) {
      failCluster(
        draft,
        name,
        cluster,
        'its checkpoint expired before a window opened: retry in a window, or roll back',
      );
      return;
    }
    draft.wake(checkpointUntil);
  }
  const open = !hasWindows(state, facts) || draft.windowsOf(facts).current !== undefined;
  if (!open) {
    const { next } = draft.windowsOf(facts);
    if (next) draft.wake(next.start);
    return;
  }
  cluster.phase = 'Updating';
  cluster.startedAt = now;
  delete cluster.heldAt;
  delete cluster.checkpointUntil;
  draft.effects.push({ type: 'release', cluster: name, revision: state.target });
  draft.record('ClusterResumed', `${name} goes on`, about(draft, name, cluster));
}

/** Whether clusters may be started or go on at all. */
export function canGoOn({ state }: Draft): boolean {
  return state.phase === 'Progressing' && state.paused === undefined && openIncidents(state).length === 0;
}

/** Why no cluster may be started. */
export function standstill({ state }: Draft): Waiting {
  if (!state.paused)
    return { reason: 'Incident', message: `open incidents: ${openIncidents(state).join(', ')}` };
  const { by, message } = state.paused;
  return { reason: 'Paused', message: `paused by ${by}${message === undefined ? '' : `: ${message}`}` };
}

export function openIncidents({ incidents, strategy }: Draft['state']): readonly string[] {
  return incidents.filter((severity) => strategy.pauseOnIncidents?.includes(severity) === true);
}

/** What happens after a rollout ended is not its failure any more. */
export function failCluster(draft: Draft, name: string, cluster: ClusterProgress, message: string): void {
  if (draft.state.phase !== 'Progressing') return;
  cluster.phase = 'Failed';
  cluster.failed = true;
  cluster.message = message;
  delete cluster.checkpointUntil;
  draft.record('ClusterFailed', `${name}: ${message}`, about(draft, name, cluster));
  const { rollback } = draft.state.strategy;
  const changed = cluster.startedAt !== undefined;
  if (rollback?.automatic === true && rollback.scope === 'Cluster' && changed)
    rollBackCluster(draft, name, cluster);
}

/** A stage with more failures than it may have has failed. */
export function judgeStage(draft: Draft, index: number): void {
  const { state } = draft;
  const stage = state.stages[index];
  if (!stage || stage.phase === 'Failed' || state.phase !== 'Progressing') return;
  const members = membersOf(draft, index);
  const failed = members.filter(([, { failed: has }]) => has === true);
  const limit = draft.stageRules[index]?.maxFailures ?? state.strategy.maxFailures ?? 0;
  if (failed.length <= (scaledValue(limit, members.length, 'down') ?? 0)) return;
  const [name, cluster] = failed.at(-1) ?? ['', undefined];
  failStage(draft, index, {
    cluster: name,
    reason: 'ClusterFailed',
    message: `${failed.length} of ${members.length} clusters failed; ${name}: ${cluster?.message ?? ''}`,
    // Where nothing was changed there is nothing to take back.
    undo: failed.some(([, { startedAt }]) => startedAt !== undefined),
  });
}

function about(
  { state }: Draft,
  cluster: string,
  { stage }: ClusterProgress,
): { stage: string; cluster: string } {
  return { stage: state.stages[stage]?.name ?? '', cluster };
}
