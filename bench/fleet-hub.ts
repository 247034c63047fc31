/**
 * The hub of the fleet benchmark, in a process of its own so that its memory and its time are its own: the engine over an
 * embedded API server on SQLite, and the end of the tunnels. The floor is the end of the tunnels alone, with two bare watches
 * on each spoke. Told what to do over IPC.
 */
import { createApiServer, sqliteDriver } from '../src/apiserver/index.ts';
import { startEngine } from '../src/cli/engine.ts';
import { createLinks } from '../src/cli/links.ts';
import { giveMemoryBackAtRest } from '../src/cli/memory-at-rest.ts';
import { CLUSTER, SPOKE_CLUSTER } from '../src/dialects/kubevela/kinds.ts';
import { PROPAGATION } from '../src/dialects/propagation/kinds.ts';
import type { Propagation } from '../src/dialects/propagation/types.ts';
import {
  ATOLL_API_VERSION,
  DISPATCH,
  type Dispatch,
  SYSTEM_NAMESPACE,
} from '../src/engine/dispatch/index.ts';
import type { Fleet } from '../src/hub/fleet.ts';
import type { Client } from '../src/kube/client.ts';
import { apiVersionOf, resourceIdOf } from '../src/kube/custom-resource.ts';
import type { KubeObject } from '../src/kube/object.ts';
import type { KeyPair } from '../src/kube/pki.ts';
import { createClient } from '../src/kube/rest-client.ts';
import { configMaps, namespaces } from '../src/kube/well-known.ts';
import { type Link, startTunnelListener, type TunnelListener } from '../src/link/index.ts';
import { errorText, systemRuntime } from '../src/runtime/index.ts';
import { answerCommands, HEARTBEAT_MS, now } from './fleet-process.ts';
import { heapByClass, startProfile } from './fleet-profile.ts';

export interface HubStart {
  readonly serving: KeyPair;
  readonly linkCa: KeyPair;
  /** 0 takes a free one. */
  readonly port: number;
  /** Of the database. */
  readonly path: string;
}

export type HubCommand =
  | { readonly do: 'engine' | 'floor'; readonly start: HubStart }
  /** Puts spokes into the inventory, and objects and a Propagation for all of them beside. */
  | { readonly do: 'enlist'; readonly spokes: readonly string[] }
  /** Puts spokes into the inventory, and nothing else. */
  | { readonly do: 'spokes'; readonly spokes: readonly string[] }
  /** An intent of a few objects for some clusters. Resolves to when it was written and when its status said that all are ready. */
  | { readonly do: 'one'; readonly name: string; readonly objects: number; readonly clusters: number }
  /** Many intents of one object each for all clusters. Resolves to when the first was written and all were reported ready. */
  | { readonly do: 'many'; readonly intents: number; readonly clusters: number }
  /** Writes another value to the object of one of the many. Resolves to when that began. */
  | { readonly do: 'change one of many'; readonly index: number; readonly value: string }
  /** Resolves when the hub sees so many spokes; to when it saw each for the first time since `watch`. */
  | { readonly do: 'seen'; readonly count: number }
  | { readonly do: 'forget-seen' }
  /** Writes another value to one of the objects. Resolves to when that began. */
  | { readonly do: 'change'; readonly value: string }
  /** When the hub's own status said that all carried out this generation or a later one, and which. */
  | { readonly do: 'reported'; readonly count: number; readonly generation: number }
  | { readonly do: 'state' }
  | { readonly do: 'profile' }
  | { readonly do: 'profiled'; readonly path: string }
  | { readonly do: 'heap'; readonly path: string };

export interface HubState {
  readonly rss: number;
  readonly heap: number;
  /** Before and after this was found out, which takes some. */
  readonly cpuMs: number;
  readonly cpuAfterMs: number;
  /** Durable writes so far. */
  readonly revision: number;
}

const ADMIN = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
const ENGINE = { name: 'atoll:engine', groups: ['system:masters', 'system:authenticated'] };
const NAMESPACE = 'bench';
const OBJECTS = ['one', 'two', 'three'];
const PROPAGATIONS = resourceIdOf(PROPAGATION);
const DISPATCHES = resourceIdOf(DISPATCH);

const runtime = systemRuntime();
giveMemoryBackAtRest(runtime.clock);
let client: Client | undefined;
let fleet: Fleet | undefined;
let stopProfile: ((path: string) => Promise<void>) | undefined;
/** When each spoke was seen for the first time. */
const seen = new Map<string, number>();
const waiting = new Set<() => void>();
const floor = new Set<Client>();
let floorGeneration = 0;

function noteSeen(spoke: string, live: boolean): void {
  if (!live || seen.has(spoke)) return;
  seen.set(spoke, now());
  for (const check of [...waiting]) check();
}

function whenSeen(count: number): Promise<number[]> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (seen.size < count) return;
      waiting.delete(check);
      resolve([...seen.values()]);
    };
    waiting.add(check);
    check();
  });
}

function listen(start: HubStart, onLink: (link: Link) => void): Promise<TunnelListener> {
  return startTunnelListener(runtime, {
    port: start.port,
    certificate: start.serving.certificate,
    key: start.serving.key,
    linkCa: start.linkCa,
    pingIntervalMs: HEARTBEAT_MS,
    pingTimeoutMs: HEARTBEAT_MS,
    verifySpoke: () => ({ allowed: true }),
    consumeJoinToken: async () => false,
    onLink,
  });
}

async function startEngineHub(start: HubStart): Promise<number> {
  const server = await createApiServer({ runtime, storage: sqliteDriver(start.path) });
  client = createClient(server.as(ADMIN), { clock: runtime.clock });
  const links = createLinks(runtime);
  const engine = await startEngine(runtime, {
    name: 'hub',
    client: createClient(server.as(ENGINE), { userAgent: 'atoll-engine', clock: runtime.clock }),
    version: 'bench',
    links,
    credentials: { resolve: async () => [], rules: {} },
    roles: { hub: true },
  });
  fleet = engine.hub()?.fleet;
  fleet?.onChange(({ spoke }) => noteSeen(spoke, fleet?.session(spoke)?.live === true));
  const listener = await listen(start, (link) => links.add(link));
  return listener.port;
}

async function startFloor(start: HubStart): Promise<number> {
  const listener = await listen(start, (link) => {
    const spoke = createClient(link.handler);
    const follow = async (): Promise<void> => {
      const watches = [DISPATCHES, resourceIdOf(CLUSTER)].map(async (resource) => {
        await spoke.list(resource, SYSTEM_NAMESPACE);
        const events = spoke.watch(resource, SYSTEM_NAMESPACE, { onOpen: () => noteSeen(link.spoke, true) });
        for await (const { type } of events) if (type === 'ERROR') throw new Error('the watch failed');
      });
      await spoke.create(DISPATCHES, floorDispatch());
      floor.add(spoke);
      await Promise.all(watches);
    };
    const stop = link.onChange(({ up }) => {
      if (!up) return;
      stop();
      follow().catch((error: unknown) =>
        process.stderr.write(`a bare watch of ${link.spoke} ended: ${errorText(error)}\n`),
      );
    });
  });
  return listener.port;
}

/** As large as what the engine sends. */
function floorDispatch(): Dispatch {
  const filler = 'x'.repeat(1_024);
  const source = { apiVersion: '', kind: '', namespace: '', name: 'bench', uid: filler, generation: 1 };
  return {
    apiVersion: ATOLL_API_VERSION,
    kind: DISPATCH.kind,
    metadata: { name: 'bench', namespace: SYSTEM_NAMESPACE },
    spec: {
      source,
      position: { lineage: 'bench', epoch: 1, generation: floorGeneration },
      revision: '',
      bundles: [],
      objects: [],
      patches: [],
      tombstones: [],
      publicKey: '',
    },
  };
}

async function enlist(spokes: readonly string[]): Promise<void> {
  const hub = started(client);
  await hub.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } });
  for (const name of spokes)
    await hub.create(resourceIdOf(SPOKE_CLUSTER), {
      apiVersion: apiVersionOf(SPOKE_CLUSTER),
      kind: SPOKE_CLUSTER.kind,
      metadata: { name, namespace: 'default', labels: { site: name } },
      spec: { credential: { type: 'tunnel', tunnel: {} } },
    } as KubeObject);
}

/** Asks for the objects on all spokes. One that is there already stays. */
async function propagate(): Promise<void> {
  const selector = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    labelSelector: { matchLabels: { app: 'bench' } },
  };
  await started(client).create(PROPAGATIONS, {
    apiVersion: apiVersionOf(PROPAGATION),
    kind: PROPAGATION.kind,
    metadata: { name: 'bench', namespace: NAMESPACE },
    spec: { resourceSelectors: [selector], placement: { clusterSelector: {} } },
  } as KubeObject);
}

function configMap(name: string, value: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace: NAMESPACE, labels: { app: 'bench' } },
    data: { value, filler: 'x'.repeat(512) },
  } as KubeObject;
}

function intentFor(name: string, clusters: number): KubeObject {
  const labelSelector = { matchLabels: { intent: name } };
  return {
    apiVersion: apiVersionOf(PROPAGATION),
    kind: PROPAGATION.kind,
    metadata: { name, namespace: NAMESPACE },
    spec: {
      resourceSelectors: [{ apiVersion: 'v1', kind: 'ConfigMap', labelSelector }],
      placement: { clusterSelector: {}, numberOfClusters: clusters },
    },
  } as KubeObject;
}

function objectOf(intent: string, name: string): KubeObject {
  const made = configMap(name, 'first');
  return { ...made, metadata: { ...made.metadata, labels: { intent } } };
}

interface Span {
  readonly began: number;
  readonly reported: number;
}

async function oneIntent(name: string, objects: number, clusters: number): Promise<Span> {
  const hub = started(client);
  for (let index = 0; index < objects; index++)
    await hub.create(configMaps, objectOf(name, `${name}-${index}`));
  const began = now();
  const reported = whenAllReady(1, clusters, (propagation) => propagation.metadata.name === name);
  await hub.create(PROPAGATIONS, intentFor(name, clusters));
  return { began, reported: await reported };
}

async function manyIntents(intents: number, clusters: number): Promise<Span> {
  const hub = started(client);
  const began = now();
  const reported = whenAllReady(
    intents,
    clusters,
    ({ metadata }) => metadata.name?.startsWith('many-') === true,
  );
  for (let index = 0; index < intents; index++) {
    const name = `many-${index}`;
    await hub.create(configMaps, objectOf(name, name));
    await hub.create(PROPAGATIONS, intentFor(name, clusters));
  }
  return { began, reported: await reported };
}

/** When the hub's own statuses said of so many intents that they are ready on so many clusters. */
async function whenAllReady(
  intents: number,
  clusters: number,
  counts: (propagation: Propagation) => boolean,
): Promise<number> {
  const abort = new AbortController();
  const ready = new Set<string>();
  const events = started(client).watch<Propagation>(PROPAGATIONS, NAMESPACE, {
    sendInitialEvents: true,
    signal: abort.signal,
  });
  for await (const { type, object } of events) {
    if (type !== 'ADDED' && type !== 'MODIFIED') continue;
    const propagation = object as Propagation;
    if (!counts(propagation) || propagation.status?.ready !== clusters) continue;
    ready.add(propagation.metadata.name ?? '');
    if (ready.size < intents) continue;
    abort.abort();
    return now();
  }
  throw new Error('the watch of Propagations ended');
}

async function change(value: string): Promise<number> {
  const began = now();
  if (client) {
    await client.apply(configMaps, configMap('one', value), { fieldManager: 'bench', force: true });
    return began;
  }
  floorGeneration += 1;
  await Promise.all([...floor].map((spoke) => spoke.update(DISPATCHES, floorDispatch())));
  return began;
}

async function whenReported(count: number, generation: number): Promise<{ at: number; reached: number }> {
  const abort = new AbortController();
  const events = started(client).watch<Propagation>(PROPAGATIONS, NAMESPACE, {
    sendInitialEvents: true,
    signal: abort.signal,
  });
  for await (const { type, object } of events) {
    if (type !== 'ADDED' && type !== 'MODIFIED') continue;
    const { ready, dispatchGeneration = 0 } = (object as Propagation).status ?? {};
    if (ready !== count || dispatchGeneration < generation) continue;
    abort.abort();
    return { at: now(), reached: dispatchGeneration };
  }
  throw new Error('the watch of Propagations ended');
}

async function state(): Promise<HubState> {
  const cpuMs = cpu();
  globalThis.gc?.();
  globalThis.gc?.();
  const list = await client?.list(namespaces, '');
  const { rss, heapUsed: heap } = process.memoryUsage();
  const revision = Number(list?.metadata.resourceVersion ?? 0);
  return { rss, heap, cpuMs, cpuAfterMs: cpu(), revision };
}

function cpu(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function started<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the hub has not been started');
  return value;
}

answerCommands<HubCommand>(async (command) => {
  switch (command.do) {
    case 'engine':
      return startEngineHub(command.start);
    case 'floor':
      return startFloor(command.start);
    case 'enlist':
      await enlist(command.spokes);
      for (const name of OBJECTS) await started(client).create(configMaps, configMap(name, 'first'));
      return propagate();
    case 'spokes':
      return enlist(command.spokes);
    case 'one':
      return oneIntent(command.name, command.objects, command.clusters);
    case 'many':
      return manyIntents(command.intents, command.clusters);
    case 'change one of many': {
      const began = now();
      const patch = { data: { value: command.value } };
      await started(client).patch(configMaps, NAMESPACE, `many-${command.index}`, 'merge', patch);
      return began;
    }
    case 'seen':
      return whenSeen(command.count);
    case 'forget-seen':
      seen.clear();
      return undefined;
    case 'change':
      return change(command.value);
    case 'reported':
      return whenReported(command.count, command.generation);
    case 'state':
      return state();
    case 'profile':
      stopProfile = await startProfile();
      return undefined;
    case 'profiled':
      return stopProfile?.(command.path);
    case 'heap':
      return heapByClass(command.path);
  }
});
