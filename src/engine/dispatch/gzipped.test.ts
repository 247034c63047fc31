import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../runtime/index.ts';
import { gzipped } from './gzipped.ts';

const random = seededRandom(1);
/** Objects as a hub packs them: words that come again, and some that do not. */
function text(length: number): string {
  let out = '';
  while (out.length < length) {
    const name = Buffer.from(random.bytes(6)).toString('hex');
    out += JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, labels: { app: 'é' } } });
  }
  return out.slice(0, length);
}

describe('gzipped', () => {
  it('makes what gzip makes with its defaults, so that an order says the same under any version', () => {
    for (const level of [6, 9])
      for (let length = 0; length < 100_000; length = Math.ceil(length * 1.3) + 7) {
        const content = text(length);
        const packed = gzipped(content, level);
        expect(packed.equals(gzipSync(content, { level })), `${length} characters`).toBe(true);
        expect(gunzipSync(packed).toString()).toBe(content);
      }
  });

  it('holds no memory but its own', () => {
    for (const length of [0, 10, 1_000, 100_000]) {
      const packed = gzipped(text(length), 9);
      expect(packed.buffer.byteLength).toBe(packed.byteLength);
    }
  });
});
