import { NOTHING_SPENT, type Spent, spend } from '../../engine/contract/allowance.ts';
import { type Clock, formatTime } from '../../runtime/clock.ts';

const HOUR_MS = 3_600_000;

/** Why content is not sent to a spoke now. */
export interface BudgetSpent {
  readonly message: string;
  readonly againMs: number;
}

/** How much content spokes are sent: a link may be metered, or narrow. */
export interface ByteBudget {
  /** Whether a spoke has a budget and nothing is known of what it was sent: since a start, or since it has one. */
  lacks(spoke: string): boolean;
  /** What it was sent before, as far as that can be found out. */
  recall(spoke: string, sent: Iterable<Sent>): void;
  /** Spends bytes that are about to be sent; where there are none left, nothing is spent. */
  spend(spoke: string, bytes: number): BudgetSpent | undefined;
}

export interface Sent {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly bytes: number;
}

/**
 * Counts in memory, an hour at a time, and goes on from what the spoke has of the last hour: nothing is written for it. `perHour` says
 * how many bytes a spoke may be sent.
 */
export function createByteBudget(clock: Clock, perHour: (spoke: string) => number | undefined): ByteBudget {
  const spentBy = new Map<string, Spent>();

  function keep(spoke: string, spent: Spent, now: number): void {
    // Of spokes that are gone nothing is kept.
    if (!spentBy.has(spoke))
      for (const [other, { hour }] of spentBy) if (now - hour.since >= HOUR_MS) spentBy.delete(other);
    spentBy.set(spoke, spent);
  }

  return {
    lacks: (spoke) => perHour(spoke) !== undefined && !spentBy.has(spoke),
    recall(spoke, sent) {
      // Two orders may have asked at the same time, and one have spent something since.
      if (spentBy.has(spoke)) return;
      const now = clock.monotonic();
      let [oldestMs, bytes] = [0, 0];
      for (const one of sent) {
        // A clock there that is ahead of this one's says no more than that it was lately.
        const agoMs = Math.max(0, clock.now() - one.at);
        if (agoMs >= HOUR_MS) continue;
        oldestMs = Math.max(oldestMs, agoMs);
        bytes += Math.max(0, one.bytes);
      }
      keep(spoke, { ...NOTHING_SPENT, hour: { since: now - oldestMs, bytes } }, now);
    },
    spend(spoke, bytes) {
      const bytesPerHour = perHour(spoke);
      if (bytesPerHour === undefined) {
        spentBy.delete(spoke);
        return undefined;
      }
      const now = clock.monotonic();
      const spending = spend({ bytesPerHour }, spentBy.get(spoke) ?? NOTHING_SPENT, now, bytes);
      if (spending.refused === undefined) {
        keep(spoke, spending.spent, now);
        return undefined;
      }
      const againMs = spending.retryAt - now;
      const message = `${bytes} bytes of content are due, and the ${bytesPerHour} of spec.bytesPerHour of SpokeCluster ${spoke} are spent; it goes on at ${formatTime(clock.now() + againMs)}, or once there are more`;
      return { message, againMs };
    },
  };
}
