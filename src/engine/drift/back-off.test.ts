import { describe, expect, it } from 'vitest';
import { contestedForMs, correctionDelay, isContested, rememberCorrection } from './back-off.ts';

describe('correcting drift', () => {
  it('is at once for the first corrections within a minute, then ever slower', () => {
    let corrections: number[] = [];
    const delays: number[] = [];
    for (let i = 0; i < 12; i++) {
      delays.push(correctionDelay(corrections, i));
      corrections = rememberCorrection(corrections, i);
    }
    expect(delays).toEqual([0, 0, 0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000]);
  });

  it('forgets what is older than a minute', () => {
    const corrections = [0, 1, 2, 3, 4];
    expect(correctionDelay(corrections, 59_999)).toBe(1_000);
    expect(correctionDelay(corrections, 60_000)).toBe(0);
    expect(rememberCorrection(corrections, 60_002)).toEqual([3, 4, 60_002]);
  });

  it('tells for how long an object will count as fought over', () => {
    const corrections = [10, 20, 30, 40, 50, 60];
    expect(contestedForMs([10, 20], 100)).toBe(0);
    expect(contestedForMs(corrections, 100)).toBe(59_920);
    expect(isContested(corrections, 100 + 59_919)).toBe(true);
    expect(isContested(corrections, 100 + 59_920)).toBe(false);
  });
});
