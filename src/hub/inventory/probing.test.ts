import { beforeEach, expect, it } from 'vitest';
import type { Cluster, SpokeCluster } from '../../dialects/kubevela/types.ts';
import type { Handler } from '../../kube/exchange.ts';
import { createClient } from '../../kube/rest-client.ts';
import type { Link } from '../../link/link.ts';
import { type VirtualRuntime, virtualRuntime } from '../../runtime/runtime.ts';
import type { Fleet, SpokeSession } from '../fleet.ts';
import { createProbing, type Probing } from './probing.ts';
import type { Connection, Sighting } from './sighting.ts';

const SPOKE = {
  metadata: { name: 'a' },
  spec: { mode: 'connect', credential: { type: 'tunnel' } },
} as SpokeCluster;

let runtime: VirtualRuntime;
let asked: string[];
let isWho: boolean;
let nodeCount: number;
let applied: string;
let session: Partial<SpokeSession>;
let link: Link;
let probing: Probing;
let sighting: Sighting;

const handler: Handler = async ({ path }) => {
  asked.push(path);
  const answer = (body: object, status = 200): Awaited<ReturnType<Handler>> => ({
    status,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  });
  if (path === '/livez') return { status: 200, headers: {}, body: Buffer.from('ok') };
  if (path === '/version') return answer({ gitVersion: 'v1.35.0' });
  if (path === '/api' || path === '/apis') return answer({ kind: 'APIGroupDiscoveryList', items: [] });
  if (path.startsWith('/api/v1/nodes')) return answer({ kind: 'NodeList', items: [], metadata: {} });
  const status = {
    kind: 'Status',
    status: 'Failure',
    code: 500,
    reason: 'InternalError',
    message: 'not now',
  };
  return isWho ? answer({ metadata: { name: 'kube-system', uid: 'u' } }) : answer(status, 500);
};

beforeEach(() => {
  runtime = virtualRuntime(1);
  asked = [];
  isWho = true;
  nodeCount = 1;
  applied = 'one';
  sighting = { memory: {} };
  link = { up: true, handler } as unknown as Link;
  session = {
    link,
    client: createClient(handler),
    live: true,
    engine: true,
    whenRead: () => Promise.resolve(),
    cluster: () =>
      ({
        status: { appliedRevision: applied, clusterInfo: { kubernetesVersion: 'v1.34.0', nodeCount } },
      }) as unknown as Cluster,
  };
  probing = createProbing(runtime, { session: () => session } as unknown as Fleet);
});

async function probe(afterMs = 0): Promise<Connection> {
  await runtime.clock.advance(afterMs);
  asked.length = 0;
  const found = probing.probe(SPOKE, link, sighting);
  await runtime.clock.advance(9_000);
  return found;
}

it('tells what the engine states as it is now, also when something else is asked for anew', async () => {
  expect((await probe()).info).toMatchObject({ nodeCount: 1, kubernetesVersion: 'v1.34.0', id: 'u' });
  nodeCount = 2;
  expect((await probe()).info).toMatchObject({ nodeCount: 2, id: 'u' });
  expect(asked).toEqual([]);
  applied = 'two';
  expect((await probe()).info).toMatchObject({ nodeCount: 2, id: 'u' });
  expect(asked).toEqual(['/apis']);
  await probe(30_000);
  expect(asked).toEqual(['/livez', '/apis']);
});

it('asks a cluster again who it is until it says so', async () => {
  isWho = false;
  const { info } = await probe();
  expect(info).toMatchObject({ nodeCount: 1 });
  expect(info).not.toHaveProperty('id');
  isWho = true;
  expect((await probe(30_000)).info).toMatchObject({ id: 'u' });
});

it('asks by itself where the look for an engine, or what that states, does not end', async () => {
  const untilAborted = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener('abort', () => resolve());
    });
  session = {
    ...session,
    engine: undefined,
    live: false,
    look: () => new Promise(() => {}),
    whenRead: untilAborted,
  };
  const found = await probe();
  expect(found.infoProblem).toBeUndefined();
  expect(found.info).toMatchObject({ nodeCount: 0, kubernetesVersion: 'v1.35.0' });
});
