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
import type { CompiledPlacement } from './compile-placement.ts';
import type { PlacementExtension } from './decide.ts';
import type { RejectionBook } from './decision.ts';
import type { Column } from './fleet-index.ts';
import { groupsChosen } from './group-limit.ts';
import { type Ranking, rank } from './rank.ts';
import { type CompiledScoreTerm, DEFAULT_TERMS, extensionTerms, type ScoringContext } from './score.ts';
import { type Taken, takeSpread } from './take-spread.ts';

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
  readonly extensions?: readonly PlacementExtension[] | undefined;
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

/** Several topologies may get in each other's way; then other beginnings are tried, so many at most. */
const MAX_BEGINNINGS = 64;

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
  const own =
    placement.terms.length > 0 || free || options.placed === undefined ? placement.terms : DEFAULT_TERMS;
  const others: readonly CompiledScoreTerm[] = free ? [] : extensionTerms(options.extensions ?? []);
  const terms = others.length === 0 ? own : [...own, ...others];
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
    let result = grouped ? takeSpread(order, limit, spread, columns, options) : undefined;
    const falls = (taken: Taken): boolean =>
      taken.stuck && minimumMissing(placement, columns, setOf(taken.picked, fleet.size)) !== undefined;
    for (let first = 0; columns.length > 1 && result && falls(result) && first < MAX_BEGINNINGS; first++) {
      const other = takeSpread(order, limit, spread, columns, options, first);
      if (!other) break;
      if (!falls(other)) result = other;
    }
    skewed = result?.stuck === true;
    const picked = result?.picked ?? order.slice(0, limit);
    if (!grouped && available && capacity?.divided === true)
      makeRoom(picked, order, capacity.replicas, available);
    chosen = setOf(picked, fleet.size);
  }

  const missing = shortage ?? minimumMissing(placement, columns, chosen);
  if (missing !== undefined) {
    // Too few groups: nothing new is placed, and nothing that is there is taken away for it.
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
      const skew = skewed ? spread.findIndex(({ maxSkew, strict }) => strict && maxSkew < Infinity) : -1;
      const scored = new Map<string | number, string[]>();
      forEach(rest, (at) => {
        if (missing !== undefined) book.add('Spread', missing, '', nameAt(at));
        else if (skew >= 0) {
          const { name, maxSkew } = spread[skew] ?? { name: '', maxSkew: 0 };
          book.add('Spread', `a skew of at most ${maxSkew} by ${name}`, groupName(skew)(at), nameAt(at));
        } else {
          const score = ranking === undefined || terms.length === 0 ? '' : coarse(ranking.score(at));
          const clusters = scored.get(score);
          if (clusters) clusters.push(nameAt(at));
          else scored.set(score, [nameAt(at)]);
        }
      });
      if (scored.size > 0) book.addAll('NotPicked', `${limit} clusters`, scored);
    },
  };
}

function setOf(list: readonly number[], size: number): ClusterSet {
  const set = emptySet(size);
  for (const at of list) add(set, at);
  return set;
}

/** Two digits are enough to tell why a cluster was not taken. */
function coarse(score: number): number {
  return Math.abs(score) < 100 ? Math.round(score) : Math.round(score / 10) * 10;
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
