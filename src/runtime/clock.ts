/** A pending callback. Cancelling one that has fired is a no-op. */
export interface Timer {
  cancel(): void;
}

/**
 * The only source of time. Milliseconds everywhere.
 *
 * `now` is wall time and may jump; `monotonic` never goes back and is for measuring and for deadlines.
 */
export interface Clock {
  /** Wall time, milliseconds since 1970-01-01T00:00:00Z. */
  now(): number;
  /** Milliseconds since an arbitrary start, never decreasing. */
  monotonic(): number;
  /** Calls `callback` once, `delayMs` from now (0 means the next turn at the earliest). */
  after(delayMs: number, callback: () => void): Timer;
  /** Calls `callback` at the end of the current turn of the event loop, before any timer: the point of group commit. */
  defer(callback: () => void): void;
}

/** What both clocks said at one moment. */
export interface ClockReading {
  readonly wall: number;
  readonly monotonic: number;
}

export function readClocks(clock: Pick<Clock, 'now' | 'monotonic'>): ClockReading {
  return { wall: clock.now(), monotonic: clock.monotonic() };
}

/** A wall clock that is only led to the right time differs by less between two looks. */
export const SLEWED_MS: number = 1_000;

/** By how much the wall clock was set between two readings, in milliseconds; 0 where it was not, or only led to the right time. */
export function clockSetBetween(before: ClockReading, after: ClockReading): number {
  const by = after.wall - before.wall - (after.monotonic - before.monotonic);
  return Math.abs(by) < SLEWED_MS ? 0 : by;
}

/** Resolves `delayMs` from now; rejects with the signal's reason when it is aborted first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(signal.reason);
      return;
    }
    const abort = (): void => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = clock.after(delayMs, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Whole-second UTC time as Kubernetes writes it in `metav1.Time`, for example `2026-01-02T03:04:05Z`. */
export function formatTime(epochMs: number): string {
  return `${new Date(Math.floor(epochMs / 1000) * 1000).toISOString().slice(0, 19)}Z`;
}

/** Microsecond UTC time as Kubernetes writes it in `metav1.MicroTime` (always six decimals). */
export function formatMicroTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, 23)}000Z`;
}

/** Milliseconds since the epoch for an RFC 3339 time; `undefined` when it is not one. */
export function parseTime(text: string | undefined | null): number | undefined {
  if (!text) return undefined;
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? undefined : ms;
}
