/** A wall clock's reading, as minutes since 1970-01-01T00:00 of that same clock. */
export type WallMinutes = number;

const MINUTE = 60_000;
const DAY_MINUTES = 1440;
const DAY = DAY_MINUTES * MINUTE;

/** Making a formatter is slow and zones are few. */
const formatters = new Map<string, Intl.DateTimeFormat>();
const MAX_FORMATTERS = 600;

/** Whether the platform knows a time zone by this IANA name. */
export function isTimeZone(timeZone: string): boolean {
  try {
    formatterOf(timeZone);
    return true;
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}

/** What the clocks of a zone are ahead of UTC at an instant, in milliseconds. Throws a RangeError for an unknown zone. */
export function offsetAt(timeZone: string, instant: number): number {
  const whole = Math.floor(instant / 1000) * 1000;
  const fields: Record<string, number> = {};
  for (const { type, value } of formatterOf(timeZone).formatToParts(whole)) fields[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = fields;
  return Date.UTC(year, month - 1, day, hour, minute, second) - whole;
}

/** What the clocks of a zone show at an instant. */
export function wallAt(timeZone: string, instant: number): WallMinutes {
  return (instant + offsetAt(timeZone, instant)) / MINUTE;
}

/** When the clocks of a zone show something: twice when they were turned back, never when they jumped over it. */
export interface WallInstants {
  readonly first: number;
  readonly last: number;
  /** The clocks jumped over it; both instants are the jump. */
  readonly skipped: boolean;
}

export function instantsOf(timeZone: string, wall: WallMinutes): WallInstants {
  const asUtc = wall * MINUTE;
  // No clock is more than 14 hours away from UTC: a day on either side is before and after whatever is looked for.
  const before = offsetAt(timeZone, asUtc - DAY);
  const after = offsetAt(timeZone, asUtc + DAY);
  const found = [asUtc - before, asUtc - after].filter(
    (instant) => instant + offsetAt(timeZone, instant) === asUtc,
  );
  if (found.length > 0) return { first: Math.min(...found), last: Math.max(...found), skipped: false };
  const jump = jumpBetween(timeZone, asUtc - DAY, asUtc + DAY, before);
  return { first: jump, last: jump, skipped: true };
}

/** The first instant with another offset than `before`, to the millisecond. */
function jumpBetween(timeZone: string, from: number, to: number, before: number): number {
  let low = from;
  let high = to;
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetAt(timeZone, middle) === before) low = middle;
    else high = middle;
  }
  return high;
}

/** Day of the week of a wall clock's reading; 0 is Sunday. */
export function weekdayOf(wall: WallMinutes): number {
  return (((Math.floor(wall / DAY_MINUTES) + 4) % 7) + 7) % 7;
}

/** Midnight of a wall clock's day, `days` later. */
export function midnightOf(wall: WallMinutes, days = 0): WallMinutes {
  return (Math.floor(wall / DAY_MINUTES) + days) * DAY_MINUTES;
}

function formatterOf(timeZone: string): Intl.DateTimeFormat {
  const known = formatters.get(timeZone);
  if (known) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'iso8601',
    numberingSystem: 'latn',
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  if (formatters.size < MAX_FORMATTERS) formatters.set(timeZone, made);
  return made;
}
