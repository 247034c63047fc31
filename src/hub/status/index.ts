/**
 * What the clusters return of the status of objects, in the status of the objects at the hub that they came from (`engine/reflect`).
 * Written on change only, never over another writer: where a controller of the hub's own cluster tells the status of an object, it
 * is left to that.
 */

export { type FollowedRules, followResourceRules } from './followed-rules.ts';
export { createStatusReflector, type ReflectedIntent, type StatusReflector } from './reflect-status.ts';
