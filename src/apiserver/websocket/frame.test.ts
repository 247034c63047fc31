import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameHead, frameReader, OPCODES, WebSocketViolation } from './frame.ts';

/** A frame as a client sends it. */
function masked(
  opcode: number,
  payload: Uint8Array,
  options: { final?: boolean; mask?: number[] } = {},
): Buffer {
  const head = Buffer.from(frameHead(opcode, payload.byteLength, options.final ?? true));
  head[1] = (head[1] ?? 0) | 0x80;
  const mask = Buffer.from(options.mask ?? [1, 2, 3, 4]);
  return Buffer.concat([head, mask, payload.map((byte, index) => byte ^ (mask[index % 4] ?? 0))]);
}

describe('frames', () => {
  it('are read whatever their length and however the bytes arrive', () => {
    const payload = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.constantFrom(125, 126, 65_535, 65_536).map((length) => new Uint8Array(length).fill(7)),
    );
    const frame = fc.record({
      opcode: fc.constantFrom(OPCODES.text, OPCODES.binary, OPCODES.continuation),
      final: fc.boolean(),
      payload,
    });
    fc.assert(
      fc.property(
        fc.array(frame, { maxLength: 4 }),
        fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 50 }),
        (frames, cuts) => {
          const bytes = Buffer.concat(frames.map((one) => masked(one.opcode, one.payload, one)));
          const reader = frameReader(100_000);
          const read = [];
          let at = 0;
          for (let index = 0; at < bytes.byteLength; index++) {
            const next = index < cuts.length ? at + (cuts[index] ?? 1) : bytes.byteLength;
            read.push(...reader.push(bytes.subarray(at, next)));
            at = next;
          }
          expect(read.map(({ opcode, final }) => ({ opcode, final }))).toEqual(
            frames.map(({ opcode, final }) => ({ opcode, final })),
          );
          read.forEach((one, index) => {
            expect(Buffer.compare(one.payload, frames[index]?.payload ?? Buffer.of())).toBe(0);
          });
        },
      ),
      { numRuns: 60 },
    );
  });

  it.each([
    ['is not masked', Buffer.from([0x81, 0x01, 0x41])],
    ['sets a reserved bit', masked(OPCODES.text | 0x40, Buffer.of())],
    ['has an unknown opcode', masked(0x3, Buffer.of())],
    ['is a control frame in parts', masked(OPCODES.ping, Buffer.of(), { final: false })],
    ['is a long control frame', masked(OPCODES.ping, Buffer.alloc(126))],
    ['is too big', masked(OPCODES.binary, Buffer.alloc(1001))],
  ])('are refused where one %s', (_title, bytes) => {
    expect(() => frameReader(1000).push(bytes)).toThrow(WebSocketViolation);
  });

  it('that lie about a huge length are refused by their head', () => {
    const head = Buffer.alloc(14);
    head[0] = 0x82;
    head[1] = 0x80 | 127;
    head.writeBigUInt64BE(2n ** 62n, 2);
    expect(() => frameReader(1000).push(head)).toThrow('exceeds 1000 bytes');
  });
});
