import type { Controller } from '../../kube/controller.ts';
import { type ControllerOptions, startController } from '../../kube/controller-loop.ts';
import type { Histogram, HistogramRow, MetricRow } from '../../runtime/metrics.ts';
import type { Runtime } from '../../runtime/runtime.ts';

/** Seconds. */
const BOUNDS = [0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300];

type Rows = 'clusters' | 'joined' | 'reconciles' | 'errors' | 'workers' | 'active';
/** What is timed. */
type Timing = 'connecting' | 'reconciling' | 'joining' | 'unjoining' | 'dispatching' | 'took';

/** What is counted of KubeFed, under the names that it has there. Probes are timed where they are made. */
export const KUBEFED_METRICS: Readonly<Record<Rows, MetricRow>> & Readonly<Record<Timing, HistogramRow>> = {
  clusters: {
    name: 'kubefedcluster_total',
    help: 'Clusters of the federation, 1 for the state that each is in.',
  },
  joined: { name: 'joined_cluster_total', help: 'Clusters that belong to the federation.' },
  connecting: {
    name: 'cluster_client_connection_duration_seconds',
    help: 'How long it took to make what a KubeFedCluster says of its credential usable.',
    bounds: BOUNDS,
  },
  reconciling: {
    name: 'reconcile_federated_resources_duration_seconds',
    help: 'How long passes over federated objects took, from their wish to their status.',
    bounds: BOUNDS,
  },
  joining: {
    name: 'join_cluster_duration_seconds',
    help: 'From a new KubeFedCluster until it was Ready.',
    bounds: BOUNDS,
  },
  unjoining: {
    name: 'unjoin_cluster_duration_seconds',
    help: 'From the deletion of a KubeFedCluster until the inventory had let go of it.',
    bounds: BOUNDS,
  },
  dispatching: {
    name: 'dispatch_operation_duration_seconds',
    help: 'From an order until its cluster had carried it out, by action.',
    bounds: BOUNDS,
  },
  reconciles: { name: 'controller_runtime_reconcile_total', help: 'Passes by controller and result.' },
  errors: {
    name: 'controller_runtime_reconcile_errors_total',
    help: 'Passes that failed, by controller.',
  },
  took: {
    name: 'controller_runtime_reconcile_time_seconds',
    help: 'How long passes took, by controller.',
    bounds: BOUNDS,
  },
  workers: {
    name: 'controller_runtime_max_concurrent_reconciles',
    help: 'The most passes at a time, by controller.',
  },
  active: {
    name: 'controller_runtime_active_workers',
    help: 'Passes that are under way, by controller.',
  },
};

/** One of the histograms above. */
export function timed({ metrics }: Runtime, of: Timing): Histogram {
  return metrics.histogram(KUBEFED_METRICS[of]);
}

/** A controller that is counted. */
export function startCountedController(runtime: Runtime, options: ControllerOptions): Controller {
  const { metrics, clock } = runtime;
  const labels = { controller: options.name };
  const reconciles = metrics.counter(KUBEFED_METRICS.reconciles);
  const errors = metrics.counter(KUBEFED_METRICS.errors);
  const took = timed(runtime, 'took');
  errors.add(labels, 0);
  let active = 0;
  const removers = [
    metrics.gauge(KUBEFED_METRICS.workers, () => [{ labels, value: options.concurrency ?? 1 }]),
    metrics.gauge(KUBEFED_METRICS.active, () => [{ labels, value: active }]),
  ];
  const controller = startController(runtime, {
    ...options,
    async reconcile(key, signal) {
      const began = clock.monotonic();
      active += 1;
      let result = 'error';
      try {
        const done = await options.reconcile(key, signal);
        result = done?.requeueAfterMs === undefined ? 'success' : 'requeue_after';
        return done;
      } catch (error) {
        errors.add(labels);
        throw error;
      } finally {
        active -= 1;
        reconciles.add({ ...labels, result });
        took.observe((clock.monotonic() - began) / 1000, labels);
      }
    },
  });
  return {
    enqueue: controller.enqueue,
    get busy() {
      return controller.busy;
    },
    stop() {
      for (const remove of removers) remove();
      return controller.stop();
    },
  };
}
