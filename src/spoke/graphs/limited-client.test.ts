import { expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { limitedClient } from './limited-client.ts';

it('asks no more often than it may, after a rest so many at once', async () => {
  const { clock } = virtualRuntime(1);
  const asked: number[] = [];
  const handler: Client['handler'] = () => {
    asked.push(clock.monotonic());
    return Promise.reject(new Error('nobody answers'));
  };
  const { handler: limited } = limitedClient({ handler } as Client, clock, { perSecond: 10, burst: 3 });
  const ask = (): Promise<unknown> =>
    limited({ method: 'GET', path: '/version', headers: {} } as Parameters<typeof limited>[0]).catch(
      () => undefined,
    );
  const began = clock.monotonic();
  for (let count = 0; count < 6; count++) void ask();
  await clock.advance(2_000);
  expect(asked.map((at) => at - began)).toEqual([0, 0, 0, 100, 200, 300]);
  asked.length = 0;
  for (let count = 0; count < 4; count++) void ask();
  await clock.advance(1_000);
  expect(asked.map((at) => at - began)).toEqual([2_000, 2_000, 2_000, 2_100]);
});
