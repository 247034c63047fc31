import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../apiserver/index.ts';
import { SPOKE_CLUSTER } from '../../dialects/kubevela/kinds.ts';
import { createBootstrapToken, followJoins, type Joins, readLinkNotice } from '../../hub/join/index.ts';
import type { Client, ResourceId } from '../../kube/client.ts';
import { installKinds, resourceIdOf } from '../../kube/custom-resource.ts';
import type { Handler } from '../../kube/exchange.ts';
import { createClient } from '../../kube/rest-client.ts';
import type { DialerState, Link, TunnelDialer, TunnelListener } from '../../link/index.ts';
import { type Runtime, systemRuntime } from '../../runtime/index.ts';
import type { CredentialPlace, KeptCredentials } from '../key-store.ts';
import { dialHub, listenForSpokes } from '../link-ends.ts';
import { createLinks, type Links } from '../links.ts';
import { expectSpoke, joinedHub } from './expect-spoke.ts';
import type { JoinedHub } from './join-file.ts';

/** A hub on an API server in this process, and spokes that dial it over real sockets. */
export const runtime: Runtime = systemRuntime();
export const directory: string = mkdtempSync(join(tmpdir(), 'atoll-joining-'));
export const SPOKE_CLUSTERS: ResourceId = resourceIdOf(SPOKE_CLUSTER);
export let server: ApiServer;
export let client: Client;
export let links: Links;
export let joins: Joins;
export let listener: TunnelListener;
export const dialers: TunnelDialer[] = [];
/** Woken by anything that happens on a link. */
const waiting = new Set<() => void>();
export const wake = (): void => {
  for (const check of [...waiting]) check();
};

/** As the hub does when it starts. */
export async function listen(port: number): Promise<void> {
  listener = await listenForSpokes(runtime, client, links, { name: 'hub', port, directory, joins });
}

beforeEach(async () => {
  server = await createApiServer({ runtime, storage: memoryDriver() });
  client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }));
  await installKinds(runtime.clock, client, [SPOKE_CLUSTER]);
  links = createLinks(runtime);
  links.onTunnel((spoke) => {
    links.tunnel(spoke)?.onChange(wake);
    wake();
  });
  joins = followJoins(runtime, client);
  await listen(0);
});
afterEach(async () => {
  await Promise.all(dialers.splice(0).map((dialer) => dialer.close()));
  await joins.stop();
  await listener.close();
  await server.close();
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

export const echo: Handler = async (request) => ({
  status: 200,
  headers: {},
  body: Buffer.from(`${request.method} ${request.path}`),
});

export interface Place extends CredentialPlace {
  kept: KeptCredentials | undefined;
}

export function place(kept?: KeptCredentials): Place {
  return {
    kept,
    load: async () => kept,
    async save(credentials): Promise<void> {
      kept = credentials;
      this.kept = credentials;
    },
  };
}

export async function hubWith(tokens: Record<string, string>): Promise<JoinedHub> {
  const notice = await readLinkNotice(client);
  if (!notice) throw new Error('the hub tells nothing');
  return joinedHub(notice, { tokens });
}

export interface Dialled {
  readonly states: DialerState[];
  readonly place: Place;
  until(check: (state: DialerState) => boolean): Promise<DialerState>;
}

export function dial(cluster: string, hub: JoinedHub, credentials: Place = place()): Dialled {
  const states: DialerState[] = [];
  const dialer = dialHub(runtime, hub, {
    cluster,
    credentials,
    serve: echo,
    onState(state): void {
      states.push(state);
      wake();
    },
  });
  dialers.push(dialer);
  return {
    states,
    place: credentials,
    until: (check) => holds(() => states.slice(-4).find(check)),
  };
}

export function holds<T>(find: () => T | undefined): Promise<T> {
  return new Promise((resolve) => {
    const check = (): void => {
      const found = find();
      if (found === undefined) return;
      waiting.delete(check);
      resolve(found);
    };
    waiting.add(check);
    check();
  });
}

export const isUp = (name: string): Promise<Link> =>
  holds(() => {
    const link = links.tunnel(name);
    return link?.up === true && link === listener.links.get(name) ? link : undefined;
  });
export const refused =
  (text: string) =>
  (state: DialerState): boolean =>
    state.phase === 'waiting' && state.message.includes(text);

export async function tokenFor(name: string, accepted: boolean = true): Promise<string> {
  return expectSpoke(runtime, client, { name, namespace: 'default', accepted });
}

export async function bootstrapToken(
  options: { approved?: boolean; names?: string[] } = {},
): Promise<string> {
  const { approved = false, names = ['*'] } = options;
  return createBootstrapToken(runtime, client, { namespace: 'default', lifetimeMs: 60_000, names, approved });
}
