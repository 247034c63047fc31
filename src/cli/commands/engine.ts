import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { HttpsServer } from '../../apiserver/index.ts';
import { impersonationHeaders, type SpokeIdentity } from '../../engine/access/index.ts';
import { publishAccessNotice, publishedClientCa, startAccessListener } from '../../hub/access/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Request } from '../../kube/exchange.ts';
import { PROCESS_TITLE } from '../../runtime/pid-file.ts';
import { type LogLevel, pinoLogger } from '../../runtime/pino-logger.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { untilStopped } from '../../runtime/shutdown.ts';
import { HUB_USER } from '../../spoke/hub-access.ts';
import { hubDoor, hubDoorUpgrade } from '../../spoke/hub-door.ts';
import { ensureSpokeNamespace } from '../../spoke/trust.ts';
import { processAmbient } from '../ambient.ts';
import { serverCertificates } from '../certificates.ts';
import { type Engine, startEngine } from '../engine.ts';
import { openCluster } from '../join/cluster-access.ts';
import { type JoinedHub, mergeJoins, readJoin, spokeNamed, tokenFor } from '../join/join-file.ts';
import { followJoins, readJoins, saveJoin } from '../join/join-secrets.ts';
import { type HubSource, pinFirst, startSpokeLink } from '../join/spoke-link.ts';
import { fileCredentials, secretCredentials } from '../key-store.ts';
import { hubKey, linkFileName, listenForSpokes } from '../link-ends.ts';
import { createLinks } from '../links.ts';
import { atollVersion } from '../version.ts';

export interface EngineCommandOptions {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name?: string;
  /** Where keys are kept. A spoke without it keeps its own in its cluster. */
  readonly data?: string;
  /** Join data: files, or words that `atoll join` printed. */
  readonly join?: readonly string[];
  readonly linkHost?: string;
  readonly linkPort?: number;
  /** `host:port` by which spokes reach this hub. */
  readonly linkAddress?: readonly string[];
  /** Where people get to the spokes, for a hub on an API server of someone else. */
  readonly accessHost?: string;
  readonly accessPort?: number;
  /** What `create` on `spokeclusters/proxy` allows besides looking. */
  readonly writesWithoutGrant?: boolean;
  readonly allowLoopback: boolean;
  readonly logLevel: LogLevel;
}

const DATA_DIRECTORY = '.atoll-engine';

/** Runs the engine against an API server that is there already (`--kubeconfig`, or in-cluster) until it is told to stop. */
export async function runEngine(role: 'hub' | 'spoke', options: EngineCommandOptions): Promise<void> {
  const given = mergeJoins((options.join ?? []).map(readJoin));
  process.title = `${PROCESS_TITLE} ${role} ${options.name ?? spokeNamed(given) ?? ''}`.trim();
  const log = pinoLogger(options.logLevel, { [role]: options.name ?? spokeNamed(given) ?? role });
  const runtime = systemRuntime(log);
  const cluster = openCluster(runtime.clock, 'atoll-engine', options);
  const { client, handler, upgrade } = cluster;
  await client.getJson('/version');
  const known = await knownHubs(runtime, client, given, options.name);
  const name = options.name ?? spokeNamed(known) ?? (role === 'hub' ? 'hub' : undefined);
  if (name === undefined)
    throw new Error(
      '--name is required: the name of the SpokeCluster that stands for this cluster at its hub',
    );
  await pinFirst(runtime, client, [...given, ...known]);
  const links = createLinks(runtime);
  const engine = await startEngine(runtime, {
    name,
    client,
    version: atollVersion(),
    links,
    credentials: {
      ambient: processAmbient(runtime),
      resolve: async (host) => (await lookup(host, { all: true })).map((entry) => entry.address),
      rules: { allowLoopback: options.allowLoopback },
    },
    roles: role === 'hub' ? { hub: true } : { spoke: true },
    pinned: known.length > 0,
    access: { writesNeedGrant: options.writesWithoutGrant !== true },
  });
  const listener =
    options.linkPort === undefined
      ? undefined
      : await listenForSpokes(runtime, client, links, {
          name,
          port: options.linkPort,
          directory: options.data ?? DATA_DIRECTORY,
          joins: engine.hub()?.joins,
          ...(options.linkHost === undefined ? {} : { host: options.linkHost }),
          ...(options.linkAddress === undefined ? {} : { addresses: options.linkAddress }),
        });
  const { data } = options;
  const link =
    role === 'hub' && known.length === 0
      ? undefined
      : startSpokeLink(runtime, {
          cluster: name,
          client,
          hubs: hubSource(runtime, client, known),
          credentials: ({ trust: { lineage } }) =>
            data === undefined
              ? secretCredentials(client, `link-${hubKey(lineage)}`)
              : fileCredentials(join(data, 'link'), linkFileName(name, lineage)),
          serve: hubDoor((user) => (request) => handler(actingAs(request, user))),
          serveUpgrade: hubDoorUpgrade((user) => (request) => upgrade(actingAs(request, user))),
        });
  const people = await listenForPeople(runtime, client, engine, name, options);
  log.info('ready', {
    server: cluster.url,
    ...(listener === undefined ? {} : { linkPort: listener.port }),
  });
  await untilStopped(log, async () => {
    await Promise.all([engine.stop(), link?.close(), listener?.close(), people?.close()]);
    await cluster.close();
  });
}

/** What was given is kept in the cluster, under the name that the spoke goes by; what was kept before is known. */
async function knownHubs(
  runtime: Runtime,
  client: Client,
  given: readonly JoinedHub[],
  name: string | undefined,
): Promise<readonly JoinedHub[]> {
  if (given.length > 0) await ensureSpokeNamespace(client);
  for (const hub of given) {
    const token = name === undefined ? undefined : tokenFor(hub, name);
    const tokens = name === undefined || token === undefined ? hub.tokens : { [name]: token };
    await saveJoin(client, { ...hub, tokens });
  }
  return readJoins(runtime, client);
}

/** The hubs as the cluster's Secrets tell them, also those that come while this runs. */
function hubSource(runtime: Runtime, client: Client, known: readonly JoinedHub[]): HubSource {
  let hubs = known;
  return {
    current: () => hubs,
    follow: (onChange) =>
      followJoins(runtime, client, (next) => {
        hubs = next;
        onChange(next);
      }),
  };
}

/** The hub's requests reach this cluster as the hub's user, or one behind it, whom the cluster itself authorizes. */
function actingAs(request: Request, user: SpokeIdentity): Request {
  // A cluster adds the group of everyone by itself; the engine needs no right to give it.
  const who = user.name === HUB_USER ? { 'impersonate-user': HUB_USER } : impersonationHeaders(user);
  // The name by which the link was asked is not this server's.
  const { host: _host, ...headers } = request.headers;
  return { ...request, headers: { ...headers, ...who } };
}

/** The port by which people get to the spokes of a hub whose API server cannot lead there. */
async function listenForPeople(
  runtime: Runtime,
  client: Client,
  engine: Engine,
  name: string,
  options: EngineCommandOptions,
): Promise<HttpsServer | undefined> {
  const access = engine.access();
  if (options.accessPort === undefined) return undefined;
  if (access === undefined) throw new Error('--access-port is for hubs');
  const host = options.accessHost ?? '127.0.0.1';
  const directory = join(options.data ?? DATA_DIRECTORY, 'access-pki');
  const reached = host === '0.0.0.0' || host === '::' ? hostname() : host;
  const { authority, server } = await serverCertificates(runtime, directory, name, reached);
  const clientCa = await publishedClientCa(client);
  const listener = await startAccessListener(runtime, {
    client,
    access,
    host,
    port: options.accessPort,
    certificate: server.certificate,
    key: server.key,
    ...(clientCa === undefined ? {} : { clientCa }),
  });
  const url = `https://${reached.includes(':') ? `[${reached}]` : reached}:${listener.port}`;
  await publishAccessNotice(client, { server: url, ca: authority.certificate });
  runtime.log.info('people get to the spokes here', {
    server: `${url}/clusters/<name>`,
    certificateAuthority: join(directory, 'ca.crt'),
    clientCertificates: clientCa !== undefined,
  });
  return listener;
}
