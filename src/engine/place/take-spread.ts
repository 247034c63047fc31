import { has } from './cluster-set.ts';
import type { CompiledSpread } from './compile-placement.ts';
import type { Column } from './fleet-index.ts';
import type { PickOptions } from './pick.ts';

/** What was taken, by position. */
export interface Taken {
  readonly picked: number[];
  readonly stuck: boolean;
}

/**
 * Takes clusters one by one: always the best of those that break no rule. Groups that are still needed come in time, and no
 * group gets ahead of the others by more than its skew. `stuck`: the rules let no more in. `first` makes it begin with another
 * combination of groups; `undefined` where there are no more.
 */
export function takeSpread(
  order: readonly number[],
  limit: number,
  spread: readonly CompiledSpread[],
  columns: readonly Column[],
  { existing, placement }: PickOptions,
  first?: number,
): Taken | undefined {
  const queues = new Map<
    number,
    { readonly groups: readonly number[]; readonly members: number[]; next: number }
  >();
  for (const [place, at] of order.entries()) {
    let key = 0;
    for (const column of columns) key = key * (column.groups.length + 1) + (column.groupOf[at] ?? -1) + 1;
    const queue = queues.get(key);
    if (queue) queue.members.push(place);
    else
      queues.set(key, {
        groups: columns.map((column) => column.groupOf[at] ?? -1),
        members: [place],
        next: 0,
      });
  }
  const tallies = spread.map((constraint, index) => {
    const domains = new Set<number>();
    for (const { groups } of queues.values())
      if ((groups[index] ?? -1) >= 0) domains.add(groups[index] ?? -1);
    // Groups that were chosen are all used; of others there must be the minimum.
    const wanted = constraint.maxGroups < Infinity ? domains.size : constraint.minGroups;
    return {
      constraint,
      needed: Math.min(wanted, domains.size, limit),
      counts: new Map<number, number>(Array.from(domains, (group) => [group, 0])),
      least: 0,
      used: 0,
    };
  });
  const picked: number[] = [];
  const only = first === undefined ? undefined : [...queues.values()][first];
  if (first !== undefined && !only) return undefined;
  while (picked.length < limit) {
    let best: { groups: readonly number[]; members: number[]; next: number } | undefined;
    let bestRank = Infinity;
    let bestLoad = Infinity;
    for (const queue of queues.values()) {
      const place = queue.members[queue.next];
      if (place === undefined || (only && picked.length === 0 && queue !== only)) continue;
      let load = 0;
      let open = true;
      for (const [index, tally] of tallies.entries()) {
        const group = queue.groups[index] ?? -1;
        if (group < 0) continue;
        const { constraint, least, used } = tally;
        const before = tally.counts.get(group) ?? 0;
        if (!constraint.strict) {
          if (constraint.maxSkew < Infinity) load += before;
          continue;
        }
        if (before + 1 - least > constraint.maxSkew) open = false;
        else if (limit - picked.length <= tally.needed - used && before > 0) open = false;
        if (!open) break;
      }
      if (!open) continue;
      // Wishes decide between new clusters only: what is there stays.
      if (placement.sticky && has(existing, order[place] ?? 0)) load = -1;
      if (load < bestLoad || (load === bestLoad && place < bestRank)) {
        best = queue;
        bestRank = place;
        bestLoad = load;
      }
    }
    if (!best) return { picked, stuck: true };
    best.next += 1;
    picked.push(order[bestRank] ?? 0);
    for (const [index, tally] of tallies.entries()) {
      const group = best.groups[index] ?? -1;
      if (group < 0) continue;
      const before = tally.counts.get(group) ?? 0;
      tally.counts.set(group, before + 1);
      if (before === 0) tally.used += 1;
      if (before === tally.least) tally.least = Math.min(...tally.counts.values());
    }
  }
  return { picked, stuck: false };
}
