import { describe, expect, it } from 'vitest';
import type { Client } from '../../../kube/client.ts';
import { failure } from '../../../kube/status-error.ts';
import { configMaps } from '../../../kube/well-known.ts';
import { virtualRuntime } from '../../../runtime/index.ts';
import { createKindWatches } from './kind-watches.ts';

/** A server that has nothing, and refuses watches while it is told to. */
function fakeClient() {
  const server = { refuses: false, breaks: (): void => undefined };
  const client = {
    list: () => Promise.resolve({ metadata: { resourceVersion: '1' }, items: [] }),
    async *watch(
      _resource: unknown,
      _namespace: unknown,
      options: { signal?: AbortSignal; onOpen?(): void },
    ) {
      if (server.refuses) throw failure(500, 'InternalError', 'the conversion of this kind failed');
      options.onOpen?.();
      const { promise, resolve } = Promise.withResolvers<void>();
      server.breaks = resolve;
      options.signal?.addEventListener('abort', () => resolve());
      await promise;
    },
  } as unknown as Client;
  return { server, client };
}

describe('what is followed on the cluster of a target', () => {
  it('is looked at anew when a watch that failed goes on, also where nothing else has changed', async () => {
    const runtime = virtualRuntime(1);
    const { server, client } = fakeClient();
    const told: (string | undefined)[] = [];
    const watches = createKindWatches(runtime, {
      client,
      onChange: (user) => told.push(watches.use(user, configMaps).problem),
      onLive: () => undefined,
    });
    watches.use('one', configMaps);
    await runtime.clock.advance(1_000);
    server.refuses = true;
    server.breaks();
    await runtime.clock.advance(10_000);
    expect(told.at(-1)).toContain('conversion');
    server.refuses = false;
    await runtime.clock.advance(10_000);
    expect(told.at(-1)).toBeUndefined();
    watches.stop();
  });
});
