import { describe, expect, it } from 'vitest';
import { contestedForMs, correctionDelay, isContested, rememberCorrection } from './back-off.ts';

describe('correcting drift', () => {
  it('is at once for the first corrections in a row, then ever slower', () => {
    let corrections: number[] = [];
    const delays: number[] = [];
    for (let i = 0; i < 13; i++) {
      delays.push(correctionDelay(corrections, i));
      corrections = rememberCorrection(corrections, i);
    }
    expect(delays).toEqual([0, 0, 0, 0, 0, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 40_000, 40_000]);
  });

  it('stays slow for as long as the other writer does not give up', () => {
    let corrections: number[] = [];
    let now = 0;
    for (let i = 0; i < 100; i++) {
      now += correctionDelay(corrections, now) + 1_000;
      corrections = rememberCorrection(corrections, now);
    }
    expect(correctionDelay(corrections, now)).toBe(40_000);
    expect(corrections.length).toBeLessThan(20);
  });

  it('begins anew after a minute of quiet', () => {
    const corrections = [0, 1, 2, 3, 4];
    expect(correctionDelay(corrections, 60_003)).toBe(1_000);
    expect(correctionDelay(corrections, 60_004)).toBe(0);
    expect(rememberCorrection(corrections, 60_004)).toEqual([60_004]);
  });

  it('tells for how long an object will count as fought over', () => {
    const corrections = [10, 20, 30, 40, 50, 60];
    expect(contestedForMs([10, 20], 100)).toBe(0);
    expect(contestedForMs(corrections, 100)).toBe(59_960);
    expect(isContested(corrections, 100 + 59_959)).toBe(true);
    expect(isContested(corrections, 100 + 59_960)).toBe(false);
  });
});
