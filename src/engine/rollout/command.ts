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
  const mark = (by: string, message: string | undefined): Mark => ({ by, at: now, ...(message === undefined ? {} : { message }) });
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
  if (state.phase !== 'Failed' && state.phase !== 'RolledBack' && state.phase !== 'Aborted') return;
  for (const cluster of Object.values(state.clusters)) {
    if (cluster.phase === 'Updated' || cluster.phase === 'Updating') continue;
    const failed = cluster.phase === 'Failed';
    cluster.phase = 'Pending';
    // What has the revision already is watched anew: only its time begins again.
    if (failed) delete cluster.startedAt;
    delete cluster.failed;
    delete cluster.message;
  }
  for (const stage of state.stages) {
    if (stage.phase !== 'Failed') continue;
    stage.phase = stage.startedAt === undefined ? 'Pending' : 'Running';
    stage.metrics = {};
    delete stage.askedAt;
    delete stage.healthySince;
  }
  delete state.failure;
  delete state.finishedAt;
  state.phase = 'Progressing';
  draft.record('RolloutRetried', `by ${by}`);
}

function answer(draft: Draft, { type, stage: name, person, message }: Extract<Command, { type: 'approve' | 'reject' }>): void {
  const { state, now } = draft;
  const index = state.stages.findIndex((stage) => stage.name === name);
  const stage = state.stages[index];
  const approval = draft.stageRules[index]?.approval;
  const refuse = (why: string): void =>
    draft.record('ApprovalRefused', `${person.user} for stage ${name}: ${why}`, { stage: name });
  if (!stage || !approval) return refuse('the stage asks for no approval');
  if (stage.phase !== 'Pending') return refuse('the stage has begun');
  const { users = [], groups = [] } = approval;
  const open = users.length === 0 && groups.length === 0;
  const may = open || users.includes(person.user) || person.groups?.some((group) => groups.includes(group)) === true;
  if (!may) return refuse(`needs ${[...users, ...groups].join(' or ')}`);
  if (type === 'reject') {
    failStage(draft, index, { reason: 'Rejected', message: `${person.user} said no${message === undefined ? '' : `: ${message}`}`, undo: false });
    return;
  }
  stage.approved = { by: person.user, at: now, ...(message === undefined ? {} : { message }) };
  draft.record('StageApproved', `stage ${name} by ${person.user}`, { stage: name });
}
