import { expect, it } from 'vitest';
import { percentProblems, scaledValue } from './int-or-percent.ts';

it.each<[unknown, number, number | undefined, number | undefined]>([
  [3, 10, 3, 3],
  ['25%', 10, 3, 2],
  ['25%', 8, 2, 2],
  ['0%', 8, 0, 0],
  ['100%', 7, 7, 7],
  ['29%', 100, 29, 29],
  ['x%', 8, undefined, undefined],
  ['5', 8, undefined, undefined],
  [1.5, 8, undefined, undefined],
  [undefined, 8, undefined, undefined],
])('%j of %i is %j rounded up, %j rounded down', (value, total, up, down) => {
  expect(scaledValue(value, total, 'up')).toBe(up);
  expect(scaledValue(value, total, 'down')).toBe(down);
});

it('says what a percentage is', () => {
  expect(percentProblems('10%')).toEqual([]);
  expect(percentProblems('10')[0]).toMatch(/must be a numeric string followed by an ending '%'/);
});
