import { expect, it } from 'vitest';
import type { Compiled } from '../../engine/compiled.ts';
import type { Handler } from '../../kube/exchange.ts';
import { createClient } from '../../kube/rest-client.ts';
import { failure } from '../../kube/status-error.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import type { IntentObject } from '../intents/index.ts';
import { followOverridePolicies } from './index.ts';

/** A server that says no to whoever lists override policies, until it may be listed; watches stay open. */
function server(mayList: () => boolean, code: number): Handler {
  return async ({ path, signal }) => {
    const answer = (status: number, body: unknown) => ({
      ...{ status, headers: { 'content-type': 'application/json' } },
      body: Buffer.from(JSON.stringify(body)),
    });
    if (!mayList()) return answer(code, failure(code, 'Any', 'it may not be listed').status);
    if (!path.includes('watch=')) return answer(200, { metadata: { resourceVersion: '7' }, items: [] });
    return {
      ...{ status: 200, headers: { 'content-type': 'application/json' } },
      body: (async function* () {
        await new Promise((resolve) => signal?.addEventListener('abort', resolve));
      })(),
    };
  };
}

it.each([403, 500])(
  'that the hub cannot read (%i) are told, and hold back what they might change until it can',
  async (code) => {
    const runtime = virtualRuntime(1);
    let allowed = false;
    let replanned = 0;
    const client = createClient(server(() => allowed, code));
    const policies = followOverridePolicies(runtime, true, {
      client,
      onChange: (means) => {
        if (means({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'any' } })) replanned += 1;
      },
    });
    await runtime.clock.settle();
    // Whoever waits for them goes on, and hears why nothing can be sent.
    await policies.whenKnown();
    expect(policies.unread()).toBe('override policies cannot be read by the hub: it may not be listed');
    expect(replanned).toBe(0);

    allowed = true;
    await runtime.clock.advance(10_000);
    expect(policies.unread()).toBeUndefined();
    expect(replanned).toBeGreaterThan(0);
    const compiled = { intent: { objects: [], overrides: [] } } as unknown as Compiled;
    expect(await policies.into(compiled, {} as IntentObject)).toEqual({ compiled, refused: false });
    policies.stop();
  },
);
