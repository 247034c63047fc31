import { formatTime } from '../../runtime/clock.ts';
import { isPassing, nextSampleAt, timingOf } from './analysis.ts';
import { type Draft, hasWindows, isSettled, membersOf } from './draft.ts';
import { gateClosed } from './gates.ts';
import { canGoOn, judgeStage, standstill } from './judge.ts';
import { failStage } from './rollback.ts';
import { listText, notKnownToBeReady, startClusters, unsettledBefore } from './start.ts';
import type { StageProgress, Waiting } from './state.ts';

/** Does all that may be done now, stage by stage. */
export function advanceStages(draft: Draft): void {
  const { state } = draft;
  for (const [index, stage] of state.stages.entries()) {
    if (state.phase !== 'Progressing') return;
    if (isEmpty(draft, index, stage)) continue;
    advanceStage(draft, index, stage);
    if (stage.phase !== 'Done' && state.promoted === undefined) return;
  }
  finish(draft);
}

/** A stage without clusters keeps nobody waiting, and keeps its gates for those who join it later. */
function isEmpty(draft: Draft, index: number, { phase }: StageProgress): boolean {
  return phase === 'Pending' && membersOf(draft, index).length === 0;
}

function advanceStage(draft: Draft, index: number, stage: StageProgress): void {
  const { state, now } = draft;
  delete stage.waiting;
  if (stage.phase === 'Pending') {
    const waiting = mayBegin(draft, index, stage);
    if (waiting) {
      wait(draft, stage, waiting);
      return;
    }
    if (state.phase !== 'Progressing') return;
    stage.phase = 'Running';
    stage.startedAt = now;
    draft.record('StageStarted', `stage ${stage.name}: ${membersOf(draft, index).length} clusters`, {
      stage: stage.name,
    });
  }
  startClusters(draft, index, stage);
  judgeStage(draft, index);
  if (state.phase !== 'Progressing' || stage.phase === 'Done') return;
  measure(draft, stage);
  settle(draft, index, stage);
}

/** Why a stage does not begin yet. */
function mayBegin(draft: Draft, index: number, stage: StageProgress): Waiting | undefined {
  const { state } = draft;
  if (!canGoOn(draft)) return standstill(draft);
  if (state.promoted !== undefined) return undefined;
  const unsettled = unsettledBefore(draft, index);
  if (unsettled) return unsettled;
  const rule = draft.stageRules[index];
  for (const { expression, message } of rule?.gates ?? []) {
    const closed = gateClosed(expression, state, stage);
    if (closed !== undefined) return { reason: 'Gate', message: `${message ?? expression}: ${closed}` };
  }
  return rule?.approval ? askFor(draft, index, stage, rule.approval) : undefined;
}

function askFor(
  draft: Draft,
  index: number,
  stage: StageProgress,
  {
    users = [],
    groups = [],
    timeoutSeconds,
    autoApproveAfterSeconds,
  }: NonNullable<Draft['stageRules'][number]['approval']>,
): Waiting | undefined {
  const { now } = draft;
  if (stage.approved) return undefined;
  const by = [...users.map((user) => `user ${user}`), ...groups.map((group) => `group ${group}`)];
  const whom = by.length === 0 ? 'someone who may command the rollout' : by.join(' or ');
  if (stage.askedAt === undefined) {
    stage.askedAt = now;
    draft.record('ApprovalRequested', `stage ${stage.name} waits for ${whom}`, { stage: stage.name });
  }
  const autoAt =
    autoApproveAfterSeconds === undefined ? undefined : stage.askedAt + autoApproveAfterSeconds * 1000;
  const failsAt = timeoutSeconds === undefined ? undefined : stage.askedAt + timeoutSeconds * 1000;
  if (autoAt !== undefined && now >= autoAt && autoAt <= (failsAt ?? autoAt)) {
    stage.approved = { by: 'time', at: now };
    draft.record('StageApproved', `stage ${stage.name}: nobody objected in time`, { stage: stage.name });
    return undefined;
  }
  if (failsAt !== undefined && now >= failsAt) {
    failStage(draft, index, {
      reason: 'ApprovalTimedOut',
      message: `no approval within ${timeoutSeconds} s by ${whom}`,
      undo: false,
    });
    return undefined;
  }
  const until = Math.min(autoAt ?? Number.POSITIVE_INFINITY, failsAt ?? Number.POSITIVE_INFINITY);
  return {
    reason: 'Approval',
    message: `${whom} must approve`,
    ...(Number.isFinite(until) ? { until } : {}),
  };
}

/** Asks for samples while a stage runs. */
function measure(draft: Draft, stage: StageProgress): void {
  const { analysis } = draft.state.strategy;
  if (!analysis || stage.startedAt === undefined) return;
  const timing = timingOf(analysis, stage.startedAt);
  for (const { name } of analysis.metrics) {
    const progress = stage.metrics[name];
    const at = nextSampleAt(progress, timing);
    if (draft.now < at) {
      draft.wake(at);
      continue;
    }
    stage.metrics = { ...stage.metrics, [name]: { failures: 0, ...progress, askedAt: draft.now } };
    draft.effects.push({ type: 'measure', metric: name, stage: stage.name });
    draft.wake(nextSampleAt(stage.metrics[name], timing));
  }
}

/** Brings a stage to its end: all clusters settled, soaked, and what is measured right. */
function settle(draft: Draft, index: number, stage: StageProgress): void {
  const { state, now } = draft;
  const members = membersOf(draft, index);
  const open = members.filter(
    ([, { phase }]) =>
      phase === 'Pending' || phase === 'Updating' || phase === 'Held' || phase === 'RollingBack',
  );
  if (open.length > 0) {
    delete stage.healthySince;
    stage.phase = 'Running';
    stage.waiting ??= {
      reason: 'Updating',
      message: `${listText(open.map(([name]) => name))} ${open.length === 1 ? 'is' : 'are'} not done`,
    };
    return;
  }
  const skipped = members.filter(([, { phase, passedOver }]) => phase === 'Skipped' && passedOver !== true);
  if (
    skipped.length > 0 &&
    members.every(([, { phase }]) => phase !== 'Updated') &&
    state.promoted === undefined
  ) {
    // Where all were passed over, nothing was tried, and the next stage would go first.
    stage.waiting ??= {
      reason: 'StaleStatus',
      message: `${listText(skipped.map(([name]) => name))}: none could be tried yet`,
    };
    return;
  }
  if (stage.phase === 'Running') stage.phase = 'Soaking';
  const unsettled = members.filter(
    ([, cluster]) => cluster.phase === 'Updated' && !isSettled(cluster, state.target),
  );
  if (unsettled.length > 0 && state.promoted === undefined) {
    delete stage.healthySince;
    wait(draft, stage, notKnownToBeReady(unsettled));
    return;
  }
  stage.healthySince ??= now;
  const soakedAt = stage.healthySince + (draft.stageRules[index]?.soakSeconds ?? 0) * 1000;
  if (now < soakedAt && state.promoted === undefined) {
    wait(draft, stage, {
      reason: 'Soaking',
      message: `must stay Ready until ${formatTime(soakedAt)}`,
      until: soakedAt,
    });
    return;
  }
  if (!analysed(draft, stage)) return;
  stage.phase = 'Done';
  stage.doneAt = now;
  delete stage.waiting;
  draft.record('StageDone', `stage ${stage.name} is done`, { stage: stage.name });
}

function analysed(draft: Draft, stage: StageProgress): boolean {
  const { analysis } = draft.state.strategy;
  if (!analysis || draft.state.promoted !== undefined) return true;
  const timing = timingOf(analysis, stage.startedAt ?? draft.now);
  const missing = analysis.metrics.filter(({ name }) => {
    const samples = Object.entries(stage.metrics).filter(
      ([key, { sampledAt }]) => sampledAt !== undefined && (key === name || key.startsWith(`${name}/`)),
    );
    return samples.length === 0 || !samples.every(([, progress]) => isPassing(progress, timing, draft.now));
  });
  if (missing.length === 0) return true;
  const names = listText(missing.map(({ name, condition }) => `${name} ${condition}`));
  wait(draft, stage, { reason: 'Analysis', message: `no fresh sample yet with ${names}` });
  return false;
}

function wait(draft: Draft, stage: StageProgress, waiting: Waiting): void {
  if (draft.state.phase !== 'Progressing') return;
  stage.waiting = waiting;
  if (waiting.until !== undefined) draft.wake(waiting.until);
}

/** All stages are done: so is the rollout, when nobody was left behind. */
function finish(draft: Draft): void {
  const { state } = draft;
  if (state.stages.some((stage, index) => stage.phase !== 'Done' && !isEmpty(draft, index, stage))) return;
  const behind = Object.entries(state.clusters).filter(
    ([, { phase, passedOver }]) =>
      passedOver !== true &&
      (phase === 'Skipped' || phase === 'Pending' || phase === 'Updating' || phase === 'Held'),
  );
  const last = state.stages.at(-1);
  if (behind.length > 0) {
    const windows = behind.flatMap(([name]) => {
      const facts = state.facts[name];
      return facts && hasWindows(state, facts)
        ? [draft.windowsOf(facts).next?.start ?? Number.POSITIVE_INFINITY]
        : [];
    });
    const until = Math.min(...windows);
    const names = listText(behind.map(([name]) => name));
    if (last)
      wait(draft, last, {
        reason: windows.length > 0 ? 'Window' : 'StaleStatus',
        message: `${names}: passed over, to catch up when ${windows.length > 0 ? 'their windows open' : 'they are seen'}`,
        ...(Number.isFinite(until) ? { until } : {}),
      });
    return;
  }
  if (Object.values(state.clusters).some(({ phase }) => phase === 'RollingBack')) return;
  state.phase = 'Succeeded';
  state.finishedAt = draft.now;
  state.stable = state.target;
  draft.record('RolloutSucceeded', `${state.target} is everywhere`);
}
