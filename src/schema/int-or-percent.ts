/** Kubernetes' message for a text that is not a percentage; empty for one that is. */
export function percentProblems(text: string): string[] {
  if (PERCENT.test(text)) return [];
  return [
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
  ];
}

const PERCENT = /^[0-9]{1,9}%$/;

/**
 * An `IntOrString` such as `maxUnavailable` as a number of `total`: integers stand for themselves, `25%` for a share, rounded as
 * asked. `undefined` where it is neither.
 */
export function scaledValue(value: unknown, total: number, rounding: 'up' | 'down'): number | undefined {
  if (typeof value === 'number') return Number.isInteger(value) ? value : undefined;
  if (typeof value !== 'string' || !PERCENT.test(value)) return undefined;
  const share = (Number(value.slice(0, -1)) * total) / 100;
  return rounding === 'up' ? Math.ceil(share) : Math.floor(share);
}
