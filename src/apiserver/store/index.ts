/**
 * The store: all objects of all logical clusters in memory, under one revision, over a durable driver.
 *
 * A write decides on the newest state, durable or not, at the moment of the call, so that concurrent writers see each
 * other; the writes of a turn of the event loop share one commit, and only then are they visible to readers and watchers
 * and acknowledged. A commit that fails rejects its writes and those that were decided on top of them; their revisions
 * are never used again. Recent events are kept, so that watches resume and lists of the past are exact; what is older
 * fails with `Compacted`.
 */
export { clusterPrefix, type KeyParts, namespacePrefix, objectKey, parseKey, resourcePrefix } from './key.ts';
export { openStore, type StoreOptions } from './mvcc-store.ts';
export {
  Compacted,
  type Store,
  type StoreEvent,
  type StoreList,
  type StoreRecord,
  TooLarge,
  type Watch,
  type WriteResult,
} from './store.ts';
