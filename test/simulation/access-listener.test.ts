import { request as httpsRequest } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import type { HttpsServer } from '../../src/apiserver/index.ts';
import { startAccessListener } from '../../src/hub/access/index.ts';
import { createCertificateAuthority, issueCertificate } from '../../src/kube/pki.ts';
import { clusterRoleBindings, clusterRoles, serviceAccounts } from '../../src/kube/well-known.ts';
import { startTestFleet, type TestFleet } from '../../src/testing/index.ts';

const PATH = '/clusters/east/api/v1/namespaces/default/configmaps';
let fleet: TestFleet | undefined;
let listener: HttpsServer | undefined;
afterEach(async () => {
  await listener?.close(0);
  await fleet?.stop();
});

/** A hub whose own API server leads nowhere, so to speak: people come to the port of the hub. */
describe('the access port of a hub', () => {
  it('[A68] believes whom the API server believes, and asks it what they may', async () => {
    fleet = await startTestFleet({ spokes: ['east'] });
    const { runtime, hub } = fleet;
    const { client } = hub;
    const access = hub.engine?.access();
    if (access === undefined) throw new Error('the hub gives no access');
    const authority = await createCertificateAuthority(runtime, 'access');
    const { certificate, key } = await issueCertificate(runtime, authority, {
      commonName: 'hub',
      dnsNames: ['localhost'],
      usage: 'server',
      lifetimeMs: 3_600_000,
    });
    const started = await startAccessListener(runtime, { client, access, port: 0, certificate, key });
    listener = started;
    const ask = (path: string, headers: Record<string, string>): Promise<{ code: number; text: string }> =>
      new Promise((resolve, reject) => {
        const asking = httpsRequest(
          { host: 'localhost', port: started.port, path, headers, ca: authority.certificate, agent: false },
          (answer) => {
            const chunks: Buffer[] = [];
            answer.on('data', (chunk: Buffer) => chunks.push(chunk));
            answer.on('end', () =>
              resolve({ code: answer.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') }),
            );
          },
        );
        asking.on('error', reject);
        asking.end();
      });

    await client.create(serviceAccounts, {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'ci', namespace: 'default' },
    });
    const request = await client.create(
      serviceAccounts,
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        metadata: { name: 'ci', namespace: 'default' },
        spec: {},
      },
      { subresource: 'token' },
    );
    const authorization = `Bearer ${(request as unknown as { status: { token: string } }).status.token}`;

    expect((await ask(PATH, {})).code).toBe(401);
    expect((await ask(PATH, { authorization: 'Bearer nonsense' })).code).toBe(401);
    expect((await ask('/readyz', {})).code).toBe(200);
    const refused = await ask(PATH, { authorization });
    expect(refused.code).toBe(403);
    expect(refused.text).toContain('spokeclusters/proxy');
    await client.create(clusterRoles, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'looker' },
      rules: [{ apiGroups: ['core.oam.dev'], resources: ['spokeclusters/proxy'], verbs: ['get'] }],
    });
    const binding = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'looker' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'looker' },
      subjects: [{ kind: 'ServiceAccount', name: 'other', namespace: 'default' }],
    };
    await client.create(clusterRoleBindings, {
      ...binding,
      subjects: [{ kind: 'ServiceAccount', name: 'ci', namespace: 'default' }],
    });
    // What was refused is remembered for some seconds; another path of the same right is the same question.
    const gateway = '/apis/cluster.core.oam.dev/v1alpha1/clustergateways/east/proxy/api/v1/pods';
    await fleet.until(
      async () => (await ask(gateway, { authorization })).code === 200,
      'the right counts',
      15_000,
    );
    expect((await ask(PATH, { authorization })).code).toBe(200);
    expect((await ask('/fleet/api/v1/pods', { authorization })).code).toBe(200);
    expect((await ask('/api/v1/pods', { authorization })).code).toBe(404);
    expect((await ask('/metrics', {})).code).toBe(401);
    expect((await ask('/metrics', { authorization })).code).toBe(403);
    await client.create(clusterRoles, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'scraper' },
      rules: [{ nonResourceURLs: ['/metrics'], verbs: ['get'] }],
    });
    await client.create(clusterRoleBindings, {
      ...binding,
      metadata: { name: 'scraper' },
      roleRef: { ...binding.roleRef, name: 'scraper' },
      subjects: [{ kind: 'ServiceAccount', name: 'ci', namespace: 'default' }],
    });
    await fleet.until(
      async () => (await ask('/metrics', { authorization })).code === 200,
      'the right to scrape',
      15_000,
    );
    const scraped = await ask('/metrics', { authorization });
    expect(scraped.text).toContain('spokecluster_connection_transitions_total{to="Connected"} 1');
    expect((await ask(PATH, { authorization, 'impersonate-user': 'admin' })).code).toBe(403);
    const users = fleet.spoke('east').audit.map((event) => event.user.username);
    expect(users).toContain('hub:system:serviceaccount:default:ci');
  });
});
