import type { StorageDriver, StoredChange, StoredValue } from './driver.ts';

/**
 * Storage in memory. What is committed survives `close` and a new `open` of the same driver, so that tests can restart a
 * server on it; it ends with the process.
 */
export function memoryDriver(): StorageDriver {
  const present = new Map<string, StoredValue>();
  let log: StoredChange[] = [];
  let revision = 0;
  let compactedRevision = 0;

  return {
    open: async () => ({ revision, compactedRevision }),
    async *load() {
      yield* [...present.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
    },
    async *changesSince(since) {
      yield* log.filter((change) => change.revision > since);
    },
    async commit(changes) {
      let last = revision;
      for (const change of changes) {
        if (change.revision <= last)
          throw new Error(`revision ${change.revision} comes after ${last} already: it must be higher`);
        last = change.revision;
      }
      for (const change of changes) {
        const { key, value, createRevision, revision: modRevision } = change;
        if (value === null) present.delete(key);
        else present.set(key, { key, value, createRevision, modRevision });
        log.push(change);
      }
      revision = last;
    },
    async compact(upTo) {
      if (upTo <= compactedRevision) return;
      log = log.filter((change) => change.revision > upTo);
      compactedRevision = Math.min(upTo, revision);
    },
    close: async () => {},
  };
}
