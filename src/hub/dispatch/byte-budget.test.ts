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

it('goes on from what was sent before', async () => {
  const { clock } = virtualRuntime(1);
  await clock.advance(5 * HOUR_MS);
  const ago = (minutes: number, bytes: number) => ({ at: clock.now() - minutes * 60_000, bytes });
  const budget = createByteBudget(clock, (spoke) => (spoke === 'free' ? undefined : 100));
  expect([budget.lacks('a'), budget.lacks('free')]).toEqual([true, false]);
  budget.recall('a', [ago(60, 1_000), ago(45, 50), ago(10, 20), ago(-5, 10)]);
  expect(budget.lacks('a')).toBe(false);
  expect(budget.spend('a', 21)?.againMs).toBe(HOUR_MS / 4);
  expect(budget.spend('a', 20)).toBeUndefined();
  await clock.advance(HOUR_MS / 4);
  expect(budget.spend('a', 100)).toBeUndefined();
  budget.recall('b', []);
  expect(budget.lacks('b')).toBe(false);
  expect(budget.spend('b', 100)).toBeUndefined();
  expect(budget.spend('b', 1)?.againMs).toBe(HOUR_MS);
});

it('takes a change of the budget at once', () => {
  let perHour: number | undefined = 100;
  const budget = createByteBudget(virtualRuntime(1).clock, () => perHour);
  budget.spend('a', 100);
  expect(budget.spend('a', 1)).toBeDefined();
  perHour = 200;
  expect(budget.spend('a', 1)).toBeUndefined();
});
