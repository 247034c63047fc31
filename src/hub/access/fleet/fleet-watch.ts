import { readFailure } from '../../../kube/answer.ts';
import type { Response } from '../../../kube/exchange.ts';
import { lines } from '../../../kube/json-lines.ts';
import { failure, type Status, StatusError } from '../../../kube/status-error.ts';
import { jitter, sleep, type Timer } from '../../../runtime/index.ts';
import { errorText } from '../../../runtime/log.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { isObject, type JsonObject } from '../../../schema/json.ts';
import { jsonText, parseJson } from '../../../schema/json-text.ts';
import { decodeVersions, encodeVersions, isComposite } from './composite-version.ts';
import type { AskCluster } from './fleet-list.ts';
import { type FleetRequest, pathWith } from './fleet-request.ts';
import { type FleetTable, fleetTable, located } from './fleet-table.ts';

export interface FleetWatchOptions {
  /**
   * The clusters of the watch now: more may come. Rejects with the `StatusError` that ends the watch, or, where nobody could tell
   * now, with another: then the watch goes on with those that it has, and asks again.
   */
  readonly clusters: () => Promise<readonly string[]>;
  readonly ask: AskCluster;
  /** Calls back when clusters come, go or are relabelled. Returns what ends that. */
  readonly onMembers: (listener: () => void) => () => void;
  /** Resolves when a cluster is connected. */
  readonly whenUp: (cluster: string, signal: AbortSignal) => Promise<void>;
}

const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';
/** A cluster that has not told all it has by then is not waited for: its objects come when they come. */
const INITIAL_EVENTS_MS = 5_000;
const LONGEST_WATCH_MS = 30 * 60_000;
const FIRST_DELAY_MS = 250;
const LONGEST_DELAY_MS = 15_000;

/** What one cluster has to say next; it says nothing more until that is taken. */
interface Waiting {
  readonly cluster: string;
  readonly event: JsonObject;
  readonly taken: () => void;
}

/**
 * Watches a collection on all clusters: one stream, in which each cluster has its own pace. Each holds one event at most
 * until the client takes it, so a slow client costs no memory and a slow or lost cluster costs the others nothing; a lost
 * one goes on where it was once it is back. Objects carry a version that says where every cluster was when the client saw
 * them, so whoever comes back with it misses nothing and sees nothing twice.
 */
export function watchFleet(runtime: Runtime, asked: FleetRequest, options: FleetWatchOptions): Response {
  const { clock } = runtime;
  const { request, query } = asked;
  const given = query.get('resourceVersion') ?? '';
  /** Where the client is. */
  const wantsInitial = isTrue(query.get('sendInitialEvents'));
  const versions = isComposite(given) && !wantsInitial ? decodeVersions(given) : new Map<string, string>();
  const plain = isComposite(given) ? undefined : given || undefined;
  const wantsBookmarks = isTrue(query.get('allowWatchBookmarks'));
  const ending = new AbortController();
  const end = (): void => ending.abort(new Error('the watch is over'));
  const queue: Waiting[] = [];
  const pumps = new Map<string, AbortController>();
  const tables = new Map<string, readonly string[]>();
  const table: FleetTable = fleetTable();
  /** Clusters whose present state the client still waits for. */
  let initial: Set<string> | undefined = wantsInitial ? new Set() : undefined;
  let isInitialKnown = false;
  let wake: () => void = () => undefined;
  let toldColumns = 0;
  let failed: Status | undefined;

  function put(cluster: string, event: JsonObject, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const abort = (): void => reject(signal.reason);
      signal.addEventListener('abort', abort, { once: true });
      const taken = (): void => {
        signal.removeEventListener('abort', abort);
        resolve();
      };
      queue.push({ cluster, event, taken });
      wake();
    });
  }

  async function pump(cluster: string, signal: AbortSignal): Promise<void> {
    let seen = versions.get(cluster);
    let failures = 0;
    for (;;) {
      await options.whenUp(cluster, signal);
      try {
        const isFirst = seen === undefined;
        const path = pathWith(asked.path, query, {
          watch: 'true',
          timeoutSeconds: undefined,
          resourceVersion: seen ?? plain,
          // Where the client was told of the present state once, only what changed is told again.
          ...(isFirst ? {} : { sendInitialEvents: undefined, resourceVersionMatch: undefined }),
        });
        const response = await options.ask(cluster, { ...request, path, signal });
        if (response.status !== 200) throw await readFailure(response, path);
        for await (const line of lines(response)) {
          const event = parseJson(line);
          if (!isObject(event) || !isObject(event.object)) continue;
          if (event.type === 'ERROR') throw new StatusError(event.object as unknown as Status);
          failures = 0;
          await put(cluster, event, signal);
          seen = versionOf(event.object) ?? seen;
        }
      } catch (error) {
        if (signal.aborted) throw error;
        if (error instanceof StatusError && error.code === 410) {
          // What the cluster has forgotten only a new list can tell.
          failed = error.status;
          wake();
          return;
        }
        settled(cluster);
        if (error instanceof StatusError && isFinal(error.code)) {
          refused.set(cluster, error.status);
          wake();
        }
        runtime.log.debug('a watch of the fleet lost a cluster', { cluster, why: errorText(error) });
      }
      failures += 1;
      await sleep(clock, delayMs(runtime, failures), signal);
    }
  }
  /** Clusters that do not let the user watch, or do not have the kind. */
  const refused = new Map<string, Status>();

  async function follow(): Promise<void> {
    const wanted = new Set(await options.clusters());
    if (!isInitialKnown) for (const cluster of wanted) initial?.add(cluster);
    isInitialKnown = true;
    for (const [cluster, stop] of pumps) {
      if (wanted.has(cluster)) continue;
      stop.abort(new Error('the cluster is no longer one of the watch'));
      pumps.delete(cluster);
      refused.delete(cluster);
      settled(cluster);
    }
    for (const cluster of wanted) {
      if (pumps.has(cluster) || ending.signal.aborted) continue;
      const stop = new AbortController();
      pumps.set(cluster, stop);
      const signal = AbortSignal.any([stop.signal, ending.signal]);
      pump(cluster, signal).catch((error: unknown) => {
        if (!signal.aborted)
          runtime.log.error('a watch of the fleet failed', { cluster, why: errorText(error) });
      });
    }
  }

  function settled(cluster: string): void {
    if (initial?.delete(cluster) && initial.size === 0) wake();
  }

  /** An event as the client sees it; undefined for what it does not. */
  function told({ cluster, event }: Waiting): JsonObject | undefined {
    const object = isObject(event.object) ? event.object : {};
    const version = versionOf(object);
    if (version !== undefined) versions.set(cluster, version);
    refused.delete(cluster);
    if (event.type === 'BOOKMARK') {
      if (annotationsOf(object)[INITIAL_EVENTS_END] === 'true') {
        settled(cluster);
        return undefined;
      }
      return wantsBookmarks ? { ...event, object: withVersion(object, encodeVersions(versions)) } : undefined;
    }
    const composite = encodeVersions(versions);
    if (object.kind !== 'Table') return { ...event, object: located(object, cluster, composite) };
    const own = tables.get(cluster) ?? [];
    if (Array.isArray(object.columnDefinitions) && object.columnDefinitions.length > 0)
      tables.set(cluster, table.learn(object.columnDefinitions));
    const rows = table.rows(
      cluster,
      tables.get(cluster) ?? own,
      Array.isArray(object.rows) ? object.rows : [],
    );
    const known = table.definitions.length;
    const columns = known === toldColumns ? {} : { columnDefinitions: [...table.definitions] };
    toldColumns = known;
    return {
      ...event,
      object: {
        ...object,
        columnDefinitions: null,
        ...columns,
        metadata: { resourceVersion: composite },
        rows: rows.map((row) =>
          isObject(row.object) ? { ...row, object: withVersion(row.object, composite) } : row,
        ),
      },
    };
  }

  async function* body(): AsyncGenerator<Uint8Array, void, undefined> {
    const timers: Timer[] = [clock.after(watchMs(query), end)];
    const leave = options.onMembers(() => void followed());
    let failures = 0;
    let again: Timer | undefined;
    const followed = async (): Promise<void> => {
      again?.cancel();
      try {
        await follow();
        failures = 0;
      } catch (error) {
        if (ending.signal.aborted) return;
        if (error instanceof StatusError && isFinal(error.code)) {
          failed = error.status;
          wake();
          return;
        }
        failures += 1;
        runtime.log.warn('the clusters of a watch could not be told', { why: errorText(error) });
        again?.cancel();
        again = clock.after(delayMs(runtime, failures), () => void followed());
      }
    };
    request.signal?.addEventListener('abort', end, { once: true });
    ending.signal.addEventListener('abort', () => wake(), { once: true });
    try {
      if (initial) {
        timers.push(
          clock.after(INITIAL_EVENTS_MS, () => {
            isInitialKnown = true;
            initial?.clear();
            wake();
          }),
        );
      }
      await followed();
      while (!ending.signal.aborted && request.signal?.aborted !== true) {
        const next = queue.shift();
        if (next) {
          const event = told(next);
          next.taken();
          if (event) yield line(event);
          continue;
        }
        if (isInitialKnown && initial?.size === 0) {
          initial = undefined;
          yield line(initialEnd(asked, encodeVersions(versions)));
          continue;
        }
        const problem = failed ?? (failures > 0 ? undefined : allRefused(pumps, refused));
        if (problem) {
          yield line({ type: 'ERROR', object: problem as unknown as JsonObject });
          return;
        }
        await new Promise<void>((resolve) => {
          wake = resolve;
          if (ending.signal.aborted) resolve();
        });
      }
    } finally {
      leave();
      again?.cancel();
      request.signal?.removeEventListener('abort', end);
      for (const timer of timers) timer.cancel();
      end();
    }
  }

  return {
    status: 200,
    headers: { 'content-type': 'application/json', 'cache-control': 'no-cache, private' },
    body: body(),
  };
}

/** Whether asking again would bring the same answer. */
function isFinal(code: number): boolean {
  return code < 500 && code !== 429;
}

function delayMs(runtime: Runtime, failures: number): number {
  const delay = Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(failures, 8));
  return jitter(runtime.random, delay, 0.2);
}

/** Where no cluster lets the user watch, that is the answer. */
function allRefused(
  pumps: ReadonlyMap<string, AbortController>,
  refused: ReadonlyMap<string, Status>,
): Status | undefined {
  if (pumps.size === 0) return failure(503, 'ServiceUnavailable', 'there is no cluster to watch').status;
  return refused.size === pumps.size ? refused.values().next().value : undefined;
}

function initialEnd({ info }: FleetRequest, resourceVersion: string): JsonObject {
  const { group, version } = info;
  return {
    type: 'BOOKMARK',
    object: {
      kind: 'PartialObjectMetadata',
      apiVersion: group === '' ? version : `${group}/${version}`,
      metadata: { resourceVersion, creationTimestamp: null, annotations: { [INITIAL_EVENTS_END]: 'true' } },
    },
  };
}

function versionOf(object: JsonObject): string | undefined {
  const own = isObject(object.metadata) ? object.metadata.resourceVersion : undefined;
  if (typeof own === 'string' && own !== '') return own;
  const [row] = Array.isArray(object.rows) ? object.rows : [];
  if (!isObject(row) || !isObject(row.object) || !isObject(row.object.metadata)) return undefined;
  const { resourceVersion } = row.object.metadata;
  return typeof resourceVersion === 'string' ? resourceVersion : undefined;
}

function annotationsOf(object: JsonObject): JsonObject {
  const metadata = isObject(object.metadata) ? object.metadata : {};
  if (isObject(metadata.annotations)) return metadata.annotations;
  const [row] = Array.isArray(object.rows) ? object.rows : [];
  return isObject(row) && isObject(row.object) ? annotationsOf(row.object) : {};
}

function withVersion(object: JsonObject, resourceVersion: string): JsonObject {
  return { ...object, metadata: { ...(isObject(object.metadata) ? object.metadata : {}), resourceVersion } };
}

function watchMs(query: URLSearchParams): number {
  const seconds = Number(query.get('timeoutSeconds') ?? '0');
  return seconds > 0 ? Math.min(seconds * 1000, 24 * 3_600_000) : LONGEST_WATCH_MS;
}

function isTrue(value: string | null): boolean {
  return value !== null && value !== 'false' && value !== '0';
}

function line(event: JsonObject): Uint8Array {
  return Buffer.from(`${jsonText(event)}\n`);
}
