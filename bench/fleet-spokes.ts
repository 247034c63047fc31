/**
 * All spokes of the fleet benchmark, in a process of their own: stand-ins, or real spoke engines over one embedded API server
 * with a logical cluster each. All dial the hub by tunnels. Told what to do over IPC.
 */
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { createApiServer, memoryDriver } from '../src/apiserver/index.ts';
import { startEngine } from '../src/cli/engine.ts';
import { DISPATCH, type Dispatch, SYSTEM_NAMESPACE } from '../src/engine/dispatch/index.ts';
import { resourceIdOf } from '../src/kube/custom-resource.ts';
import { type Handler, prefixedHandler } from '../src/kube/exchange.ts';
import { startInformer } from '../src/kube/informer-cache.ts';
import { createClient } from '../src/kube/rest-client.ts';
import { namespaces } from '../src/kube/well-known.ts';
import { startTunnelDialer } from '../src/link/index.ts';
import { systemRuntime } from '../src/runtime/index.ts';
import { hubDoor } from '../src/spoke/hub-door.ts';
import { answerCommands, HEARTBEAT_MS, now } from './fleet-process.ts';
import { standInSpoke } from './fleet-stand-in.ts';
import type { Identity } from './links-end.ts';

export type SpokesCommand =
  | {
      readonly do: 'dial';
      readonly kind: 'stand-ins' | 'engines';
      readonly port: number;
      readonly hubCa: string;
      readonly identities: readonly Identity[];
    }
  /** When each spoke had carried out this generation, once all have. */
  | { readonly do: 'applied'; readonly generation: number }
  /** When orders were carried out since `listen`, once there are so many. */
  | { readonly do: 'carried out'; readonly count: number }
  | { readonly do: 'listen' }
  /** Writes that the hub asked for so far, and those that engines made on their own servers. */
  | { readonly do: 'writes' }
  /** Breaks all connections at once. */
  | { readonly do: 'cut' };

const ENGINE = { name: 'atoll:engine', groups: ['system:masters', 'system:authenticated'] };
const WRITES = new Set(['POST', 'PUT', 'PATCH', 'DELETE']);
const runtime = systemRuntime();
const sockets = new Set<Socket>();
/** By spoke: when which generation was carried out first. */
const applied = new Map<string, Map<number, number>>();
const waiting = new Set<() => void>();
const carriedOut: number[] = [];
let hubWrites = 0;
let ownRevision = (): Promise<number> => Promise.resolve(0);

subscribe('net.client.socket', (message) => {
  const { socket } = message as { socket: Socket };
  sockets.add(socket);
  socket.once('close', () => sockets.delete(socket));
});

function noteApplied(spoke: string, generation: number): void {
  carriedOut.push(now());
  let times = applied.get(spoke);
  if (!times) {
    times = new Map();
    applied.set(spoke, times);
  }
  if (!times.has(generation)) times.set(generation, now());
  for (const check of [...waiting]) check();
}

function whenApplied(generation: number): Promise<number[]> {
  let next = [...applied.keys()];
  return new Promise((resolve) => {
    const check = (): void => {
      next = next.filter((spoke) => applied.get(spoke)?.has(generation) !== true);
      if (next.length > 0) return;
      waiting.delete(check);
      resolve([...applied.values()].map((times) => times.get(generation) ?? Number.NaN));
    };
    waiting.add(check);
    check();
  });
}

function whenCarriedOut(count: number): Promise<readonly number[]> {
  return new Promise((resolve) => {
    const check = (): void => {
      if (carriedOut.length < count) return;
      waiting.delete(check);
      resolve(carriedOut);
    };
    waiting.add(check);
    check();
  });
}

function counted(handler: Handler): Handler {
  return (request) => {
    // Those of the link itself are no writes to the spoke's API.
    if (WRITES.has(request.method) && request.path.startsWith('/api')) hubWrites += 1;
    return handler(request);
  };
}

/** Makes the API that each spoke shows to the hub. */
async function apis(kind: 'stand-ins' | 'engines'): Promise<(spoke: string) => Promise<Handler>> {
  if (kind === 'stand-ins')
    return async (spoke) => standInSpoke(spoke, (generation) => noteApplied(spoke, generation)).handler;
  const server = await createApiServer({ runtime, storage: memoryDriver() });
  const root = createClient(server.as(ENGINE));
  ownRevision = async () => Number((await root.list(namespaces, '')).metadata.resourceVersion ?? 0);
  return async (spoke) => {
    await server.createCluster(spoke);
    const prefix = `/clusters/${spoke}`;
    const client = createClient(prefixedHandler(server.as(ENGINE), prefix), { clock: runtime.clock });
    const links = { tunnel: () => undefined, onTunnel: () => {}, forget: () => {}, direct: refuse };
    const credentials = { resolve: async () => [], rules: {} };
    await startEngine(runtime, {
      name: spoke,
      client,
      version: 'bench',
      links,
      credentials,
      roles: { spoke: true },
    });
    const options = { namespace: SYSTEM_NAMESPACE };
    startInformer<Dispatch>(runtime, client, resourceIdOf(DISPATCH), options).onChange(({ object }) => {
      const { appliedGeneration } = object.status ?? {};
      if (appliedGeneration !== undefined) noteApplied(spoke, appliedGeneration);
    });
    return hubDoor((user) => prefixedHandler(server.as(user), prefix));
  };
}

function refuse(): never {
  throw new Error('a spoke of this benchmark has no spokes');
}

answerCommands<SpokesCommand>(async (command) => {
  switch (command.do) {
    case 'dial': {
      const api = await apis(command.kind);
      for (const { spoke, key, certificate } of command.identities) {
        applied.set(spoke, new Map());
        startTunnelDialer(runtime, {
          hubAddress: `127.0.0.1:${command.port}`,
          hubCaPem: command.hubCa,
          spoke,
          keyStore: { load: async () => ({ key, certificate }), save: async () => {} },
          serve: counted(await api(spoke)),
          pingIntervalMs: HEARTBEAT_MS,
          pingTimeoutMs: HEARTBEAT_MS,
          transports: ['tls'],
        });
      }
      return undefined;
    }
    case 'applied':
      return whenApplied(command.generation);
    case 'listen':
      carriedOut.length = 0;
      return undefined;
    case 'carried out':
      return whenCarriedOut(command.count);
    case 'writes':
      return { byHub: hubWrites, own: await ownRevision() };
    case 'cut':
      for (const socket of [...sockets]) socket.destroy();
      return now();
  }
});
