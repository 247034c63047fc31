import {
  CelError,
  CelMap,
  Double,
  Duration,
  List,
  Optional,
  Timestamp,
  toJson,
  typeNameOf,
  Uint,
  type Value,
} from '../../../cel/index.ts';
import type { JsonObject, JsonValue } from '../../../schema/json.ts';
import type { GraphClock } from './time-library.ts';

export type JsonOfResult =
  | { readonly json: JsonValue; readonly problem?: undefined }
  | { readonly json?: undefined; readonly problem: string };

/** What is left of a value that may still be written. */
interface Room {
  left: number;
}

/** Of a value, with its parts written out: units as they are counted in {@link json}. Far above what an API server takes. */
const MAX_SIZE = 8_000_000;
/** Of an element, however short; so many characters are one. */
const ELEMENT = 4;
const CHARACTERS = 4;

const MAX_DEPTH = 100;

/**
 * What an expression came to, as JSON for an object of Kubernetes: durations as Go writes them, an empty optional as null.
 * Bytes, uints beyond 64 bits with a sign, and what JSON cannot say have no such form.
 */
export function jsonOfResult(value: Value, clock?: Pick<GraphClock, 'spent'>): JsonOfResult {
  const room: Room = { left: MAX_SIZE };
  try {
    return { json: json(value, 0, room) };
  } catch (error) {
    if (error instanceof RangeError) return { problem: error.message };
    throw error;
  } finally {
    // Values share their parts, which is paid for once; here each is there as often as it is used.
    if (clock) clock.spent += MAX_SIZE - room.left;
  }
}

function take(room: Room, size: number): void {
  room.left -= size;
  if (room.left < 0) throw new RangeError('the value is too large to be written');
}

function json(value: Value, depth: number, room: Room): JsonValue {
  if (depth > MAX_DEPTH) throw new RangeError(`the value nests more than ${MAX_DEPTH} deep`);
  if (typeof value === 'string') take(room, Math.ceil(value.length / CHARACTERS));
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof List || value instanceof CelMap) take(room, value.size * ELEMENT);
  if (value instanceof List) return Array.from(value, (item) => json(item, depth + 1, room));
  if (value instanceof CelMap) return jsonObject(value, depth + 1, room);
  if (value instanceof Optional) return value.value === undefined ? null : json(value.value, depth + 1, room);
  if (value instanceof Duration) return goDuration(value.nanos);
  if (value instanceof Uint) {
    if (value.value >= 2n ** 63n) throw new RangeError(`${value.value} is beyond 64 bits with a sign`);
    return value.value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value.value) : value.value;
  }
  if (value instanceof Uint8Array)
    throw new RangeError('bytes cannot be written; base64.encode() or string() makes a text of them');
  if (value instanceof CelError) throw new RangeError(value.message);
  if (value instanceof Double || value instanceof Timestamp) {
    const plain = toJson(value);
    if ('error' in plain) throw new RangeError(plain.error);
    return plain.json as JsonValue;
  }
  throw new RangeError(`a ${typeNameOf(value)} cannot be written; string() makes a text of it where it can`);
}

function jsonObject(map: CelMap, depth: number, room: Room): JsonObject {
  const out: JsonObject = {};
  for (const [key, item] of map.entries()) {
    if (typeof key !== 'string') throw new RangeError(`keys of objects are texts, not ${typeNameOf(key)}s`);
    Object.defineProperty(out, key, {
      value: json(item, depth, room),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return out;
}

/** `1h30m0s`, the form of `metav1.Duration`. */
export function goDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const total = nanos < 0n ? -nanos : nanos;
  if (total < 1000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return `${sign}${decimal(total, 1000n)}µs`;
  if (total < 1_000_000_000n) return `${sign}${decimal(total, 1_000_000n)}ms`;
  const minutes = total / 60_000_000_000n;
  const hours = minutes / 60n;
  const seconds = `${decimal(total % 60_000_000_000n, 1_000_000_000n)}s`;
  if (minutes === 0n) return `${sign}${seconds}`;
  return `${sign}${hours > 0n ? `${hours}h` : ''}${minutes % 60n}m${seconds}`;
}

function decimal(value: bigint, unit: bigint): string {
  const rest = value % unit;
  const digits = rest
    .toString()
    .padStart(unit.toString().length - 1, '0')
    .replace(/0+$/, '');
  return rest === 0n ? `${value / unit}` : `${value / unit}.${digits}`;
}
