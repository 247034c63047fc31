import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { instantsOf, isTimeZone, offsetAt } from './local-time.ts';
import { type MaintenanceWindow, viewWindows, windowProblems } from './maintenance-window.ts';

const at = (text: string): number => Date.parse(text);
const iso = (instant: number | undefined): string | undefined =>
  instant === undefined ? undefined : new Date(instant).toISOString().replace(':00.000Z', 'Z');
const view = (window: MaintenanceWindow, now: string): { until?: string; next?: string } => {
  const { openUntil, next } = viewWindows([window], at(now));
  return {
    ...(openUntil === undefined ? {} : { until: iso(openUntil) as string }),
    ...(next ? { next: iso(next.start) as string } : {}),
  };
};

describe('clocks of a place', () => {
  it('know the two readings of an hour that comes twice and the jump over one that never comes', () => {
    const minutes = (text: string): number => at(`${text}Z`) / 60_000;
    // Oslo: 2026-03-29 02:00 becomes 03:00, 2026-10-25 03:00 becomes 02:00.
    expect(instantsOf('Europe/Oslo', minutes('2026-03-29T02:30'))).toEqual({
      first: at('2026-03-29T01:00Z'),
      last: at('2026-03-29T01:00Z'),
      skipped: true,
    });
    expect(instantsOf('Europe/Oslo', minutes('2026-10-25T02:30'))).toEqual({
      first: at('2026-10-25T00:30Z'),
      last: at('2026-10-25T01:30Z'),
      skipped: false,
    });
    // Half an hour of summer time; a whole day left out.
    expect(
      offsetAt('Australia/Lord_Howe', at('2026-01-01T00:00Z')) -
        offsetAt('Australia/Lord_Howe', at('2026-07-01T00:00Z')),
    ).toBe(1_800_000);
    expect(instantsOf('Pacific/Apia', minutes('2011-12-30T12:00')).first).toBe(at('2011-12-30T10:00Z'));
    expect(isTimeZone('Europe/Oslo')).toBe(true);
    expect(isTimeZone('Europe/Atlantis')).toBe(false);
  });
});

describe('maintenance windows', () => {
  const night: MaintenanceWindow = {
    name: 'night',
    start: '22:00',
    end: '04:00',
    timeZone: 'America/New_York',
    days: ['Fri', 'Sat'],
  };

  it('are open by the clocks and days of their zone, over midnight too', () => {
    // Friday 2026-01-16 22:00 in New York is Saturday 03:00 UTC.
    expect(view(night, '2026-01-17T02:59:00Z')).toEqual({ next: '2026-01-17T03:00Z' });
    expect(view(night, '2026-01-17T03:00:00Z')).toEqual({
      until: '2026-01-17T09:00Z',
      next: '2026-01-18T03:00Z',
    });
    // Sunday 03:59 belongs to Saturday's window; at 04:00 it is closed until Friday.
    expect(view(night, '2026-01-18T08:59:00Z')).toMatchObject({ until: '2026-01-18T09:00Z' });
    expect(view(night, '2026-01-18T09:00:00Z')).toEqual({ next: '2026-01-24T03:00Z' });
  });

  it('last longer, shorter or not at all where clocks are changed', () => {
    const window = (dstPolicy: 'extend' | 'shrink' | 'skip'): MaintenanceWindow => ({
      start: '01:00',
      end: '05:00',
      timeZone: 'Europe/Oslo',
      dstPolicy,
    });
    // Spring: four hours by the clocks are three.
    expect(view(window('extend'), '2026-03-29T00:00:00Z').until).toBe('2026-03-29T04:00Z');
    expect(view(window('shrink'), '2026-03-29T00:00:00Z').until).toBe('2026-03-29T03:00Z');
    expect(view(window('skip'), '2026-03-29T00:00:00Z')).toEqual({ next: '2026-03-29T23:00Z' });
    // Autumn: they are five.
    expect(view(window('extend'), '2026-10-24T23:00:00Z').until).toBe('2026-10-25T04:00Z');
    expect(view(window('shrink'), '2026-10-24T23:00:00Z').until).toBe('2026-10-25T03:00Z');
    expect(view(window('skip'), '2026-10-24T23:00:00Z')).toEqual({ next: '2026-10-26T00:00Z' });
  });

  it('within the hour that never comes: moved behind it, or not there', () => {
    const window = (dstPolicy: 'extend' | 'shrink' | 'skip'): MaintenanceWindow => ({
      start: '02:10',
      end: '02:50',
      timeZone: 'Europe/Oslo',
      dstPolicy,
    });
    expect(view(window('extend'), '2026-03-29T01:00:00Z').until).toBe('2026-03-29T01:40Z');
    expect(view(window('shrink'), '2026-03-29T01:00:00Z').until).toBeUndefined();
    expect(view(window('skip'), '2026-03-29T01:00:00Z').until).toBeUndefined();
  });

  it('a weekly window that a change of clocks leaves out comes again a week later', () => {
    const weekly: MaintenanceWindow = {
      start: '01:00',
      end: '05:00',
      timeZone: 'Europe/Oslo',
      days: ['Sunday'],
      dstPolicy: 'skip',
    };
    expect(view(weekly, '2026-03-22T12:00:00Z')).toEqual({ next: '2026-04-04T23:00Z' });
  });

  it('that meet are one, and round-the-clock ones do not end', () => {
    const two: MaintenanceWindow[] = [
      { start: '00:00', end: '06:00' },
      { start: '06:00', end: '08:00' },
    ];
    expect(iso(viewWindows(two, at('2026-01-01T05:00Z')).openUntil)).toBe('2026-01-01T08:00Z');
    const always = viewWindows([{ start: '00:00', end: '00:00' }], at('2026-01-01T05:00Z'));
    expect(always.openUntil).toBeGreaterThan(at('2026-01-02T05:00Z'));
  });

  it('say what is wrong with them', () => {
    const wrong = {
      start: '24:00',
      end: '9',
      timeZone: 'Mars/Olympus',
      days: ['Someday'],
      dstPolicy: 'ignore',
    } as never;
    expect(windowProblems(wrong)).toHaveLength(5);
    expect(viewWindows([wrong], 0)).toEqual({});
  });

  it('[K85] are open exactly when the clocks say so on any day around any change, and always know when they open next', () => {
    const zones = Intl.supportedValuesOf('timeZone');
    const clock = fc
      .tuple(fc.nat(23), fc.nat(59))
      .map(([hours, minutes]) => `${String(hours).padStart(2, '0')}:${String(minutes).padStart(2, '0')}`);
    const names = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];
    fc.assert(
      fc.property(
        fc.constantFrom(...zones),
        clock,
        clock,
        fc.option(fc.subarray(names, { minLength: 1 }), { nil: undefined }),
        fc.constantFrom('extend' as const, 'shrink' as const, 'skip' as const),
        fc.boolean(),
        fc.nat(100),
        fc.nat(2 * 1440),
        (timeZone, start, end, days, dstPolicy, nearChange, pick, shift) => {
          const changes = nearChange ? changesOf(timeZone) : [];
          const base =
            changes[pick % Math.max(1, changes.length)] ?? at('2026-01-01T00:00Z') + pick * 3 * 86_400_000;
          const now = base - 86_400_000 + shift * 60_000;
          const window: MaintenanceWindow = { start, end, timeZone, dstPolicy, ...(days ? { days } : {}) };
          const seen = viewWindows([window], now);
          expect(seen.next?.start ?? Number.POSITIVE_INFINITY).toBeGreaterThan(now);
          // Where nothing changes for three days around, the clock on the wall decides.
          const offsets = new Set(
            [-3, -2, -1, 0, 1, 2, 3].map((day) => offsetAt(timeZone, now + day * 86_400_000)),
          );
          if (offsets.size === 1) expect(seen.current !== undefined).toBe(openByTheWall(window, now, names));
          if (seen.next) {
            const opening = viewWindows([window], seen.next.start);
            expect(opening.current).toBeDefined();
            if (opening.current) {
              expect(viewWindows([window], opening.current.end - 1).current).toBeDefined();
              const usual = lengthOf(window);
              const lasts = (seen.next.end - seen.next.start) / 60_000;
              if (dstPolicy === 'extend') expect(lasts).toBeGreaterThanOrEqual(usual);
              if (dstPolicy === 'shrink') expect(lasts).toBeLessThanOrEqual(usual);
              if (dstPolicy === 'skip') expect(lasts).toBe(usual);
            }
          } else expect(seen.current).toBeDefined();
        },
      ),
      { numRuns: 300 },
    );
  });
});

function lengthOf({ start, end }: MaintenanceWindow): number {
  const minutes = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));
  return minutes(end) > minutes(start) ? minutes(end) - minutes(start) : minutes(end) + 1440 - minutes(start);
}

/** The clock and the day as a person reads them, without instants. */
function openByTheWall(window: MaintenanceWindow, now: number, names: readonly string[]): boolean {
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: window.timeZone,
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  });
  const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const clock = `${parts['hour']}:${parts['minute']}`;
  const today = names.indexOf(parts['weekday'] ?? '');
  const starts = (day: number): boolean =>
    window.days === undefined || window.days.includes(names[(day + 7) % 7] ?? '');
  if (window.end > window.start) return starts(today) && clock >= window.start && clock < window.end;
  return (starts(today) && clock >= window.start) || (starts(today - 1) && clock < window.end);
}

const knownChanges = new Map<string, number[]>();

/** When the clocks of a zone are changed in 2025 and 2026, to the day. No zone changes them twice within a week. */
function changesOf(timeZone: string): number[] {
  const known = knownChanges.get(timeZone);
  if (known) return known;
  const dayAt = (day: number): number => at('2025-01-01T00:00Z') + day * 86_400_000;
  const changes: number[] = [];
  let before = offsetAt(timeZone, dayAt(0));
  for (let day = 7; day < 730; day += 7) {
    const offset = offsetAt(timeZone, dayAt(day));
    if (offset !== before) {
      let first = day - 6;
      while (offsetAt(timeZone, dayAt(first)) === before) first += 1;
      changes.push(dayAt(first));
    }
    before = offset;
  }
  knownChanges.set(timeZone, changes);
  return changes;
}
