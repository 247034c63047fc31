import { formatMicroTime, formatTime } from '../../runtime/clock.ts';
import { parseJsonBody } from '../../schema/decode.ts';
import type { JsonObject, JsonValue } from '../../schema/json.ts';
import {
  EMIT_EMPTY,
  INLINE,
  POINTER,
  type ProtobufField,
  type ProtobufTable,
  protobufTable,
  REPEATED,
  type SpecialForm,
} from './table.ts';
import { FIXED64, LENGTH, MAGIC, ProtobufError, VARINT, wireReader } from './wire.ts';

/** The media type of protobuf bodies. */
export const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const MAX_DEPTH = 100;

/**
 * A body in Kubernetes' protobuf form as the JSON that upstream's own types would give: the envelope (`k8s\0`, then kind
 * and raw message), then the message by table. Throws {@link ProtobufError} where it is malformed or its kind is not
 * known.
 */
export function decodeProtobuf(body: Uint8Array): JsonObject {
  return decodeEnvelope(body, 0);
}

function decodeEnvelope(body: Uint8Array, depth: number): JsonObject {
  if (!hasMagic(body)) throw new ProtobufError('it does not begin with the magic bytes of Kubernetes');
  let apiVersion = '';
  let kind = '';
  let raw: Uint8Array = new Uint8Array();
  const envelope = wireReader(body.subarray(MAGIC.length));
  while (!envelope.done) {
    const { number, type } = envelope.tag();
    if (number === 1 && type === LENGTH) {
      const meta = wireReader(envelope.bytes());
      while (!meta.done) {
        const field = meta.tag();
        if (field.type !== LENGTH) meta.skip(field.type);
        else if (field.number === 1) apiVersion = text(meta.bytes());
        else if (field.number === 2) kind = text(meta.bytes());
        else meta.skip(field.type);
      }
    } else if (number === 2 && type === LENGTH) raw = envelope.bytes();
    else envelope.skip(type);
  }
  const table = protobufTable();
  const message = table.meta[kind] ?? table.kinds[`${apiVersion}/${kind}`];
  if (message === undefined)
    throw new ProtobufError(
      `the kind ${JSON.stringify(kind)} of ${JSON.stringify(apiVersion)} has no known protobuf form; send it as application/json`,
    );
  return { apiVersion, kind, ...(decodeMessage(table, message, raw, depth) as JsonObject) };
}

function hasMagic(bytes: Uint8Array): boolean {
  return MAGIC.every((byte, index) => bytes[index] === byte);
}

function decodeMessage(table: ProtobufTable, index: number, bytes: Uint8Array, depth: number): JsonValue {
  if (depth > MAX_DEPTH) throw new ProtobufError(`it is nested more than ${MAX_DEPTH} levels deep`);
  const form = table.special[index];
  if (form !== undefined) return decodeSpecial(table, index, form, bytes, depth);
  const fields = table.messages[index] ?? [];
  const out: JsonObject = {};
  for (const field of fields) if ((field[3] & EMIT_EMPTY) !== 0) out[field[1]] = emptyOf(table, field);
  const reader = wireReader(bytes);
  while (!reader.done) {
    const { number, type } = reader.tag();
    const field = fields.find((item) => item[0] === number);
    if (!field) {
      reader.skip(type);
      continue;
    }
    readField(table, field, out, reader, type, depth);
  }
  return out;
}

function readField(
  table: ProtobufTable,
  field: ProtobufField,
  out: JsonObject,
  reader: ReturnType<typeof wireReader>,
  wireType: number,
  depth: number,
): void {
  const [, name, type, flags] = field;
  if (type === 'map') {
    const [key, value] = readEntry(table, field, reader.bytes(), depth);
    // As in JSON: JavaScript objects cannot hold it safely.
    if (key === '__proto__') throw new ProtobufError('the key "__proto__" is not allowed');
    const map = (out[name] ?? {}) as JsonObject;
    map[key] = value;
    out[name] = map;
    return;
  }
  const repeated = (flags & REPEATED) !== 0;
  if (repeated && wireType === LENGTH && (type === 'int32' || type === 'int64' || type === 'bool')) {
    const packed = wireReader(reader.bytes());
    while (!packed.done) push(out, name, readScalar(packed, type, VARINT));
    return;
  }
  const value =
    typeof type === 'number'
      ? decodeMessage(table, type, reader.bytes(), depth + 1)
      : readScalar(reader, type, wireType);
  if (repeated) push(out, name, value);
  else if ((flags & INLINE) !== 0) Object.assign(out, value as JsonObject);
  else if ((flags & (POINTER | EMIT_EMPTY)) !== 0 || !isZero(value, typeof type === 'number'))
    out[name] = value;
}

function push(out: JsonObject, name: string, value: JsonValue): void {
  const list = out[name];
  if (Array.isArray(list)) list.push(value);
  else out[name] = [value];
}

function readEntry(
  table: ProtobufTable,
  field: ProtobufField,
  bytes: Uint8Array,
  depth: number,
): [string, JsonValue] {
  const [, , , , keyType = 'string', valueType = 'string'] = field;
  let key = '';
  let value: JsonValue | undefined;
  const reader = wireReader(bytes);
  while (!reader.done) {
    const { number, type } = reader.tag();
    if (number === 1) key = String(readScalar(reader, String(keyType), type));
    else if (number === 2)
      value =
        typeof valueType === 'number'
          ? decodeMessage(table, valueType, reader.bytes(), depth + 1)
          : readScalar(reader, valueType, type);
    else reader.skip(type);
  }
  if (value === undefined)
    value =
      typeof valueType === 'number'
        ? decodeMessage(table, valueType, new Uint8Array(), depth + 1)
        : zeroOf(valueType);
  return [key, value];
}

function readScalar(reader: ReturnType<typeof wireReader>, type: string, wireType: number): JsonValue {
  const expected = type === 'double' ? FIXED64 : type === 'string' || type === 'bytes' ? LENGTH : VARINT;
  if (wireType !== expected) throw new ProtobufError(`a field of type ${type} has the wire type ${wireType}`);
  switch (type) {
    case 'string':
      return text(reader.bytes());
    case 'bytes':
      return Buffer.from(reader.bytes()).toString('base64');
    case 'bool':
      return reader.varint() !== 0n;
    case 'double':
      return reader.double();
    default: {
      const value = reader.varint();
      const short = Number(value);
      // Long integers keep their digits.
      return Number.isSafeInteger(short) ? short : value;
    }
  }
}

function zeroOf(type: string): JsonValue {
  return type === 'bool' ? false : type === 'string' || type === 'bytes' ? '' : 0;
}

/** What upstream prints for a field that is not on the wire and has no `omitempty`. */
function emptyOf(table: ProtobufTable, field: ProtobufField): JsonValue {
  const [, , type, flags] = field;
  if ((flags & (REPEATED | POINTER)) !== 0 || type === 'map' || type === 'bytes') return null;
  return typeof type === 'number' ? decodeMessage(table, type, new Uint8Array(), 0) : zeroOf(type);
}

/** Zero values of fields that are not pointers are left out; an empty message of a value field is kept, as Go prints it. */
function isZero(value: JsonValue, isMessage: boolean): boolean {
  if (isMessage) return value === null;
  return value === '' || value === 0 || value === false;
}

function decodeSpecial(
  table: ProtobufTable,
  index: number,
  form: SpecialForm,
  bytes: Uint8Array,
  depth: number,
): JsonValue {
  const fields = readAll(bytes);
  const number = (field: number): bigint => {
    const value = fields.get(field)?.at(-1) ?? 0n;
    if (typeof value !== 'bigint') throw new ProtobufError(`field ${field} is no number`);
    return BigInt.asIntN(64, value);
  };
  const bytesOf = (field: number, value: bigint | Uint8Array): Uint8Array => {
    if (typeof value === 'bigint') throw new ProtobufError(`field ${field} is a number`);
    return value;
  };
  const blobs = (field: number): Uint8Array[] | undefined =>
    fields.get(field)?.map((value) => bytesOf(field, value));
  const blob = (field: number): Uint8Array | undefined => blobs(field)?.at(-1);
  const nested = (field: number, value: Uint8Array): JsonValue => {
    const type = table.messages[index]?.find((item) => item[0] === field)?.[2];
    return typeof type === 'number' ? decodeMessage(table, type, value, depth + 1) : text(value);
  };
  switch (form) {
    case 'quantity':
      return text(blob(1) ?? new Uint8Array()) || '0';
    case 'int-or-string':
      return number(1) === 1n ? text(blob(3) ?? new Uint8Array()) : Number(BigInt.asIntN(32, number(2)));
    case 'time':
      return bytes.byteLength === 0 ? null : formatTime(milliseconds(number(1)));
    case 'micro-time': {
      if (bytes.byteLength === 0) return null;
      const micros = Math.floor(Number(number(2)) / 1000);
      return formatMicroTime(milliseconds(number(1))).replace(
        /\.\d{6}Z$/,
        `.${String(micros).padStart(6, '0')}Z`,
      );
    }
    case 'duration':
      return goDuration(number(1));
    case 'raw-json': {
      const raw = blob(1);
      if (raw === undefined || raw.byteLength === 0) return null;
      return hasMagic(raw) ? decodeEnvelope(raw, depth + 1) : jsonOf(raw);
    }
    case 'array':
      return (blobs(1) ?? []).map((item) => nested(1, item));
    case 'schema-or-bool': {
      const schema = blob(2);
      return schema === undefined ? number(1) !== 0n : nested(2, schema);
    }
    case 'schema-or-array': {
      const list = blobs(2);
      const schema = blob(1);
      return list !== undefined
        ? list.map((item) => nested(2, item))
        : schema === undefined
          ? null
          : nested(1, schema);
    }
    case 'schema-or-string-array': {
      const schema = blob(1);
      return schema === undefined ? (blobs(2) ?? []).map((item) => text(item)) : nested(1, schema);
    }
  }
}

/** The JSON within a message, by the rules for a body of JSON. */
function jsonOf(raw: Uint8Array): JsonValue {
  const decoded = parseJsonBody(raw);
  if (!decoded.ok) throw new ProtobufError(decoded.message);
  return decoded.value;
}

const FIRST_SECOND = -62_135_596_800n;
const LAST_SECOND = 253_402_300_799n;

/** Of seconds since the epoch, in the years that a text of RFC 3339 can tell. */
function milliseconds(seconds: bigint): number {
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND)
    throw new ProtobufError('a time is not in the years 1 to 9999');
  return Number(seconds) * 1000;
}

function readAll(bytes: Uint8Array): Map<number, (bigint | Uint8Array)[]> {
  const out = new Map<number, (bigint | Uint8Array)[]>();
  const reader = wireReader(bytes);
  while (!reader.done) {
    const { number, type } = reader.tag();
    if (type !== VARINT && type !== LENGTH) {
      reader.skip(type);
      continue;
    }
    const value = type === VARINT ? reader.varint() : reader.bytes();
    const list = out.get(number);
    if (list) list.push(value);
    else out.set(number, [value]);
  }
  return out;
}

/** Go's text of a duration in nanoseconds: `1h0m0s`, `1.5s`, `250ms`. */
export function goDuration(nanos: bigint): string {
  if (nanos === 0n) return '0s';
  const sign = nanos < 0n ? '-' : '';
  const total = nanos < 0n ? -nanos : nanos;
  const fraction = (value: bigint, unit: bigint): string => {
    const rest = (value % unit)
      .toString()
      .padStart(unit.toString().length - 1, '0')
      .replace(/0+$/, '');
    return `${value / unit}${rest === '' ? '' : `.${rest}`}`;
  };
  if (total < 1_000n) return `${sign}${total}ns`;
  if (total < 1_000_000n) return `${sign}${fraction(total, 1_000n)}µs`;
  if (total < 1_000_000_000n) return `${sign}${fraction(total, 1_000_000n)}ms`;
  const hours = total / 3_600_000_000_000n;
  const minutes = (total / 60_000_000_000n) % 60n;
  const seconds = fraction(total % 60_000_000_000n, 1_000_000_000n);
  return `${sign}${hours > 0n ? `${hours}h` : ''}${hours > 0n || minutes > 0n ? `${minutes}m` : ''}${seconds}s`;
}

function text(bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new ProtobufError(`a text is not valid UTF-8: ${String(error)}`);
  }
}
