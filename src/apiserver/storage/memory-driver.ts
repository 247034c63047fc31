import type { StorageDriver, StorageState, StoredChange, StoredValue } from './driver.ts';

/** All that a driver stores. */
export interface StoredContents extends StorageState {
  readonly present: readonly StoredValue[];
  /** Those that are not forgotten, oldest first. */
  readonly changes: readonly StoredChange[];
}

const NOTHING: StoredContents = { revision: 0, compactedRevision: 0, present: [], changes: [] };

/** What a driver stores now: a backup, whatever kind of driver it is. It must be open, or be able to be opened. */
export async function contentsOf(driver: StorageDriver): Promise<StoredContents> {
  const { revision, compactedRevision } = await driver.open();
  const present: StoredValue[] = [];
  for await (const value of driver.load()) present.push(value);
  const changes: StoredChange[] = [];
  for await (const change of driver.changesSince(compactedRevision)) changes.push(change);
  return { revision, compactedRevision, present, changes };
}

/**
 * Storage in memory. What is committed survives `close` and a new `open` of the same driver, so that tests can restart a
 * server on it; it ends with the process. It begins with `contents`, which stay as they are.
 */
export function memoryDriver(contents: StoredContents = NOTHING): StorageDriver {
  const present = new Map(contents.present.map((value) => [value.key, value]));
  let log = [...contents.changes];
  let { revision, compactedRevision } = contents;

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
