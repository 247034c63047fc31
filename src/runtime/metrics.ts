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

export interface HistogramRow extends MetricRow {
  /** Upper bounds of its buckets, growing; what is above all of them is counted as well. */
  readonly bounds: readonly number[];
}

export interface Histogram {
  observe(value: number, labels?: MetricLabels): void;
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
  /** The same name is the same histogram. */
  histogram(row: HistogramRow): Histogram;
  /** `read` is called for each text; several of one name are shown together. Returns what takes it away. */
  gauge(row: MetricRow, read: () => Iterable<Sample>): () => void;
  /** Takes all series away that have the label: what they are about is gone. They begin at 0 where it comes back. */
  forget(label: string, value: string): void;
  /** Ends with a line break, or is empty. */
  text(): string;
}

/** What labels make up must not fill the memory: above this, all others of a metric are one series. */
const MAX_SERIES = 1000;

interface CounterState {
  readonly row: MetricRow;
  readonly series: Map<string, number>;
}

interface HistogramSeries {
  /** Of each bucket alone; the last one is above all bounds. */
  readonly counts: number[];
  sum: number;
}

interface HistogramState {
  readonly row: HistogramRow;
  readonly series: Map<string, HistogramSeries>;
}

interface GaugeState {
  readonly row: MetricRow;
  readonly readers: Set<() => Iterable<Sample>>;
}

export function createMetrics(): Metrics {
  const counters = new Map<string, CounterState>();
  const gauges = new Map<string, GaugeState>();
  const histograms = new Map<string, HistogramState>();
  return {
    counter(row): Counter {
      const state = counters.get(row.name) ?? { row, series: new Map<string, number>() };
      counters.set(row.name, state);
      return {
        add(labels = {}, by = 1): void {
          const key = seriesKey(state.series, labels);
          state.series.set(key, (state.series.get(key) ?? 0) + by);
        },
      };
    },
    histogram(row): Histogram {
      const state = histograms.get(row.name) ?? { row, series: new Map<string, HistogramSeries>() };
      histograms.set(row.name, state);
      return {
        observe(value, labels = {}): void {
          const key = seriesKey(state.series, labels);
          const series = state.series.get(key) ?? {
            counts: new Array<number>(row.bounds.length + 1).fill(0),
            sum: 0,
          };
          state.series.set(key, series);
          const found = row.bounds.findIndex((bound) => value <= bound);
          const bucket = found < 0 ? row.bounds.length : found;
          series.counts[bucket] = (series.counts[bucket] ?? 0) + 1;
          series.sum += value;
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
    forget(label, value) {
      // Quotes in values are escaped, so that no value looks like it.
      const pair = `${label}="${escaped(value)}"`;
      for (const { series } of [...counters.values(), ...histograms.values()])
        for (const key of series.keys())
          if (key.startsWith(`{${pair}`) || key.includes(`,${pair}`)) series.delete(key);
    },
    text(): string {
      const lines: string[] = [];
      for (const { row, series } of [...counters.values()].sort(byName)) {
        lines.push(...heading(row, 'counter'));
        for (const [labels, value] of series) lines.push(`${row.name}${labels} ${value}`);
      }
      for (const { row, series } of [...histograms.values()].sort(byName)) {
        lines.push(...heading(row, 'histogram'));
        for (const [labels, each] of series) lines.push(...histogramLines(row, labels, each));
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

/** The series of these labels, or that of all others where there are too many. */
function seriesKey(series: ReadonlyMap<string, unknown>, labels: MetricLabels): string {
  const key = labelText(labels);
  return series.has(key) || series.size < MAX_SERIES ? key : labelText(othersOf(labels));
}

function histogramLines(
  { name, bounds }: HistogramRow,
  labels: string,
  { counts, sum }: HistogramSeries,
): string[] {
  const within = labels === '' ? '{' : `${labels.slice(0, -1)},`;
  let below = 0;
  const lines = counts.map((count, index) => {
    below += count;
    return `${name}_bucket${within}le="${bounds[index] ?? '+Inf'}"} ${below}`;
  });
  return [...lines, `${name}_sum${labels} ${sum}`, `${name}_count${labels} ${below}`];
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
