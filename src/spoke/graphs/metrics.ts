interface MetricLabels {
  readonly dynamic_controller_reconcile_total: 'gvr';
  readonly dynamic_controller_reconcile_duration_seconds: 'gvr';
  readonly dynamic_controller_requeue_total: 'gvr' | 'type';
  readonly dynamic_controller_handler_errors_total: 'gvr';
  readonly dynamic_controller_reconcile_panics_total: never;
  readonly dynamic_controller_gvr_count: never;
  readonly dynamic_controller_queue_length: never;
  readonly dynamic_controller_watch_count: never;
  readonly dynamic_controller_informer_events_total: 'gvr' | 'event_type';
  readonly dynamic_controller_route_match_total: never;
  readonly instance_state_transitions_total: 'gvr' | 'from_state' | 'to_state';
  readonly instance_condition_current_status_seconds:
    | 'gvr'
    | 'namespace'
    | 'name'
    | 'condition_type'
    | 'condition_status'
    | 'reason';
  readonly instance_graph_resolution_success_total: never;
  readonly instance_graph_resolution_failures_total: 'reason';
  readonly graph_revision_compile_total: 'result';
  readonly graph_revision_compile_duration_seconds: 'result';
}

export type GraphMetric = keyof MetricLabels;

interface MetricRow<M extends GraphMetric> {
  readonly kind: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly MetricLabels[M][];
  readonly help: string;
}

/** What the engine counts, under the names that kro gives them. */
export const GRAPH_METRICS: { readonly [M in GraphMetric]: MetricRow<M> } = {
  dynamic_controller_reconcile_total: { kind: 'counter', labels: ['gvr'], help: 'Passes over instances.' },
  dynamic_controller_reconcile_duration_seconds: {
    kind: 'histogram',
    labels: ['gvr'],
    help: 'How long passes took.',
  },
  dynamic_controller_requeue_total: {
    kind: 'counter',
    labels: ['gvr', 'type'],
    help: 'Passes that asked for another one.',
  },
  dynamic_controller_handler_errors_total: { kind: 'counter', labels: ['gvr'], help: 'Passes that failed.' },
  dynamic_controller_reconcile_panics_total: {
    kind: 'counter',
    labels: [],
    help: 'Passes that ended by a defect.',
  },
  dynamic_controller_gvr_count: { kind: 'gauge', labels: [], help: 'Kinds of instances that are served.' },
  dynamic_controller_queue_length: {
    kind: 'gauge',
    labels: [],
    help: 'Instances that wait or are being looked at.',
  },
  dynamic_controller_watch_count: { kind: 'gauge', labels: [], help: 'Watches of objects.' },
  dynamic_controller_informer_events_total: {
    kind: 'counter',
    labels: ['gvr', 'event_type'],
    help: 'Changes that watches told of.',
  },
  dynamic_controller_route_match_total: {
    kind: 'counter',
    labels: [],
    help: 'Instances that were concerned by a change.',
  },
  instance_state_transitions_total: {
    kind: 'counter',
    labels: ['gvr', 'from_state', 'to_state'],
    help: 'Changes of states.',
  },
  instance_condition_current_status_seconds: {
    kind: 'gauge',
    labels: ['gvr', 'namespace', 'name', 'condition_type', 'condition_status', 'reason'],
    help: 'Since when a condition is as it is, in seconds since the epoch.',
  },
  instance_graph_resolution_success_total: {
    kind: 'counter',
    labels: [],
    help: 'Passes that found their graph.',
  },
  instance_graph_resolution_failures_total: {
    kind: 'counter',
    labels: ['reason'],
    help: 'Passes that found none.',
  },
  graph_revision_compile_total: {
    kind: 'counter',
    labels: ['result'],
    help: 'Revisions that were compiled.',
  },
  graph_revision_compile_duration_seconds: {
    kind: 'histogram',
    labels: ['result'],
    help: 'How long that took.',
  },
};

export type LabelsOf<M extends GraphMetric> = Readonly<Record<MetricLabels[M], string>>;

export interface GraphMetrics {
  count<M extends GraphMetric>(name: M, labels: LabelsOf<M>): void;
  set<M extends GraphMetric>(name: M, labels: LabelsOf<M>, value: number): void;
  observe<M extends GraphMetric>(name: M, labels: LabelsOf<M>, milliseconds: number): void;
  /** Takes away the series whose labels have these values. */
  drop<M extends GraphMetric>(name: M, labels: Partial<LabelsOf<M>>): void;
  /** In the text format of Prometheus. `gauges` are asked when it is read. */
  text(): string;
}

/** Upper bounds in seconds. */
const BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10] as const;
/** Series of one metric; more than these are those of a name that somebody makes up. */
const MAX_SERIES = 10_000;

interface Series {
  readonly labels: Readonly<Record<string, string>>;
  value: number;
  readonly buckets: number[];
  sum: number;
}

export function createGraphMetrics(
  gauges: () => Partial<Record<GraphMetric, number>> = () => ({}),
): GraphMetrics {
  const all = new Map<GraphMetric, Map<string, Series>>();

  function seriesOf(name: GraphMetric, labels: Readonly<Record<string, string>>): Series | undefined {
    const known = all.get(name) ?? new Map<string, Series>();
    all.set(name, known);
    const key = labelText(name, labels);
    const found = known.get(key);
    if (found || known.size >= MAX_SERIES) return found;
    const made: Series = { labels, value: 0, buckets: [], sum: 0 };
    known.set(key, made);
    return made;
  }

  return {
    count(name, labels) {
      const series = seriesOf(name, labels);
      if (series) series.value += 1;
    },
    set(name, labels, value) {
      const series = seriesOf(name, labels);
      if (series) series.value = value;
    },
    observe(name, labels, milliseconds) {
      const series = seriesOf(name, labels);
      if (!series) return;
      const seconds = milliseconds / 1_000;
      const found = BOUNDS.findIndex((bound) => seconds <= bound);
      const bucket = found < 0 ? BOUNDS.length : found;
      series.buckets[bucket] = (series.buckets[bucket] ?? 0) + 1;
      series.value += 1;
      series.sum += seconds;
    },
    drop(name, labels) {
      const known = all.get(name);
      for (const [key, series] of known ?? [])
        if (Object.entries(labels).every(([label, value]) => series.labels[label] === value))
          known?.delete(key);
    },
    text() {
      const now = gauges();
      const lines: string[] = [];
      for (const [name, { kind, labels, help }] of Object.entries(GRAPH_METRICS)) {
        lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`);
        const metric = name as GraphMetric;
        const asked = now[metric];
        if (asked !== undefined) lines.push(`${name} ${asked}`);
        const known = [...(all.get(metric) ?? [])];
        // What has no labels is there from the beginning.
        if (known.length === 0 && asked === undefined && labels.length === 0) lines.push(`${name} 0`);
        for (const [text, series] of known) lines.push(...linesOf(name, kind, text, series));
      }
      return `${lines.join('\n')}\n`;
    },
  };
}

function linesOf(name: string, kind: string, labels: string, { value, buckets, sum }: Series): string[] {
  if (kind !== 'histogram') return [`${name}${labels === '' ? '' : `{${labels}}`} ${value}`];
  let below = 0;
  const lines = [...BOUNDS, '+Inf'].map((bound, index) => {
    below += buckets[index] ?? 0;
    return `${name}_bucket{${labels}${labels === '' ? '' : ','}le="${bound}"} ${below}`;
  });
  return [...lines, `${name}_sum{${labels}} ${sum}`, `${name}_count{${labels}} ${value}`];
}

function labelText(name: GraphMetric, labels: Readonly<Record<string, string>>): string {
  return (GRAPH_METRICS[name].labels as readonly string[])
    .map((label) => {
      const value = (labels[label] ?? '').replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
      return `${label}="${value}"`;
    })
    .join(',');
}
