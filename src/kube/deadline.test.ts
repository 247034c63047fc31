import { expect, it } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import { DeadlineExceeded, within } from './deadline.ts';

it('work that does not end in time is told so, and whoever waits goes on although it listens to nothing', async () => {
  const { clock } = virtualRuntime(1);
  let told: AbortSignal | undefined;
  const work = within(clock, 2_000, (signal) => {
    told = signal;
    return new Promise<never>(() => undefined);
  });
  const ended = expect(work).rejects.toThrow(DeadlineExceeded);
  await clock.advance(1_999);
  expect(told?.aborted).toBe(false);
  await clock.advance(1);
  await ended;
  expect(told?.aborted).toBe(true);
});

it('what comes of work in time is passed on, and no timer stays', async () => {
  const { clock } = virtualRuntime(1);
  expect(await within(clock, 2_000, async () => 'answer')).toBe('answer');
  await expect(within(clock, 2_000, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(clock.pending()).toBe(0);
});
