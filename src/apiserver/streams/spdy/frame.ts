/** Frames of SPDY/3.1 without what is in them. Pure: bytes in, frames out. */

export const CONTROL = {
  synStream: 1,
  synReply: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goAway: 7,
  headers: 8,
  windowUpdate: 9,
} as const;

export const FLAG_FIN = 0x01;

/** Status codes of RST_STREAM. */
export const RESET = {
  protocolError: 1,
  invalidStream: 2,
  refusedStream: 3,
  cancel: 5,
  streamInUse: 8,
} as const;

export interface DataFrame {
  readonly kind: 'data';
  readonly streamId: number;
  readonly flags: number;
  readonly payload: Uint8Array;
}

export interface ControlFrame {
  readonly kind: 'control';
  readonly type: number;
  readonly flags: number;
  readonly payload: Uint8Array;
}

export type Frame = DataFrame | ControlFrame;

/** What the other end did against the rules of SPDY: the session is over. */
export class SpdyViolation extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SpdyViolation';
  }
}

const VERSION = 3;
const HEAD_BYTES = 8;
const MAX_LENGTH = 0xff_ffff;

export function encodeFrame(frame: Frame): Uint8Array {
  const { payload } = frame;
  if (payload.byteLength > MAX_LENGTH) throw new RangeError(`a frame holds ${MAX_LENGTH} bytes at most`);
  const out = Buffer.allocUnsafe(HEAD_BYTES + payload.byteLength);
  if (frame.kind === 'data') out.writeUInt32BE(frame.streamId & 0x7fff_ffff, 0);
  else {
    out.writeUInt16BE(0x8000 | VERSION, 0);
    out.writeUInt16BE(frame.type, 2);
  }
  out[4] = frame.flags;
  out.writeUIntBE(payload.byteLength, 5, 3);
  out.set(payload, HEAD_BYTES);
  return out;
}

/** A control frame whose payload is numbers of 32 bits. */
export function controlFrame(type: number, ...words: number[]): Uint8Array {
  const payload = Buffer.alloc(words.length * 4);
  for (const [index, word] of words.entries()) payload.writeUInt32BE(word >>> 0, index * 4);
  return encodeFrame({ kind: 'control', type, flags: 0, payload });
}

/** Word `index` of a payload. Throws {@link SpdyViolation} where there is none. */
export function wordAt(payload: Uint8Array, index: number): number {
  const offset = index * 4;
  if (payload.byteLength < offset + 4) throw new SpdyViolation('a frame is too short');
  return new DataView(payload.buffer, payload.byteOffset, payload.byteLength).getUint32(offset);
}

/** Cuts chunks of a connection into frames. */
export interface FrameReader {
  /** The frames that are complete now; payloads are views of the chunks. Throws {@link SpdyViolation}. */
  push(chunk: Uint8Array): Frame[];
}

/** `limit` is the largest payload in bytes. */
export function frameReader(limit: number): FrameReader {
  let chunks: Uint8Array[] = [];
  let size = 0;
  let wanted = HEAD_BYTES;

  function joined(): Buffer {
    const whole = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
    chunks = [whole];
    return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength);
  }

  function take(): Frame | undefined {
    if (size < wanted) return undefined;
    const bytes = joined();
    const length = bytes.readUIntBE(5, 3);
    if (length > limit) throw new SpdyViolation(`a frame of ${length} bytes exceeds ${limit}`);
    wanted = HEAD_BYTES + length;
    if (size < wanted) return undefined;
    const payload = bytes.subarray(HEAD_BYTES, wanted);
    chunks = size > wanted ? [bytes.subarray(wanted)] : [];
    size -= wanted;
    wanted = HEAD_BYTES;
    const first = bytes.readUInt32BE(0);
    const flags = bytes[4] ?? 0;
    if (first < 0x8000_0000) return { kind: 'data', streamId: first, flags, payload };
    const version = (first >>> 16) & 0x7fff;
    if (version !== VERSION) throw new SpdyViolation(`frames of SPDY/${version} are not understood`);
    return { kind: 'control', type: first & 0xffff, flags, payload };
  }

  return {
    push(chunk) {
      if (chunk.byteLength > 0) chunks.push(chunk);
      size += chunk.byteLength;
      const frames: Frame[] = [];
      for (let frame = take(); frame !== undefined; frame = take()) frames.push(frame);
      return frames;
    },
  };
}
