import type { Clock } from '../../runtime/clock.ts';

/** How much is done of it before others have their turn: a few milliseconds. */
const AT_ONCE = 8;

/**
 * The same work, which lets others have their turn now and then. Work that waits for nothing, such as the plans of all intents
 * after a start, would else be done to its end before anything that comes in is looked at.
 */
export function inTurns<A extends unknown[], R>(
  clock: Clock,
  work: (...given: A) => Promise<R>,
): (...given: A) => Promise<R> {
  let count = 0;
  return async (...given) => {
    count += 1;
    if (count % AT_ONCE === 0) await new Promise<void>((resolve) => clock.defer(resolve));
    return work(...given);
  };
}
