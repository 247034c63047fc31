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
}

/** Ranks a pool: by tier, what is there first, fewer taints, higher score, more room, name. */
export function rank(options: RankingOptions): Ranking {
  const { pool, terms, sticky, existing, tierOf, disliked, available } = options;
  const list = positions(pool);
  const columns = terms.map((term) => term.scores(list, options));
  const size = list.length;
  const totals = new Float64Array(size);
  for (const [index, column] of columns.entries()) {
    const weight = terms[index]?.weight ?? 0;
    for (let at = 0; at < size; at++) totals[at] = (totals[at] ?? 0) + weight * (column[at] ?? 0);
  }
  const places = new Int32Array(options.fleet.size);
  const buckets = new Map<number, number[]>();
  for (let at = 0; at < size; at++) {
    const position = list[at] ?? 0;
    places[position] = at;
    const tier = tierOf?.(position) ?? 0;
    const absent = sticky && !has(existing, position) ? 1 : 0;
    const rough = (tier * 2 + absent) * 64 + Math.min(63, disliked.get(position) ?? 0);
    // One number orders by class and score; sums stay far below the distance of classes. Equal ones are in order of name.
    const key = rough * CLASS - (totals[at] ?? 0);
    const bucket = buckets.get(key);
    if (bucket) bucket.push(position);
    else buckets.set(key, [position]);
  }
  const order: number[] = [];
  for (const key of Float64Array.from(buckets.keys()).sort()) {
    const bucket = buckets.get(key) ?? [];
    if (available) bucket.sort((a, b) => available(b) - available(a) || a - b);
    for (const position of bucket) order.push(position);
  }
  return {
    order,
    score: (position) => totals[places[position] ?? 0] ?? 0,
    parts: (position) => {
      const at = places[position] ?? 0;
      return [...columns.map((column) => rounded(column[at] ?? 0)), rounded(totals[at] ?? 0)];
    },
  };
}

/** More than all scores can add up to. */
const CLASS = 1e7;

/** Scores are for people as well. */
export function rounded(score: number): number {
  return Math.round(score * 10) / 10;
}
