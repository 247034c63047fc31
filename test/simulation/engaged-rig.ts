import { type ApiServer, type AuditEvent, createApiServer } from '../../src/apiserver/index.ts';
import {
  type ClusterClients,
  type ClusterProvider,
  clusterClients,
  type EngagedClusters,
  type EngagedClustersOptions,
  type KubeconfigTargetsOptions,
  kubeconfigSecrets,
  objectNameOf,
  startEngagedClusters,
  startKubeconfigTargets,
} from '../../src/hub/engaged/index.ts';
import type { Client } from '../../src/kube/client.ts';
import { clusterName } from '../../src/kube/cluster-name.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { secrets } from '../../src/kube/well-known.ts';
import type { Runtime } from '../../src/runtime/index.ts';
import { startEngagedGraphs } from '../../src/spoke/graphs/index.ts';
import { ENGINE_USER, type GraphCluster, type GraphSettings, startGraphCluster } from './graph-cluster.ts';
import { faultyStorage } from './rig/faults.ts';

/** A cluster without an engine. */
export interface BareCluster {
  readonly server: ApiServer;
  /** With the administrator's rights. */
  readonly client: Client;
  readonly audit: AuditEvent[];
  /** While true no request is answered. */
  silent: boolean;
  /** Requests that are still carried out; after the last one connections are as dead as whoever had them. */
  writesLeft: number;
  /** Present connections never answer again; new ones do. */
  hang(): void;
  /** Connections to it, and streams over them. */
  connections: number;
  watches: number;
  /** Tokens that connections were opened with, in order. */
  readonly tokens: string[];
  /** Who a token is; may do everything where it is not said. */
  readonly users: Map<string, { readonly name: string; readonly groups: readonly string[] }>;
  stored(path: string): KubeObject | undefined;
  below(path: string): KubeObject[];
  write(object: KubeObject): Promise<KubeObject>;
  remove(apiVersion: string, kind: string, name: string): Promise<void>;
}

/** A hub that runs graphs on clusters without an engine, all of them on one virtual clock. */
export interface EngagedRig {
  readonly hub: GraphCluster;
  readonly clients: ClusterClients;
  cluster(name: string): BareCluster;
  /** A kubeconfig Secret of the hub; once more with another token it is rotated. */
  credential(name: string, token?: string, more?: object): Promise<void>;
  withdraw(name: string): Promise<void>;
  start(more?: Partial<EngagedClustersOptions>, runtime?: Runtime): EngagedClusters;
  /** Objects on clusters that definitions name by a Secret; `until` it believes in who writes definitions. */
  startTargets(more?: Partial<KubeconfigTargetsOptions>, runtime?: Runtime): Promise<EngagedClusters>;
  stop(engaged?: EngagedClusters): Promise<void>;
  provider(): ClusterProvider;
  /** The EngagedCluster of a cluster. */
  view(name: string): KubeObject | undefined;
  stateOf(name: string): string;
  untilState(name: string, state: string, limitMs?: number): Promise<void>;
  close(): Promise<void>;
}

export const SECRETS_NAMESPACE = 'kro-system';

export function kubeconfigOf(name: string, token: string): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [
      {
        name: 'c',
        cluster: {
          server: `https://${name}.example:6443`,
          'certificate-authority-data': Buffer.from('an authority').toString('base64'),
        },
      },
    ],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
    users: [{ name: 'u', user: { token } }],
  });
}

export async function startEngagedRig(
  names: readonly string[],
  settings: GraphSettings = { kubeconfigTargets: true },
): Promise<EngagedRig> {
  const hub = await startGraphCluster(settings);
  const { runtime, run } = hub;
  const clusters = new Map<string, BareCluster>();
  const running = new Set<EngagedClusters>();
  const hanging = new Map<string, (() => void)[]>();

  for (const name of names) {
    const audit: AuditEvent[] = [];
    const server = await run(
      createApiServer({ runtime, storage: faultyStorage(), audit: (event) => void audit.push(event) }),
    );
    const client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }));
    const key = (path: string): string => {
      const [group = '', resource = '', ...rest] = path.split('/');
      return `/${group}/${resource}/root/${rest.join('/')}`;
    };
    clusters.set(name, {
      ...{
        server,
        client,
        audit,
        silent: false,
        writesLeft: Number.POSITIVE_INFINITY,
        connections: 0,
        watches: 0,
        tokens: [],
        users: new Map(),
      },
      hang() {
        for (const end of hanging.get(name) ?? []) end();
      },
      stored: (path) => server.store.get(key(path))?.object,
      below: (path) => server.store.list(`${key(path)}/`).records.map(({ object }) => object),
      write: (object) =>
        run(
          (async () => {
            const resource = await client.resourceFor(object.apiVersion, object.kind);
            const placed = resource.namespaced
              ? { ...object, metadata: { namespace: 'default', ...object.metadata } }
              : object;
            return client.apply(resource, placed, { fieldManager: 'someone', force: true });
          })(),
        ),
      async remove(apiVersion, kind, object) {
        const resource = await run(client.resourceFor(apiVersion, kind));
        await run(client.delete(resource, resource.namespaced ? 'default' : '', object));
      },
    });
  }

  function clusterOf(name: string): BareCluster {
    const found = clusters.get(name);
    if (!found) throw new Error(`there is no cluster ${name}`);
    return found;
  }

  const clients = clusterClients({
    resolve: async () => ['10.0.0.1'],
    rules: {},
    open({ url, token = '' }) {
      const name = new URL(url).hostname.split('.')[0] ?? '';
      const cluster = clusterOf(name);
      const user = cluster.users.get(token) ?? { name: `engine-${token}`, groups: ['system:masters'] };
      const handle = cluster.server.as({ ...user, groups: [...user.groups] });
      const ending = new AbortController();
      let hangs = false;
      hanging.set(name, [...(hanging.get(name) ?? []), () => (hangs = true)]);
      cluster.connections += 1;
      cluster.tokens.push(token);
      const handler: Handler = async (request) => {
        if (ending.signal.aborted) throw new Error('the connection is closed');
        const signals = [ending.signal, ...(request.signal ? [request.signal] : [])];
        const signal = AbortSignal.any(signals);
        const reads = request.method === 'GET';
        if (!reads && cluster.writesLeft <= 0) throw new Error('the process died');
        if (!reads) cluster.writesLeft -= 1;
        if (cluster.silent || hangs)
          return new Promise((_resolve, reject) => {
            signal.addEventListener('abort', () => reject(new Error('the connection is closed')), {
              once: true,
            });
          });
        const isWatch = request.path.includes('watch=');
        if (isWatch) {
          cluster.watches += 1;
          const left = (): void => {
            cluster.watches -= 1;
          };
          signal.addEventListener('abort', left, { once: true });
        }
        return handle({ ...request, signal });
      };
      return Object.assign(handler, {
        close(): void {
          if (!ending.signal.aborted) cluster.connections -= 1;
          ending.abort();
        },
      });
    },
  });

  const rig: EngagedRig = {
    hub,
    clients,
    cluster: clusterOf,
    async credential(name, token = 'one', more = {}) {
      const secret: KubeObject = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name,
          namespace: SECRETS_NAMESPACE,
          labels: { 'multicluster.runtime/cluster': 'true', site: name },
        },
        data: { kubeconfig: Buffer.from(kubeconfigOf(name, token)).toString('base64') },
        ...more,
      };
      await run(hub.client.apply(secrets, secret, { fieldManager: 'someone', force: true }));
    },
    withdraw: async (name) => void (await run(hub.client.delete(secrets, SECRETS_NAMESPACE, name))),
    provider: () =>
      kubeconfigSecrets({
        ...{ client: hub.client, clients, namespace: SECRETS_NAMESPACE },
        ...{ label: 'multicluster.runtime/cluster=true', key: 'kubeconfig' },
      }),
    start(more = {}, of = runtime) {
      const engaged = startEngagedClusters(of, {
        client: hub.client,
        provider: rig.provider(),
        runner: (under, work) => startEngagedGraphs(under, { ...work, version: 'test' }),
        ...more,
      });
      running.add(engaged);
      return engaged;
    },
    async startTargets(more = {}, of = runtime) {
      const client = createClient(hub.server.as({ ...ENGINE_USER, groups: [...ENGINE_USER.groups] }));
      const targets = startKubeconfigTargets(of, { client, clients, key: 'kubeconfig', ...more });
      running.add(targets);
      const policy =
        'admissionregistration.k8s.io/validatingadmissionpolicybindings/-/atoll.dev-remote-objects';
      await hub.until(() => hub.stored(policy) !== undefined, 'the authors are known');
      await hub.rest(500);
      return targets;
    },
    async stop(engaged) {
      for (const one of engaged ? [engaged] : [...running]) {
        running.delete(one);
        await run(one.stop());
      }
    },
    view: (name) => hub.stored(`atoll.dev/engagedclusters/-/${objectNameOf(clusterName(name))}`),
    stateOf: (name) => ((rig.view(name)?.['status'] ?? {}) as { state?: string }).state ?? '',
    async untilState(name, state, limitMs) {
      await hub
        .until(() => rig.stateOf(name) === state, `${name} ${state}`, limitMs)
        .catch((error: unknown) => {
          throw new Error(JSON.stringify(rig.view(name)?.['status'] ?? 'no view'), { cause: error });
        });
    },
    async close() {
      await rig.stop();
      await hub.kill();
      for (const { server } of clusters.values()) await run(server.close());
    },
  };
  await hub.write({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: SECRETS_NAMESPACE } });
  return rig;
}
