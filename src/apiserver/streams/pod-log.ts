import type { Response } from '../../kube/exchange.ts';
import { badRequest } from '../../kube/status-error.ts';
import { formatTime, type Runtime } from '../../runtime/index.ts';
import type { Store } from '../store/store.ts';
import { type ContainerLog, containerLog, type LogLine, statusOf } from '../workloads/containers/index.ts';
import type { Container, Pod } from '../workloads/kinds.ts';
import { type LogQuery, logQuery } from './log-query.ts';
import { findContainer, findPod, type PodTarget } from './pod-target.ts';

const TEXT = { 'content-type': 'text/plain' };

/** Answers `pods/log`. Throws 400, 404 and 422. */
export function podLog(
  runtime: Runtime,
  store: Store,
  target: PodTarget,
  query: URLSearchParams,
  signal: AbortSignal | undefined,
): Response {
  const { clock } = runtime;
  const asked = logQuery(query, clock.now());
  const { pod, key } = findPod(store, target);
  const container = findContainer(pod, asked.container);
  // A pod that is on no node has said nothing yet.
  if (!pod.spec.nodeName) return { status: 200, headers: TEXT, body: new Uint8Array() };
  const log = containerLog(pod, container, asked.previous);
  if (log === undefined) throw noLog(pod, container.name, asked.previous);
  const now = clock.now();
  const past = pastLines(log, asked, now);
  if (!asked.follow || asked.previous || log.ended) {
    const limit = byteLimit(asked.limitBytes);
    const chunks = past.map((line) => limit(lineBytes(line, asked)));
    return { status: 200, headers: TEXT, body: Buffer.concat(asked.output ? chunks : []) };
  }
  const podNow = (): Pod | undefined => store.get(key)?.object as Pod | undefined;
  const onChange = (act: () => void): (() => void) => {
    const watch = store.watch(key, store.revision, act);
    return () => watch.stop();
  };
  const follow = followLines(runtime, { log, past, now, container, podNow, onChange }, signal);
  return { status: 200, headers: TEXT, body: encoded(follow, asked) };
}

/** Why there is no log, as kubelets say it. */
function noLog(pod: Pod, container: string, previous: boolean): Error {
  const name = JSON.stringify(pod.metadata.name ?? '');
  if (previous)
    return badRequest(`previous terminated container ${JSON.stringify(container)} in pod ${name} not found`);
  const reason = statusOf(pod, container)?.state?.waiting?.reason ?? 'ContainerCreating';
  const why = /^(ErrImagePull|ImagePullBackOff)$/.test(reason) ? 'trying and failing to pull image' : reason;
  return badRequest(`container ${JSON.stringify(container)} in pod ${name} is waiting to start: ${why}`);
}

/** The lines that are there already and wanted. */
function pastLines(log: ContainerLog, asked: LogQuery, now: number): LogLine[] {
  const count = log.count(now);
  const first = Math.max(
    log.first(now),
    asked.tailLines === undefined ? 0 : count - Math.min(asked.tailLines, count),
  );
  const lines: LogLine[] = [];
  for (let index = first; index < count; index++) {
    const line = log.line(index);
    if (asked.since === undefined || line.at >= asked.since) lines.push(line);
  }
  return lines;
}

interface Following {
  readonly log: ContainerLog;
  readonly past: readonly LogLine[];
  readonly now: number;
  readonly container: Container;
  readonly podNow: () => Pod | undefined;
  /** Calls back whenever the pod changes, until told to stop. */
  readonly onChange: (act: () => void) => () => void;
}

/** The lines of one run as they come; ends with the run, with the pod, and when the reader goes. */
async function* followLines(
  { clock }: Runtime,
  { log: begun, past, now, container, podNow, onChange }: Following,
  signal: AbortSignal | undefined,
): AsyncGenerator<LogLine, void, undefined> {
  let wake = (): void => {};
  let changed = false;
  const stop = onChange(() => {
    changed = true;
    wake();
  });
  const onAbort = (): void => wake();
  signal?.addEventListener('abort', onAbort);
  try {
    yield* past;
    let log = begun;
    let next = begun.count(now);
    while (!signal?.aborted) {
      if (changed) {
        changed = false;
        const pod = podNow();
        const present = pod && sameRun(pod, container, begun.run);
        if (present === undefined) return;
        log = present;
      }
      const count = log.count(clock.now());
      for (; next < count; next++) yield log.line(next);
      if (log.ended) return;
      if (changed || signal?.aborted) continue;
      const at = log.nextAt(clock.now());
      await new Promise<void>((resolve) => {
        const timer = at === undefined ? undefined : clock.after(Math.max(1, at - clock.now()), resolve);
        wake = () => {
          timer?.cancel();
          resolve();
        };
      });
    }
  } finally {
    stop();
    signal?.removeEventListener('abort', onAbort);
  }
}

/** The run that is followed, also when it has become the previous one. */
function sameRun(pod: Pod, container: Container, run: number): ContainerLog | undefined {
  const present = containerLog(pod, container, false);
  if (present?.run === run) return present;
  const previous = containerLog(pod, container, true);
  return previous?.run === run ? previous : undefined;
}

async function* encoded(
  lines: AsyncIterable<LogLine>,
  asked: LogQuery,
): AsyncGenerator<Uint8Array, void, undefined> {
  const limit = byteLimit(asked.limitBytes);
  for await (const line of lines) {
    // Nothing is written to standard error.
    if (!asked.output) continue;
    const bytes = limit(lineBytes(line, asked));
    if (bytes.byteLength === 0) return;
    yield bytes;
  }
}

function lineBytes({ at, text }: LogLine, { timestamps }: LogQuery): Uint8Array {
  if (!timestamps) return Buffer.from(`${text}\n`);
  const fraction = String(Math.floor(at % 1_000)).padStart(3, '0');
  return Buffer.from(`${formatTime(at).slice(0, -1)}.${fraction}000000Z ${text}\n`);
}

/** Lets through as many bytes as are asked for, all together. */
function byteLimit(limit: number | undefined): (bytes: Uint8Array) => Uint8Array {
  let left = limit ?? Number.POSITIVE_INFINITY;
  return (bytes) => {
    const allowed = bytes.subarray(0, left);
    left -= allowed.byteLength;
    return allowed;
  };
}
