import type { Handler } from '../kube/exchange.ts';
import { type Clock, sleep, type VirtualClock } from '../runtime/index.ts';

/** How long something awaited may take, unless told otherwise. */
export const PATIENCE_MS = 60_000;
/** How often a condition is looked at where time cannot be moved. */
const LOOK_MS = 10;

export function isVirtual(clock: Clock): clock is VirtualClock {
  return 'settle' in clock;
}

/** Awaits something that may need time to pass: a virtual clock is moved until it is done. */
export async function whileTimePasses<T>(clock: Clock, work: Promise<T>): Promise<T> {
  if (!isVirtual(clock)) return work;
  let done = false;
  const finish = (): void => {
    done = true;
  };
  work.then(finish, finish);
  await clock.until(() => done, PATIENCE_MS, 'the awaited work');
  return work;
}

/** Waits, or moves a virtual clock, until the condition holds. Throws an Error that says what is missing when it does not. */
export async function untilHolds(
  clock: Clock,
  condition: () => boolean | Promise<boolean>,
  what: string,
  limitMs: number = PATIENCE_MS,
): Promise<void> {
  if (isVirtual(clock)) return clock.until(condition, limitMs, what);
  const deadline = clock.monotonic() + limitMs;
  while (!(await condition())) {
    if (clock.monotonic() > deadline) throw new Error(`${what} did not hold within ${limitMs} ms`);
    await sleep(clock, LOOK_MS);
  }
}

/** Lets the server behind `handler` do what it can at this instant of a virtual clock, so that its answers need no help. */
export function settling(clock: Clock, handler: Handler): Handler {
  if (!isVirtual(clock)) return handler;
  return async (request) => {
    const answer = handler(request);
    answer.catch(() => {}); // it is awaited below
    await clock.settle();
    return answer;
  };
}
