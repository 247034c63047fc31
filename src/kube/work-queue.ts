import type { Clock, Timer } from '../runtime/clock.ts';

/**
 * Keys that ask for work. A key waits at most once, is handed out to one worker at a time, and is handed out again
 * after `done` when it was added meanwhile. Of several delayed asks the earliest wins; an ask for now wins over all.
 */
export interface WorkQueue {
  add(key: string, afterMs?: number): void;
  /** The next key, in the order in which they were added, or `undefined` when none is ready. */
  take(): string | undefined;
  /** Ends the work on a key that was taken. */
  done(key: string): void;
  /** Whether the key waits to be taken (delayed asks not counted). */
  waiting(key: string): boolean;
  /** Keys waiting or taken. */
  readonly busy: number;
  /** Forgets all that waits and takes no more. */
  close(): void;
}

/** `onReady` is called whenever a key becomes ready to be taken. */
export function createWorkQueue(clock: Clock, onReady: () => void): WorkQueue {
  const ready = new Set<string>();
  const taken = new Set<string>();
  /** Asked for again while taken. */
  const again = new Set<string>();
  const delayed = new Map<string, { at: number; timer: Timer }>();
  let closed = false;

  function addNow(key: string): void {
    delayed.get(key)?.timer.cancel();
    delayed.delete(key);
    if (taken.has(key)) again.add(key);
    else {
      ready.add(key);
      onReady();
    }
  }

  return {
    add(key, afterMs = 0) {
      if (closed || ready.has(key) || again.has(key)) return;
      if (afterMs <= 0) {
        addNow(key);
        return;
      }
      const at = clock.monotonic() + afterMs;
      const earlier = delayed.get(key);
      if (earlier && earlier.at <= at) return;
      earlier?.timer.cancel();
      delayed.set(key, { at, timer: clock.after(afterMs, () => addNow(key)) });
    },
    take() {
      for (const key of ready) {
        ready.delete(key);
        taken.add(key);
        return key;
      }
      return undefined;
    },
    done(key) {
      taken.delete(key);
      if (!again.delete(key) || closed) return;
      ready.add(key);
      onReady();
    },
    waiting: (key) => ready.has(key) || again.has(key),
    get busy() {
      return ready.size + taken.size;
    },
    close() {
      closed = true;
      ready.clear();
      again.clear();
      for (const { timer } of delayed.values()) timer.cancel();
      delayed.clear();
    },
  };
}
