/**
 * The status of an object that is on many clusters, as one. A spoke returns of each object what people and tools look at
 * ({@link returnedStatus}); the hub makes one status of what all returned ({@link aggregateStatus}), in the form that clients of the
 * kind expect, so that `kubectl rollout status` at the hub waits for the slowest cluster. Pure.
 */
export { type AggregateRule, type Aggregation, aggregateStatus } from './aggregate.ts';
export type { MemberStatus, ReturnedStatus, ReturnMode } from './member-status.ts';
export { aggregatedFields, reflects, returnedStatus } from './returned-status.ts';
