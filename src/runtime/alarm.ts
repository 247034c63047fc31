import type { Clock, Timer } from './clock.ts';

/** One timer for the earliest of several times. */
export interface Alarm {
  /** Rings `delayMs` from now at the latest. */
  within(delayMs: number): void;
  cancel(): void;
}

/**
 * Rings once for all that was asked since it rang last, and does not ring where nothing was. Who waits for a time of day says how
 * long that is now: the wall clock may be set while an alarm waits, and one of before that must not hold up one of after it.
 */
export function createAlarm(clock: Clock, ring: () => void): Alarm {
  let timer: Timer | undefined;
  let ringsAt = Number.POSITIVE_INFINITY;
  return {
    within(delayMs): void {
      const at = clock.monotonic() + delayMs;
      if (at >= ringsAt) return;
      timer?.cancel();
      ringsAt = at;
      timer = clock.after(delayMs, () => {
        timer = undefined;
        ringsAt = Number.POSITIVE_INFINITY;
        ring();
      });
    },
    cancel(): void {
      timer?.cancel();
      timer = undefined;
      ringsAt = Number.POSITIVE_INFINITY;
    },
  };
}
