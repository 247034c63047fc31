import type { Duplex } from 'node:stream';
import { BrokenPipe, type ByteSink, type ByteSource, bytePipe } from '../byte-pipe.ts';
import {
  CONTROL,
  type ControlFrame,
  controlFrame,
  type DataFrame,
  encodeFrame,
  FLAG_FIN,
  type Frame,
  frameReader,
  RESET,
  SpdyViolation,
  wordAt,
} from './frame.ts';
import { type Headers, headerDecoder, headerEncoder } from './header-block.ts';
import { sendWindows } from './window.ts';

/** A stream that the client opened. */
export interface SpdyStream extends ByteSource, ByteSink {
  readonly id: number;
  readonly headers: Headers;
  /** Breaks it off in both directions. */
  reset(): void;
}

export interface SpdySession {
  /** Resolves when the connection is over; rejects with {@link SpdyViolation}, the connection being closed by then. */
  readonly closed: Promise<void>;
  /** Asks the client for a sign of life, which nobody waits for: a connection that is broken is noticed by it. */
  ping(): void;
  /** Sends what was written, then closes the connection. */
  end(): void;
}

const MAX_FRAME_BYTES = 1024 * 1024;
const MAX_STREAMS = 512;
/** The most that goes into one frame, so that streams take turns. */
const MAX_DATA_BYTES = 32 * 1024;
const GO_AWAY_PROTOCOL_ERROR = 1;
/** Pings of servers have even numbers. */
const OUR_PING = 2;

interface OpenStream {
  readonly pipe: ByteSource & ByteSink;
  theirsEnded: boolean;
  oursEnded: boolean;
}

/**
 * Speaks SPDY with a client over `socket`; `head` is what it sent already. `onStream` is called for each stream that the
 * client opens, which has been answered by then.
 */
export function acceptSpdy(
  socket: Duplex,
  head: Uint8Array,
  onStream: (stream: SpdyStream) => void,
): SpdySession {
  const streams = new Map<number, OpenStream>();
  const windows = sendWindows();
  const encodeHeaders = headerEncoder();
  let lastId = 0;
  let over = false;
  // Without a listener an error of the socket would end the process; that it is over is told by `close`.
  socket.on('error', () => {});
  socket.once('close', finish);

  function finish(): void {
    over = true;
    windows.close();
    for (const { pipe } of streams.values()) pipe.end();
    streams.clear();
  }

  function send(bytes: Uint8Array): boolean {
    return over || socket.destroyed || socket.writableEnded || socket.write(bytes);
  }

  function settle(id: number, stream: OpenStream): void {
    if (!stream.theirsEnded || !stream.oursEnded) return;
    streams.delete(id);
    windows.forget(id);
  }

  function consumed(id: number, bytes: number): void {
    for (const [stream, delta] of windows.consumed(id, bytes, streams.has(id)))
      send(controlFrame(CONTROL.windowUpdate, stream, delta));
  }

  function streamOf(id: number, headers: Headers, open: OpenStream): SpdyStream {
    return {
      id,
      headers,
      async read() {
        const chunk = await open.pipe.read();
        if (chunk !== undefined) consumed(id, chunk.byteLength);
        return chunk;
      },
      cancel: open.pipe.cancel,
      async write(chunk) {
        let start = 0;
        while (start < chunk.byteLength) {
          const room = await windows.room(id, Math.min(MAX_DATA_BYTES, chunk.byteLength - start));
          if (over || open.oursEnded) throw new BrokenPipe();
          const payload = chunk.subarray(start, start + room);
          start += room;
          if (!send(encodeFrame({ kind: 'data', streamId: id, flags: 0, payload }))) await roomIn(socket);
        }
      },
      end() {
        if (over || open.oursEnded) return;
        open.oursEnded = true;
        send(encodeFrame({ kind: 'data', streamId: id, flags: FLAG_FIN, payload: new Uint8Array() }));
        settle(id, open);
      },
      reset() {
        if (over || !streams.has(id)) return;
        send(controlFrame(CONTROL.rstStream, id, RESET.cancel));
        drop(id, open);
      },
    };
  }

  function drop(id: number, open: OpenStream): void {
    open.oursEnded = true;
    open.theirsEnded = true;
    open.pipe.end();
    windows.forget(id);
    streams.delete(id);
  }

  async function takeData({ streamId, flags, payload }: DataFrame): Promise<void> {
    const open = streams.get(streamId);
    if (!open || open.theirsEnded) {
      // What was on its way when a stream was reset is no offence.
      if (streamId > lastId || streamId === 0) throw new SpdyViolation(`stream ${streamId} was never opened`);
      consumed(streamId, payload.byteLength);
      return;
    }
    if ((flags & FLAG_FIN) !== 0) open.theirsEnded = true;
    try {
      await open.pipe.write(payload);
    } catch (error) {
      if (!(error instanceof BrokenPipe)) throw error;
      consumed(streamId, payload.byteLength); // nobody wants it
    }
    if (open.theirsEnded) {
      open.pipe.end();
      settle(streamId, open);
    }
  }

  async function read(): Promise<void> {
    const reader = frameReader(MAX_FRAME_BYTES);
    const decoder = headerDecoder();

    async function openStream({ flags, payload }: ControlFrame): Promise<void> {
      const id = wordAt(payload, 0) & 0x7fff_ffff;
      // The block has to be read even for a stream that is refused: the next ones build on it.
      const headers = await decoder.decode(payload.subarray(10));
      if (id <= lastId || id % 2 === 0)
        throw new SpdyViolation(`stream ${id} cannot be opened after ${lastId}`);
      lastId = id;
      if (streams.size >= MAX_STREAMS) {
        send(controlFrame(CONTROL.rstStream, id, RESET.refusedStream));
        return;
      }
      const open: OpenStream = { pipe: bytePipe(), theirsEnded: (flags & FLAG_FIN) !== 0, oursEnded: false };
      streams.set(id, open);
      windows.open(id);
      if (open.theirsEnded) open.pipe.end();
      const reply = Buffer.concat([wordBytes(id), encodeHeaders(new Map())]);
      send(encodeFrame({ kind: 'control', type: CONTROL.synReply, flags: 0, payload: reply }));
      onStream(streamOf(id, headers, open));
    }

    async function takeControl(frame: ControlFrame): Promise<void> {
      const { type, payload } = frame;
      switch (type) {
        case CONTROL.synStream:
          return openStream(frame);
        case CONTROL.headers:
          await decoder.decode(payload.subarray(4));
          return;
        case CONTROL.rstStream: {
          const id = wordAt(payload, 0);
          const open = streams.get(id);
          if (open) drop(id, open);
          return;
        }
        case CONTROL.ping:
          // Even numbers are those of answers to a server.
          if (wordAt(payload, 0) % 2 === 1) send(controlFrame(CONTROL.ping, wordAt(payload, 0)));
          return;
        case CONTROL.settings:
          acknowledge(windows.settings(payload));
          return;
        case CONTROL.windowUpdate:
          acknowledge(windows.grow(wordAt(payload, 0) & 0x7fff_ffff, wordAt(payload, 1) & 0x7fff_ffff));
          return;
        default:
        // What is not known is passed over, as the protocol has it; a GOAWAY calls for nothing.
      }
    }

    function acknowledge(updates: Iterable<readonly [number, number]>): void {
      for (const [stream, delta] of updates) send(controlFrame(CONTROL.windowUpdate, stream, delta));
    }

    const take = async (frames: readonly Frame[]): Promise<void> => {
      for (const frame of frames) {
        if (frame.kind === 'data') await takeData(frame);
        else {
          await takeControl(frame);
          // Most are answered: who sends them and does not read is read no further.
          await roomIn(socket);
        }
      }
    };
    try {
      await take(reader.push(head));
      for await (const chunk of socket.iterator({ destroyOnReturn: false }))
        await take(reader.push(chunk as Uint8Array));
    } catch (error) {
      // A client that breaks off has gone: that is an end, not an error.
      if (!(error instanceof SpdyViolation) && (over || socket.destroyed)) return;
      send(controlFrame(CONTROL.goAway, lastId, GO_AWAY_PROTOCOL_ERROR));
      throw error;
    } finally {
      decoder.close();
      finish();
      socket.end();
    }
  }

  return {
    closed: read(),
    ping() {
      send(controlFrame(CONTROL.ping, OUR_PING));
    },
    end() {
      if (!socket.writableEnded) socket.end();
      // What still comes is of no interest, but its end is.
      for (const { pipe } of streams.values()) pipe.cancel();
    },
  };
}

function wordBytes(value: number): Uint8Array {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Resolves when the socket takes more, or is gone. */
export function roomIn(socket: Duplex): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      socket.off('drain', settle).off('close', settle);
      resolve();
    };
    if (socket.destroyed || !socket.writableNeedDrain) resolve();
    else socket.on('drain', settle).on('close', settle);
  });
}
