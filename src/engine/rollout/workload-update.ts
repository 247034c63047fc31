import { formatTime } from '../../runtime/clock.ts';
import type { JsonValue } from '../../schema/json.ts';

/** How the pods of a workload change inside of one cluster when their template does. */
export interface WorkloadUpdate {
  /** `Rolling` (the default) is the workload's own way, `Canary` goes by steps, `AllAtOnce` replaces all pods at the same time. */
  readonly strategy?: 'Rolling' | 'Canary' | 'AllAtOnce';
  readonly canary?: { readonly steps: readonly CanaryStep[] };
  /** Pods that are not available after so long, pauses apart, stop the change where it is. 30 minutes by default. */
  readonly timeoutSeconds?: number;
}

export interface CanaryStep {
  /** Percentage of the pods that have the new template, rounded up. */
  readonly weight: number;
  /** How long it holds once they are available. */
  readonly pauseSeconds?: number;
}

/** How far a workload is. It is written on the workload itself, with the fields that hold it: whoever reads one reads both. */
export interface UpdateProgress {
  /** Digest of the pod template that is there, or comes. */
  readonly template: string;
  /** Digest of the one before: going back to it takes no steps. */
  readonly before?: string;
  readonly change?: ChangeUnderWay;
}

export interface ChangeUnderWay {
  /** Index of the step; the number of steps once all are done and the workload goes on by itself. */
  readonly step: number;
  /** Since when pods of this step are waited for, in milliseconds; time in which all were available is taken off. */
  readonly waitingSince: number;
  /** Pods of the new template that were available at the last look. */
  readonly settled?: number;
  /** Where pods must be ready for some time: how many there were at the last look, and since when all of them are. */
  readonly ready?: { readonly pods: number; readonly since: number };
  /** Since when all pods of the step are available. */
  readonly availableSince?: number;
  /** Since when somebody has it paused: no time in which anything is waited for. */
  readonly pausedSince?: number;
  readonly failed?: { readonly order: number; readonly message: string };
  /** What the fields say that hold it, in the workload's own spec. */
  readonly own?: { readonly [field: string]: JsonValue };
}

/** What is seen of a workload. */
export interface SeenWorkload {
  /** Whether its controller has taken notice of the newest spec: counts say nothing before. */
  readonly current: boolean;
  readonly replicas: number;
  /** Pods that have the new template, and those of them that are ready. */
  readonly updated: number;
  readonly ready: number;
  readonly minReadySeconds: number;
  /** All of it is there, as it shall be, and available. */
  readonly healthy: boolean;
  /** Somebody paused it in its spec. */
  readonly paused: boolean;
  readonly message: string;
}

export interface UpdateInput {
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly settings: WorkloadUpdate;
  /** Whether a number of pods can be held back. */
  readonly stepwise: boolean;
  /** Digest of the pod template that is wanted. */
  readonly template: string;
  /** Number of the order that wants it: a newer one is another try. */
  readonly order: number;
  /** Whether the template that is there is another one. Asked only where no progress is known. */
  readonly differs: () => boolean;
  /** Absent where the workload is not there. */
  readonly seen?: SeenWorkload;
}

export interface UpdateMove {
  readonly progress: UpdateProgress;
  /** Most pods that may have the new template now; the workload's own way where absent. */
  readonly limit?: number;
  /** Pods of the new template that are available. */
  readonly settled: number;
  /** All pods may be replaced at the same time. */
  readonly atOnce?: boolean;
  /** When it goes on by itself, milliseconds since the epoch. */
  readonly wakeAt?: number;
  /** What people read of it, instead of the health of the workload. */
  readonly word?: {
    readonly state: 'Progressing' | 'Degraded';
    readonly reason: string;
    readonly message: string;
  };
}

const DEFAULT_UPDATE_TIMEOUT_S = 1800;

/**
 * What is wrong with an update, each with its place; empty where nothing is. `timeoutSeconds` is how long a rollout waits for a
 * cluster, where there is one.
 */
export function updateProblems(
  { strategy, canary }: WorkloadUpdate,
  timeoutSeconds?: number,
): readonly string[] {
  const steps = strategy === 'Canary' ? (canary?.steps ?? []) : [];
  const problems = steps.flatMap(({ weight }, index) =>
    index > 0 && weight <= (steps[index - 1]?.weight ?? 0)
      ? [`canary.steps[${index}].weight: must be larger than that of the step before`]
      : [],
  );
  const pauses = steps.reduce((sum, { pauseSeconds = 0 }) => sum + pauseSeconds, 0);
  if (timeoutSeconds !== undefined && pauses >= timeoutSeconds)
    problems.push(
      `canary.steps: hold for ${pauses} s together, and the rollout gives up after ${timeoutSeconds} s: raise spec.rollout.timeoutSeconds`,
    );
  return problems;
}

/** Pods that a weight means: rounded up, so that the smallest step has one. */
export function podsOf(weight: number, replicas: number): number {
  return Math.min(replicas, Math.ceil((weight * replicas) / 100 - 1e-9));
}

/**
 * Moves a change on by what is seen. Holding is for the fields of the workload ({@link UpdateMove.limit}): nobody needs to be
 * there for it not to go on, and whoever comes back goes on from what stands on the workload.
 */
export function stepUpdate(before: UpdateProgress | undefined, input: UpdateInput): UpdateMove {
  const progress = begin(before, input);
  if (progress.change === undefined) return { progress, settled: 0 };
  // What is seen when a change begins is how it was before.
  const begins = before?.template !== progress.template;
  const { seen } = input;
  return judge(
    progress,
    progress.change,
    begins && seen ? { ...input, seen: { ...seen, current: false } } : input,
  );
}

function stepsOf({ settings, stepwise }: UpdateInput): readonly CanaryStep[] {
  return settings.strategy === 'Canary' && stepwise ? (settings.canary?.steps ?? []) : [];
}

function begin(before: UpdateProgress | undefined, input: UpdateInput): UpdateProgress {
  const { template, now, seen, order } = input;
  if (seen === undefined || (before === undefined && !input.differs())) return { template };
  if (before?.template !== template) {
    // What was not finished is no place to go back to.
    const stable = before?.change === undefined ? before?.template : before.before;
    const back = template === (before?.change === undefined ? before?.before : before.before);
    const own = before?.change?.own;
    return {
      template,
      ...(stable === undefined ? {} : { before: stable }),
      change: {
        step: back ? stepsOf(input).length : 0,
        waitingSince: now,
        ...(own === undefined ? {} : { own }),
      },
    };
  }
  const { change } = before;
  if (!change?.failed || change.failed.order === order) return before;
  const { failed: _failed, ...rest } = change;
  return { ...before, change: { ...rest, waitingSince: now } };
}

function judge(progress: UpdateProgress, change: ChangeUnderWay, input: UpdateInput): UpdateMove {
  const { settings, now } = input;
  const steps = stepsOf(input);
  const seen = input.seen;
  if (!seen) return { progress: { template: progress.template }, settled: 0 };
  const at = Math.min(change.step, steps.length);
  const step = steps[at];
  const counting = withPause({ ...change, step: at }, seen, now);
  if (!step) return finish(progress, counting, seen, input);
  const pods = podsOf(step.weight, seen.replicas);
  const name = `step ${at + 1} of ${steps.length} (${step.weight} %)`;
  const looked = lookAt(counting, seen, now);
  const { settled } = looked;
  const moved = { ...progress, change: looked.change };
  const held = { limit: pods, settled };
  if (change.failed)
    return {
      progress: moved,
      ...held,
      word: { state: 'Degraded', reason: 'WorkloadUpdateTimedOut', message: change.failed.message },
    };
  if (seen.paused)
    return {
      progress: moved,
      ...held,
      word: { state: 'Progressing', reason: 'Paused', message: `${name}: spec.paused is set` },
    };
  if (settled >= pods && (seen.current || change.availableSince !== undefined)) {
    const availableSince = looked.change.availableSince ?? now;
    const until = availableSince + (step.pauseSeconds ?? 0) * 1000;
    // Counts of an older spec let nothing go on; its controller says so when they are of this one.
    if (now >= until && seen.current) {
      const { availableSince: _since, ...rest } = looked.change;
      return judge(progress, { ...rest, step: at + 1, waitingSince: now }, input);
    }
    const message = `${name} holds with ${pods} of ${seen.replicas} pods until ${formatTime(until)}`;
    return {
      progress: { ...progress, change: { ...looked.change, availableSince } },
      ...held,
      ...(now >= until ? {} : { wakeAt: until }),
      word: { state: 'Progressing', reason: 'CanaryPause', message },
    };
  }
  const waiting = notAvailable(looked.change, now);
  const message = `${name}: ${Math.min(settled, pods)} of ${pods} new pods are available`;
  const timeout = settings.timeoutSeconds ?? DEFAULT_UPDATE_TIMEOUT_S;
  const deadline = waiting.waitingSince + timeout * 1000;
  if (now >= deadline)
    return { ...fail(progress, waiting, `stopped at ${message} after ${timeout} s`, input), ...held };
  return {
    progress: { ...progress, change: waiting },
    ...held,
    wakeAt: Math.min(deadline, looked.wakeAt ?? deadline),
    word: { state: 'Progressing', reason: 'CanaryStep', message },
  };
}

/** Counts the pods of the new template that are available by the workload's own measure. */
function lookAt(
  change: ChangeUnderWay,
  { current, updated, ready, minReadySeconds }: SeenWorkload,
  now: number,
): { readonly change: ChangeUnderWay; readonly settled: number; readonly wakeAt?: number } {
  const { ready: before, settled: known = 0, ...rest } = change;
  if (!current) return { change, settled: known };
  if (minReadySeconds === 0) return { change: { ...rest, settled: ready }, settled: ready };
  // One look tells of no single pod since when it is ready: all that are there count together.
  const settled = Math.min(known, ready);
  if (ready < updated || updated === 0) return { change: { ...rest, settled }, settled };
  const since = before?.pods === updated ? before.since : now;
  const dueAt = since + minReadySeconds * 1000;
  const counted = { ...rest, ready: { pods: updated, since } };
  return now >= dueAt
    ? { change: { ...counted, settled: updated }, settled: updated }
    : { change: { ...counted, settled }, settled, wakeAt: dueAt };
}

/** Pods that were available count as waited for again, without the time in which they were. */
function notAvailable(change: ChangeUnderWay, now: number): ChangeUnderWay {
  const { availableSince, ...rest } = change;
  return availableSince === undefined
    ? change
    : { ...rest, waitingSince: rest.waitingSince + now - availableSince };
}

/** While it is paused the time that it waits stands still; nothing is written for that but when it begins and ends. */
function withPause(change: ChangeUnderWay, { paused }: SeenWorkload, now: number): ChangeUnderWay {
  const { pausedSince, ...rest } = change;
  if (paused) return pausedSince === undefined ? { ...change, pausedSince: now } : change;
  return pausedSince === undefined
    ? change
    : { ...rest, waitingSince: rest.waitingSince + now - pausedSince };
}

/** All steps are done, or there are none: the workload goes on in its own way. */
function finish(
  progress: UpdateProgress,
  change: ChangeUnderWay,
  seen: SeenWorkload,
  input: UpdateInput,
): UpdateMove {
  const { settings, now } = input;
  const { template, before } = progress;
  if (seen.current && seen.healthy) {
    const done = { template, ...(before === undefined ? {} : { before }) };
    return { progress: done, settled: 0 };
  }
  const atOnce = settings.strategy === 'AllAtOnce' ? { atOnce: true } : {};
  const { availableSince: _available, ready: _ready, settled: _settled, ...rest } = change;
  if (change.failed) {
    const word = {
      state: 'Degraded',
      reason: 'WorkloadUpdateTimedOut',
      message: change.failed.message,
    } as const;
    return { progress: { ...progress, change: rest }, settled: 0, ...atOnce, word };
  }
  if (seen.paused) return { progress: { ...progress, change: rest }, settled: 0, ...atOnce };
  const timeout = settings.timeoutSeconds ?? DEFAULT_UPDATE_TIMEOUT_S;
  const deadline = rest.waitingSince + timeout * 1000;
  if (now >= deadline)
    return { ...fail(progress, rest, `not done after ${timeout} s: ${seen.message}`, input), ...atOnce };
  return { progress: { ...progress, change: rest }, settled: 0, ...atOnce, wakeAt: deadline };
}

function fail(
  progress: UpdateProgress,
  change: ChangeUnderWay,
  message: string,
  { order }: UpdateInput,
): UpdateMove {
  return {
    progress: { ...progress, change: { ...change, failed: { order, message } } },
    settled: 0,
    word: { state: 'Degraded', reason: 'WorkloadUpdateTimedOut', message },
  };
}
