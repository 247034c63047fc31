import { expect, it } from 'vitest';
import { latestTime, localTimeOf, nextTime, parseCron } from './cron-schedule.ts';

function times(text: string, from: string, count: number, zone?: string): string[] {
  const schedule = parseCron(text);
  const local = localTimeOf(zone);
  if (!schedule || !local) return ['unusable'];
  const out: string[] = [];
  let time = Date.parse(from);
  for (let i = 0; i < count; i++) {
    const next = nextTime(schedule, local, time);
    if (next === undefined) break;
    out.push(new Date(next).toISOString().slice(0, 16));
    time = next;
  }
  return out;
}

it.each([
  ['*/15 * * * *', '2026-01-01T00:01:00Z', ['2026-01-01T00:15', '2026-01-01T00:30']],
  ['30 4 1,15 * *', '2026-01-02T00:00:00Z', ['2026-01-15T04:30', '2026-02-01T04:30']],
  ['0 9 * * mon-fri', '2026-01-02T10:00:00Z', ['2026-01-05T09:00', '2026-01-06T09:00']],
  ['0 0 13 * 5', '2026-02-07T00:00:00Z', ['2026-02-13T00:00', '2026-02-20T00:00']],
  ['0 0 29 feb *', '2026-01-01T00:00:00Z', []],
  ['@monthly', '2026-01-01T00:00:00Z', ['2026-02-01T00:00', '2026-03-01T00:00']],
  ['0 12 * * 7', '2026-01-01T00:00:00Z', ['2026-01-04T12:00', '2026-01-11T12:00']],
])('finds the next times of %s', (text, from, expected) => {
  expect(times(text, from, 2)).toEqual(expected);
});

it('knows time zones, over the change of the clock', () => {
  expect(times('30 8 * * *', '2026-03-27T12:00:00Z', 3, 'Europe/Berlin')).toEqual([
    '2026-03-28T07:30',
    '2026-03-29T06:30',
    '2026-03-30T06:30',
  ]);
  expect(localTimeOf('Nowhere/Land')).toBeUndefined();
});

it.each(['', '* * * *', '60 * * * *', '* * * * mons', '5-1 * * * *', '*/0 * * * *', '@often'])(
  'refuses %j',
  (text) => {
    expect(parseCron(text)).toBeUndefined();
  },
);

it.each([
  ['* * * * *', '2016-01-01T00:00:00Z', '2026-01-01T00:00'],
  ['0 12 1 3 *', '2024-01-01T00:00:00Z', '2025-03-01T12:00'],
  ['*/15 * * * *', '2025-12-31T23:50:00Z', '2026-01-01T00:00'],
  ['*/15 * * * *', '2026-01-01T00:00:00Z', undefined],
  ['0 12 * * *', '2025-12-31T12:00:00Z', undefined],
])('finds the latest time of %s since %s, without a look at all of them', (text, after, expected) => {
  const schedule = parseCron(text);
  const local = localTimeOf('UTC');
  if (!schedule || !local) throw new Error('unusable');
  let looks = 0;
  const counted: typeof local = (time) => {
    looks += 1;
    return local(time);
  };
  const found = latestTime(schedule, counted, Date.parse(after), Date.parse('2026-01-01T00:00:30Z'));
  expect(found === undefined ? found : new Date(found).toISOString().slice(0, 16)).toBe(expected);
  expect(looks).toBeLessThan(3_000);
});
