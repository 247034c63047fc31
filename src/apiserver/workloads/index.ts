/**
 * The workload simulator: Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs, CronJobs, Pods, Services, claims and
 * Nodes of an embedded server reach the states that real controllers and kubelets bring them to, with delays and failures
 * that annotations ask for ({@link FAIL} and its siblings).
 *
 * It only reads and writes through a client. Each controller owns the status of its kind and the objects that it makes;
 * it never writes what is so already, so a cluster at rest writes nothing. What it writes is conditional on the object
 * being as it was read: a user's edit wins, and is then acted upon.
 */
export type { NodeFleet } from './nodes.ts';
export { EXIT_CODE, FAIL, RUN_FOR, START_DELAY } from './simulation.ts';
export { startWorkloads, type WorkloadOptions, type Workloads } from './workloads.ts';
