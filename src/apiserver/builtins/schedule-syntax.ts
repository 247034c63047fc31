/** The syntax of CronJob schedules: five fields (numbers, names, ranges, steps, lists) or a descriptor. */

interface Field {
  readonly least: number;
  readonly most: number;
  readonly names: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const FIELDS: readonly Field[] = [
  { least: 0, most: 59, names: [] },
  { least: 0, most: 23, names: [] },
  { least: 1, most: 31, names: [] },
  { least: 1, most: 12, names: MONTHS },
  { least: 0, most: 6, names: DAYS },
];

const DESCRIPTORS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

/** What is wrong with a schedule, or `undefined`. A leading time zone is not part of it. */
export function scheduleProblem(schedule: string): string | undefined {
  const given = schedule.replace(/^\s*(?:CRON_)?TZ=\S*\s*/, '').trim();
  if (given.startsWith('@')) {
    if (DESCRIPTORS.includes(given) || /^@every (?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/.test(given)) {
      return undefined;
    }
    return given.startsWith('@every ')
      ? `failed to parse duration ${given}: time: invalid duration ${JSON.stringify(given.slice(7))}`
      : `unrecognized descriptor: ${given}`;
  }
  const parts = given.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== FIELDS.length) {
    return `expected exactly ${FIELDS.length} fields, found ${parts.length}: [${parts.join(' ')}]`;
  }
  for (const [index, field] of FIELDS.entries()) {
    for (const range of (parts[index] ?? '').split(',')) {
      const problem = rangeProblem(range, field);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function rangeProblem(range: string, field: Field): string | undefined {
  const [span = '', step, ...moreSteps] = range.split('/');
  if (moreSteps.length > 0) return `too many slashes: ${range}`;
  const [first = '', last, ...moreEnds] = span.split('-');
  let start = field.least;
  let end = field.most;
  if (first !== '*' && first !== '?') {
    if (moreEnds.length > 0) return `too many hyphens: ${range}`;
    const from = numberOf(first, field);
    const to = last === undefined ? from : numberOf(last, field);
    if (from === undefined) return unreadable(first);
    if (to === undefined) return unreadable(last ?? '');
    start = from;
    // `5/15` runs from 5 to the end of the field.
    end = last === undefined && step !== undefined ? field.most : to;
  }
  if (step !== undefined) {
    if (!/^\d+$/.test(step)) return unreadable(step);
    if (Number(step) === 0) return `step of range should be a positive number: ${range}`;
  }
  if (start < field.least) return `beginning of range (${start}) below minimum (${field.least}): ${range}`;
  if (end > field.most) return `end of range (${end}) above maximum (${field.most}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  return undefined;
}

function numberOf(value: string, field: Field): number | undefined {
  const named = field.names.indexOf(value.toLowerCase());
  if (named >= 0) return named + field.least;
  return /^\d{1,9}$/.test(value) ? Number(value) : undefined;
}

function unreadable(value: string): string {
  return `failed to parse int from ${value}: strconv.Atoi: parsing ${JSON.stringify(value)}: invalid syntax`;
}

/** Whether a name is in the time zone database. */
export function isTimeZone(name: string): boolean {
  if (name === '' || name.toLowerCase() === 'local') return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return !/^[+-]/.test(name);
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
}
