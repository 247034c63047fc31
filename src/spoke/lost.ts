import type { Clock } from '../runtime/clock.ts';
import { formatTime, parseTime } from '../runtime/clock.ts';
import type { Held } from './held.ts';
import type { SpokeMemory } from './memory.ts';

/** Longer waits are cut: timers have a bound, and clocks jump. */
const LONGEST_WAIT_MS = 3_600_000;

export interface LostOptions {
  readonly clock: Clock;
  readonly memory: Pick<SpokeMemory, 'record' | 'setLost'>;
}

/**
 * An order that says what becomes of its objects where it gets lost itself, and is lost: in how many milliseconds they are to be
 * removed, 0 for now. `undefined` where it is not lost, or says nothing: then its objects stay and are kept up, which is the rule.
 * Since when it is lost is remembered over restarts.
 */
export async function removalOfLostMs(
  { clock, memory }: LostOptions,
  { name, accepted }: Held,
  isLost: boolean,
): Promise<number | undefined> {
  const graceSeconds = accepted.removeWhenLostSeconds;
  if (!isLost || graceSeconds === undefined) {
    await memory.setLost(name, undefined);
    return undefined;
  }
  const now = clock.now();
  const since = parseTime(memory.record(name)?.lostSince ?? '');
  if (since === undefined) await memory.setLost(name, formatTime(now));
  const dueMs = (since ?? now) + graceSeconds * 1000 - now;
  return Math.max(0, Math.min(dueMs, LONGEST_WAIT_MS));
}
