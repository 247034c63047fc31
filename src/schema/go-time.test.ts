import { describe, expect, it } from 'vitest';
import { timeProblem } from './go-time.ts';

describe('timeProblem', () => {
  it('takes times of RFC 3339', () => {
    for (const time of ['2024-02-29T23:59:59Z', '2024-01-01T00:00:00.5Z', '2024-01-01T00:00:00+02:00'])
      expect(timeProblem(time), time).toBeUndefined();
    expect(timeProblem('2024-01-01T00:00:00.000001Z', true)).toBeUndefined();
  });

  it.each([
    ['', 'cannot parse "" as "2006"'],
    ['soon', 'cannot parse "soon" as "2006"'],
    ['2024-01-01', 'cannot parse "" as "T"'],
    ['2024-01-01T1', 'cannot parse "1" as "15"'],
    ['2024-01-01T10:00:00', 'cannot parse "" as "Z07:00"'],
  ])('tells where reading %j ends', (time, why) => {
    expect(timeProblem(time)).toBe(
      `parsing time ${JSON.stringify(time)} as "2006-01-02T15:04:05Z07:00": ${why}`,
    );
  });

  it.each([
    ['2024-13-01T00:00:00Z', 'month out of range'],
    ['2023-02-29T00:00:00Z', 'day out of range'],
    ['2024-01-01T24:00:00Z', 'hour out of range'],
    ['2024-01-01T00:00:00Zzz', 'extra text: "zz"'],
    ['2024-01-01T00:00:00+99:00', 'time zone offset hour out of range'],
    ['2024-01-01T00:00:00-01:61', 'time zone offset minute out of range'],
  ])('tells what is wrong with %j', (time, why) => {
    expect(timeProblem(time)).toBe(`parsing time ${JSON.stringify(time)}: ${why}`);
  });

  it('wants six digits behind the second of times that have them', () => {
    expect(timeProblem('2024-01-01T00:00:00Z', true)).toBe(
      'parsing time "2024-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000"',
    );
  });
});
