import { generateKeyPairSync, sign } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ApiServer,
  clientCertificateAuthenticator,
  createApiServer,
  memoryDriver,
} from '../apiserver/index.ts';
import { startWorkloads } from '../apiserver/workloads/index.ts';
import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import { ACCESS_GRANT } from '../engine/access/index.ts';
import { SPOKE_CONTRACT } from '../engine/contract/index.ts';
import { createJoinToken, readLinkNotice, tunnelCluster } from '../hub/join/index.ts';
import type { Client } from '../kube/client.ts';
import { installKinds, resourceIdOf } from '../kube/custom-resource.ts';
import { readBody } from '../kube/exchange.ts';
import type { KubeObject } from '../kube/object.ts';
import { createCertificateAuthority, issueCertificate } from '../kube/pki.ts';
import { createClient } from '../kube/rest-client.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  endpoints,
  serviceAccounts,
  services,
} from '../kube/well-known.ts';
import { formatTime, systemRuntime } from '../runtime/index.ts';
import { grantHubAccess } from '../spoke/hub-access.ts';
import { hubDoor } from '../spoke/hub-door.ts';
import { untilHolds } from '../testing/moving-time.ts';
import { type Engine, startEngine } from './engine.ts';
import type { CredentialPlace, KeptCredentials } from './key-store.ts';
import { dialHub, listenForSpokes } from './link-ends.ts';
import { createLinks } from './links.ts';

/** Of what takes a moment. */
const PATIENCE_MS = 15_000;
const ROOT = { name: 'root', groups: ['system:masters'] };
const ISSUER = 'https://issuer.example/realm';
const WHO_AM_I = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const WEB = '/api/v1/namespaces/default/services/web:http/proxy/page';
const runtime = systemRuntime();
const { clock } = runtime;
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** An ID token of the issuer that the hub believes. */
function idToken(sub: string, groups: string[]): string {
  const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: ISSUER, aud: 'atoll', sub, groups, exp: Math.floor(clock.now() / 1000) + 600 };
  const signed = `${encode({ alg: 'RS256', kid: 'rsa' })}.${encode(claims)}`;
  return `${signed}.${sign('sha256', Buffer.from(signed), rsa.privateKey).toString('base64url')}`;
}

let hub: ApiServer;
let hubClient: Client;
let spoke: ApiServer;
let spokeClient: Client;
let certificate: Uint8Array;

beforeEach(async () => {
  let engine: Engine | undefined;
  hub = await createApiServer({
    runtime,
    storage: memoryDriver(),
    authenticate: clientCertificateAuthenticator(clock),
    oidc: {
      issuer: ISSUER,
      clientId: 'atoll',
      signingAlgorithms: ['RS256'],
      usernamePrefix: 'oidc:',
      groupsClaim: 'groups',
      groupsPrefix: 'oidc:',
      caBundle: 'its authority',
    },
    outbound: {
      async send({ url }) {
        const key = { ...rsa.publicKey.export({ format: 'jwk' }), kid: 'rsa', use: 'sig', alg: 'RS256' };
        const isDiscovery = url === `${ISSUER}/.well-known/openid-configuration`;
        const answer = isDiscovery ? { issuer: ISSUER, jwks_uri: `${ISSUER}/keys` } : { keys: [key] };
        return { status: 200, headers: {}, body: Buffer.from(JSON.stringify(answer)) };
      },
      close: async () => {},
    },
    spaces: (path) => engine?.access()?.spaces(path),
  });
  closing.push(() => hub.close());
  hubClient = createClient(hub.as(ROOT), { clock });
  spoke = await createApiServer({
    runtime,
    storage: memoryDriver(),
    disableAdmissionPlugins: ['ServiceAccount'],
  });
  closing.push(() => spoke.close());
  spokeClient = createClient(spoke.as(ROOT), { clock });
  const links = createLinks(runtime);
  const directory = mkdtempSync(join(tmpdir(), 'hub-'));
  closing.push(() => rmSync(directory, { recursive: true }));
  const started = await startEngine(runtime, {
    name: 'hub',
    client: hubClient,
    version: 'test',
    links,
    credentials: { resolve: async () => [], rules: {} },
    roles: { hub: true },
  });
  engine = started;
  closing.push(() => started.stop());
  const listener = await listenForSpokes(runtime, hubClient, links, { name: 'hub', port: 0, directory });
  closing.push(() => listener.close());

  await installKinds(clock, spokeClient, [SPOKE_CONTRACT]);
  await grantHubAccess(spokeClient);
  const workloads = startWorkloads(runtime, spokeClient, { nodes: { count: 1, namePrefix: 'node' } });
  closing.push(() => workloads.stop());
  await spokeClient.create(deployments, {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'default' },
    spec: {
      replicas: 1,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'nginx', ports: [{ containerPort: 8080 }] }] },
      },
    },
  } as KubeObject);
  await spokeClient.create(services, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 8080 }] },
  } as KubeObject);
  await hubClient.create(
    resourceIdOf(SPOKE_CLUSTER),
    tunnelCluster({ name: 'east', namespace: 'default', accepted: true }),
  );
  const notice = await readLinkNotice(hubClient);
  if (!notice) throw new Error('the hub tells nothing of its link');
  const { names: _names, ...told } = notice;
  const dialer = dialHub(
    runtime,
    { ...told, tokens: { east: await createJoinToken(runtime, hubClient, 'east') } },
    {
      cluster: 'east',
      credentials: inMemory(),
      serve: hubDoor(
        (user) => spoke.as(user),
        (request) => spoke.handle(request, {}),
      ),
    },
  );
  closing.push(() => dialer.close());

  const authority = await createCertificateAuthority(runtime, 'test');
  const issued = await issueCertificate(runtime, authority, {
    commonName: 'carol',
    usage: 'client',
    lifetimeMs: 3_600_000,
  });
  certificate = Buffer.from(issued.certificate.replace(/-----[^-]+-----|\s/g, ''), 'base64');
  await hubClient.create(clusterRoles, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'user' },
    rules: [{ apiGroups: ['core.oam.dev'], resources: ['spokeclusters/proxy'], verbs: ['get', 'create'] }],
  } as KubeObject);
  await bindTo(hubClient, 'user', [
    { kind: 'User', name: 'carol' },
    { kind: 'Group', name: 'oidc:devs' },
    { kind: 'ServiceAccount', name: 'bot', namespace: 'default' },
  ]);
  await untilHolds(
    clock,
    async () => (await ask('/clusters/east/version', { certificate })).status === 200,
    'the spoke to be reached',
    PATIENCE_MS,
  );
  await untilHolds(
    clock,
    async () => JSON.stringify(await spokeClient.list(endpoints, 'default')).includes('"addresses"'),
    'endpoints',
    PATIENCE_MS,
  );
}, 60_000);

function inMemory(): CredentialPlace {
  let kept: KeptCredentials | undefined;
  return {
    load: async () => kept,
    save: async (credentials) => {
      kept = credentials;
    },
  };
}

async function bindTo(client: Client, role: string, subjects: object[]): Promise<void> {
  await client.create(clusterRoleBindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: role },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: subjects.map((one) => ({
      ...('namespace' in one ? {} : { apiGroup: 'rbac.authorization.k8s.io' }),
      ...one,
    })),
  } as KubeObject);
}

interface As {
  readonly token?: string;
  readonly certificate?: Uint8Array;
  readonly headers?: Record<string, string>;
}

async function ask(
  path: string,
  { token, certificate: peerCertificate, headers = {} }: As,
  body?: object,
): Promise<{ status: number; text: string; location: string | undefined }> {
  const answer = await hub.handle(
    {
      method: body === undefined ? 'GET' : 'POST',
      path,
      headers: {
        ...headers,
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: Buffer.from(JSON.stringify(body)) }),
    },
    peerCertificate === undefined ? {} : { peerCertificate },
  );
  const text = Buffer.from(await readBody(answer, 1 << 20)).toString('utf8');
  return { status: answer.status, text, location: answer.headers['location'] };
}

/** Who somebody is on the spoke. */
async function who(way: string, as: As): Promise<{ username: string; groups: string[] } | number> {
  const { status, text } = await ask(`${way}/east${WHO_AM_I}`, as, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'SelfSubjectReview',
  });
  return status === 201 ? JSON.parse(text).status.userInfo : status;
}

async function tokenOf(client: Client): Promise<string> {
  await client.create(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'bot', namespace: 'default' },
  });
  const made = await client.create(
    serviceAccounts,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: 'bot', namespace: 'default' },
      spec: {},
    } as KubeObject,
    { subresource: 'token' },
  );
  return (made as unknown as { status: { token: string } }).status.token;
}

async function grant(about: { user: string } | { group: string }): Promise<void> {
  await hubClient.create(resourceIdOf(ACCESS_GRANT), {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name: 'web' },
    spec: {
      ...about,
      clusters: { names: ['east'] },
      namespaces: ['default'],
      allow: ['port-forward'],
      reason: 'test',
      expiresAt: formatTime(clock.now() + 3_600_000),
      requestedBy: ROOT.name,
      approvedBy: ROOT.name,
    },
  } as KubeObject);
}

async function contract(...names: string[]): Promise<void> {
  await spokeClient.create(resourceIdOf(SPOKE_CONTRACT), {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'SpokeContract',
    metadata: { name: 'services' },
    spec: { services: [{ namespace: 'default', names }] },
  } as KubeObject);
}

describe('the tunnel to services and the API of a spoke', () => {
  it('[S123] lets a token of the hub act as its user there, on services that the owner names and a grant allows', async () => {
    const token = await tokenOf(hubClient);
    expect(await who('/clusters', { token })).toMatchObject({
      username: 'hub:system:serviceaccount:default:bot',
      groups: ['atoll:hub-users', 'system:authenticated'],
    });
    const web = `/clusters/east${WEB}`;
    expect((await ask(web, { token })).text).toContain('needs an AccessGrant');
    await grant({ user: 'system:serviceaccount:default:bot' });
    await untilHolds(
      clock,
      async () => (await ask(web, { token })).text.includes('no SpokeContract'),
      'the grant to count',
      PATIENCE_MS,
    );
    await contract('web:http');
    const found = await ask(web, { token });
    expect([found.status, found.text]).toEqual([200, expect.stringContaining('port 8080: GET /page')]);
    expect((await ask(web, { token }, { some: 'form' })).text).toContain('POST /page');
    // Exactly what is named, however it is written.
    for (const id of ['web', 'web:80', 'http:web:http', 'we%62:http:x'])
      expect((await ask(web.replace('web:http', id), { token })).status, id).toBe(403);
    expect((await ask(web.replace('web:http', 'we%62:http'), { token })).status).toBe(200);
    // A page has a slash at the end of its path, wherever the hub is.
    expect((await ask(`/clusters/east${WEB.slice(0, -5)}`, { token })).location).toBe('proxy/');
    for (const path of ['pods/web/proxy/', 'pods/web:8080/proxy/'])
      expect((await ask(`/clusters/east/api/v1/namespaces/default/${path}`, { token })).status).toBe(403);
    expect((await ask('/clusters/east/api/v1/nodes/node-0/proxy/pods', { token })).status).toBe(403);
    // The door of the spoke says so as well, whatever a hub asks.
    const door = hubDoor((user) => spoke.as(user));
    const asked = await door({
      method: 'GET',
      path: WEB.replace('web:http', 'web:80'),
      headers: { 'impersonate-user': 'hub:x', 'impersonate-group': 'atoll:grant:port-forward' },
    });
    expect(asked.status).toBe(403);
    expect((await door({ method: 'GET', path: '/api', headers: { authorization: 'Bearer x' } })).status).toBe(
      501,
    );
  }, 60_000);

  it('[S123] passes a token of the spoke on as it is', async () => {
    const token = await tokenOf(spokeClient);
    expect(await who('/by-token', { token, certificate })).toMatchObject({
      username: 'system:serviceaccount:default:bot',
      groups: expect.arrayContaining(['system:serviceaccounts:default']),
    });
    const web = `/by-token/east${WEB}`;
    expect((await ask(web, { token, certificate })).text).toContain(
      'User \\"system:serviceaccount:default:bot\\" cannot get resource \\"services/proxy\\"',
    );
    await spokeClient.create(clusterRoles, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'web' },
      rules: [{ apiGroups: [''], resources: ['services/proxy'], verbs: ['get'] }],
    } as KubeObject);
    await bindTo(spokeClient, 'web', [{ kind: 'ServiceAccount', name: 'bot', namespace: 'default' }]);
    expect((await ask(web, { token, certificate })).text).toContain('port 8080: GET /page');
    // Whose it is only the spoke says; the hub's own tokens stay at the hub.
    expect(await who('/by-token', { token: 'nonsense', certificate })).toBe(401);
    expect(await who('/by-token', { certificate })).toBe(401);
    expect(await who('/by-token', { token })).toBe(401);
    expect(await who('/by-token', { token: idToken('ann', ['devs']) })).toBe(403);
    expect(await who('/clusters', { token, certificate })).toMatchObject({ username: 'hub:carol' });
    await spokeClient.delete(serviceAccounts, 'default', 'bot');
    expect(await who('/by-token', { token, certificate })).toBe(401);
  }, 60_000);

  it("[S123] brings users of the hub's OpenID Connect issuer to the spoke under their names", async () => {
    const token = idToken('ann', ['devs']);
    expect(await who('/clusters', { token })).toMatchObject({
      username: 'hub:oidc:ann',
      groups: ['atoll:hub-users', 'hub:oidc:devs', 'system:authenticated'],
    });
    expect((await ask('/clusters/east/api/v1/namespaces/default/services', { token })).status).toBe(200);
    expect((await ask('/clusters/east/api/v1/namespaces/default/secrets', { token })).text).toContain(
      'User \\"hub:oidc:ann\\" cannot list resource \\"secrets\\"',
    );
    await contract('web:http');
    await grant({ group: 'oidc:devs' });
    await untilHolds(
      clock,
      async () => (await ask(`/clusters/east${WEB}`, { token })).text.includes('port 8080: GET /page'),
      'the grant to count',
      PATIENCE_MS,
    );
    expect(await who('/clusters', { token: idToken('eve', ['others']) })).toBe(403);
  }, 60_000);
});
