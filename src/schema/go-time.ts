/** The parts of a time, in the order in which they are read, as the layouts of messages name them. */
const PARTS: readonly (readonly [
  layout: string,
  digits: number,
  range?: readonly [string, number, number],
])[] = [
  ['2006', 4],
  ['-', 0],
  ['01', 2, ['month', 1, 12]],
  ['-', 0],
  ['02', 2, ['day', 1, 31]],
  ['T', 0],
  ['15', 2, ['hour', 0, 23]],
  [':', 0],
  ['04', 2, ['minute', 0, 59]],
  [':', 0],
  ['05', 2, ['second', 0, 59]],
];

const ORDINARY =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d((?:\.\d+)?)(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;
/** With the point. */
const MICRO_DIGITS = 7;

/**
 * What is wrong with the text of a time, in the words of Go's parser; `undefined` when nothing is. `micro` is for times that
 * have exactly six digits behind the second.
 */
export function timeProblem(text: string, micro = false): string | undefined {
  // Nearly all are right, and told so at once; late days of months are looked at.
  const fraction = ORDINARY.exec(text)?.[1];
  if (fraction !== undefined && (!micro || fraction.length === MICRO_DIGITS)) return undefined;
  const layout = `2006-01-02T15:04:05${micro ? '.000000' : ''}Z07:00`;
  const quoted = JSON.stringify(text);
  const stopped = (rest: string, at: string): string =>
    `parsing time ${quoted} as ${JSON.stringify(layout)}: cannot parse ${JSON.stringify(rest)} as ${JSON.stringify(at)}`;
  let rest = text;
  let outside: string | undefined;
  for (const [part, digits, range] of PARTS) {
    if (digits === 0) {
      if (!rest.startsWith(part)) return stopped(rest, part);
      rest = rest.slice(1);
      continue;
    }
    const number = rest.slice(0, digits);
    if (number.length < digits || !/^\d+$/.test(number)) return stopped(rest, part);
    rest = rest.slice(digits);
    if (range !== undefined && (Number(number) < range[1] || Number(number) > range[2]))
      outside ??= `parsing time ${quoted}: ${range[0]} out of range`;
    if (outside !== undefined && range?.[0] !== 'day') return outside;
  }
  if (micro) {
    if (!/^\.\d{6}/.test(rest)) return stopped(rest, '.000000');
    rest = rest.slice(7);
  } else rest = rest.replace(/^[.,]\d+/, '');
  const zone = /^(?:Z|[+-]\d\d:\d\d)/.exec(rest)?.[0];
  if (zone === undefined) return stopped(rest, 'Z07:00');
  rest = rest.slice(zone.length);
  // Some write a whole day, or a whole hour.
  if (Number(zone.slice(1, 3)) > 24) return `parsing time ${quoted}: time zone offset hour out of range`;
  if (Number(zone.slice(4)) > 60) return `parsing time ${quoted}: time zone offset minute out of range`;
  if (rest !== '') return `parsing time ${quoted}: extra text: ${JSON.stringify(rest)}`;
  if (outside !== undefined || !isDayOfMonth(text)) return `parsing time ${quoted}: day out of range`;
  return undefined;
}

function isDayOfMonth(text: string): boolean {
  const [year = 0, month = 1, day = 1] = text.slice(0, 10).split('-').map(Number);
  return day >= 1 && day <= new Date(Date.UTC(year, month, 0)).getUTCDate();
}
