import {
  type ApiServer,
  type AuditEvent,
  createApiServer,
  memoryDriver,
  type StorageDriver,
} from '../../src/apiserver/index.ts';
import { type Engine, startEngine } from '../../src/cli/engine.ts';
import { SPOKE_CLUSTER } from '../../src/dialects/kubevela/kinds.ts';
import { PROPAGATION } from '../../src/dialects/propagation/kinds.ts';
import { DISPATCH, SYSTEM_NAMESPACE } from '../../src/engine/dispatch/index.ts';
import type { Client, ResourceId } from '../../src/kube/client.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { Condition, KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { directLink, type MemoryLink, memoryLink } from '../../src/link/index.ts';
import { sleep } from '../../src/runtime/clock.ts';
import type { Logger } from '../../src/runtime/log.ts';
import { type VirtualRuntime, virtualRuntime } from '../../src/runtime/runtime.ts';
import { HUB_USER } from '../../src/spoke/hub-access.ts';

export const SPOKE_CLUSTERS: ResourceId = resourceIdOf(SPOKE_CLUSTER);
export const PROPAGATIONS: ResourceId = resourceIdOf(PROPAGATION);
export const DISPATCHES: ResourceId = resourceIdOf(DISPATCH);
const ADMIN = { name: 'admin', groups: ['system:masters'] };
const ENGINE = { name: 'atoll:engine', groups: ['system:masters'] };

/** A cluster of the simulation: its storage outlives its processes. */
export interface SimulatedCluster {
  readonly name: string;
  storage: StorageDriver;
  server: ApiServer;
  engine: Engine | undefined;
  /** With the administrator's rights. */
  client: Client;
  /** Everything that anyone did, by audit. */
  readonly audit: AuditEvent[];
  /** The tunnels of its spokes, by name. */
  readonly tunnels: Map<string, MemoryLink>;
}

/** A cluster that some other cluster is the hub of. */
export interface SimulatedSpoke extends SimulatedCluster {
  readonly link: MemoryLink;
}

export interface SimulationOptions {
  /** How long each request of an engine to its own API server takes each way, at the most; none by default. */
  readonly engineLatencyMs?: number;
  readonly log?: Logger;
  /** Servers reached by kubeconfig, at `https://<name>.test`; the engine on them is started by hand. */
  readonly direct?: Readonly<Record<string, Handler>>;
}

/** A whole fleet in one process, real controllers on a virtual clock: the same seed gives the same run. */
export interface SimulatedFleet {
  readonly runtime: VirtualRuntime;
  readonly hub: SimulatedCluster;
  readonly spokes: readonly SimulatedSpoke[];
  spoke(name: string): SimulatedSpoke;
  /** Starts one more cluster, with an engine, below `parent`. It is not in the inventory until {@link join}. */
  add(name: string, parent: SimulatedCluster): Promise<SimulatedSpoke>;
  /** Ends a cluster's processes without saying goodbye. */
  kill(cluster: SimulatedCluster): Promise<void>;
  start(cluster: SimulatedCluster): Promise<void>;
  stop(): Promise<void>;
  /** Awaits something that needs the virtual clock to move. */
  run<T>(work: Promise<T>): Promise<T>;
  /** Moves the clock until the condition holds; says what is missing when it does not. */
  until(condition: () => boolean, what: string, limitMs?: number): Promise<void>;
  /** Lets time pass. */
  rest(ms: number): Promise<void>;
}

export async function simulateFleet(
  seed: number,
  names: readonly string[],
  options: SimulationOptions = {},
): Promise<SimulatedFleet> {
  const runtime = virtualRuntime(seed, options.log);
  const run = <T>(work: Promise<T>): Promise<T> => driven(runtime, work);
  const clusters: SimulatedCluster[] = [];
  const spokes: SimulatedSpoke[] = [];

  function cluster(name: string): SimulatedCluster {
    const fresh = { name, storage: memoryDriver(), audit: [], engine: undefined, tunnels: new Map() };
    // Server and client come with `start`.
    return fresh as unknown as SimulatedCluster;
  }

  async function start(target: SimulatedCluster): Promise<void> {
    target.server = await run(
      createApiServer({
        runtime,
        storage: target.storage,
        audit: (event) => void target.audit.push(event),
      }),
    );
    target.client = createClient(target.server.as(ADMIN));
    target.engine = await run(
      startEngine(runtime, {
        name: target.name,
        client: createClient(delayed(runtime, target.server.as(ENGINE), options.engineLatencyMs ?? 0), {
          clock: runtime.clock,
        }),
        version: 'test',
        links: {
          tunnel: (spoke) => target.tunnels.get(spoke),
          onTunnel: () => undefined,
          forget: () => undefined,
          direct: (spoke, endpoint) => {
            const handler = options.direct?.[new URL(endpoint.url).hostname.replace(/\.test$/, '')];
            return directLink(runtime, spoke, handler ?? refused);
          },
        },
        credentials: { resolve: async () => ['10.0.0.5'], rules: {} },
        roles: target === hub ? { hub: true } : { spoke: true },
      }),
    );
  }

  async function add(name: string, parent: SimulatedCluster): Promise<SimulatedSpoke> {
    const fresh = cluster(name);
    const link = memoryLink(runtime, name, (request) =>
      fresh.server.ready
        ? fresh.server.as({ name: HUB_USER, groups: ['system:authenticated'] })(request)
        : Promise.reject(new Error(`connect ECONNREFUSED: ${name} is not running`)),
    );
    parent.tunnels.set(name, link);
    const spoke: SimulatedSpoke = Object.assign(fresh, { link });
    await start(spoke);
    clusters.push(spoke);
    spokes.push(spoke);
    return spoke;
  }

  const hub = cluster('hub');
  await start(hub);
  clusters.push(hub);
  for (const name of names) {
    await add(name, hub);
    await run(hub.client.create(SPOKE_CLUSTERS, spokeCluster(name)));
  }

  return {
    runtime,
    hub,
    spokes,
    add,
    start,
    run,
    spoke: (name) => {
      const found = spokes.find((spoke) => spoke.name === name);
      if (!found) throw new Error(`no spoke ${name}`);
      return found;
    },
    async kill(target): Promise<void> {
      const { engine, server } = target;
      target.engine = undefined;
      await run(Promise.all([engine?.stop(), server.close()]));
    },
    async stop(): Promise<void> {
      for (const target of clusters) await run(Promise.all([target.engine?.stop(), target.server.close()]));
    },
    until: (condition, what, limitMs = 60_000) => runtime.clock.until(condition, limitMs, what),
    rest: (ms) => runtime.clock.advance(ms),
  };
}

/** Takes its time on the way there and back, so that requests cross. Streams are as they are. */
function delayed(runtime: VirtualRuntime, handler: Handler, longestMs: number): Handler {
  if (longestMs === 0) return handler;
  const travel = (signal?: AbortSignal): Promise<void> =>
    sleep(runtime.clock, Math.floor(runtime.random.next() * longestMs), signal);
  return async (request) => {
    await travel(request.signal);
    const response = await handler(request);
    if (response.body instanceof Uint8Array) await travel(request.signal);
    return response;
  };
}

const refused: Handler = () => Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:443'));

/** Awaits something that needs the virtual clock to move. */
export async function driven<T>(runtime: VirtualRuntime, work: Promise<T>): Promise<T> {
  let done = false;
  const finish = (): void => {
    done = true;
  };
  work.then(finish, finish);
  await runtime.clock.until(() => done, 60_000, 'the awaited work');
  return work;
}

/** A tunnelled SpokeCluster; every one has the label `site` with its name. */
export function spokeCluster(
  name: string,
  labels: Record<string, string> = {},
  spec: object = {},
): KubeObject {
  return {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: { name, namespace: 'default', labels: { site: name, ...labels } },
    spec: { credential: { type: 'tunnel', tunnel: {} }, ...spec },
  };
}

/** What is stored, read past the API: `group/resource/namespace/name`. */
export function stored(target: SimulatedCluster, path: string): KubeObject | undefined {
  return target.server.store.get(storeKey(path))?.object;
}

/** Everything stored on a cluster, as key and revision: equal when nobody wrote anything in between. */
export function everything(target: SimulatedCluster): Record<string, number> {
  return Object.fromEntries(target.server.store.list('').records.map(({ key, revision }) => [key, revision]));
}

/** Objects below `group/resource/namespace` (`-` for cluster-scoped ones). */
export function storedBelow(target: SimulatedCluster, path: string): KubeObject[] {
  return target.server.store.list(`${storeKey(path)}/`).records.map((record) => record.object);
}

function storeKey(path: string): string {
  const [group = '', resource = '', ...rest] = path.split('/');
  return `/${group}/${resource}/root/${rest.join('/')}`;
}

/** The dispatches on a spoke. */
export function dispatchesOn(target: SimulatedCluster): KubeObject[] {
  return storedBelow(target, `atoll.dev/dispatches/${SYSTEM_NAMESPACE}`);
}

/** `True/Reason`, `False/Reason` … of a condition; '' where there is none. */
export function conditionOf(object: KubeObject | undefined, type: string): string {
  const { conditions = [] } = (object?.['status'] ?? {}) as { conditions?: Condition[] };
  const found = conditions.find((condition) => condition.type === type);
  return found ? `${found.status}/${found.reason}` : '';
}

export function conditionMessage(object: KubeObject | undefined, type: string): string {
  const { conditions = [] } = (object?.['status'] ?? {}) as { conditions?: Condition[] };
  return conditions.find((condition) => condition.type === type)?.message ?? '';
}

/** Writes by a user, from an audit log: `create configmaps`, once each. */
export function writesBy(audit: readonly AuditEvent[], user: string): string[] {
  const writes = audit.filter(
    (event) =>
      event.user.username === user &&
      !['get', 'list', 'watch'].includes(event.verb) &&
      event.responseStatus.code < 300,
  );
  return [
    ...new Set(writes.map((event) => `${event.verb} ${event.objectRef?.resource ?? event.requestURI}`)),
  ].sort();
}
