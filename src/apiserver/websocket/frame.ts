/** Frames of RFC 6455, as a server reads (masked) and writes (unmasked) them. Pure: bytes in, frames out. */

export const OPCODES = {
  continuation: 0x0,
  text: 0x1,
  binary: 0x2,
  close: 0x8,
  ping: 0x9,
  pong: 0xa,
} as const;

/** Codes of a close frame. */
export const CLOSE_CODES = {
  normal: 1000,
  goingAway: 1001,
  protocolError: 1002,
  badData: 1007,
  tooBig: 1009,
  internalError: 1011,
} as const;

export interface Frame {
  readonly final: boolean;
  readonly opcode: number;
  /** Unmasked; a view that is valid as long as the caller holds it. */
  readonly payload: Uint8Array;
}

/** What the other end did against the rules; `code` is that of the close frame which answers it. */
export class WebSocketViolation extends Error {
  readonly code: number;
  constructor(code: number, message: string) {
    super(message);
    this.name = 'WebSocketViolation';
    this.code = code;
  }
}

/** Cuts chunks of a connection into frames. */
export interface FrameReader {
  /** The frames that are complete now. Throws {@link WebSocketViolation}; nothing can be read after that. */
  push(chunk: Uint8Array): Frame[];
}

const MAX_CONTROL_PAYLOAD = 125;
const MASK_BYTES = 4;

/** `limit` is the largest payload of a frame in bytes. */
export function frameReader(limit: number): FrameReader {
  let chunks: Uint8Array[] = [];
  let size = 0;
  /** Bytes that the frame in front needs, as far as is known. */
  let wanted = 2;

  function take(): Frame | undefined {
    if (size < wanted) return undefined;
    const bytes = chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks, size);
    chunks = [bytes];
    const head = headOf(bytes, limit);
    if (head === undefined) {
      wanted = headLength(bytes);
      return size < wanted ? undefined : take();
    }
    const end = head.start + head.length;
    wanted = end;
    if (size < end) return undefined;
    const payload = unmask(bytes.subarray(head.start, end), bytes.subarray(head.start - MASK_BYTES));
    chunks = end < bytes.byteLength ? [bytes.subarray(end)] : [];
    size -= end;
    wanted = 2;
    return { final: head.final, opcode: head.opcode, payload };
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

/** Bytes of the head, from its first two. */
function headLength(bytes: Uint8Array): number {
  const length = (bytes[1] ?? 0) & 0x7f;
  return 2 + (length === 126 ? 2 : length === 127 ? 8 : 0) + MASK_BYTES;
}

/** `undefined` while the head is not complete. `bytes` are two at least. */
function headOf(
  bytes: Uint8Array,
  limit: number,
): { final: boolean; opcode: number; start: number; length: number } | undefined {
  const [first = 0, second = 0] = bytes;
  const opcode = first & 0x0f;
  const final = (first & 0x80) !== 0;
  if ((first & 0x70) !== 0) throw violation('a reserved bit is set and no extension was agreed');
  if ((opcode > 0x2 && opcode < 0x8) || opcode > 0xa) throw violation(`unknown opcode ${opcode}`);
  if ((second & 0x80) === 0) throw violation('a client has to mask its frames');
  const short = second & 0x7f;
  if (opcode >= 0x8 && (!final || short > MAX_CONTROL_PAYLOAD))
    throw violation('a control frame is whole and of 125 bytes at most');
  const start = headLength(bytes);
  if (bytes.byteLength < start) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const length = short === 126 ? view.getUint16(2) : short === 127 ? Number(view.getBigUint64(2)) : short;
  if (length > limit) throw new WebSocketViolation(CLOSE_CODES.tooBig, `a frame exceeds ${limit} bytes`);
  return { final, opcode, start, length };
}

function violation(message: string): WebSocketViolation {
  return new WebSocketViolation(CLOSE_CODES.protocolError, message);
}

/** `mask` begins with the four bytes of the mask. */
function unmask(payload: Uint8Array, mask: Uint8Array): Uint8Array {
  const out = Buffer.allocUnsafe(payload.byteLength);
  for (let index = 0; index < payload.byteLength; index++)
    out[index] = (payload[index] ?? 0) ^ (mask[index & 3] ?? 0);
  return out;
}

/** The head of a frame that a server sends; the payload follows as it is. */
export function frameHead(opcode: number, length: number, final: boolean = true): Uint8Array {
  const first = (final ? 0x80 : 0) | opcode;
  if (length < 126) return Uint8Array.of(first, length);
  const head = Buffer.alloc(length < 65_536 ? 4 : 10);
  head[0] = first;
  if (length < 65_536) {
    head[1] = 126;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = 127;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return head;
}
