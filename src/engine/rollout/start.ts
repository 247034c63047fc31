import { formatTime } from '../../runtime/clock.ts';
import { scaledValue } from '../../schema/int-or-percent.ts';
import { type Draft, hasWindows, isReadyAt, isSettled, membersOf } from './draft.ts';
import { canGoOn, failCluster, standstill } from './judge.ts';
import { startOrder } from './stage-assignment.ts';
import type { ClusterProgress, StageProgress, Waiting } from './state.ts';

/** Before a cluster counts as out of sight: a hub that starts has not seen anybody yet. */
const AWAY_MS = 60_000;
const DEFAULT_MAX_WAIT_S = 7 * 24 * 3600;

/** Starts as many clusters of a stage as all limits allow, and says what keeps the others. */
export function startClusters(draft: Draft, index: number, stage: StageProgress): void {
  const { state } = draft;
  const members = membersOf(draft, index);
  const waiting = members.filter(
    ([, { phase, passedOver }]) => (phase === 'Pending' || phase === 'Skipped') && passedOver !== true,
  );
  if (waiting.length === 0) return;
  const stop = canGoOn(draft) ? unsettledBefore(draft, index) : standstill(draft);
  if (stop) {
    if (stage.phase !== 'Done') stage.waiting = stop;
    return;
  }
  const rule = draft.stageRules[index];
  if (!rule) return;
  // Nothing changes in those that have the revision already: they are only watched.
  for (const [name, cluster] of waiting)
    if (cluster.permitted === state.target) begin(draft, name, cluster, stage);
  const byName = new Map(waiting.filter(([, { permitted }]) => permitted !== state.target));
  for (const name of startOrder(rule, [...byName.keys()])) {
    const cluster = byName.get(name);
    if (!cluster) continue;
    const closed = whyNotThis(draft, name, cluster, stage);
    if (closed) {
      if (stage.phase !== 'Done') stage.waiting ??= closed;
      if (closed.until !== undefined) draft.wake(closed.until);
      continue;
    }
    const full = whyNotOneMore(draft, index, stage, cluster, members);
    if (full) {
      // Who catches up keeps nobody waiting, so it must not be what people read about.
      if (cluster.phase !== 'Skipped') stage.waiting = full;
      if (full.until !== undefined) draft.wake(full.until);
      return;
    }
    begin(draft, name, cluster, stage);
  }
}

function begin(draft: Draft, name: string, cluster: ClusterProgress, stage: StageProgress): void {
  const { state, now } = draft;
  const changes = cluster.permitted !== state.target;
  cluster.phase = 'Updating';
  cluster.permitted = state.target;
  cluster.startedAt = now;
  cluster.message = 'started';
  delete cluster.readySince;
  delete cluster.degradedSince;
  // Where the revision is already nothing will happen that could tell of it.
  if (isReadyAt(cluster, state.target)) draft.wake(now + 1);
  if (changes) {
    draft.effects.push({ type: 'release', cluster: name, revision: state.target });
    stage.batchStarted += 1;
    delete stage.batchDoneAt;
    const { startsPerMinute, jitterPercent = 0 } = state.strategy;
    if (startsPerMinute !== undefined)
      state.nextStartAt =
        now + Math.ceil((60_000 / startsPerMinute) * (1 + (jitterPercent / 100) * draft.random.next()));
  }
}

/** What keeps this one cluster from starting; others may go before it. */
function whyNotThis(
  draft: Draft,
  name: string,
  cluster: ClusterProgress,
  stage: StageProgress,
): Waiting | undefined {
  const { state, now } = draft;
  const facts = state.facts[name];
  if (!facts) return { reason: 'StaleStatus', message: `nothing is known of ${name}` };
  if (cluster.seen?.live !== true) {
    cluster.message = 'out of sight: it starts when it is seen again';
    cluster.awaySince ??= now;
    const skippedAt = cluster.awaySince + AWAY_MS;
    if (state.strategy.unreachable === 'Skip') {
      if (now >= skippedAt) skip(draft, name, cluster, 'out of sight');
      else draft.wake(skippedAt);
    }
    return {
      reason: 'StaleStatus',
      message: `${name} is out of sight, and does not start before it is seen`,
    };
  }
  delete cluster.awaySince;
  if (!hasWindows(state, facts)) return undefined;
  const { current, next } = draft.windowsOf(facts);
  if (current) return undefined;
  const opens = next ? `opens at ${formatTime(next.start)}` : 'does not open within two weeks';
  cluster.message = `outside of its windows; the next one ${opens}`;
  const { outside = 'Skip', maxWaitSeconds = DEFAULT_MAX_WAIT_S } = state.strategy.maintenance ?? {};
  if (outside === 'Skip') skip(draft, name, cluster, cluster.message);
  else if (cluster.phase === 'Pending') {
    const lastAt = (stage.startedAt ?? now) + maxWaitSeconds * 1000;
    if (now >= lastAt)
      failCluster(draft, name, cluster, `no window opened for it within ${maxWaitSeconds} s`);
    else draft.wake(lastAt);
  }
  return {
    reason: 'Window',
    message: `${name}: its window ${opens}`,
    ...(next ? { until: next.start } : {}),
  };
}

function skip(draft: Draft, name: string, cluster: ClusterProgress, why: string): void {
  if (cluster.phase === 'Skipped') return;
  cluster.phase = 'Skipped';
  draft.record('ClusterSkipped', `${name}: ${why}`, { cluster: name });
}

/** What keeps any cluster of the stage from starting. */
function whyNotOneMore(
  draft: Draft,
  index: number,
  stage: StageProgress,
  cluster: ClusterProgress,
  members: readonly (readonly [string, ClusterProgress])[],
): Waiting | undefined {
  const { state, now } = draft;
  const rule = draft.stageRules[index];
  const batch = batchFull(draft, stage, rule?.batch, members);
  if (batch && cluster.phase !== 'Skipped') return batch;
  if (now < state.nextStartAt)
    return {
      reason: 'Rate',
      message: `the next cluster starts at ${formatTime(state.nextStartAt)}`,
      until: state.nextStartAt,
    };
  const all = Object.entries(state.clusters);
  const groups = [
    { of: rule, clusters: members, where: 'of the stage' },
    { of: state.strategy, clusters: all, where: 'of all' },
  ];
  for (const { of, clusters, where } of groups) {
    if (of?.maxConcurrency === undefined && of?.maxUnavailable === undefined) continue;
    const concurrency = limitOf(of?.maxConcurrency, clusters.length, 'up');
    const busy = clusters.filter(([, other]) => isBusy(other, state.target));
    if (busy.length >= concurrency)
      return {
        reason: 'Concurrency',
        message: `${busy.length} clusters ${where} are being changed or not known to be Ready, and no more may be`,
      };
    const most = limitOf(of?.maxUnavailable, clusters.length, 'down');
    if (most === Number.POSITIVE_INFINITY) continue;
    const away = clusters.filter(([, other]) => isUnavailable(other));
    const more = isUnavailable(cluster) ? 0 : 1;
    if (away.length + more > most)
      return {
        reason: 'Unavailable',
        message: `${away.length} clusters ${where} are not known to be Ready, and no more than ${most} may be`,
      };
  }
  return undefined;
}

function batchFull(
  draft: Draft,
  stage: StageProgress,
  batch: { readonly size: number; readonly intervalSeconds?: number } | undefined,
  members: readonly (readonly [string, ClusterProgress])[],
): Waiting | undefined {
  if (!batch || stage.batchStarted < batch.size) return undefined;
  const busy = members.some(([, cluster]) => isBusy(cluster, draft.state.target));
  if (busy) return { reason: 'Batch', message: `a batch of ${batch.size} is being changed` };
  stage.batchDoneAt ??= draft.now;
  const opensAt = stage.batchDoneAt + (batch.intervalSeconds ?? 0) * 1000;
  if (draft.now < opensAt)
    return { reason: 'Batch', message: `the next batch starts at ${formatTime(opensAt)}`, until: opensAt };
  stage.batchStarted = 0;
  delete stage.batchDoneAt;
  return undefined;
}

/** Takes a place: being changed, or changed and not known to be Ready. */
function isBusy(cluster: ClusterProgress, target: string): boolean {
  const { phase } = cluster;
  if (phase === 'Updating' || phase === 'Held' || phase === 'RollingBack') return true;
  return phase === 'Updated' && !isSettled(cluster, target);
}

function isUnavailable(cluster: ClusterProgress): boolean {
  if (cluster.phase === 'Updating' || cluster.phase === 'Held' || cluster.phase === 'RollingBack')
    return true;
  // Where nothing is yet, or nobody knows what, nothing is lost while it waits.
  if (cluster.permitted === undefined) return false;
  return cluster.seen?.live !== true || cluster.seen.word !== 'Ready';
}

function limitOf(value: number | string | undefined, total: number, rounding: 'up' | 'down'): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, scaledValue(value, total, rounding) ?? 1);
}

/**
 * What of earlier stages is not known, at this moment, to be Ready with the revision: nothing more starts over it, unless
 * someone promoted the rollout.
 */
export function unsettledBefore({ state }: Draft, index: number): Waiting | undefined {
  if (state.promoted !== undefined) return undefined;
  const unsettled = Object.entries(state.clusters).filter(
    ([, cluster]) =>
      cluster.stage < index && cluster.phase === 'Updated' && !isSettled(cluster, state.target),
  );
  return unsettled.length === 0 ? undefined : notKnownToBeReady(unsettled);
}

export function notKnownToBeReady(clusters: readonly (readonly [string, ClusterProgress])[]): Waiting {
  const stale = clusters.filter(([, { seen }]) => seen?.live !== true).map(([name]) => name);
  if (stale.length > 0)
    return {
      reason: 'StaleStatus',
      message: `nothing is known now of ${listText(stale)}: what was seen before does not count`,
    };
  return {
    reason: 'EarlierNotReady',
    message: `not Ready any more: ${listText(clusters.map(([name]) => name))}`,
  };
}

/** The first names and how many more. */
export function listText(names: readonly string[]): string {
  const shown = names.slice(0, 5).join(', ');
  return names.length > 5 ? `${shown} and ${names.length - 5} more` : shown;
}
