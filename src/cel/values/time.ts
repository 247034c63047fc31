import { CelError, Duration, Timestamp } from './value.ts';

const NANOS = 1_000_000_000;
const BIG_NANOS = 1_000_000_000n;
/** Of 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z. */
const MIN_SECONDS = -62_135_596_800;
const MAX_SECONDS = 253_402_300_799;
const MAX_DURATION = 2n ** 63n - 1n;

export function timestampResult(seconds: number, nanos: number): Timestamp | CelError {
  if (!(seconds >= MIN_SECONDS && seconds <= MAX_SECONDS))
    return new CelError('timestamp overflow: range is 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z');
  return new Timestamp(seconds, nanos);
}

export function durationResult(nanos: bigint): Duration | CelError {
  if (nanos > MAX_DURATION || nanos < -MAX_DURATION - 1n)
    return new CelError('duration overflow: range is 64 bits of nanoseconds');
  return new Duration(nanos);
}

const RFC3339 =
  /^(\d{4})-(\d{2})-(\d{2})[Tt](\d{2}):(\d{2}):(\d{2})(?:[.,](\d{1,30}))?(?:[Zz]|([+-])(\d{2}):(\d{2}))$/;

/** RFC 3339, to the nanosecond; what is finer is cut off. */
export function parseTimestamp(text: string): Timestamp | CelError {
  const match = RFC3339.exec(text);
  const parts = match?.slice(1, 7).map(Number);
  if (!match || !parts) return new CelError(`invalid timestamp ${JSON.stringify(text.slice(0, 64))}`);
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  const offset = (Number(match[9] ?? 0) * 60 + Number(match[10] ?? 0)) * 60;
  if (
    month < 1 ||
    month > 12 ||
    day < 1 ||
    day > daysIn(year, month) ||
    hour > 23 ||
    minute > 59 ||
    second > 59 ||
    Number(match[9] ?? 0) > 23 ||
    Number(match[10] ?? 0) > 59
  ) {
    return new CelError(`invalid timestamp ${JSON.stringify(text.slice(0, 64))}`);
  }
  const seconds = secondsOf(year, month, day, hour, minute, second) - (match[8] === '-' ? -offset : offset);
  const nanos = Number((match[7] ?? '').slice(0, 9).padEnd(9, '0'));
  return timestampResult(seconds, nanos);
}

/** `Date.UTC` takes years below 100 for ones of the last century. */
function secondsOf(
  year: number,
  month: number,
  day: number,
  hour: number,
  minute: number,
  second: number,
): number {
  return Date.UTC(year + 400, month - 1, day, hour, minute, second) / 1000 - 12_622_780_800;
}

export function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

export function formatTimestamp(value: Timestamp): string {
  const { year, month, day, hour, minute, second } = partsAt(value.seconds, 0);
  const pad = (part: number, width = 2): string => String(part).padStart(width, '0');
  return `${pad(year, 4)}-${pad(month)}-${pad(day)}T${pad(hour)}:${pad(minute)}:${pad(second)}${fractionText(value.nanos)}Z`;
}

function fractionText(nanos: number): string {
  return nanos === 0 ? '' : `.${String(nanos).padStart(9, '0').replace(/0+$/, '')}`;
}

const UNITS: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1000n,
  µs: 1000n,
  μs: 1000n,
  ms: 1_000_000n,
  s: BIG_NANOS,
  m: 60n * BIG_NANOS,
  h: 3600n * BIG_NANOS,
};
const DURATION_PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/y;

/** Go's form: `1h30m`, `-1.5s`, `0`. */
export function parseDuration(text: string): Duration | CelError {
  const invalid = (): CelError => new CelError(`invalid duration ${JSON.stringify(text.slice(0, 64))}`);
  if (text.length > 128) return invalid();
  const sign = text[0] === '-' ? -1n : 1n;
  let at = text[0] === '-' || text[0] === '+' ? 1 : 0;
  if (text.slice(at) === '0') return new Duration(0n);
  if (at === text.length) return invalid();
  let nanos = 0n;
  while (at < text.length) {
    DURATION_PART.lastIndex = at;
    const match = DURATION_PART.exec(text);
    const [, whole = '', fraction = '', unit = ''] = match ?? [];
    const scale = UNITS[unit];
    if (!match || scale === undefined || whole + fraction === '') return invalid();
    nanos += BigInt(whole || '0') * scale;
    if (fraction !== '') nanos += (BigInt(fraction) * scale) / 10n ** BigInt(fraction.length);
    at = DURATION_PART.lastIndex;
  }
  return durationResult(sign * nanos);
}

/** Seconds with as many decimals as it takes: `5400s`, `-1.5s`. */
export function formatDuration(value: Duration): string {
  const negative = value.nanos < 0n;
  const nanos = negative ? -value.nanos : value.nanos;
  return `${negative ? '-' : ''}${nanos / BIG_NANOS}${fractionText(Number(nanos % BIG_NANOS))}s`;
}

export function addToTimestamp(time: Timestamp, duration: bigint): Timestamp | CelError {
  return fromNanos(totalNanos(time) + duration);
}

export function timestampDifference(a: Timestamp, b: Timestamp): Duration | CelError {
  return durationResult(totalNanos(a) - totalNanos(b));
}

function totalNanos(time: Timestamp): bigint {
  return BigInt(time.seconds) * BIG_NANOS + BigInt(time.nanos);
}

function fromNanos(total: bigint): Timestamp | CelError {
  let nanos = total % BIG_NANOS;
  if (nanos < 0n) nanos += BIG_NANOS;
  return timestampResult(Number((total - nanos) / BIG_NANOS), Number(nanos));
}

export function timestampFromDate(date: Date): Timestamp | CelError {
  const milliseconds = date.getTime();
  const seconds = Math.floor(milliseconds / 1000);
  return timestampResult(seconds, (milliseconds - seconds * 1000) * (NANOS / 1000));
}

export interface CalendarParts {
  readonly year: number;
  /** From 1. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** Sunday is 0. */
  readonly weekday: number;
  /** From 0. */
  readonly dayOfYear: number;
}

function partsAt(seconds: number, offsetSeconds: number): CalendarParts {
  const date = new Date((seconds + offsetSeconds) * 1000);
  const year = date.getUTCFullYear();
  return {
    year,
    month: date.getUTCMonth() + 1,
    day: date.getUTCDate(),
    hour: date.getUTCHours(),
    minute: date.getUTCMinutes(),
    second: date.getUTCSeconds(),
    weekday: date.getUTCDay(),
    dayOfYear: Math.floor((seconds + offsetSeconds - secondsOf(year, 1, 1, 0, 0, 0)) / 86400),
  };
}

const ZONES = new Map<string, Intl.DateTimeFormat>();
const MAX_ZONES = 600;

/** Calendar parts in a zone: a name of the tz database, `UTC`, or an offset such as `-08:00` and `5:30`. */
export function calendarParts(time: Timestamp, zone: string | undefined): CalendarParts | CelError {
  if (zone === undefined || zone === 'UTC' || zone === '') return partsAt(time.seconds, 0);
  const fixed = /^([+-]?)(\d{1,2}):(\d{2})$/.exec(zone);
  if (fixed) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3]);
    return partsAt(time.seconds, (fixed[1] === '-' ? -minutes : minutes) * 60);
  }
  const format = zoneFormat(zone);
  if (!format) return new CelError(`unknown time zone ${zone.slice(0, 64)}`);
  const found: Record<string, number> = {};
  for (const part of format.formatToParts(time.seconds * 1000)) found[part.type] = Number(part.value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = found;
  const local = secondsOf(year, month, day, hour % 24, minute, second);
  return partsAt(time.seconds, local - time.seconds);
}

function zoneFormat(zone: string): Intl.DateTimeFormat | undefined {
  const known = ZONES.get(zone);
  if (known) return known;
  if (!/^[A-Za-z][A-Za-z0-9_+\-/]{1,63}$/.test(zone)) return undefined;
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    });
    if (ZONES.size < MAX_ZONES) ZONES.set(zone, format);
    return format;
  } catch (error) {
    // The only way to learn that a zone is not known.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
