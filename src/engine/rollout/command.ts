import type { Draft } from './draft.ts';
import { failStage, rollBack } from './rollback.ts';
import type { Mark, RolloutEvent } from './state.ts';

export type Command = Extract<
  RolloutEvent,
  | { readonly type: 'pause' | 'resume' | 'abort' | 'promote' | 'retry' | 'emergency' }
  | { readonly type: 'rollback' }
  | { readonly type: 'approve' | 'reject' }
  | { readonly type: 'skip' }
>;

/** What a person tells a rollout to do. Whether they may is for the hub to say, but for approvals, which name who may. */
export function command(draft: Draft, event: Command): void {
  const { state, now } = draft;
  const mark = (by: string, message: string | undefined): Mark => ({
    by,
    at: now,
    ...(message === undefined ? {} : { message }),
  });
  switch (event.type) {
    case 'pause':
      state.paused = mark(event.by, event.message);
      draft.record('RolloutPaused', `by ${event.by}`);
      return;
    case 'resume':
      delete state.paused;
      draft.record('RolloutResumed', `by ${event.by}`);
      return;
    case 'abort':
      if (state.phase === 'Succeeded' || state.phase === 'Aborted') return;
      state.phase = 'Aborted';
      state.finishedAt = now;
      draft.record('RolloutAborted', `by ${event.by}: every cluster keeps what it has`);
      return;
    case 'promote':
      if (state.phase !== 'Progressing') return;
      state.promoted = mark(event.by, event.message);
      delete state.paused;
      draft.record('RolloutPromoted', `by ${event.by}`);
      return;
    case 'emergency':
      state.emergency = mark(event.by, event.message);
      draft.record('EmergencyDeclared', `by ${event.by}`);
      return;
    case 'retry':
      retry(draft, event.by);
      return;
    case 'rollback':
      if (event.message !== undefined) draft.record('RollbackStarted', event.message);
      delete state.paused;
      rollBack(draft, event.scope ?? 'Fleet', currentStage(draft), event.by);
      return;
    case 'skip': {
      const cluster = state.clusters[event.cluster];
      if (!cluster) return;
      cluster.phase = 'Skipped';
      cluster.passedOver = true;
      cluster.message = `passed over by ${event.by}`;
      delete cluster.failed;
      draft.record('ClusterSkipped', `${event.cluster}: by ${event.by}`, { cluster: event.cluster });
      return;
    }
    default:
      answer(draft, event);
  }
}

/** The stage that is on, or the last one that began. */
function currentStage({ state }: Draft): number {
  const began = state.stages.findLastIndex(({ startedAt }) => startedAt !== undefined);
  return Math.max(0, began);
}

function retry(draft: Draft, by: string): void {
  const { state } = draft;
  if (state.phase === 'Succeeded' || state.phase === 'RollingBack') return;
  const again = new Set<number>();
  for (const cluster of Object.values(state.clusters)) {
    const { phase, passedOver } = cluster;
    if (phase !== 'Failed' && phase !== 'RolledBack' && passedOver !== true) continue;
    // A stage that was taken back passes its gates anew.
    if (phase === 'RolledBack') again.add(cluster.stage);
    else if (phase === 'Failed') cluster.anew = true;
    cluster.phase = 'Pending';
    delete cluster.startedAt;
    delete cluster.failed;
    delete cluster.passedOver;
    delete cluster.message;
  }
  for (const [index, stage] of state.stages.entries()) {
    if (stage.phase !== 'Failed' && !again.has(index)) continue;
    const { name, approved } = stage;
    state.stages[index] = {
      name,
      phase: 'Pending',
      batchStarted: 0,
      metrics: {},
      ...(approved ? { approved } : {}),
    };
  }
  delete state.failure;
  delete state.finishedAt;
  state.phase = 'Progressing';
  draft.record('RolloutRetried', `by ${by}`);
}

function answer(
  draft: Draft,
  { type, stage: name, person, message }: Extract<Command, { type: 'approve' | 'reject' }>,
): void {
  const { state, now } = draft;
  const index = state.stages.findIndex((stage) => stage.name === name);
  const stage = state.stages[index];
  const approval = draft.stageRules[index]?.approval;
  const refuse = (why: string): void =>
    draft.record('ApprovalRefused', `${person.user} for stage ${name}: ${why}`, { stage: name });
  if (!stage) {
    refuse(`there is no such stage, only ${state.stages.map((one) => one.name).join(', ')}`);
    return;
  }
  if (!approval) {
    refuse('the stage asks for no approval');
    return;
  }
  if (stage.phase !== 'Pending') {
    refuse('the stage has begun');
    return;
  }
  const { users = [], groups = [] } = approval;
  const open = users.length === 0 && groups.length === 0;
  const may =
    open || users.includes(person.user) || person.groups?.some((group) => groups.includes(group)) === true;
  if (!may) {
    refuse(`needs ${[...users, ...groups].join(' or ')}`);
    return;
  }
  if (type === 'reject') {
    failStage(draft, index, {
      reason: 'Rejected',
      message: `${person.user} said no${message === undefined ? '' : `: ${message}`}`,
      undo: false,
    });
    return;
  }
  stage.approved = { by: person.user, at: now, ...(message === undefined ? {} : { message }) };
  draft.record('StageApproved', `stage ${name} by ${person.user}`, { stage: name });
}
