/** Corrections of one object in a row that are made at once. */
const FREE_CORRECTIONS = 5;
const FIRST_MS = 1_000;
/** Shorter than the quiet that ends a row, so that a writer who never gives up stays slowed down. */
const LONGEST_MS = 40_000;
/** Without a correction for this long, the next one is the first of a new row. */
const QUIET_MS = 60_000;
/** What need be remembered of a row to know the longest delay. */
const REMEMBERED = 12;

/**
 * How long to wait before correcting an object again, given when it was corrected in a row before (milliseconds, ascending).
 * Drift is corrected at once; two writers that fight are slowed down exponentially, so that neither burns the cluster.
 */
export function correctionDelay(corrections: readonly number[], now: number): number {
  const row = isOver(corrections, now) ? 0 : corrections.length;
  return row < FREE_CORRECTIONS ? 0 : Math.min(LONGEST_MS, FIRST_MS * 2 ** (row - FREE_CORRECTIONS));
}

/** The row with one correction more, or the first of a new one. */
export function rememberCorrection(corrections: readonly number[], now: number): number[] {
  return isOver(corrections, now) ? [now] : [...corrections, now].slice(-REMEMBERED);
}

/** Whether an object is being fought over. */
export function isContested(corrections: readonly number[], now: number): boolean {
  return contestedForMs(corrections, now) > 0;
}

/** How long an object will count as fought over if it is not corrected again; 0 where it is not. */
export function contestedForMs(corrections: readonly number[], now: number): number {
  const last = corrections.at(-1);
  if (last === undefined || corrections.length < FREE_CORRECTIONS) return 0;
  return Math.max(0, last + QUIET_MS - now);
}

function isOver(corrections: readonly number[], now: number): boolean {
  const last = corrections.at(-1);
  return last === undefined || now - last >= QUIET_MS;
}
