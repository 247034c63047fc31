import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../apiserver/index.ts';
import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../dialects/kubevela/types.ts';
import { createJoinToken, readLinkNotice, tunnelCluster } from '../hub/join/index.ts';
import type { Client } from '../kube/client.ts';
import { installKinds, resourceIdOf } from '../kube/custom-resource.ts';
import type { LedWork } from '../kube/leadership.ts';
import { createClient } from '../kube/rest-client.ts';
import type { TunnelListener } from '../link/index.ts';
import { systemRuntime, virtualRuntime } from '../runtime/index.ts';
import { hubDoor } from '../spoke/hub-door.ts';
import { untilHolds, whileTimePasses } from '../testing/moving-time.ts';
import { type Engine, startEngine } from './engine.ts';
import { type HubReplica, leadHub, peersAt } from './hub-replicas.ts';
import type { CredentialPlace, KeptCredentials } from './key-store.ts';
import { dialHub, listenForSpokes } from './link-ends.ts';
import { createLinks, type Links } from './links.ts';

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
const ENGINE = { name: 'atoll:engine', groups: ['system:masters'] };
const runtime = systemRuntime();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

const NO_CLOUD = { resolve: async () => [], rules: {} };

async function serve(): Promise<{ server: ApiServer; client: Client }> {
  const server = await createApiServer({ runtime, storage: memoryDriver() });
  closing.push(() => server.close());
  return { server, client: createClient(server.as(ENGINE), { clock: runtime.clock }) };
}

it('a replica begins nothing anew before what it had begun is stopped', async () => {
  const virtual = virtualRuntime(1);
  const { clock } = virtual;
  const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(clock, work);
  const server = await run(createApiServer({ runtime: virtual, storage: memoryDriver() }));
  closing.push(() => run(server.close()));
  const told: string[] = [];
  const part = (name: string): LedWork => {
    told.push(`${name} begins`);
    return { stop: async () => void told.push(`${name} stops`) };
  };
  const client = createClient(server.as(ENGINE), { clock });
  const replica = await run(
    leadHub(virtual, { client, identity: 'a' }, async (begun) => {
      begun.push(part('engine'));
      if (told.length === 1) throw new Error('the port is taken');
      return part('all');
    }),
  );
  await untilHolds(clock, () => told.includes('all begins'), 'another try');
  await run(replica.stop());
  expect(told).toEqual(['engine begins', 'engine stops', 'engine begins', 'all begins', 'all stops']);
});

interface Replica {
  readonly listener: TunnelListener;
  readonly replica: HubReplica;
  readonly links: Links;
  engine(): Engine | undefined;
}

/** One process of a hub, on the API server that it shares with the others. */
async function startReplica(client: Client, identity: string, peers: string[]): Promise<Replica> {
  const directory = mkdtempSync(join(tmpdir(), 'replica-'));
  closing.push(() => rmSync(directory, { recursive: true }));
  const links = createLinks(runtime);
  const listener = await listenForSpokes(runtime, client, links, {
    name: 'hub',
    port: 0,
    directory,
    addresses: ['127.0.0.1:1'],
    peers: { addresses: () => peersAt(peers).addresses(), refreshMs: 100 },
  });
  peers.push(`127.0.0.1:${listener.port}`);
  let engine: Engine | undefined;
  const replica = await leadHub(runtime, { client, identity }, async () => {
    const started = await startEngine(runtime, {
      name: 'hub',
      client,
      version: 'test',
      links,
      credentials: NO_CLOUD,
      roles: { hub: true },
      access: false,
    });
    engine = started;
    return {
      async stop(): Promise<void> {
        engine = undefined;
        await started.stop();
      },
    };
  });
  closing.push(async () => {
    await replica.stop();
    await listener.close();
  });
  return { listener, replica, links, engine: () => engine };
}

function inMemory(): CredentialPlace {
  let kept: KeptCredentials | undefined;
  return {
    load: async () => kept,
    save: async (credentials) => {
      kept = credentials;
    },
  };
}

describe('replicas of a hub', () => {
  it('are one hub: a spoke that dialled another is reached by the one that leads, and stays when that goes', async () => {
    const hub = await serve();
    await installKinds(runtime.clock, hub.client, [SPOKE_CLUSTER]);
    const peers: string[] = [];
    const first = await startReplica(hub.client, 'first', peers);
    await untilHolds(runtime.clock, () => first.engine() !== undefined, 'the first to lead');
    const second = await startReplica(hub.client, 'second', peers);

    await hub.client.create(
      SPOKE_CLUSTERS,
      tunnelCluster({ name: 'east', namespace: 'default', accepted: true }),
    );
    const token = await createJoinToken(runtime, hub.client, 'east');
    const notice = await readLinkNotice(hub.client);
    if (!notice) throw new Error('the hub tells nothing of its link');
    const spoke = await serve();
    const { names: _names, ...told } = notice;
    const dialer = dialHub(
      runtime,
      { ...told, addresses: [`127.0.0.1:${second.listener.port}`], tokens: { east: token } },
      {
        cluster: 'east',
        credentials: inMemory(),
        serve: hubDoor(() => spoke.server.as(ENGINE)),
      },
    );
    closing.push(() => dialer.close());
    const east = async (): Promise<SpokeCluster['status']> =>
      (await hub.client.get<SpokeCluster>(SPOKE_CLUSTERS, 'default', 'east')).status;
    await untilHolds(
      runtime.clock,
      async () => (await east())?.connection === 'Connected',
      'the spoke known to the one that leads',
    );
    expect(first.replica.leading).toBe(true);
    expect(second.replica.leading).toBe(false);
    expect(first.engine()?.hub()?.fleet.session('east')?.link.up).toBe(true);

    await first.replica.stop();
    await first.listener.close();
    await untilHolds(runtime.clock, () => second.engine() !== undefined, 'the second to lead');
    await untilHolds(
      runtime.clock,
      () => second.engine()?.hub()?.fleet.session('east')?.link.up === true,
      'the spoke reached by the second',
    );
    expect((await east())?.connection).toBe('Connected');
  }, 60_000);
});
