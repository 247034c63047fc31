import { expect, it } from 'vitest';
import { optimisticWrite } from './optimistic-write.ts';
import { failure, notFound } from './status-error.ts';

it('is made again where somebody wrote in between, and not where the object is gone', async () => {
  expect(await optimisticWrite(Promise.resolve())).toBeUndefined();
  expect(await optimisticWrite(Promise.reject(notFound('', 'pods', 'web')))).toBeUndefined();
  const conflict = failure(409, 'Conflict', 'somebody else wrote it');
  expect((await optimisticWrite(Promise.reject(conflict)))?.requeueAfterMs).toBeGreaterThan(0);
  const refused = failure(422, 'Invalid', 'no');
  await expect(optimisticWrite(Promise.reject(refused))).rejects.toBe(refused);
});
