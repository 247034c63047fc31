/** What is counted, or looked at when somebody asks: a row of the table of whoever counts it. */
export interface MetricRow {
  /** As Prometheus has names: `snake_case`, counters end in `_total`. */
  readonly name: string;
  readonly help: string;
}

export type MetricLabels = Readonly<Record<string, string>>;

export interface Counter {
  /** `labels` must have the same names each time, and few values. */
  add(labels?: MetricLabels, by?: number): void;
}

/** One series of a gauge. */
export interface Sample {
  readonly labels?: MetricLabels;
  readonly value: number;
}

/** The numbers of a process, in the text format of Prometheus. Whoever counts asks for a row; whoever serves asks for the text. */
export interface Metrics {
  /** The same name is the same counter. */
  counter(row: MetricRow): Counter;
  /** `read` is called for each text; several of one name are shown together. Returns what takes it away. */
  gauge(row: MetricRow, read: () => Iterable<Sample>): () => void;
  /** Ends with a line break, or is empty. */
  text(): string;
}

/** What labels make up must not fill the memory: above this, all others of a metric are one series. */
const MAX_SERIES = 1000;

interface CounterState {
  readonly row: MetricRow;
  readonly series: Map<string, number>;
}

interface GaugeState {
  readonly row: MetricRow;
  readonly readers: Set<() => Iterable<Sample>>;
}

export function createMetrics(): Metrics {
  const counters = new Map<string, CounterState>();
  const gauges = new Map<string, GaugeState>();
  return {
    counter(row): Counter {
      const state = counters.get(row.name) ?? { row, series: new Map<string, number>() };
      counters.set(row.name, state);
      return {
        add(labels = {}, by = 1): void {
          let key = labelText(labels);
          if (!state.series.has(key) && state.series.size >= MAX_SERIES) key = labelText(othersOf(labels));
          state.series.set(key, (state.series.get(key) ?? 0) + by);
        },
      };
    },
    gauge(row, read): () => void {
      const state = gauges.get(row.name) ?? { row, readers: new Set<() => Iterable<Sample>>() };
      gauges.set(row.name, state);
      state.readers.add(read);
      return () => {
        state.readers.delete(read);
        if (state.readers.size === 0 && gauges.get(row.name) === state) gauges.delete(row.name);
      };
    },
    text(): string {
      const lines: string[] = [];
      for (const { row, series } of [...counters.values()].sort(byName)) {
        lines.push(...heading(row, 'counter'));
        for (const [labels, value] of series) lines.push(`${row.name}${labels} ${value}`);
      }
      for (const { row, readers } of [...gauges.values()].sort(byName)) {
        lines.push(...heading(row, 'gauge'));
        for (const read of readers)
          for (const { labels = {}, value } of read()) lines.push(`${row.name}${labelText(labels)} ${value}`);
      }
      return lines.map((line) => `${line}\n`).join('');
    },
  };
}

function byName(a: { readonly row: MetricRow }, b: { readonly row: MetricRow }): number {
  return a.row.name < b.row.name ? -1 : 1;
}

function heading({ name, help }: MetricRow, type: string): string[] {
  return [`# HELP ${name} ${help.replace(/\\/g, '\\\\').replace(/\n/g, '\\n')}`, `# TYPE ${name} ${type}`];
}

function labelText(labels: MetricLabels): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escaped(value: string): string {
  return value.replace(/\\/g, '\\\\').replace(/"/g, '\\"').replace(/\n/g, '\\n');
}

function othersOf(labels: MetricLabels): MetricLabels {
  return Object.fromEntries(Object.keys(labels).map((name) => [name, 'other']));
}
