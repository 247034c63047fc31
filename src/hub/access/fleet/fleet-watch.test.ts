import { describe, expect, it } from 'vitest';
import type { Response } from '../../../kube/exchange.ts';
import { failure } from '../../../kube/status-error.ts';
import { virtualRuntime } from '../../../runtime/index.ts';
import { readFleetRequest } from './fleet-request.ts';
import { type FleetWatchOptions, watchFleet } from './fleet-watch.ts';

const event = (cluster: string, version: string): string =>
  `${JSON.stringify({
    type: 'ADDED',
    object: {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: `of-${cluster}`, namespace: 'default', resourceVersion: version },
    },
  })}\n`;

interface Watching {
  /** What the client was told, as `TYPE name` or `ERROR code`. */
  readonly told: string[];
  readonly ended: () => boolean;
  readonly members: () => void;
  readonly advance: (ms: number) => Promise<void>;
}

/** A watch of clusters that each have one object, and then are silent. */
function watching(clusters: FleetWatchOptions['clusters']): Watching {
  const runtime = virtualRuntime(1);
  const end = new AbortController();
  const told: string[] = [];
  let members: () => void = () => undefined;
  let ended = false;
  const asked = readFleetRequest({
    method: 'GET',
    path: '/api/v1/configmaps?watch=1',
    headers: {},
    signal: end.signal,
  });
  const response = watchFleet(runtime, asked, {
    clusters,
    ask: async (cluster, { signal }): Promise<Response> => ({
      status: 200,
      headers: {},
      body: (async function* () {
        yield Buffer.from(event(cluster, '1'));
        await new Promise((_resolve, reject) =>
          signal?.addEventListener('abort', () => reject(signal.reason), { once: true }),
        );
      })(),
    }),
    onMembers(listener) {
      members = listener;
      return () => undefined;
    },
    whenUp: async () => undefined,
  });
  const read = async (): Promise<void> => {
    if (!(Symbol.asyncIterator in response.body)) throw new Error('no stream');
    for await (const chunk of response.body) {
      const line = JSON.parse(Buffer.from(chunk).toString('utf8'));
      told.push(`${line.type} ${line.type === 'ERROR' ? line.object.code : line.object.metadata.name}`);
    }
  };
  read().then(
    () => {
      ended = true;
    },
    (error: unknown) => void told.push(`broken: ${String(error)}`),
  );
  return {
    told,
    ended: () => ended,
    members: () => members(),
    advance: (ms) => runtime.clock.advance(ms),
  };
}

describe('a watch of the fleet that looks for its clusters', () => {
  it('goes on with those that it has where nobody can tell now, and asks again', async () => {
    let answer: () => Promise<string[]> = async () => ['a'];
    const watch = watching(() => answer());
    await watch.advance(10);
    expect(watch.told).toEqual(['ADDED of-a']);
    answer = async () => {
      throw new Error('connect ECONNREFUSED');
    };
    watch.members();
    await watch.advance(2_000);
    expect(watch.ended()).toBe(false);
    expect(watch.told).toEqual(['ADDED of-a']);
    answer = async () => ['a', 'b'];
    await watch.advance(20_000);
    expect(watch.told).toEqual(['ADDED of-a', 'ADDED of-b']);
  });

  it('begins once they can be told, where that fails at first', async () => {
    let fails = true;
    const watch = watching(async () => {
      if (fails) throw failure(500, 'InternalError', 'etcd is away');
      return ['a'];
    });
    await watch.advance(100);
    expect(watch.told).toEqual([]);
    fails = false;
    await watch.advance(20_000);
    expect(watch.told).toEqual(['ADDED of-a']);
  });

  it('ends with what it is refused for', async () => {
    let may = true;
    const watch = watching(async () => {
      if (!may) throw failure(403, 'Forbidden', 'forbidden: no more');
      return ['a'];
    });
    await watch.advance(10);
    may = false;
    watch.members();
    await watch.advance(10);
    expect(watch.told).toEqual(['ADDED of-a', 'ERROR 403']);
    expect(watch.ended()).toBe(true);
  });
});
