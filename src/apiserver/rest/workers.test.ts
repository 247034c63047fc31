import { expect, it } from 'vitest';
import { withWorkers } from './workers.ts';

it('does everything once, so many at a time', async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  const items = Array.from({ length: 100 }, (_, index) => index);
  await withWorkers(7, items, async (item) => {
    running += 1;
    most = Math.max(most, running);
    for (let turn = 0; turn < 3 + (item % 5); turn += 1) await Promise.resolve();
    running -= 1;
    done.push(item);
  });
  expect(most).toBe(7);
  expect(done.sort((a, b) => a - b)).toEqual(items);
  await withWorkers(7, [], () => Promise.reject(new Error('never')));
});

it('begins nothing more after an error, and ends when nothing is under way', async () => {
  const begun: number[] = [];
  let running = 0;
  const work = withWorkers(2, [1, 2, 3, 4, 5], async (item) => {
    begun.push(item);
    running += 1;
    await Promise.resolve();
    await Promise.resolve();
    running -= 1;
    if (item === 2) throw new Error('two');
  });
  await expect(work).rejects.toThrow('two');
  expect(running).toBe(0);
  expect(begun.length).toBeLessThan(5);
});
