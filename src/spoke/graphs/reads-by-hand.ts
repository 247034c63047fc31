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
  /** The answer, if it is not older than {@link FRESH_MS}; otherwise the read begins, unless it is under way. */
  ask<T>(
    owner: string,
    key: string,
    kind: string,
    read: (signal: AbortSignal) => Promise<T>,
  ): ReadOutcome<T> | undefined;
  forget(owner: string): void;
  stop(): void;
}

export const FRESH_MS = 15_000;
const READ_MS = 5_000;
const AT_ONCE_OF_A_KIND = 8;

interface Entry {
  outcome: ReadOutcome<unknown> | undefined;
  /** Of the outcome. */
  at: number;
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
      const before = own.get(key);
      if (before && (before.outcome === undefined || clock.monotonic() - before.at < FRESH_MS))
        return before.outcome as ReadOutcome<T> | undefined;
      const entry: Entry = { outcome: undefined, at: 0 };
      own.set(key, entry);
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
        onDone(owner);
      });
      return undefined;
    },
    forget(owner) {
      entries.delete(owner);
    },
    stop() {
      stopped = true;
      entries.clear();
    },
  };
}
