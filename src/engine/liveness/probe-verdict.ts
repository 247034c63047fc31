/** What probes say of a server, as far as that is settled. */
export interface ProbeVerdict {
  readonly up: boolean;
  /** Probes in a row, up to now, that said otherwise. */
  readonly contrary: number;
}

export interface ProbeThresholds {
  /** Probes in a row that fail until the verdict is that the server is lost; 1 where nothing is said. */
  readonly failure?: number;
  /** Probes in a row that succeed until it is that the server is back. */
  readonly success?: number;
}

/**
 * The verdict after one more probe. The first one is taken at its word. What counts is the number of contrary probes in a row,
 * however long the verdict has stood: one that has stood for long is no easier to overturn than a new one.
 */
export function judgeProbe(
  before: ProbeVerdict | undefined,
  isUp: boolean,
  { failure = 1, success = 1 }: ProbeThresholds = {},
): ProbeVerdict {
  if (!before || before.up === isUp) return { up: isUp, contrary: 0 };
  const contrary = before.contrary + 1;
  return contrary >= (isUp ? success : failure) ? { up: isUp, contrary: 0 } : { up: before.up, contrary };
}
