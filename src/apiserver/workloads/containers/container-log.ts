import { parseTime } from '../../../runtime/index.ts';
import type { Container, Pod } from '../kinds.ts';
import { parseDuration } from '../simulation.ts';
import { statusOf } from './sandboxes.ts';

/**
 * What a simulated container writes to its log, by annotations on the pod:
 *
 * | annotation | value | effect |
 * |---|---|---|
 * | `sim.atoll.dev/log` | lines | what it says when it starts, instead of its image and ports |
 * | `sim.atoll.dev/log-every` | `10s`, `500ms`; `0` for never | how often it says something later |
 * | `sim.atoll.dev/log-line` | a line with `{n}` | what that is; `{n}` counts from 1 |
 */
export const LOG = 'sim.atoll.dev/log';
export const LOG_EVERY = 'sim.atoll.dev/log-every';
export const LOG_LINE = 'sim.atoll.dev/log-line';

export interface LogLine {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly text: string;
}

/**
 * The log of one run of a container. It is a function of the pod and the time: nothing is kept, and every reader sees the
 * same lines.
 */
export interface ContainerLog {
  /** Tells the runs of a container apart. */
  readonly run: number;
  /** The first line that is still there: old ones are dropped, as by log rotation. */
  first(now: number): number;
  /** How many lines there are by `now`, those that were dropped included. */
  count(now: number): number;
  line(index: number): LogLine;
  /** When the next line comes, if one does. */
  nextAt(now: number): number | undefined;
  /** Whether the container writes no more. */
  readonly ended: boolean;
}

const DEFAULT_EVERY_MS = 10_000;
const MIN_EVERY_MS = 10;
const MAX_LINES_KEPT = 10_000;
const MAX_OPENING_LINES = 1_000;

/** The log of the present run, or of the one before; `undefined` where there was none. */
export function containerLog(pod: Pod, container: Container, previous: boolean): ContainerLog | undefined {
  const status = statusOf(pod, container.name);
  if (status === undefined) return undefined;
  const { running, terminated } = status.state ?? {};
  const before = status.lastState?.terminated;
  const present = running ?? terminated;
  const isLast = previous || present === undefined;
  const ended = isLast ? before : terminated;
  const startedAt = parseTime(isLast ? before?.startedAt : present?.startedAt);
  if (startedAt === undefined) return undefined;
  // Who waits to be started again has run as often as he was started.
  const run = status.restartCount - (previous && present !== undefined ? 1 : 0);
  const annotations = pod.metadata.annotations ?? {};
  const opening = openingLines(annotations[LOG], container);
  const asked = parseDuration(annotations[LOG_EVERY]);
  const every = asked === 0 ? Number.POSITIVE_INFINITY : Math.max(MIN_EVERY_MS, asked ?? DEFAULT_EVERY_MS);
  const repeated = annotations[LOG_LINE] ?? 'tick {n}';
  // Times of a status are whole seconds: what was said within the last one stays said.
  const endedAt =
    ended === undefined ? undefined : Math.max(startedAt, parseTime(ended.finishedAt) ?? startedAt) + 999;
  const closing = ended === undefined ? [] : [`exiting with code ${ended.exitCode}`];

  /** Number of repeated lines by a time, in all when it has ended. */
  const repeats = (now: number): number => Math.max(0, Math.floor(((endedAt ?? now) - startedAt) / every));
  const count = (now: number): number =>
    now < startedAt && endedAt === undefined ? 0 : opening.length + repeats(now) + closing.length;

  return {
    run,
    count,
    first: (now) => Math.max(0, count(now) - MAX_LINES_KEPT),
    line(index) {
      const text = opening[index];
      if (text !== undefined) return { at: startedAt, text };
      const n = index - opening.length + 1;
      if (endedAt !== undefined && n > repeats(endedAt)) return { at: endedAt, text: closing[0] ?? '' };
      return { at: startedAt + n * every, text: repeated.replaceAll('{n}', String(n)) };
    },
    nextAt(now) {
      if (endedAt !== undefined) return undefined;
      const at = startedAt + (repeats(now) + 1) * every;
      return Number.isFinite(at) ? Math.max(at, startedAt) : undefined;
    },
    ended: endedAt !== undefined,
  };
}

function openingLines(script: string | undefined, container: Container): readonly string[] {
  if (script !== undefined) {
    const lines = script.replace(/\n$/, '').split('\n');
    return script === '' ? [] : lines.slice(0, MAX_OPENING_LINES);
  }
  const ports = (container.ports ?? []).map(({ containerPort }) => `listening on port ${containerPort}`);
  return [`starting ${container.image ?? container.name}`, ...ports];
}
