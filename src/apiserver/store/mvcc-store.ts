import type { KubeObject } from '../../kube/object.ts';
import type { Runtime, Timer } from '../../runtime/index.ts';
import { errorText } from '../../runtime/index.ts';
import { deepEqual } from '../../schema/json.ts';
import type { StorageDriver, StorageState, StoredChange } from '../storage/driver.ts';
import { type History, history } from './history.ts';
import { loadHistory } from './load-history.ts';
import { deletedRecord, storedRecord, writtenRecord } from './record.ts';
import { listPast, listPresent, rangeOf } from './snapshot.ts';
import { type SortedMap, sortedMap } from './sorted-map.ts';
import {
  Compacted,
  type Store,
  type StoreEvent,
  type StoreList,
  type StoreRecord,
  type Watch,
  type WriteResult,
} from './store.ts';
import { watchHub } from './watch-hub.ts';

export interface StoreOptions {
  /** The largest object, as JSON text. 1.5 MiB by default. */
  readonly maxObjectBytes?: number;
  /** How many changes are kept for watches and lists of the past. 20,000 by default. */
  readonly historyEvents?: number;
  /** How long they are kept. 5 minutes by default. */
  readonly historyMs?: number;
  /** How many bytes of superseded objects are kept for them. 64 MiB by default. */
  readonly historyBytes?: number;
}

const MAX_OBJECT_BYTES = 1536 * 1024;
const HISTORY_EVENTS = 20_000;
const HISTORY_MS = 5 * 60_000;
const HISTORY_BYTES = 64 * 1024 * 1024;

/** A state that was replaced this long ago is kept small: who follows the store has had it. */
const SQUEEZE_AFTER_MS = 5_000;
/** As many at once, which takes two milliseconds, and so long until the next of them: a store that is busy has a hundredth of its time for it. */
const SQUEEZED_AT_ONCE = 64;
const SQUEEZE_PAUSE_MS = 200;
const TEND_EVERY_MS = 1_000;

/** The driver's log is compacted when this share of the history's bound has been forgotten since the last time. */
const COMPACTION_SHARE = 1 / 20;

/** A write that is decided but not yet durable. */
interface PendingWrite {
  readonly key: string;
  readonly change: StoredChange;
  readonly event: StoreEvent;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: unknown) => void;
  /** Writes that changed nothing, on the strength of this one: they are answered when it is durable. */
  followers: Follower[] | undefined;
}

interface Follower {
  /** What to answer; `undefined` when `decide` threw `error`. */
  readonly result: WriteResult | undefined;
  readonly error: unknown;
  readonly resolve: (result: WriteResult) => void;
  readonly reject: (error: unknown) => void;
}

interface Waiter {
  readonly revision: number;
  readonly resolve: (reached: boolean) => void;
  readonly timer: Timer;
}

/**
 * Opens the store over a driver: loads every present object and the changes that the driver has kept, so that watches
 * resume over a restart. Closes the driver again when that fails.
 */
export async function openStore(
  runtime: Runtime,
  driver: StorageDriver,
  options: StoreOptions = {},
): Promise<Store> {
  const state = await driver.open();
  const index = sortedMap<StoreRecord>();
  const past = history(
    {
      events: options.historyEvents ?? HISTORY_EVENTS,
      ageMs: options.historyMs ?? HISTORY_MS,
      bytes: options.historyBytes ?? HISTORY_BYTES,
    },
    state.compactedRevision,
  );
  try {
    for await (const { key, value, createRevision, modRevision, object } of driver.load())
      index.set(key, storedRecord(key, value, modRevision, createRevision, object));
    await loadHistory(driver, index, past, runtime.clock.monotonic());
  } catch (error) {
    await driver.close();
    throw error;
  }
  return runStore(runtime, driver, state, index, past, options);
}

function runStore(
  runtime: Runtime,
  driver: StorageDriver,
  state: StorageState,
  index: SortedMap<StoreRecord>,
  past: History,
  options: StoreOptions,
): Store {
  const { clock, log } = runtime;
  const maxObjectBytes = options.maxObjectBytes ?? MAX_OBJECT_BYTES;
  const compactionStep = Math.max(
    1,
    Math.floor((options.historyEvents ?? HISTORY_EVENTS) * COMPACTION_SHARE),
  );
  const hub = watchHub(log);
  const waiters = new Set<Waiter>();
  /** The newest undurable write of each key. */
  const overlay = new Map<string, PendingWrite>();

  // A list of an empty store must not be at "0", which means "any revision" to clients.
  let revision = Math.max(1, state.revision);
  let assigned = revision;
  let queue: PendingWrite[] = [];
  let scheduled = false;
  let committing = false;
  let forgotten = 0;
  let tending: Timer | undefined;
  let closing: Promise<void> | undefined;
  let drained: (() => void) | undefined;

  function write(
    key: string,
    decide: (current: StoreRecord | undefined) => KubeObject | null | undefined,
  ): Promise<WriteResult> {
    return new Promise((resolve, reject) => {
      if (closing !== undefined) throw new Error('the store is closed');
      const basis = overlay.get(key);
      const current = basis === undefined ? index.get(key) : presentAfter(basis.event);
      try {
        const decided = decide(current);
        const event = eventOf(key, current, decided);
        if (event === undefined) {
          if (current === undefined)
            throw new Error(`nothing is stored under ${key} that the write could leave as it is`);
          const result: WriteResult = { record: current, outcome: 'unchanged' };
          if (basis === undefined) resolve(result);
          else follow(basis, { result, error: undefined, resolve, reject });
          return;
        }
        assigned = event.revision;
        const pending: PendingWrite = {
          key,
          change: changeOf(event),
          event,
          resolve,
          reject,
          followers: undefined,
        };
        overlay.set(key, pending);
        queue.push(pending);
        schedule();
      } catch (error) {
        // What was decided on an undurable state is told when that state can be read by others.
        if (basis === undefined) reject(error);
        else follow(basis, { result: undefined, error, resolve, reject });
      }
    });
  }

  /** What the decision means, or `undefined` when it changes nothing. */
  function eventOf(
    key: string,
    current: StoreRecord | undefined,
    decided: KubeObject | null | undefined,
  ): StoreEvent | undefined {
    if (decided === undefined) return undefined;
    const next = assigned + 1;
    if (decided === null) {
      if (current === undefined) return undefined;
      return { type: 'deleted', revision: next, record: deletedRecord(current, next), previous: current };
    }
    if (current === undefined) {
      const record = writtenRecord(key, decided, next, next, maxObjectBytes);
      return { type: 'created', revision: next, record, previous: undefined };
    }
    if (sameObject(current.object, decided)) return undefined;
    const record = writtenRecord(key, decided, next, current.createRevision, maxObjectBytes);
    return { type: 'updated', revision: next, record, previous: current };
  }

  function schedule(): void {
    if (scheduled || committing) return;
    scheduled = true;
    clock.defer(flush);
  }

  function flush(): void {
    scheduled = false;
    if (queue.length === 0 || committing) return;
    const batch = queue;
    queue = [];
    committing = true;
    void commit(batch);
  }

  /** Never rejects. */
  async function commit(batch: readonly PendingWrite[]): Promise<void> {
    try {
      await driver.commit(batch.map((pending) => pending.change));
    } catch (error) {
      fail(batch, error);
      settled();
      return;
    }
    publish(batch);
    await compact();
    settled();
  }

  function settled(): void {
    committing = false;
    if (queue.length > 0) schedule();
    else drained?.();
  }

  function publish(batch: readonly PendingWrite[]): void {
    const now = clock.monotonic();
    const events: StoreEvent[] = [];
    for (const pending of batch) {
      const { event, key } = pending;
      if (event.type === 'deleted') index.delete(key);
      else index.set(key, event.record);
      if (overlay.get(key) === pending) overlay.delete(key);
      past.push(event, now);
      events.push(event);
      revision = event.revision;
    }
    forgotten += past.trim(now);
    tendLater();
    hub.publish(events);
    for (const waiter of waiters) if (waiter.revision <= revision) wake(waiter, true);
    for (const pending of batch) {
      pending.resolve({ record: pending.event.record, outcome: pending.event.type });
      if (pending.followers === undefined) continue;
      for (const follower of pending.followers) {
        if (follower.result === undefined) follower.reject(follower.error);
        else follower.resolve(follower.result);
      }
    }
  }

  /** Nothing of the batch is durable, so nothing that was decided on top of it can stand either. */
  function fail(batch: readonly PendingWrite[], cause: unknown): void {
    const error = new Error(`the write could not be made durable: ${errorText(cause)}`, { cause });
    log.error('a commit failed', { error: errorText(cause), writes: batch.length });
    const tainted = new Set(batch.map((pending) => pending.key));
    const lost = queue.filter((pending) => tainted.has(pending.key));
    if (lost.length > 0) queue = queue.filter((pending) => !tainted.has(pending.key));
    for (const key of tainted) overlay.delete(key);
    for (const pending of [...batch, ...lost]) {
      pending.reject(error);
      for (const follower of pending.followers ?? []) follower.reject(error);
    }
  }

  /** Also where nothing is written any more the history shrinks, and ends. The driver forgets with the next commit. */
  function tend(): void {
    tending = undefined;
    const now = clock.monotonic();
    forgotten += past.trim(now);
    const looseAt = past.squeeze(now - SQUEEZE_AFTER_MS, SQUEEZED_AT_ONCE);
    const isBehind = looseAt !== undefined && looseAt <= now - SQUEEZE_AFTER_MS;
    tendLater(looseAt, isBehind ? SQUEEZE_PAUSE_MS : TEND_EVERY_MS);
  }

  /** `looseAt` is when the first came that is not small; where all are, the next may come now, and does not ask for a turn of its own. */
  function tendLater(looseAt: number = clock.monotonic(), leastMs: number = TEND_EVERY_MS): void {
    if (tending !== undefined || closing !== undefined || past.expiresAt === undefined) return;
    const due = Math.min(past.expiresAt, looseAt + SQUEEZE_AFTER_MS);
    tending = clock.after(Math.max(leastMs, due - clock.monotonic()), tend);
  }

  /** Keeps the driver's log about as long as the history. Runs between commits. */
  async function compact(): Promise<void> {
    if (forgotten < compactionStep) return;
    forgotten = 0;
    try {
      await driver.compact(past.floor);
    } catch (error) {
      // Harmless: the log is longer than need be until the next time.
      log.warn('the log of the storage could not be compacted', { error: errorText(error) });
    }
  }

  function wake(waiter: Waiter, reached: boolean): void {
    waiters.delete(waiter);
    waiter.timer.cancel();
    waiter.resolve(reached);
  }

  function list(
    prefix: string,
    { revision: at = revision, after, limit = 0 }: { revision?: number; after?: string; limit?: number } = {},
  ): StoreList {
    const { start, end } = rangeOf(prefix, after);
    if (at > revision)
      throw new RangeError(`revision ${at} is not reached yet, the present one is ${revision}`);
    if (at < past.floor) throw new Compacted(past.floor);
    const most = limit > 0 ? limit : Number.POSITIVE_INFINITY;
    return at === revision
      ? listPresent(index, start, end, most, revision)
      : listPast(index, past, start, end, most, at);
  }

  function watch(
    prefix: string | readonly string[],
    fromRevision: number,
    onEvents: (events: readonly StoreEvent[]) => void,
  ): Watch {
    if (fromRevision < past.floor) throw new Compacted(past.floor);
    const kept: StoreEvent[] = [];
    if (fromRevision < revision) {
      const ranges = (typeof prefix === 'string' ? [prefix] : prefix).map((one) => rangeOf(one));
      past.forward(fromRevision, (event) => {
        const { key } = event.record;
        if (ranges.some(({ start, end }) => key >= start && key < end)) kept.push(event);
      });
    }
    return hub.add(prefix === '' ? '/' : prefix, Math.max(fromRevision, revision), kept, onEvents);
  }

  function waitFor(wanted: number, timeoutMs: number): Promise<boolean> {
    if (wanted <= revision) return Promise.resolve(true);
    if (closing !== undefined) return Promise.resolve(false);
    return new Promise((resolve) => {
      const waiter: Waiter = {
        revision: wanted,
        resolve,
        timer: clock.after(timeoutMs, () => wake(waiter, false)),
      };
      waiters.add(waiter);
    });
  }

  async function close(): Promise<void> {
    if (committing || queue.length > 0) {
      await new Promise<void>((resolve) => {
        drained = resolve;
      });
    }
    tending?.cancel();
    hub.clear();
    for (const waiter of waiters) wake(waiter, false);
    await driver.close();
  }

  tendLater();
  return {
    get revision() {
      return revision;
    },
    get compactedRevision() {
      return past.floor;
    },
    get: (key) => index.get(key),
    list,
    count(prefix) {
      const { start, end } = rangeOf(prefix);
      return index.countBetween(start, end);
    },
    write,
    watch,
    waitFor,
    beginHistory() {
      past.forget(revision);
      // With the next commit the driver forgets as well.
      forgotten = compactionStep;
    },
    close() {
      closing ??= close();
      return closing;
    },
  };
}

function follow(basis: PendingWrite, follower: Follower): void {
  basis.followers ??= [];
  basis.followers.push(follower);
}

function presentAfter(event: StoreEvent): StoreRecord | undefined {
  return event.type === 'deleted' ? undefined : event.record;
}

function changeOf(event: StoreEvent): StoredChange {
  return {
    revision: event.revision,
    key: event.record.key,
    value: event.type === 'deleted' ? null : event.record.bytes,
    createRevision: event.record.createRevision,
    previous: event.previous?.bytes ?? null,
  };
}

/** Whether two states differ in nothing but the resource version, which the store owns. */
export function sameObject(a: KubeObject, b: KubeObject): boolean {
  if (a === b) return true;
  for (const key in a) if (key !== 'metadata' && !deepEqual(a[key], b[key])) return false;
  for (const key in b) if (b[key] !== undefined && a[key] === undefined) return false;
  return deepEqual(
    { ...a.metadata, resourceVersion: undefined },
    { ...b.metadata, resourceVersion: undefined },
  );
}
