import { expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import { failure } from '../../kube/status-error.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { createSources } from './sources.ts';

it('asks where a kind is in pauses while the hub does not answer, and tells why it waits', async () => {
  const runtime = virtualRuntime(1);
  let asked = 0;
  let isDown = true;
  const client = {
    async resourceFor() {
      asked += 1;
      if (isDown) throw failure(503, '', 'too busy');
      return { group: '', version: 'v1', resource: 'configmaps', kind: 'ConfigMap', namespaced: true };
    },
    list: async () => ({ items: [], metadata: { resourceVersion: '1' } }),
    async *watch() {
      await new Promise(() => undefined);
    },
  } as unknown as Client;
  // As a plan does that is made anew whenever it is told.
  const read = (): object => sources.objects('v1', 'ConfigMap', 'reader');
  const sources = createSources(
    runtime,
    client,
    () => undefined,
    () => void read(),
  );
  read();
  await runtime.clock.advance(60_000);
  expect(asked).toBeGreaterThan(3);
  expect(asked).toBeLessThan(20);
  expect(read()).toEqual({ waiting: expect.stringContaining('too busy') });
  isDown = false;
  await runtime.clock.advance(60_000);
  expect(read()).toEqual({ objects: [] });
  const before = asked;
  await runtime.clock.advance(3_600_000);
  expect(asked).toBe(before);
  sources.stop();
});
