import type { Clock, Timer } from '../runtime/clock.ts';

/**
 * Keys that ask for work. A key waits at most once, is handed out to one worker at a time, and is handed out again
 * after `done` when it was added meanwhile. Of several delayed asks the earliest wins; an ask for now wins over all.
 */
export interface WorkQueue {
  add(key: string, afterMs?: number): void;
  /** The next key, of those of the highest priority the one that was added first, or `undefined` when none is ready. */
  take(): string | undefined;
  /** Ends the work on a key that was taken. */
  done(key: string): void;
  /** Whether the key waits to be taken (delayed asks not counted). */
  waiting(key: string): boolean;
  /** Keys waiting or taken. */
  readonly busy: number;
  /** Whether no key waits, is taken, or was asked for with a delay. */
  readonly empty: boolean;
  /** Forgets all that waits and takes no more. */
  close(): void;
}

/**
 * `onReady` is called whenever a key becomes ready to be taken. Keys of a higher priority (0 where none is said) are always taken
 * first: it is asked when a key becomes ready, and again when somebody adds it while it waits.
 */
export function createWorkQueue(
  clock: Clock,
  onReady: () => void,
  priorityOf: (key: string) => number = () => 0,
): WorkQueue {
  const ready = createReadyKeys();
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
      ready.add(key, priorityOf(key));
      onReady();
    }
  }

  return {
    add(key, afterMs = 0) {
      if (closed || again.has(key)) return;
      if (ready.has(key)) {
        ready.add(key, priorityOf(key));
        return;
      }
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
      const key = ready.take();
      if (key !== undefined) taken.add(key);
      return key;
    },
    done(key) {
      taken.delete(key);
      if (!again.delete(key) || closed) return;
      ready.add(key, priorityOf(key));
      onReady();
    },
    waiting: (key) => ready.has(key) || again.has(key),
    get busy() {
      return ready.size + taken.size;
    },
    get empty() {
      return ready.size + taken.size + delayed.size === 0;
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

/** Keys by priority, and within one in the order in which they came. There are few priorities: mostly one. */
interface ReadyKeys {
  readonly size: number;
  has(key: string): boolean;
  /** One that is there keeps its place, but where its priority is another now. */
  add(key: string, priority: number): void;
  take(): string | undefined;
  clear(): void;
}

function createReadyKeys(): ReadyKeys {
  const priorities = new Map<string, number>();
  const lines = new Map<number, Set<string>>();
  /** The priorities that some key has, highest first. */
  let order: readonly number[] = [];

  function remove(key: string, priority: number): void {
    const line = lines.get(priority);
    line?.delete(key);
    priorities.delete(key);
    if (line?.size !== 0) return;
    lines.delete(priority);
    order = order.filter((other) => other !== priority);
  }

  return {
    get size() {
      return priorities.size;
    },
    has: (key) => priorities.has(key),
    add(key, priority) {
      const before = priorities.get(key);
      if (before === priority) return;
      if (before !== undefined) remove(key, before);
      priorities.set(key, priority);
      const line = lines.get(priority);
      if (line) line.add(key);
      else {
        lines.set(priority, new Set([key]));
        order = [...order, priority].sort((a, b) => b - a);
      }
    },
    take() {
      const [highest] = order;
      if (highest === undefined) return undefined;
      for (const key of lines.get(highest) ?? []) {
        remove(key, highest);
        return key;
      }
      return undefined;
    },
    clear() {
      priorities.clear();
      lines.clear();
      order = [];
    },
  };
}
