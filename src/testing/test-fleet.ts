import {
  type ApiServer,
  type AuditEvent,
  createApiServer,
  memoryDriver,
  type StorageDriver,
} from '../apiserver/index.ts';
import { startWorkloads, type Workloads } from '../apiserver/workloads/index.ts';
import { type Engine, loadRoles, startEngine } from '../cli/engine.ts';
import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import type { SchedulerPlugin } from '../hub/placement/index.ts';
import type { Client } from '../kube/client.ts';
import { apiVersionOf, resourceIdOf } from '../kube/custom-resource.ts';
import type { Handler } from '../kube/exchange.ts';
import type { KubeObject } from '../kube/object.ts';
import { createClient } from '../kube/rest-client.ts';
import { hasCode } from '../kube/status-error.ts';
import { handlerUpgrader } from '../kube/wire/index.ts';
import { directLink, type MemoryLink, memoryLink } from '../link/index.ts';
import {
  type Logger,
  type Runtime,
  sleep,
  systemRuntime,
  type VirtualRuntime,
  virtualRuntime,
} from '../runtime/index.ts';
import { hubDoor } from '../spoke/hub-door.ts';
import { isVirtual, untilHolds, whileTimePasses } from './moving-time.ts';

/** A cluster of a test: its storage outlives its processes. */
export interface TestCluster {
  readonly name: string;
  /** May be replaced while the cluster is killed, as a restored backup would. */
  storage: StorageDriver;
  /** That of the last start: one that was killed answers no more. */
  readonly server: ApiServer;
  /** Undefined while the cluster is killed. */
  readonly engine: Engine | undefined;
  /** With the administrator's rights; it is another after each start. */
  readonly client: Client;
  /** Everything that anyone did, by audit. */
  readonly audit: AuditEvent[];
  /** The tunnels of its spokes, by name. */
  readonly tunnels: Map<string, MemoryLink>;
}

/** A cluster that some other cluster is the hub of. */
export interface TestSpoke extends TestCluster {
  readonly link: MemoryLink;
}

export interface TestFleetOptions {
  /** Their names, or how many: `spoke-1`, `spoke-2` … */
  readonly spokes: number | readonly string[];
  /**
   * A clock that moves only with {@link TestFleet.run}, `until` and `rest`. The same seed gives the same run. `start` is the
   * time at its beginning, milliseconds since the epoch: no earlier than what was last written to a storage that holds something.
   */
  readonly virtualTime?: boolean | { readonly seed: number; readonly start?: number };
  /** Whether Deployments, Pods and the like come alive on spokes. By default they are only stored. */
  readonly workloads?: boolean;
  /** How long each request of an engine to its own API server takes each way, at the most; none by default. */
  readonly engineLatencyMs?: number;
  /** Rules that the hub places by, beside its own: see `atoll hub --scheduler-plugin`. */
  readonly schedulerPlugins?: readonly SchedulerPlugin[];
  readonly log?: Logger;
  /** Where a cluster keeps what it stores; in memory by default. One that holds a cluster already is gone on with. */
  readonly storage?: (cluster: string) => StorageDriver;
  /** Whether the storages hold already what an engine installs (its kinds, the rights of hubs), so that starts need not look. */
  readonly kindsInstalled?: boolean;
  /** Stands between the hub and a spoke: what it does to requests is what the network does. */
  readonly network?: (spoke: string, handler: Handler) => Handler;
  /** Stands between an engine and the API server of its own cluster: what fails there fails for the engine alone. */
  readonly engineApi?: (cluster: string, handler: Handler) => Handler;
  /** Servers reached by kubeconfig, at `https://<name>.test`; the engine on them is started by hand. */
  readonly direct?: Readonly<Record<string, Handler>>;
}

/** A hub and spokes in one process, with the engines that run elsewhere too; between them are links that can be cut. */
export interface TestFleet<R extends Runtime = Runtime> extends AsyncDisposable {
  readonly runtime: R;
  readonly hub: TestCluster;
  readonly spokes: readonly TestSpoke[];
  /** Throws an Error where there is none of that name. */
  spoke(name: string): TestSpoke;
  /** Starts one more cluster, with an engine, below `parent`. It is in nobody's inventory until a SpokeCluster stands for it. */
  add(name: string, parent: TestCluster): Promise<TestSpoke>;
  /** Takes a spoke's link down, until {@link heal}. What was under way fails on both sides. */
  cut(spoke: string): void;
  heal(spoke: string): void;
  /** Ends a cluster's API server and engine without saying goodbye. Its storage stays. */
  kill(cluster: TestCluster | string): Promise<void>;
  /** Starts a killed cluster again, on what it had stored. */
  start(cluster: TestCluster | string): Promise<void>;
  stop(): Promise<void>;
  /** Awaits something that may need virtual time to pass, such as any request. */
  run<T>(work: Promise<T>): Promise<T>;
  /** Waits, or moves the virtual clock, until the condition holds; says `what` is missing when it does not. A minute at most by default. */
  until(condition: () => boolean | Promise<boolean>, what: string, limitMs?: number): Promise<void>;
  /** Lets time pass. */
  rest(ms: number): Promise<void>;
}

const ADMINISTRATOR = { name: 'admin', groups: ['system:masters'] };
const ENGINE = { name: 'atoll:engine', groups: ['system:masters'] };
const KUBELET = { name: 'system:kube-controller-manager', groups: ['system:masters'] };
const HUB = 'hub';
/** The seed of a fleet that names none. */
const SEED = 1;

/** Starts a fleet. Resolves when every engine runs and every spoke is in the hub's inventory. */
export function startTestFleet(
  options: TestFleetOptions & {
    readonly virtualTime: true | { readonly seed: number; readonly start?: number };
  },
): Promise<TestFleet<VirtualRuntime>>;
export function startTestFleet(options: TestFleetOptions): Promise<TestFleet>;
export function startTestFleet(options: TestFleetOptions): Promise<TestFleet> {
  const { virtualTime = false, log } = options;
  if (virtualTime === false) return fleetOn(systemRuntime(log), options);
  const { seed, start } = virtualTime === true ? { seed: SEED, start: undefined } : virtualTime;
  return fleetOn(virtualRuntime(seed, log, start), options);
}

async function fleetOn(runtime: Runtime, options: TestFleetOptions): Promise<TestFleet> {
  await loadRoles();
  const { clock } = runtime;
  const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(clock, work);
  const storageOf = options.storage ?? (() => memoryDriver());
  const clusters: Placed[] = [];
  const spokes: TestSpoke[] = [];

  /** The engine's client comes with `start`, like all that a process has in memory. */
  async function start(target: TestCluster): Promise<void> {
    const { state } = placed(target);
    const server = await run(
      createApiServer({
        runtime,
        storage: target.storage,
        audit: (event) => void target.audit.push(event),
        spaces: (path) => state.engine?.access()?.spaces(path),
        // Nothing real runs in a fleet's pods: they may come before their namespace's service account.
        ...(options.workloads === true ? { disableAdmissionPlugins: ['ServiceAccount'] } : {}),
      }),
    );
    state.server = server;
    state.client = createClient(server.as(ADMINISTRATOR));
    if (options.workloads === true && target !== hub)
      state.workloads = startWorkloads(runtime, createClient(server.as(KUBELET), { clock }), {
        nodes: { namePrefix: `${target.name}-node` },
      });
    const engineApi = options.engineApi?.(target.name, server.as(ENGINE)) ?? server.as(ENGINE);
    state.engine = await run(
      startEngine(runtime, {
        name: target.name,
        client: createClient(delayed(runtime, engineApi, options.engineLatencyMs ?? 0), { clock }),
        version: 'test',
        kindsInstalled: options.kindsInstalled ?? false,
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
        schedulerPlugins: options.schedulerPlugins ?? [],
        openEndpoint: ({ url }) => {
          const handler = options.direct?.[new URL(url).hostname.replace(/\.test$/, '')] ?? refused;
          return Object.assign(handler.bind(undefined), { close: async () => undefined });
        },
      }),
    );
  }

  async function kill(target: TestCluster): Promise<void> {
    const { state } = placed(target);
    const { workloads, engine, server } = state;
    state.workloads = undefined;
    state.engine = undefined;
    await run(Promise.all([workloads?.stop(), engine?.stop(), server?.close()]));
  }

  async function add(name: string, parent: TestCluster): Promise<TestSpoke> {
    if (clusters.some(({ cluster }) => cluster.name === name))
      throw new Error(`there is a cluster ${name} already`);
    const state: Running = {};
    const serve = hubDoor(
      (user) => (request) =>
        state.server?.ready
          ? state.server.as(user)(request)
          : Promise.reject(new Error(`connect ECONNREFUSED: ${name} is not running`)),
      (request) =>
        state.server?.ready
          ? state.server.handle(request, {})
          : Promise.reject(new Error(`connect ECONNREFUSED: ${name} is not running`)),
    );
    const link = memoryLink(runtime, name, options.network?.(name, serve) ?? serve, {
      upgrade: handlerUpgrader(serve),
    });
    const spoke = clusterOf(name, state, storageOf(name), { link });
    parent.tunnels.set(name, link);
    clusters.push({ cluster: spoke, state });
    spokes.push(spoke);
    await start(spoke);
    return spoke;
  }

  async function register(name: string): Promise<void> {
    const entry = inventoryEntry(name);
    try {
      // A hub that goes on with what it had stored has it already.
      await hub.client.get(resourceIdOf(SPOKE_CLUSTER), entry.metadata.namespace ?? '', name);
    } catch (error) {
      if (!hasCode(error, 404)) throw error;
      await hub.client.create(resourceIdOf(SPOKE_CLUSTER), entry);
    }
  }

  function placed(target: TestCluster): Placed {
    const found = clusters.find(({ cluster }) => cluster === target);
    if (!found) throw new Error(`${target.name} is not a cluster of this fleet`);
    return found;
  }

  function named(name: string): TestCluster {
    return name === HUB ? hub : spokeNamed(name);
  }

  function spokeNamed(name: string): TestSpoke {
    const found = spokes.find((spoke) => spoke.name === name);
    if (!found)
      throw new Error(`no spoke ${name}; there are ${spokes.map((spoke) => spoke.name).join(', ')}`);
    return found;
  }

  async function stop(): Promise<void> {
    for (const { cluster } of clusters) await kill(cluster);
  }

  const hubState: Running = {};
  const hub: TestCluster = clusterOf(HUB, hubState, storageOf(HUB), {});
  clusters.push({ cluster: hub, state: hubState });
  try {
    await start(hub);
    for (const name of namesOf(options.spokes)) {
      await add(name, hub);
      await run(register(name));
    }
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    runtime,
    hub,
    spokes,
    add,
    run,
    stop,
    spoke: spokeNamed,
    cut: (name) => spokeNamed(name).link.cut(),
    heal: (name) => spokeNamed(name).link.heal(),
    kill: (target) => kill(typeof target === 'string' ? named(target) : target),
    start: (target) => start(typeof target === 'string' ? named(target) : target),
    until: (condition, what, limitMs) => untilHolds(clock, condition, what, limitMs),
    rest: (ms) => (isVirtual(clock) ? clock.advance(ms) : sleep(clock, ms)),
    [Symbol.asyncDispose]: stop,
  };
}

/** What a cluster has in memory, and loses when it is killed. */
interface Running {
  server?: ApiServer;
  client?: Client;
  engine?: Engine | undefined;
  workloads?: Workloads | undefined;
}

interface Placed {
  readonly cluster: TestCluster;
  readonly state: Running;
}

function clusterOf<T extends object>(
  name: string,
  state: Running,
  storage: StorageDriver,
  more: T,
): TestCluster & T {
  const started = <V>(value: V | undefined): V => {
    if (value === undefined) throw new Error(`${name} has not been started`);
    return value;
  };
  return {
    name,
    storage,
    audit: [],
    tunnels: new Map(),
    ...more,
    get server(): ApiServer {
      return started(state.server);
    },
    get client(): Client {
      return started(state.client);
    },
    get engine(): Engine | undefined {
      return state.engine;
    },
  };
}

function namesOf(spokes: number | readonly string[]): readonly string[] {
  return typeof spokes === 'number'
    ? Array.from({ length: spokes }, (_, index) => `spoke-${index + 1}`)
    : spokes;
}

/** A tunnelled SpokeCluster; every one has the label `site` with its name. */
function inventoryEntry(name: string): KubeObject {
  return {
    apiVersion: apiVersionOf(SPOKE_CLUSTER),
    kind: SPOKE_CLUSTER.kind,
    metadata: { name, namespace: 'default', labels: { site: name } },
    spec: { credential: { type: 'tunnel', tunnel: {} } },
  } as KubeObject;
}

/** Takes its time on the way there and back, so that requests cross. Streams are as they are. */
function delayed(runtime: Runtime, handler: Handler, longestMs: number): Handler {
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
