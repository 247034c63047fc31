/** Corrections of one object within the window that are made at once. */
const FREE_CORRECTIONS = 5;
const WINDOW_MS = 60_000;
const LONGEST_MS = 60_000;

/**
 * How long to wait before correcting an object again, given when it was corrected before (milliseconds, ascending).
 * Drift is corrected at once; two writers that fight are slowed down exponentially, so that neither burns the cluster.
 */
export function correctionDelay(corrections: readonly number[], now: number): number {
  const recent = corrections.filter((time) => now - time < WINDOW_MS).length;
  return recent < FREE_CORRECTIONS ? 0 : Math.min(LONGEST_MS, 1000 * 2 ** (recent - FREE_CORRECTIONS));
}

/** What need be remembered of corrections. */
export function rememberCorrection(corrections: readonly number[], now: number): number[] {
  return [...corrections.filter((time) => now - time < WINDOW_MS), now];
}

/** Whether an object is being fought over. */
export function isContested(corrections: readonly number[], now: number): boolean {
  return contestedForMs(corrections, now) > 0;
}

/** How long an object will count as fought over if it is not corrected again; 0 where it is not. */
export function contestedForMs(corrections: readonly number[], now: number): number {
  const decisive = corrections.at(-FREE_CORRECTIONS);
  return decisive === undefined ? 0 : Math.max(0, decisive + WINDOW_MS - now);
}
