import { expect, it } from 'vitest';
import { gatherBytes } from './gathered-bytes.ts';

it('gives the bytes back in order, and the only piece as it is', () => {
  const gathered = gatherBytes();
  expect(gathered.whole()).toHaveLength(0);
  const first = Buffer.from('ab');
  gathered.add(first);
  gathered.add(new Uint8Array());
  expect(gathered.whole()).toBe(first);
  gathered.add(Buffer.from('c'));
  expect(Buffer.from(gathered.whole()).toString()).toBe('abc');
});

it('holds few objects for many small pieces', () => {
  const gathered = gatherBytes();
  for (let index = 0; index < 100_000; index++) {
    gathered.add(Uint8Array.of(index & 0xff));
    gathered.add(new Uint8Array());
  }
  expect(gathered.pieces).toBeLessThan(1_200);
  expect(gathered.byteLength).toBe(100_000);
  const whole = gathered.whole();
  expect(whole.every((byte, index) => byte === (index & 0xff))).toBe(true);
});
