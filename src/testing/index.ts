/**
 * Kubernetes for tests, in the process that tests: an API server in milliseconds, and whole fleets whose links can be cut.
 *
 * {@link startTestServer} is one API server in memory, with a client that needs no socket; it listens over TLS when other
 * processes shall reach it. {@link startTestFleet} is a hub and spokes with their real engines, on the machine's clock or on
 * a virtual one, where minutes take milliseconds and the same seed gives the same run. Everything is gone with `stop`.
 */
export type { SchedulerPlugin } from '../hub/placement/index.ts';
export {
  startTestFleet,
  type TestCluster,
  type TestFleet,
  type TestFleetOptions,
  type TestSpoke,
} from './test-fleet.ts';
export {
  startTestServer,
  type TestServer,
  type TestServerOptions,
  type TestUser,
  type TestUserOptions,
} from './test-server.ts';
