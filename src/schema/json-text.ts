import type { JsonValue } from './json.ts';

/**
 * JSON text without loss: integers that a `number` cannot hold exactly are `bigint`s in values, as far as they fit into 64 bits
 * (those beyond are floating-point numbers to Kubernetes, too). Such numbers are rare, so they may cost; what has none is
 * read and written by the plain functions of the language.
 */

/** An integer of so many digits that it may not be exact, where a value can stand. In a text it is a false alarm. */
const LONG_INTEGER = /[:,[]\s*-?\d{16}|^\s*-?\d{16}/;
const INTEGER = /^-?\d+$/;
const LEAST = -(2n ** 63n);
const MOST = 2n ** 63n - 1n;

/** The value of a JSON text. Throws SyntaxError as `JSON.parse` does. */
export function parseJson(text: string): JsonValue {
  return LONG_INTEGER.test(text) ? parseExactly(text) : (JSON.parse(text) as JsonValue);
}

/** For texts that are known to have long integers. */
export function parseExactly(text: string): JsonValue {
  const parse: (text: string, reviver: Reviver) => unknown = JSON.parse;
  return parse(text, (_key, value, context) =>
    typeof value === 'number' && !Number.isSafeInteger(value)
      ? (exactInteger(context?.source ?? '') ?? value)
      : value,
  ) as JsonValue;
}

type Reviver = (key: string, value: unknown, context?: { readonly source?: string }) => unknown;

/** An integer that does not fit into a `number` and does into 64 bits. */
export function exactInteger(source: string): bigint | undefined {
  if (!INTEGER.test(source) || Number.isSafeInteger(Number(source))) return undefined;
  const exact = BigInt(source);
  return exact >= LEAST && exact <= MOST ? exact : undefined;
}

/** The JSON text of a value, like `JSON.stringify`. */
export function jsonText(value: unknown, indent?: number): string {
  try {
    return JSON.stringify(value, null, indent);
  } catch (error) {
    // A `bigint` is what JSON has no word for; anything else fails again.
    if (!(error instanceof TypeError)) throw error;
    return JSON.stringify(
      value,
      (_key, item: unknown) => (typeof item === 'bigint' ? raw(item) : item),
      indent,
    );
  }
}

/** A string as it is, and the JSON text of anything else: what messages can show of a value of any type. */
export function plainText(value: unknown): string {
  return typeof value === 'string' ? value : (jsonText(value) ?? '');
}

function raw(item: bigint): unknown {
  const { rawJSON } = JSON as typeof JSON & { rawJSON(text: string): unknown };
  return rawJSON(String(item));
}
