import type { Duplex } from 'node:stream';
import type { Request, Response } from '../../kube/exchange.ts';
import { gatherBytes } from '../../kube/wire/index.ts';
import type { Clock, Timer } from '../../runtime/index.ts';
import { CLOSE_CODES, type Frame, frameHead, frameReader, OPCODES, WebSocketViolation } from './frame.ts';
import { webSocketHandshake } from './handshake.ts';

export interface WebSocketMessage {
  readonly kind: 'text' | 'binary';
  /** A text is UTF-8 that was checked. */
  readonly data: Uint8Array;
}

export interface WebSocketOptions {
  /** The largest message that is taken, in bytes. 1 MiB by default. */
  readonly maxMessageBytes?: number;
  /** With a clock, a client that does not answer a close within 5 s is cut off. */
  readonly clock?: Clock;
}

/** The server's end of a WebSocket. */
export interface WebSocket {
  /** The subprotocol that was agreed on, '' for none. */
  readonly protocol: string;
  /** Resolves when there is room for more. Does nothing once the socket is closing. */
  send(message: WebSocketMessage): Promise<void>;
  /**
   * What the client sends, until it closes or goes away; pings are answered on the way. It has to be read even by who wants
   * nothing of it, and by one reader only; what is not read makes the client wait. Rejects with a
   * {@link WebSocketViolation} after the client was told of it.
   */
  readonly messages: AsyncIterable<WebSocketMessage>;
  /** Says goodbye; 1000 by default. `reason` is cut to what a close frame holds. */
  close(code?: number, reason?: string): void;
  /** Whether nothing can be sent any more. */
  readonly closed: boolean;
}

const DEFAULT_MESSAGE_BYTES = 1024 * 1024;
const CLOSE_TIMEOUT_MS = 5_000;
const MAX_REASON_BYTES = 123;

/**
 * Speaks WebSocket on the socket of `request`, whose handshake was answered with the headers of {@link webSocketHandshake} for
 * the same subprotocols. `head` is what came behind the request. Throws 400 for what is no good handshake.
 */
export function acceptWebSocket(
  request: Pick<Request, 'method' | 'headers'>,
  socket: Duplex,
  head: Uint8Array,
  subprotocols: readonly string[],
  options: WebSocketOptions = {},
): WebSocket {
  return webSocketOver(socket, head, webSocketHandshake(request, subprotocols).protocol, options);
}

/**
 * The response that agrees to a WebSocket; `converse` has it from then on, and its end closes it. Throws 400 for what is no
 * good handshake.
 */
export function webSocketResponse(
  request: Request,
  subprotocols: readonly string[],
  converse: (webSocket: WebSocket) => Promise<void>,
  options: WebSocketOptions = {},
): Response {
  const { headers } = webSocketHandshake(request, subprotocols);
  return {
    status: 101,
    headers,
    body: new Uint8Array(),
    async takeOver(socket, head) {
      const webSocket = acceptWebSocket(request, socket, head, subprotocols, options);
      try {
        await converse(webSocket);
        webSocket.close();
      } catch (error) {
        // The client was told already what it did wrong; anything else is the server's.
        if (error instanceof WebSocketViolation) return;
        webSocket.close(CLOSE_CODES.internalError, 'internal error');
        throw error;
      }
    },
  };
}

function webSocketOver(
  socket: Duplex,
  head: Uint8Array,
  protocol: string,
  { maxMessageBytes = DEFAULT_MESSAGE_BYTES, clock }: WebSocketOptions,
): WebSocket {
  let closing = false;
  let timer: Timer | undefined;
  // Without a listener an error of the socket would end the process; that it is over is told by `close`.
  socket.on('error', () => {});
  socket.once('close', () => {
    closing = true;
    timer?.cancel();
  });

  function write(opcode: number, payload: Uint8Array): boolean {
    socket.cork();
    socket.write(frameHead(opcode, payload.byteLength));
    const room = socket.write(payload);
    socket.uncork();
    return room;
  }

  function close(code: number = CLOSE_CODES.normal, reason: string = ''): void {
    if (closing) return;
    closing = true;
    const text = cutText(reason);
    const payload = Buffer.alloc(2 + text.byteLength);
    payload.writeUInt16BE(code, 0);
    payload.set(text, 2);
    write(OPCODES.close, payload);
    socket.end();
    timer = clock?.after(CLOSE_TIMEOUT_MS, () => socket.destroy());
  }

  async function* read(): AsyncGenerator<WebSocketMessage, void, undefined> {
    const reader = frameReader(maxMessageBytes);
    const assemble = messageAssembler(maxMessageBytes);
    try {
      for await (const chunk of chunksOf(socket, head)) {
        for (const frame of reader.push(chunk)) {
          if (frame.opcode === OPCODES.close) {
            close(closeCode(frame.payload));
            return;
          }
          if (frame.opcode === OPCODES.ping) {
            // Who pings and does not read is read no further.
            if (!closing && !write(OPCODES.pong, frame.payload)) await roomIn(socket);
          } else if (frame.opcode !== OPCODES.pong) {
            const message = assemble(frame);
            if (message !== undefined && !closing) yield message;
          }
        }
      }
    } catch (error) {
      if (!(error instanceof WebSocketViolation)) throw error;
      close(error.code, error.message);
      throw error;
    } finally {
      close();
      // What still comes is dropped, so that the end of the connection is seen.
      socket.resume();
    }
  }

  return {
    protocol,
    async send({ kind, data }) {
      if (closing || write(kind === 'text' ? OPCODES.text : OPCODES.binary, data)) return;
      await roomIn(socket);
    },
    messages: { [Symbol.asyncIterator]: read },
    close,
    get closed() {
      return closing;
    },
  };
}

/** A client that breaks off has gone: that is an end, not an error. */
async function* chunksOf(socket: Duplex, head: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  if (head.byteLength > 0) yield head;
  try {
    for await (const chunk of socket.iterator({ destroyOnReturn: false })) yield chunk as Uint8Array;
  } catch (error) {
    if (!socket.destroyed) throw error;
  }
}

function roomIn(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      socket.off('drain', settle).off('close', settle);
      resolve();
    };
    if (socket.destroyed || !socket.writableNeedDrain) resolve();
    else socket.on('drain', settle).on('close', settle);
  });
}

/** Puts the fragments of a message together; a frame that ends none gives nothing. */
function messageAssembler(limit: number): (frame: Frame) => WebSocketMessage | undefined {
  let kind: WebSocketMessage['kind'] | undefined;
  let gathered = gatherBytes();
  return ({ opcode, payload, final }) => {
    const continues = opcode === OPCODES.continuation;
    if (continues !== (kind !== undefined))
      throw new WebSocketViolation(
        CLOSE_CODES.protocolError,
        continues ? 'a fragment continues nothing' : 'a message begins within another',
      );
    kind ??= opcode === OPCODES.text ? 'text' : 'binary';
    gathered.add(payload);
    if (gathered.byteLength > limit)
      throw new WebSocketViolation(CLOSE_CODES.tooBig, `a message exceeds ${limit} bytes`);
    if (!final) return undefined;
    const data = gathered.whole();
    const message: WebSocketMessage = { kind, data };
    kind = undefined;
    gathered = gatherBytes();
    if (message.kind === 'text') checkText(data);
    return message;
  };
}

function checkText(data: Uint8Array): void {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(data);
  } catch (error) {
    const violation = new WebSocketViolation(CLOSE_CODES.badData, 'a text message is not UTF-8');
    violation.cause = error;
    throw violation;
  }
}

/** The code with which a client's close is answered. Throws where the client's is none. */
function closeCode(payload: Uint8Array): number {
  if (payload.byteLength === 0) return CLOSE_CODES.normal;
  const code = payload.byteLength < 2 ? 0 : ((payload[0] ?? 0) << 8) | (payload[1] ?? 0);
  const known =
    (code >= 1000 && code <= 1014 && ![1004, 1005, 1006].includes(code)) || (code >= 3000 && code < 5000);
  if (!known) throw new WebSocketViolation(CLOSE_CODES.protocolError, 'a close frame has no good code');
  checkText(payload.subarray(2));
  return code;
}

function cutText(text: string): Uint8Array {
  const { written, read: _read } = new TextEncoder().encodeInto(text, new Uint8Array(MAX_REASON_BYTES));
  return Buffer.from(text).subarray(0, written);
}
