import type { JsonValue } from './json.ts';
import { glanceAtJson, scanJson } from './json-scanner.ts';
import { parseExactly } from './json-text.ts';

export interface DecodeLimits {
  readonly maxBytes?: number;
  readonly maxDepth?: number;
}

/** A body as a value, with what the value itself no longer shows. */
export interface Decoded {
  readonly ok: true;
  readonly value: JsonValue;
  /** Paths of fields that stand more than once; the value has the last of each. For strict decoding. */
  readonly duplicates: readonly string[];
  /** Of YAML: the keys that stand in their map already, with their line (from 1), in the order of the text. */
  readonly repeated?: readonly { readonly line: number; readonly key: JsonValue }[];
  /** Paths of integers beyond ±2^53: `bigint`s in the value, unless they exceed 64 bits and are rounded. */
  readonly inexact: readonly string[];
}

export interface DecodeFailure {
  readonly ok: false;
  readonly reason: 'TooLarge' | 'TooDeep' | 'Syntax';
  /** With line and column where they are known. */
  readonly message: string;
  /** From 1. */
  readonly line?: number;
  readonly column?: number;
}

/** As large as the API server takes them. */
export const DEFAULT_MAX_BYTES: number = 3 * 1024 * 1024;
/** Far deeper than any real object, far from the end of the stack for code that walks the value. */
export const DEFAULT_MAX_DEPTH = 500;

/**
 * Decodes a JSON body. Besides what is not JSON or not UTF-8, what exceeds the limits and the key `__proto__` (which JavaScript
 * objects cannot hold safely) are refused.
 */
export function parseJsonBody(body: Uint8Array | string, limits: DecodeLimits = {}): Decoded | DecodeFailure {
  const text = decodeText(body, limits);
  return typeof text === 'string' ? parseJsonText(text, limits.maxDepth ?? DEFAULT_MAX_DEPTH) : text;
}

function parseJsonText(text: string, maxDepth: number): Decoded | DecodeFailure {
  let value: JsonValue;
  try {
    value = JSON.parse(text) as JsonValue;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // V8 says what is wrong, but often not where, and quotes the body, which may hold secrets.
    const found = scanJson(text, maxDepth).error;
    return syntaxFailure(text, found?.position ?? 0, found?.message ?? 'the text is not JSON');
  }
  const glance = glanceAtJson(text);
  if (glance.depth > maxDepth) return tooDeep(maxDepth);
  const keys = countKeys(value);
  if (keys < 0) return forbiddenKey();
  if (keys === glance.keys && !glance.hasLongNumbers) return { ok: true, value, duplicates: [], inexact: [] };
  const { duplicates, inexact } = scanJson(text, maxDepth);
  return { ok: true, value: inexact.length > 0 ? parseExactly(text) : value, duplicates, inexact };
}

/** The number of keys in a value, or -1 where one of them is `__proto__`. */
function countKeys(value: JsonValue): number {
  if (typeof value !== 'object' || value === null) return 0;
  let count = 0;
  if (Array.isArray(value)) {
    for (const item of value) {
      const inner = countKeys(item);
      if (inner < 0) return -1;
      count += inner;
    }
    return count;
  }
  for (const key in value) {
    if (key === '__proto__') return -1;
    const inner = countKeys(value[key] ?? null);
    if (inner < 0) return -1;
    count += inner + 1;
  }
  return count;
}

/** Text of a body within the size limit, as UTF-8 without byte order mark. */
export function decodeText(body: Uint8Array | string, limits: DecodeLimits): string | DecodeFailure {
  const maxBytes = limits.maxBytes ?? DEFAULT_MAX_BYTES;
  if ((typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength) > maxBytes) {
    return { ok: false, reason: 'TooLarge', message: `Request entity too large: limit is ${maxBytes}` };
  }
  if (typeof body === 'string') return body;
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { ok: false, reason: 'Syntax', message: 'the body is not valid UTF-8' };
  }
}

export function tooDeep(maxDepth: number): DecodeFailure {
  return { ok: false, reason: 'TooDeep', message: `the body is nested more than ${maxDepth} levels deep` };
}

export function forbiddenKey(): DecodeFailure {
  return { ok: false, reason: 'Syntax', message: 'the key "__proto__" is not supported' };
}

export function syntaxFailure(text: string, position: number, message: string): DecodeFailure {
  const before = text.slice(0, position);
  const line = before.split('\n').length;
  const column = position - before.lastIndexOf('\n');
  return { ok: false, reason: 'Syntax', message: `line ${line}, column ${column}: ${message}`, line, column };
}
