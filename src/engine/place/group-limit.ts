import { chooseGroups, type GroupCandidate } from './choose-groups.ts';
import { type ClusterSet, has } from './cluster-set.ts';
import type { CompiledSpread } from './compile-placement.ts';
import type { Column } from './fleet-index.ts';
import type { Capacity, PickOptions } from './pick.ts';
import type { Ranking } from './rank.ts';

/** The groups of a constraint that has a limit on them; `undefined` where no choice keeps within its limits. */
export function groupsChosen(
  constraint: CompiledSpread,
  column: Column,
  allowed: ClusterSet,
  ranking: Ranking,
  { placement, capacity, fleet, existing }: PickOptions,
): ReadonlySet<number> | undefined {
  const members = new Map<number, number[]>();
  const kept = new Set<string>();
  for (const at of ranking.order) {
    if (!has(allowed, at)) continue;
    const group = column.groupOf[at] ?? -1;
    const list = members.get(group);
    if (list) list.push(at);
    else members.set(group, [at]);
    if (placement.sticky && has(existing, at)) kept.add(column.groups[group] ?? '');
  }
  const { minGroups, maxGroups } = constraint;
  const { minClusters, numberOfClusters = 0 } = placement;
  const room = (at: number): number => capacity?.available(fleet.entries[at]?.facts.name ?? '') ?? Infinity;
  const candidates = Array.from(members, ([group, list]) => ({
    name: column.groups[group] ?? '',
    value: list.length,
    weight: weightOf(
      list,
      ranking,
      capacity,
      room,
      Math.max(minClusters, minGroups, 1),
      Math.max(1, minGroups),
    ),
  }));
  const limits = { minGroups: Math.max(1, minGroups), maxGroups };
  const wanted = Math.max(minClusters, numberOfClusters);
  // A number of clusters that cannot be had is no reason to have none; a minimum is.
  const names =
    (wanted > 0 ? chooseGroups(candidates, { ...limits, minClusters: wanted }, kept) : undefined) ??
    (wanted === 0 || wanted > minClusters ? mostGroups(candidates, maxGroups, kept) : undefined);
  if (!names) return undefined;
  const chosen = new Set(names);
  return new Set([...members.keys()].filter((group) => chosen.has(column.groups[group] ?? '')));
}

/** As many groups as the limit lets in: those in use, then the best. */
function mostGroups(
  candidates: readonly GroupCandidate[],
  maxGroups: number,
  kept: ReadonlySet<string>,
): readonly string[] {
  return [...candidates]
    .sort(
      (a, b) =>
        Number(kept.has(b.name)) - Number(kept.has(a.name)) ||
        b.weight - a.weight ||
        (a.name < b.name ? -1 : 1),
    )
    .slice(0, maxGroups)
    .map(({ name }) => name);
}

/**
 * How good a group is. Each cluster that can hold everything counts a thousand, and the average score beside it; where replicas
 * are divided, a group counts for as many as it can take of its share.
 */
function weightOf(
  list: readonly number[],
  ranking: Ranking,
  capacity: Capacity | undefined,
  room: (at: number) => number,
  minClusters: number,
  minGroups: number,
): number {
  let sum = 0;
  if (capacity?.divided !== true) {
    let able = 0;
    for (const at of list) {
      if (capacity !== undefined && room(at) < capacity.replicas) continue;
      able += 1;
      sum += ranking.score(at);
    }
    return able === 0 ? 0 : able * 1000 + sum / able;
  }
  const share = Math.ceil(capacity.replicas / minGroups);
  let taken = 0;
  let available = 0;
  for (const at of list) {
    if (taken >= minClusters && available >= share) break;
    taken += 1;
    available += room(at);
    sum += ranking.score(at);
  }
  return Math.min(available, share) * 1000 + sum / Math.max(1, taken);
}
