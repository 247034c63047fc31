/** Reads protobuf's wire format. Every read checks its bounds; throws {@link ProtobufError} for anything malformed. */
export interface WireReader {
  /** Whether all bytes were read. */
  readonly done: boolean;
  /** Field number and wire type of what follows. */
  tag(): { number: number; type: number };
  varint(): bigint;
  double(): number;
  bytes(): Uint8Array;
  /** Passes over a value of a wire type. */
  skip(type: number): void;
}

export class ProtobufError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ProtobufError';
  }
}

/** Every object in Kubernetes' protobuf form begins with these bytes: `k8s` and a zero. */
export const MAGIC: Uint8Array = Uint8Array.of(0x6b, 0x38, 0x73, 0x00);

export const VARINT = 0;
export const FIXED64 = 1;
export const LENGTH = 2;
export const FIXED32 = 5;

export function wireReader(buffer: Uint8Array): WireReader {
  let offset = 0;
  const take = (length: number): Uint8Array => {
    if (length < 0 || offset + length > buffer.byteLength)
      throw new ProtobufError('it ends in the middle of a value');
    offset += length;
    return buffer.subarray(offset - length, offset);
  };
  const varint = (): bigint => {
    let value = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = take(1)[0] ?? 0;
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return BigInt.asIntN(64, value);
    }
    throw new ProtobufError('a number is longer than 10 bytes');
  };
  const bytes = (): Uint8Array => {
    const length = varint();
    if (length < 0n || length > BigInt(buffer.byteLength))
      throw new ProtobufError('a length is beyond the end');
    return take(Number(length));
  };
  return {
    get done() {
      return offset >= buffer.byteLength;
    },
    tag() {
      const tag = Number(varint());
      return { number: tag >>> 3, type: tag & 7 };
    },
    varint,
    double() {
      const raw = take(8);
      return new DataView(raw.buffer, raw.byteOffset, 8).getFloat64(0, true);
    },
    bytes,
    skip(type: number): void {
      if (type === VARINT) varint();
      else if (type === FIXED64) take(8);
      else if (type === LENGTH) bytes();
      else if (type === FIXED32) take(4);
      else throw new ProtobufError(`a field has the unknown wire type ${type}`);
    },
  };
}
