/** The parts of the protobuf wire format that the OpenAPI documents need. Each function gives one encoded field. */

const EMPTY = Buffer.alloc(0);
const VARINT = 0;
const FIXED_64 = 1;
const LENGTH_DELIMITED = 2;

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(Math.trunc(value)));
  while (rest > 0x7fn) {
    bytes.push(Number(rest & 0x7fn) | 0x80);
    rest >>= 7n;
  }
  bytes.push(Number(rest));
  return Buffer.from(bytes);
}

/** Tags and lengths are small: no need of 64-bit arithmetic. */
function shortVarint(value: number): Buffer {
  if (value < 0x80) return Buffer.of(value);
  if (value < 0x4000) return Buffer.of((value & 0x7f) | 0x80, value >>> 7);
  return varint(value);
}

function tag(field: number, wireType: number): Buffer {
  return shortVarint(field * 8 + wireType);
}

export function message(field: number, parts: readonly Buffer[]): Buffer {
  const size = parts.reduce((sum, part) => sum + part.byteLength, 0);
  return Buffer.concat([tag(field, LENGTH_DELIMITED), shortVarint(size), ...parts]);
}

/** As in proto3, the zero value of a scalar is not written. */
export function string(field: number, value: unknown): Buffer {
  return typeof value === 'string' && value !== '' ? message(field, [Buffer.from(value)]) : EMPTY;
}

/** An element of a repeated field: written even when empty. */
export function strings(field: number, values: unknown): Buffer {
  if (!Array.isArray(values)) return EMPTY;
  return Buffer.concat(values.map((value) => message(field, [Buffer.from(String(value))])));
}

export function bool(field: number, value: unknown): Buffer {
  return value === true ? Buffer.concat([tag(field, VARINT), Buffer.of(1)]) : EMPTY;
}

export function int64(field: number, value: unknown): Buffer {
  if (typeof value !== 'number' || value === 0 || !Number.isFinite(value)) return EMPTY;
  return Buffer.concat([tag(field, VARINT), varint(value)]);
}

export function double(field: number, value: unknown): Buffer {
  if (typeof value !== 'number' || value === 0) return EMPTY;
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(value);
  return Buffer.concat([tag(field, FIXED_64), bytes]);
}
