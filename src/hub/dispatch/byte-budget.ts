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
  /** Spends bytes that are about to be sent; where there are none left, nothing is spent. */
  spend(spoke: string, bytes: number): BudgetSpent | undefined;
}

/** Counts in memory, an hour at a time: a hub that starts anew begins with a whole one. `perHour` says how many bytes a spoke may be sent. */
export function createByteBudget(clock: Clock, perHour: (spoke: string) => number | undefined): ByteBudget {
  const spentBy = new Map<string, Spent>();
  return {
    spend(spoke, bytes) {
      const bytesPerHour = perHour(spoke);
      if (bytesPerHour === undefined) {
        spentBy.delete(spoke);
        return undefined;
      }
      const now = clock.monotonic();
      const spending = spend({ bytesPerHour }, spentBy.get(spoke) ?? NOTHING_SPENT, now, bytes);
      if (spending.refused === undefined) {
        // Of spokes that are gone nothing is kept.
        if (!spentBy.has(spoke))
          for (const [other, { hour }] of spentBy) if (now - hour.since >= HOUR_MS) spentBy.delete(other);
        spentBy.set(spoke, spending.spent);
        return undefined;
      }
      const againMs = spending.retryAt - now;
      const message = `${bytes} bytes of content are due, and the ${bytesPerHour} of spec.bytesPerHour of SpokeCluster ${spoke} are spent; it goes on at ${formatTime(clock.now() + againMs)}, or once there are more`;
      return { message, againMs };
    },
  };
}
