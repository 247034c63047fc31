import type { Client } from '../../kube/client.ts';
import { type Runtime, seededRandom } from '../../runtime/index.ts';
import { startCronJobs } from './cron-job.ts';
import { startDaemonSets } from './daemon-set.ts';
import { startDeployments } from './deployment.ts';
import { startDisruptionBudgets } from './disruption-budgets.ts';
import { startEndpoints } from './endpoints.ts';
import { startJobs } from './job.ts';
import { startLoadBalancers } from './load-balancers.ts';
import { type NodeFleet, startNodes } from './nodes.ts';
import { startPodLifecycle } from './pod-lifecycle.ts';
import { startReplicaSets } from './replica-set.ts';
import { startScheduler } from './scheduler.ts';
import { startStatefulSets } from './stateful-set.ts';
import { startVolumeClaims } from './volume-claims.ts';
import { createWorld } from './world.ts';

export interface WorkloadOptions {
  readonly nodes?: NodeFleet;
  /** Makes delays repeatable; the runtime's randomness when absent. */
  readonly seed?: number;
}

export interface Workloads {
  /** Resolves when every resource is known; rejects when stopped before. */
  whenSynced(): Promise<void>;
  /** Resolves when nothing is written any more. */
  stop(): Promise<void>;
}

/**
 * Makes the workloads of a cluster behave: what its controller manager, scheduler and kubelets would do, without running
 * anything. It is a client like any other and may be started and stopped at any time; all state is in the API.
 */
export function startWorkloads(runtime: Runtime, client: Client, options: WorkloadOptions = {}): Workloads {
  const own: Runtime = {
    clock: runtime.clock,
    random: options.seed === undefined ? runtime.random : seededRandom(options.seed),
    log: runtime.log.with({ part: 'workloads' }),
    metrics: runtime.metrics,
  };
  const world = createWorld(own, client);
  startNodes(world, options.nodes ?? {}, async () => {
    const { gitVersion } = await client.getJson<{ gitVersion?: string }>('/version');
    return gitVersion ?? 'v0.0.0';
  });
  startDeployments(world);
  startReplicaSets(world);
  startStatefulSets(world);
  startDaemonSets(world);
  startJobs(world);
  startCronJobs(world);
  startScheduler(world);
  startPodLifecycle(world);
  startEndpoints(world);
  startVolumeClaims(world);
  startLoadBalancers(world);
  startDisruptionBudgets(world);
  return { whenSynced: world.whenSynced, stop: world.stop };
}
