import { expect, it } from 'vitest';
import { humanDuration } from './human-duration.ts';

const S = 1000;
const M = 60 * S;
const H = 60 * M;
const D = 24 * H;
const Y = 365 * D;

it.each<[number, string]>([
  [-5 * S, '<invalid>'],
  [Number.NaN, '<invalid>'],
  [-1 * S, '0s'],
  [0, '0s'],
  [999, '0s'],
  [119 * S, '119s'],
  [2 * M, '2m'],
  [2 * M + 5 * S, '2m5s'],
  [10 * M - S, '9m59s'],
  [10 * M + 30 * S, '10m'],
  [3 * H - S, '179m'],
  [3 * H, '3h'],
  [7 * H + 59 * M, '7h59m'],
  [8 * H + 5 * M, '8h'],
  [47 * H, '47h'],
  [2 * D, '2d'],
  [7 * D + 23 * H, '7d23h'],
  [8 * D + H, '8d'],
  [2 * Y - D, '729d'],
  [2 * Y, '2y'],
  [2 * Y + 3 * D, '2y3d'],
  [8 * Y + 30 * D, '8y'],
])('%i ms are %s', (ms, text) => {
  expect(humanDuration(ms)).toBe(text);
});
