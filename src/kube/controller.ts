/** What a reconcile asks for besides being done. */
export interface Result {
  /** Reconcile again after this many milliseconds, even if nothing changes. */
  readonly requeueAfterMs?: number;
}

/** The one of two that is reconciled again first. */
export function sooner(one: Result | undefined, other: Result | undefined): Result | undefined {
  if (one?.requeueAfterMs === undefined || other?.requeueAfterMs === undefined) return one ?? other;
  return one.requeueAfterMs <= other.requeueAfterMs ? one : other;
}

/**
 * A queue of keys and the workers that reconcile them: one worker at most for a key at a time, a key added while it is
 * being reconciled is reconciled once more, failures are retried with exponential back-off and jitter.
 */
export interface Controller {
  /** Asks for a reconcile of `key`, now or `afterMs` from now (the earliest ask wins). */
  enqueue(key: string, afterMs?: number): void;
  /** Number of keys waiting or being reconciled, delayed ones not counted. */
  readonly busy: number;
  /** Takes no more work and resolves when the running reconciles have ended. */
  stop(): Promise<void>;
}
