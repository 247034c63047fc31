import { type ApiServer, createApiServer, memoryDriver } from '../../src/apiserver/index.ts';
import { SPOKE_CLUSTER } from '../../src/dialects/kubevela/kinds.ts';
import type { SpokeCluster } from '../../src/dialects/kubevela/types.ts';
import type { CredentialOptions } from '../../src/hub/credential/index.ts';
import { createFleet, type Fleet } from '../../src/hub/fleet.ts';
import { type Inventory, type LinkSource, startInventory } from '../../src/hub/inventory/index.ts';
import type { ClusterProvider } from '../../src/hub/provision/index.ts';
import type { Client } from '../../src/kube/client.ts';
import type { ClusterEndpoint } from '../../src/kube/cluster-endpoint.ts';
import { installKinds, resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { hasCode } from '../../src/kube/status-error.ts';
import { events, namespaces, secrets } from '../../src/kube/well-known.ts';
import { directLink } from '../../src/link/index.ts';
import { type VirtualRuntime, virtualRuntime } from '../../src/runtime/index.ts';
import { untilHolds, whileTimePasses } from '../../src/testing/moving-time.ts';

const SPOKE_CLUSTERS = resourceIdOf(SPOKE_CLUSTER);
export const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

/** A hub that has nothing but an inventory, and clusters that are reached by their endpoints, `https://<name>.test`. */
export interface InventoryRig {
  readonly runtime: VirtualRuntime;
  readonly client: Client;
  readonly inventory: Inventory;
  readonly fleet: Fleet;
  /** What answers for a cluster. */
  readonly servers: Map<string, Handler>;
  /** The endpoint that a cluster's link was made for last. */
  readonly endpoints: Map<string, ClusterEndpoint>;
  run<T>(work: Promise<T>): Promise<T>;
  until(condition: () => boolean | Promise<boolean>, what: string, limitMs?: number): Promise<void>;
  rest(ms: number): Promise<void>;
  /** A server of Kubernetes of its own. */
  cluster(name: string): Promise<ApiServer>;
  register(spoke: { name: string; namespace?: string; spec?: object; annotations?: object }): Promise<void>;
  change(name: string, patch: object, namespace?: string): Promise<void>;
  spoke(name: string, namespace?: string): Promise<SpokeCluster | undefined>;
  /** `True/Reason` of a condition. */
  condition(name: string, type: string, namespace?: string): Promise<string>;
  secret(namespace: string, name: string): Promise<KubeObject | undefined>;
  store(namespace: string, name: string, data: Record<string, string>, metadata?: object): Promise<void>;
  /** Reasons of Events of a cluster, each with how often it happened. */
  events(name: string): Promise<Record<string, number>>;
  /** Another inventory on the same hub. */
  again(): Inventory;
  stop(): Promise<void>;
}

export async function inventoryRig(
  seed: number,
  credentials: Partial<CredentialOptions> = {},
  provider?: ClusterProvider,
): Promise<InventoryRig> {
  const runtime = virtualRuntime(seed);
  const { clock } = runtime;
  const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(clock, work);
  const admin = { name: 'admin', groups: ['system:masters'] };
  const server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  const client = createClient(server.as(admin), { clock });
  await run(installKinds(clock, client, [SPOKE_CLUSTER]));
  const fleet = createFleet(runtime);
  const servers = new Map<string, Handler>();
  const endpoints = new Map<string, ClusterEndpoint>();
  const started: ApiServer[] = [server];
  const again = (): Inventory => startInventory(runtime, client, fleet, links, options, provider);
  const options = { resolve: async () => ['10.0.0.5'], rules: {}, ...credentials };
  const links: LinkSource = {
    tunnel: () => undefined,
    onTunnel: () => undefined,
    forget: () => undefined,
    direct(spoke, endpoint) {
      endpoints.set(spoke, endpoint);
      const name = new URL(endpoint.url).hostname.replace(/\.test$/, '');
      return directLink(runtime, spoke, (request) => {
        const found = servers.get(name);
        return found ? found(request) : Promise.reject(new Error('connect ECONNREFUSED 10.0.0.5:443'));
      });
    },
  };
  const inventory = again();
  await run(inventory.whenSynced());

  const orUndefined = async <T>(work: Promise<T>): Promise<T | undefined> => {
    try {
      return await work;
    } catch (error) {
      if (hasCode(error, 404)) return undefined;
      throw error;
    }
  };
  const spoke = (name: string, namespace = 'default') =>
    orUndefined(run(client.get<SpokeCluster>(SPOKE_CLUSTERS, namespace, name)));

  return {
    runtime,
    client,
    inventory,
    fleet,
    servers,
    endpoints,
    run,
    until: (condition, what, limitMs) => untilHolds(clock, condition, what, limitMs),
    rest: (ms) => clock.advance(ms),
    async cluster(name) {
      const far = await run(createApiServer({ runtime, storage: memoryDriver() }));
      started.push(far);
      servers.set(name, far.as(admin));
      return far;
    },
    async register({ name, namespace = 'default', spec, annotations = {} }) {
      const credential = { type: 'kubeconfig', kubeconfig: { secretRef: { name: `${name}-kubeconfig` } } };
      await run(
        client.create(SPOKE_CLUSTERS, {
          apiVersion: 'core.oam.dev/v1beta1',
          kind: 'SpokeCluster',
          metadata: { name, namespace, annotations },
          spec: spec ?? { credential },
        } as KubeObject),
      );
    },
    async change(name, patch, namespace = 'default') {
      await run(client.patch(SPOKE_CLUSTERS, namespace, name, 'merge', patch));
    },
    spoke,
    async condition(name, type, namespace) {
      const found = (await spoke(name, namespace))?.status?.conditions?.find((item) => item.type === type);
      return found ? `${found.status}/${found.reason}` : '';
    },
    secret: (namespace, name) => orUndefined(run(client.get(secrets, namespace, name))),
    async store(namespace, name, data, metadata = {}) {
      if (!(await orUndefined(run(client.get(namespaces, '', namespace)))))
        await run(
          client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }),
        );
      const object = {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name, namespace, ...metadata },
        stringData: data,
      } as KubeObject;
      await run(client.create(secrets, object));
    },
    async events(name) {
      const { items } = await run(client.list(events, ''));
      const out: Record<string, number> = {};
      for (const event of items) {
        const { involvedObject, reason, count } = event as unknown as {
          involvedObject: { name: string };
          reason: string;
          count: number;
        };
        if (involvedObject.name === name) out[reason] = (out[reason] ?? 0) + count;
      }
      return out;
    },
    again,
    async stop() {
      await run(inventory.stop());
      fleet.stop();
      for (const each of started) await run(each.close());
    },
  };
}

export function kubeconfigOf(
  name: string,
  user: object = { token: 'sesame' },
  cluster: object = { 'certificate-authority-data': Buffer.from(CA).toString('base64') },
): string {
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'main',
    contexts: [{ name: 'main', context: { cluster: 'main', user: 'main' } }],
    clusters: [{ name: 'main', cluster: { server: `https://${name}.test`, ...cluster } }],
    users: [{ name: 'main', user }],
  });
}
