import { instantsOf, isTimeZone, midnightOf, wallAt, weekdayOf } from './local-time.ts';

/** When a cluster may be changed, by the clocks of some place. */
export interface MaintenanceWindow {
  readonly name?: string;
  /** `HH:MM`. */
  readonly start: string;
  /** `HH:MM`; not later than `start` means the next day. */
  readonly end: string;
  /** IANA name, such as `Europe/Oslo`. UTC by default. */
  readonly timeZone?: string;
  /** Days on which the window starts: `Mon` … `Sun`. Every day by default. */
  readonly days?: readonly string[];
  /**
   * For windows that a change of clocks makes longer or shorter: `extend` (the default) takes the longer of what the clocks
   * show and what the window usually lasts, `shrink` the shorter, `skip` leaves that day's window out.
   */
  readonly dstPolicy?: 'extend' | 'shrink' | 'skip';
}

/** One time that a window is open: from `start`, until before `end`. Milliseconds. */
export interface Opening {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

export interface WindowView {
  /** The opening of now; of several the one that ends last. */
  readonly current?: Opening;
  /** Where windows meet or overlap, when the last of them ends. */
  readonly openUntil?: number;
  /** The next one to open. */
  readonly next?: Opening;
}

const DAYS: readonly string[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const CLOCK = /^([01]\d|2[0-3]):([0-5]\d)$/;
/** A window of one day a week that a change of clocks leaves out comes again after two weeks. */
const LOOK_AHEAD_DAYS = 16;
/** Windows that meet are followed this often: round-the-clock ones have no end. */
const MAX_CHAIN = 32;

/** What is wrong with a window; empty where nothing is. */
export function windowProblems(window: MaintenanceWindow): readonly string[] {
  const problems: string[] = [];
  const name = window.name ?? 'window';
  for (const field of ['start', 'end'] as const)
    if (!CLOCK.test(window[field]))
      problems.push(`${name}: ${field} must be a time such as "22:30", not ${JSON.stringify(window[field])}`);
  if (window.timeZone !== undefined && !isTimeZone(window.timeZone))
    problems.push(
      `${name}: timeZone ${JSON.stringify(window.timeZone)} is no IANA zone such as "Europe/Oslo"`,
    );
  for (const day of window.days ?? [])
    if (dayNumber(day) < 0) problems.push(`${name}: ${JSON.stringify(day)} is no day: use Mon, Tue, … Sun`);
  if (window.days?.length === 0)
    problems.push(`${name}: days is empty, so it never opens: leave it out for every day`);
  const policy: string = window.dstPolicy ?? 'extend';
  if (policy !== 'extend' && policy !== 'shrink' && policy !== 'skip')
    problems.push(`${name}: dstPolicy must be extend, shrink or skip, not ${JSON.stringify(policy)}`);
  return problems;
}

/** Whether windows are open at an instant, until when, and when they open next. Windows with problems are closed. */
export function viewWindows(windows: readonly MaintenanceWindow[], now: number): WindowView {
  const openings = windows.flatMap((window) => openingsOf(window, now)).sort((a, b) => a.start - b.start);
  let current: Opening | undefined;
  let openUntil = now;
  let chained = 0;
  for (const opening of openings) {
    if (opening.start > openUntil || opening.end <= now || chained > MAX_CHAIN) continue;
    if (opening.start > now && current === undefined) continue;
    if (opening.start <= now && opening.end > (current?.end ?? 0)) current = opening;
    if (opening.end > openUntil) {
      openUntil = opening.end;
      chained += 1;
    }
  }
  const next = openings.find((opening) => opening.start > now);
  return {
    ...(current ? { current, openUntil } : {}),
    ...(next ? { next } : {}),
  };
}

/** The openings of a window that are not over at `now`, for two weeks ahead, in order. */
function openingsOf(window: MaintenanceWindow, now: number): Opening[] {
  if (windowProblems(window).length > 0) return [];
  const timeZone = window.timeZone ?? 'UTC';
  const today = wallAt(timeZone, now);
  const openings: Opening[] = [];
  // A window of yesterday may still be open, and one that was extended by a change of clocks a little longer.
  for (let day = -2; day <= LOOK_AHEAD_DAYS; day++) {
    const opening = openingOn(window, timeZone, midnightOf(today, day));
    if (opening && opening.end > now) openings.push(opening);
    // Two that are ahead are enough to follow windows that meet.
    if (openings.length > 2) break;
  }
  return openings;
}

/** The opening that starts on the day whose midnight is given, if there is one. */
function openingOn(window: MaintenanceWindow, timeZone: string, midnight: number): Opening | undefined {
  const { days, dstPolicy = 'extend', name = 'window' } = window;
  if (days && !days.some((day) => dayNumber(day) === weekdayOf(midnight))) return undefined;
  const startWall = midnight + minutesOf(window.start);
  const endWall = midnight + minutesOf(window.end);
  const usually = endWall > startWall ? endWall - startWall : endWall + 1440 - startWall;
  const start = instantsOf(timeZone, startWall).first;
  const end = instantsOf(timeZone, startWall + usually).last;
  const shown = end - start;
  const lasts = usually * 60_000;
  if (shown === lasts) return { name, start, end };
  if (dstPolicy === 'skip') return undefined;
  const length = dstPolicy === 'extend' ? Math.max(shown, lasts) : Math.min(shown, lasts);
  return length > 0 ? { name, start, end: start + length } : undefined;
}

function minutesOf(clock: string): number {
  const [, hours, minutes] = CLOCK.exec(clock) ?? [];
  return Number(hours) * 60 + Number(minutes);
}

function dayNumber(day: string): number {
  const short = day.slice(0, 3).toLowerCase();
  return DAYS.indexOf(short);
}
