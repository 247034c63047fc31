import type { FailoverRate } from './options.ts';

/** Permits, which come back with time. JSON. */
export interface TokenBucket {
  /** Until when the permits that were taken are paid for, at the rate at which they come. Milliseconds. */
  readonly paidUntil: number;
}

/** With no rate at all one is let through in this time. */
const SLOWEST_MS = 1_800_000;

/** A bucket after a permit was taken at `now`, or when there will be one. */
export function takeToken(
  bucket: TokenBucket | undefined,
  { perSecond = 0.5, burst = 1 }: FailoverRate,
  now: number,
): { readonly bucket?: TokenBucket; readonly readyAt?: number } {
  const each = costOf(perSecond);
  const paidUntil = Math.max(bucket?.paidUntil ?? now, now);
  const readyAt = Math.ceil(paidUntil - (Math.max(1, burst) - 1) * each);
  if (readyAt > now) return { ...(bucket ? { bucket } : {}), readyAt };
  return { bucket: { paidUntil: paidUntil + each } };
}

/** A bucket of which it is known that a permit was taken at `at`. */
export function takenAt(
  bucket: TokenBucket | undefined,
  { perSecond = 0.5 }: FailoverRate,
  at: number,
): TokenBucket {
  return { paidUntil: Math.max(bucket?.paidUntil ?? 0, at + costOf(perSecond)) };
}

function costOf(perSecond: number): number {
  return perSecond > 0 ? Math.min(1000 / perSecond, SLOWEST_MS) : SLOWEST_MS;
}
