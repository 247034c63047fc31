/**
 * `atoll snapshot`: everything that somebody needs who shall find out what is wrong with a fleet, in one file that may be handed
 * on. It has the control objects of the hub, what spokes tell of themselves, Events and logs, and no value of a Secret.
 */
export { gatherSnapshot, type Snapshot, type SnapshotSource } from './gather.ts';
export { type SnapshotOptions, snapshot } from './snapshot.ts';
