import { errorText, type Runtime } from '../../runtime/index.ts';
import type { StoreEvent } from '../store/store.ts';

/**
 * Who is told of a change in one turn of the event loop. What is written to a connection leaves when the turn is over, so a
 * thousand watchers told in one would all have waited for the last of them, and whoever made the change for its answer.
 */
export interface FlushTurns {
  /** Calls `flush` now, or in one of the next turns where enough were told of these events in this one. */
  take(events: readonly StoreEvent[], flush: () => void): void;
}

/** About as many as share a connection of a usual client. */
const SHARE = 128;

export function flushTurns({ clock, log }: Pick<Runtime, 'clock' | 'log'>): FlushTurns {
  /** The events that are being told, and how many were told of them. */
  let telling: readonly StoreEvent[] | undefined;
  let told = 0;
  /** Each once, however many events have come meanwhile: a flush sends all that is there. */
  const waiting = new Set<() => void>();
  let isScheduled = false;

  function schedule(): void {
    if (isScheduled) return;
    isScheduled = true;
    clock.defer(next);
  }

  function next(): void {
    isScheduled = false;
    const turn: (() => void)[] = [];
    for (const flush of waiting) {
      if (turn.length === SHARE) break;
      turn.push(flush);
      waiting.delete(flush);
    }
    if (waiting.size > 0) schedule();
    for (const flush of turn) {
      try {
        flush();
      } catch (error) {
        // One connection must not keep the others from what is theirs.
        log.error('a watcher could not be told of changes', { error: errorText(error) });
      }
    }
  }

  return {
    take(events, flush) {
      if (events !== telling) {
        telling = events;
        told = 0;
      }
      told += 1;
      if (told <= SHARE) {
        waiting.delete(flush);
        flush();
        return;
      }
      waiting.add(flush);
      schedule();
    },
  };
}
