import { errorText, sleep, systemClock } from '../../../src/runtime/index.ts';

/**
 * Asks until the answer is truthy, and returns it; a check that throws is asked again. Fails at the deadline with what was
 * waited for and the last error. The only place of these tests where time passes without an event.
 */
export async function until<T>(
  what: string,
  check: () => T | Promise<T>,
  options: { withinMs?: number; everyMs?: number } = {},
): Promise<NonNullable<T>> {
  const { withinMs = 15_000, everyMs = 40 } = options;
  const clock = systemClock();
  const deadline = clock.monotonic() + withinMs;
  let last = '';
  for (;;) {
    try {
      const answer = await check();
      if (answer) return answer;
      last = '';
    } catch (error) {
      last = `: ${errorText(error)}`;
    }
    if (clock.monotonic() > deadline) throw new Error(`not within ${withinMs} ms: ${what}${last}`);
    await sleep(clock, everyMs);
  }
}

/** Rejects with what was waited for when the promise is not settled in time. */
export async function within<T>(what: string, ms: number, promise: Promise<T>): Promise<T> {
  const clock = systemClock();
  let cancel = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    const timer = clock.after(ms, () => reject(new Error(`not within ${ms} ms: ${what}`)));
    cancel = () => timer.cancel();
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    cancel();
  }
}
