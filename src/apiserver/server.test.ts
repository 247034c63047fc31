import { describe, expect, it } from 'vitest';
import type { AuditEvent } from './audit/index.ts';
import { fixtureOf, startServer } from './server.fixture.ts';
import type { AskedRight, Space } from './space.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';

describe('the pipeline', () => {
  it('answers nobody but on the public paths', async () => {
    const { server, get, runtime } = await startServer({ authenticate: () => Promise.resolve(undefined) });
    const { paths } = (await get('/')).body as { paths: string[] };
    const routes = [
      ...paths,
      '/',
      '/healthz',
      '/livez/ping',
      '/metrics',
      '/debug',
      '/clusters/root/livez',
      '/clusters/root/version',
      '/clusters/other/api/v1/pods',
      '/nonsense',
      MAPS,
      `${MAPS}?watch=1`,
      '/%2e%2e/livez',
    ];
    expect(routes.length).toBeGreaterThan(60);
    for (const path of routes)
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answering = server.handle({ method, path, headers: {} }, {});
        await runtime.clock.settle();
        const { status } = await answering;
        const open = method === 'GET' && ['/livez', '/readyz', '/version'].includes(path);
        expect(`${method} ${path} ${status}`).toBe(`${method} ${path} ${open ? 200 : 401}`);
      }
  });

  it('authorizes every request by the rules of the cluster', async () => {
    const { server, runtime, post } = await startServer();
    const dev = fixtureOf(runtime, server, server.as({ name: 'dev', groups: [] }));
    const denied = await dev.get('/api/v1/namespaces/default/pods');
    expect(denied.body).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message:
        'pods is forbidden: User "dev" cannot list resource "pods" in API group "" in the namespace "default"',
    });
    expect((await dev.get('/metrics')).status).toBe(403);
    expect((await dev.get('/api')).status).toBe(200);
    await post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'dev' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'edit' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'dev' }],
    });
    expect((await dev.get('/api/v1/namespaces/default/pods')).status).toBe(200);
    expect((await dev.get('/api/v1/namespaces/kube-system/pods')).status).toBe(403);
    const grant = await dev.post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
      metadata: { name: 'more' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: ['*'] }],
    });
    expect(grant.status).toBe(403);
    await post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles', {
      metadata: { name: 'patcher' },
      rules: [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'patch'] }],
    });
    await post('/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', {
      metadata: { name: 'patcher' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: 'patcher' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'patcher' }],
    });
    const patcher = fixtureOf(runtime, server, server.as({ name: 'patcher', groups: [] }));
    const made = await patcher.apply(`${MAPS}/new`, {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'new' },
    });
    expect(made.body).toMatchObject({ code: 403 });
    expect(made.body.message).toContain('cannot create resource "configmaps"');
  });

  it('audits every request', async () => {
    const events: AuditEvent[] = [];
    const { get, post } = await startServer({ audit: (event) => events.push(event) });
    await post(MAPS, { metadata: { name: 'a' } });
    await get('/nonsense');
    expect(events.map((event) => [event.verb, event.responseStatus?.code, event.user.username])).toEqual([
      ['create', 201, 'admin'],
      ['get', 404, 'admin'],
    ]);
    expect(events[0]!.objectRef).toMatchObject({ resource: 'configmaps', namespace: 'default' });
  });

  it('[V76] keeps logical clusters apart, below a path prefix', async () => {
    const { server, runtime, get, post } = await startServer();
    expect((await get('/clusters/two/api/v1/namespaces')).status).toBe(404);
    const creating = server.createCluster('two');
    await runtime.clock.settle();
    await creating;
    expect((await post(`/clusters/two${MAPS}`, { metadata: { name: 'a' } })).status).toBe(201);
    expect((await get(`${MAPS}/a`)).status).toBe(404);
    expect((await get(`/clusters/two${MAPS}/a`)).status).toBe(200);
    expect((await get(`/clusters/root${MAPS}`)).status).toBe(200);
    const names = (await get('/clusters/two/api/v1/namespaces')).body.items.map(
      (item: { metadata: { name: string } }) => item.metadata.name,
    );
    expect(names).toEqual(['default', 'kube-node-lease', 'kube-public', 'kube-system']);
  });

  it('[V77] lets rights and kinds of one cluster mean nothing in another', async () => {
    const { server, runtime, post, get } = await startServer();
    const creating = server.createCluster('two');
    await runtime.clock.settle();
    await creating;
    await post('/clusters/two/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'dev' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'dev' }],
    });
    const dev = fixtureOf(runtime, server, server.as({ name: 'dev', groups: [] }));
    expect((await dev.get('/clusters/two/api/v1/secrets')).status).toBe(200);
    expect((await dev.get('/api/v1/secrets')).status).toBe(403);
    expect((await dev.get('/clusters/three/api/v1/secrets')).status).toBe(403);
    await post('/clusters/two/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    });
    expect((await get('/clusters/two/apis/example.com/v1/things')).status).toBe(200);
    expect((await get('/apis/example.com/v1/things')).status).toBe(404);
  });

  it('leads to spaces by path, each with an authorization of its own', async () => {
    const seen: { path: string; user: string }[] = [];
    const right = (name: string): AskedRight => ({
      verb: 'get',
      isResource: true,
      group: 'core.oam.dev',
      version: 'v1beta1',
      resource: 'spokeclusters',
      subresource: 'proxy',
      name,
      namespace: '',
      path: '',
    });
    const serve: Space['serve'] = async ({ path }, caller) => {
      seen.push({ path, user: caller.user.name });
      const body = JSON.stringify({ may: await caller.may(right('other')) });
      return { status: 200, headers: {}, body: Buffer.from(body) };
    };
    const far: Space = { attributes: () => right('far'), serve };
    const { get, server, runtime } = await startServer({
      spaces: (path) => {
        if (path.startsWith('/clusters/far/'))
          return { space: far, path: path.slice('/clusters/far'.length) };
        return path.startsWith('/all/') ? { space: { serve }, path: path.slice('/all'.length) } : undefined;
      },
    });
    const answer = await get('/clusters/far/api/v1/pods?limit=1');
    expect(answer.body).toEqual({ may: true });
    expect(seen).toEqual([{ path: '/api/v1/pods?limit=1', user: 'admin' }]);
    const dev = fixtureOf(runtime, server, server.as({ name: 'dev', groups: [] }));
    expect((await dev.get('/clusters/far/api/v1/pods')).body.message).toContain(
      'resource "spokeclusters/proxy"',
    );
    expect(seen).toHaveLength(1);
    expect((await dev.get('/all/api')).body).toEqual({ may: false });
    expect((await get('/clusters/near/api/v1/pods')).status).toBe(404);
  });

  it('[V36] fails with the Status that clients know', async () => {
    const { get, call, post } = await startServer();
    expect((await get('/api/v1/nonsense')).body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'the server could not find the requested resource',
      reason: 'NotFound',
      details: {},
      code: 404,
    });
    expect((await get('/apis/no.such/v1/things')).text).toBe('404 page not found\n');
    expect(
      (await call('PATCH', '/api/v1/pods', {}, { 'content-type': 'application/merge-patch+json' })).body,
    ).toMatchObject({
      code: 405,
      reason: 'MethodNotAllowed',
    });
    expect((await get(`${MAPS}/a`)).body).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "a" not found',
      reason: 'NotFound',
      details: { name: 'a', kind: 'configmaps' },
      code: 404,
    });
    expect((await get('/apis/apps/v1/namespaces/default/deployments/x')).body).toMatchObject({
      message: 'deployments.apps "x" not found',
      details: { name: 'x', group: 'apps', kind: 'deployments' },
    });
    expect((await get(MAPS, { accept: 'foo/bar' })).body).toMatchObject({
      code: 406,
      reason: 'NotAcceptable',
    });
    expect((await call('POST', MAPS, 'x', { 'content-type': 'text/plain' })).body).toMatchObject({
      code: 415,
      reason: 'UnsupportedMediaType',
    });
    const patched = await call('PATCH', `${MAPS}/a`, {}, { 'content-type': 'application/json' });
    expect(patched.body).toMatchObject({ code: 415 });
    expect((await post(MAPS, '{')).body).toMatchObject({ code: 400, reason: 'BadRequest' });
    expect((await post(MAPS, '[]')).body).toMatchObject({ code: 400 });
    const wrong = await post('/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'd' },
      spec: { replicas: 'x' },
    });
    expect(wrong.body.message).toContain(
      'cannot be handled as a Deployment: json: cannot unmarshal string into Go struct field',
    );
    const big = await post(MAPS, { metadata: { name: 'a' }, data: { x: 'y'.repeat(4 * 1024 * 1024) } });
    expect(big.body).toMatchObject({
      code: 413,
      reason: 'RequestEntityTooLarge',
      message: 'Request entity too large: limit is 3145728',
    });
  });

  it('[V36] names size and limit of an object that is too large to store', async () => {
    const { post } = await startServer({ store: { maxObjectBytes: 20_000 } });
    const { body } = await post('/apis/coordination.k8s.io/v1/namespaces/default/leases', {
      metadata: { name: 'a', annotations: { x: 'y'.repeat(30_000) } },
      spec: {},
    });
    expect(body).toMatchObject({ code: 413, reason: 'RequestEntityTooLarge' });
    expect(body.message).toMatch(/the object would take \d+ bytes in storage, limit is 20000/);
  });

  it('[V2] takes and gives YAML', async () => {
    const { call } = await startServer();
    const yaml = { 'content-type': 'application/yaml', accept: 'application/yaml' };
    const created = await call('POST', MAPS, 'metadata:\n  name: a\ndata:\n  k: "yes"\n', yaml);
    expect(created.status).toBe(201);
    expect(created.headers['content-type']).toBe('application/yaml');
    expect(created.text).toContain('k: "yes"');
  });

  it('[V70] tells its version and health', async () => {
    const { get } = await startServer();
    expect((await get('/version')).body).toMatchObject({
      major: '1',
      minor: '36',
      emulationMajor: '1',
      emulationMinor: '36',
      minCompatibilityMajor: '1',
      minCompatibilityMinor: '35',
      gitVersion: 'v1.36.0+atoll',
    });
    expect((await get('/readyz')).text).toBe('ok');
    expect((await get('/metrics')).text).toContain('atoll_apiserver_requests_total');
    expect((await get('/metrics/slis')).text).toContain('kubernetes_healthcheck{name="ping",type="livez"} 1');
  });

  it('answers reviews and impersonation', async () => {
    const { post, call, get } = await startServer();
    const review = await post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', {
      spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
    });
    expect(review.body.status.allowed).toBe(true);
    const whoami = await call(
      'POST',
      '/apis/authentication.k8s.io/v1/selfsubjectreviews',
      {},
      { 'impersonate-user': 'dev' },
    );
    expect(whoami.body.status.userInfo.username).toBe('dev');
    expect((await get('/api/v1/pods', { 'impersonate-user': 'dev' })).status).toBe(403);
  });
});
