import {
  type ApiServer,
  type ApiServerOptions,
  clientCertificateAuthenticator,
  createApiServer,
  memoryDriver,
  ROOT_CLUSTER,
  type UserInfo,
} from '../apiserver/index.ts';
import { startWorkloads, type WorkloadOptions } from '../apiserver/workloads/index.ts';
import type { Client } from '../kube/client.ts';
import { contextKubeconfig } from '../kube/context-kubeconfig.ts';
import { prefixedHandler } from '../kube/exchange.ts';
import { formatKubeconfig } from '../kube/kubeconfig.ts';
import type { KubeObject } from '../kube/object.ts';
import type { KeyPair } from '../kube/pki.ts';
import { createClient } from '../kube/rest-client.ts';
import {
  type Clock,
  createMetrics,
  type Logger,
  type Runtime,
  silentLogger,
  systemClock,
  systemRandom,
  systemRuntime,
} from '../runtime/index.ts';
import { installDefinitions, readCrds } from './crd-files.ts';
import { settling, untilHolds, whileTimePasses } from './moving-time.ts';
import { type TestListener, testListener } from './test-listener.ts';

export interface TestServerOptions {
  /** Definitions to install: files, folders, or the objects themselves. */
  readonly crds?: readonly (string | KubeObject)[];
  /** Logical clusters to create, each with an API of its own; see {@link TestServer.cluster}. */
  readonly clusters?: readonly string[];
  /** Whether Deployments, Pods, Jobs, Nodes and the like come alive, in every cluster. By default they are only stored. */
  readonly workloads?: boolean | WorkloadOptions;
  /** The machine's by default. On a virtual clock nothing that waits happens until the test moves it. */
  readonly clock?: Clock;
  /** Listens on loopback over TLS, for other processes. `true` takes a free port. */
  readonly listen?: boolean | number;
  readonly log?: Logger;
  /** Whatever else the server shall be, such as one without controllers or admission plugins. */
  readonly server?: Omit<Partial<ApiServerOptions>, 'runtime' | 'storage' | 'clientCa' | 'authenticate'>;
}

export interface TestUserOptions {
  readonly groups?: readonly string[];
}

/** Someone whose rights are what roles on the server say. */
export interface TestUser {
  readonly name: string;
  readonly client: Client;
  /** The same user in a logical cluster. */
  cluster(name: string): Client;
  /** Of a server that listens: a kubeconfig (YAML) with a context `atoll`, and one for each logical cluster. */
  kubeconfig(): string;
}

/** An API server of a test. */
export interface TestServer extends AsyncDisposable {
  /** With all rights. */
  readonly client: Client;
  /** The server itself: its store, its request pipeline. */
  readonly server: ApiServer;
  /** Where it listens; undefined when it does not. */
  readonly url: string | undefined;
  /** A client, with all rights, of a logical cluster. */
  cluster(name: string): Client;
  /** The administrator's kubeconfig, as {@link TestUser.kubeconfig}. */
  kubeconfig(): string;
  createUser(name: string, options?: TestUserOptions): Promise<TestUser>;
  /** Installs the definitions in files and folders, and waits until they are served. */
  installCrds(paths: readonly string[], cluster?: string): Promise<void>;
  /** Waits (a virtual clock is moved) until the condition holds; otherwise throws an Error that says `what`. A minute at most by default. */
  until(condition: () => boolean | Promise<boolean>, what: string, limitMs?: number): Promise<void>;
  stop(): Promise<void>;
}

const ADMINISTRATOR: UserInfo = { name: 'admin', groups: ['system:masters'] };
const CONTROLLER_MANAGER: UserInfo = { name: 'system:kube-controller-manager', groups: ['system:masters'] };
const CONTEXT = 'atoll';

/**
 * Starts an API server in memory, with nothing on it but what every Kubernetes cluster begins with.
 *
 * Pods need no service account, since nothing runs them; pass `server: { disableAdmissionPlugins: [] }` for a server that is
 * strict about it. Rejects when a definition is wrong or the port is taken; then nothing is left running.
 */
export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const runtime: Runtime = {
    clock: options.clock ?? systemClock(),
    random: systemRandom(),
    log: options.log ?? silentLogger,
    metrics: createMetrics(),
  };
  const { clock } = runtime;
  const clusters = options.clusters ?? [];
  const paths = new Map([
    [ROOT_CLUSTER, ''],
    ...clusters.map((name) => [name, `/clusters/${name}`] as const),
  ]);
  const stops: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const end of stops.splice(0).reverse()) await whileTimePasses(clock, end());
  };
  try {
    return await start();
  } catch (error) {
    await stop();
    throw error;
  }

  async function start(): Promise<TestServer> {
    // What other processes verify counts by the machine's clock, whatever the test's does.
    const listener = options.listen === undefined || options.listen === false ? undefined : await listen();
    const server = await whileTimePasses(
      clock,
      createApiServer({
        disableAdmissionPlugins: ['ServiceAccount'],
        ...options.server,
        runtime,
        storage: memoryDriver(),
        ...(listener === undefined
          ? {}
          : {
              address: new URL(listener.url).host,
              authenticate: clientCertificateAuthenticator(systemClock()),
              caCertificate: listener.authority.certificate,
              clientCa: listener.authority,
            }),
      }),
    );
    stops.push(() => server.close());
    for (const name of clusters) await whileTimePasses(clock, server.createCluster(name));
    listener?.serve((request, connection) => {
      const answer = server.handle(request, connection);
      return settling(clock, () => answer)(request);
    });

    const clientOf = (user: UserInfo, cluster: string): Client => {
      const path = paths.get(cluster);
      if (path === undefined)
        throw new Error(`no logical cluster ${cluster}; there are ${[...paths.keys()].join(', ')}`);
      return createClient(settling(clock, prefixedHandler(server.as(user), path)), { clock });
    };
    const definitions = await definitionsOf(options.crds ?? []);
    for (const cluster of paths.keys()) {
      await installDefinitions(clock, clientOf(ADMINISTRATOR, cluster), definitions);
      if (options.workloads === undefined || options.workloads === false) continue;
      const workloads = startWorkloads(
        runtime,
        createClient(prefixedHandler(server.as(CONTROLLER_MANAGER), paths.get(cluster) ?? ''), { clock }),
        options.workloads === true ? {} : options.workloads,
      );
      stops.push(() => workloads.stop());
      await whileTimePasses(clock, workloads.whenSynced());
    }

    const userOf = async (user: UserInfo): Promise<TestUser> => {
      const credentials = await listener?.issue(user.name, user.groups);
      return {
        name: user.name,
        client: clientOf(user, ROOT_CLUSTER),
        cluster: (name) => clientOf(user, name),
        kubeconfig: () => kubeconfigOf(listener, paths, user.name, credentials),
      };
    };
    const admin = await userOf(ADMINISTRATOR);
    return {
      client: admin.client,
      server,
      url: listener?.url,
      cluster: admin.cluster,
      kubeconfig: admin.kubeconfig,
      createUser: (name, { groups = [] } = {}) => userOf({ name, groups: [...groups] }),
      installCrds: async (files, cluster = ROOT_CLUSTER) =>
        installDefinitions(clock, clientOf(ADMINISTRATOR, cluster), await readCrds(files)),
      until: (condition, what, limitMs) => untilHolds(clock, condition, what, limitMs),
      stop,
      [Symbol.asyncDispose]: stop,
    };
  }

  async function listen(): Promise<TestListener> {
    const port = typeof options.listen === 'number' ? options.listen : 0;
    const listener = await testListener(systemRuntime(runtime.log), port);
    stops.push(() => listener.close());
    return listener;
  }
}

async function definitionsOf(sources: readonly (string | KubeObject)[]): Promise<KubeObject[]> {
  const files = sources.filter((source) => typeof source === 'string');
  const objects = sources.filter((source) => typeof source !== 'string');
  return [...objects, ...(files.length === 0 ? [] : await readCrds(files))];
}

function kubeconfigOf(
  listener: TestListener | undefined,
  paths: ReadonlyMap<string, string>,
  user: string,
  credentials: KeyPair | undefined,
): string {
  if (listener === undefined || credentials === undefined)
    throw new Error('the test server does not listen: start it with { listen: true } for a kubeconfig');
  return formatKubeconfig(
    contextKubeconfig(
      [...paths].map(([cluster, path]) => ({
        name: cluster === ROOT_CLUSTER ? CONTEXT : cluster,
        server: listener.url + path,
        authority: listener.authority.certificate,
        user,
        credentials,
      })),
    ),
  );
}
