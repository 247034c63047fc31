import { afterEach, describe, expect, it } from 'vitest';
import type { Response } from '../../kube/exchange.ts';
import type { OutboundRequest, OutboundTarget } from '../outbound/index.ts';
import { type Fixture, startServer } from '../server.fixture.ts';
import { userHeaders } from './front-proxy.ts';
import { FRONT_PROXY_NAME } from './index.ts';

const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const NAME = 'v1.metrics.example.com';
const PATH = '/apis/metrics.example.com/v1';
const RESOURCES = {
  kind: 'APIResourceList',
  apiVersion: 'v1',
  groupVersion: 'metrics.example.com/v1',
  resources: [
    { name: 'nodes', singularName: 'node', namespaced: false, kind: 'NodeMetrics', verbs: ['get', 'list'] },
    { name: 'nodes/scale', singularName: '', namespaced: false, kind: 'Scale', verbs: ['get'] },
  ],
};
const FRONT_PROXY = {
  authority: 'the authority',
  client: () => ({ certificate: 'the certificate', key: 'the key' }),
};

type Call = { target: OutboundTarget; request: OutboundRequest };

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

const json = (status: number, value: unknown, headers = {}): Response => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: Buffer.from(JSON.stringify(value)),
});

async function start(answer: (path: string) => Response) {
  const calls: Call[] = [];
  const fixture = await startServer({
    controllers: false,
    frontProxy: FRONT_PROXY,
    outbound: {
      async send(target, request) {
        calls.push({ target, request });
        return answer(new URL(target.url).pathname);
      },
      close: async () => {},
    },
    resolveService: (namespace, name, port) => ({ host: `${name}-in-${namespace}`, port: port + 1 }),
  });
  open.push(fixture);
  return { ...fixture, calls };
}

const apiService = (more: Record<string, unknown> = {}) => ({
  metadata: { name: NAME },
  spec: {
    group: 'metrics.example.com',
    version: 'v1',
    groupPriorityMinimum: 100,
    versionPriority: 10,
    service: { namespace: 'monitoring', name: 'metrics', port: 8443 },
    caBundle: Buffer.from('its authority').toString('base64'),
    ...more,
  },
});

const availability = (body: { status: { conditions: { type: string }[] } }) =>
  body.status.conditions.find(({ type }) => type === 'Available');

describe('an extension API server', () => {
  it('[V67] is asked what it serves, which is part of discovery then', async () => {
    const { get, post, delete: remove } = await start(() => json(200, RESOURCES));
    expect((await post(SERVICES, apiService())).status).toBe(201);
    expect(availability((await get(`${SERVICES}/${NAME}`)).body)).toMatchObject({
      status: 'True',
      reason: 'Passed',
    });
    const groups = (await get('/apis')).body.groups;
    expect(groups.at(-1)).toMatchObject({ name: 'metrics.example.com', preferredVersion: { version: 'v1' } });
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
    const aggregated = (await get('/apis', { accept })).body.items.at(-1);
    expect(aggregated.metadata.name).toBe('metrics.example.com');
    expect(aggregated.versions[0].resources[0]).toMatchObject({
      resource: 'nodes',
      scope: 'Cluster',
      verbs: ['get', 'list'],
      subresources: [{ subresource: 'scale', verbs: ['get'] }],
    });
    const schemas = (await get('/openapi/v3')).body.paths;
    expect(schemas['api/v1']).toBeDefined();
    expect(schemas['apis/metrics.example.com/v1']).toEqual({ serverRelativeURL: `/openapi/v3${PATH}` });
    expect((await get(`/openapi/v3${PATH}`)).body).toEqual(RESOURCES);
    await remove(`${SERVICES}/${NAME}`);
    expect((await get('/openapi/v3')).body.paths).not.toHaveProperty('apis/metrics.example.com/v1');
    expect((await get(PATH)).status).toBe(404);
    expect((await get('/apis')).body.groups.at(-1).name).not.toBe('metrics.example.com');
  });

  it('[V67] is asked for nothing but what was authorized, however a path is written', async () => {
    const { get, post, calls } = await start(() => json(200, RESOURCES));
    await post(SERVICES, apiService());
    calls.splice(0);
    const mine = `${PATH}/namespaces/mine/nodes`;
    for (const path of [
      `${mine}/../../other/nodes/a`,
      `${mine}/%2e%2E/../other`,
      `${mine}\\..\\..\\other`,
      `${mine}/.\t./x`,
      `${mine}?a#&fieldSelector=metadata.name=b`,
    ])
      expect((await get(path)).status, path).toBe(400);
    expect(calls).toEqual([]);
    expect((await get(`${mine}/a.b?labelSelector=a%3D..`)).status).toBe(200);
  });

  it('[V67] learns names of users in UTF-8', () => {
    expect(userHeaders({ name: 'Zoë', groups: ['日本'] })).toEqual([
      'x-remote-user',
      Buffer.from('Zoë').toString('latin1'),
      'x-remote-group',
      Buffer.from('日本').toString('latin1'),
    ]);
  });

  it('[V67] learns the user from the front proxy, and never a credential', async () => {
    const { call, post, calls } = await start((path) =>
      json(path.endsWith('/nodes') ? 201 : 200, RESOURCES, {
        'x-more': '1',
        'set-cookie': 'a=b',
        connection: 'close',
      }),
    );
    await post(SERVICES, apiService());
    await post('/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { name: 'metrics' },
      rules: [{ apiGroups: ['metrics.example.com'], resources: ['nodes'], verbs: ['create'] }],
    });
    await post('/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'metrics' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'metrics' },
      subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'dev,ops' }],
    });
    const headers = {
      authorization: 'Bearer secret',
      cookie: 'session=1',
      'x-remote-user': 'admin',
      'x-remote-group': 'system:masters',
      'x-remote-uid': '1',
      'x-remote-extra-a': 'b',
      'impersonate-user': 'ann',
      'impersonate-group': 'dev,ops',
      'impersonate-extra-example.com%2fteam': 'web',
      'x-own': 'kept',
    };
    calls.splice(0);
    const denied = await call('DELETE', `${PATH}/nodes/a?x=1`, undefined, headers);
    expect(denied.status).toBe(403);
    expect(calls).toEqual([]);
    const answer = await call('POST', `${PATH}/nodes?dryRun=All`, { a: 1 }, headers);
    expect(answer.status).toBe(201);
    expect(answer.headers).toMatchObject({ 'x-more': '1' });
    expect(answer.headers).not.toHaveProperty('set-cookie');
    const [{ target, request }] = calls as [Call];
    expect(target).toEqual({
      url: `https://metrics.monitoring.svc:8443${PATH}/nodes?dryRun=All`,
      address: { host: 'metrics-in-monitoring', port: 8444 },
      caBundle: 'its authority',
      insecure: false,
      certificate: FRONT_PROXY.client(),
    });
    expect(Buffer.from(request.body ?? []).toString()).toBe('{"a":1}');
    const pairs: string[] = [];
    for (let index = 0; index < request.headers.length; index += 2)
      pairs.push(`${request.headers[index]}: ${request.headers[index + 1]}`);
    expect(pairs.sort()).toEqual([
      'content-type: application/json',
      'x-own: kept',
      'x-remote-extra-example.com%2Fteam: web',
      'x-remote-group: dev,ops',
      'x-remote-group: system:authenticated',
      'x-remote-user: ann',
    ]);
  });

  it('[V67] streams what it streams', async () => {
    const lines = [
      '{"type":"ADDED","object":{"metadata":{"name":"a"}}}\n',
      '{"type":"DELETED","object":{"metadata":{"name":"a"}}}\n',
    ];
    const { post, watch } = await start((path) =>
      path.endsWith('/nodes')
        ? {
            status: 200,
            headers: { 'transfer-encoding': 'chunked' },
            body: (async function* () {
              for (const line of lines) yield Buffer.from(line);
            })(),
          }
        : json(200, RESOURCES),
    );
    await post(SERVICES, apiService());
    const stream = await watch(`${PATH}/nodes?watch=1`);
    expect((await stream.rest()).map(({ type }) => type)).toEqual(['ADDED', 'DELETED']);
  });

  it('[V67] that does not answer is said to be unavailable, until it does', async () => {
    let up = false;
    const { get, post, runtime } = await start(() => {
      if (!up) throw new Error('connect ECONNREFUSED');
      return json(200, RESOURCES);
    });
    await post(SERVICES, apiService());
    expect(availability((await get(`${SERVICES}/${NAME}`)).body)).toMatchObject({
      status: 'False',
      reason: 'FailedDiscoveryCheck',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    const refused = await get(`${PATH}/nodes`);
    expect(refused.status).toBe(503);
    expect(refused.body.message).toBe('error trying to reach service: connect ECONNREFUSED');
    up = true;
    await runtime.clock.advance(30_000);
    expect(availability((await get(`${SERVICES}/${NAME}`)).body)).toMatchObject({ status: 'True' });
  });

  it('[V67] is noticed when its Service gets endpoints', async () => {
    const fixture = await startServer({
      controllers: false,
      outbound: { send: async () => json(200, RESOURCES), close: async () => {} },
    });
    open.push(fixture);
    const { get, post } = fixture;
    const reason = async () => availability((await get(`${SERVICES}/${NAME}`)).body);
    await post('/api/v1/namespaces', { metadata: { name: 'monitoring' } });
    await post(SERVICES, apiService());
    expect(await reason()).toMatchObject({ reason: 'ServiceNotFound' });
    const where = '/api/v1/namespaces/monitoring';
    const ports = [{ name: 'https', port: 8443 }];
    expect((await post(`${where}/services`, { metadata: { name: 'metrics' }, spec: { ports } })).status).toBe(
      201,
    );
    expect(await reason()).toMatchObject({ reason: 'MissingEndpoints' });
    await post(`${where}/endpoints`, {
      metadata: { name: 'metrics' },
      subsets: [{ addresses: [{ ip: '10.0.0.1' }], ports }],
    });
    expect(await reason()).toMatchObject({ status: 'True' });
  });

  it('[V67] leads nobody elsewhere by a redirect', async () => {
    const { get, post } = await start((path) =>
      path.endsWith('/nodes') ? json(302, {}, { location: 'https://evil.example/' }) : json(200, RESOURCES),
    );
    await post(SERVICES, apiService());
    const answer = await get(`${PATH}/nodes`);
    expect(answer.status).toBe(502);
    expect(answer.headers).not.toHaveProperty('location');
  });

  it('[V67] [V77] of another logical cluster is not shown the certificate: a name means somebody else there', async () => {
    const { get, post, server, calls, runtime } = await start(() => json(200, RESOURCES));
    const made = server.createCluster('tenant');
    await runtime.clock.settle();
    await made;
    await post(`/clusters/tenant${SERVICES}`, apiService());
    expect((await get(`/clusters/tenant${PATH}/nodes`)).status).toBe(200);
    expect(calls.length).toBeGreaterThan(1);
    for (const { target } of calls) expect(target.certificate).toBeUndefined();
    expect(calls.at(-1)?.target.url).toBe(`https://metrics.monitoring.svc:8443${PATH}/nodes`);
    expect((await get(`${PATH}/nodes`)).status).toBe(404);
  });

  it('[V67] finds in a ConfigMap whom to believe', async () => {
    const fixture = await startServer({
      controllers: false,
      frontProxy: FRONT_PROXY,
      clientCa: { certificate: 'the client authority', key: '' },
    });
    open.push(fixture);
    const { body } = await fixture.get(
      '/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication',
    );
    expect(body.data).toMatchObject({
      'client-ca-file': 'the client authority',
      'requestheader-client-ca-file': 'the authority',
      'requestheader-allowed-names': `["${FRONT_PROXY_NAME}"]`,
      'requestheader-username-headers': '["X-Remote-User"]',
    });
  });
});
