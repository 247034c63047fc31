import { deflateRawSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decodeValue, encodeValue } from './stored-bytes.ts';

const text = (size: number): Buffer => Buffer.from('{"a":"'.padEnd(size, 'words '));

describe('values at rest', () => {
  it('come back as they were, whatever their size and first byte', () => {
    for (const size of [0, 1, 1023, 1024, 2047, 2048, 70_000])
      for (const first of [0, 1, 0x7b]) {
        const value = text(size);
        if (size > 0) value[0] = first;
        expect(Buffer.from(decodeValue(encodeValue(value))).equals(value)).toBe(true);
      }
  });

  it('are compressed where that is worth its time', () => {
    expect(encodeValue(text(1500))).toHaveLength(1500);
    expect(encodeValue(text(5000)).byteLength).toBeLessThan(500);
  });

  it('are read that were compressed when smaller ones were, too', () => {
    const value = text(1500);
    const packed = deflateRawSync(value, { level: 1, windowBits: 12 });
    const stored = Buffer.alloc(5 + packed.byteLength);
    stored[0] = 1;
    stored.writeUInt32LE(value.byteLength, 1);
    stored.set(packed, 5);
    expect(Buffer.from(decodeValue(stored)).equals(value)).toBe(true);
  });
});
