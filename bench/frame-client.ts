import { Buffer } from 'node:buffer';
import { connect, type TLSSocket } from 'node:tls';

/** An answer, whole. */
export interface Answer {
  readonly status: number;
  readonly bytes: Uint8Array;
}

/**
 * One HTTP/2 connection of a load generator: reads frames off the socket and understands of heads no more than the status, so
 * that what is measured is the server and not this client, which has a core or less beside it. Not for anything else.
 */
export interface FrameClient {
  ask(method: string, path: string, body?: Uint8Array, type?: string): Promise<Answer>;
  /** `onBytes` gets the payload of each DATA frame. Resolves with the status when the answer begins. */
  stream(path: string, onBytes: (bytes: Buffer) => void): Promise<{ status: number; stop(): void }>;
  destroy(): void;
}

const FRAME_HEAD = 9;
const DATA = 0;
const HEADERS = 1;
const RST_STREAM = 3;
const SETTINGS = 4;
const PING = 6;
const GOAWAY = 7;
const WINDOW_UPDATE = 8;
const END_STREAM = 1;
const ACK = 1;
const END_HEADERS = 4;
const PADDED = 8;
const PRIORITY = 32;
const CANCEL = 8;
const MAX_WINDOW = 0x7fffffff;
const DEFAULT_WINDOW = 65_535;
const MAX_FRAME = 16_384;
const SETTING_HEADER_TABLE_SIZE = 1;
const SETTING_ENABLE_PUSH = 2;
const SETTING_INITIAL_WINDOW = 4;
const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';

/** HPACK's static table: entries for what is sent, and statuses that are one byte. */
const METHODS: Readonly<Record<string, number>> = { GET: 2, POST: 3 };
const METHOD = 2;
const AUTHORITY = 1;
const PATH = 4;
const HTTPS = 7;
const AUTHORIZATION = 23;
const CONTENT_TYPE = 31;
const STATUSES = [200, 204, 206, 304, 400, 404, 500];
const FIRST_STATUS = 8;

interface Exchange {
  status: number;
  readonly chunks: Buffer[] | undefined;
  readonly onHead: ((status: number) => void) | undefined;
  readonly onData: ((bytes: Buffer) => void) | undefined;
  readonly onEnd: ((answer: Answer) => void) | undefined;
  readonly onError: (error: Error) => void;
}

/** Connects by TLS with ALPN `h2`; the server's certificate is not looked at. Rejects when that fails. */
export function connectFrames(port: number, token: string): Promise<FrameClient> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', ALPNProtocols: ['h2'], rejectUnauthorized: false });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      socket.off('error', reject);
      if (socket.alpnProtocol === 'h2') resolve(frameClient(socket, `127.0.0.1:${port}`, token));
      else reject(new Error('the server does not speak HTTP/2'));
    });
  });
}

function frameClient(socket: TLSSocket, authority: string, token: string): FrameClient {
  const exchanges = new Map<number, Exchange>();
  /** What heads have in common, before the path and behind it: pseudo-headers come first. */
  const before = Buffer.concat([Buffer.from([0x80 | HTTPS]), literal(AUTHORITY, authority)]);
  const behind = literal(AUTHORIZATION, `Bearer ${token}`);
  let nextStream = 1;
  let sendWindow = DEFAULT_WINDOW;
  let streamWindow = DEFAULT_WINDOW;
  let unacknowledged = 0;
  const blocked: (() => void)[] = [];
  let rest: Buffer | undefined;
  let out: Buffer[] = [];

  const fail = (error: Error): void => {
    for (const { onError } of exchanges.values()) onError(error);
    exchanges.clear();
  };
  socket.on('error', fail).on('close', () => fail(new Error('the connection was closed')));
  socket.on('data', (chunk: Buffer) => {
    const bytes = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
    const read = readFrames(bytes);
    rest = read === bytes.length ? undefined : bytes.subarray(read);
    acknowledge();
  });

  /** What is sent within a turn goes out in one write. */
  function send(...frames: Buffer[]): void {
    if (out.length === 0) queueMicrotask(flush);
    out.push(...frames);
  }

  function flush(): void {
    const frames = out;
    out = [];
    socket.write(frames.length === 1 && frames[0] ? frames[0] : Buffer.concat(frames));
  }

  function readFrames(bytes: Buffer): number {
    let at = 0;
    while (bytes.length - at >= FRAME_HEAD) {
      const length = bytes.readUIntBE(at, 3);
      const end = at + FRAME_HEAD + length;
      if (end > bytes.length) break;
      const [type = 0, flags = 0] = [bytes[at + 3], bytes[at + 4]];
      onFrame(type, flags, bytes.readUInt32BE(at + 5) & MAX_WINDOW, bytes.subarray(at + FRAME_HEAD, end));
      at = end;
    }
    return at;
  }

  function onFrame(type: number, flags: number, id: number, payload: Buffer): void {
    const exchange = exchanges.get(id);
    switch (type) {
      case DATA: {
        unacknowledged += payload.length;
        const bytes =
          (flags & PADDED) === 0 ? payload : payload.subarray(1, payload.length - (payload[0] ?? 0));
        exchange?.chunks?.push(bytes);
        exchange?.onData?.(bytes);
        break;
      }
      case HEADERS:
        if (exchange !== undefined && exchange.status === 0) {
          let start = (flags & PADDED) === 0 ? 0 : 1;
          if ((flags & PRIORITY) !== 0) start += 5;
          exchange.status = statusOf(payload, start);
          exchange.onHead?.(exchange.status);
        }
        break;
      case RST_STREAM:
        exchanges.delete(id);
        // NO_ERROR follows an answer that came before the end of the request.
        exchange?.onError(new Error(`the stream was reset: ${payload.readUInt32BE(0)}`));
        return;
      case SETTINGS:
        if ((flags & ACK) === 0) onSettings(payload);
        return;
      case PING:
        if ((flags & ACK) === 0) send(frame(PING, ACK, 0, payload));
        return;
      case GOAWAY:
        fail(new Error('the server goes away'));
        return;
      case WINDOW_UPDATE:
        if (id === 0) {
          sendWindow += payload.readUInt32BE(0);
          for (const go of blocked.splice(0)) go();
        }
        return;
      default:
        return;
    }
    if ((flags & END_STREAM) !== 0 && exchange !== undefined) {
      exchanges.delete(id);
      const { chunks = [], status } = exchange;
      exchange.onEnd?.({
        status,
        bytes: chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks),
      });
    }
  }

  function onSettings(payload: Buffer): void {
    for (let at = 0; at + 6 <= payload.length; at += 6)
      if (payload.readUInt16BE(at) === SETTING_INITIAL_WINDOW) streamWindow = payload.readUInt32BE(at + 2);
    send(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
  }

  /** Streams have all the window there is; the connection's is given back in large pieces. */
  function acknowledge(): void {
    if (unacknowledged < 1 << 29) return;
    const update = Buffer.alloc(4);
    update.writeUInt32BE(unacknowledged);
    unacknowledged = 0;
    send(frame(WINDOW_UPDATE, 0, 0, update));
  }

  function begin(
    method: string,
    path: string,
    body: Uint8Array | undefined,
    type: string | undefined,
  ): number {
    const id = nextStream;
    nextStream += 2;
    const known = METHODS[method];
    const head = Buffer.concat([
      known === undefined ? literal(METHOD, method) : Buffer.from([0x80 | known]),
      before,
      literal(PATH, path),
      behind,
      ...(type === undefined ? [] : [literal(CONTENT_TYPE, type)]),
    ]);
    send(frame(HEADERS, END_HEADERS | (body === undefined ? END_STREAM : 0), id, head));
    if (body !== undefined) sendBody(id, body);
    return id;
  }

  function sendBody(id: number, body: Uint8Array): void {
    if (body.byteLength > Math.min(MAX_FRAME, streamWindow)) throw new Error('larger than one frame');
    if (body.byteLength > sendWindow) {
      blocked.push(() => sendBody(id, body));
      return;
    }
    sendWindow -= body.byteLength;
    send(frame(DATA, END_STREAM, id, body));
  }

  const hello = Buffer.alloc(18);
  hello.writeUInt16BE(SETTING_HEADER_TABLE_SIZE, 0);
  hello.writeUInt16BE(SETTING_ENABLE_PUSH, 6);
  hello.writeUInt16BE(SETTING_INITIAL_WINDOW, 12);
  hello.writeUInt32BE(MAX_WINDOW, 14);
  const window = Buffer.alloc(4);
  window.writeUInt32BE(MAX_WINDOW - DEFAULT_WINDOW);
  send(Buffer.from(PREFACE), frame(SETTINGS, 0, 0, hello), frame(WINDOW_UPDATE, 0, 0, window));

  return {
    ask(method, path, body, type) {
      return new Promise((onEnd, onError) => {
        const id = begin(method, path, body, type);
        exchanges.set(id, { status: 0, chunks: [], onHead: undefined, onData: undefined, onEnd, onError });
      });
    },
    stream(path, onData) {
      return new Promise((resolve, onError) => {
        const id = begin('GET', path, undefined, undefined);
        const onHead = (status: number): void =>
          resolve({
            status,
            stop() {
              if (!exchanges.delete(id)) return;
              const reason = Buffer.alloc(4);
              reason.writeUInt32BE(CANCEL);
              send(frame(RST_STREAM, 0, id, reason));
            },
          });
        exchanges.set(id, { status: 0, chunks: undefined, onHead, onData, onEnd: undefined, onError });
      });
    },
    destroy: () => socket.destroy(),
  };
}

function frame(type: number, flags: number, id: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(FRAME_HEAD + payload.byteLength);
  bytes.writeUIntBE(payload.byteLength, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(id, 5);
  bytes.set(payload, FRAME_HEAD);
  return bytes;
}

/** A header whose name is of the static table: its value as it is, kept in no table. */
function literal(name: number, value: string): Buffer {
  const bytes = Buffer.from(value, 'latin1');
  return Buffer.concat([prefixed(0, 4, name), prefixed(0, 7, bytes.length), bytes]);
}

/** An HPACK integer below the high bits of `first`. */
function prefixed(first: number, bits: number, value: number): Buffer {
  const most = (1 << bits) - 1;
  if (value < most) return Buffer.from([first | value]);
  const bytes = [first | most];
  let left = value - most;
  for (; left >= 128; left >>>= 7) bytes.push((left & 127) | 128);
  bytes.push(left);
  return Buffer.from(bytes);
}

/** The status is the first header; there is no table that it could be in but the static one. */
function statusOf(block: Buffer, start: number): number {
  let at = start;
  // A change of the table's size may come before.
  while (((block[at] ?? 0) & 0xe0) === 0x20) at += 1;
  const first = block[at] ?? 0;
  if ((first & 0x80) !== 0) return STATUSES[(first & 0x7f) - FIRST_STATUS] ?? -1;
  const size = block[at + 1] ?? 0;
  const value = block.subarray(at + 2, at + 2 + (size & 0x7f));
  return (size & 0x80) === 0 ? Number(value.toString('latin1')) : Number(digits(value));
}

/** Digits in HPACK's Huffman code: 0, 1 and 2 have five bits, the others six. */
function digits(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let text = '';
  for (let at = 0; text.length < 3 && at + 5 <= bits.length; ) {
    const five = Number.parseInt(bits.slice(at, at + 5), 2);
    if (five < 3) {
      text += String(five);
      at += 5;
    } else {
      // 3 is 011001, 4 is 011010 and so on.
      text += String(Number.parseInt(bits.slice(at, at + 6), 2) - 0x19 + 3);
      at += 6;
    }
  }
  return text;
}
