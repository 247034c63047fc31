import { shifted } from '../../engine/rollout/index.ts';
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
  const isOver = state.phase === 'Succeeded' && !isUnderWay(state);
  // At once: what this look comes to may not be written down, and the next one would not know.
  entry.record = {
    ...entry.record,
    state: isOver ? { ...state, nextStartAt: state.nextStartAt + by } : shifted(state, by),
  };
}
