import type { KubeObject } from '../../kube/object.ts';

/**
 * Durable storage behind the store: one small interface, sibling implementations (memory, SQLite, etcd).
 *
 * The store above keeps the current state in memory, decides on optimistic concurrency and assigns revisions; a driver
 * only makes changes durable, in order, and gives them back at the next start. One process writes.
 */
export interface StorageDriver {
  /** Opens or creates the storage. `revision` is the highest ever made durable; it never goes back. */
  open(): Promise<StorageState>;
  /** Every present key with its value, in key order. Called once, after `open`. */
  load(): AsyncIterable<StoredValue>;
  /** The changes kept since `revision` (exclusive), oldest first, so that watches can resume over a restart. */
  changesSince(revision: number): AsyncIterable<StoredChange>;
  /**
   * Makes all changes durable, or none (rejects). Resolves only when they would survive the power going off.
   * Called with ascending revisions, never twice at once.
   */
  commit(changes: readonly StoredChange[]): Promise<void>;
  /** Forgets changes up to and including `revision`. The present state is not touched. */
  compact(revision: number): Promise<void>;
  /** Why nothing more can be written until it is opened again, where that is so. */
  broken?(): string | undefined;
  close(): Promise<void>;
}

export interface StorageState {
  readonly revision: number;
  /** Changes up to here are forgotten: 0 for none. */
  readonly compactedRevision: number;
}

export interface StoredValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  /** What `value` is the text of, where the storage keeps it parsed. Nobody changes it: several servers may have it in hand. */
  readonly object?: KubeObject;
}

export interface StoredChange {
  readonly revision: number;
  readonly key: string;
  /** `null` deletes. */
  readonly value: Uint8Array | null;
  readonly createRevision: number;
  /** The value before, for events of deletions and selector transitions; `null` for a creation. */
  readonly previous: Uint8Array | null;
}
