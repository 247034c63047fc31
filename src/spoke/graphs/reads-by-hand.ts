import { within } from '../../kube/deadline.ts';
import type { Clock } from '../../runtime/clock.ts';
import { errorText } from '../../runtime/log.ts';

/** What came of a read. */
export type ReadOutcome<T> = { readonly value: T } | { readonly problem: string };

/**
 * Reads where no watch tells: in the background, a few of a kind at a time, each within a time. Whoever asks is told when the answer is
 * there and asks again, so that an API which does not answer holds up nobody but those who need it.
 */
export interface ReadsByHand {
  /**
   * The answer. One that is older than {@link FRESH_MS} is read anew, and is good until that is done: whoever asks would otherwise
   * know nothing for a moment, and take it for a change. One that nobody asked for lately is none.
   */
  ask<T>(
    owner: string,
    key: string,
    kind: string,
    read: (signal: AbortSignal) => Promise<T>,
  ): ReadOutcome<T> | undefined;
  /** Forgets all of an owner, or one answer, which is another after a write. */
  forget(owner: string, key?: string): void;
  stop(): void;
}

export const FRESH_MS = 15_000;
const FORGOTTEN_MS = 60_000;
const READ_MS = 5_000;
const AT_ONCE_OF_A_KIND = 8;

interface Entry {
  outcome: ReadOutcome<unknown> | undefined;
  /** Of the outcome. */
  at: number;
  running: boolean;
}

interface Lane {
  running: number;
  readonly waiting: (() => void)[];
}

export function createReadsByHand(clock: Clock, onDone: (owner: string) => void): ReadsByHand {
  const entries = new Map<string, Map<string, Entry>>();
  const lanes = new Map<string, Lane>();
  let stopped = false;

  function take(kind: string, work: () => Promise<void>): void {
    const lane = lanes.get(kind) ?? { running: 0, waiting: [] };
    lanes.set(kind, lane);
    const begin = (): void => {
      lane.running += 1;
      work().finally(() => {
        lane.running -= 1;
        const next = lane.waiting.shift();
        if (next) next();
        else if (lane.running === 0) lanes.delete(kind);
      });
    };
    if (lane.running < AT_ONCE_OF_A_KIND) begin();
    else lane.waiting.push(begin);
  }

  return {
    ask<T>(owner: string, key: string, kind: string, read: (signal: AbortSignal) => Promise<T>) {
      const own = entries.get(owner) ?? new Map<string, Entry>();
      entries.set(owner, own);
      const entry: Entry = own.get(key) ?? { outcome: undefined, at: 0, running: false };
      own.set(key, entry);
      const age = clock.monotonic() - entry.at;
      if (age >= FORGOTTEN_MS) entry.outcome = undefined;
      const known = entry.outcome as ReadOutcome<T> | undefined;
      if (entry.running || (known && age < FRESH_MS)) return known;
      entry.running = true;
      take(kind, async () => {
        if (stopped || entries.get(owner)?.get(key) !== entry) return;
        let outcome: ReadOutcome<T>;
        try {
          outcome = { value: await within(clock, READ_MS, read) };
        } catch (error) {
          outcome = { problem: errorText(error) };
        }
        if (stopped || entries.get(owner)?.get(key) !== entry) return;
        entry.outcome = outcome;
        entry.at = clock.monotonic();
        entry.running = false;
        onDone(owner);
      });
      return known;
    },
    forget(owner, key) {
      if (key === undefined) entries.delete(owner);
      else entries.get(owner)?.delete(key);
    },
    stop() {
      stopped = true;
      entries.clear();
    },
  };
}
