import type { FlowingBody, Response } from '../../kube/exchange.ts';
import { formatApiVersion, type KubeObject } from '../../kube/object.ts';
import { failure, internalError, type Status, StatusError } from '../../kube/status-error.ts';
import { errorText, type Timer } from '../../runtime/index.ts';
import { jsonText } from '../../schema/json-text.ts';
import { PROTOBUF } from '../protobuf/index.ts';
import { expired, type IncludeObject, type ListQuery, type Representation } from '../request/index.ts';
import { Compacted, type StoreEvent, type StoreRecord, type Watch } from '../store/store.ts';
import { lastView, scopedView } from './cluster-view.ts';
import { mayBeForeign, readied } from './conversion.ts';
import { eventLines, joined, lineForm, loneEvent, rowWriter } from './event-line.ts';
import type { FlushTurns } from './flush-turns.ts';
import { type LineQueue, lineQueue } from './line-queue.ts';
import { checkRevision, waitForRevision } from './list.ts';
import { collectionPrefix, isAddressable, keyOf, type Scope } from './scope.ts';
import { parseSelection, type Selection } from './selector.ts';
import type { View } from './view.ts';

const BOOKMARK_EVERY_MS = 60_000;
/** A last bookmark is sent this long before a stream times out, so that the client resumes from near its end. */
const BOOKMARK_BEFORE_END_MS = 2_000;
const MIN_TIMEOUT_S = 1800;
/** A watcher that leaves more than this unread is cut off; its client resumes from what it has seen. */
const MAX_BACKLOG_BYTES = 16 * 1024 * 1024;
const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** A watch that the server may end: the resource goes away, or the server closes. */
export interface OpenWatches {
  add(scope: Scope, end: (error?: Status) => void): () => void;
  /** Who among them is told of a change in which turn. */
  readonly turns: FlushTurns;
}

/**
 * Opens a watch. The answer is a stream of event lines; whatever goes wrong after the header is an ERROR event.
 * Throws 400, 422 and 504 before.
 */
export async function watch(
  scope: Scope,
  query: ListQuery,
  representation: Representation,
  open: OpenWatches,
  signal: AbortSignal | undefined,
  includeObject: IncludeObject = 'Metadata',
): Promise<Response> {
  const { clock, random } = scope.server.runtime;
  checkRevision(query);
  const selection = parseSelection(scope.resource, query.labelSelector, query.fieldSelector);
  const fromNow = query.revision === undefined || query.revision === 0;
  const initial = query.sendInitialEvents ?? fromNow;
  if (initial) await waitForRevision(scope, query.revision);

  const queue = lineQueue(MAX_BACKLOG_BYTES);
  const pinned = isPinned(scope, selection);
  const writer: Writer = {
    scope,
    // Under one key there is nothing else to be seen.
    matches: pinned && selection.nameOnly ? undefined : selection.matches,
    form: representation.as === 'Table' ? undefined : lineForm(representation),
    line: lineWriter(scope, representation, includeObject),
    push: queue.push,
    flush: (events) => open.turns.take(events, queue.flush),
  };
  const timers: Timer[] = [];
  let stored: Watch | undefined;
  let events: EventWriter | undefined;
  let removeOpen: () => void = () => {};
  const end = (error?: Status): void => {
    if (error) queue.push(loneEvent('ERROR', error, representation));
    queue.end();
    stored?.stop();
    removeOpen();
    for (const timer of timers.splice(0)) timer.cancel();
    signal?.removeEventListener('abort', abort);
  };
  const abort = (): void => end();
  queue.onOverflow(() => end());

  const bookmark = (first: boolean, revision: number = scope.server.store.revision): void => {
    // Nobody is told of a revision while events before it are held.
    if (!first && events?.isHolding()) return;
    queue.push(bookmarkLine(scope, representation, revision, first));
    queue.flush();
  };
  const { store } = scope.server;
  const prefix = pinned ? keyOf(scope, selection.name ?? '') : collectionPrefix(scope);
  try {
    let from = fromNow ? store.revision : (query.revision ?? store.revision);
    if (initial) {
      const listed = store.list(prefix);
      from = listed.revision;
      const pending = readied(scope, listed.records);
      if (pending) await pending;
      writeInitial(writer, listed.records);
    }
    // The end of initial events is told to those who asked for them, not to those who get them for want of a revision.
    if (query.sendInitialEvents && query.allowWatchBookmarks) bookmark(true, from);
    events = eventWriter(writer, end);
    stored = store.watch(prefix, from, events.write);
  } catch (error) {
    if (!(error instanceof Compacted)) throw error;
    const status = expired(`too old resource version: ${query.revision ?? 0} (${error.compactedRevision})`);
    end(status instanceof StatusError ? status.status : undefined);
    return streamResponse(queue, end, representation);
  }
  if (queue.ended) stored.stop();

  const timeoutMs = Math.max(0, query.timeoutSeconds || MIN_TIMEOUT_S * (1 + random.next())) * 1000;
  timers.push(clock.after(timeoutMs, () => end()));
  if (query.allowWatchBookmarks) {
    const schedule = (delayMs: number): void => {
      const index = timers.length;
      timers[index] = clock.after(delayMs, () => {
        bookmark(false);
        // Whom it was sent to may have gone, or have left too much unread.
        if (queue.ended) return;
        timers.splice(index, 1);
        schedule(BOOKMARK_EVERY_MS);
      });
    };
    if (timeoutMs > BOOKMARK_BEFORE_END_MS)
      timers.push(clock.after(timeoutMs - BOOKMARK_BEFORE_END_MS, () => bookmark(false)));
    schedule(BOOKMARK_EVERY_MS);
  }
  removeOpen = open.add(scope, end);
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', abort, { once: true });
  return streamResponse(queue, end, representation);
}

/** Whether a watch is of one object: it listens to its key alone. */
function isPinned(scope: Scope, selection: Selection): boolean {
  return selection.name !== undefined && isAddressable(scope);
}

interface Writer {
  readonly scope: Scope;
  readonly matches: Selection['matches'];
  /** What makes lines of one event differ; `undefined` where they are of this watch alone. */
  readonly form: string | undefined;
  readonly line: LineWriter;
  readonly push: (line: Uint8Array) => void;
  /** Sends what was pushed for these events, soon. */
  readonly flush: (events: readonly StoreEvent[]) => void;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED';
type LineWriter = (type: EventType, view: View) => Uint8Array;

function lineWriter(scope: Scope, representation: Representation, includeObject: IncludeObject): LineWriter {
  if (representation.as !== 'Table')
    return eventLines(representation, scope.resource.strategy.derivedAnnotations);
  const row = rowWriter(scope.resource, scope.server.runtime.clock, includeObject, representation);
  return (type, view) => row(type, view.object);
}

function write({ push, line }: Writer, type: EventType, view: View): void {
  push(line(type, view));
}

function writeInitial(writer: Writer, records: readonly StoreRecord[]): void {
  const { matches } = writer;
  for (const record of records) {
    const view = scopedView(writer.scope, record);
    if (view && (!matches || matches(view.object))) write(writer, 'ADDED', view);
  }
}

interface EventWriter {
  readonly write: (events: readonly StoreEvent[]) => void;
  /** Whether events wait to be converted. */
  readonly isHolding: () => boolean;
}

/** Writes events as they come. Those that must be converted first are held, and all behind them, so that order is kept. */
function eventWriter(writer: Writer, end: (error?: Status) => void): EventWriter {
  const { scope } = writer;
  const fail = (error: unknown): void => {
    scope.server.runtime.log.error('a watch ends, since an event cannot be told', {
      resource: scope.resource.resource,
      error: errorText(error),
    });
    end(error instanceof StatusError ? error.status : internalError(errorText(error)).status);
  };
  const write = (events: readonly StoreEvent[]): void => {
    const { form, matches, push } = writer;
    try {
      if (form !== undefined && matches === undefined) push(sharedChunk(writer, form, events));
      else for (const event of events) writeEvent(writer, event);
    } catch (error) {
      // Whoever went on would have missed what happened, and would never learn of it.
      fail(error);
      return;
    }
    writer.flush(events);
  };
  if (!mayBeForeign(scope)) return { write, isHolding: () => false };
  let tail: Promise<void> | undefined;
  return {
    isHolding: () => tail !== undefined,
    write(events) {
      const records = events.flatMap(({ record, previous }) => (previous ? [record, previous] : [record]));
      const pending = readied(scope, records);
      if (!tail && !pending) {
        write(events);
        return;
      }
      const own: Promise<void> = Promise.all([tail, pending])
        .then(() => write(events))
        .catch(fail)
        .finally(() => {
          if (tail === own) tail = undefined;
        });
      tail = own;
    },
  };
}

interface SharedChunk {
  readonly scope: Pick<Scope, 'resource' | 'cluster' | 'consumersOf'>;
  readonly form: string;
  readonly chunk: Uint8Array;
}

/** What was written last for a batch: all who watch the same keys are handed the same batch, and mostly want it alike. */
const sharedChunks = new WeakMap<readonly StoreEvent[], SharedChunk>();

/** The lines of a batch for whoever wants all of it. */
function sharedChunk(writer: Writer, form: string, events: readonly StoreEvent[]): Uint8Array {
  const { scope, line } = writer;
  const known = sharedChunks.get(events);
  if (
    known?.form === form &&
    known.scope.resource === scope.resource &&
    known.scope.cluster === scope.cluster &&
    known.scope.consumersOf === scope.consumersOf
  )
    return known.chunk;
  const lines: Uint8Array[] = [];
  for (const event of events) {
    const view = eventView(scope, event);
    if (view) lines.push(line(ofChange(event), view));
  }
  const chunk = joined(lines);
  sharedChunks.set(events, { scope, form, chunk });
  return chunk;
}

function eventView(scope: Scope, { type, record }: StoreEvent): View | undefined {
  return scopedView(scope, record) ?? (type === 'deleted' ? lastView(scope, record) : undefined);
}

function ofChange({ type }: StoreEvent): EventType {
  return type === 'created' ? 'ADDED' : type === 'updated' ? 'MODIFIED' : 'DELETED';
}

function writeEvent(writer: Writer, event: StoreEvent): void {
  const { scope, matches } = writer;
  const view = eventView(scope, event);
  if (!view) return;
  if (!matches) {
    write(writer, ofChange(event), view);
    return;
  }
  if (event.type === 'deleted') {
    if (matches(view.object)) write(writer, 'DELETED', view);
    return;
  }
  const now = matches(view.object);
  const previous = event.previous && scopedView(scope, event.previous);
  const before = event.type === 'updated' && previous !== undefined && matches(previous.object);
  if (now) write(writer, before ? 'MODIFIED' : 'ADDED', view);
  else if (before) {
    // It has left the selection: the client sees what it knew last, at the revision of the change.
    const object: KubeObject = {
      ...previous.object,
      metadata: { ...previous.object.metadata, resourceVersion: String(event.revision) },
    };
    write(writer, 'DELETED', { object, bytes: Buffer.from(jsonText(object)) });
  }
}

function bookmarkLine(
  scope: Scope,
  representation: Representation,
  revision: number,
  first: boolean,
): Uint8Array {
  const { resource } = scope;
  const metadata = {
    resourceVersion: String(revision),
    creationTimestamp: null,
    ...(first ? { annotations: { [INITIAL_EVENTS_END]: 'true' } } : {}),
  };
  const own = { kind: resource.kind, apiVersion: formatApiVersion(resource.group, resource.version) };
  const { as, metaVersion = 'v1' } = representation;
  const object =
    as === undefined
      ? { ...own, metadata }
      : as === 'Table'
        ? {
            kind: 'Table',
            apiVersion: `meta.k8s.io/${metaVersion}`,
            metadata: { resourceVersion: metadata.resourceVersion },
            columnDefinitions: null,
            rows: [
              {
                cells: [],
                object: { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${metaVersion}`, metadata },
              },
            ],
          }
        : { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${metaVersion}`, metadata };
  return loneEvent('BOOKMARK', object, representation);
}

/** The Status that ends a watch whose resource is no longer served. */
export function resourceGone(scope: Scope): Status {
  return failure(410, 'Expired', `the resource ${scope.resource.resource} is no longer served as it was`)
    .status;
}

function streamResponse(queue: LineQueue, end: () => void, { format }: Representation): Response {
  const type = format === 'protobuf' ? `${PROTOBUF};stream=watch` : 'application/json';
  const body: FlowingBody = {
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        yield* queue;
      } finally {
        end();
      }
    },
    flow: (take, over) =>
      queue.flow(take, () => {
        end();
        over();
      }),
  };
  return {
    status: 200,
    headers: { 'content-type': type, 'cache-control': 'no-cache, private' },
    body,
  };
}
