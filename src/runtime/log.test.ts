import { expect, it } from 'vitest';
import { errorText } from './log.ts';

it('says what was thrown with its causes, and no cause twice', () => {
  const cause = new Error('listen EADDRINUSE: address already in use 127.0.0.1:80');
  expect(errorText(new Error('cannot start', { cause }))).toBe(`cannot start: ${cause.message}`);
  expect(errorText(new Error(`cannot listen: ${cause.message}`, { cause }))).toBe(
    `cannot listen: ${cause.message}`,
  );
  expect(errorText(new Error('a', { cause: new Error('b', { cause: 'c' }) }))).toBe('a: b: c');
  expect(errorText('text')).toBe('text');
});
