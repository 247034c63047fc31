export const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
export type Day = (typeof DAYS)[number];

/** When changes are made, as written. */
export interface WindowSpec {
  /** IANA name; UTC where it is left out. */
  readonly timeZone?: string;
  /** All where it is left out. A window that goes past midnight belongs to the day on which it begins. */
  readonly days?: readonly Day[];
  /** `HH:MM` on the clock of the zone. */
  readonly start: string;
  /** Not included. Before `start` it is of the next day; equal to it the window lasts a day. */
  readonly end: string;
}

export interface Window {
  readonly days: ReadonlySet<number>;
  /** Minutes of the day. */
  readonly start: number;
  readonly end: number;
  readonly format: Intl.DateTimeFormat;
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
const TIME = /^([01]\d|2[0-3]):([0-5]\d)$/;

/** A window ready to ask, or what is wrong with it. */
export function compileWindow(spec: WindowSpec): Window | string {
  const start = minutesOf(spec.start);
  const end = minutesOf(spec.end);
  if (start === undefined) return `start: ${JSON.stringify(spec.start)} is no time such as 22:00`;
  if (end === undefined) return `end: ${JSON.stringify(spec.end)} is no time such as 04:30`;
  const days = new Set<number>((spec.days ?? DAYS).map((day) => DAYS.indexOf(day)));
  if (days.has(-1)) return `days: each is one of ${DAYS.join(', ')}`;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: spec.timeZone ?? 'UTC',
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
    });
    return { days, start, end, format };
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return `timeZone: ${JSON.stringify(spec.timeZone)} is no time zone such as Europe/Zurich`;
  }
}

function minutesOf(text: string): number | undefined {
  const [, hours, minutes] = TIME.exec(text) ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** A time on the clock of a zone, as if the zone were UTC: milliseconds, whole minutes. */
function localTime(format: Intl.DateTimeFormat, now: number): number {
  const parts: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(now)) parts[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = parts;
  return Date.UTC(year, month - 1, day, hour, minute);
}

function weekday(local: number): number {
  // 1 January 1970 was a Thursday.
  return (((Math.floor(local / DAY_MS) + 4) % 7) + 7) % 7;
}

/** Whether a window is open at a time (milliseconds since the epoch). */
export function isOpen({ days, start, end, format }: Window, now: number): boolean {
  const local = localTime(format, now);
  const day = weekday(local);
  const minute = Math.floor((((local % DAY_MS) + DAY_MS) % DAY_MS) / MINUTE_MS);
  if (end > start) return days.has(day) && minute >= start && minute < end;
  return (days.has(day) && minute >= start) || (days.has((day + 6) % 7) && minute < end);
}

/**
 * When the first of the windows opens after a time at which none is open. Where clocks are put forward over its start, the
 * time is up to an hour early: whoever waits asks again. Undefined where none ever opens.
 */
export function nextOpening(windows: readonly Window[], now: number): number | undefined {
  let first: number | undefined;
  for (const { days, start, format } of windows) {
    const local = localTime(format, now);
    const midnight = Math.floor(local / DAY_MS) * DAY_MS;
    for (let ahead = 0; ahead <= 7; ahead++) {
      const wanted = midnight + ahead * DAY_MS + start * MINUTE_MS;
      if (!days.has(weekday(wanted))) continue;
      const at = instantOf(format, wanted, now);
      if (at <= now) continue;
      if (first === undefined || at < first) first = at;
      break;
    }
  }
  return first;
}

/** The time at which the clock of a zone shows something: the offset is that of then, not of now. */
function instantOf(format: Intl.DateTimeFormat, wanted: number, now: number): number {
  let at = wanted - (localTime(format, now) - Math.floor(now / MINUTE_MS) * MINUTE_MS);
  for (let tries = 0; tries < 2; tries++) at += wanted - localTime(format, at);
  return at;
}
