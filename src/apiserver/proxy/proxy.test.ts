import { createServer, type IncomingMessage } from 'node:http';
import { type Duplex, duplexPair } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Client } from '../../kube/client.ts';
import { bodyChunks, isUpgraded, type Response, readBody } from '../../kube/exchange.ts';
import type { KubeObject } from '../../kube/object.ts';
import { createClient } from '../../kube/rest-client.ts';
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  endpoints,
  pods,
  services,
} from '../../kube/well-known.ts';
import { handlerUpgrader } from '../../kube/wire/index.ts';
import { systemRuntime } from '../../runtime/index.ts';
import { untilHolds } from '../../testing/moving-time.ts';
import { type ApiServer, createApiServer, memoryDriver } from '../index.ts';
import { startWorkloads } from '../workloads/index.ts';
import { forwardTo, rewriteLocation } from './forward.ts';

const runtime = systemRuntime();
const ROOT = { name: 'root', groups: ['system:masters'] };
const IN = '/api/v1/namespaces/default';
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

async function textOf(response: Response): Promise<string> {
  return Buffer.from(await readBody(response, 1 << 20)).toString('utf8');
}

describe('the proxy of services and pods', () => {
  let server: ApiServer;
  let client: Client;
  const ask = async (
    path: string,
    more: { method?: string; body?: string; user?: typeof ROOT; headers?: Record<string, string> } = {},
  ): Promise<{ status: number; text: string; headers: Readonly<Record<string, string>> }> => {
    const { method = 'GET', body, user = ROOT, headers = {} } = more;
    const answer = await server.as(user)({
      method,
      path,
      headers,
      ...(body === undefined ? {} : { body: Buffer.from(body) }),
    });
    return { status: answer.status, text: await textOf(answer), headers: answer.headers };
  };
  const message = async (path: string, more: Parameters<typeof ask>[1] = {}): Promise<[number, string]> => {
    const { status, text } = await ask(path, more);
    return [status, (JSON.parse(text) as { message: string }).message];
  };

  beforeEach(async () => {
    server = await createApiServer({
      runtime,
      storage: memoryDriver(),
      disableAdmissionPlugins: ['ServiceAccount'],
    });
    client = createClient(server.as(ROOT), { clock: runtime.clock });
    const workloads = startWorkloads(runtime, client, { nodes: { count: 1, namePrefix: 'node' } });
    ends.push(
      () => server.close(),
      () => workloads.stop(),
    );
    await client.create(deployments, {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        replicas: 1,
        selector: { matchLabels: { app: 'web' } },
        template: {
          metadata: { labels: { app: 'web' } },
          spec: {
            containers: [{ name: 'web', image: 'nginx', ports: [{ name: 'http', containerPort: 8080 }] }],
          },
        },
      },
    } as KubeObject);
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'default' },
      spec: {
        selector: { app: 'web' },
        ports: [
          { name: 'http', port: 80, targetPort: 'http' },
          { name: 'closed', port: 81, targetPort: 9999 },
        ],
      },
    } as KubeObject);
    await untilHolds(
      runtime.clock,
      async () => {
        const found = await client.list(endpoints, 'default');
        return found.items.some((one) => JSON.stringify(one).includes('"addresses"'));
      },
      'endpoints',
    );
  });

  it('reach a port by name, by number and with a scheme', async () => {
    for (const id of ['web:http', 'web:80', 'http:web:http']) {
      const { status, text, headers } = await ask(`${IN}/services/${id}/proxy/a/b?x=1`);
      expect([id, status]).toEqual([id, 200]);
      expect(text).toMatch(/^pod default\/web-\S+ on node\S*, port 8080: GET \/a\/b\?x=1\n$/);
      expect(headers['content-type']).toContain('text/plain');
      expect(headers['connection']).toBeUndefined();
    }
    const posted = await ask(`${IN}/services/web:http/proxy/form`, { method: 'POST', body: 'name=a' });
    expect([posted.status, posted.text]).toEqual([200, expect.stringContaining('POST /form')]);
    const [pod] = (await client.list(pods, 'default')).items;
    const name = pod?.metadata.name ?? '';
    for (const id of [name, `${name}:8080`])
      expect((await ask(`${IN}/pods/${id}/proxy/`)).text).toContain(`default/${name}`);
    // Another cluster's paths are its own; dots do not lead out.
    expect((await ask(`${IN}/services/web:http/proxy/../../x`)).text).toContain('GET /x\n');
  });

  it('ends the path of a page with a slash', async () => {
    const moved = await ask(`${IN}/services/web:http/proxy?x=1`);
    expect([moved.status, moved.headers['location']]).toEqual([301, `${IN}/services/web:http/proxy/?x=1`]);
    expect((await ask(`${IN}/services/web:http/proxy`, { method: 'POST' })).text).toContain('POST /\n');
  });

  it('says what is wrong as kube-apiserver does', async () => {
    const proxy = (id: string): string => `${IN}/services/${id}/proxy/`;
    expect(await message(proxy('nowhere'))).toEqual([404, 'services "nowhere" not found']);
    expect(await message(proxy('web:82'))).toEqual([503, 'no service port 82 found for service "web"']);
    expect(await message(proxy('web:other'))).toEqual([
      503,
      'no endpoints available for service "web:other"',
    ]);
    expect(await message(proxy('ftp:web:http'))).toEqual([400, 'invalid service request "ftp:web:http"']);
    expect(await message(proxy('a:b:c:d'))).toEqual([400, 'invalid service request "a:b:c:d"']);
    const [code, text] = await message(proxy('web:closed'));
    expect(code).toBe(503);
    expect(text).toMatch(/^error trying to reach service: dial tcp \S+:9999: connect: connection refused$/);
    expect((await message(proxy('https:web:http')))[1]).toBe(
      'error trying to reach service: tls: first record does not look like a TLS handshake',
    );
    expect(await message(`${IN}/pods/gone/proxy/`)).toEqual([404, 'pods "gone" not found']);
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'out', namespace: 'default' },
      spec: { ports: [{ port: 80 }] },
    } as KubeObject);
    await client.create(endpoints, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'out', namespace: 'default' },
      subsets: [{ addresses: [{ ip: '10.99.0.1' }], ports: [{ port: 80 }] }],
    } as KubeObject);
    // Nothing but simulated pods: not the network that this server is in.
    expect(await message(proxy('out'))).toEqual([
      503,
      'error trying to reach service: dial tcp 10.99.0.1:80: connect: no route to host',
    ]);
    await client.create(endpoints, {
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'none', namespace: 'default' },
    } as KubeObject);
    await client.create(services, {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'none', namespace: 'default' },
      spec: { ports: [{ port: 80 }] },
    } as KubeObject);
    expect(await message(proxy('none'))).toEqual([503, 'no endpoints available for service "none"']);
  });

  it('is authorized by method, on services/proxy, under the name of the path', async () => {
    const eve = { name: 'eve', groups: [] };
    await client.create(clusterRoles, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'web' },
      rules: [
        { apiGroups: [''], resources: ['services/proxy'], resourceNames: ['web:http'], verbs: ['get'] },
      ],
    } as KubeObject);
    await client.create(clusterRoleBindings, {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRoleBinding',
      metadata: { name: 'web' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'web' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'eve' }],
    } as KubeObject);
    expect((await ask(`${IN}/services/web:http/proxy/`, { user: eve })).status).toBe(200);
    expect((await message(`${IN}/services/web:80/proxy/`, { user: eve }))[1]).toContain(
      'cannot get resource "services/proxy" in API group "" in the namespace "default"',
    );
    expect((await ask(`${IN}/services/web:http/proxy/`, { user: eve, method: 'POST' })).status).toBe(403);
  });

  it('answers who wants another protocol with what the server says', async () => {
    const upgrade = handlerUpgrader(server.as(ROOT));
    const answer = await upgrade({
      method: 'GET',
      path: `${IN}/services/web:http/proxy/live`,
      headers: { connection: 'Upgrade', upgrade: 'websocket' },
    });
    expect(isUpgraded(answer)).toBe(false);
    expect(answer.status).toBe(200);
  });
});

describe('a proxied server', () => {
  const PROXY = `${IN}/services/web/proxy`;
  /** A real server of HTTP, at the other end of a pair of streams. */
  function behind(listener: Parameters<typeof createServer>[1]): {
    host: string;
    connect(): Promise<Duplex>;
    server: ReturnType<typeof createServer>;
  } {
    const server = createServer(listener);
    return {
      host: '10.0.0.1:80',
      server,
      async connect() {
        const [near, far] = duplexPair();
        server.emit('connection', far);
        return near;
      },
    };
  }

  it('gets the request as it was, without the credentials of the client', async () => {
    let seen: IncomingMessage | undefined;
    const chunks: Buffer[] = [];
    const server = behind((request, response) => {
      seen = request;
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        response.writeHead(201, { 'set-cookie': 'a=b', 'x-custom': 'yes' });
        response.write('one');
        response.end('two');
      });
    });
    const answer = await forwardTo(server, {
      method: 'PUT',
      path: `${PROXY}/a%20b/c?d=%2F`,
      headers: {
        host: 'api.example',
        authorization: 'Bearer secret',
        cookie: 'c=1',
        'impersonate-user': 'x',
        'x-remote-user': 'y',
        'content-length': '4',
        accept: '*/*',
      },
      body: Buffer.from('body'),
    });
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'set-cookie': 'a=b', 'x-custom': 'yes' });
    expect(answer.headers['transfer-encoding']).toBeUndefined();
    expect(await textOf(answer)).toBe('onetwo');
    expect(Buffer.concat(chunks).toString()).toBe('body');
    expect([seen?.method, seen?.url]).toEqual(['PUT', '/a%20b/c?d=%2F']);
    expect(seen?.headers).toMatchObject({
      host: 'api.example',
      cookie: 'c=1',
      'x-forwarded-uri': `${PROXY}/a%20b/c`,
    });
    for (const name of ['authorization', 'impersonate-user', 'x-remote-user'])
      expect(seen?.headers).not.toHaveProperty(name);
  });

  it('becomes a WebSocket, and streams', async () => {
    const server = behind((_request, response) => {
      response.writeHead(200);
      response.write('first');
    });
    server.server.on('upgrade', (_request: IncomingMessage, socket: Duplex) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n');
      socket.pipe(socket);
    });
    const upgraded = await handlerUpgrader((request) => forwardTo(server, request))({
      method: 'GET',
      path: `${PROXY}/ws`,
      headers: { connection: 'Upgrade', upgrade: 'websocket' },
    });
    if (!isUpgraded(upgraded)) throw new Error(`not switched: ${upgraded.status}`);
    upgraded.socket.end('echo');
    let text = '';
    for await (const chunk of upgraded.socket) text += chunk;
    expect(text).toBe('echo');
    const streaming = await forwardTo(server, { method: 'GET', path: `${PROXY}/`, headers: {} });
    for await (const chunk of bodyChunks(streaming)) {
      expect(Buffer.from(chunk).toString()).toBe('first');
      break;
    }
  });

  it('is not there when it breaks off', async () => {
    const server = behind((request) => request.socket.destroy());
    await expect(forwardTo(server, { method: 'GET', path: `${PROXY}/`, headers: {} })).rejects.toMatchObject({
      code: 503,
      message: expect.stringContaining('error trying to reach service: '),
    });
  });

  it.each([
    ['/login', `${PROXY}/login`],
    ['/login?next=/a', `${PROXY}/login?next=/a`],
    ['http://10.0.0.1:80/a/', `${PROXY}/a/`],
    [`${PROXY}/a`, `${PROXY}/a`],
    ['https://api.example/a', `https://api.example${PROXY}/a`],
    ['http://elsewhere.example/a', 'http://elsewhere.example/a'],
    ['relative/b', 'relative/b'],
    ['?x=1', '?x=1'],
    ['mailto:a@b', 'mailto:a@b'],
  ])('a redirect to %s leads to %s', (location, expected) => {
    expect(
      rewriteLocation(location, { prefix: PROXY, serverHost: '10.0.0.1:80', requestHost: 'api.example' }),
    ).toBe(expected);
  });
});
