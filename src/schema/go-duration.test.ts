import { describe, expect, it } from 'vitest';
import { durationProblem } from './go-duration.ts';

describe('durations as Go reads them', () => {
  it.each(['0', '1s', '-1h30m', '+.5s', '1.5h', '3us', '3µs', '10ms2ns'])('takes %s', (text) => {
    expect(durationProblem(text)).toBeUndefined();
  });

  it.each([
    ['', 'invalid duration ""'],
    ['-', 'invalid duration "-"'],
    ['s', 'invalid duration "s"'],
    ['1', 'missing unit in duration "1"'],
    ['1m5', 'missing unit in duration "1m5"'],
    ['1d', 'unknown unit "d" in duration "1d"'],
    ['1.2.3s', 'missing unit in duration "1.2.3s"'],
  ])('refuses %j', (text, problem) => {
    expect(durationProblem(text)).toBe(problem);
  });
});
