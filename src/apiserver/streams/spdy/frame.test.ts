import { constants, createDeflate } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HEADER_DICTIONARY } from './dictionary.ts';
import { encodeFrame, type Frame, frameReader, SpdyViolation } from './frame.ts';
import { headerBytes, headerDecoder, headerEncoder, parseHeaders } from './header-block.ts';

const bytes = fc.uint8Array({ maxLength: 300 });
const frame: fc.Arbitrary<Frame> = fc.oneof(
  fc.record({
    kind: fc.constant('data' as const),
    streamId: fc.integer({ min: 0, max: 0x7fff_ffff }),
    flags: fc.integer({ min: 0, max: 255 }),
    payload: bytes,
  }),
  fc.record({
    kind: fc.constant('control' as const),
    type: fc.integer({ min: 0, max: 0xffff }),
    flags: fc.integer({ min: 0, max: 255 }),
    payload: bytes,
  }),
);
const plain = (each: Frame): object => ({ ...each, payload: [...each.payload] });

describe('frames of SPDY', () => {
  it('are read as they were written, however the connection cuts them', () => {
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 50 })),
        (frames, cuts) => {
          const wire = Buffer.concat(frames.map(encodeFrame));
          const reader = frameReader(1000);
          const read: Frame[] = [];
          let at = 0;
          for (const cut of [...cuts, wire.byteLength]) {
            read.push(...reader.push(wire.subarray(at, at + cut)));
            at += cut;
          }
          expect(read.map(plain)).toEqual(frames.map(plain));
        },
      ),
    );
  });

  it('are refused where they are too long or of another version', () => {
    const long = encodeFrame({ kind: 'data', streamId: 1, flags: 0, payload: new Uint8Array(11) });
    expect(() => frameReader(10).push(long)).toThrow(SpdyViolation);
    const other = Buffer.from(
      encodeFrame({ kind: 'control', type: 6, flags: 0, payload: new Uint8Array(4) }),
    );
    other[1] = 2;
    expect(() => frameReader(10).push(other)).toThrow('SPDY/2');
  });
});

const headers = fc
  .uniqueArray(fc.tuple(fc.stringMatching(/^[a-z-]{1,12}$/), fc.string({ maxLength: 20 })), {
    selector: ([name]) => name,
    maxLength: 10,
  })
  .map((entries) => new Map(entries));

describe('header blocks', () => {
  it('are read as they were written, each building on those before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(headers, { maxLength: 5 }), async (blocks) => {
        const encode = headerEncoder();
        const decoder = headerDecoder();
        for (const block of blocks) expect(await decoder.decode(encode(block))).toEqual(block);
        decoder.close();
      }),
      { numRuns: 30 },
    );
  });

  it('are read from clients that compress with the dictionary', async () => {
    const deflate = createDeflate({ dictionary: HEADER_DICTIONARY, flush: constants.Z_SYNC_FLUSH });
    const compress = (block: ReadonlyMap<string, string>): Promise<Uint8Array> =>
      new Promise((resolve) => {
        deflate.write(headerBytes(block), () => resolve(deflate.read() as Uint8Array));
      });
    const decoder = headerDecoder();
    for (const streamtype of ['error', 'stdin', 'stdout']) {
      const block = new Map([
        ['streamtype', streamtype],
        ['content-type', 'text/plain'],
      ]);
      expect(await decoder.decode(await compress(block))).toEqual(block);
    }
    decoder.close();
    deflate.destroy();
  });

  it('are refused when they are not compressed, expand without end or lie about their lengths', async () => {
    await expect(headerDecoder().decode(Buffer.from('no zlib'))).rejects.toThrow('cannot be decompressed');
    const bomb = headerEncoder()(new Map([['a', 'x'.repeat(70_000)]]));
    await expect(headerDecoder().decode(bomb)).rejects.toThrow('exceed');
    expect(() => parseHeaders(Buffer.from([0, 0, 0, 1, 0, 0, 1, 0]))).toThrow('end early');
    expect(() => parseHeaders(Buffer.from([0, 0, 1, 0]))).toThrow('more than');
  });
});
