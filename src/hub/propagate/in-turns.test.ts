import { expect, it } from 'vitest';
import { virtualRuntime } from '../../runtime/index.ts';
import { inTurns } from './in-turns.ts';

it('lets others have their turn in the middle of work that waits for nothing', async () => {
  const { clock } = virtualRuntime(1);
  const done: string[] = [];
  const work = inTurns(clock, async (key: string) => {
    done.push(key);
    return key;
  });
  const all = (async () => {
    for (let index = 0; index < 50; index++) expect(await work(`${index}`)).toBe(`${index}`);
  })();
  clock.defer(() => done.push('other'));
  await clock.settle();
  await all;
  expect(done).toHaveLength(51);
  expect(done.indexOf('other')).toBeLessThan(20);
});
