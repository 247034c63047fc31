import { performance } from 'node:perf_hooks';
import type { Clock, Timer } from './clock.ts';

/** The clock of the machine. A pending timer keeps the process alive, as timers of Node do. */
export function systemClock(): Clock {
  return {
    now: () => Date.now(),
    monotonic: () => performance.now(),
    after(delayMs: number, callback: () => void): Timer {
      const handle = setTimeout(callback, Math.max(0, Math.min(delayMs, 0x7fffffff)));
      return { cancel: () => clearTimeout(handle) };
    },
    defer(callback: () => void): void {
      setImmediate(callback);
    },
  };
}
