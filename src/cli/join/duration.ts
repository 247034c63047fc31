const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const LONGEST_MS = 90 * UNITS.d;

/** Milliseconds of `10m`, `24h` and the like; `option` is for the message. */
export function durationOf(text: string, option: string): number {
  const [, count = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS[unit as keyof typeof UNITS] ?? 0);
  if (ms <= 0 || ms > LONGEST_MS) throw new Error(`${option} ${JSON.stringify(text)} is not from 1s to 90d`);
  return ms;
}
