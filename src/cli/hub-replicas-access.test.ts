import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  type ApiServer,
  type AuditEvent,
  clientCertificateAuthenticator,
  createApiServer,
  memoryDriver,
  serveHttps,
} from '../apiserver/index.ts';
import { startWorkloads } from '../apiserver/workloads/index.ts';
import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import { ACCESS_GRANT } from '../engine/access/index.ts';
import { followedMembers, startAccess, startAccessListener } from '../hub/access/index.ts';
import { createJoinToken, readLinkNotice, tunnelCluster } from '../hub/join/index.ts';
import type { Client } from '../kube/client.ts';
import { installKinds, resourceIdOf } from '../kube/custom-resource.ts';
import { isUpgraded } from '../kube/exchange.ts';
import { type HttpHandler, httpHandler } from '../kube/http-handler.ts';
import { emptyKubeconfig, formatKubeconfig } from '../kube/kubeconfig.ts';
import type { KubeObject } from '../kube/object.ts';
import { createCertificateAuthority, issueCertificate } from '../kube/pki.ts';
import { createClient } from '../kube/rest-client.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  configMaps,
  pods,
  secrets,
  serviceAccounts,
} from '../kube/well-known.ts';
import { handlerUpgrader } from '../kube/wire/index.ts';
import type { TunnelListener } from '../link/index.ts';
import { formatTime, systemRuntime } from '../runtime/index.ts';
import { grantHubAccess } from '../spoke/hub-access.ts';
import { hubDoor } from '../spoke/hub-door.ts';
import { untilHolds } from '../testing/moving-time.ts';
import { type Engine, startEngine } from './engine.ts';
import { type HubReplica, leadHub, peersAt } from './hub-replicas.ts';
import type { CredentialPlace, KeptCredentials } from './key-store.ts';
import { dialHub, listenForSpokes } from './link-ends.ts';
import { createLinks } from './links.ts';

const ENGINE = { name: 'atoll:engine', groups: ['system:masters'] };
const POD = '/api/v1/namespaces/default/pods/web';
const WEB_SOCKET = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  'sec-websocket-protocol': 'v5.channel.k8s.io',
};
const runtime = systemRuntime();
const { clock } = runtime;
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

interface Served {
  readonly server: ApiServer;
  readonly client: Client;
  readonly audit: AuditEvent[];
}

async function serve(options: { workloads?: boolean } = {}): Promise<Served> {
  const audit: AuditEvent[] = [];
  const server = await createApiServer({
    runtime,
    storage: memoryDriver(),
    authenticate: clientCertificateAuthenticator(clock),
    disableAdmissionPlugins: ['ServiceAccount'],
    audit: (event) => void audit.push(event),
  });
  closing.push(() => server.close());
  const client = createClient(server.as(ENGINE), { clock });
  if (options.workloads) {
    const workloads = startWorkloads(runtime, client, { nodes: { count: 1, namePrefix: 'node' } });
    closing.push(() => workloads.stop());
  }
  return { server, client, audit };
}

interface Replica {
  readonly listener: TunnelListener;
  readonly replica: HubReplica;
  readonly leads: () => boolean;
  /** The port that people come to. */
  readonly url: string;
  /** Ends it as a crash would: nothing is given away. */
  die(): Promise<void>;
}

let hub: Served;
let token = '';
let authority: Awaited<ReturnType<typeof createCertificateAuthority>>;
let peers: string[];

/** One process of a hub: link, engine where it leads, and a port for people in any case. */
async function startReplica(identity: string): Promise<Replica> {
  const directory = mkdtempSync(join(tmpdir(), 'replica-'));
  closing.push(() => rmSync(directory, { recursive: true }));
  const links = createLinks(runtime);
  const { client } = hub;
  const listener = await listenForSpokes(runtime, client, links, {
    name: 'hub',
    port: 0,
    directory,
    addresses: ['127.0.0.1:1'],
    peers: { addresses: () => peersAt(peers).addresses(), refreshMs: 100 },
  });
  peers.push(`127.0.0.1:${listener.port}`);
  let engine: Engine | undefined;
  const replica = await leadHub(runtime, { client, identity }, async () => {
    const started = await startEngine(runtime, {
      name: 'hub',
      client,
      version: 'test',
      links,
      credentials: { resolve: async () => ['127.0.0.1'], rules: { allowLoopback: true } },
      roles: { hub: true },
      access: false,
    });
    engine = started;
    return {
      async stop(): Promise<void> {
        engine = undefined;
        await started.stop();
      },
    };
  });
  const access = await startAccess(runtime, { client, members: followedMembers(runtime, client, links) });
  const { certificate, key } = await issueCertificate(runtime, authority, {
    commonName: 'hub',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    lifetimeMs: 3_600_000,
  });
  const people = await startAccessListener(runtime, { client, access, port: 0, certificate, key });
  let isAlive = true;
  const die = async (): Promise<void> => {
    if (!isAlive) return;
    isAlive = false;
    access.stop();
    await people.close(0);
    await listener.close();
    await replica.stop();
  };
  closing.push(die);
  return {
    listener,
    replica,
    leads: () => engine !== undefined,
    url: `https://127.0.0.1:${people.port}`,
    die,
  };
}

function inMemory(): CredentialPlace {
  let kept: KeptCredentials | undefined;
  return {
    load: async () => kept,
    save: async (credentials) => {
      kept = credentials;
    },
  };
}

/** A user of the hub, at one of its replicas. */
function at({ url }: Replica, path = ''): HttpHandler {
  const handler = httpHandler({ url: `${url}${path}`, ca: authority.certificate, token });
  closing.push(() => handler.close());
  return handler;
}

const clientAt = (replica: Replica, path: string): Client => createClient(at(replica, path), { clock });

async function dials(name: string, spoke: Served, to: readonly Replica[]): Promise<void> {
  await hub.client.create(
    resourceIdOf(SPOKE_CLUSTER),
    tunnelCluster({ name, namespace: 'default', accepted: true }),
  );
  const joinToken = await createJoinToken(runtime, hub.client, name);
  const notice = await readLinkNotice(hub.client);
  if (!notice) throw new Error('the hub tells nothing of its link');
  const { names: _names, ...told } = notice;
  const door = hubDoor((user) => spoke.server.as(user));
  const dialer = dialHub(
    runtime,
    {
      ...told,
      addresses: to.map(({ listener }) => `127.0.0.1:${listener.port}`),
      tokens: { [name]: joinToken },
    },
    { cluster: name, credentials: inMemory(), serve: door, serveUpgrade: handlerUpgrader(door) },
  );
  closing.push(() => dialer.close());
}

/** The hub has the kubeconfig of this one. */
async function hasKubeconfigOf(name: string, spoke: Served): Promise<void> {
  const certificate = await issueCertificate(runtime, authority, {
    commonName: 'spoke',
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
    lifetimeMs: 3_600_000,
  });
  const admin = await issueCertificate(runtime, authority, {
    commonName: 'admin',
    organizations: ['system:masters'],
    usage: 'client',
    lifetimeMs: 3_600_000,
  });
  const https = await serveHttps(runtime, {
    port: 0,
    certificate: certificate.certificate,
    key: certificate.key,
    clientCa: authority.certificate,
    handle: (request, connection) => spoke.server.handle(request, connection),
  });
  closing.push(() => https.close(0));
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const kubeconfig = formatKubeconfig({
    ...emptyKubeconfig(),
    clusters: [
      {
        name,
        cluster: {
          server: `https://127.0.0.1:${https.port}`,
          'certificate-authority-data': base64(authority.certificate),
        },
      },
    ],
    users: [
      {
        name,
        user: {
          'client-certificate-data': base64(admin.certificate),
          'client-key-data': base64(admin.key),
        },
      },
    ],
    contexts: [{ name, context: { cluster: name, user: name } }],
    'current-context': name,
  });
  await hub.client.create(secrets, {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace: 'default' },
    stringData: { kubeconfig },
  } as KubeObject);
  await hub.client.create(resourceIdOf(SPOKE_CLUSTER), {
    apiVersion: 'core.oam.dev/v1beta1',
    kind: 'SpokeCluster',
    metadata: { name, namespace: 'default' },
    spec: {
      mode: 'connect',
      credential: { type: 'kubeconfig', kubeconfig: { secretRef: { name, key: 'kubeconfig' } } },
    },
  } as KubeObject);
}

/** A user `ci` who may do at the hub all that is passed on to spokes, and holds a grant for more than looking. */
async function letInCi(): Promise<void> {
  const { client } = hub;
  await client.create(serviceAccounts, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'ci', namespace: 'default' },
  });
  const made = await client.create(
    serviceAccounts,
    {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: 'ci', namespace: 'default' },
      spec: {},
    } as KubeObject,
    { subresource: 'token' },
  );
  token = (made as unknown as { status: { token: string } }).status.token;
  await client.create(clusterRoles, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'user' },
    rules: [{ apiGroups: ['core.oam.dev'], resources: ['spokeclusters/proxy'], verbs: ['get', 'create'] }],
  } as KubeObject);
  await client.create(clusterRoleBindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'ci' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'user' },
    subjects: [{ kind: 'ServiceAccount', name: 'ci', namespace: 'default' }],
  } as KubeObject);
}

async function grantCi(): Promise<void> {
  await hub.client.create(resourceIdOf(ACCESS_GRANT), {
    apiVersion: 'atoll.dev/v1alpha1',
    kind: 'AccessGrant',
    metadata: { name: 'ci' },
    spec: {
      user: 'system:serviceaccount:default:ci',
      clusters: { names: ['east', 'west'] },
      namespaces: ['default'],
      allow: ['exec', 'write'],
      reason: 'test',
      expiresAt: formatTime(clock.now() + 3_600_000),
      requestedBy: ENGINE.name,
      approvedBy: ENGINE.name,
    },
  } as KubeObject);
}

const settings = (colour: string): KubeObject =>
  ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'settings', namespace: 'default' },
    data: { colour },
  }) as KubeObject;

beforeEach(async () => {
  peers = [];
  authority = await createCertificateAuthority(runtime, 'test');
  hub = await serve();
  await installKinds(clock, hub.client, [SPOKE_CLUSTER]);
  await letInCi();
});

describe('people at any replica of a hub', () => {
  it('reach every spoke: one that dialled elsewhere, and one whose kubeconfig the leading one has', async () => {
    const first = await startReplica('first');
    await untilHolds(clock, first.leads, 'the first to lead');
    const second = await startReplica('second');
    const [east, west] = [await serve({ workloads: true }), await serve()];
    for (const { client } of [east, west]) await grantHubAccess(client);
    await dials('east', east, [second]);
    await hasKubeconfigOf('west', west);
    await grantCi();
    await east.client.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'web', namespace: 'default' },
      spec: { containers: [{ name: 'web', image: 'nginx' }] },
    } as KubeObject);

    for (const replica of [first, second]) {
      const who = replica === first ? 'first' : 'second';
      for (const name of ['east', 'west']) {
        const client = clientAt(replica, `/clusters/${name}`);
        await untilHolds(
          clock,
          () =>
            client.list(configMaps, 'default').then(
              () => true,
              () => false,
            ),
          `${name} to be reached by the ${who}`,
        );
        await client.apply(configMaps, settings(who), { fieldManager: 'ci', force: true });
        const there = await (name === 'east' ? east : west).client.get(configMaps, 'default', 'settings');
        expect(there).toMatchObject({ data: { colour: who } });
      }
      const handler = at(replica, '/clusters/east');
      await untilHolds(
        clock,
        async () => (await handler({ method: 'GET', path: `${POD}/log`, headers: {} })).status === 200,
        'the logs',
      );
      const shell = await handler.upgrade({
        method: 'GET',
        path: `${POD}/exec?command=hostname&stdout=true`,
        headers: WEB_SOCKET,
      });
      if (!isUpgraded(shell)) throw new Error(`no exec: ${shell.status}`);
      let said = '';
      for await (const chunk of shell.socket) said += Buffer.from(chunk).toString('latin1');
      expect(said).toContain('web');
      const fleet = await clientAt(replica, '/fleet').list(configMaps, 'default');
      expect(
        fleet.items
          .filter(({ metadata }) => metadata.name === 'settings')
          .map(({ metadata }) => metadata.annotations?.['atoll.dev/cluster']),
      ).toEqual(['east', 'west']);
    }
    // Each request was its user's, told by the replica that it came to.
    for (const { audit } of [east, west])
      expect(
        audit
          .filter(({ verb, objectRef }) => verb === 'patch' && objectRef?.name === 'settings')
          .map(({ user, impersonatedUser }) => (impersonatedUser ?? user).username),
      ).toEqual(Array(2).fill('hub:system:serviceaccount:default:ci'));
    // Nobody leads a request elsewhere by what replicas tell each other.
    const forged = await at(
      second,
      '/clusters/west',
    )({
      method: 'GET',
      path: '/api/v1/namespaces/default/pods/web',
      headers: { 'atoll-spoke': 'east' },
    });
    expect(forged.status).toBe(404);
    for (const headers of [{ 'impersonate-user': 'hub:root' }, { 'impersonate-group': 'system:masters' }])
      expect(
        (await at(second, '/clusters/east')({ method: 'GET', path: '/api/v1/pods', headers })).status,
      ).toBe(403);
  }, 60_000);

  it('keep a watch when another replica becomes the hub, and go on elsewhere when one dies', async () => {
    const first = await startReplica('first');
    await untilHolds(clock, first.leads, 'the first to lead');
    const second = await startReplica('second');
    const east = await serve();
    await grantHubAccess(east.client);
    await dials('east', east, [first, second]);
    const reached = async (replica: Replica): Promise<boolean> => {
      const answer = await at(
        replica,
        '/clusters/east',
      )({ method: 'GET', path: '/api/v1/pods', headers: {} });
      return answer.status === 200;
    };
    await untilHolds(clock, () => reached(second), 'the spoke reached by the second');
    const seen: string[] = [];
    const watching = await at(
      second,
      '/clusters/east',
    )({ method: 'GET', path: '/api/v1/namespaces/default/configmaps?watch=1', headers: {} });
    const ended = (async () => {
      if (watching.body instanceof Uint8Array) throw new Error('no stream');
      for await (const chunk of watching.body) seen.push(Buffer.from(chunk).toString('utf8'));
    })().catch(() => undefined);
    await east.client.create(configMaps, settings('red'));
    await untilHolds(clock, () => seen.join('').includes('"red"'), 'the first event');

    // The first has the link, and gives the lead away.
    await first.replica.stop();
    await untilHolds(clock, second.leads, 'the second to lead');
    await east.client.update(configMaps, {
      ...(await east.client.get(configMaps, 'default', 'settings')),
      data: { colour: 'green' },
    } as KubeObject);
    await untilHolds(clock, () => seen.join('').includes('"green"'), 'the watch to go on');

    // Now it is gone with the link: the watch ends, and the spoke is reached another way.
    await first.die();
    await ended;
    await untilHolds(clock, () => reached(second), 'the spoke back at the second');
    expect(second.listener.links.get('east')?.state.reason).toBe('Connected');
  }, 60_000);
});
