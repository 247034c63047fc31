import { fnv1 } from './fnv.ts';

/** A cluster that KubeFed's planner divides to: its preference, and what is known of it. */
export interface PlannerCluster {
  readonly name: string;
  readonly weight: number;
  readonly minReplicas: number;
  /** Without it there is no upper bound. */
  readonly maxReplicas?: number;
  /** Replicas that run there now. */
  readonly current?: number;
  /** The most that can run there, known only once some could not be scheduled. */
  readonly capacity?: number;
}

export interface PlannerResult {
  readonly plan: ReadonlyMap<string, number>;
  /** What a cluster would get on top if it had the capacity. Users of the planner give it out all the same. */
  readonly overflow: ReadonlyMap<string, number>;
}

interface Share {
  readonly cluster: PlannerCluster;
  readonly hash: number;
  planned: number;
  /** Of what is planned, what was taken over from running replicas and not yet used up by a round. */
  kept: number;
}

/**
 * The planner of KubeFed's ReplicaSchedulingPreference. Clusters come by weight, the heaviest first, those of equal weight by
 * the FNV-1 hash of their name and `key` (`namespace/name` of the preference). Minima first, in that order; without `rebalance`
 * what runs already stays where it is; then rounds by weight, each share rounded up, until nothing changes.
 */
export function planReplicas(
  total: number,
  clusters: readonly PlannerCluster[],
  key: string,
  rebalance: boolean,
): PlannerResult {
  const shares = clusters
    .map((cluster): Share => ({ cluster, hash: fnv1(cluster.name + key), planned: 0, kept: 0 }))
    .sort((a, b) => b.cluster.weight - a.cluster.weight || a.hash - b.hash);
  let remaining = total;
  for (const share of shares) {
    const { minReplicas, capacity = Number.POSITIVE_INFINITY } = share.cluster;
    share.planned = Math.min(minReplicas, remaining, capacity);
    remaining -= share.planned;
  }
  if (!rebalance) remaining = keepCurrent(shares, remaining);
  const overflow = new Map<string, number>();
  remaining = distribute(shares, remaining, overflow);
  if (!rebalance) {
    for (const [name, over] of overflow) {
      const trimmed = Math.min(over, remaining);
      if (trimmed > 0) overflow.set(name, trimmed);
      else overflow.delete(name);
    }
  }
  return { plan: new Map(shares.map(({ cluster, planned }) => [cluster.name, planned])), overflow };
}

function keepCurrent(shares: readonly Share[], open: number): number {
  let remaining = open;
  for (const share of shares) {
    const { current = 0, maxReplicas, capacity } = share.cluster;
    if (current <= share.planned) continue;
    const target = Math.min(current, maxReplicas ?? current, capacity ?? current);
    const extra = Math.max(0, Math.min(target - share.planned, remaining));
    share.planned += extra;
    share.kept = extra;
    remaining -= extra;
  }
  return remaining;
}

function distribute(shares: readonly Share[], open: number, overflow: Map<string, number>): number {
  let remaining = open;
  let live = shares;
  for (let changed = true; changed && remaining > 0; ) {
    changed = false;
    const weights = live.reduce((all, { cluster }) => all + cluster.weight, 0);
    if (weights <= 0) break;
    const round = remaining;
    const next: Share[] = [];
    for (const share of live) {
      const { name, weight, maxReplicas, capacity } = share.cluster;
      let extra = Math.min(shareOf(round, weight, weights), remaining);
      const used = Math.min(extra, share.kept);
      if (used > 0) {
        share.kept -= used;
        extra -= used;
        changed = true;
      }
      let target = share.planned + extra;
      let full = false;
      if (maxReplicas !== undefined && target > maxReplicas) {
        target = maxReplicas;
        full = true;
      }
      if (capacity !== undefined && target > capacity) {
        overflow.set(name, target - capacity);
        target = capacity;
        full = true;
      }
      if (target > share.planned) changed = true;
      remaining -= target - share.planned;
      share.planned = target;
      if (!full) next.push(share);
    }
    live = next;
  }
  return remaining;
}

/** amount · weight / weights, rounded up, exactly. */
function shareOf(amount: number, weight: number, weights: number): number {
  const product = amount * weight;
  if (product <= Number.MAX_SAFE_INTEGER) return Math.ceil(product / weights);
  const divisor = BigInt(weights);
  return Number((BigInt(amount) * BigInt(weight) + divisor - 1n) / divisor);
}
