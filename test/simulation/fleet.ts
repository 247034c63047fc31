import { createApiServer, type ApiServer, memoryDriver, type AuditEvent, type StorageDriver } from '../../src/apiserver/index.ts';
import { type Engine, startEngine } from '../../src/cli/engine.ts';
import { SPOKE_CLUSTER } from '../../src/dialects/kubevela/kinds.ts';
import { PROPAGATION } from '../../src/dialects/propagation/kinds.ts';
import type { Client, ResourceId } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { type Link, type MemoryLink, memoryLink } from '../../src/link/index.ts';
import { type VirtualRuntime, virtualRuntime } from '../../src/runtime/runtime.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';

export const SPOKE_CLUSTERS: ResourceId = resourceIdOf(SPOKE_CLUSTER);
export const PROPAGATIONS: ResourceId = resourceIdOf(PROPAGATION);
const ADMIN = { name: 'admin', groups: ['system:masters'] };
const ENGINE = { name: 'atoll:engine', groups: ['system:masters'] };

/** A cluster of the simulation: its storage outlives its processes. */
export interface SimulatedCluster {
  readonly name: string;
  readonly storage: StorageDriver;
  server: ApiServer;
  engine: Engine | undefined;
  /** With the administrator's rights. */
  client: Client;
  /** Everything that anyone wrote, by audit. */
  readonly audit: AuditEvent[];
}

export interface SimulatedSpoke extends SimulatedCluster {
  readonly link: MemoryLink;
}

/** A whole fleet in one process, real controllers on a virtual clock: the same seed gives the same run. */
export interface SimulatedFleet {
  readonly runtime: VirtualRuntime;
  readonly hub: SimulatedCluster;
  readonly spokes: readonly SimulatedSpoke[];
  spoke(name: string): SimulatedSpoke;
  /** Ends a cluster's processes without saying goodbye. */
  kill(cluster: SimulatedCluster): Promise<void>;
  start(cluster: SimulatedCluster): Promise<void>;
  stop(): Promise<void>;
}

export async function simulateFleet(seed: number, names: readonly string[]): Promise<SimulatedFleet> {
  const runtime = virtualRuntime(seed);
  const links = new Map<string, Link>();
  const listeners: ((spoke: string) => void)[] = [];

  async function open(cluster: SimulatedCluster): Promise<void> {
    cluster.server = await driven(
      runtime,
      createApiServer({ runtime, storage: cluster.storage, audit: (event) => void cluster.audit.push(event) }),
    );
    cluster.client = createClient((request) => cluster.server.as(ADMIN)(request));
  }

  async function start(cluster: SimulatedCluster): Promise<void> {
    await open(cluster);
    const isHub = cluster.name === 'hub';
    listeners.length = isHub ? 0 : listeners.length;
    cluster.engine = await driven(
      runtime,
      startEngine(runtime, {
        name: cluster.name,
        client: createClient(cluster.server.as(ENGINE), { clock: runtime.clock }),
        version: 'test',
        links: {
          tunnel: (spoke) => links.get(spoke),
          onTunnel: (listener) => void listeners.push(listener),
          direct: () => {
            throw new Error('the simulation has no direct links');
          },
        },
        credentials: { resolve: async () => [], rules: {} },
        roles: isHub ? { hub: true } : { spoke: true },
      }),
    );
  }

  function cluster(name: string): SimulatedCluster {
    return { name, storage: memoryDriver(), audit: [], engine: undefined } as unknown as SimulatedCluster;
  }

  const hub = cluster('hub');
  const spokes = names.map((name): SimulatedSpoke => {
    const spoke = cluster(name);
    const link = memoryLink(runtime, name, (request) =>
      spoke.server.as({ name: HUB_USER, groups: ['system:authenticated'] })(request),
    );
    links.set(name, link);
    return Object.assign(spoke, { link });
  });
  await start(hub);
  for (const spoke of spokes) {
    await start(spoke);
    await driven(
      runtime,
      hub.client.create(SPOKE_CLUSTERS, {
        apiVersion: 'core.oam.dev/v1beta1',
        kind: 'SpokeCluster',
        metadata: { name: spoke.name, namespace: 'default', labels: { 'atoll.dev/cluster': spoke.name } },
        spec: { credential: { type: 'tunnel', tunnel: {} } },
      }),
    );
  }
  return {
    runtime,
    hub,
    spokes,
    spoke: (name) => {
      const found = spokes.find((spoke) => spoke.name === name);
      if (!found) throw new Error(`no spoke ${name}`);
      return found;
    },
    async kill(target): Promise<void> {
      const { engine, server } = target;
      target.engine = undefined;
      await driven(runtime, Promise.all([engine?.stop(), server.close()]));
    },
    start,
    async stop(): Promise<void> {
      for (const target of [hub, ...spokes]) await driven(runtime, Promise.all([target.engine?.stop(), target.server.close()]));
    },
  };
}

/** Awaits something that needs the virtual clock to move. */
export async function driven<T>(runtime: VirtualRuntime, work: Promise<T>): Promise<T> {
  let done = false;
  work.then(
    () => {
      done = true;
    },
    () => {
      done = true;
    },
  );
  await runtime.clock.until(() => done, 60_000, 'the awaited work');
  return work;
}

/** The object, or undefined where it is not there. */
export async function find(fleet: SimulatedFleet, client: Client, apiVersion: string, kind: string, namespace: string, name: string): Promise<KubeObject | undefined> {
  try {
    const resource = await driven(fleet.runtime, client.resourceFor(apiVersion, kind));
    return await driven(fleet.runtime, client.get(resource, namespace, name));
  } catch (error) {
    if ((error as { code?: number }).code === 404) return undefined;
    throw error;
  }
}
