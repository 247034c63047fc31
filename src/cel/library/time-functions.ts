import { DURATION, INT, STRING, TIMESTAMP } from '../types/type.ts';
import { toInt } from '../values/integer.ts';
import { type CalendarParts, calendarParts } from '../values/time.ts';
import { CelError, type Duration, type Timestamp, type Value } from '../values/value.ts';
import { type FunctionDeclaration, memberOverload } from './function.ts';

/** A part of the calendar, in UTC or in a zone. */
function part(
  name: string,
  id: string,
  read: (parts: CalendarParts, time: Timestamp) => number,
  duration?: (nanos: bigint) => bigint,
): FunctionDeclaration {
  const run = (time: Value, zone?: Value): Value => {
    const parts = calendarParts(time as Timestamp, zone as string | undefined);
    return parts instanceof CelError ? parts : read(parts, time as Timestamp);
  };
  const overloads = [
    memberOverload(`timestamp_to_${id}`, [TIMESTAMP], INT, run),
    memberOverload(`timestamp_to_${id}_with_tz`, [TIMESTAMP, STRING], INT, run),
  ];
  if (duration) {
    overloads.push(
      memberOverload(`duration_to_${id}`, [DURATION], INT, (value) =>
        toInt(duration((value as Duration).nanos)),
      ),
    );
  }
  return { name, overloads };
}

const SECOND = 1_000_000_000n;

export const timeFunctions: readonly FunctionDeclaration[] = [
  part('getFullYear', 'year', (parts) => parts.year),
  part('getMonth', 'month', (parts) => parts.month - 1),
  part('getDate', 'day_of_month_1_based', (parts) => parts.day),
  part('getDayOfMonth', 'day_of_month', (parts) => parts.day - 1),
  part('getDayOfWeek', 'day_of_week', (parts) => parts.weekday),
  part('getDayOfYear', 'day_of_year', (parts) => parts.dayOfYear),
  part(
    'getHours',
    'hours',
    (parts) => parts.hour,
    (nanos) => nanos / (3600n * SECOND),
  ),
  part(
    'getMinutes',
    'minutes',
    (parts) => parts.minute,
    (nanos) => nanos / (60n * SECOND),
  ),
  part(
    'getSeconds',
    'seconds',
    (parts) => parts.second,
    (nanos) => nanos / SECOND,
  ),
  part(
    'getMilliseconds',
    'milliseconds',
    (_, time) => Math.floor(time.nanos / 1_000_000),
    (nanos) => (nanos / 1_000_000n) % 1000n,
  ),
];
