import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import {
  type ApiServer,
  clientCertificateAuthenticator,
  createApiServer,
  memoryDriver,
  serveHttps,
} from '../apiserver/index.ts';
import { SPOKE_CLUSTER } from '../dialects/kubevela/kinds.ts';
import { readLinkNotice } from '../hub/join/index.ts';
import type { Client } from '../kube/client.ts';
import { installKinds } from '../kube/custom-resource.ts';
import { type HttpHandler, httpHandler } from '../kube/http-handler.ts';
import {
  certificateIdentity,
  createCertificateAuthority,
  issueCertificate,
  type KeyPair,
} from '../kube/pki.ts';
import { createClient } from '../kube/rest-client.ts';
import { configMaps } from '../kube/well-known.ts';
import type { Link } from '../link/index.ts';
import { systemRuntime } from '../runtime/index.ts';
import { stringAt } from '../schema/json.ts';
import { expectSpoke, joinedHub } from './join/expect-spoke.ts';
import type { KeptCredentials } from './key-store.ts';
import { dialHub, listenForSpokes } from './link-ends.ts';
import { createLinks } from './links.ts';

/** One port before all doors of a hub: a load balancer that reads the name that a client asks for, and passes TLS on as it is. */
const runtime = systemRuntime();
const ends: (() => Promise<unknown> | unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

/** The name in a ClientHello (RFC 8446, RFC 6066). */
function nameAsked(hello: Buffer): string | undefined {
  // Record header 5, handshake header 4, version 2, random 32.
  let at = 43;
  at += 1 + hello.readUInt8(at);
  at += 2 + hello.readUInt16BE(at);
  at += 1 + hello.readUInt8(at);
  const end = at + 2 + hello.readUInt16BE(at);
  at += 2;
  while (at + 4 <= end) {
    const [type, length] = [hello.readUInt16BE(at), hello.readUInt16BE(at + 2)];
    at += 4;
    if (type === 0) return hello.toString('latin1', at + 5, at + 5 + hello.readUInt16BE(at + 3));
    at += length;
  }
  return undefined;
}

interface Passthrough {
  readonly port: number;
  /** Names in the order in which they were asked for. */
  readonly asked: string[];
}

async function passthrough(routes: Readonly<Record<string, number>>): Promise<Passthrough> {
  const asked: string[] = [];
  const open = new Set<{ destroy(): unknown }>();
  const server: Server = createServer((socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    let seen = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      seen = Buffer.concat([seen, chunk]);
      if (seen.length < 5 || seen.length < 5 + seen.readUInt16BE(3)) return;
      socket.off('data', onData);
      const name = nameAsked(seen) ?? '';
      asked.push(name);
      const port = routes[name];
      if (port === undefined) {
        socket.destroy();
        return;
      }
      const upstream = connect(port, '127.0.0.1');
      open.add(upstream);
      upstream.on('error', () => socket.destroy()).once('close', () => socket.destroy());
      socket.once('close', () => upstream.destroy());
      upstream.write(seen);
      socket.pipe(upstream).pipe(socket);
    };
    socket.on('data', onData);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  ends.push(async () => {
    for (const one of open) one.destroy();
    server.close();
    await once(server, 'close');
  });
  return { port: (server.address() as AddressInfo).port, asked };
}

interface Doors {
  readonly server: ApiServer;
  readonly authority: KeyPair;
  readonly apiPort: number;
  certificateFor(name: string, by?: KeyPair): Promise<KeyPair>;
}

async function apiServer(): Promise<Doors> {
  const authority = await createCertificateAuthority(runtime, 'hub');
  const server = await createApiServer({
    runtime,
    storage: memoryDriver(),
    authenticate: clientCertificateAuthenticator(runtime.clock),
  });
  const serving = await issueCertificate(runtime, authority, {
    commonName: 'hub',
    dnsNames: ['api.fleet.test'],
    usage: 'server',
    lifetimeMs: 3_600_000,
  });
  const https = await serveHttps(runtime, {
    port: 0,
    certificate: serving.certificate,
    key: serving.key,
    clientCa: authority.certificate,
    handle: (request, connection) => server.handle(request, connection),
  });
  ends.push(() => server.close());
  ends.push(() => https.close(500));
  return {
    server,
    authority,
    apiPort: https.port,
    certificateFor: (name, by = authority) =>
      issueCertificate(runtime, by, {
        commonName: name,
        organizations: ['system:masters'],
        usage: 'client',
        lifetimeMs: 3_600_000,
      }),
  };
}

it('[S121] keeps clients who they are through TLS passthrough, at the URL of a logical cluster', async () => {
  const { server, authority, apiPort, certificateFor } = await apiServer();
  await server.createCluster('team-a');
  const front = await passthrough({ 'api.fleet.test': apiPort });
  const open = (path: string, certificate: KeyPair | undefined, name = 'api.fleet.test'): HttpHandler => {
    const handler = httpHandler({
      url: `https://127.0.0.1:${front.port}${path}`,
      ca: authority.certificate,
      serverName: name,
      ...(certificate === undefined
        ? {}
        : { clientCertificate: certificate.certificate, clientKey: certificate.key }),
    });
    ends.push(() => handler.close());
    return handler;
  };
  const clientAt = (path: string, certificate: KeyPair): Client =>
    createClient(open(path, certificate), { clock: runtime.clock });
  const ann = await certificateFor('ann');
  const [root, team] = [clientAt('', ann), clientAt('/clusters/team-a', ann)];
  const review = { group: 'authentication.k8s.io', version: 'v1', resource: 'selfsubjectreviews' };
  const whoAmI = await root.create(
    { ...review, kind: 'SelfSubjectReview', namespaced: false },
    { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview', metadata: {} },
  );
  expect(stringAt(whoAmI, 'status', 'userInfo', 'username')).toBe('ann');

  await team.create(configMaps, {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'here', namespace: 'default' },
  });
  expect((await team.get(configMaps, 'default', 'here')).metadata.name).toBe('here');
  await expect(root.get(configMaps, 'default', 'here')).rejects.toMatchObject({ code: 404 });
  expect(new Set(front.asked)).toEqual(new Set(['api.fleet.test']));

  // Who shows no certificate, or one of another authority, is nobody there.
  const stranger = await certificateFor('ann', await createCertificateAuthority(runtime, 'hub'));
  for (const certificate of [undefined, stranger]) {
    const path = '/clusters/team-a/api/v1/namespaces/default/configmaps/here';
    const answer = open('', certificate)({ method: 'GET', path, headers: {} });
    expect(await answer.then(({ status }) => [401, 403].includes(status)).catch(() => true)).toBe(true);
  }
  await expect(
    open('', ann, 'elsewhere.fleet.test')({ method: 'GET', path: '/livez', headers: {} }),
  ).rejects.toThrow();
});

it('[S121] lets spokes in at the same port, with certificates of both ends', async () => {
  const { server, apiPort } = await apiServer();
  const client = createClient(server.as({ name: 'admin', groups: ['system:masters'] }));
  await installKinds(runtime.clock, client, [SPOKE_CLUSTER]);
  const directory = mkdtempSync(join(tmpdir(), 'atoll-passthrough-'));
  ends.push(() => rmSync(directory, { recursive: true, force: true }));
  const links = createLinks(runtime);
  let wake: () => void = () => undefined;
  links.onTunnel((spoke) => {
    links.tunnel(spoke)?.onChange(() => wake());
    wake();
  });
  const options = { name: 'hub', port: 0, directory, addresses: ['link.fleet.test:443'] };
  const listener = await listenForSpokes(runtime, client, links, options);
  ends.push(() => listener.close());
  const front = await passthrough({ 'api.fleet.test': apiPort, 'link.fleet.test': listener.port });
  const notice = await readLinkNotice(client);
  if (!notice) throw new Error('the hub tells nothing');
  const edge = { name: 'edge', namespace: 'default', accepted: true };
  const token = await expectSpoke(runtime, client, edge);
  let kept: KeptCredentials | undefined;
  const dialer = dialHub(
    runtime,
    {
      ...joinedHub(notice, { tokens: { edge: token } }),
      addresses: [`127.0.0.1:${front.port}`],
      serverName: 'link.fleet.test',
    },
    {
      cluster: 'edge',
      credentials: {
        load: async () => kept,
        save: async (credentials): Promise<void> => {
          kept = credentials;
        },
      },
      serve: async () => ({ status: 200, headers: {}, body: Buffer.from('edge') }),
    },
  );
  ends.push(() => dialer.close());
  const link = await new Promise<Link>((resolve) => {
    wake = () => {
      const found = links.tunnel('edge');
      if (found?.up === true) resolve(found);
    };
    wake();
  });
  expect((await link.handler({ method: 'GET', path: '/', headers: {} })).status).toBe(200);
  expect(new Set(front.asked)).toEqual(new Set(['link.fleet.test']));
  // The hub knew the spoke by its own certificate: the balancer has none to show.
  expect(certificateIdentity(kept?.certificate ?? '').commonNames.join()).toContain('edge');
});
