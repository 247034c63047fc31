import { lastStamp, type RolloutState, recoverRollout, shifted } from '../../engine/rollout/index.ts';
import { type Clock, clockSetBetween, readClocks, SLEWED_MS } from '../../runtime/clock.ts';
import type { RolloutEntry } from './entry.ts';
import { isUnderWay } from './sight.ts';

/**
 * Follows the wall clock where it was set since the last look: what waits waits as long as before, and what lasts has lasted no
 * longer. What is over stays when it was, but for how soon another may start.
 */
export function followClock(
  entry: Pick<RolloutEntry, 'record' | 'lookedAt'>,
  clock: Pick<Clock, 'now' | 'monotonic'>,
): void {
  const before = entry.lookedAt;
  const present = readClocks(clock);
  entry.lookedAt = present;
  const { state } = entry.record;
  if (!before || !state) return;
  const by = clockSetBetween(before, present);
  if (by === 0) return;
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
