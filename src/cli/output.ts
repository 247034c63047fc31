import { stringify } from 'yaml';
import { errorText } from '../runtime/log.ts';
import { systemRuntime } from '../runtime/runtime.ts';
import { humanDuration } from '../schema/human-duration.ts';
import { type AccessOptions, type HubAccess, HubUnreachable, openHub } from './hub-access.ts';

export type Format = 'json' | 'yaml' | undefined;

export type Style = 'plain' | 'strong' | 'quiet' | 'good' | 'warn' | 'bad';

/** Colours text, or leaves it as it is. */
export type Paint = (style: Style, text: string) => string;

export const plainPaint: Paint = (_style, text) => text;

const CODES: Readonly<Record<Exclude<Style, 'plain'>, readonly [number, number]>> = {
  strong: [1, 22],
  quiet: [2, 22],
  good: [32, 39],
  warn: [33, 39],
  bad: [31, 39],
};

const ansiPaint: Paint = (style, text) => {
  if (style === 'plain' || text === '') return text;
  const [on, off] = CODES[style];
  return `\u001b[${on}m${text}\u001b[${off}m`;
};

/** Colours on a terminal only, and never where NO_COLOR is set (https://no-color.org). */
export function paintFor(
  stream: { readonly isTTY?: boolean },
  env: Readonly<Record<string, string | undefined>> = process.env,
): Paint {
  const refused = (env['NO_COLOR'] ?? '') !== '' || env['TERM'] === 'dumb';
  return stream.isTTY === true && !refused ? ansiPaint : plainPaint;
}

export interface Cell {
  readonly text: string;
  readonly style: Style;
}

export function cell(text: string, style: Style = 'plain'): Cell {
  return { text, style };
}

/** Aligned columns, as kubectl prints them: upper-case heads, three spaces between, no trailing space. */
export function table(
  head: readonly string[],
  rows: readonly (readonly (string | Cell)[])[],
  paint: Paint,
  indent: string = '',
): string {
  const cells = [
    head.map((text) => cell(text, 'quiet')),
    ...rows.map((row) => row.map((item) => (typeof item === 'string' ? cell(item) : item))),
  ];
  const widths = head.map((_text, column) => Math.max(...cells.map((row) => row[column]?.text.length ?? 0)));
  let out = '';
  for (const row of cells) {
    let line = indent;
    let gap = '';
    row.forEach(({ text, style }, column) => {
      line += gap + paint(style, text);
      gap = ' '.repeat((widths[column] ?? 0) - text.length + 3);
    });
    out += `${line.trimEnd()}\n`;
  }
  return out;
}

/** `5m ago`, `never` for a time that is not known. Both in milliseconds since the epoch. */
export function agoText(time: number | undefined, now: number): string {
  return time === undefined ? 'never' : `${humanDuration(Math.max(0, now - time))} ago`;
}

/** A report as the user wants it: data, or the text that `text` makes of it. */
export function printed<T>(report: T, format: Format, text: (report: T) => string): string {
  if (format === 'json') return `${JSON.stringify(report, null, 2)}\n`;
  if (format === 'yaml') return stringify(report, { lineWidth: 0, aliasDuplicateObjects: false });
  return text(harmless(report));
}

/** Characters that would act on a terminal: texts of objects may hold them. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** A value of foreign origin whose texts are harmless on a terminal. */
export function harmless<T>(value: T): T {
  if (typeof value === 'string') return value.replace(CONTROL, '\ufffd') as T;
  if (Array.isArray(value)) return value.map(harmless) as T;
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [harmless(key), harmless(item)])) as T;
}

/** What an asking command works with. */
export interface Asking {
  readonly hub: HubAccess;
  /** Milliseconds since the epoch, one value for all ages of a report. */
  readonly now: number;
  readonly paint: Paint;
  print<T>(report: T, text: (report: T) => string): void;
}

export interface AskingOptions extends AccessOptions {
  readonly output?: 'json' | 'yaml';
}

/**
 * Runs a command that asks the hub. `act` resolves to the exit code; what it throws is told on stderr and ends with
 * `failureCode`.
 */
export async function ask(
  options: AskingOptions,
  act: (asking: Asking) => Promise<number>,
  failureCode: number = 1,
): Promise<void> {
  let hub: HubAccess | undefined;
  try {
    const { clock } = systemRuntime();
    hub = openHub(clock, options);
    process.exitCode = await act({
      hub,
      now: clock.now(),
      paint: paintFor(process.stdout),
      print: (report, text) => void process.stdout.write(printed(report, options.output, text)),
    });
  } catch (error) {
    process.stderr.write(failureText(error));
    process.exitCode = failureCode;
  } finally {
    await hub?.close();
  }
}

/** An error as a command ends with it: what is wrong, and what to do where that is known. */
export function failureText(error: unknown): string {
  const unreachable = unreachableIn(error);
  if (unreachable) return `atoll: ${harmless(unreachable.message)}\nNext: ${unreachable.next}\n`;
  return `atoll: ${harmless(errorText(error))}\n`;
}

function unreachableIn(error: unknown): HubUnreachable | undefined {
  if (error instanceof HubUnreachable) return error;
  return error instanceof Error ? unreachableIn(error.cause) : undefined;
}
