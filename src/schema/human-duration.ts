const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/**
 * An age as kubectl prints it: fine-grained while it is short (`90s`, `5m30s`), coarse when it is long (`3d4h`, `5y`).
 * A start in the future by more than a clock's error is `<invalid>`.
 */
export function humanDuration(ms: number): string {
  if (!(ms > -2 * SECOND)) return '<invalid>';
  if (ms < 2 * MINUTE) return `${Math.max(0, Math.floor(ms / SECOND))}s`;
  if (ms < 10 * MINUTE) return withRest(ms, MINUTE, 'm', SECOND, 's');
  if (ms < 3 * HOUR) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 8 * HOUR) return withRest(ms, HOUR, 'h', MINUTE, 'm');
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)}h`;
  if (ms < 8 * DAY) return withRest(ms, DAY, 'd', HOUR, 'h');
  if (ms < 2 * YEAR) return `${Math.floor(ms / DAY)}d`;
  if (ms < 8 * YEAR) return withRest(ms, YEAR, 'y', DAY, 'd');
  return `${Math.floor(ms / YEAR)}y`;
}

function withRest(ms: number, unit: number, name: string, restUnit: number, restName: string): string {
  const rest = Math.floor((ms % unit) / restUnit);
  return `${Math.floor(ms / unit)}${name}${rest === 0 ? '' : `${rest}${restName}`}`;
}
