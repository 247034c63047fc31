import { lookup } from 'node:dns/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { impersonationHeaders, type SpokeIdentity } from '../../engine/access/index.ts';
import { SYSTEM_NAMESPACE } from '../../engine/dispatch/index.ts';
import {
  type Access,
  accessNotice,
  followedMembers,
  publishedClientCa,
  startAccess,
  startAccessListener,
} from '../../hub/access/index.ts';
import type { CredentialOptions } from '../../hub/credential/index.ts';
import { linkAuthority } from '../../hub/join/index.ts';
import type { Client } from '../../kube/client.ts';
import type { Request } from '../../kube/exchange.ts';
import type { LedWork } from '../../kube/leadership.ts';
import type { KeyPair } from '../../kube/pki.ts';
import type { TunnelListener } from '../../link/index.ts';
import { errorText, type LogLevel } from '../../runtime/log.ts';
import { PROCESS_TITLE } from '../../runtime/pid-file.ts';
import { pinoLogger } from '../../runtime/pino-logger.ts';
import { uuid } from '../../runtime/random.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { untilStopped } from '../../runtime/shutdown.ts';
import { processFlags } from '../../spoke/graphs/process-flags.ts';
import { graphSettings, graphTexts } from '../../spoke/graphs/settings.ts';
import { HUB_USER } from '../../spoke/hub-access.ts';
import { hubDoor, hubDoorUpgrade } from '../../spoke/hub-door.ts';
import { ensureSpokeNamespace } from '../../spoke/trust.ts';
import { processAmbient } from '../ambient.ts';
import { followCertificates, linkCertificates, serverCertificates } from '../certificates.ts';
import { checkEngagedFlags, type EngagedFlags, startEngaged } from '../engaged.ts';
import { type Engine, startEngine } from '../engine.ts';
import { keepOut, type LeaseTiming, leadHub, peersAt } from '../hub-replicas.ts';
import { openCluster } from '../join/cluster-access.ts';
import { durationOf } from '../join/duration.ts';
import { type JoinedHub, mergeJoins, readJoin, spokeNamed, tokenFor } from '../join/join-file.ts';
import { followJoins, readJoins, saveJoin } from '../join/join-secrets.ts';
import { type HubSource, pinFirst, startSpokeLink } from '../join/spoke-link.ts';
import { fileCredentials, secretCredentials } from '../key-store.ts';
import { hostOf, hubKey, linkFileName, listenForSpokes } from '../link-ends.ts';
import { createLinks, type Links } from '../links.ts';
import { giveMemoryBackAtRest } from '../memory-at-rest.ts';
import { loadSchedulerPlugins } from '../scheduler-plugins.ts';
import { atollVersion } from '../version.ts';
import { graphOptionsOf } from './graph-options.ts';

export interface EngineCommandOptions extends EngagedFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly name?: string;
  /** Where keys are kept. A spoke without it keeps its own in its cluster. */
  readonly data?: string;
  /** Join data: files, or words that `atoll join` printed. */
  readonly join?: readonly string[];
  readonly linkHost?: string;
  readonly linkPort?: number;
  /** Of several engines of one spoke one at a time runs, by a Lease. */
  readonly standBy?: boolean;
  /** Such as `10m`: after so long without its hub the spoke makes itself another's that it was told of. */
  readonly switchAfter?: string;
  /** `host:port` by which spokes reach this hub. */
  readonly linkAddress?: readonly string[];
  /** `host:port` of the link listeners of this hub's replicas, its own too: one of them at a time is the hub. */
  readonly peer?: readonly string[];
  /** Where people get to the spokes, for a hub on an API server of someone else. */
  readonly accessHost?: string;
  readonly accessPort?: number;
  /** `host:port` by which people reach that port, of whichever replica. */
  readonly accessAddress?: string;
  /** What `create` on `spokeclusters/proxy` allows besides looking. */
  readonly writesWithoutGrant?: boolean;
  readonly allowLoopback: boolean;
  readonly allowUnverifiedTls?: boolean;
  /** Where clusters are registered with KubeVela's cluster gateway; nowhere without. */
  readonly gatewayNamespace?: string;
  /** `name=value` of the settings of resource graphs. */
  readonly graphs?: readonly string[];
  /** Modules with rules for placing. */
  readonly schedulerPlugin?: readonly string[];
  readonly logLevel: LogLevel;
}

const DATA_DIRECTORY = '.atoll-engine';

/** Runs the engine against an API server that is there already (`--kubeconfig`, or in-cluster) until it is told to stop. */
export async function runEngine(role: 'hub' | 'spoke', options: EngineCommandOptions): Promise<void> {
  checkEngagedFlags(options);
  const switchAfterMs =
    options.switchAfter === undefined ? undefined : durationOf(options.switchAfter, '--switch-after');
  const graphWords = graphTexts(process.env, graphOptionsOf(options));
  const graphs = graphSettings(graphWords);
  const { turns, notes } = processFlags(graphWords);
  const given = mergeJoins((options.join ?? []).map(readJoin));
  process.title = `${PROCESS_TITLE} ${role} ${options.name ?? spokeNamed(given) ?? ''}`.trim();
  const log = pinoLogger(options.logLevel, { [role]: options.name ?? spokeNamed(given) ?? role });
  for (const note of notes) log.info('a flag of graphs is for the process', { note });
  process.on('unhandledRejection', (error) =>
    log.error('a promise was rejected and nobody listened', { why: errorText(error) }),
  );
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
  const ownName: string = name;
  await pinFirst(runtime, client, [...given, ...known]);
  const schedulerPlugins = await loadSchedulerPlugins(options.schedulerPlugin ?? []);
  const links = createLinks(runtime);
  const rules = { writesNeedGrant: options.writesWithoutGrant !== true };
  const listen = (): Promise<TunnelListener | undefined> =>
    listenAt(runtime, client, links, ownName, options);
  const { data } = options;

  /** Everything that only one process of a cluster may run; what runs of it already is in `begun`. */
  async function begin(begun: LedWork[] = []): Promise<Led> {
    const engine = await startEngine(runtime, {
      name: ownName,
      client,
      version: atollVersion(),
      links,
      credentials: credentialsOf(runtime, options),
      roles: role === 'hub' ? { hub: true } : { spoke: true },
      pinned: known.length > 0,
      graphs: { ...graphs, kubeconfigTargets: options.enableMulticluster === true },
      access: options.peer === undefined && rules,
      schedulerPlugins,
    });
    begun.push(engine);
    const link =
      role === 'hub' && known.length === 0
        ? undefined
        : startSpokeLink(runtime, {
            cluster: ownName,
            client,
            hubs: hubSource(runtime, client, known),
            switchAfterMs,
            credentials: ({ trust: { lineage } }) =>
              data === undefined
                ? secretCredentials(client, `link-${hubKey(lineage)}`)
                : fileCredentials(join(data, 'link'), linkFileName(ownName, lineage)),
            serve: hubDoor((user) => (request) => handler(actingAs(request, user)), cluster.asNobody.handler),
            serveUpgrade: hubDoorUpgrade(
              (user) => (request) => upgrade(actingAs(request, user)),
              cluster.asNobody.upgrade,
            ),
          });
    if (link) begun.push({ stop: () => link.close() });
    const people = await listenForPeople(runtime, client, engine.access(), ownName, options);
    return {
      engine,
      async stop(): Promise<void> {
        await Promise.all([engine.stop(), link?.close(), people?.close()]);
      },
    };
  }

  const running =
    options.peer === undefined
      ? options.standBy === true || (role === 'spoke' && turns.turns === true)
        ? await runInTurn(runtime, client, turns, begin)
        : await runAlone(begin, listen)
      : await runReplica(runtime, client, turns, begin, listen, async (listener) => {
          // Whoever leads: what people have open here outlives a change of that.
          const access = await startAccess(runtime, {
            client,
            members: followedMembers(runtime, client, links, keepOut(runtime, client, listener)),
            rules,
          });
          const people = await listenForPeople(runtime, client, access, ownName, options);
          return {
            async stop(): Promise<void> {
              access.stop();
              await people?.close();
            },
          };
        });
  // Each replica has its share of the clusters, whoever leads.
  const identity = `${hostname()}-${uuid(runtime.random)}`;
  const engaged = await startEngaged(runtime, {
    ...{ client, version: atollVersion(), credentials: credentialsOf(runtime, options), flags: options },
    graphs,
    ...((options.peer !== undefined || options.standBy === true) && {
      worker: { identity, namespace: SYSTEM_NAMESPACE },
    }),
  });
  log.info('ready', {
    server: cluster.url,
    ...(running.listener === undefined ? {} : { linkPort: running.listener.port }),
  });
  const stopGivingBack = giveMemoryBackAtRest(runtime.clock);
  await untilStopped(log, async () => {
    stopGivingBack();
    await engaged?.stop();
    await running.stop();
    await running.listener?.close();
    await cluster.close();
  });
}

function credentialsOf(runtime: Runtime, options: EngineCommandOptions): CredentialOptions {
  return {
    ambient: processAmbient(runtime),
    resolve: async (host) => (await lookup(host, { all: true })).map((entry) => entry.address),
    rules: {
      allowLoopback: options.allowLoopback,
      allowUnverifiedTls: options.allowUnverifiedTls === true,
    },
    ...(options.gatewayNamespace === undefined ? {} : { gateway: { namespace: options.gatewayNamespace } }),
  };
}

interface Led {
  readonly engine: Engine;
  stop(): Promise<void>;
}

interface RunningHub {
  readonly listener: TunnelListener | undefined;
  stop(): Promise<void>;
}

async function runAlone(
  begin: () => Promise<Led>,
  listen: () => Promise<TunnelListener | undefined>,
): Promise<RunningHub> {
  // A port that another process has, which may be this hub already: two that act would undo each other's work.
  const listener = await listen();
  const led = await begin();
  cutRefused(led, listener);
  return { listener, stop: () => led.stop() };
}

/** One of several engines of a spoke, such as the next version of it beside the one before. */
async function runInTurn(
  runtime: Runtime,
  client: Client,
  timing: LeaseTiming,
  begin: (begun: LedWork[]) => Promise<Led>,
): Promise<RunningHub> {
  const identity = `${hostname()}-${uuid(runtime.random)}`;
  const replica = await leadHub(runtime, { client, identity, timing, lease: 'atoll-spoke' }, begin);
  return { listener: undefined, stop: () => replica.stop() };
}

/** Spokes may dial any replica, and people may ask any: each listens. */
async function runReplica(
  runtime: Runtime,
  client: Client,
  timing: LeaseTiming,
  begin: (begun: LedWork[]) => Promise<Led>,
  listen: () => Promise<TunnelListener | undefined>,
  letIn: (listener: TunnelListener) => Promise<{ stop(): Promise<void> }>,
): Promise<RunningHub> {
  const listener = await listen();
  if (listener === undefined) throw new Error('--peer needs --link-port: replicas reach each other there');
  const identity = `${hostname()}-${uuid(runtime.random)}`;
  const replica = await leadHub(runtime, { client, identity, timing }, async (begun) => {
    const led = await begin(begun);
    cutRefused(led, listener);
    return led;
  });
  const people = await letIn(listener);
  return {
    listener,
    async stop(): Promise<void> {
      await Promise.all([people.stop(), replica.stop()]);
    },
  };
}

function cutRefused({ engine }: Led, listener: TunnelListener | undefined): void {
  engine.hub()?.joins.onRefused((spoke, why) => listener?.disconnect(spoke, why));
}

async function listenAt(
  runtime: Runtime,
  client: Client,
  links: Links,
  name: string,
  options: EngineCommandOptions,
): Promise<TunnelListener | undefined> {
  if (options.linkPort === undefined) return undefined;
  return listenForSpokes(runtime, client, links, {
    name,
    port: options.linkPort,
    directory: options.data ?? DATA_DIRECTORY,
    ...(options.linkHost === undefined ? {} : { host: options.linkHost }),
    ...(options.linkAddress === undefined ? {} : { addresses: options.linkAddress }),
    ...(options.peer === undefined ? {} : { peers: peersAt(options.peer) }),
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
  access: Access | undefined,
  name: string,
  options: EngineCommandOptions,
): Promise<{ close(): Promise<void> } | undefined> {
  if (options.accessPort === undefined) return undefined;
  if (access === undefined) throw new Error('--access-port is for hubs');
  const host = options.accessHost ?? '127.0.0.1';
  const directory = join(options.data ?? DATA_DIRECTORY, 'access-pki');
  const reached = host === '0.0.0.0' || host === '::' ? hostname() : host;
  const given = options.accessAddress;
  // Replicas have one authority: whoever believes one believes the others.
  const isShared = options.peer !== undefined || given !== undefined;
  const certificates = (): Promise<{ readonly authority: KeyPair; readonly server: KeyPair }> =>
    isShared
      ? linkCertificates(
          runtime,
          directory,
          name,
          [reached, ...(given === undefined ? [] : [hostOf(given)])],
          (own) => linkAuthority(client, own),
        )
      : serverCertificates(runtime, directory, name, reached);
  const { authority, server } = await certificates();
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
  const stopRenewing = followCertificates(
    runtime,
    { server },
    async () => ({ server: (await certificates()).server }),
    (renewed) => listener.setCertificate(renewed.server.certificate, renewed.server.key),
  );
  const own = `${reached.includes(':') ? `[${reached}]` : reached}:${listener.port}`;
  const notice = { server: `https://${given ?? own}`, ca: authority.certificate };
  const told = accessNotice(client, options.peer !== undefined);
  await told.publish(notice);
  runtime.log.info('people get to the spokes here', {
    server: `https://${own}/clusters/<name>`,
    certificateAuthority: isShared ? 'ConfigMap atoll-system/hub-access' : join(directory, 'ca.crt'),
    clientCertificates: clientCa !== undefined,
  });
  return {
    async close(): Promise<void> {
      stopRenewing();
      // An address that all replicas share stays.
      if (options.peer !== undefined && given === undefined)
        await told
          .withdraw(notice)
          .catch((error: unknown) =>
            runtime.log.warn('people are still told to come here', { error: errorText(error) }),
          );
      await listener.close();
    },
  };
}
