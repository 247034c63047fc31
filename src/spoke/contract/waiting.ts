import type { Held } from '../held.ts';

/** Longer waits are cut: clocks are set, and machines sleep through a window while their timers stand still. */
const LONGEST_WAIT_MS = 600_000;

/**
 * When what is open of a dispatch is worth another try: `undefined` where more is open than what contracts refuse, otherwise in
 * how many milliseconds time alone may change it, `never` where it cannot. A change of a contract tries again in any case.
 */
export function contractWait(held: Held, now: number): number | 'never' | undefined {
  if (held.missing !== undefined || held.problems.length > 0) return undefined;
  let next: number | undefined;
  let refused = 0;
  const note = (retryAt: number | undefined): void => {
    refused += 1;
    if (retryAt !== undefined && (next === undefined || retryAt < next)) next = retryAt;
  };
  for (const { settled, failure } of held.states.values()) {
    if (failure?.word === 'ContractRefused') note(failure.retryAt);
    else if (failure !== undefined || !settled) return undefined;
  }
  for (const { word, retryAt } of held.pendingRemovals) {
    if (word !== 'ContractRefused') return undefined;
    note(retryAt);
  }
  if (refused === 0) return undefined;
  return next === undefined ? 'never' : Math.min(LONGEST_WAIT_MS, Math.max(0, next - now));
}
