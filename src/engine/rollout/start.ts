import { scaledValue } from '../../schema/int-or-percent.ts';
import { type Draft, hasWindows, isReadyAt, isSettled, membersOf } from './draft.ts';
import { canGoOn, failCluster, timeText } from './judge.ts';
import { startOrder } from './stage-assignment.ts';
import type { ClusterProgress, StageProgress, Waiting } from './state.ts';

const DEFAULT_MAX_WAIT_S = 7 * 24 * 3600;

/** Starts as many clusters of a stage as all limits allow, and says what keeps the others. */
export function startClusters(draft: Draft, index: number, stage: StageProgress): void {
  const { state } = draft;
  const members = membersOf(draft, index);
  const waiting = members.filter(([, { phase }]) => phase === 'Pending' || phase === 'Skipped');
  if (waiting.length === 0 || !canGoOn(draft)) return;
  const rule = draft.stageRules[index];
  if (!rule) return;
  const byName = new Map(waiting);
  for (const name of startOrder(rule, [...byName.keys()])) {
    const cluster = byName.get(name);
    if (!cluster) continue;
    if (cluster.permitted === state.target) {
      begin(draft, name, cluster, stage);
      continue;
    }
    const closed = whyNotThis(draft, name, cluster, stage);
    if (closed) {
      if (cluster.phase !== 'Skipped') stage.waiting ??= closed;
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
  if (changes) {
    draft.effects.push({ type: 'release', cluster: name, revision: state.target });
    stage.batchStarted += 1;
    delete stage.batchDoneAt;
    const { startsPerMinute, jitterPercent = 0 } = state.strategy;
    if (startsPerMinute !== undefined)
      state.nextStartAt = now + Math.ceil((60_000 / startsPerMinute) * (1 + (jitterPercent / 100) * draft.random.next()));
  }
}

/** What keeps this one cluster from starting; others may go before it. */
function whyNotThis(draft: Draft, name: string, cluster: ClusterProgress, stage: StageProgress): Waiting | undefined {
  const { state, now } = draft;
  const facts = state.facts[name];
  if (!facts) return { reason: 'StaleStatus', message: `nothing is known of ${name}` };
  if (cluster.seen?.live !== true) {
    cluster.message = 'out of sight: it starts when it is seen again';
    if (state.strategy.unreachable === 'Skip') skip(draft, name, cluster, 'out of sight');
    return { reason: 'StaleStatus', message: `${name} is out of sight, and does not start before it is seen` };
  }
  if (!hasWindows(state, facts)) return undefined;
  const { current, next } = draft.windowsOf(facts);
  if (current) return undefined;
  const opens = next ? `opens at ${timeText(next.start)}` : 'does not open within two weeks';
  cluster.message = `outside of its windows; the next one ${opens}`;
  const { outside = 'Skip', maxWaitSeconds = DEFAULT_MAX_WAIT_S } = state.strategy.maintenance ?? {};
  if (outside === 'Skip') skip(draft, name, cluster, cluster.message);
  else if (cluster.phase === 'Pending') {
    const lastAt = (stage.startedAt ?? now) + maxWaitSeconds * 1000;
    if (now >= lastAt) failCluster(draft, name, cluster, `no window opened for it within ${maxWaitSeconds} s`);
    else draft.wake(lastAt);
  }
  return { reason: 'Window', message: `${name}: its window ${opens}`, ...(next ? { until: next.start } : {}) };
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
    return { reason: 'Rate', message: `the next cluster starts at ${new Date(state.nextStartAt).toISOString()}`, until: state.nextStartAt };
  const all = Object.entries(state.clusters);
  const groups = [
    { of: rule, clusters: members, where: 'of the stage' },
    { of: state.strategy, clusters: all, where: 'of all' },
  ];
  for (const { of, clusters, where } of groups) {
    const concurrency = limitOf(of?.maxConcurrency, clusters.length, 'up');
    const busy = clusters.filter(([, other]) => isBusy(other, state.target));
    if (busy.length >= concurrency)
      return { reason: 'Concurrency', message: `${busy.length} clusters ${where} are being changed or not known to be Ready, and no more may be` };
    const most = limitOf(of?.maxUnavailable, clusters.length, 'down');
    if (most === Number.POSITIVE_INFINITY) continue;
    const away = clusters.filter(([, other]) => isUnavailable(other));
    const more = isUnavailable(cluster) ? 0 : 1;
    if (away.length + more > most)
      return { reason: 'Unavailable', message: `${away.length} clusters ${where} are not known to be Ready, and no more than ${most} may be` };
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
  const busy = members.some(([, { phase }]) => phase === 'Updating' || phase === 'Held');
  if (busy) return { reason: 'Batch', message: `a batch of ${batch.size} is being changed` };
  stage.batchDoneAt ??= draft.now;
  const opensAt = stage.batchDoneAt + (batch.intervalSeconds ?? 0) * 1000;
  if (draft.now < opensAt)
    return { reason: 'Batch', message: `the next batch starts at ${timeText(opensAt)}`, until: opensAt };
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
  if (cluster.phase === 'Updating' || cluster.phase === 'Held' || cluster.phase === 'RollingBack') return true;
  return cluster.seen?.revision === undefined || !isReadyAt(cluster, cluster.seen.revision);
}

function limitOf(value: number | string | undefined, total: number, rounding: 'up' | 'down'): number {
  if (value === undefined) return Number.POSITIVE_INFINITY;
  return Math.max(1, scaledValue(value, total, rounding) ?? 1);
}
