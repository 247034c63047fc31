import { describe, expect, it } from 'vitest';
import type { Client } from '../../../kube/client.ts';
import type { Informer } from '../../../kube/informer.ts';
import { failure } from '../../../kube/status-error.ts';
import { virtualRuntime } from '../../../runtime/index.ts';
import { openWorkloadKinds } from './workload-kinds.ts';

describe('the kinds that a hub serves', () => {
  it('are not known of a group that is listed and answers 404: nobody takes that for their absence', async () => {
    const runtime = virtualRuntime(1);
    let listed = true;
    const groupVersion = 'extra.example.com/v1';
    const answers: Record<string, () => unknown> = {
      '/api/v1': () => ({ resources: [] }),
      '/apis': () => ({
        groups: listed
          ? [{ name: 'extra.example.com', versions: [{ groupVersion }], preferredVersion: { groupVersion } }]
          : [],
      }),
    };
    const client = {
      async getJson(path: string) {
        const answer = answers[path];
        if (!answer) throw failure(404, 'NotFound', '404 page not found');
        return answer();
      },
    } as unknown as Client;
    const definitions = {
      synced: true,
      whenSynced: async () => undefined,
      list: () => [],
      onChange: () => () => undefined,
    } as unknown as Informer;
    const kinds = openWorkloadKinds(runtime, {
      client,
      definitions,
      onObject: () => undefined,
      onKinds: () => undefined,
    });
    kinds.open();
    await runtime.clock.advance(1_000);
    expect(kinds.known).toBe(true);
    expect(kinds.mystery('extra.example.com')).toContain('404');
    listed = false;
    await runtime.clock.advance(60_000);
    expect(kinds.mystery('extra.example.com')).toBeUndefined();
    kinds.stop();
  });
});
