/** What kro's flags of leader election say of an engine that takes turns with others. */
interface TurnSettings {
  /** Whether engines of this cluster take turns. */
  readonly turns?: boolean;
  readonly leaseMs?: number;
  readonly renewDeadlineMs?: number;
  readonly retryMs?: number;
}

interface ProcessFlag {
  /** As kro calls it, without the dashes. */
  readonly name: string;
  readonly kroDefault: string;
  /** What there is here in its place. */
  readonly here: string;
  /** `undefined` where the text is none of its values. */
  readonly read: (text: string) => TurnSettings | undefined;
}

const NOTHING: TurnSettings = {};
const anything = (): TurnSettings => NOTHING;
const wholeNumber = (text: string): TurnSettings | undefined =>
  /^\d{1,9}$/.test(text) ? NOTHING : undefined;

function truth(of: (value: boolean) => TurnSettings): ProcessFlag['read'] {
  return (text) => (text === 'true' || text === 'false' ? of(text === 'true') : undefined);
}

function time(of: (milliseconds: number) => TurnSettings): ProcessFlag['read'] {
  return (text) => {
    const milliseconds = timeOf(text);
    return milliseconds === undefined || milliseconds === 0 ? undefined : of(milliseconds);
  };
}

/** A time as kro writes it: `3s`, `200ms`; also seconds alone. */
export function timeOf(text: string): number | undefined {
  const found = /^(\d{1,7})(ms|s|m|h)?$/.exec(text);
  const unit = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[found?.[2] ?? 's'] ?? 1_000;
  return found ? Number(found[1]) * unit : undefined;
}

/** Flags of kro that are no settings of graphs here: they are the process's own business, or nobody's. */
export const PROCESS_FLAGS: readonly ProcessFlag[] = [
  {
    name: 'metrics-bind-address',
    kroDefault: ':8078',
    here: 'metrics are at /metrics of the process: of its API server (atoll up), or of --access-port',
    read: anything,
  },
  {
    name: 'health-probe-bind-address',
    kroDefault: ':8079',
    here: 'probes are /livez and /readyz of the process, beside its metrics',
    read: anything,
  },
  {
    name: 'leader-elect',
    kroDefault: 'false',
    here: 'engines of a spoke take turns, as with --stand-by; replicas of a hub do so with --peer',
    read: truth((turns) => ({ turns })),
  },
  {
    name: 'leader-elect-lease-duration',
    kroDefault: '15s',
    here: 'of the Lease by which engines, or replicas of a hub, take turns',
    read: time((leaseMs) => ({ leaseMs })),
  },
  {
    name: 'leader-elect-renew-deadline',
    kroDefault: '10s',
    here: 'of the same Lease',
    read: time((renewDeadlineMs) => ({ renewDeadlineMs })),
  },
  {
    name: 'leader-elect-retry-period',
    kroDefault: '2s',
    here: 'of the same Lease',
    read: time((retryMs) => ({ retryMs })),
  },
  {
    name: 'leader-elect-namespace',
    kroDefault: '',
    here: 'the Lease is in atoll-system, where the engine has the right to it',
    read: anything,
  },
  {
    name: 'enable-controller-warmup',
    kroDefault: 'false',
    here: 'nothing: who waits for its turn begins with watches, which take no longer than to read what there is',
    read: truth(() => NOTHING),
  },
  {
    name: 'graceful-shutdown-timeout',
    kroDefault: '60s',
    here: 'nothing: the engine may end between any two writes; it ends at a signal, and at once at a second one',
    read: (text) => (timeOf(text) === undefined ? undefined : NOTHING),
  },
  {
    name: 'graph-revision-concurrent-reconciles',
    kroDefault: '1',
    here: 'nothing: a revision is compiled with its definition (resource-graph-definition-concurrent-reconciles)',
    read: wholeNumber,
  },
  {
    name: 'dynamic-controller-rate-limiter-rate-limit',
    kroDefault: '10',
    here: 'nothing: what waits is bounded by dynamic-controller-concurrent-reconciles, and requests by client-qps',
    read: wholeNumber,
  },
  {
    name: 'dynamic-controller-rate-limiter-burst-limit',
    kroDefault: '100',
    here: 'nothing: what waits is bounded by dynamic-controller-concurrent-reconciles, and requests by client-burst',
    read: wholeNumber,
  },
  {
    name: 'dynamic-controller-default-queue-max-retries',
    kroDefault: '20',
    here: 'nothing: what fails is tried again for as long as it is wanted',
    read: wholeNumber,
  },
];

export function isProcessFlag(name: string): boolean {
  return PROCESS_FLAGS.some((flag) => flag.name === name);
}

/** `name=value` in its parts. */
export function parted(text: string): { readonly name: string; readonly value: string | undefined } {
  const at = text.indexOf('=');
  return at < 0 ? { name: text, value: undefined } : { name: text.slice(0, at), value: text.slice(at + 1) };
}

/**
 * What of `name=value` is for the process, and what is to be said of each. Names that are none of these are passed over. Throws an
 * Error for a value that is none.
 */
export function processFlags(texts: readonly string[]): {
  readonly turns: TurnSettings;
  readonly notes: readonly string[];
} {
  let turns: TurnSettings = {};
  const notes: string[] = [];
  for (const text of texts) {
    const { name, value = '' } = parted(text);
    const flag = PROCESS_FLAGS.find((item) => item.name === name);
    if (!flag) continue;
    const found = flag.read(value);
    if (!found) throw new Error(`${text}: its value would be such as ${flag.kroDefault}; here: ${flag.here}`);
    turns = { ...turns, ...found };
    notes.push(`${name}: ${flag.here}`);
  }
  return { turns, notes };
}
