import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import {
  type ApiServer,
  clientCertificateAuthenticator,
  createApiServer,
  etcdDriver,
  memoryDriver,
  RELEASES,
  type Release,
  ROOT_CLUSTER,
  type StorageDriver,
  serveHttps,
  sqliteDriver,
  staticTokenAuthenticator,
  unionAuthenticator,
} from '../../apiserver/index.ts';
import { startWorkloads } from '../../apiserver/workloads/index.ts';
import { type CertificateContext, contextKubeconfig } from '../../kube/context-kubeconfig.ts';
import { prefixedHandler } from '../../kube/exchange.ts';
import type { Kubeconfig } from '../../kube/kubeconfig.ts';
import { createClient } from '../../kube/rest-client.ts';
import { errorText, type LogLevel } from '../../runtime/log.ts';
import { AlreadyRunning, PROCESS_TITLE, takePidFile } from '../../runtime/pid-file.ts';
import { pinoLogger } from '../../runtime/pino-logger.ts';
import { type Runtime, systemRuntime } from '../../runtime/runtime.ts';
import { untilStopped } from '../../runtime/shutdown.ts';
import { type ApiServerFiles, apiServerFiles } from '../api-server-files.ts';
import {
  followCertificates,
  frontProxyCertificates,
  type ServerCertificates,
  serverCertificates,
  serviceAccountKey,
} from '../certificates.ts';
import { writePrivate } from '../fleet-directory.ts';
import { addToKubeconfig } from '../member-kubeconfig.ts';
import { parseTokenFile, type TokenEntry } from '../token-file.ts';

/** Options of `atoll apiserver`. */
export interface ApiServerCommand extends ApiServerFiles {
  readonly port: number;
  readonly host: string;
  readonly data?: string;
  readonly memory: boolean;
  /** `http://` address of an etcd that keeps the objects. */
  readonly etcd?: string;
  readonly adminToken?: string;
  readonly tokenFile?: string;
  /** `all`, `core` or `none`. */
  readonly controllers: string;
  readonly disableAdmissionPlugins?: readonly string[];
  /** The release of Kubernetes to look like. */
  readonly emulatedVersion?: string;
  readonly cluster?: readonly string[];
  /** Whether logical clusters are managed by objects. */
  readonly workspaces: boolean;
  readonly kubeconfigOut?: string;
  readonly anonymousAuth: boolean;
  /** Whether containers may be privileged. */
  readonly allowPrivileged: boolean;
  readonly logLevel: LogLevel;
}

const CONTROLLERS = ['all', 'core', 'none'];
const NAME = 'atoll';
const ADMINISTRATORS = 'system:masters';
const GRACE_MS = 1_000;

/**
 * Runs an API server in this process until it is told to stop. Throws an Error that says what to change when it cannot start.
 * `onStarted` is called when it serves.
 */
export async function runApiServer(
  options: ApiServerCommand,
  onStarted: () => void = () => {},
): Promise<void> {
  if (!CONTROLLERS.includes(options.controllers))
    throw new Error(`--controllers must be one of ${CONTROLLERS.join(', ')}`);
  if (options.memory && (options.data !== undefined || options.etcd !== undefined))
    throw new Error('--memory keeps nothing: leave it out, or --data and --etcd');
  if (!options.memory && options.data === undefined && options.etcd === undefined)
    throw new Error('say where objects are kept: --data <directory>, --etcd <url> or --memory');
  process.title = `${PROCESS_TITLE} apiserver`;
  const log = pinoLogger(options.logLevel);
  const runtime = systemRuntime(log);
  process.on('unhandledRejection', (error) =>
    log.error('a promise was rejected and nobody listened', { why: errorText(error) }),
  );
  const home = openHome(options.data);
  const running = await start(runtime, options, home.directory).catch((error: unknown) => {
    home.leave();
    throw error;
  });
  onStarted();
  process.stdout.write(running.text);
  await untilStopped(log, async () => {
    await running.stop();
    home.leave();
  });
}

/** The directory of certificates and kubeconfig: beside the data, or for a server in memory one that goes with it. */
function openHome(data: string | undefined): { directory: string; leave: () => void } {
  if (data === undefined) {
    const directory = mkdtempSync(join(tmpdir(), 'atoll-apiserver-'));
    return { directory, leave: () => rmSync(directory, { recursive: true, force: true }) };
  }
  const directory = resolve(data);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  try {
    return { directory, leave: takePidFile(join(directory, 'apiserver.pid')) };
  } catch (error) {
    if (!(error instanceof AlreadyRunning)) throw error;
    throw new Error(`${directory} is in use by a running server (pid ${error.pid})`, { cause: error });
  }
}

async function start(
  runtime: Runtime,
  options: ApiServerCommand,
  directory: string,
): Promise<{ text: string; stop(): Promise<void> }> {
  const { host } = options;
  const emulatedVersion = releaseOf(options.emulatedVersion);
  const readCertificates = (): Promise<ServerCertificates> =>
    serverCertificates(runtime, join(directory, 'pki'), NAME, host);
  const readFrontProxy = (): ReturnType<typeof frontProxyCertificates> =>
    frontProxyCertificates(runtime, join(directory, 'pki'));
  let certificates = await readCertificates();
  let frontProxy = await readFrontProxy();
  const tokens = tokensOf(options);
  const files = apiServerFiles(runtime.log, options);
  // The address is part of what the server tells of itself, and a free port is known only once it listens.
  let server: ApiServer | undefined;
  const https = await serveHttps(runtime, {
    port: options.port,
    host,
    certificate: certificates.server.certificate,
    key: certificates.server.key,
    clientCa: certificates.authority.certificate,
    handle: (request, connection) =>
      server === undefined ? Promise.resolve(STARTING) : server.handle(request, connection),
  }).catch((error: unknown) => {
    throw new Error(`cannot listen on ${host}:${options.port}: ${errorText(error)}`, { cause: error });
  });
  const address = `${host.includes(':') ? `[${host}]` : host}:${https.port}`;
  const stops: (() => Promise<void>)[] = [() => https.close(GRACE_MS), files.close];
  try {
    const opened = await createApiServer({
      runtime,
      storage: storageOf(runtime, options, directory),
      authenticate: unionAuthenticator(
        clientCertificateAuthenticator(runtime.clock),
        staticTokenAuthenticator(tokens),
      ),
      caCertificate: certificates.authority.certificate,
      clientCa: certificates.authority,
      // Others than this server may have to verify its tokens.
      serviceAccountKey: serviceAccountKey(join(directory, 'pki'), 'RS256'),
      address,
      anonymous: options.anonymousAuth,
      allowPrivileged: options.allowPrivileged,
      controllers: options.controllers !== 'none',
      simulatedMetrics: options.controllers === 'all',
      disableAdmissionPlugins: options.disableAdmissionPlugins ?? [],
      ...(emulatedVersion === undefined ? {} : { emulatedVersion }),
      workspaces: options.workspaces,
      frontProxy: { authority: frontProxy.authority.certificate, client: () => frontProxy.client },
      ...files.read,
    });
    stops.push(() => opened.close());
    const clusters = options.cluster ?? [];
    for (const cluster of clusters) await opened.createCluster(cluster);
    if (options.controllers === 'all')
      for (const cluster of [ROOT_CLUSTER, ...clusters])
        stops.unshift(simulateWorkloads(runtime, opened, cluster));
    // Those of earlier starts are still there.
    const contexts = opened.clusters().filter((cluster) => cluster !== ROOT_CLUSTER);
    const kubeconfig = join(directory, 'kubeconfig');
    const tellHow = (renewed = false): void => {
      const config = kubeconfigOf(`https://${address}`, contexts, certificates);
      writePrivate(kubeconfig, `${JSON.stringify(config, null, 2)}\n`);
      if (options.kubeconfigOut !== undefined)
        addToKubeconfig(resolve(options.kubeconfigOut), config, renewed);
    };
    tellHow();
    const stopRenewing = followCertificates(runtime, certificates, readCertificates, (renewed) => {
      certificates = renewed;
      https.setCertificate(renewed.server.certificate, renewed.server.key, renewed.authority.certificate);
      tellHow(true);
    });
    const stopRenewingProxy = followCertificates(runtime, frontProxy, readFrontProxy, (renewed) => {
      frontProxy = renewed;
    });
    stops.push(async () => {
      stopRenewing();
      stopRenewingProxy();
    });
    server = opened;
    return {
      text: howToUse(`https://${address}`, resolve(options.kubeconfigOut ?? kubeconfig), options),
      stop: () => stopAll(stops),
    };
  } catch (error) {
    await stopAll(stops);
    throw error;
  }
}

function releaseOf(text: string | undefined): Release | undefined {
  const release = RELEASES.find((known) => known === text);
  if (text !== undefined && release === undefined)
    throw new Error(`--emulated-version must be one of ${RELEASES.join(', ')}`);
  return release;
}

function storageOf(runtime: Runtime, options: ApiServerCommand, directory: string): StorageDriver {
  if (options.etcd !== undefined) return etcdDriver(runtime, { url: options.etcd });
  return options.memory ? memoryDriver() : sqliteDriver(join(directory, 'data.db'));
}

/** What is answered between listening and being ready. */
const STARTING = {
  status: 503,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'retry-after': '1' },
  body: Buffer.from('the server is starting\n'),
};

async function stopAll(stops: readonly (() => Promise<void>)[]): Promise<void> {
  for (const stop of stops) await stop();
}

/** What nodes of a logical cluster are called after: names of nodes are labels as well. */
function nodeName(cluster: string): string {
  return cluster === ROOT_CLUSTER ? NAME : cluster.replaceAll(':', '-').slice(-40).replace(/^-+/, '');
}

/** Makes Deployments, Pods, Jobs and the like come alive in a logical cluster. */
function simulateWorkloads(runtime: Runtime, server: ApiServer, cluster: string): () => Promise<void> {
  const user = { name: 'system:kube-controller-manager', groups: [ADMINISTRATORS] };
  const prefix = cluster === ROOT_CLUSTER ? '' : `/clusters/${cluster}`;
  const client = createClient(prefixedHandler(server.as(user), prefix), {
    userAgent: 'kube-controller-manager',
    clock: runtime.clock,
  });
  const workloads = startWorkloads(runtime, client, {
    nodes: { count: 2, namePrefix: `${nodeName(cluster)}-node` },
  });
  return () => workloads.stop();
}

function tokensOf(options: ApiServerCommand): TokenEntry[] {
  const tokens: TokenEntry[] = [];
  if (options.adminToken !== undefined)
    tokens.push({
      token: options.adminToken,
      user: { name: 'admin', uid: 'admin-uid', groups: [ADMINISTRATORS] },
    });
  if (options.tokenFile !== undefined)
    tokens.push(...parseTokenFile(options.tokenFile, readFileSync(options.tokenFile, 'utf8')));
  return tokens;
}

/** One context for the server itself, and one for each logical cluster. */
function kubeconfigOf(
  server: string,
  clusters: readonly string[],
  certificates: ServerCertificates,
): Kubeconfig {
  const context = (name: string, path: string): CertificateContext => ({
    name,
    server: server + path,
    authority: certificates.authority.certificate,
    user: `${NAME}-admin`,
    credentials: certificates.admin,
  });
  return contextKubeconfig([
    context(NAME, ''),
    ...clusters.map((name) => context(name, `/clusters/${name}`)),
  ]);
}

function howToUse(server: string, kubeconfig: string, options: ApiServerCommand): string {
  const kept =
    options.etcd === undefined
      ? options.data === undefined
        ? 'in memory: all is gone when it stops'
        : `in ${resolve(options.data)}`
      : `in etcd at ${options.etcd}`;
  return `The API server listens on ${server} (objects are kept ${kept}). Use it with:

  export KUBECONFIG=${kubeconfig}
  kubectl get namespaces

Ctrl-C stops it.
`;
}
