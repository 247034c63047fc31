import { gzipSync } from 'node:zlib';

/** What the format and blocks that cannot be compressed add at most, for a text that is packed with one buffer. */
const OVERHEAD_BYTES = 64;
const MAX_CHUNK_BYTES = 64 * 1024;

/**
 * The bytes that gzip makes of a text anyway, in memory of their own. The defaults take 270 KB of scratch memory and 16 KB of a
 * pool each time, and a result that is kept keeps all of the pool, where most texts have a thousand bytes: a hub packs some for
 * each spoke.
 */
export function gzipped(text: string, level: number): Buffer {
  const bytes = Buffer.from(text);
  const size = bytes.byteLength;
  // The smallest window that holds all of the text, and as many symbols as it can have.
  const windowBits = Math.max(10, Math.min(15, Math.ceil(Math.log2(size + 512))));
  const packed = gzipSync(bytes, {
    level,
    windowBits,
    memLevel: Math.min(8, windowBits - 6),
    chunkSize: Math.min(MAX_CHUNK_BYTES, size + OVERHEAD_BYTES),
  });
  const own = Buffer.allocUnsafeSlow(packed.byteLength);
  own.set(packed);
  return own;
}
