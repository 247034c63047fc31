export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/**
 * An amount of a Kubernetes resource, exact. All quantities are multiples of `1n`: what is finer is rounded away from zero
 * when it is read.
 */
export interface Quantity {
  readonly nanos: bigint;
  /** The family of suffixes it was written with, which it keeps when it is printed. */
  readonly format: QuantityFormat;
}

const NANO = 1_000_000_000n;
const MAX_TEXT = 128;
/** Larger exponents say nothing about real machines and make numbers too long to compute with. */
const MAX_EXPONENT = 60;

const DECIMAL_SUFFIX: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  '': 0,
  k: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};
const BINARY_SUFFIX: Readonly<Record<string, bigint>> = {
  Ki: 10n,
  Mi: 20n,
  Gi: 30n,
  Ti: 40n,
  Pi: 50n,
  Ei: 60n,
};
const DECIMAL_NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(DECIMAL_SUFFIX).map(([name, exponent]) => [exponent, name]),
);
const BINARY_NAMES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;

const SYNTAX = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?[0-9]{1,6}))?$/;

const PLAIN = /^[0-9]{1,15}(?:[numkMGTPE]|[KMGTPE]i)?$/;

export const zeroQuantity: Quantity = { nanos: 0n, format: 'DecimalSI' };

/** Reads `100m`, `1.5Gi`, `2e3`, or a JSON number. `undefined` for everything else; {@link quantityProblems} says why. */
export function parseQuantity(text: unknown): Quantity | undefined {
  if (typeof text === 'number') return Number.isFinite(text) ? parseQuantity(String(text)) : undefined;
  if (typeof text !== 'string' || text.length > MAX_TEXT) return undefined;
  const match = SYNTAX.exec(text);
  if (!match) return undefined;
  const [, sign, whole = '', fraction = '', suffix, exponentText] = match;
  if (whole === '' && fraction === '') return undefined;
  const digits = BigInt(whole + fraction);
  const binary = suffix === undefined ? undefined : BINARY_SUFFIX[suffix];
  const exponent = exponentText === undefined ? (DECIMAL_SUFFIX[suffix ?? ''] ?? 0) : Number(exponentText);
  if (Math.abs(exponent) > MAX_EXPONENT) return undefined;
  let nanos: bigint;
  let format: QuantityFormat = exponentText === undefined ? 'DecimalSI' : 'DecimalExponent';
  if (binary !== undefined) {
    nanos = divideUp((digits * NANO) << binary, 10n ** BigInt(fraction.length));
    format = 'BinarySI';
  } else {
    const scale = exponent - fraction.length + 9;
    nanos = scale >= 0 ? digits * 10n ** BigInt(scale) : divideUp(digits, 10n ** BigInt(-scale));
  }
  // A binary amount below one could not be printed with its suffixes.
  if (format === 'BinarySI' && nanos > 0n && nanos < NANO) format = 'DecimalSI';
  return { nanos: sign === '-' ? -nanos : nanos, format };
}

/** Kubernetes' message for a text that is not a quantity; empty for one that is. */
export function quantityProblems(text: unknown): string[] {
  // Nearly all, and without a number being made of them.
  if (typeof text === 'string' && PLAIN.test(text)) return [];
  if (parseQuantity(text) !== undefined) return [];
  return ["quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"];
}

/** The canonical text: no fraction, the largest suffix of its format that keeps it exact. */
export function formatQuantity(quantity: Quantity): string {
  const { nanos, format } = quantity;
  if (nanos === 0n) return '0';
  if (format === 'BinarySI' && nanos % NANO === 0n) {
    const units = nanos / NANO;
    // Small amounts read better without a suffix, and have the same text in both formats.
    if (units <= -1024n || units >= 1024n) {
      let mantissa = units;
      let step = 0;
      while (step < BINARY_NAMES.length - 1 && mantissa % 1024n === 0n) {
        mantissa /= 1024n;
        step++;
      }
      return `${mantissa}${BINARY_NAMES[step]}`;
    }
  }
  let mantissa = nanos;
  let exponent = -9;
  const highest = format === 'DecimalExponent' ? MAX_EXPONENT : 18;
  while (exponent < highest && mantissa % 1000n === 0n) {
    mantissa /= 1000n;
    exponent += 3;
  }
  if (format === 'DecimalExponent') return exponent === 0 ? `${mantissa}` : `${mantissa}e${exponent}`;
  return `${mantissa}${DECIMAL_NAMES.get(exponent) ?? ''}`;
}

/** The canonical form of a text, or `undefined` where it is not a quantity. */
export function canonicalQuantity(text: unknown): string | undefined {
  const quantity = parseQuantity(text);
  return quantity && formatQuantity(quantity);
}

/** Negative, zero or positive, as for sorting. Formats do not matter: `1000m` equals `1`. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  return a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : 0;
}

/** The sum, in the format of the first that is not zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos + b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

export function subtractQuantities(a: Quantity, b: Quantity): Quantity {
  return { nanos: a.nanos - b.nanos, format: a.nanos === 0n ? b.format : a.format };
}

/** Adds up quantities; zero for none. Throws a RangeError for a text that is not a quantity. */
export function sumQuantities(quantities: Iterable<Quantity | string | number>): Quantity {
  let sum = zeroQuantity;
  for (const item of quantities) {
    const quantity = typeof item === 'object' ? item : parseQuantity(item);
    if (!quantity) throw new RangeError(`${JSON.stringify(item)} is not a quantity`);
    sum = addQuantities(sum, quantity);
  }
  return sum;
}

/** Whole units, rounded up (away from zero): what a limit of `1500m` replicas or bytes means. */
export function quantityUnits(quantity: Quantity): bigint {
  return quantity.nanos < 0n ? -divideUp(-quantity.nanos, NANO) : divideUp(quantity.nanos, NANO);
}

/** Whole thousandths, rounded up (away from zero): how CPU is counted. */
export function quantityMillis(quantity: Quantity): bigint {
  const milli = NANO / 1000n;
  return quantity.nanos < 0n ? -divideUp(-quantity.nanos, milli) : divideUp(quantity.nanos, milli);
}

/** For shares and scores, where exactness does not matter. */
export function quantityNumber(quantity: Quantity): number {
  return Number(quantity.nanos) / 1e9;
}

function divideUp(value: bigint, divisor: bigint): bigint {
  return (value + divisor - 1n) / divisor;
}

/** The quantities of a list such as `limits`, by name in order; what is none is left out. */
export function quantitiesOf(list: Readonly<Record<string, unknown>> | undefined): Map<string, Quantity> {
  const amounts = new Map<string, Quantity>();
  for (const name of Object.keys(list ?? {}).sort()) {
    const amount = parseQuantity(list?.[name]);
    if (amount) amounts.set(name, amount);
  }
  return amounts;
}
