import { deflateRawSync, inflateRawSync } from 'node:zlib';

/**
 * Values at rest: as they are, or compressed behind a mark and their length. JSON never begins with a mark, so that most
 * values need no copy; a value that does is stored behind {@link PLAIN}.
 */
const PLAIN = 0;
const DEFLATED = 1;

/** The mark and the length, 32 bits, little-endian. */
const HEADER_BYTES = 5;

/** Below this, compressing costs more than the disk: a tenth of what creating a small object takes. */
const COMPRESSED_FROM = 2048;
/** The smallest that was ever compressed. */
const LEAST_COMPRESSED = 1024;

/** Well above any object that the store takes: guards against a damaged or crafted file. */
const MAX_VALUE_BYTES = 64 * 1024 * 1024;

export function encodeValue(value: Uint8Array): Uint8Array {
  const size = value.byteLength;
  if (size >= COMPRESSED_FROM && size <= MAX_VALUE_BYTES) {
    const small = size <= 65_536;
    // The defaults take 270 KB of scratch memory and a 16 KB result buffer for every object.
    const packed = deflateRawSync(value, {
      level: 1,
      windowBits: small ? 12 : 15,
      memLevel: small ? 5 : 8,
      chunkSize: Math.min(size >>> 1, 65_536),
    });
    if (packed.byteLength + HEADER_BYTES < size) {
      const out = Buffer.allocUnsafe(packed.byteLength + HEADER_BYTES);
      out[0] = DEFLATED;
      out.writeUInt32LE(size, 1);
      out.set(packed, HEADER_BYTES);
      return out;
    }
  }
  if (value[0] !== PLAIN && value[0] !== DEFLATED) return value;
  const out = Buffer.allocUnsafe(size + 1);
  out[0] = PLAIN;
  out.set(value, 1);
  return out;
}

/** Throws when the value is damaged. */
export function decodeValue(stored: Uint8Array): Uint8Array {
  if (stored[0] === PLAIN) return stored.subarray(1);
  if (stored[0] !== DEFLATED) return stored;
  const view = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const size = view.byteLength < HEADER_BYTES ? 0 : view.readUInt32LE(1);
  if (size < LEAST_COMPRESSED || size > MAX_VALUE_BYTES)
    throw new Error(`a value claims to have ${size} bytes`);
  // A buffer of the exact size (and one byte, so that it is never full) instead of one that is held half empty.
  const value = inflateRawSync(view.subarray(HEADER_BYTES), { maxOutputLength: size, chunkSize: size + 1 });
  if (value.byteLength !== size) throw new Error(`a value has ${value.byteLength} bytes instead of ${size}`);
  return value;
}
