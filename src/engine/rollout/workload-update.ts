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
  /** Since when all pods of the new template are ready. */
  readonly readySince?: number;
  /** Since when all pods of the step are available. */
  readonly availableSince?: number;
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

export const DEFAULT_UPDATE_TIMEOUT_S = 1800;

/** All pauses of an update together, in seconds. */
export function pausesOf({ strategy, canary }: WorkloadUpdate): number {
  if (strategy !== 'Canary') return 0;
  return (canary?.steps ?? []).reduce((sum, { pauseSeconds = 0 }) => sum + pauseSeconds, 0);
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
  return progress.change === undefined ? { progress } : judge(progress, progress.change, input);
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
  if (!seen) return { progress: { template: progress.template } };
  const at = Math.min(change.step, steps.length);
  const step = steps[at];
  if (!step) return finish(progress, { ...change, step: at }, seen, input);
  const pods = podsOf(step.weight, seen.replicas);
  const name = `step ${at + 1} of ${steps.length} (${step.weight} %)`;
  const looked = lookAt({ ...change, step: at }, seen, now);
  const moved = { ...progress, change: looked.change };
  if (change.failed)
    return {
      progress: moved,
      limit: pods,
      word: { state: 'Degraded', reason: 'UpdateTimedOut', message: change.failed.message },
    };
  if (seen.paused)
    return {
      progress: { ...moved, change: { ...looked.change, waitingSince: now } },
      limit: pods,
      word: { state: 'Progressing', reason: 'Paused', message: `${name}: spec.paused is set` },
    };
  const { settled = 0 } = looked.change;
  if (seen.current && settled >= pods) {
    const availableSince = looked.change.availableSince ?? now;
    const until = availableSince + (step.pauseSeconds ?? 0) * 1000;
    if (now >= until) {
      const { availableSince: _since, ...rest } = looked.change;
      return judge(progress, { ...rest, step: at + 1, waitingSince: now }, input);
    }
    const message = `${name} holds with ${pods} of ${seen.replicas} pods until ${formatTime(until)}`;
    return {
      progress: { ...progress, change: { ...looked.change, availableSince } },
      limit: pods,
      wakeAt: until,
      word: { state: 'Progressing', reason: 'CanaryPause', message },
    };
  }
  const waiting = notAvailable(looked.change, now);
  const known = seen.current ? `${Math.min(settled, pods)} of ${pods} new pods are available` : 'it begins';
  const message = `${name}: ${known}`;
  const timeout = settings.timeoutSeconds ?? DEFAULT_UPDATE_TIMEOUT_S;
  const deadline = waiting.waitingSince + timeout * 1000;
  if (now >= deadline)
    return fail(progress, waiting, `stopped at ${message} after ${timeout} s`, input, pods);
  return {
    progress: { ...progress, change: waiting },
    limit: pods,
    wakeAt: Math.min(deadline, looked.wakeAt ?? deadline),
    word: { state: 'Progressing', reason: 'CanaryStep', message },
  };
}

/** Counts the pods of the new template that are available by the workload's own measure. */
function lookAt(
  change: ChangeUnderWay,
  { current, updated, ready, minReadySeconds }: SeenWorkload,
  now: number,
): { readonly change: ChangeUnderWay; readonly wakeAt?: number } {
  const { readySince: before, settled: _settled, ...rest } = change;
  if (!current) return { change };
  if (minReadySeconds === 0) return { change: { ...rest, settled: ready } };
  // One look tells of no single pod since when it is ready: all that are there count together.
  if (ready < updated || updated === 0)
    return { change: { ...rest, settled: Math.min(change.settled ?? 0, ready) } };
  const readySince = change.settled === updated ? (before ?? now) : (before ?? now);
  const dueAt = readySince + minReadySeconds * 1000;
  if (now >= dueAt) return { change: { ...rest, readySince, settled: updated } };
  return {
    change: { ...rest, readySince, ...(change.settled === undefined ? {} : { settled: change.settled }) },
    wakeAt: dueAt,
  };
}

/** Pods that were available count as waited for again, without the time in which they were. */
function notAvailable(change: ChangeUnderWay, now: number): ChangeUnderWay {
  const { availableSince, ...rest } = change;
  return availableSince === undefined
    ? change
    : { ...rest, waitingSince: rest.waitingSince + now - availableSince };
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
    return { progress: done };
  }
  const atOnce = settings.strategy === 'AllAtOnce' ? { atOnce: true } : {};
  const { availableSince: _available, readySince: _ready, settled: _settled, ...rest } = change;
  if (change.failed) {
    const word = { state: 'Degraded', reason: 'UpdateTimedOut', message: change.failed.message } as const;
    return { progress: { ...progress, change: rest }, ...atOnce, word };
  }
  const waitingSince = seen.paused ? now : change.waitingSince;
  const timeout = settings.timeoutSeconds ?? DEFAULT_UPDATE_TIMEOUT_S;
  const deadline = waitingSince + timeout * 1000;
  const waiting = { ...rest, waitingSince };
  if (now >= deadline)
    return { ...fail(progress, waiting, `not done after ${timeout} s: ${seen.message}`, input), ...atOnce };
  return { progress: { ...progress, change: waiting }, ...atOnce, wakeAt: deadline };
}

function fail(
  progress: UpdateProgress,
  change: ChangeUnderWay,
  message: string,
  { order }: UpdateInput,
  limit?: number,
): UpdateMove {
  return {
    progress: { ...progress, change: { ...change, failed: { order, message } } },
    ...(limit === undefined ? {} : { limit }),
    word: { state: 'Degraded', reason: 'UpdateTimedOut', message },
  };
}
