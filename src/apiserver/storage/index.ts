/**
 * Durable storage behind the store. A driver makes batches of changes durable, all or none, and gives back the present
 * state and the recent changes at the next start. One process writes; a second one is told so.
 */
export type { StorageDriver, StorageState, StoredChange, StoredValue } from './driver.ts';
export { type EtcdOptions, etcdDriver } from './etcd-driver.ts';
export { contentsOf, memoryDriver, type StoredContents } from './memory-driver.ts';
export { sqliteDriver } from './sqlite-driver.ts';
