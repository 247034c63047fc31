import type { CopyHealth, FailoverState, IntentSight, Move } from './state.ts';

/**
 * The state as it would be had all of it happened so many milliseconds later (earlier where that is negative): what becomes of it when
 * the wall clock was set. What is tolerated for a while is tolerated as long as before, and no old copy goes early.
 */
export function shifted(state: FailoverState, byMs: number): FailoverState {
  const { bucket } = state;
  const clusters = Object.entries(state.clusters).map(([name, { taints, wellSince }]) => [
    name,
    {
      taints: taints.map((taint) => ({ ...taint, since: taint.since + byMs })),
      ...(wellSince === undefined ? {} : { wellSince: wellSince + byMs }),
    },
  ]);
  const intents = Object.entries(state.intents).map(([name, sight]): [string, IntentSight] => [
    name,
    {
      ...sight,
      health: Object.fromEntries(
        Object.entries(sight.health).map(([cluster, copy]): [string, CopyHealth] => [
          cluster,
          { ...copy, since: copy.since + byMs },
        ]),
      ),
      moves: sight.moves.map((move) => laterMove(move, byMs)),
      ...(sight.unprovenSince === undefined ? {} : { unprovenSince: sight.unprovenSince + byMs }),
    },
  ]);
  return {
    ...state,
    clusters: Object.fromEntries(clusters),
    intents: Object.fromEntries(intents),
    ...(bucket && { bucket: { paidUntil: bucket.paidUntil + byMs } }),
  };
}

export function laterMove(move: Move, byMs: number): Move {
  return { ...move, at: move.at + byMs, until: move.until + byMs };
}
