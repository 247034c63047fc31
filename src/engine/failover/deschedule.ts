/** What is known of the replicas of one workload in one cluster. */
export interface PlacedReplicas {
  readonly cluster: string;
  readonly replicas: number;
  readonly ready: number;
  /** Replicas that no node took, by the time since when (milliseconds). */
  readonly pending: readonly { readonly count: number; readonly since: number }[];
}

export interface Descheduling {
  /** The most that may stay, by cluster, where that is less than what is there: a `capacity` for the next division. */
  readonly capacity: Readonly<Record<string, number>>;
  /** When more will have waited long enough. */
  readonly nextAt?: number;
}

const PENDING_S = 300;

/**
 * Takes back replicas that have waited for a node for too long, so that they can be divided anew. What is ready stays, and
 * so does what waits for less. For divisions that go by room; those by weights alone would give it back.
 */
export function deschedule(
  placed: readonly PlacedReplicas[],
  now: number,
  pendingSeconds: number = PENDING_S,
): Descheduling {
  const capacity: Record<string, number> = {};
  let nextAt: number | undefined;
  for (const { cluster, replicas, ready, pending } of placed) {
    let stuck = 0;
    for (const { count, since } of pending) {
      const until = since + pendingSeconds * 1000;
      if (until <= now) stuck += count;
      else nextAt = Math.min(nextAt ?? until, until);
    }
    const stays = Math.max(replicas - stuck, ready);
    if (stays < replicas) capacity[cluster] = stays;
  }
  return { capacity, ...(nextAt === undefined ? {} : { nextAt }) };
}
