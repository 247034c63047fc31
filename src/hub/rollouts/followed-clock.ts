import { lastStamp, type RolloutState, recoverRollout, shifted } from '../../engine/rollout/index.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { RolloutEntry } from './entry.ts';
import { isUnderWay } from './sight.ts';

/** A clock that is only led to the right time differs by less between two looks. */
const SLEWED_MS = 1_000;

/**
 * Follows the wall clock where it was set since the last look: what waits waits as long as before, and what lasts has lasted no
 * longer. What is over stays when it was, but for how soon another may start.
 */
export function followClock(
  entry: Pick<RolloutEntry, 'record' | 'lookedAt'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): void {
  const before = entry.lookedAt;
  const present = { wall: clock.now(), monotonic: clock.monotonic() };
  entry.lookedAt = present;
  const { state } = entry.record;
  if (!before || !state) return;
  const by = present.wall - before.wall - (present.monotonic - before.monotonic);
  if (Math.abs(by) < SLEWED_MS) return;
  // At once: what this look comes to may not be written down, and the next one would not know.
  entry.record = { ...entry.record, state: following(state, by) };
}

/**
 * What a hub that starts reads back. What happened at a time that is to come was written before the clock was set back, nobody knows by
 * how much: it counts as having happened now.
 */
export function readBack(stored: RolloutState, clock: Pick<Clock, 'now'>): RolloutState {
  const state = recoverRollout(stored);
  const ahead = lastStamp(state) - clock.now();
  return ahead < SLEWED_MS ? state : following(state, -ahead);
}

function following(state: RolloutState, by: number): RolloutState {
  const isOver = state.phase === 'Succeeded' && !isUnderWay(state);
  return isOver ? { ...state, nextStartAt: state.nextStartAt + by } : shifted(state, by);
}
