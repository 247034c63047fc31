import { type Duplex, duplexPair } from 'node:stream';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BrokenPipe } from '../byte-pipe.ts';
import {
  CONTROL,
  controlFrame,
  encodeFrame,
  FLAG_FIN,
  type Frame,
  frameReader,
  RESET,
  SpdyViolation,
  wordAt,
} from './frame.ts';
import { headerEncoder } from './header-block.ts';
import { acceptSpdy, type SpdySession, type SpdyStream } from './session.ts';

interface Rig {
  readonly client: Duplex;
  readonly session: SpdySession;
  /** The next stream that the server was told of. */
  stream(): Promise<SpdyStream>;
  /** The next frame that the server sent. */
  frame(): Promise<Frame>;
  open(id: number, headers?: Record<string, string>, flags?: number): void;
  data(id: number, text: string, flags?: number): void;
}

function rig(): Rig {
  const [client, server] = duplexPair();
  const streams: SpdyStream[] = [];
  const frames: Frame[] = [];
  let wake = (): void => {};
  const session = acceptSpdy(server, new Uint8Array(), (stream) => {
    streams.push(stream);
    wake();
  });
  session.closed.catch(() => {});
  const reader = frameReader(1 << 20);
  client.on('data', (chunk: Uint8Array) => {
    frames.push(...reader.push(chunk));
    wake();
  });
  const next = async <T>(list: T[]): Promise<T> => {
    while (list.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    return list.shift() as T;
  };
  const encode = headerEncoder();
  return {
    client,
    session,
    stream: () => next(streams),
    frame: () => next(frames),
    open(id, headers = {}, flags = 0) {
      const head = Buffer.alloc(10);
      head.writeUInt32BE(id);
      const payload = Buffer.concat([head, encode(new Map(Object.entries(headers)))]);
      client.write(encodeFrame({ kind: 'control', type: CONTROL.synStream, flags, payload }));
    },
    data(id, text, flags = 0) {
      client.write(encodeFrame({ kind: 'data', streamId: id, flags, payload: Buffer.from(text) }));
    },
  };
}

const text = (frame: Frame): string => Buffer.from(frame.payload).toString();

describe('a session of SPDY', () => {
  it('answers streams, and carries bytes until each side ends', async () => {
    const { open, stream, frame, data } = rig();
    open(1, { StreamType: 'stdin' });
    const one = await stream();
    expect(one.headers.get('streamtype')).toBe('stdin');
    expect(await frame()).toMatchObject({ kind: 'control', type: CONTROL.synReply });
    data(1, 'hello');
    data(1, '', FLAG_FIN);
    expect(Buffer.from((await one.read()) ?? []).toString()).toBe('hello');
    expect(await one.read()).toBeUndefined();
    await one.write(Buffer.from('answer'));
    one.end();
    expect(text(await frame())).toBe('answer');
    expect(await frame()).toMatchObject({ kind: 'data', flags: FLAG_FIN });
  });

  it('answers pings of the client and not those of its own', async () => {
    const { client, frame } = rig();
    client.write(controlFrame(CONTROL.ping, 2));
    client.write(controlFrame(CONTROL.ping, 7));
    const answer = await frame();
    expect(answer).toMatchObject({ kind: 'control', type: CONTROL.ping });
    expect(wordAt(answer.payload, 0)).toBe(7);
  });

  it('ends a stream that the client resets, and lets the others be', async () => {
    const { client, open, stream, frame, data } = rig();
    open(1);
    open(3);
    const [one, three] = [await stream(), await stream()];
    await frame();
    await frame();
    client.write(controlFrame(CONTROL.rstStream, 1, RESET.cancel));
    expect(await one.read()).toBeUndefined();
    await expect(one.write(Buffer.from('x'))).rejects.toThrow(BrokenPipe);
    data(1, 'late');
    data(3, 'on time');
    expect(Buffer.from((await three.read()) ?? []).toString()).toBe('on time');
  });

  it('keeps to the windows of a client that counts them, and gives back what was read', async () => {
    const { client, open, stream, frame, data } = rig();
    open(1);
    const one = await stream();
    await frame();
    data(1, 'read before');
    await one.read();
    client.write(controlFrame(CONTROL.settings, 1, 7, 10));
    const owed = [await frame(), await frame()];
    expect(owed.map(({ payload }) => [wordAt(payload, 0), wordAt(payload, 1)])).toEqual([
      [0, 11],
      [1, 11],
    ]);
    let written = false;
    const writing = one.write(Buffer.from('0123456789abc')).then(() => {
      written = true;
    });
    expect(text(await frame())).toBe('0123456789');
    expect(written).toBe(false);
    client.write(controlFrame(CONTROL.windowUpdate, 1, 100));
    expect(text(await frame())).toBe('abc');
    await writing;
  });

  it('is over when the client breaks the rules, and says so', async () => {
    for (const offend of [
      ({ client }: Rig) => client.write(Buffer.from('GET / HTTP/1.1\r\n\r\n')),
      ({ data }: Rig) => data(5, 'never opened'),
      ({ open }: Rig) => open(2),
      ({ client }: Rig) => client.write(controlFrame(CONTROL.settings)),
    ]) {
      const one = rig();
      offend(one);
      await expect(one.session.closed).rejects.toThrow();
      expect(await one.frame()).toMatchObject({ type: CONTROL.goAway });
    }
  });

  it('ends with a violation or not at all, whatever bytes come', async () => {
    const kind = fc.constantFrom(...Object.values(CONTROL), 5, 77);
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc
        .record({ type: kind, flags: fc.nat(255), payload: fc.uint8Array({ maxLength: 30 }) })
        .map((each): Uint8Array => encodeFrame({ kind: 'control', ...each })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(noise, { maxLength: 6 }), async (chunks) => {
        const { client, session } = rig();
        for (const chunk of chunks) client.write(chunk);
        client.end();
        await session.closed.catch((error: unknown) => expect(error).toBeInstanceOf(SpdyViolation));
      }),
      { numRuns: 200 },
    );
  });

  it('ends all streams when the client goes away', async () => {
    const { client, open, stream, session } = rig();
    open(1);
    const one = await stream();
    client.destroy();
    expect(await one.read()).toBeUndefined();
    await session.closed;
  });
});
