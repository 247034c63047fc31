import { expect, it } from 'vitest';
import { failure, ignoring, notFound } from './status-error.ts';

const gone = (): Promise<string> => Promise.reject(notFound('apps', 'deployments', 'web'));

it('takes an answer that is to be expected for none, and no other', async () => {
  expect(await ignoring(404, Promise.resolve('there'))).toBe('there');
  expect(await ignoring(404, gone())).toBeUndefined();
  expect(await ignoring([409, 404], gone())).toBeUndefined();
  await expect(ignoring(409, gone())).rejects.toMatchObject({ code: 404 });
  await expect(ignoring(404, Promise.reject(failure(403, 'Forbidden', 'no')))).rejects.toMatchObject({
    code: 403,
  });
  await expect(ignoring(404, Promise.reject(new Error('404')))).rejects.toThrow('404');
});
