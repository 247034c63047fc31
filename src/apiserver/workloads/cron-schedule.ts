/** A cron expression of five fields, as sets of what matches. */
export interface CronSchedule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** A day matches by day of month or of week when both are restricted, else by the one that is. */
  readonly anyDay: boolean;
  readonly anyWeekday: boolean;
}

const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** `undefined` when the text is not a schedule. */
export function parseCron(text: string): CronSchedule | undefined {
  const fields = (MACROS[text.trim()] ?? text).trim().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  const minutes = parseField(minute, 0, 59);
  const hours = parseField(hour, 0, 23);
  const days = parseField(day, 1, 31);
  const months = parseField(month, 1, 12, MONTHS);
  const weekdays = parseField(weekday, 0, 7, WEEKDAYS);
  if (!minutes || !hours || !days || !months || !weekdays) return undefined;
  if (weekdays.has(7)) weekdays.add(0);
  const anyDay = /^[*?]/.test(day);
  const anyWeekday = /^[*?]/.test(weekday);
  return { minutes, hours, days, months, weekdays, anyDay, anyWeekday };
}

function parseField(
  text: string,
  low: number,
  high: number,
  names?: readonly string[],
): Set<number> | undefined {
  const out = new Set<number>();
  for (const part of text.toLowerCase().split(',')) {
    const match = /^(\*|\?|[a-z0-9]+)(?:-([a-z0-9]+))?(?:\/(\d+))?$/.exec(part);
    if (!match) return undefined;
    const [, from = '', to, stepText] = match;
    const any = from === '*' || from === '?';
    const start = any ? low : numberOf(from, low, names);
    const end = to !== undefined ? numberOf(to, low, names) : any || stepText !== undefined ? high : start;
    const step = stepText === undefined ? 1 : Number(stepText);
    if (start === undefined || end === undefined || start < low || end > high || start > end || step < 1)
      return undefined;
    for (let value = start; value <= end; value += step) out.add(value);
  }
  return out;
}

function numberOf(text: string, low: number, names: readonly string[] | undefined): number | undefined {
  const named = names?.indexOf(text) ?? -1;
  if (named >= 0) return named + low;
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Wall-clock fields of an instant in a time zone. */
type LocalTime = (epochMs: number) => {
  minute: number;
  hour: number;
  day: number;
  month: number;
  weekday: number;
};

/** `undefined` for a zone that is not known. UTC when absent. */
export function localTimeOf(timeZone: string | undefined): LocalTime | undefined {
  if (timeZone === undefined || timeZone === '' || timeZone === 'UTC' || timeZone === 'Etc/UTC')
    return (epochMs) => {
      const days = Math.floor(epochMs / DAY_MS);
      const { day, month } = civilDate(days);
      const inDay = epochMs - days * DAY_MS;
      return {
        minute: Math.floor(inDay / MINUTE_MS) % 60,
        hour: Math.floor(inDay / (60 * MINUTE_MS)),
        day,
        month,
        weekday: (((days + 4) % 7) + 7) % 7,
      };
    };
  let format: Intl.DateTimeFormat;
  try {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone,
      hourCycle: 'h23',
      minute: 'numeric',
      hour: 'numeric',
      day: 'numeric',
      month: 'numeric',
      weekday: 'short',
    });
  } catch {
    return undefined; // a zone that this machine does not know
  }
  return (epochMs) => {
    const parts = Object.fromEntries(format.formatToParts(epochMs).map(({ type, value }) => [type, value]));
    return {
      minute: Number(parts.minute),
      hour: Number(parts.hour),
      day: Number(parts.day),
      month: Number(parts.month),
      weekday: WEEKDAYS.indexOf((parts.weekday ?? '').toLowerCase()),
    };
  };
}

/** Day and month of a number of days since 1970-01-01 (the proleptic Gregorian calendar, in eras of 400 years). */
function civilDate(days: number): { day: number; month: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra -
      Math.floor(dayOfEra / 1_460) +
      Math.floor(dayOfEra / 36_524) -
      Math.floor(dayOfEra / 146_096)) /
      365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  return {
    day: dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1,
    month: shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9,
  };
}

/** The first time after `afterMs` that matches, within `withinMs`; `undefined` when there is none. */
export function nextTime(
  schedule: CronSchedule,
  local: LocalTime,
  afterMs: number,
  withinMs: number = 366 * DAY_MS,
): number | undefined {
  let time = (Math.floor(afterMs / MINUTE_MS) + 1) * MINUTE_MS;
  const end = afterMs + withinMs;
  while (time <= end) {
    const { minute, hour, day, month, weekday } = local(time);
    if (!schedule.months.has(month) || !matchesDay(schedule, day, weekday)) {
      // The rest of this local day cannot match; an hour at a time near its end, for days of 23 or 25 hours.
      time += Math.max(60 - minute, (22 - hour) * 60) * MINUTE_MS;
    } else if (!schedule.hours.has(hour)) time += (60 - minute) * MINUTE_MS;
    else if (!schedule.minutes.has(minute)) time += MINUTE_MS;
    else return time;
  }
  return undefined;
}

/** The last time after `afterMs` and up to `untilMs` that matches. Looked for from the end: a year has many minutes. */
export function latestTime(
  schedule: CronSchedule,
  local: LocalTime,
  afterMs: number,
  untilMs: number,
): number | undefined {
  for (let window = 2 * MINUTE_MS; ; window *= 8) {
    const from = Math.max(afterMs, untilMs - window);
    let latest: number | undefined;
    let time = nextTime(schedule, local, from, untilMs - from);
    while (time !== undefined && time <= untilMs) {
      latest = time;
      time = nextTime(schedule, local, time, untilMs - time);
    }
    if (latest !== undefined || from <= afterMs) return latest;
  }
}

function matchesDay(schedule: CronSchedule, day: number, weekday: number): boolean {
  const byDay = schedule.days.has(day);
  const byWeekday = schedule.weekdays.has(weekday);
  return schedule.anyDay || schedule.anyWeekday ? byDay && byWeekday : byDay || byWeekday;
}
