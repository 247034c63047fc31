import { expect, it } from 'vitest';
import { virtualRuntime } from '../../runtime/index.ts';
import { createByteBudget } from './byte-budget.ts';

const HOUR_MS = 3_600_000;

it('is each spoke’s own, and a new one with every hour', async () => {
  const { clock } = virtualRuntime(1);
  const budget = createByteBudget(clock, (spoke) => (spoke === 'free' ? undefined : 100));
  expect(budget.spend('a', 60)).toBeUndefined();
  expect(budget.spend('b', 60)).toBeUndefined();
  await clock.advance(HOUR_MS / 2);
  const spent = budget.spend('a', 41);
  expect(spent?.againMs).toBe(HOUR_MS / 2);
  expect(spent?.message).toContain('41 bytes of content are due, and the 100 of spec.bytesPerHour');
  expect(budget.spend('a', 40)).toBeUndefined();
  expect(budget.spend('free', 1e12)).toBeUndefined();
  await clock.advance(HOUR_MS / 2);
  expect(budget.spend('a', 100)).toBeUndefined();
});

it('lets what is larger than a whole hour’s bytes through as the first of its hour', () => {
  const budget = createByteBudget(virtualRuntime(1).clock, () => 100);
  expect(budget.spend('a', 5_000)).toBeUndefined();
  expect(budget.spend('a', 1)?.againMs).toBe(HOUR_MS);
});

it('takes a change of the budget at once', () => {
  let perHour: number | undefined = 100;
  const budget = createByteBudget(virtualRuntime(1).clock, () => perHour);
  budget.spend('a', 100);
  expect(budget.spend('a', 1)).toBeDefined();
  perHour = 200;
  expect(budget.spend('a', 1)).toBeUndefined();
});
