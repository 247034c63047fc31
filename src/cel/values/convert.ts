import { INT, type Type } from '../types/type.ts';
import { toInt } from './integer.ts';
import { List } from './list.ts';
import { CelMap, EntryMap, ObjectMap, type ObjectShape } from './map.ts';
import { formatDuration, formatTimestamp, timestampFromDate } from './time.ts';
import {
  CelError,
  Double,
  Duration,
  Failure,
  Opaque,
  Optional,
  Timestamp,
  TypeValue,
  Uint,
  type Value,
} from './value.ts';

const MAP_SHAPE: ObjectShape = { typeName: 'map', fields: undefined, rest: (raw) => adapt(raw) };

/**
 * A host's data as a value: JSON (numbers without a fraction are ints), bigints, dates, byte arrays, and values themselves.
 * Objects and arrays are looked into only when an expression does, so this costs the same for small and large ones.
 */
export function adapt(raw: unknown): Value {
  switch (typeof raw) {
    case 'string':
    case 'boolean':
      return raw;
    case 'number':
      return Number.isSafeInteger(raw) ? raw + 0 : numberBeyond(raw);
    case 'bigint':
      return raw >= -(2n ** 63n) && raw < 2n ** 63n
        ? toInt(raw)
        : raw >= 0n && raw < 2n ** 64n
          ? new Uint(raw)
          : new CelError('integer overflow');
    case 'object':
      return raw === null ? null : adaptObject(raw);
    default:
      return new CelError(`no value can be made of a host's ${typeof raw}`);
  }
}

/** Kubernetes decodes integers beyond 64 bits as doubles. */
function numberBeyond(raw: number): Value {
  return Number.isInteger(raw) && Math.abs(raw) < 2 ** 63 ? toInt(BigInt(raw)) : new Double(raw);
}

function adaptObject(raw: object): Value {
  if (Array.isArray(raw)) return new List(raw, adapt);
  const prototype: unknown = Object.getPrototypeOf(raw);
  if (prototype === Object.prototype || prototype === null) {
    return new ObjectMap(raw as Record<string, unknown>, MAP_SHAPE);
  }
  if (isValueBox(raw)) return raw;
  if (raw instanceof Date) return timestampFromDate(raw);
  if (raw instanceof Map) return adaptMap(raw);
  return new ObjectMap(raw as Record<string, unknown>, MAP_SHAPE);
}

function adaptMap(raw: ReadonlyMap<unknown, unknown>): Value {
  const items = new Map<string | number | bigint | boolean, readonly [Value, Value]>();
  for (const [key, value] of raw) {
    const name = adapt(key);
    if (typeof name === 'object') return new CelError('keys of maps are texts, integers and bools');
    items.set(name, [name, adapt(value)]);
  }
  return new EntryMap(items);
}

type Box = Exclude<Value, null | boolean | number | bigint | string>;

function isValueBox(raw: object): raw is Box {
  return (
    raw instanceof Uint ||
    raw instanceof Double ||
    raw instanceof Uint8Array ||
    raw instanceof Timestamp ||
    raw instanceof Duration ||
    raw instanceof List ||
    raw instanceof CelMap ||
    raw instanceof Optional ||
    raw instanceof TypeValue ||
    raw instanceof Opaque ||
    raw instanceof Failure
  );
}

export type ToJson = { readonly json: unknown } | { readonly error: string };

export interface ToJsonOptions {
  /** Ints beyond ±2⁵³ and uints of that size: as texts, which any reader of JSON keeps whole, or as bigints. Texts by default. */
  readonly longIntegers?: 'text' | 'bigint';
}

/**
 * A value as JSON. Bytes become base64, times and durations their text forms; an empty optional is left out of lists and maps.
 * Errors for what JSON cannot say (NaN, types, maps with keys that collide).
 */
export function toJson(value: Value, { longIntegers = 'text' }: ToJsonOptions = {}): ToJson {
  try {
    return { json: json(value, 0, longIntegers === 'bigint', { left: MAX_ELEMENTS }) ?? null };
  } catch (error) {
    if (error instanceof RangeError) return { error: error.message };
    throw error;
  }
}

const MAX_DEPTH = 200;
/** Values share their parts, which are written out as often as they are used. */
const MAX_ELEMENTS = 500_000;
/** So many characters count as an element. */
const CHARACTERS = 16;

function json(value: Value, depth: number, exact: boolean, room: { left: number }): unknown {
  if (depth > MAX_DEPTH) throw new RangeError('the value nests too deeply for JSON');
  if (value instanceof List || value instanceof CelMap) room.left -= value.size;
  else if (typeof value === 'string') room.left -= Math.floor(value.length / CHARACTERS);
  if (room.left < 0) throw new RangeError('the value is too large for JSON');
  if (value === null || typeof value === 'boolean' || typeof value === 'string' || typeof value === 'number')
    return value;
  if (typeof value === 'bigint') return exact ? value : String(value);
  if (value instanceof Uint) {
    if (value.value <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(value.value);
    return exact ? value.value : String(value.value);
  }
  if (value instanceof Double) {
    if (!Number.isFinite(value.value)) throw new RangeError(`${value.value} cannot be written in JSON`);
    return value.value;
  }
  if (value instanceof List) {
    const out: unknown[] = [];
    for (const item of value) {
      const element = json(item, depth + 1, exact, room);
      if (element !== undefined) out.push(element);
    }
    return out;
  }
  if (value instanceof CelMap) return jsonObject(value, depth, exact, room);
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  if (value instanceof Optional)
    return value.value === undefined ? undefined : json(value.value, depth + 1, exact, room);
  if (value instanceof TypeValue) return value.name;
  if (value instanceof CelError) throw new RangeError(value.message);
  if (value instanceof Opaque && value.kind.toText) return value.kind.toText(value.value);
  throw new RangeError('the value has no form in JSON');
}

function jsonObject(
  map: CelMap,
  depth: number,
  exact: boolean,
  room: { left: number },
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, item] of map.entries()) {
    const name = typeof key === 'object' ? String(json(key, depth, exact, room)) : String(key);
    if (Object.hasOwn(out, name)) throw new RangeError(`two keys are written alike in JSON: ${name}`);
    const element = json(item, depth + 1, exact, room);
    if (element === undefined) continue;
    Object.defineProperty(out, name, {
      value: element,
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return out;
}

/** What `type(value)` is called. */
export function typeNameOf(value: Value): string {
  switch (typeof value) {
    case 'boolean':
      return 'bool';
    case 'number':
    case 'bigint':
      return INT.kind;
    case 'string':
      return 'string';
  }
  if (value === null) return 'null_type';
  if (value instanceof Uint) return 'uint';
  if (value instanceof Double) return 'double';
  if (value instanceof Uint8Array) return 'bytes';
  if (value instanceof List) return 'list';
  if (value instanceof ObjectMap) return value.shape.typeName;
  if (value instanceof CelMap) return 'map';
  if (value instanceof Timestamp) return 'google.protobuf.Timestamp';
  if (value instanceof Duration) return 'google.protobuf.Duration';
  if (value instanceof Optional) return 'optional_type';
  if (value instanceof TypeValue) return 'type';
  if (value instanceof Opaque) return value.kind.name;
  return 'error';
}

/** A test at run time whether a value is of a type's kind; elements are not looked at. */
export function kindTest(type: Type): (value: Value) => boolean {
  switch (type.kind) {
    case 'bool':
      return (value) => typeof value === 'boolean';
    case 'int':
      return (value) => typeof value === 'number' || typeof value === 'bigint';
    case 'string':
      return (value) => typeof value === 'string';
    case 'uint':
      return (value) => value instanceof Uint;
    case 'double':
      return (value) => value instanceof Double;
    case 'bytes':
      return (value) => value instanceof Uint8Array;
    case 'null':
      return (value) => value === null;
    case 'timestamp':
      return (value) => value instanceof Timestamp;
    case 'duration':
      return (value) => value instanceof Duration;
    case 'type':
      return (value) => value instanceof TypeValue;
    case 'list': {
      return (value) => value instanceof List;
    }
    case 'map':
      return (value) => value instanceof CelMap;
    case 'object':
      return (value) => value instanceof ObjectMap;
    case 'opaque':
      if (type.name === 'optional_type') return (value) => value instanceof Optional;
      return (value) => value instanceof Opaque && value.kind.name === type.name;
    case 'wrapper': {
      const inner = kindTest(type.of);
      return (value) => value === null || inner(value);
    }
    default:
      return () => true;
  }
}
