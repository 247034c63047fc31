import type { SpokeCluster, SpokeClusterStatus } from '../../dialects/kubevela/types.ts';
import type { Client } from '../../kube/client.ts';
import { startEventRecorder } from '../../kube/events.ts';
import type { Condition } from '../../kube/object.ts';
import type { Counter, MetricRow } from '../../runtime/metrics.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** Everything that the inventory counts. */
export const INVENTORY_METRICS: Readonly<
  Record<'transitions' | 'failures' | 'detached' | 'clusters', MetricRow>
> = {
  transitions: {
    name: 'spokecluster_connection_transitions_total',
    help: 'Changes of the connection of clusters, by what it came to.',
  },
  failures: {
    name: 'spokecluster_condition_failures_total',
    help: 'Conditions of clusters that became False, by condition and reason.',
  },
  detached: {
    name: 'spokecluster_detach_total',
    help: 'Clusters that left the fleet, by what became of them.',
  },
  clusters: { name: 'spokecluster_clusters', help: 'Clusters of the fleet, by connection.' },
};

/** Everything that the inventory tells in Events; reasons of failures are those of the conditions. */
export const INVENTORY_EVENTS: Readonly<Record<'connected' | 'detached' | 'provisioning', string>> = {
  connected: 'ProbeSucceeded',
  detached: 'Detached',
  provisioning: 'Provisioning',
};

/** Tells what became of a cluster, once for each change: in Events, and in counters. */
export interface Transitions {
  /** To be called when the new status is stored. */
  tell(spoke: SpokeCluster, before: SpokeClusterStatus | undefined, now: SpokeClusterStatus): void;
  /** `released`: nothing of the hub is left on it; `orphaned`: all of it is. */
  detached(spoke: SpokeCluster, result: 'released' | 'orphaned'): void;
  stop(): void;
}

/** Conditions whose failure is told; the rest follows from these. */
const TOLD = ['CredentialValid', 'Registered', 'Connected'];

export function followTransitions(runtime: Runtime, client: Client): Transitions {
  const { metrics } = runtime;
  const recorder = startEventRecorder(runtime, client, { component: 'atoll-inventory' });
  const counter = (row: MetricRow): Counter => metrics.counter(row);
  const transitions = counter(INVENTORY_METRICS.transitions);
  const failures = counter(INVENTORY_METRICS.failures);
  const detached = counter(INVENTORY_METRICS.detached);

  return {
    tell(spoke, before, now): void {
      if (now.connection !== undefined && now.connection !== (before?.connection ?? 'Unknown'))
        transitions.add({ to: now.connection });
      for (const condition of now.conditions ?? []) {
        const previous = before?.conditions?.find(({ type }) => type === condition.type);
        if (!isTransition(previous, condition)) continue;
        const { type, status, reason, message } = condition;
        const isUnderWay = reason === INVENTORY_EVENTS.provisioning;
        if (status === 'False' && !isUnderWay) failures.add({ condition: type, reason });
        if (status === 'False' && TOLD.includes(type))
          recorder.record(spoke, isUnderWay ? 'Normal' : 'Warning', reason, message);
        if (status === 'True' && type === 'Connected')
          recorder.record(spoke, 'Normal', INVENTORY_EVENTS.connected, message);
      }
    },
    detached(spoke, result): void {
      detached.add({ result });
      const message =
        result === 'orphaned'
          ? 'the cluster left the fleet; what was dispatched to it is kept up there'
          : 'the cluster left the fleet, and the hub has let go of it';
      recorder.record(spoke, 'Normal', INVENTORY_EVENTS.detached, message);
    },
    stop: () => recorder.stop(),
  };
}

/** Whether a condition says another thing; another text for the same is none. */
function isTransition(before: Condition | undefined, now: Condition): boolean {
  return before?.status !== now.status || (now.status === 'False' && before.reason !== now.reason);
}
