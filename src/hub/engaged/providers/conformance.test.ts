import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ApiServer, createApiServer, memoryDriver } from '../../../apiserver/index.ts';
import { CLUSTER_PROFILE } from '../../../dialects/cluster-profile/index.ts';
import type { Client, ResourceId } from '../../../kube/client.ts';
import { type CustomKind, installKinds, resourceIdOf } from '../../../kube/custom-resource.ts';
import type { KubeObject } from '../../../kube/object.ts';
import { createClient } from '../../../kube/rest-client.ts';
import { namespaces, secrets } from '../../../kube/well-known.ts';
import { type VirtualRuntime, virtualRuntime } from '../../../runtime/index.ts';
import { anything } from '../../../schema/schema-of.ts';
import { whileTimePasses } from '../../../testing/moving-time.ts';
import { clusterClients } from '../cluster-clients.ts';
import type { ClusterAccess, ClusterProvider, RunningProvider } from '../provider.ts';
import { clusterApiClusters } from './cluster-api.ts';
import { profiledClusters } from './cluster-profiles.ts';
import { knownClusters, NO_CLUSTERS } from './known-clusters.ts';
import { kubeconfigFiles } from './kubeconfig-files.ts';
import { kubeconfigSecrets } from './kubeconfig-secrets.ts';
import { namespaceClusters } from './namespaces.ts';
import { severalProviders } from './several.ts';

/** How a test makes clusters be there for a provider. */
interface Source {
  readonly provider: ClusterProvider;
  /** What the cluster `name` of the source is called. */
  nameOf(name: string): string;
  /** Adds it, or gives it another credential. */
  put(name: string, token: string): Promise<void>;
  remove(name: string): Promise<void>;
}

interface World {
  readonly client: Client;
  readonly clients: ReturnType<typeof clusterClients>;
  readonly tokens: string[];
}

const CLUSTER: CustomKind = {
  ...{
    group: 'cluster.x-k8s.io',
    version: 'v1beta2',
    kind: 'Cluster',
    plural: 'clusters',
    scope: 'Namespaced',
  },
  ...{ annotations: { 'api-approved.kubernetes.io': 'https://example.com/approved' } },
  ...{ spec: anything(), status: anything() },
};
const CLUSTERS = resourceIdOf(CLUSTER);
const PROFILES = resourceIdOf(CLUSTER_PROFILE);
const INVENTORY = 'fleet';

function kubeconfig(context: string, token: string): string {
  const ca = Buffer.from('an authority').toString('base64');
  return JSON.stringify({
    'current-context': context,
    clusters: [
      { name: context, cluster: { server: `https://${context}.example`, 'certificate-authority-data': ca } },
    ],
    contexts: [{ name: context, context: { cluster: context, user: context } }],
    users: [{ name: context, user: { token } }],
  });
}

function secret(name: string, labels: Record<string, string>, key: string, text: string): KubeObject {
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace: INVENTORY, labels } },
    data: { [key]: Buffer.from(text).toString('base64') },
  };
}

const apply = (client: Client, resource: ResourceId, object: KubeObject, subresource?: string) =>
  client.apply(resource, object, {
    ...{ fieldManager: 'test', force: true },
    ...(subresource === undefined ? {} : { subresource }),
  });

const SOURCES: Readonly<Record<string, (world: World) => Source>> = {
  kubeconfig: ({ client, clients }) => ({
    provider: kubeconfigSecrets({ client, clients, namespace: INVENTORY, label: 'here=yes', key: 'config' }),
    nameOf: (name) => name,
    put: async (name, token) =>
      void (await apply(client, secrets, secret(name, { here: 'yes' }, 'config', kubeconfig(name, token)))),
    remove: async (name) => void (await client.delete(secrets, INVENTORY, name)),
  }),
  file({ clients }) {
    const files = new Map<string, string>();
    let listener = (): void => undefined;
    return {
      provider: kubeconfigFiles({
        clients,
        files: {
          read: () => [...files].map(([path, text]) => ({ path, text })),
          readFile: () => '',
          onChange(heard) {
            listener = heard;
            return () => undefined;
          },
        },
      }),
      nameOf: (name) => `/etc/${name}+${name}`,
      async put(name, token) {
        files.set(`/etc/${name}`, kubeconfig(name, token));
        listener();
      },
      async remove(name) {
        files.delete(`/etc/${name}`);
        listener();
      },
    };
  },
  'cluster-api': ({ client, clients }) => ({
    provider: clusterApiClusters({ client, clients }),
    nameOf: (name) => `${INVENTORY}/${name}`,
    async put(name, token) {
      const apiVersion = 'cluster.x-k8s.io/v1beta2';
      const cluster = { apiVersion, kind: 'Cluster', metadata: { name, namespace: INVENTORY } };
      await apply(client, CLUSTERS, cluster);
      const status = { initialization: { controlPlaneInitialized: true } };
      await apply(client, CLUSTERS, { ...cluster, status }, 'status');
      const labels = { 'cluster.x-k8s.io/cluster-name': name };
      await apply(client, secrets, secret(`${name}-kubeconfig`, labels, 'value', kubeconfig(name, token)));
    },
    remove: async (name) => void (await client.delete(CLUSTERS, INVENTORY, name)),
  }),
  'cluster-profiles': ({ client, clients }) => ({
    provider: profiledClusters({ client, clients, consumer: 'graphs' }),
    nameOf: (name) => `${INVENTORY}/${name}`,
    async put(name, token) {
      const profile = {
        ...{ apiVersion: 'multicluster.x-k8s.io/v1alpha1', kind: 'ClusterProfile' },
        ...{ metadata: { name, namespace: INVENTORY }, spec: { clusterManager: { name: 'test' } } },
      };
      await apply(client, PROFILES, profile);
      const at = { lastTransitionTime: '2026-01-01T00:00:00Z', message: '', reason: 'Test' };
      const conditions = [{ type: 'ControlPlaneHealthy', status: 'True', ...at }];
      await apply(client, PROFILES, { ...profile, status: { conditions } }, 'status');
      const labels = { 'x-k8s.io/cluster-inventory-consumer': 'graphs', 'x-k8s.io/cluster-profile': name };
      await apply(client, secrets, secret(`${name}-for-graphs`, labels, 'Config', kubeconfig(name, token)));
    },
    remove: async (name) => void (await client.delete(PROFILES, INVENTORY, name)),
  }),
  namespace: ({ client, tokens }) => ({
    provider: namespaceClusters({ client, label: 'cluster=yes' }),
    nameOf: (name) => name,
    async put(name, token) {
      // A namespace has no credential: another one comes with the namespace made anew.
      const labels = { cluster: 'yes', token };
      await apply(client, namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } });
      tokens.push(token);
    },
    remove: async (name) => void (await client.delete(namespaces, '', name)),
  }),
  'in-process'({ clients }) {
    const known = knownClusters();
    return {
      provider: known.provider,
      nameOf: (name) => name,
      put: async (name, token) =>
        known.set(name, clients.accessOf({ text: kubeconfig(name, token), labels: {} })),
      remove: async (name) => known.remove(name),
    };
  },
  several(world) {
    const inner = (SOURCES['in-process'] as (world: World) => Source)(world);
    return {
      ...inner,
      provider: severalProviders({ lab: inner.provider, none: NO_CLUSTERS }),
      nameOf: (name) => `lab#${name}`,
    };
  },
};

let runtime: VirtualRuntime;
let server: ApiServer;
let world: World;
let running: RunningProvider | undefined;
const run = <T>(work: Promise<T>): Promise<T> => whileTimePasses(runtime.clock, work);
/** What the provider told, in order: `+name`, `-name`. */
let told: string[];
let engaged: Map<string, { access: ClusterAccess; signal: AbortSignal }>;

function start(provider: ClusterProvider): void {
  running = provider.start(runtime, {
    engage(name, access, signal) {
      told.push(`+${name}`);
      engaged.set(name, { access, signal });
      signal.addEventListener('abort', () => {
        if (engaged.get(name)?.signal !== signal) return;
        engaged.delete(name);
        told.push(`-${name}`);
      });
    },
  });
}

beforeEach(async () => {
  runtime = virtualRuntime(3);
  told = [];
  engaged = new Map();
  server = await run(createApiServer({ runtime, storage: memoryDriver() }));
  const client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }));
  await run(installKinds(runtime.clock, client, [CLUSTER, CLUSTER_PROFILE]));
  await run(
    client.create(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: INVENTORY } }),
  );
  const tokens: string[] = [];
  const clients = clusterClients({
    resolve: async () => ['10.0.0.1'],
    rules: {},
    open({ token = '' }) {
      tokens.push(token);
      return Object.assign(async () => ({ status: 200, headers: {}, body: new Uint8Array() }), {
        close: () => undefined,
      });
    },
  });
  world = { client, clients, tokens };
});
afterEach(async () => {
  running?.stop();
  running = undefined;
  await run(server.close());
});

describe.each(Object.entries(SOURCES))('[R118] the provider %s', (_name, sourceOf) => {
  it('tells of clusters that are there, that come, rotate and go, and ends with all of them let go', async () => {
    const source = sourceOf(world);
    const [a, b] = [source.nameOf('a'), source.nameOf('b')];
    await run(source.put('a', 'one'));
    start(source.provider);
    await runtime.clock.advance(2_000);
    expect(running?.synced()).toBe(true);
    expect(told).toEqual([`+${a}`]);
    await run(source.put('b', 'one'));
    await runtime.clock.advance(2_000);
    expect(told).toEqual([`+${a}`, `+${b}`]);

    // The same again is no news; it can be connected to.
    await run(source.put('b', 'one'));
    await runtime.clock.advance(2_000);
    expect(told).toHaveLength(2);
    const connection = await run((engaged.get(b) as { access: ClusterAccess }).access.connect());
    expect(typeof connection.handler).toBe('function');
    connection.close();
    expect(world.clients.size).toBe(0);

    // A rotation: the name is engaged anew before the signal of before is aborted, so it is never let go of.
    const before = engaged.get(a);
    await run(source.put('a', 'two'));
    await runtime.clock.advance(2_000);
    expect(told).toEqual([`+${a}`, `+${b}`, `+${a}`]);
    expect(before?.signal.aborted).toBe(true);
    const after = (engaged.get(a) as { access: ClusterAccess }).access;
    (await run(after.connect())).close();
    expect(world.tokens.at(-1)).toBe('two');

    await run(source.remove('a'));
    await runtime.clock.advance(10_000);
    expect([...engaged.keys()]).toEqual([b]);
    running?.stop();
    expect([...engaged.keys()]).toEqual([]);
    const ended = told.length;
    await run(source.put('c', 'one'));
    await runtime.clock.advance(2_000);
    expect(told).toHaveLength(ended);
  });
});

describe('[R118] the provider of none', () => {
  it('tells of nothing', async () => {
    start(NO_CLUSTERS);
    await runtime.clock.advance(2_000);
    expect(told).toEqual([]);
    expect(running?.synced()).toBe(true);
  });
});

describe('credentials of clusters', () => {
  it.each([
    ['runs a program', { exec: { command: 'sh' } }, {}, 'exec plugin'],
    ['names a file', { tokenFile: '/etc/shadow' }, {}, 'put it inline'],
    [
      'checks no certificate',
      { token: 't' },
      { 'insecure-skip-tls-verify': true },
      'insecure-skip-tls-verify',
    ],
    ['leads to metadata', { token: 't' }, { server: 'https://169.254.169.254' }, 'link-local'],
  ])(
    'are refused where the kubeconfig %s, without a word of what it holds',
    async (_what, user, cluster, why) => {
      const text = JSON.stringify({
        'current-context': 'c',
        clusters: [
          {
            name: 'c',
            cluster: { server: 'https://a.example', 'certificate-authority-data': 'c2VjcmV0', ...cluster },
          },
        ],
        contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
        users: [{ name: 'u', user }],
      });
      const access = world.clients.accessOf({ text, labels: {} });
      await expect(access.connect()).rejects.toThrow(why);
      await expect(access.connect()).rejects.not.toThrow('secret');
      expect(world.tokens).toEqual([]);
    },
  );
});
