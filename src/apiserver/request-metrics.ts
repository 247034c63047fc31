/** Verbs that have a series of their own; whatever else a client sends is counted together. */
const VERBS: ReadonlySet<string> = new Set([
  'get',
  'list',
  'watch',
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
  'post',
  'put',
  'head',
  'options',
]);

/** Upper bounds in seconds. */
const BUCKETS = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;

interface Durations {
  /** Requests of each bucket alone; the last one is of those above all bounds. */
  readonly counts: number[];
  sum: number;
}

/**
 * Counts of answered requests and how long they took, in the text format of Prometheus. Labels are the verb and the code only,
 * so the number of series does not grow with logical clusters, namespaces or what clients make up.
 */
export interface RequestMetrics {
  /** `milliseconds` until the answer began. Streams are counted, their time is not. */
  count(verb: string, code: number, milliseconds: number, streaming: boolean): void;
  /** Ends with a line break. */
  text(): string;
}

export function createRequestMetrics(): RequestMetrics {
  const totals = new Map<string, Map<number, number>>();
  const durations = new Map<string, Durations>();
  return {
    count(asked, code, milliseconds, streaming) {
      const verb = VERBS.has(asked) ? asked : 'other';
      let codes = totals.get(verb);
      if (codes === undefined) {
        codes = new Map();
        totals.set(verb, codes);
      }
      codes.set(code, (codes.get(code) ?? 0) + 1);
      if (streaming) return;
      let known = durations.get(verb);
      if (!known) {
        known = { counts: new Array<number>(BUCKETS.length + 1).fill(0), sum: 0 };
        durations.set(verb, known);
      }
      const seconds = milliseconds / 1_000;
      const found = BUCKETS.findIndex((bound) => seconds <= bound);
      const bucket = found < 0 ? BUCKETS.length : found;
      known.counts[bucket] = (known.counts[bucket] ?? 0) + 1;
      known.sum += seconds;
    },
    text() {
      const name = 'atoll_apiserver_request_duration_seconds';
      const lines = [
        '# HELP atoll_apiserver_requests_total Requests that were answered, by verb and status code.',
        '# TYPE atoll_apiserver_requests_total counter',
        ...[...totals].flatMap(([verb, codes]) =>
          [...codes].map(
            ([code, total]) => `atoll_apiserver_requests_total{verb="${verb}",code="${code}"} ${total}`,
          ),
        ),
        `# HELP ${name} Time until the answer, of requests that are no streams.`,
        `# TYPE ${name} histogram`,
      ];
      for (const [verb, { counts, sum }] of durations) {
        let below = 0;
        counts.forEach((count, index) => {
          below += count;
          lines.push(`${name}_bucket{verb="${verb}",le="${BUCKETS[index] ?? '+Inf'}"} ${below}`);
        });
        lines.push(`${name}_sum{verb="${verb}"} ${sum}`, `${name}_count{verb="${verb}"} ${below}`);
      }
      return `${lines.join('\n')}\n`;
    },
  };
}
