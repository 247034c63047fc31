/** The syntax of CronJob schedules: five fields (numbers, names, ranges, steps, lists) or a descriptor. */

import { durationProblem } from '../../schema/go-duration.ts';

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

const EVERY = '@every ';
const DESCRIPTORS = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];

/** What is wrong with a schedule, or `undefined`. */
export function scheduleProblem(schedule: string): string | undefined {
  const zone = /^(?:CRON_)?TZ=(\S*)/.exec(schedule);
  if (zone !== null && zone[1] !== '' && !isLocation(zone[1] ?? ''))
    return `provided bad location ${zone[1]}: unknown time zone ${zone[1]}`;
  const given = zone === null ? schedule : schedule.slice(zone[0].length).trim();
  if (given.startsWith('@')) {
    if (DESCRIPTORS.includes(given)) return undefined;
    if (!given.startsWith(EVERY)) return `unrecognized descriptor: ${given}`;
    const problem = durationProblem(given.slice(EVERY.length));
    return problem === undefined ? undefined : `failed to parse duration ${given}: time: ${problem}`;
  }
  const parts = given.split(/\s+/).filter((part) => part !== '');
  if (parts.length !== FIELDS.length) {
    return `expected exactly ${FIELDS.length} fields, found ${parts.length}: [${parts.join(' ')}]`;
  }
  for (const [index, field] of FIELDS.entries()) {
    for (const range of (parts[index] ?? '').split(',').filter((part) => part !== '')) {
      const problem = rangeProblem(range, field);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

/** What comes first is told first: the start, the end, too many of either, the step, the bounds. */
function rangeProblem(range: string, field: Field): string | undefined {
  const [span = '', step, ...moreSteps] = range.split('/');
  const [first = '', last, ...moreEnds] = span.split('-');
  let start = field.least;
  let end = field.most;
  if (first !== '*' && first !== '?') {
    const from = numberOf(first, field);
    if (typeof from === 'string') return from;
    if (moreEnds.length > 0) return `too many hyphens: ${range}`;
    const to = last === undefined ? from : numberOf(last, field);
    if (typeof to === 'string') return to;
    start = from;
    // `5/15` runs from 5 to the end of the field.
    end = last === undefined && step !== undefined ? field.most : to;
  }
  const every = step === undefined || moreSteps.length > 0 ? 1 : wholeNumber(step);
  if (typeof every === 'string') return every;
  if (moreSteps.length > 0) return `too many slashes: ${range}`;
  if (start < field.least) return `beginning of range (${start}) below minimum (${field.least}): ${range}`;
  if (end > field.most) return `end of range (${end}) above maximum (${field.most}): ${range}`;
  if (start > end) return `beginning of range (${start}) beyond end of range (${end}): ${range}`;
  return every === 0 ? `step of range should be a positive number: ${range}` : undefined;
}

/** The number, or what is wrong with it. */
function numberOf(value: string, field: Field): number | string {
  const named = field.names.indexOf(value.toLowerCase());
  return named >= 0 ? named + field.least : wholeNumber(value);
}

function wholeNumber(value: string): number | string {
  const number = /^\+?\d+$/.test(value) ? Number(value) : undefined;
  if (number !== undefined && number <= Number.MAX_SAFE_INTEGER) return number;
  const why = number === undefined ? 'invalid syntax' : 'value out of range';
  return `failed to parse int from ${value}: strconv.Atoi: parsing ${JSON.stringify(value)}: ${why}`;
}

/** Whether a name is in the time zone database, and stands for the same place everywhere. */
export function isTimeZone(name: string): boolean {
  return name !== '' && name.toLowerCase() !== 'local' && isLocation(name);
}

/** Whether there are rules of time under a name. Names differ by case, which the runtime's own look-up ignores. */
function isLocation(name: string): boolean {
  if (name === 'Local') return true;
  if (!name.split('/').every((part) => /^[A-Z]/.test(part))) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch (error) {
    if (error instanceof RangeError) return false;
    throw error;
  }
  zones ??= new Map(Intl.supportedValuesOf('timeZone').map((zone) => [zone.toLowerCase(), zone]));
  return (zones.get(name.toLowerCase()) ?? name) === name;
}

/** The names of the database by how they read without case. Listed once: there are hundreds. */
let zones: ReadonlyMap<string, string> | undefined;
