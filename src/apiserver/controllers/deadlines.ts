import { type Clock, createAlarm } from '../../runtime/index.ts';

/** Things that fall due at some time, under one timer, which exists only while something waits. */
export interface Deadlines {
  /** `at` is wall time in milliseconds; it replaces an earlier one of the key. */
  set(key: string, at: number): void;
  clear(key: string): void;
  readonly size: number;
  stop(): void;
}

/** Timers of the platform end at 24 days, and wall time may be set meanwhile: longer waits are looked at again. */
const LONGEST_WAIT_MS = 6 * 3_600_000;

/**
 * Calls `due` with the keys whose time has come, which are then forgotten. Those that fall due within `toleranceMs` of
 * each other come together, the first of them as much too late, so that a steady stream costs one turn in that time.
 */
export function deadlines(
  clock: Clock,
  toleranceMs: number,
  due: (keys: readonly string[]) => void,
): Deadlines {
  const times = new Map<string, number>();
  const alarm = createAlarm(clock, fire);

  function arm(at: number): void {
    alarm.within(Math.min(Math.max(at - clock.now(), 0) + toleranceMs, LONGEST_WAIT_MS));
  }

  function fire(): void {
    const now = clock.now();
    const ready: string[] = [];
    let next = Number.POSITIVE_INFINITY;
    for (const [key, at] of times) {
      if (at <= now) ready.push(key);
      else if (at < next) next = at;
    }
    for (const key of ready) times.delete(key);
    if (next < Number.POSITIVE_INFINITY) arm(next);
    if (ready.length > 0) due(ready);
  }

  return {
    set(key, at) {
      times.set(key, at);
      arm(at);
    },
    clear(key) {
      times.delete(key);
      if (times.size === 0) alarm.cancel();
    },
    get size() {
      return times.size;
    },
    stop() {
      times.clear();
      alarm.cancel();
    },
  };
}
