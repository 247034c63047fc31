import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { asJson, createClient, endpointFromKubeconfig, httpHandler } from '../kube/index.ts';
import type { KubeObject } from '../kube/object.ts';
import { configMaps, deployments, pods } from '../kube/well-known.ts';
import { virtualClock } from '../runtime/index.ts';
import { numberAt } from '../schema/json.ts';
import { startTestServer, type TestServer, type TestServerOptions } from './index.ts';

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  const server = await startTestServer(options);
  ends.push(() => server.stop());
  return server;
}

const GREETING: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'greeting', namespace: 'default' },
  data: { text: 'hello' },
} as KubeObject;

function definition(plural: string, kind: string): KubeObject {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
      ],
    },
  } as KubeObject;
}

describe('a test server', { timeout: 20_000 }, () => {
  it('serves an empty cluster without a socket', async () => {
    const server = await start();
    expect(server.url).toBeUndefined();
    expect(() => server.kubeconfig()).toThrow('{ listen: true }');
    await server.client.create(configMaps, GREETING);
    const { items } = await server.client.list(configMaps, 'default');
    expect(items.map(({ metadata }) => metadata.name)).toContain('greeting');
  });

  it('gives users the rights that roles give them', async () => {
    const server = await start();
    const ana = await server.createUser('ana', { groups: ['readers'] });
    await expect(ana.client.list(configMaps, 'default')).rejects.toMatchObject({ code: 403 });
    const access = await server.client.resourceFor('rbac.authorization.k8s.io/v1', 'RoleBinding');
    await server.client.create(access, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'RoleBinding',
      metadata: { name: 'readers', namespace: 'default' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'Group', name: 'readers', apiGroup: 'rbac.authorization.k8s.io' }],
    } as KubeObject);
    await server.until(async () => {
      const answer = await ana.client.list(configMaps, 'default').catch(() => undefined);
      return answer !== undefined;
    }, 'that ana may read');
    await expect(ana.client.create(configMaps, GREETING)).rejects.toMatchObject({ code: 403 });
  });

  it('installs definitions from files, folders and objects, and names the file that is wrong', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'atoll-testing-'));
    ends.push(() => rmSync(directory, { recursive: true, force: true }));
    writeFileSync(join(directory, 'a.json'), `${JSON.stringify(definition('anchors', 'Anchor'))}\n`);
    writeFileSync(join(directory, 'b.yaml'), 'apiVersion: v1\nkind: Namespace\nmetadata: {name: other}\n');
    const server = await start({ crds: [definition('boats', 'Boat')], clusters: ['edge'] });
    await server.installCrds([directory]);
    expect((await server.client.resourceFor('example.com/v1', 'Anchor')).resource).toBe('anchors');
    expect((await server.client.resourceFor('example.com/v1', 'Boat')).resource).toBe('boats');
    expect((await server.cluster('edge').resourceFor('example.com/v1', 'Boat')).resource).toBe('boats');
    await expect(server.cluster('edge').resourceFor('example.com/v1', 'Anchor')).rejects.toThrow();

    writeFileSync(join(directory, 'c.yaml'), 'a: [');
    await expect(server.installCrds([directory])).rejects.toThrow('c.yaml:1');
    await expect(server.installCrds([join(directory, 'b.yaml')])).rejects.toThrow(
      'no CustomResourceDefinition',
    );
    await expect(startTestServer({ crds: [join(directory, 'missing')] })).rejects.toThrow('cannot be read');
  });

  it('keeps logical clusters apart', async () => {
    const server = await start({ clusters: ['one', 'two'] });
    await server.cluster('one').create(configMaps, GREETING);
    await expect(server.cluster('two').get(configMaps, 'default', 'greeting')).rejects.toMatchObject({
      code: 404,
    });
    expect(() => server.cluster('three')).toThrow('there are root, one, two');
  });

  it('listens for other processes, who come with the certificate of a kubeconfig', async () => {
    const server = await start({ listen: true, clusters: ['edge'] });
    const ana = await server.createUser('ana', { groups: ['system:masters'] });
    for (const context of ['atoll', 'edge']) {
      const endpoint = endpointFromKubeconfig(ana.kubeconfig(), { stored: false, context });
      const http = httpHandler(endpoint);
      ends.push(() => http.close());
      const client = createClient(http);
      await client.create(configMaps, GREETING);
      expect(asJson(await client.get(configMaps, 'default', 'greeting'))['data']).toEqual({ text: 'hello' });
    }
    expect(server.server.store.list('').records.map(({ key }) => key)).toEqual(
      expect.arrayContaining([
        '/core/configmaps/root/default/greeting',
        '/core/configmaps/edge/default/greeting',
      ]),
    );
  });

  it('lets workloads live on a virtual clock as fast as the test wants', async () => {
    const clock = virtualClock();
    const server = await start({ clock, workloads: true });
    await server.client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 3,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: { containers: [{ name: 'main', image: 'example.com/web:1' }] },
        },
      },
    } as KubeObject);
    await server.until(
      async () =>
        numberAt(await server.client.get(deployments, 'default', 'web'), 'status', 'readyReplicas') === 3,
      'that three are ready',
    );
    expect((await server.client.list(pods, 'default')).items).toHaveLength(3);
    await expect(server.until(() => false, 'something that never is', 50)).rejects.toThrow(
      'something that never is did not hold within 50 ms',
    );
  });
});
