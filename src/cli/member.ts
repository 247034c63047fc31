import { lookup } from 'node:dns/promises';
import { appendFileSync, existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  type AuditEvent,
  clientCertificateAuthenticator,
  createApiServer,
  serveHttps,
  sqliteDriver,
} from '../apiserver/index.ts';
import { startWorkloads } from '../apiserver/workloads/index.ts';
import type { ClusterProvider } from '../hub/provision/index.ts';
import type { Client } from '../kube/client.ts';
import { prefixedHandler } from '../kube/exchange.ts';
import { createClient } from '../kube/rest-client.ts';
import { handlerUpgrader } from '../kube/wire/index.ts';
import { errorText, type Logger } from '../runtime/log.ts';
import type { Runtime } from '../runtime/runtime.ts';
import type { GraphSettings } from '../spoke/graphs/index.ts';
import { hubDoor } from '../spoke/hub-door.ts';
import { processAmbient } from './ambient.ts';
import {
  followCertificates,
  type ServerCertificates,
  serverCertificates,
  serviceAccountKey,
} from './certificates.ts';
import { type Engine, startEngine } from './engine.ts';
import { writePrivate } from './fleet-directory.ts';
import { type JoinedHub, readJoin } from './join/join-file.ts';
import { pinFirst, startSpokeLink } from './join/spoke-link.ts';
import { fileCredentials } from './key-store.ts';
import { linkFileName, listenForSpokes } from './link-ends.ts';
import { createLinks } from './links.ts';
import { writeMemberKubeconfig } from './member-kubeconfig.ts';

/** One process of a fleet: an embedded API server, the engine on it, and its end of the link. */
export interface MemberOptions {
  readonly name: string;
  /** Clusters in this process. One is served at the root of the API, several below `/clusters/<name>`. */
  readonly clusters: readonly string[];
  readonly role: 'hub' | 'spoke';
  readonly directory: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Where spokes may dial; without it this member is no hub for tunnels. */
  readonly linkPort?: number;
  /** A `JoinFile`: which hub, where it is, and the tokens for first certificates. */
  readonly joinFile?: string;
  readonly auditFile?: string;
  /** Whether Deployments, Pods, Nodes and the like come alive. */
  readonly simulate: boolean;
  readonly version: string;
  readonly graphs?: GraphSettings;
  /** Makes clusters, for a hub. */
  readonly provider?: ClusterProvider;
  /** Brings renewed certificates of members into what people of the fleet use; asked twice a day of one member. */
  readonly renewFleetKubeconfig?: () => void;
}

export interface Member {
  readonly port: number;
  readonly linkPort: number | undefined;
  stop(): Promise<void>;
}

const ENGINE_USER = { name: 'atoll:engine', groups: ['system:masters', 'system:authenticated'] };

/** Starts a member. Resolves when its API server answers and its engine runs; the link comes up on its own time. */
export async function startMember(runtime: Runtime, options: MemberOptions): Promise<Member> {
  const { log } = runtime;
  mkdirSync(options.directory, { recursive: true, mode: 0o700 });
  const readCertificates = (): Promise<ServerCertificates> =>
    serverCertificates(runtime, join(options.directory, 'pki'), options.name);
  let certificates = await readCertificates();
  const links = createLinks(runtime);
  const server = await createApiServer({
    runtime,
    storage: sqliteDriver(join(options.directory, 'data.db')),
    authenticate: clientCertificateAuthenticator(runtime.clock),
    caCertificate: certificates.authority.certificate,
    clientCa: certificates.authority,
    serviceAccountKey: serviceAccountKey(join(options.directory, 'pki')),
    // Nothing real runs in a fleet's pods: they stay small, and may come before their namespace's service account.
    disableAdmissionPlugins: ['ServiceAccount'],
    spaces: (path) => engines.get(options.name)?.access()?.spaces(path),
    simulatedMetrics: options.simulate,
    ...(options.auditFile === undefined ? {} : { audit: auditLog(log, options.auditFile) }),
  });
  const engines = new Map<string, Engine>();
  const hubs = hubsOf(options.joinFile);
  const stops: (() => Promise<void> | void)[] = [];
  const https = await serveHttps(runtime, {
    port: options.port,
    certificate: certificates.server.certificate,
    key: certificates.server.key,
    clientCa: certificates.authority.certificate,
    handle: (request, connection) => server.handle(request, connection),
  }).catch((error: unknown) => {
    throw portProblem(error, options.port);
  });
  const several = options.clusters.length > 1;
  for (const cluster of options.clusters) {
    if (several) await server.createCluster(cluster);
    await startCluster(cluster, several ? `/clusters/${cluster}` : '');
  }
  const tellHow = (): void =>
    writeMemberKubeconfig(join(options.directory, 'kubeconfig'), options.clusters, https.port, certificates);
  tellHow();
  stops.push(
    followCertificates(
      runtime,
      certificates,
      () => {
        // Others of the fleet renewed theirs meanwhile, each on its own day.
        options.renewFleetKubeconfig?.();
        return readCertificates();
      },
      (renewed) => {
        certificates = renewed;
        https.setCertificate(renewed.server.certificate, renewed.server.key, renewed.authority.certificate);
        tellHow();
        options.renewFleetKubeconfig?.();
      },
    ),
  );
  const linkPort = options.linkPort === undefined ? undefined : await listen(options.linkPort);
  if (hubs.length > 0) {
    for (const cluster of options.clusters) {
      const prefix = several ? `/clusters/${cluster}` : '';
      const door = hubDoor(
        (user) => prefixedHandler(server.as(user), prefix),
        prefixedHandler((request) => server.handle(request, {}), prefix),
      );
      const link = startSpokeLink(runtime, {
        cluster,
        client: engineClient(prefix),
        hubs: { current: () => hubsOf(options.joinFile) },
        credentials: (hub) =>
          fileCredentials(join(options.directory, 'link'), linkFileName(cluster, hub.trust.lineage)),
        serve: door,
        serveUpgrade: handlerUpgrader(door),
      });
      stops.push(() => link.close());
    }
  }
  writePrivate(join(options.directory, 'ready'), `${process.pid}\n`);
  log.info('ready', {
    port: https.port,
    ...(linkPort === undefined ? {} : { linkPort }),
    clusters: options.clusters.length,
  });

  async function listen(port: number): Promise<number> {
    const client = createClient(server.as(ENGINE_USER), { clock: runtime.clock });
    const listener = await listenForSpokes(runtime, client, links, {
      name: options.name,
      port,
      directory: options.directory,
      joins: engines.get(options.name)?.hub()?.joins,
    }).catch((error: unknown) => {
      throw portProblem(error, port);
    });
    stops.push(() => listener.close());
    return listener.port;
  }

  function engineClient(prefix: string): Client {
    const handler = prefixedHandler(server.as(ENGINE_USER), prefix);
    return createClient(handler, { userAgent: 'atoll-engine', clock: runtime.clock });
  }

  async function startCluster(cluster: string, prefix: string): Promise<void> {
    const client = engineClient(prefix);
    await pinFirst(runtime, client, hubs);
    const engine = await startEngine(runtime, {
      name: cluster,
      client,
      version: options.version,
      links,
      credentials: {
        ambient: processAmbient(runtime),
        resolve: async (host) => (await lookup(host, { all: true })).map((entry) => entry.address),
        rules: { allowLoopback: true },
      },
      roles: options.role === 'hub' ? { hub: true } : { spoke: true },
      pinned: hubs.length > 0,
      ...(options.graphs && { graphs: options.graphs }),
      ...(options.provider && { provider: options.provider }),
    });
    engines.set(cluster, engine);
    if (options.simulate) {
      const workloads = startWorkloads(runtime, client, {
        nodes: { count: several ? 1 : 2, namePrefix: `${cluster}-node` },
      });
      stops.push(() => workloads.stop());
    }
  }

  return {
    port: https.port,
    linkPort,
    async stop(): Promise<void> {
      await Promise.all(stops.map((stop) => stop()));
      await Promise.all([...engines.values()].map((engine) => engine.stop()));
      await https.close(1_000);
      await server.close();
    },
  };
}

function hubsOf(joinFile: string | undefined): readonly JoinedHub[] {
  return joinFile !== undefined && existsSync(joinFile) ? readJoin(joinFile).hubs : [];
}

/** A port of before may have been taken by someone else meanwhile. */
function portProblem(error: unknown, port: number): unknown {
  if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') return error;
  const message = `port ${port} on 127.0.0.1 is taken by another program: stop that, or give this member another "port" in fleet.json`;
  return new Error(message, { cause: error });
}

/** Writes by anyone but the engine itself, one JSON line each. */
function auditLog(log: Logger, path: string): (event: AuditEvent) => void {
  let failing = false;
  return (event) => {
    if (event.user.username === ENGINE_USER.name || ['get', 'list', 'watch'].includes(event.verb)) return;
    try {
      appendFileSync(path, `${JSON.stringify(event)}\n`, { mode: 0o600 });
      failing = false;
    } catch (error) {
      // A full disk must not stop the API; the process log says so.
      if (!failing) log.error('events are missing in the audit log', { path, error: errorText(error) });
      failing = true;
    }
  };
}
