import type { ContractReason } from './reasons.ts';

/** How much may be changed in a time; no bound where nothing is said. */
export interface Allowance {
  readonly objectsPerMinute?: number;
  readonly bytesPerHour?: number;
}

/** What was changed in the present minute and the present hour, each of which begins with its first change. */
export interface Spent {
  readonly minute: { readonly since: number; readonly objects: number };
  readonly hour: { readonly since: number; readonly bytes: number };
}

export const NOTHING_SPENT: Spent = {
  minute: { since: Number.NEGATIVE_INFINITY, objects: 0 },
  hour: { since: Number.NEGATIVE_INFINITY, bytes: 0 },
};

export type Spending =
  | { readonly spent: Spent; readonly refused?: undefined }
  | {
      readonly spent: Spent;
      readonly refused: Extract<ContractReason, 'RateLimited' | 'ByteBudgetSpent'>;
      readonly retryAt: number;
    };

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;

/**
 * Spends one object of `bytes` at `now`. Something larger than a whole hour's bytes is let through as the first of its hour:
 * otherwise it could never be written.
 */
export function spend(allowance: Allowance, spent: Spent, now: number, bytes: number): Spending {
  const minute = isWithin(now, spent.minute.since, MINUTE_MS) ? spent.minute : { since: now, objects: 0 };
  const hour = isWithin(now, spent.hour.since, HOUR_MS) ? spent.hour : { since: now, bytes: 0 };
  const { objectsPerMinute, bytesPerHour } = allowance;
  if (objectsPerMinute !== undefined && minute.objects >= objectsPerMinute)
    return { spent, refused: 'RateLimited', retryAt: minute.since + MINUTE_MS };
  if (bytesPerHour !== undefined && hour.bytes > 0 && hour.bytes + bytes > bytesPerHour)
    return { spent, refused: 'ByteBudgetSpent', retryAt: hour.since + HOUR_MS };
  return {
    spent: {
      minute: { since: minute.since, objects: minute.objects + 1 },
      hour: { since: hour.since, bytes: hour.bytes + bytes },
    },
  };
}

/** A clock that was set back begins anew: nothing waits for a time that was wrong. */
function isWithin(now: number, since: number, lengthMs: number): boolean {
  return now >= since && now < since + lengthMs;
}
