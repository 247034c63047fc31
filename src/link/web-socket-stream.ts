import { createHash } from 'node:crypto';
import { Duplex } from 'node:stream';
import { readHttpHead, statusOf } from '../kube/wire/index.ts';
import type { Random } from '../runtime/index.ts';

/**
 * The bytes of a link inside a WebSocket (RFC 6455), for networks that let nothing but HTTP/1.1 out. Only framing: what
 * the frames hold is the link's own TLS, end to end, so whoever ends the outer TLS on the way sees and changes nothing.
 */

const PATH = '/link';
const SUBPROTOCOL = 'atoll-link';
/** From RFC 6455: what a server adds to the client's key before it hashes it. */
const KEY_SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** Far above what TLS writes at once; a peer that announces more is none of ours. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;

const OPCODES = { continuation: 0, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Asks the server at the other end of `socket` for the link. Rejects when it does not switch. */
export async function askWebSocket(
  socket: Duplex,
  host: string,
  random: Random,
  signal: AbortSignal,
): Promise<Duplex> {
  const key = Buffer.from(random.bytes(16)).toString('base64');
  socket.write(
    `GET ${PATH} HTTP/1.1\r\nHost: ${host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${key}\r\nSec-WebSocket-Protocol: ${SUBPROTOCOL}\r\n\r\n`,
  );
  const head = await readHttpHead(socket, 'the hub', signal);
  if (statusOf(head) !== 101 || head.headers['sec-websocket-accept'] !== acceptOf(key))
    throw new Error(`a WebSocket was answered with ${JSON.stringify(head.startLine.slice(0, 100))}`);
  return webSocketStream(socket, random);
}

/** Answers a spoke that asks for the link. Rejects for any other request, to which nothing is said. */
export async function answerWebSocket(socket: Duplex, signal: AbortSignal): Promise<Duplex> {
  const { startLine, headers } = await readHttpHead(socket, 'the client', signal);
  const key = headers['sec-websocket-key'] ?? '';
  const tokens = (name: string): string[] =>
    (headers[name] ?? '').split(',').map((token) => token.trim().toLowerCase());
  if (
    startLine !== `GET ${PATH} HTTP/1.1` ||
    !tokens('upgrade').includes('websocket') ||
    !tokens('connection').includes('upgrade') ||
    !tokens('sec-websocket-protocol').includes(SUBPROTOCOL) ||
    headers['sec-websocket-version'] !== '13' ||
    !/^[A-Za-z0-9+/]{22}==$/.test(key)
  ) {
    throw new Error('the client does not ask for the link');
  }
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      `Sec-WebSocket-Accept: ${acceptOf(key)}\r\nSec-WebSocket-Protocol: ${SUBPROTOCOL}\r\n\r\n`,
  );
  return webSocketStream(socket, undefined);
}

function acceptOf(key: string): string {
  return createHash('sha1')
    .update(key + KEY_SUFFIX)
    .digest('base64');
}

/** `masks` makes this the client's end: it masks what it sends, and the other end must not. */
export function webSocketStream(socket: Duplex, masks: Random | undefined): Duplex {
  const reader = frameReader(masks === undefined);
  /** Set while the reader of the stream wants no more. */
  let blocked = false;
  let closing = false;

  const stream = new Duplex({
    allowHalfOpen: false,
    read(): void {
      blocked = false;
      pull();
    },
    write(chunk: Buffer, _encoding, done): void {
      send(OPCODES.binary, [chunk], done);
    },
    writev(chunks, done): void {
      send(
        OPCODES.binary,
        chunks.map(({ chunk }) => chunk as Buffer),
        done,
      );
    },
    final(done): void {
      closing = true;
      socket.end(frame(OPCODES.close, [Buffer.of(0x03, 0xe8)], masks));
      done();
    },
    destroy(error, done): void {
      socket.destroy();
      done(error);
    },
  });

  function send(opcode: number, payload: readonly Buffer[], done: () => void): void {
    if (socket.write(frame(opcode, payload, masks))) done();
    else socket.once('drain', done);
  }

  function pull(): void {
    try {
      while (!blocked && !stream.destroyed) {
        const chunk = socket.read() as Buffer | null;
        if (chunk === null) return;
        for (const part of reader(chunk)) take(part);
      }
    } catch (error) {
      stream.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  }

  function take({ opcode, payload }: FramePart): void {
    switch (opcode) {
      case OPCODES.binary:
        if (payload.byteLength > 0 && !stream.push(payload)) blocked = true;
        return;
      case OPCODES.ping:
        // Who does not read the answers gets no more of them: they would pile up here.
        if (!closing && !socket.writableEnded && !socket.writableNeedDrain)
          socket.write(frame(OPCODES.pong, [payload], masks));
        return;
      case OPCODES.close:
        stream.push(null);
        return;
    }
  }

  socket.on('readable', pull);
  socket.on('end', () => {
    if (!stream.destroyed && !stream.readableEnded) stream.push(null);
  });
  socket.on('error', (error) => stream.destroy(error));
  socket.once('close', () => stream.destroy());
  return stream;
}

/** A part of a message's bytes as they come, or a whole control frame. */
interface FramePart {
  readonly opcode: number;
  readonly payload: Buffer;
}

/**
 * Reads frames without waiting for whole ones, since the bytes are a stream. Throws for what is no WebSocket of binary
 * messages; nothing can be read after that.
 */
export function frameReader(masked: boolean): (chunk: Buffer) => FramePart[] {
  let head: Buffer = Buffer.alloc(0);
  let control: { opcode: number; parts: Buffer[] } | undefined;
  let left = 0;
  let mask: Buffer | undefined;
  let offset = 0;
  let inFrame = false;

  function readHead(): boolean {
    const [first, second] = head;
    if (first === undefined || second === undefined) return false;
    const opcode = first & 15;
    const short = second & 127;
    const isControl = opcode >= OPCODES.close;
    if ((first & 0x70) !== 0) throw new Error('a WebSocket frame uses an extension that was not agreed on');
    if (second >> 7 !== (masked ? 1 : 0))
      throw new Error('a WebSocket frame is masked where it must not be, or not where it must');
    if (isControl ? opcode > OPCODES.pong : opcode !== OPCODES.binary && opcode !== OPCODES.continuation)
      throw new Error(`a WebSocket frame of type ${opcode} does not belong to a link`);
    if (isControl && (short > 125 || (first & 0x80) === 0))
      throw new Error('a control frame of a WebSocket is too long or cut in pieces');
    const extended = short === 126 ? 2 : short === 127 ? 8 : 0;
    const length = 2 + extended + (masked ? 4 : 0);
    if (head.byteLength < length) return false;
    left = extended === 0 ? short : extended === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
    if (left > MAX_FRAME_BYTES) throw new Error(`a WebSocket frame has more than ${MAX_FRAME_BYTES} bytes`);
    mask = masked ? Buffer.from(head.subarray(2 + extended, length)) : undefined;
    offset = 0;
    control = isControl ? { opcode, parts: [] } : undefined;
    inFrame = true;
    head = head.subarray(length);
    return true;
  }

  return (chunk) => {
    const out: FramePart[] = [];
    head = head.byteLength === 0 ? chunk : Buffer.concat([head, chunk]);
    for (;;) {
      if (!inFrame && !readHead()) return out;
      const payload = head.subarray(0, left);
      head = head.subarray(payload.byteLength);
      left -= payload.byteLength;
      if (mask !== undefined) unmask(payload, mask, offset);
      offset += payload.byteLength;
      if (control === undefined) {
        if (payload.byteLength > 0) out.push({ opcode: OPCODES.binary, payload });
      } else control.parts.push(payload);
      if (left > 0) return out;
      if (control !== undefined) out.push({ opcode: control.opcode, payload: Buffer.concat(control.parts) });
      inFrame = false;
    }
  };
}

function frame(opcode: number, payload: readonly Buffer[], masks: Random | undefined): Buffer {
  let length = 0;
  for (const part of payload) length += part.byteLength;
  const extended = length < 126 ? 0 : length < 65536 ? 2 : 8;
  const start = 2 + extended + (masks === undefined ? 0 : 4);
  const out = Buffer.allocUnsafe(start + length);
  out[0] = 0x80 | opcode;
  out[1] = (masks === undefined ? 0 : 0x80) | (extended === 0 ? length : extended === 2 ? 126 : 127);
  if (extended === 2) out.writeUInt16BE(length, 2);
  else if (extended === 8) out.writeBigUInt64BE(BigInt(length), 2);
  let at = start;
  for (const part of payload) {
    out.set(part, at);
    at += part.byteLength;
  }
  if (masks !== undefined) {
    const mask = masks.bytes(4);
    out.set(mask, start - 4);
    unmask(out.subarray(start), mask, 0);
  }
  return out;
}

/** Masks and unmasks in place, which is the same. `offset` is where in its frame the part begins. */
function unmask(bytes: Buffer, mask: Uint8Array, offset: number): void {
  for (let i = 0; i < bytes.byteLength; i++)
    bytes[i] = (bytes[i] as number) ^ (mask[(offset + i) & 3] as number);
}
