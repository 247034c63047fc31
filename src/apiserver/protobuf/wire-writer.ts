/**
 * Writes protobuf's wire format from the end to the beginning: the length of a message is known when its content is there,
 * so nothing is measured beforehand. What is to stand last is written first.
 */
export interface WireWriter {
  /** Bytes written so far. */
  readonly size: number;
  /** Numbers below zero take ten bytes, as in two's complement of 64 bits. */
  varint(value: number | bigint): void;
  tag(number: number, type: number): void;
  double(value: number): void;
  /** UTF-8, without its length. */
  text(value: string): void;
  bytes(value: Uint8Array): void;
  /** What was written. The writer must not be used any more. */
  take(): Uint8Array;
}

const FIRST_BYTES = 2048;
const SHORT = 32;

export function wireWriter(): WireWriter {
  let buffer = Buffer.allocUnsafe(FIRST_BYTES);
  let start = FIRST_BYTES;

  /** Makes room for `length` bytes before what is there. */
  const reserve = (length: number): number => {
    if (start < length) {
      const used = buffer.byteLength - start;
      const larger = Buffer.allocUnsafe(Math.max(buffer.byteLength * 2, used + length));
      buffer.copy(larger, larger.byteLength - used, start);
      start = larger.byteLength - used;
      buffer = larger;
    }
    start -= length;
    return start;
  };

  const varint = (value: number | bigint): void => {
    if (typeof value === 'number' && value >= 0 && value < 0x80) {
      // Reserved first: the buffer may be another one then.
      const at = reserve(1);
      buffer[at] = value;
    } else if (typeof value === 'number' && value >= 0 && value < 0x8000_0000) {
      let length = 1;
      for (let rest = value >>> 7; rest !== 0; rest >>>= 7) length += 1;
      let at = reserve(length);
      let rest = value;
      for (; rest >= 0x80; rest >>>= 7) buffer[at++] = (rest & 0x7f) | 0x80;
      buffer[at] = rest;
    } else longVarint(BigInt.asUintN(64, BigInt(value)));
  };

  const longVarint = (value: bigint): void => {
    let length = 1;
    for (let rest = value >> 7n; rest !== 0n; rest >>= 7n) length += 1;
    let at = reserve(length);
    let rest = value;
    for (; rest >= 0x80n; rest >>= 7n) buffer[at++] = Number(rest & 0x7fn) | 0x80;
    buffer[at] = Number(rest);
  };

  /** Most texts are short and plain: a loop is faster than a call out of the engine. False for other than ASCII. */
  const shortText = (value: string): boolean => {
    const at = reserve(value.length);
    for (let index = 0; index < value.length; index++) {
      const code = value.charCodeAt(index);
      if (code >= 0x80) {
        start += value.length;
        return false;
      }
      buffer[at + index] = code;
    }
    return true;
  };

  return {
    get size() {
      return buffer.byteLength - start;
    },
    varint,
    tag: (number, type) => varint(number * 8 + type),
    double(value) {
      const at = reserve(8);
      buffer.writeDoubleLE(value, at);
    },
    text(value) {
      if (value.length <= SHORT && shortText(value)) return;
      const length = Buffer.byteLength(value);
      const at = reserve(length);
      buffer.write(value, at, length, 'utf8');
    },
    bytes(value) {
      const at = reserve(value.byteLength);
      buffer.set(value, at);
    },
    take() {
      const written = buffer.subarray(start);
      // Answers and events wait in queues: they must not hold much more memory than their length.
      return start > buffer.byteLength >> 3 ? Buffer.from(written) : written;
    },
  };
}
