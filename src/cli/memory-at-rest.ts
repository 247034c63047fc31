import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../runtime/clock.ts';

const LOOK_MS = 10_000;
/** Of a processor: a process that has used less of it since the last look rests. */
const RESTING_SHARE = 0.2;

/**
 * Gives memory back to the system once a process rests that had much to do. V8 sizes its heap by what was allocated at the
 * busiest, and where requests come now and then all day it never finds the time to shrink. The pause is some hundred milliseconds
 * for a hundred megabytes, once after a burst. Returns how it is ended.
 */
export function giveMemoryBackAtRest(clock: Clock, makeCollector: () => () => void = collector): () => void {
  let collect: (() => void) | undefined;
  let before = process.cpuUsage();
  // A start is the first burst.
  let isDue = true;

  function look(): void {
    const { user, system } = process.cpuUsage(before);
    const isBusy = (user + system) / 1_000 > LOOK_MS * RESTING_SHARE;
    if (isDue && !isBusy) {
      collect ??= makeCollector();
      collect();
    }
    isDue = isBusy;
    // What the collection itself took is no burst: of a large heap it would ask for the next one, for ever.
    before = process.cpuUsage();
    timer = clock.after(LOOK_MS, look);
  }

  let timer = clock.after(LOOK_MS, look);
  return () => timer.cancel();
}

/** Node hands V8's own `gc` to contexts that are made while the flag is set. */
function collector(): () => void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as NonNullable<typeof globalThis.gc>;
  setFlagsFromString('--no-expose-gc');
  return () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
