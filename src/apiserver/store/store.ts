import type { KubeObject } from '../../kube/object.ts';

/**
 * All objects of all logical clusters, in memory over a durable driver, under one monotonic revision.
 *
 * - A write is acknowledged (its promise resolves) only when durable. Writes of one turn of the event loop are committed
 *   together, in the order in which they were made.
 * - Readers see committed state only; writers see uncommitted writes before theirs, so optimistic concurrency is exact.
 * - Every committed change makes exactly one event; watchers get events in revision order.
 * - A prefix ends with a slash, or is one whole key, which stands for itself only ('' is everything).
 */
export interface Store {
  /** The last committed revision; 1 for an empty store, as clients take 0 for "any". */
  readonly revision: number;
  /** Changes before this are forgotten: a watch or an exact list from an older revision fails with `Compacted`. */
  readonly compactedRevision: number;

  get(key: string): StoreRecord | undefined;

  /**
   * Records whose key starts with `prefix`, in key order, as of `revision` (the present when absent).
   * Throws {@link Compacted} when that is too old and RangeError when it is not reached yet. `after` starts behind a
   * key; `limit` bounds the number (0 does not).
   */
  list(prefix: string, options?: { revision?: number; after?: string; limit?: number }): StoreList;

  /** Number of records under a prefix. */
  count(prefix: string): number;

  /**
   * Writes what `decide` returns for the newest (possibly uncommitted) record of `key`: an object to put, `null` to
   * delete, `undefined` to leave all as it is (resolves to the record given). The object must not be changed
   * afterwards; `metadata.resourceVersion` is set by the store. An object that equals the present one in all else is no
   * change. Errors thrown by `decide` reject the promise and write nothing. Rejects with `TooLarge` above the size limit
   * (1.5 MiB by default), and when there is no record and `decide` makes none. `decide` must not write itself.
   */
  write(
    key: string,
    decide: (current: StoreRecord | undefined) => KubeObject | null | undefined,
  ): Promise<WriteResult>;

  /**
   * Events under `prefix` with a revision above `fromRevision`, first those kept, then live, without a gap.
   * Throws {@link Compacted} when `fromRevision` is below the window. `onEvents` gets each turn's events at once, and
   * those kept before `watch` returns. The array is shared between watchers. Several prefixes, none of which is below
   * another, make one watch in one order.
   */
  watch(
    prefix: string | readonly string[],
    fromRevision: number,
    onEvents: (events: readonly StoreEvent[]) => void,
  ): Watch;

  /** Prefixes of the resources that have {@link StoreRecord.shared} records, if there are such. */
  readonly sharedPrefixes?: readonly string[];

  /**
   * Forgets all changes up to now: whoever asks for an earlier revision is told that it is too old. For what is written
   * before anybody could look.
   */
  beginHistory(): void;

  /** Calls back at once when `revision` is reached already, else when it is. Used to wait for freshness. */
  waitFor(revision: number, timeoutMs: number): Promise<boolean>;

  close(): Promise<void>;
}

export interface Watch {
  stop(): void;
}

/** One version of one object. Immutable. */
export interface StoreRecord {
  readonly key: string;
  /** `metadata.resourceVersion` as a number. */
  readonly revision: number;
  readonly createRevision: number;
  /** The object as JSON text in UTF-8, `resourceVersion` included: serialised once, shared by all who send it. */
  readonly bytes: Uint8Array;
  /** The object, parsed on demand and cached weakly. Never change it: copy first. */
  readonly object: KubeObject;
  /** Whether this is what every logical cluster begins with, computed rather than stored. */
  readonly shared?: true;
}

export interface StoreList {
  readonly revision: number;
  readonly records: readonly StoreRecord[];
  /** Whether more follow behind the last record. */
  readonly more: boolean;
  /** Number of records left behind the last one (0 when none). */
  readonly remaining: number;
}

export interface WriteResult {
  /** The record after the write; for a deletion the last state, with the revision of the deletion. */
  readonly record: StoreRecord;
  readonly outcome: 'created' | 'updated' | 'deleted' | 'unchanged';
}

export interface StoreEvent {
  readonly type: 'created' | 'updated' | 'deleted';
  readonly revision: number;
  /** The new state; for a deletion the last state with the revision of the deletion. */
  readonly record: StoreRecord;
  readonly previous: StoreRecord | undefined;
}

/** The asked revision is no longer kept. */
export class Compacted extends Error {
  readonly compactedRevision: number;
  constructor(compactedRevision: number) {
    super(`revision is older than ${compactedRevision}, the oldest that is kept`);
    this.name = 'Compacted';
    this.compactedRevision = compactedRevision;
  }
}

/** The object is over the limit of the storage. */
export class TooLarge extends Error {
  readonly size: number;
  readonly limit: number;
  constructor(size: number, limit: number) {
    super(`object is ${size} bytes, limit is ${limit}`);
    this.name = 'TooLarge';
    this.size = size;
    this.limit = limit;
  }
}
