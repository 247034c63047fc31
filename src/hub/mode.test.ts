import { beforeEach, expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../apiserver/index.ts';
import type { Client } from '../kube/client.ts';
import type { Handler } from '../kube/exchange.ts';
import { createClient } from '../kube/rest-client.ts';
import { sleep } from '../runtime/index.ts';
import { type VirtualRuntime, virtualRuntime } from '../runtime/runtime.ts';
import { hubIdentity } from './dispatch/identity.ts';
import { confirmHub, openHubMode, readHubMode } from './mode.ts';

const SLOW_MS = 500;

let runtime: VirtualRuntime;
let handler: Handler;
let client: Client;
let epoch: number;

async function run<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  await runtime.clock.advance(5_000);
  return work;
}

beforeEach(async () => {
  runtime = virtualRuntime(1);
  const { clock } = runtime;
  const server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  handler = server.as({ name: 'engine', groups: ['system:masters'] });
  client = createClient(handler, { clock });
  ({ epoch } = await run(hubIdentity(runtime, client)));
});

it('goes on observing when an older word to act is still being carried out', async () => {
  const { clock } = runtime;
  await run(confirmHub(client));
  const slowly: Handler = async (request) => {
    if (request.path.includes('/secrets/')) await sleep(clock, SLOW_MS);
    if (request.method !== 'GET') await sleep(clock, 2 * SLOW_MS);
    return handler(request);
  };
  const mode = openHubMode(runtime, createClient(slowly, { clock }), epoch);
  await clock.advance(SLOW_MS / 10);
  // It is known that the hub acts, and being read by which epoch.
  const durable = mode.observe('a spoke is ahead');
  const seen: (string | undefined)[] = [];
  mode.onChange(() => seen.push(mode.observing));
  await run(durable);
  expect(seen).toEqual([]);
  expect(mode.observing).toBe('a spoke is ahead');
  expect(await run(readHubMode(client))).toMatchObject({ observing: 'a spoke is ahead' });

  const confirmed = await run(confirmHub(client));
  expect([mode.observing, mode.epoch]).toEqual([undefined, confirmed]);
  mode.stop();
});

it('records that it observes when that can be written, so that somebody can confirm', async () => {
  let isFull = true;
  const full: Handler = (request) =>
    isFull && request.method !== 'GET' ? Promise.reject(new Error('no space')) : handler(request);
  const mode = openHubMode(runtime, createClient(full, { clock: runtime.clock }), epoch);
  await expect(run(mode.observe('a spoke is ahead'))).rejects.toThrow('no space');
  expect(mode.observing).toBe('a spoke is ahead');
  expect(await run(readHubMode(client))).toEqual({});
  isFull = false;
  await runtime.clock.advance(1_000);
  expect(await run(readHubMode(client))).toMatchObject({ observing: 'a spoke is ahead' });
  const confirmed = await run(confirmHub(client));
  expect([mode.observing, mode.epoch]).toEqual([undefined, confirmed]);
  mode.stop();
});
