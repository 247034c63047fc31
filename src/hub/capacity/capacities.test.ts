import { describe, expect, it } from 'vitest';
import type { Handler, Request } from '../../kube/exchange.ts';
import type { KubeObject } from '../../kube/object.ts';
import { createClient } from '../../kube/rest-client.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import type { SpokeSession } from '../fleet.ts';
import { createCapacities } from './capacities.ts';

const node: KubeObject = {
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: 'n1' },
  status: { allocatable: { cpu: '4', pods: '10' } },
};

function pod(name: string, cpu: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'x' },
    spec: { nodeName: 'n1', containers: [{ name: 'c', resources: { requests: { cpu } } }] },
  };
}

function answer(status: number, body: unknown): Awaited<ReturnType<Handler>> {
  return { status, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(body)) };
}

/** A spoke that answers by path, and counts. */
function fleet(handler: (path: string) => Awaited<ReturnType<Handler>> | undefined, up = true) {
  const runtime = virtualRuntime(1);
  const asked: string[] = [];
  const client = createClient((request: Request) => {
    asked.push(request.path);
    const found = handler(request.path);
    return found
      ? Promise.resolve(found)
      : new Promise((_resolve, reject) =>
          request.signal?.addEventListener('abort', () => reject(new Error('aborted'))),
        );
  });
  const session = { client, link: { up } } as unknown as SpokeSession;
  const capacities = createCapacities(runtime, { fleet: { session: () => session } });
  return { runtime, asked, capacities };
}

const notFound = answer(404, {
  kind: 'Status',
  status: 'Failure',
  code: 404,
  reason: 'NotFound',
  message: 'no',
});
const forbidden = answer(403, {
  kind: 'Status',
  status: 'Failure',
  code: 403,
  reason: 'Forbidden',
  message: 'no',
});

describe('the room on spokes', () => {
  it('is asked once for all who want to know, and again when it is too old', async () => {
    const { runtime, asked, capacities } = fleet(() => answer(200, { free: { cpu: 3000 } }));
    await Promise.all([capacities.refresh(['a']), capacities.refresh(['a'])]);
    expect(capacities.of('a')).toEqual({ free: { cpu: 3000 } });
    expect(asked).toEqual(['/atoll/capacity']);
    await runtime.clock.advance(4_000);
    await capacities.refresh(['a']);
    expect(asked).toHaveLength(1);
    await runtime.clock.advance(2_000);
    await capacities.refresh(['a']);
    capacities.outdate('a');
    await capacities.refresh(['a']);
    expect(asked).toHaveLength(3);
    await runtime.clock.advance(120_000);
    expect(capacities.of('a')).toBe('away');
  });

  it('is counted from nodes and pods, page by page, where nobody answers for the cluster', async () => {
    const { asked, capacities } = fleet((path) => {
      if (path.startsWith('/atoll/')) return notFound;
      if (path.includes('/nodes')) return answer(200, { kind: 'NodeList', metadata: {}, items: [node] });
      const second = path.includes('continue=');
      return answer(200, {
        kind: 'PodList',
        metadata: second ? {} : { continue: 'more' },
        items: second ? [pod('p2', '500m')] : [pod('p1', '1')],
      });
    });
    await capacities.refresh(['a']);
    expect(capacities.of('a')).toMatchObject({ free: { cpu: 2500, pods: 8 } });
    expect(asked).toHaveLength(4);
  });

  it('is untold where the cluster does not let it be known, and away where it does not answer', async () => {
    const refusing = fleet(() => forbidden);
    await refusing.capacities.refresh(['a']);
    expect(refusing.capacities.of('a')).toBe('untold');
    const hanging = fleet(() => undefined);
    const done = hanging.capacities.refresh(['a']);
    await hanging.runtime.clock.advance(3_100);
    await done;
    expect(hanging.capacities.of('a')).toBe('away');
    const gone = fleet(() => notFound, false);
    await gone.capacities.refresh(['a']);
    expect(gone.asked).toEqual([]);
    expect(gone.capacities.of('a')).toBe('away');
  });

  it.each([
    ['no object', []],
    ['amounts that are none', { free: { cpu: 'many' } }],
    ['less than nothing', { free: { cpu: -1 } }],
    ['classes that are none', { free: {}, nodes: [{ count: 1 }] }],
    ['parts of nodes', { free: {}, nodes: [{ count: 0.5, free: { cpu: 3000 } }] }],
    ['taints that are none', { free: {}, nodes: [{ count: 1, free: {}, taints: 5 }] }],
    ['a taint that is none', { free: {}, nodes: [{ count: 1, free: {}, taints: [null] }] }],
    ['labels that are none', { free: {}, nodes: [{ count: 1, free: {}, labels: null }] }],
    ['classes without end', { free: {}, nodes: Array(1_001).fill({ count: 1, free: {} }) }],
    ['pending pods that are none', { free: {}, pending: [{ count: 'x' }] }],
    ['parts of pods', { free: {}, pending: [{ count: 0.5, since: 0 }] }],
  ])('is not believed where a spoke answers with %s', async (_what, body) => {
    const { capacities } = fleet((path) => (path.startsWith('/atoll/') ? answer(200, body) : forbidden));
    await capacities.refresh(['a']);
    expect(capacities.of('a')).toBe('untold');
  });
});
