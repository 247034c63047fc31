import type { StorageDriver } from '../storage/driver.ts';
import type { History } from './history.ts';
import { deletedRecord, previousRecord, storedRecord } from './record.ts';
import type { SortedMap } from './sorted-map.ts';
import type { StoreRecord } from './store.ts';

/**
 * Fills the history with the changes that the driver has kept, over an index that holds the present state. The driver
 * does not know when changes were made: they count as made `now`.
 */
export async function loadHistory(
  driver: StorageDriver,
  index: SortedMap<StoreRecord>,
  past: History,
  now: number,
): Promise<void> {
  // The newest state seen of each key; `undefined` once deleted.
  const newest = new Map<string, StoreRecord | undefined>();
  for await (const change of driver.changesSince(past.floor)) {
    const { key, revision, createRevision } = change;
    let previous = newest.get(key);
    if (previous === undefined && change.previous !== null)
      previous = previousRecord(key, change.previous, createRevision);
    if (change.value === null) {
      if (previous === undefined)
        throw new Error(`the storage is damaged: revision ${revision} deletes ${key}, which was not there`);
      past.push({ type: 'deleted', revision, record: deletedRecord(previous, revision), previous }, now);
      newest.set(key, undefined);
    } else {
      const present = index.get(key);
      const record =
        present?.revision === revision ? present : storedRecord(key, change.value, revision, createRevision);
      past.push({ type: previous === undefined ? 'created' : 'updated', revision, record, previous }, now);
      newest.set(key, record);
    }
    past.trim(now);
  }
}
