// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type ApiServer,
  clientCertificateAuthenticator,
  createApiServer,
  memoryDriver,
  serveHttps,
} from '../apiserver/index.ts';
import { GRAPH_REVISION, GRAPH_ROLLOUT, RESOURCE_GRAPH_DEFINITION } from '../dialects/kro/index.ts';
import type { Client } from '../kube/client.ts';
import { installKinds, resourceIdOf } from '../kube/custom-resource.ts';
import type { KubeObject } from '../kube/object.ts';
import { createCertificateAuthority, issueCertificate, type KeyPair } from '../kube/pki.ts';
import { createClient } from '../kube/rest-client.ts';
import { namespaces, secrets } from '../kube/well-known.ts';
import { systemRuntime, virtualRuntime } from '../runtime/index.ts';
import { startGraphs } from '../spoke/graphs/index.ts';
import { untilHolds } from '../testing/moving-time.ts';
import { actAsOf, type EngagedFlags, startEngaged } from './engaged.ts';

const ADMIN = { name: 'admin', groups: ['system:masters'] };
const LOCAL = { resolve: async () => ['127.0.0.1'], rules: { allowLoopback: true } };
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

describe('a hub without --enable-multicluster', () => {
  it('[R114] asks nothing, watches nothing and waits for nothing of clusters without an engine', async () => {
    const runtime = virtualRuntime(1);
    let asked = 0;
    const client = createClient(async () => {
      asked += 1;
      throw new Error('nobody is there');
    });
    const before = [runtime.clock.pending(), runtime.metrics.text()];
    const engaged = await startEngaged(runtime, { client, version: 'test', credentials: LOCAL, flags: {} });
    await runtime.clock.advance(600_000);
    expect(engaged).toBeUndefined();
    expect(asked).toBe(0);
    expect([runtime.clock.pending(), runtime.metrics.text()]).toEqual(before);
  });

  it('says so where flags would mean something with it', async () => {
    const options = { client: createClient(async () => Promise.reject(new Error('none'))), version: 'test' };
    const flags: EngagedFlags = { clusterSecretsKey: 'config' };
    await expect(startEngaged(virtualRuntime(1), { ...options, credentials: LOCAL, flags })).rejects.toThrow(
      '--cluster-secrets-key means nothing without --enable-multicluster',
    );
  });
});

describe('whom objects are written as', () => {
  it('is a user with the graph and the namespace of the instance in it', () => {
    const actAs = actAsOf('system:serviceaccount:{namespace}:graph-{graph}');
    expect(actAs('shop', 'team-a')).toBe('system:serviceaccount:team-a:graph-shop');
  });

  it.each([['{name}'], [''], ['a b'], ['a\r\nimpersonate-group: system:masters']])('is not %j', (text) => {
    expect(() => actAsOf(text)).toThrow('--cluster-act-as');
  });
});

describe('a hub with --enable-multicluster', () => {
  const runtime = systemRuntime();

  interface RealCluster {
    readonly client: Client;
    readonly https: Awaited<ReturnType<typeof serveHttps>>;
    kubeconfig(): string;
  }

  async function realCluster(): Promise<RealCluster> {
    const authority = await createCertificateAuthority(runtime, 'cluster');
    const issue = (more: { commonName: string; usage: 'server' | 'client' }): Promise<KeyPair> =>
      issueCertificate(runtime, authority, {
        ...{ organizations: ['system:masters'], ipAddresses: ['127.0.0.1'], lifetimeMs: 3_600_000 },
        ...more,
      });
    const server = await createApiServer({
      ...{ runtime, storage: memoryDriver() },
      authenticate: clientCertificateAuthenticator(runtime.clock),
    });
    const own = await issue({ commonName: 'api', usage: 'server' });
    const user = await issue({ commonName: 'graphs', usage: 'client' });
    const https = await serveHttps(runtime, {
      ...{ port: 0, certificate: own.certificate, key: own.key, clientCa: authority.certificate },
      handle: (request, connection) => server.handle(request, connection),
    });
    closing.push(() => server.close());
    closing.push(() => https.close(100));
    const inline = (pem: string): string => Buffer.from(pem).toString('base64');
    return {
      client: createClient(server.as(ADMIN)),
      https,
      kubeconfig: () =>
        JSON.stringify({
          'current-context': 'c',
          clusters: [
            {
              name: 'c',
              cluster: {
                server: `https://127.0.0.1:${https.port}`,
                'certificate-authority-data': inline(authority.certificate),
              },
            },
          ],
          contexts: [{ name: 'c', context: { cluster: 'c', user: 'u' } }],
          users: [
            {
              name: 'u',
              user: {
                'client-certificate-data': inline(user.certificate),
                'client-key-data': inline(user.key),
              },
            },
          ],
        }),
    };
  }

  async function hubOf(): Promise<{ server: ApiServer; client: Client; below(path: string): KubeObject[] }> {
    const server = await createApiServer({ runtime, storage: memoryDriver() });
    closing.push(() => server.close());
    const client = createClient(server.as(ADMIN), { clock: runtime.clock });
    await installKinds(runtime.clock, client, [RESOURCE_GRAPH_DEFINITION, GRAPH_REVISION, GRAPH_ROLLOUT]);
    const engine = startGraphs(runtime, { client, version: 'test' });
    closing.push(() => engine.stop());
    await client.create(namespaces, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'kro-system' },
    });
    return {
      ...{ server, client },
      below(path) {
        const [group = '', resource = '', ...rest] = path.split('/');
        return server.store
          .list(`/${group}/${resource}/root/${rest.join('/')}`)
          .records.map(({ object }) => object);
      },
    };
  }

  const stateOf = (view: KubeObject | undefined): string =>
    ((view?.['status'] ?? {}) as { state?: string }).state ?? '';

  it('[R116] serves a cluster over TLS by its Secret, and leaves no socket open when that is deleted', async () => {
    const cluster = await realCluster();
    const hub = await hubOf();
    const engaged = await startEngaged(runtime, {
      ...{ client: hub.client, version: 'test', credentials: LOCAL, flags: { enableMulticluster: true } },
    });
    closing.push(() => engaged?.stop());
    const view = (): KubeObject | undefined => hub.below('atoll.dev/engagedclusters/-/')[0];
    await hub.client.create(secrets, {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: {
        ...{ name: 'real', namespace: 'kro-system', labels: { 'multicluster.runtime/cluster': 'true' } },
      },
      data: { kubeconfig: Buffer.from(cluster.kubeconfig()).toString('base64') },
    });
    await untilHolds(runtime.clock, () => stateOf(view()) === 'Ready', 'engaged');
    expect(sockets()).toBeGreaterThan(0);
    await hub.client.create(resourceIdOf(RESOURCE_GRAPH_DEFINITION), {
      apiVersion: 'kro.run/v1alpha1',
      kind: 'ResourceGraphDefinition',
      metadata: { name: 'shop' },
      spec: {
        schema: { apiVersion: 'v1alpha1', kind: 'Shop', spec: { colour: 'string' } },
        resources: [
          {
            id: 'app',
            template: {
              ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: '${schema.metadata.name}' } },
              data: { colour: '${schema.spec.colour}' },
            },
          },
        ],
      },
    });
    const served = async (): Promise<boolean> =>
      (await cluster.client.resourceFor('kro.run/v1alpha1', 'Shop').catch(() => undefined)) !== undefined;
    await untilHolds(runtime.clock, served, 'the kind there');
    const shops = await cluster.client.resourceFor('kro.run/v1alpha1', 'Shop');
    await cluster.client.create(shops, {
      ...{ apiVersion: 'kro.run/v1alpha1', kind: 'Shop', metadata: { name: 'one', namespace: 'default' } },
      spec: { colour: 'red' },
    });
    const active = async (): Promise<boolean> =>
      JSON.stringify((await cluster.client.get(shops, 'default', 'one'))['status'] ?? '').includes(
        '"ACTIVE"',
      );
    await untilHolds(runtime.clock, active, 'the instance');
    await hub.client.delete(secrets, 'kro-system', 'real');
    await untilHolds(runtime.clock, () => stateOf(view()) === 'Disengaged', 'disengaged');
    await untilHolds(runtime.clock, () => sockets() === 0, 'no socket');
    expect(await active()).toBe(true);
  }, 60_000);

  it('serves the clusters of kubeconfig files, as they come and go', async () => {
    const cluster = await realCluster();
    const hub = await hubOf();
    const directory = mkdtempSync(join(tmpdir(), 'clusters-'));
    closing.push(() => rmSync(directory, { recursive: true }));
    const engaged = await startEngaged(runtime, {
      ...{ client: hub.client, version: 'test', credentials: LOCAL },
      flags: {
        enableMulticluster: true,
        clusterProvider: ['file'],
        clusterFiles: [join(directory, '*.yaml')],
      },
    });
    closing.push(() => engaged?.stop());
    const states = (): string[] => hub.below('atoll.dev/engagedclusters/-/').map(stateOf);
    writeFileSync(join(directory, 'real.yaml'), cluster.kubeconfig());
    await untilHolds(runtime.clock, () => states().includes('Ready'), 'engaged');
    rmSync(join(directory, 'real.yaml'));
    await untilHolds(runtime.clock, () => states().includes('Disengaged'), 'disengaged');
    await untilHolds(runtime.clock, () => sockets() === 0, 'no socket');
  }, 60_000);

  it.each<[EngagedFlags, string]>([
    [{ clusterProvider: ['kind'] }, 'there is no such provider; there are kubeconfig'],
    [{ clusterProvider: ['file'] }, 'needs --cluster-files'],
  ])('refuses %j', async (flags, why) => {
    const client = createClient(async () => Promise.reject(new Error('none')));
    await expect(
      startEngaged(virtualRuntime(1), {
        ...{ client, version: 'test', credentials: LOCAL, flags: { ...flags, enableMulticluster: true } },
      }),
    ).rejects.toThrow(why);
  });
});

/** Those of this process, both ends of a connection that stays within it. */
function sockets(): number {
  return process.getActiveResourcesInfo().filter((name) => name === 'TCPSocketWrap' || name === 'TLSWrap')
    .length;
}
