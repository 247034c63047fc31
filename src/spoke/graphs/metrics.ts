import type { GraphMeter } from '../../engine/graph/index.ts';
import { type ClusterName, LOCAL_CLUSTER } from '../../kube/cluster-name.ts';
import type { Clock } from '../../runtime/clock.ts';
import type { Counter, Histogram, MetricLabels, Metrics, Sample } from '../../runtime/metrics.ts';
import { GRAPH_METRICS } from './metric-table.ts';

type Table = typeof GRAPH_METRICS;
export type GraphMetric = keyof Table;
type OfKind<K extends string> = { [M in GraphMetric]: Table[M]['kind'] extends K ? M : never }[GraphMetric];

export type GraphGauge = OfKind<'gauge'>;
/** A value for each label; none of a metric that has no labels. */
export type LabelsOf<M extends GraphMetric> = Readonly<Record<Table[M]['labels'][number], string>>;

export interface GraphMetrics {
  count<M extends OfKind<'counter'>>(name: M, labels: LabelsOf<M>): void;
  /** Of durations in milliseconds; of sizes as they are. */
  observe<M extends OfKind<'histogram'>>(name: M, labels: LabelsOf<M>, value: number): void;
  /** Takes the gauges away; of another cluster all series. */
  stop(): void;
}

/** Upper bounds in seconds. */
const SECONDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] as const;
const SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] as const;

/**
 * Counts in the metrics of the process. `gauges` are asked when somebody reads these; one that is left out has nothing to tell.
 * Each series of another cluster than that of the process has its name; to Prometheus no label is an empty one.
 */
export function createGraphMetrics(
  metrics: Metrics,
  gauges: { readonly [M in GraphGauge]?: () => Iterable<Sample> } = {},
  cluster: ClusterName = LOCAL_CLUSTER,
): GraphMetrics {
  const of = (labels: MetricLabels): MetricLabels =>
    cluster === LOCAL_CLUSTER ? labels : { ...labels, cluster };
  function* samples(read: () => Iterable<Sample>): Iterable<Sample> {
    for (const { labels = {}, value } of read()) yield { labels: of(labels), value };
  }
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const removals: (() => void)[] = [];
  for (const [name, { kind, labels, help }] of Object.entries(GRAPH_METRICS)) {
    if (kind === 'counter') {
      const counter = metrics.counter({ name, help });
      counters.set(name, counter);
      // What has no labels is there from the beginning.
      if (labels.length === 0) counter.add(of({}), 0);
    } else if (kind === 'histogram')
      histograms.set(
        name,
        metrics.histogram({ name, help, bounds: name.endsWith('_seconds') ? SECONDS : SIZES }),
      );
    else {
      const read = gauges[name as GraphGauge] ?? (() => []);
      removals.push(metrics.gauge({ name, help }, () => samples(read)));
    }
  }
  return {
    count(name, labels) {
      counters.get(name)?.add(of(labels as MetricLabels));
    },
    observe(name, labels, value) {
      histograms
        .get(name)
        ?.observe(name.endsWith('_seconds') ? value / 1_000 : value, of(labels as MetricLabels));
    },
    stop() {
      for (const remove of removals) remove();
      if (cluster !== LOCAL_CLUSTER) metrics.forget('cluster', cluster);
    },
  };
}

/** Counts what the engine does. */
export function graphMeter(metrics: GraphMetrics, clock: Clock): GraphMeter {
  const COUNTS = {
    nodeFailed: 'runtime_node_eval_errors_total',
    ignoredCheck: 'runtime_node_ignored_check_total',
    ignored: 'runtime_node_ignored_total',
    readyCheck: 'runtime_node_ready_check_total',
    notReady: 'runtime_node_not_ready_total',
  } as const;
  return {
    now: () => clock.monotonic(),
    count: (what) => metrics.count(COUNTS[what], {}),
    took(what, milliseconds) {
      if (what === 'node') {
        metrics.count('runtime_node_eval_total', {});
        metrics.observe('runtime_node_eval_duration_seconds', {}, milliseconds);
      } else {
        metrics.count('cel_expr_eval_total', {});
        metrics.observe('cel_expr_eval_duration_seconds', {}, milliseconds);
      }
    },
    collection: (size) => metrics.observe('runtime_collection_size', {}, size),
  };
}
