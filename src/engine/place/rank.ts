import { type ClusterSet, has, positions } from './cluster-set.ts';
import type { CompiledScoreTerm, ScoringContext } from './score.ts';

/** The order in which clusters are taken, and what it rests on. */
export interface Ranking {
  /** Positions, best first. */
  readonly order: readonly number[];
  score(position: number): number;
  /** Each term's score, then the sum. */
  parts(position: number): readonly number[];
}

export interface RankingOptions extends ScoringContext {
  readonly pool: ClusterSet;
  readonly terms: readonly CompiledScoreTerm[];
  /** What is placed comes first. */
  readonly sticky: boolean;
  /** Overflow tiers; lower ones come first. Absent where there are none. */
  readonly tierOf: ((position: number) => number) | undefined;
  /** Taints that one would rather avoid, where there are any. */
  readonly disliked: ReadonlyMap<number, number>;
  readonly available: ((position: number) => number) | undefined;
  /** How many are needed in order; the rest may be in any. */
  readonly needed: number;
}

/**
 * Ranks a pool: by tier, what is there first, fewer taints, higher score, more room, name. With as few as are needed in order,
 * the rest need no sorting.
 */
export function rank(options: RankingOptions): Ranking {
  const { pool, terms, sticky, existing, tierOf, disliked, available, needed } = options;
  const list = positions(pool);
  const columns = terms.map((term) => term.scores(list, options));
  const size = list.length;
  const totals = new Float64Array(size);
  for (const [index, column] of columns.entries()) {
    const weight = terms[index]?.weight ?? 0;
    for (let at = 0; at < size; at++) totals[at] = (totals[at] ?? 0) + weight * (column[at] ?? 0);
  }
  // One number says the coarse order; what ties there is compared further.
  const classes = new Float64Array(size);
  for (let at = 0; at < size; at++) {
    const position = list[at] ?? 0;
    const tier = tierOf?.(position) ?? 0;
    const absent = sticky && !has(existing, position) ? 1 : 0;
    classes[at] = (tier * 2 + absent) * 64 + Math.min(63, disliked.get(position) ?? 0);
  }
  const compare = (a: number, b: number): number =>
    (classes[a] ?? 0) - (classes[b] ?? 0) ||
    (totals[b] ?? 0) - (totals[a] ?? 0) ||
    (available === undefined ? 0 : available(list[b] ?? 0) - available(list[a] ?? 0)) ||
    a - b;
  const order = best(size, needed, compare).map((at) => list[at] ?? 0);
  let places: Map<number, number> | undefined;
  const placeOf = (position: number): number => {
    places ??= new Map(list.map((item, index) => [item, index]));
    return places.get(position) ?? 0;
  };
  return {
    order,
    score: (position) => totals[placeOf(position)] ?? 0,
    parts: (position) => {
      const at = placeOf(position);
      return [...columns.map((column) => rounded(column[at] ?? 0)), rounded(totals[at] ?? 0)];
    },
  };
}

/** Scores are for people as well. */
export function rounded(score: number): number {
  return Math.round(score * 10) / 10;
}

const FEW = 64;

/** The indexes from 0, the best `needed` of them first and in order. */
function best(size: number, needed: number, compare: (a: number, b: number) => number): number[] {
  if (needed > FEW || needed >= size) return Array.from({ length: size }, (_, at) => at).sort(compare);
  const top: number[] = [];
  const rest: number[] = [];
  for (let at = 0; at < size; at++) {
    const last = top[top.length - 1];
    if (top.length === needed && last !== undefined && compare(at, last) > 0) {
      rest.push(at);
      continue;
    }
    let place = top.length;
    while (place > 0 && compare(at, top[place - 1] ?? 0) < 0) place -= 1;
    top.splice(place, 0, at);
    if (top.length > needed) rest.push(top.pop() ?? 0);
  }
  return top.concat(rest);
}
