import type { Clock, Timer } from './clock.ts';

interface Entry {
  readonly at: number;
  readonly sequence: number;
  readonly callback: () => void;
  cancelled: boolean;
}

/**
 * A clock that moves only when told to, so that a whole fleet runs deterministically in one process.
 *
 * Timers with the same due time fire in the order in which they were set. Between two timers everything that promises
 * can do is done (`settle`), so code under test sees the same interleaving in every run.
 */
export interface VirtualClock extends Clock {
  /** Runs promises and deferred callbacks until nothing is left to do at the current instant. */
  settle(): Promise<void>;
  /** Moves time forward by `durationMs`, firing what falls due on the way. */
  advance(durationMs: number): Promise<void>;
  /** Advances until `condition` holds; throws after `limitMs` of virtual time. Checked after every timer. */
  until(condition: () => boolean | Promise<boolean>, limitMs: number, what?: string): Promise<void>;
  /** Jumps wall time (not monotonic time) by `offsetMs`, which may be negative: a clock step. */
  jump(offsetMs: number): void;
  /** Number of timers waiting. */
  pending(): number;
}

/** `start` is the wall time at the beginning, milliseconds since the epoch. */
export function virtualClock(start: number = Date.UTC(2026, 0, 1)): VirtualClock {
  let elapsed = 0;
  let wallOffset = start;
  let sequence = 0;
  let timers: Entry[] = [];
  let deferred: (() => void)[] = [];

  /**
   * One macrotask of the real loop lets every promise job run that can: what is not done then waits for time, or for a deferred
   * callback.
   */
  async function settle(): Promise<void> {
    for (;;) {
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (deferred.length === 0) return;
      const batch = deferred;
      deferred = [];
      for (const callback of batch) callback();
    }
  }

  function nextDue(limit: number): Entry | undefined {
    timers = timers.filter((timer) => !timer.cancelled);
    let best: Entry | undefined;
    for (const timer of timers) {
      if (timer.at > limit) continue;
      if (!best || timer.at < best.at || (timer.at === best.at && timer.sequence < best.sequence))
        best = timer;
    }
    return best;
  }

  function fire(entry: Entry): void {
    elapsed = Math.max(elapsed, entry.at);
    entry.cancelled = true;
    entry.callback();
  }

  return {
    now: () => wallOffset + elapsed,
    monotonic: () => elapsed,
    after(delayMs: number, callback: () => void): Timer {
      const entry: Entry = {
        at: elapsed + Math.max(0, delayMs),
        sequence: sequence++,
        callback,
        cancelled: false,
      };
      timers.push(entry);
      return {
        cancel: () => {
          entry.cancelled = true;
        },
      };
    },
    defer(callback: () => void): void {
      deferred.push(callback);
    },
    settle,
    async advance(durationMs: number): Promise<void> {
      const target = elapsed + durationMs;
      await settle();
      for (let due = nextDue(target); due; due = nextDue(target)) {
        fire(due);
        await settle();
      }
      elapsed = target;
    },
    async until(condition, limitMs, what = 'the condition'): Promise<void> {
      const target = elapsed + limitMs;
      await settle();
      while (!(await condition())) {
        const due = nextDue(target);
        if (!due) throw new Error(`${what} did not hold within ${limitMs} ms of virtual time`);
        fire(due);
        await settle();
      }
    },
    jump(offsetMs: number): void {
      wallOffset += offsetMs;
    },
    pending: () => timers.filter((timer) => !timer.cancelled).length,
  };
}
