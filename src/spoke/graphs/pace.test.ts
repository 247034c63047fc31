import { expect, it } from 'vitest';
import { virtualRuntime } from '../../runtime/index.ts';
import { createPace } from './pace.ts';

it('lets no more go on within any minute than it is told', async () => {
  const { clock } = virtualRuntime(1);
  const pace = createPace(clock);
  expect([1, 2, 3].map(() => pace.admit('shop', 2))).toEqual([0, 0, 60_000]);
  expect(pace.admit('other', 2)).toBe(0);
  await clock.advance(20_000);
  expect(pace.admit('shop', 2)).toBe(40_000);
  await clock.advance(40_000);
  expect([1, 2, 3].map(() => pace.admit('shop', 2))).toEqual([0, 0, 60_000]);
});
