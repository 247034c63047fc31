import { chooseGroups } from './choose-groups.ts';
import {
  add,
  type ClusterSet,
  count,
  difference,
  emptySet,
  forEach,
  has,
  intersection,
} from './cluster-set.ts';
import type { CompiledPlacement, CompiledSpread } from './compile-placement.ts';
import type { RejectionBook } from './decision.ts';
import type { Column } from './fleet-index.ts';
import { type Ranking, rank, rounded } from './rank.ts';
import { DEFAULT_TERMS, type ScoringContext } from './score.ts';

/** What the chosen clusters have to carry. */
export interface Capacity {
  readonly replicas: number;
  /** Whether the replicas are divided between clusters; each has all of them otherwise. */
  readonly divided: boolean;
  /** How many a cluster can take, with those that it has. */
  readonly available: (cluster: string) => number;
}

export interface PickOptions extends ScoringContext {
  readonly placement: CompiledPlacement;
  readonly pool: ClusterSet;
  readonly tierOf: ((position: number) => number) | undefined;
  readonly disliked: ReadonlyMap<number, number>;
  readonly capacity: Capacity | undefined;
}

export interface Pick {
  readonly chosen: ClusterSet;
  /** What is missing; absent where the placement has all that it asks for. */
  readonly shortage: string | undefined;
  /** Present where clusters were compared. */
  readonly ranking: Ranking | undefined;
  readonly termNames: readonly string[];
  /** Says of those of the pool that are not chosen why. */
  explain(book: RejectionBook): void;
}

/** Picks clusters of a pool within the limits of number and spread. */
export function pick(options: PickOptions): Pick {
  const { placement, pool, fleet, existing, capacity } = options;
  const { numberOfClusters = Infinity, maxClusters, minClusters, spread } = placement;
  const size = count(pool);
  const limit = Math.min(numberOfClusters, maxClusters);
  const limiting = spread.filter(
    ({ strict, maxGroups, maxSkew }) => maxSkew < Infinity || (strict && maxGroups < Infinity),
  );
  const free = limit >= size && limiting.length === 0;
  const terms =
    placement.terms.length > 0 || free || options.placed === undefined ? placement.terms : DEFAULT_TERMS;
  const nameAt = (position: number): string => fleet.entries[position]?.facts.name ?? '';
  const available = capacity ? (at: number): number => capacity.available(nameAt(at)) : undefined;
  const grouped = spread.length > 0;
  const ranking =
    free && terms.length === 0
      ? undefined
      : rank({
          ...options,
          terms,
          sticky: placement.sticky,
          available,
          needed: free || grouped || limit >= size ? size : limit,
        });
  const notes: {
    readonly wants: string;
    readonly set: ClusterSet;
    readonly found: (at: number) => string;
  }[] = [];
  const columns = spread.map((constraint) => constraint.column(fleet));
  const groupName =
    (index: number) =>
    (at: number): string => {
      const column = columns[index];
      return `${spread[index]?.name}=${column?.groups[column.groupOf[at] ?? -1] ?? ''}`;
    };

  let shortage: string | undefined;
  let allowed = pool;
  if (ranking) {
    for (const [index, constraint] of spread.entries()) {
      const column = columns[index];
      if (!column || !constraint.strict || constraint.maxGroups === Infinity) continue;
      const groups = groupsChosen(constraint, column, allowed, ranking, options);
      if (groups === undefined) {
        shortage = `no ${constraint.name}s between ${constraint.minGroups} and ${constraint.maxGroups} have ${Math.max(1, minClusters)} clusters`;
        notes.push({ wants: shortage, set: difference(allowed, existing), found: () => '' });
        allowed = intersection(allowed, existing);
        continue;
      }
      const kept = emptySet(fleet.size);
      forEach(allowed, (at) => {
        if (groups.has(column.groupOf[at] ?? -1)) add(kept, at);
      });
      const out = difference(allowed, kept);
      allowed = kept;
      notes.push({
        wants: `at most ${constraint.maxGroups} ${constraint.name}`,
        set: out,
        found: groupName(index),
      });
    }
  }

  let chosen = allowed;
  let skewed = false;
  if (ranking && (limit < count(allowed) || spread.some(({ maxSkew }) => maxSkew < Infinity))) {
    const order = ranking.order.filter((at) => has(allowed, at));
    const result = grouped ? takeSpread(order, limit, spread, columns, options) : undefined;
    skewed = result?.stuck === true;
    const picked = result?.picked ?? order.slice(0, limit);
    if (!grouped && available && capacity?.divided === true)
      makeRoom(picked, order, capacity.replicas, available);
    chosen = emptySet(fleet.size);
    for (const at of picked) add(chosen, at);
  }

  const missing = shortage ?? minimumMissing(placement, columns, chosen);
  let blocked: ClusterSet | undefined;
  if (missing !== undefined) {
    // Too few groups: nothing new is placed, and nothing that is there is taken away for it.
    blocked = difference(chosen, existing);
    chosen = intersection(chosen, existing);
  }
  const total = count(chosen);
  const rest = difference(allowed, chosen);
  shortage =
    missing ??
    (numberOfClusters !== Infinity && total < numberOfClusters
      ? `${numberOfClusters} clusters are asked for and ${total} can be had`
      : total === 0
        ? 'no cluster fits'
        : roomMissing(chosen, capacity, available));

  return {
    chosen,
    shortage,
    ranking,
    termNames: [...terms.map(({ name }) => name), 'total'],
    explain(book): void {
      for (const { wants, set, found } of notes)
        forEach(set, (at) => book.add('Spread', wants, found(at), nameAt(at)));
      forEach(rest, (at) => {
        if (blocked && has(blocked, at)) book.add('Spread', missing ?? '', '', nameAt(at));
        else if (skewed) {
          const index = spread.findIndex(({ maxSkew, strict }) => strict && maxSkew < Infinity);
          const constraint = spread[index];
          book.add(
            'Spread',
            `a skew of at most ${constraint?.maxSkew} by ${constraint?.name}`,
            groupName(index)(at),
            nameAt(at),
          );
        } else if (missing !== undefined) book.add('Spread', missing, '', nameAt(at));
        else book.add('NotPicked', `${limit} clusters`, scoreText(ranking, terms.length, at), nameAt(at));
      });
    },
  };
}

function scoreText(ranking: Ranking | undefined, terms: number, at: number): string {
  return ranking === undefined || terms === 0 ? '' : `score ${rounded(ranking.score(at))}`;
}

/** The groups of a constraint that has a limit on them; `undefined` where no choice keeps within its limits. */
function groupsChosen(
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

interface Candidate {
  readonly name: string;
  readonly value: number;
  readonly weight: number;
}

/** As many groups as the limit lets in: those in use, then the best. */
function mostGroups(
  candidates: readonly Candidate[],
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

/**
 * Takes clusters one by one: always the best of those that break no rule. Groups that are still needed come in time, and no
 * group gets ahead of the others by more than its skew. `stuck`: the rules let no more in.
 */
function takeSpread(
  order: readonly number[],
  limit: number,
  spread: readonly CompiledSpread[],
  columns: readonly Column[],
  { existing, placement }: PickOptions,
): { readonly picked: number[]; readonly stuck: boolean } {
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
    return {
      constraint,
      counts: new Map<number, number>(Array.from(domains, (group) => [group, 0])),
      least: 0,
      used: 0,
    };
  });
  const picked: number[] = [];
  while (picked.length < limit) {
    let best: { groups: readonly number[]; members: number[]; next: number } | undefined;
    let bestRank = Infinity;
    let bestLoad = Infinity;
    for (const queue of queues.values()) {
      const place = queue.members[queue.next];
      if (place === undefined) continue;
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
        else if (limit - picked.length <= constraint.minGroups - used && before > 0) open = false;
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

/** While the picked have too little room: from the last on, takes the roomiest of the others instead. */
function makeRoom(
  picked: number[],
  order: readonly number[],
  replicas: number,
  available: (at: number) => number,
): void {
  let room = picked.reduce((sum, at) => sum + available(at), 0);
  const others = order.slice(picked.length).sort((a, b) => available(b) - available(a) || a - b);
  let next = 0;
  for (let last = picked.length - 1; last >= 0 && room < replicas; last--) {
    const other = others[next];
    const present = picked[last];
    if (other === undefined || present === undefined) return;
    if (available(other) <= available(present)) continue;
    room += available(other) - available(present);
    picked[last] = other;
    next += 1;
  }
}

function minimumMissing(
  { minClusters, spread }: CompiledPlacement,
  columns: readonly Column[],
  chosen: ClusterSet,
): string | undefined {
  const total = count(chosen);
  if (total < minClusters) return `at least ${minClusters} clusters are needed and ${total} can be had`;
  for (const [index, { strict, minGroups, name }] of spread.entries()) {
    if (!strict || minGroups <= 1) continue;
    const groups = new Set<number>();
    forEach(chosen, (at) => void groups.add(columns[index]?.groupOf[at] ?? -1));
    if (groups.size < minGroups)
      return `clusters in at least ${minGroups} ${name}s are needed and ${groups.size} can be had`;
  }
  return undefined;
}

function roomMissing(
  chosen: ClusterSet,
  capacity: Capacity | undefined,
  available: ((at: number) => number) | undefined,
): string | undefined {
  if (capacity?.divided !== true || !available) return undefined;
  let room = 0;
  forEach(chosen, (at) => {
    room += available(at);
  });
  return room < capacity.replicas ? `there is room for ${room} of ${capacity.replicas} replicas` : undefined;
}
