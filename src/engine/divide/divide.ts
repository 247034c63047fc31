import { balance, type Slot } from './balance.ts';
import { planReplicas } from './planner.ts';
import {
  type Division,
  type DivisionCluster,
  type DivisionRequest,
  isCount,
  requestProblems,
  type Share,
} from './request.ts';
import { sum } from './webster.ts';

/**
 * How many each cluster gets. Deterministic; never more than `total` (but for `Duplicated`). What does not fit anywhere is
 * `unassigned`, with the reason: whether a part is better than nothing is for the caller to say.
 */
export function divide(request: DivisionRequest): Division {
  const clusters = [...request.clusters].sort((a, b) => (a.name < b.name ? -1 : 1));
  const problems = requestProblems(request);
  if (problems.length > 0) {
    // A slip, or what one cluster says of itself, must not take away what runs.
    const shares = clusters.map(({ name }) =>
      share(name, kept(request.previous?.[name]), 'nothing is divided: what is there stays'),
    );
    return { clusters: shares, unassigned: 0, problem: problems.join('; ') };
  }
  switch (request.strategy ?? 'Balanced') {
    case 'Duplicated':
      return finished(
        request.total,
        clusters.map(({ name }) => share(name, request.total, 'all of them: every cluster gets them')),
        0,
      );
    case 'Planner':
      return byPlanner(request, clusters);
    case 'Whole':
      return asWhole(request, clusters);
    default:
      return byTiers(request, clusters);
  }
}

function kept(replicas: number | undefined): number {
  return replicas !== undefined && isCount(replicas) ? replicas : 0;
}

function share(cluster: string, replicas: number, reason: string): Share {
  return { cluster, replicas, reason };
}

function finished(total: number, clusters: readonly Share[], unassigned: number): Division {
  if (unassigned === 0) return { clusters, unassigned };
  const problem =
    clusters.length === 0
      ? `no cluster is there for ${total} replicas`
      : `${unassigned} of ${total} replicas fit nowhere: raise maxReplicas or weights, add clusters, or make room`;
  return { clusters, unassigned, problem };
}

function byPlanner(request: DivisionRequest, clusters: readonly DivisionCluster[]): Division {
  const { total, key, rebalance = false } = request;
  const { plan, overflow } = planReplicas(
    total,
    clusters.map((cluster) => ({
      ...cluster,
      weight: cluster.weight ?? 1,
      minReplicas: cluster.minReplicas ?? 0,
    })),
    key,
    rebalance,
  );
  const shares = clusters.map((cluster): Share => {
    const planned = plan.get(cluster.name) ?? 0;
    const over = overflow.get(cluster.name) ?? 0;
    const reason = `${planned} planned (${boundsText(cluster)})`;
    if (over === 0) return share(cluster.name, planned, reason);
    return {
      ...share(cluster.name, planned + over, `${reason}, ${over} more above its capacity`),
      overflow: over,
    };
  });
  return finished(total, shares, Math.max(0, total - sum([...plan.values()])));
}

/** One cluster takes all: the one that has them, as long as they fit, or else the first tier's with the most room. */
function asWhole(request: DivisionRequest, clusters: readonly DivisionCluster[]): Division {
  const { total, previous = {} } = request;
  const had = ({ name }: DivisionCluster): number => previous[name] ?? 0;
  const keeps = (cluster: DivisionCluster): boolean => request.mode !== 'Fresh' && had(cluster) > 0;
  const room = (cluster: DivisionCluster): number => capOf(cluster, had(cluster));
  const fitting = clusters.filter((cluster) => room(cluster) >= total);
  const [chosen] = [...fitting].sort(
    (a, b) =>
      Number(keeps(b)) - Number(keeps(a)) ||
      (a.tier ?? 0) - (b.tier ?? 0) ||
      (b.weight ?? 1) - (a.weight ?? 1) ||
      (room(a) === room(b) ? 0 : room(b) - room(a)),
  );
  const shares = clusters.map((cluster) => {
    if (cluster === chosen)
      return share(cluster.name, total, keeps(cluster) ? 'all: they are here already' : 'all: most room');
    const open = room(cluster);
    const reason = open < total ? `room for ${open} of ${total}` : `all are in ${chosen?.name}`;
    return share(cluster.name, 0, reason);
  });
  if (chosen || total === 0) return { clusters: shares, unassigned: 0 };
  const problem = `no cluster has room for all ${total} together: make room in one, or let them be divided`;
  return { clusters: shares, unassigned: total, problem };
}

/** Tier by tier. In steady mode what was divided stays in its tier; where it gets less, the last tier gives first. */
function byTiers(request: DivisionRequest, clusters: readonly DivisionCluster[]): Division {
  const { total } = request;
  const numbers = [...new Set(clusters.map(({ tier = 0 }) => tier))].sort((a, b) => a - b);
  const tiers = numbers.map((tier) => clusters.filter((cluster) => (cluster.tier ?? 0) === tier));
  const kept = tiers.map((tier) =>
    sum(tier.map((cluster) => Math.min(keptOf(request, cluster), capFor(request, cluster)))),
  );
  let excess = Math.max(0, sum(kept) - total);
  for (let index = kept.length - 1; index >= 0 && excess > 0; index--) {
    const taken = Math.min(excess, kept[index] ?? 0);
    kept[index] = (kept[index] ?? 0) - taken;
    excess -= taken;
  }
  const given = new Map<string, number>();
  let open = total - sum(kept);
  for (const [index, tier] of tiers.entries()) {
    const wanted = (kept[index] ?? 0) + open;
    const result = divideTier(request, tier, wanted);
    for (const [at, { name }] of tier.entries()) given.set(name, result[at] ?? 0);
    open = wanted - sum(result);
  }
  const severalTiers = numbers.length > 1;
  const shares = clusters.map((cluster) => {
    const replicas = given.get(cluster.name) ?? 0;
    return share(cluster.name, replicas, explain(request, cluster, replicas, severalTiers));
  });
  return finished(total, shares, open);
}

function divideTier(request: DivisionRequest, tier: readonly DivisionCluster[], total: number): number[] {
  const { strategy = 'Balanced', key } = request;
  const slots = tier.map((cluster): Slot => {
    const cap = capFor(request, cluster);
    const before = Math.min(keptOf(request, cluster), cap);
    const base = { name: cluster.name, min: Math.min(cluster.minReplicas ?? 0, cap), cap, kept: before };
    const weight = cluster.weight ?? 1;
    if (strategy !== 'DynamicWeight' && strategy !== 'Aggregated')
      return { ...base, votes: weight, shrinkVotes: weight };
    // Where nothing is known of the room, it counts as what is asked for.
    const room = cluster.available === undefined ? Math.min(cap - before, request.total) : cap - before;
    return { ...base, votes: room, fromKept: true, shrinkVotes: before };
  });
  if (strategy === 'StaticWeight' && slots.every(({ votes }) => votes === 0))
    return balance(
      total,
      slots.map((slot) => ({ ...slot, votes: 1 })),
      key,
    );
  if (strategy !== 'Aggregated') return balance(total, slots, key);
  return aggregate(total, slots, request.previous ?? {}, key);
}

/** The shortest run of clusters that has the room, those that have replicas already first, then the roomiest. */
function aggregate(
  total: number,
  slots: readonly Slot[],
  before: Readonly<Record<string, number>>,
  key: string,
): number[] {
  const kept = sum(slots.map((slot) => slot.kept));
  const shrinks = kept > total;
  const worth = (slot: Slot): number => (shrinks ? slot.shrinkVotes : slot.votes);
  const had = new Set(slots.filter(({ name }) => (before[name] ?? 0) > 0));
  const first = (slot: Slot): number => (!shrinks && had.has(slot) ? 1 : 0);
  const order = [...slots].sort(
    (a, b) => first(b) - first(a) || worth(b) - worth(a) || (a.name < b.name ? -1 : 1),
  );
  const needed = shrinks ? total : total - kept;
  const run = new Set<string>();
  let room = 0;
  for (const slot of order) {
    if (room >= needed) break;
    run.add(slot.name);
    room += worth(slot);
  }
  const chosen = slots.map((slot): Slot => {
    if (run.has(slot.name)) return slot;
    return { ...slot, votes: 0, ...(shrinks ? { kept: 0, cap: 0, min: 0 } : { min: 0 }) };
  });
  return balance(total, chosen, key);
}

/** What stays in a cluster if it can. */
function keptOf({ strategy, mode, previous }: DivisionRequest, { name }: DivisionCluster): number {
  return strategy === 'StaticWeight' || mode === 'Fresh' ? 0 : (previous?.[name] ?? 0);
}

/** The most that a cluster can have. Its room is what there is on top of what it has. */
function capOf({ maxReplicas, capacity, available }: DivisionCluster, before: number): number {
  const room = available === undefined ? Number.POSITIVE_INFINITY : available + before;
  return Math.min(maxReplicas ?? Number.POSITIVE_INFINITY, capacity ?? Number.POSITIVE_INFINITY, room);
}

function capFor(request: DivisionRequest, cluster: DivisionCluster): number {
  if (request.strategy === 'StaticWeight') return cluster.maxReplicas ?? Number.POSITIVE_INFINITY;
  return capOf(cluster, request.previous?.[cluster.name] ?? 0);
}

function boundsText({ weight = 1, minReplicas, maxReplicas, capacity, current }: DivisionCluster): string {
  const parts = [`weight ${weight}`];
  if (minReplicas !== undefined && minReplicas > 0) parts.push(`at least ${minReplicas}`);
  if (maxReplicas !== undefined) parts.push(`at most ${maxReplicas}`);
  if (capacity !== undefined) parts.push(`capacity ${capacity}`);
  if (current !== undefined) parts.push(`${current} running`);
  return parts.join(', ');
}

function explain(
  request: DivisionRequest,
  cluster: DivisionCluster,
  replicas: number,
  tiers: boolean,
): string {
  const { strategy = 'Balanced', previous } = request;
  const before = previous?.[cluster.name] ?? 0;
  const byRoom = strategy === 'DynamicWeight' || strategy === 'Aggregated';
  const parts: string[] = [];
  if (byRoom) parts.push(cluster.available === undefined ? 'room unknown' : `room for ${cluster.available}`);
  else parts.push(`weight ${cluster.weight ?? 1}`);
  if (tiers) parts.push(`tier ${cluster.tier ?? 0}`);
  const { minReplicas = 0, maxReplicas, capacity, available } = cluster;
  if (minReplicas > 0)
    parts.push(replicas <= minReplicas ? `at its minimum of ${minReplicas}` : `minimum ${minReplicas}`);
  if (maxReplicas !== undefined && replicas >= maxReplicas) parts.push(`at its maximum of ${maxReplicas}`);
  if (strategy !== 'StaticWeight') {
    if (capacity !== undefined && replicas >= capacity) parts.push(`at its capacity of ${capacity}`);
    else if (available !== undefined && replicas > 0 && replicas >= available + before)
      parts.push('no room for more');
  }
  if (previous && replicas !== before && strategy !== 'StaticWeight') parts.push(`had ${before}`);
  return parts.join(', ');
}
