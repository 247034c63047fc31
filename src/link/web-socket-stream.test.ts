import { type Duplex, duplexPair } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../runtime/index.ts';
import { answerWebSocket, askWebSocket, frameReader, webSocketStream } from './web-socket-stream.ts';

const random = seededRandom(1);
const never = new AbortController().signal;

async function ends(): Promise<[Duplex, Duplex]> {
  const [a, b] = duplexPair();
  return Promise.all([askWebSocket(a, 'hub:1', random, never), answerWebSocket(b, never)]);
}

async function all(stream: Duplex): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('a link in a WebSocket', () => {
  it.each([0, 1, 125, 126, 65_535, 65_536, 1_000_000])('carries %d bytes both ways', async (size) => {
    const payload = Buffer.from(seededRandom(size).bytes(size));
    for (const turned of [false, true]) {
      const [near, far] = await ends();
      const [from, to] = turned ? [far, near] : [near, far];
      from.end(payload);
      expect((await all(to)).equals(payload)).toBe(true);
    }
  });

  it('does not read ahead of a slow reader', async () => {
    const [near, far] = await ends();
    let written = 0;
    while (near.write(Buffer.alloc(16_384)) && written < 1e8) written += 16_384;
    await new Promise((resolve) => setImmediate(resolve));
    while (near.write(Buffer.alloc(16_384)) && written < 1e8) written += 16_384;
    expect(written).toBeLessThan(1_000_000);
    far.destroy();
  });

  it.each([
    ['another path', 'GET /api HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n'],
    ['no upgrade', 'GET /link HTTP/1.1\r\nHost: hub\r\n\r\n'],
    [
      'no key',
      'GET /link HTTP/1.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: atoll-link\r\n\r\n',
    ],
    ['no HTTP', '\x16\x03\x01\r\n\r\n'],
    ['a head without end', 'a'.repeat(20_000)],
  ])('is not opened by %s', async (_what, text) => {
    const [a, b] = duplexPair();
    const answering = answerWebSocket(b, never);
    a.end(text);
    await expect(answering).rejects.toThrow();
    expect(a.read()).toBeNull();
  });

  it('is not believed without the answer to its key', async () => {
    const [a, b] = duplexPair();
    const asking = askWebSocket(a, 'hub', random, never);
    b.write('HTTP/1.1 101 Switching Protocols\r\nSec-WebSocket-Accept: AAAA\r\n\r\n');
    await expect(asking).rejects.toThrow('a WebSocket was answered with');
  });

  it('answers pings, and ends with a close frame', async () => {
    const [a, b] = duplexPair();
    const stream = webSocketStream(b, undefined);
    stream.resume();
    const ended = new Promise((resolve) => stream.once('end', resolve));
    const mask = [0, 0, 0, 0];
    a.write(Buffer.from([0x89, 0x82, ...mask, 1, 2]));
    await new Promise((resolve) => a.once('readable', resolve));
    expect([...(a.read() as Buffer)]).toEqual([0x8a, 2, 1, 2]);
    a.write(Buffer.from([0x88, 0x80, ...mask]));
    await ended;
  });
});

describe('a peer that pings without end and reads no answer', () => {
  it('has no more kept for it than fits', async () => {
    const [a, b] = duplexPair();
    const stream = webSocketStream(b, undefined);
    stream.resume();
    const ping = Buffer.from([0x89, 0xfd, 0, 0, 0, 0, ...Buffer.alloc(125)]);
    const pings = Buffer.concat(Array.from({ length: 1_000 }, () => ping));
    for (let times = 0; times < 5; times++) {
      a.write(pings);
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(b.writableLength).toBeLessThan(200_000);
    a.resume();
    stream.destroy();
  });
});

describe('frameReader', () => {
  it.each([
    ['unmasked', [0x82, 1, 0]],
    ['a text', [0x81, 0x80, 0, 0, 0, 0]],
    ['an extension', [0xc2, 0x80, 0, 0, 0, 0]],
    ['an unknown type', [0x83, 0x80, 0, 0, 0, 0]],
    ['a long ping', [0x89, 0xfe, 0, 126, 0, 0, 0, 0]],
    ['a ping in pieces', [0x09, 0x80, 0, 0, 0, 0]],
    ['more than it takes', [0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]],
  ])('refuses %s', (_what, bytes) => {
    expect(() => frameReader(true)(Buffer.from(bytes))).toThrow(/frame/);
  });

  it('reads frames however they are cut', () => {
    const frames = Buffer.from([
      0x02,
      0x83,
      1,
      2,
      3,
      4,
      1 ^ 1,
      2 ^ 2,
      3 ^ 3,
      0x80,
      0x82,
      5,
      6,
      7,
      8,
      9 ^ 5,
      9 ^ 6,
    ]);
    for (let cut = 1; cut <= frames.byteLength; cut++) {
      const read = frameReader(true);
      const bytes: number[] = [];
      for (let at = 0; at < frames.byteLength; at += cut)
        for (const { payload } of read(Buffer.from(frames.subarray(at, at + cut)))) bytes.push(...payload);
      expect(bytes).toEqual([1, 2, 3, 9, 9]);
    }
  });
});
