import { describe, expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../../apiserver/index.ts';
import { ACCESS_GRANT } from '../../engine/access/index.ts';
import { installKinds, resourceIdOf } from '../../kube/custom-resource.ts';
import { createClient } from '../../kube/rest-client.ts';
import { formatTime } from '../../runtime/clock.ts';
import { virtualRuntime } from '../../runtime/runtime.ts';
import { startGrants } from './grants.ts';

const GRANTS = resourceIdOf(ACCESS_GRANT);

describe('many grants', () => {
  it('that come and end at once are each written about once', async () => {
    const runtime = virtualRuntime(1);
    const done = async <T>(work: Promise<T>): Promise<T> => {
      let isDone = false;
      const mark = (): void => {
        isDone = true;
      };
      work.then(mark, mark);
      await runtime.clock.until(() => isDone, 60_000);
      return work;
    };
    const server = await done(createApiServer({ runtime, storage: memoryDriver() }));
    const inner = server.as({ name: 'hub', groups: ['system:masters'] });
    let patches = 0;
    const client = createClient(async (request) => {
      if (request.method === 'PATCH' && request.path.includes('/accessgrants/')) patches += 1;
      return inner(request);
    });
    await done(installKinds(runtime.clock, client, [ACCESS_GRANT]));
    const expiresAt = formatTime(runtime.clock.now() + 4_000);
    const names = Array.from({ length: 40 }, (_, index) => `grant-${index}`);
    const spec = {
      user: 'ann',
      clusters: { names: ['edge'] },
      namespaces: ['*'],
      allow: ['exec'],
      reason: 'test',
      expiresAt,
      requestedBy: 'ann',
      approvedBy: 'eve',
    };
    const kind = { apiVersion: 'atoll.dev/v1alpha1', kind: 'AccessGrant' };
    await done(
      Promise.all(names.map((name) => client.create(GRANTS, { ...kind, metadata: { name }, spec }))),
    );
    const grants = startGrants(runtime, client);
    await runtime.clock.advance(1_000);
    expect(patches).toBe(names.length);
    const act = {
      user: { name: 'ann', groups: [] },
      cluster: { name: 'edge', labels: {} },
      namespace: '',
      what: 'exec',
    } as const;
    const cuts: string[] = [];
    grants.follow(act, (why) => cuts.push(why));
    grants.follow({ ...act, what: 'write' }, (why) => cuts.push(why));
    expect(cuts).toEqual(['the grant that allowed it has ended']);
    await runtime.clock.advance(5_000);
    expect(cuts).toHaveLength(2);
    expect(patches).toBe(2 * names.length);
    grants.stop();
    await done(server.close());
  }, 20_000);
});
