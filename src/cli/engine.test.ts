import { afterEach, expect, it } from 'vitest';
import { createApiServer, memoryDriver } from '../apiserver/index.ts';
import { CLUSTER, SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../dialects/kubevela/types.ts';
import { DISPATCH, type Dispatch, SYSTEM_NAMESPACE } from '../engine/dispatch/index.ts';
import { apiVersionOf, resourceIdOf } from '../kube/custom-resource.ts';
import type { Handler } from '../kube/exchange.ts';
import { createClient } from '../kube/rest-client.ts';
import { type VirtualRuntime, virtualRuntime } from '../runtime/index.ts';
import { untilHolds, whileTimePasses } from '../testing/moving-time.ts';
import { type Engine, type EngineOptions, loadRoles, startEngine } from './engine.ts';

let runtime: VirtualRuntime;
const stops: (() => Promise<unknown>)[] = [];
const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(runtime.clock, work);
afterEach(async () => {
  for (const stop of stops.splice(0).reverse()) await run(stop());
});

interface Around {
  /** Starts the engine. */
  start(roles?: EngineOptions['roles']): Promise<Engine>;
  readonly handler: Handler;
  readonly left: ReadonlyMap<string, number>;
  /** Paths that were asked for. */
  readonly asked: readonly string[];
}

/**
 * Around an engine on a cluster whose API server answers 503 to the first requests below each of these paths, or as ever when `held` is
 * over.
 */
async function around(failing: Readonly<Record<string, number>>, held?: Promise<unknown>): Promise<Around> {
  await loadRoles();
  runtime = virtualRuntime(1);
  const { clock } = runtime;
  const server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  stops.push(() => server.close());
  const handler = server.as({ name: 'engine', groups: ['system:masters'] });
  const left = new Map(Object.entries(failing));
  const asked: string[] = [];
  const faulty: Handler = async (request) => {
    asked.push(request.path);
    const path = [...left.keys()].find((one) => request.path.split('?')[0]?.endsWith(one));
    const times = path === undefined || request.method !== 'GET' ? 0 : (left.get(path) ?? 0);
    if (path === undefined || times === 0) return handler(request);
    left.set(path, times - 1);
    if (held) return held.then(() => handler(request));
    return { status: 503, headers: {}, body: new Uint8Array() };
  };
  const start = (roles?: EngineOptions['roles']): Promise<Engine> =>
    startEngine(runtime, {
      name: 'a',
      client: createClient(faulty, { clock }),
      version: 'test',
      links: {
        tunnel: () => undefined,
        onTunnel: () => undefined,
        forget: () => undefined,
        direct: () => {
          throw new Error('no cluster is reached by an address');
        },
      },
      credentials: { resolve: async () => [], rules: {} },
      ...(roles === undefined ? {} : { roles }),
    });
  return { start, handler, left, asked };
}

async function engineOn(
  failing: Readonly<Record<string, number>>,
): Promise<Around & { readonly engine: Engine }> {
  const about = await around(failing);
  const engine = await run(about.start());
  stops.push(() => engine.stop());
  return { ...about, engine };
}

/** Whether anything is asked for in a minute of a cluster to which a spoke has come. */
async function isAsked({ handler, asked }: Around): Promise<boolean> {
  await runtime.clock.advance(1_000);
  const before = asked.length;
  await join(handler);
  await runtime.clock.advance(60_000);
  return asked.length > before;
}

async function join(handler: Handler): Promise<void> {
  const client = createClient(handler, { clock: runtime.clock });
  await run(
    client.create<SpokeCluster>(resourceIdOf(SPOKE_CLUSTER), {
      apiVersion: apiVersionOf(SPOKE_CLUSTER),
      kind: 'SpokeCluster',
      metadata: { name: 'edge', namespace: 'default' },
      spec: { mode: 'connect', credential: { type: 'tunnel' } },
    } as SpokeCluster),
  );
}

it('begins to be a spoke once its API server lets it, however often it did not', async () => {
  const failing = { '/ownershiprecords': 2, '/version': 3 };
  const { engine, handler, left } = await engineOn(failing);
  const client = createClient(handler, { clock: runtime.clock });
  const nothing = { bundles: [], objects: [], patches: [], tombstones: [] };
  await run(
    client.create<Dispatch>(resourceIdOf(DISPATCH), {
      apiVersion: apiVersionOf(DISPATCH),
      kind: 'Dispatch',
      metadata: { name: 'any', namespace: SYSTEM_NAMESPACE },
      spec: {
        source: { apiVersion: 'v1', kind: 'Any', namespace: 'n', name: 'n', uid: 'u', generation: 1 },
        position: { lineage: 'l', epoch: 1, generation: 1 },
        revision: '',
        ...nothing,
        publicKey: 'k',
      },
    }),
  );
  await untilHolds(runtime.clock, () => engine.spoke() !== undefined, 'a spoke');
  expect([...left.values()]).toEqual([0, 0]);
  await untilHolds(
    runtime.clock,
    async () => (await run(client.list(resourceIdOf(CLUSTER), SYSTEM_NAMESPACE))).items.length === 1,
    'the word of the spoke',
  );
});

it('is one hub, however often its way for users could not be opened', async () => {
  const policy = '/validatingadmissionpolicies/atoll.dev-access-grants';
  const { engine, handler, left, asked } = await engineOn({ [policy]: 2 });
  await join(handler);
  await untilHolds(runtime.clock, () => engine.access() !== undefined, 'the way of users');
  expect([...left.values()]).toEqual([0]);
  const follows = asked.filter((path) => path.includes('/retractions?') && path.includes('watch='));
  expect(follows).toHaveLength(1);
});

it('leaves nothing running where it could not start', async () => {
  const about = await around({ '/validatingadmissionpolicies/atoll.dev-access-grants': 1 });
  await expect(run(about.start({ hub: true }))).rejects.toThrow('503');
  expect(await isAsked(about)).toBe(false);
});

it('stops what only comes to run once it was stopped', async () => {
  const held = Promise.withResolvers<void>();
  const about = await around({ '/validatingadmissionpolicies/atoll.dev-override-author': 1 }, held.promise);
  const engine = await run(about.start());
  await join(about.handler);
  await untilHolds(runtime.clock, () => [...about.left.values()].every((left) => left === 0), 'it begins');
  await run(engine.stop());
  held.resolve();
  await runtime.clock.advance(1_000);
  const before = about.asked.length;
  await runtime.clock.advance(60_000);
  expect(about.asked.length).toBe(before);
  expect(engine.hub()).toBeUndefined();
});
