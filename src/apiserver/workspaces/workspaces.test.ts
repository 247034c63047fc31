import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, type Fixture, startServer } from '../server.fixture.ts';
import { contentsOf, memoryDriver } from '../storage/index.ts';

const GROUP = '/apis/atoll.dev/v1alpha1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const MAPS = '/api/v1/namespaces/default/configmaps';

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

async function start(storage = memoryDriver()): Promise<Fixture> {
  const fixture = await startServer({ storage, workspaces: true, address: 'api.example:6443' });
  open.push(fixture);
  return fixture;
}

const as = (user: string) => ({ 'impersonate-user': user });

/** Lets `user` do something in a logical cluster (a path prefix). */
async function grant({ post }: Fixture, prefix: string, user: string, rule: Record<string, string[]>) {
  const name = `${user}-${Object.values(rule).flat().join('-')}`.replaceAll(/[^a-z0-9-]/g, '-');
  await post(`${prefix}${RBAC}/clusterroles`, { metadata: { name }, rules: [rule] });
  const made = await post(`${prefix}${RBAC}/clusterrolebindings`, {
    metadata: { name },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: user }],
  });
  expect(made.status).toBe(201);
}

const rule = (resource: string, verb: string, ...names: string[]) => ({
  apiGroups: ['atoll.dev'],
  resources: [resource],
  verbs: [verb],
  ...(names.length > 0 ? { resourceNames: names } : {}),
});

const workspace = (name: string, spec: Record<string, unknown> = {}) => ({
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'Workspace',
  metadata: { name },
  spec,
});

const statusOf = ({ body }: Answer) => body.status;

describe('a workspace', () => {
  it('[V80] is a logical cluster, there as long as its object', async () => {
    const fixture = await start();
    const { get, post, delete: remove, server } = fixture;
    expect((await post(`${GROUP}/workspaces`, workspace('team'))).status).toBe(201);
    expect(statusOf(await get(`${GROUP}/workspaces/team`))).toMatchObject({
      phase: 'Ready',
      cluster: 'team',
      URL: 'https://api.example:6443/clusters/team',
      conditions: [{ type: 'Ready', status: 'True' }],
    });
    const table = await get(`${GROUP}/workspaces`, {
      accept: 'application/json;as=Table;g=meta.k8s.io;v=v1',
    });
    expect(table.body.rows[0].cells.slice(0, 4)).toEqual([
      'team',
      null,
      'Ready',
      'https://api.example:6443/clusters/team',
    ]);
    expect((await post(`/clusters/team${MAPS}`, { metadata: { name: 'a' } })).status).toBe(201);
    // Below it there may be others.
    expect((await post(`/clusters/team${GROUP}/workspaces`, workspace('web'))).status).toBe(201);
    expect((await post(`/clusters/team:web${MAPS}`, { metadata: { name: 'a' } })).status).toBe(201);
    expect(server.clusters()).toEqual(['root', 'team', 'team:web']);

    await remove(`${GROUP}/workspaces/team`);
    expect((await get(`${GROUP}/workspaces/team`)).status).toBe(404);
    expect((await get(`/clusters/team${MAPS}`)).status).toBe(404);
    expect(server.clusters()).toEqual(['root']);
    expect(
      ['team/', 'team:web/'].flatMap((name) => server.store.list(`/core/configmaps/${name}`).records),
    ).toEqual([]);
  });

  it('[V80] never takes a name from another logical cluster, nor removes that', async () => {
    const fixture = await start();
    const { get, post, delete: remove, server, runtime } = fixture;
    const made = server.createCluster('edge-7');
    await runtime.clock.settle();
    await made;
    await post(`${GROUP}/workspaces`, workspace('edge-7'));
    expect(statusOf(await get(`${GROUP}/workspaces/edge-7`))).toMatchObject({
      phase: 'Scheduling',
      conditions: [{ status: 'False', reason: 'NameTaken' }],
    });
    await remove(`${GROUP}/workspaces/edge-7`);
    expect(server.clusters()).toContain('edge-7');
    for (const name of ['a.b', 'root'])
      expect((await post(`${GROUP}/workspaces`, workspace(name))).status, name).toBe(
        name === 'root' ? 201 : 400,
      );
    expect(statusOf(await get(`${GROUP}/workspaces/root`)).conditions[0].reason).toBe('NameTaken');
  });

  it('[V80] waits for the initializers of its type, and lets its owner in when they are done', async () => {
    const fixture = await start();
    const { get, post, merge, call } = fixture;
    await post(`${GROUP}/workspacetypes`, {
      metadata: { name: 'web' },
      spec: { initializers: ['example.com/dns', 'example.com/quota'], maxObjects: 20 },
    });
    await grant(fixture, '', 'dev', rule('workspaces', 'create'));
    const ask = () =>
      call('POST', `${GROUP}/workspaces`, workspace('shop', { type: { name: 'web' } }), as('dev'));
    const refused = await ask();
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain('lacks the verb use on workspacetypes "web"');
    await grant(fixture, '', 'dev', rule('workspacetypes', 'use', 'web'));
    const made = await ask();
    expect(made.status).toBe(201);
    // Who owns it is what the server knows.
    expect(made.body.spec.owner).toEqual({ username: 'dev' });
    const owned = await merge(`${GROUP}/workspaces/shop`, { spec: { owner: { username: 'eve' } } });
    expect(owned.body.spec.owner).toEqual({ username: 'dev' });
    expect((await merge(`${GROUP}/workspaces/shop`, { spec: { type: { name: 'x' } } })).status).toBe(422);

    expect(statusOf(await get(`${GROUP}/workspaces/shop`))).toMatchObject({
      phase: 'Initializing',
      initializers: ['example.com/dns', 'example.com/quota'],
    });
    const asDev = (path: string) => call('GET', path, undefined, as('dev'));
    expect((await asDev(`/clusters/shop${MAPS}`)).status).toBe(403);
    await merge(`${GROUP}/workspaces/shop/status`, { status: { initializers: ['example.com/quota'] } });
    expect(statusOf(await get(`${GROUP}/workspaces/shop`)).phase).toBe('Initializing');
    await merge(`${GROUP}/workspaces/shop/status`, { status: { initializers: [] } });
    expect(statusOf(await get(`${GROUP}/workspaces/shop`)).phase).toBe('Ready');
    expect((await asDev(`/clusters/shop${MAPS}`)).status).toBe(200);
    expect((await asDev(MAPS)).status).toBe(403);
  });

  it('[V82] holds as many objects as it says now, and as its type allows at most', async () => {
    const { get, post, merge } = await start();
    await post(`${GROUP}/workspacetypes`, { metadata: { name: 'small' }, spec: { maxObjects: 12 } });
    await post(`${GROUP}/workspaces`, workspace('a', { type: { name: 'small' }, maxObjects: 1000 }));
    expect(statusOf(await get(`${GROUP}/workspaces/a`)).phase).toBe('Ready');
    const fill = async (): Promise<number> => {
      for (let made = 0; ; made++) {
        const { status } = await post(`/clusters/a${MAPS}`, { metadata: { generateName: 'm-' } });
        if (status === 403) return made;
        expect(made).toBeLessThan(20);
      }
    };
    expect(await fill()).toBeGreaterThan(0);
    await merge(`${GROUP}/workspaces/a`, { spec: { maxObjects: 5 } });
    expect(await fill()).toBe(0);
  });

  it('[V80] lets nobody in whose name is one of the system', async () => {
    const fixture = await start();
    const { get, call } = fixture;
    await grant(fixture, '', 'system:anonymous', rule('workspaces', 'create'));
    const made = await call('POST', `${GROUP}/workspaces`, workspace('a'), as('system:anonymous'));
    expect(made.status).toBe(201);
    expect(statusOf(await get(`${GROUP}/workspaces/a`)).phase).toBe('Ready');
    expect((await call('GET', `/clusters/a${MAPS}`, undefined, as('system:anonymous'))).status).toBe(403);
  });

  it('[V80] goes with the cluster that held it, also when the server ended between the two', async () => {
    const storage = memoryDriver();
    const fixture = await start(storage);
    await fixture.post(`${GROUP}/workspaces`, workspace('team'));
    await fixture.post(`/clusters/team${GROUP}/workspaces`, workspace('web'));
    await fixture.post(`/clusters/team:web${MAPS}`, { metadata: { name: 'a' } });
    await fixture.server.close();
    open.splice(0);
    const { present, revision } = await contentsOf(storage);
    const inTeam = present.filter(
      ({ key }) => key.includes('/team/') || key.endsWith('/workspaces/root/-/team'),
    );
    await storage.commit(
      inTeam.map(({ key, value, createRevision }, index) => ({
        key,
        value: null,
        createRevision,
        previous: value,
        revision: revision + index + 1,
      })),
    );
    const again = await start(storage);
    expect(again.server.clusters()).toEqual(['root']);
    expect(again.server.store.count('/core/configmaps/team:web/')).toBe(0);
  });

  it('[V80] waits for a type that comes later, and goes on at the next start', async () => {
    const storage = memoryDriver();
    const fixture = await start(storage);
    await fixture.post(`${GROUP}/workspaces`, workspace('early', { type: { name: 'late' } }));
    expect(statusOf(await fixture.get(`${GROUP}/workspaces/early`)).conditions[0].reason).toBe(
      'TypeNotFound',
    );
    await fixture.server.close();
    open.splice(0);
    const again = await start(storage);
    await again.post(`${GROUP}/workspacetypes`, { metadata: { name: 'late' }, spec: {} });
    expect(statusOf(await again.get(`${GROUP}/workspaces/early`)).phase).toBe('Ready');
    expect(again.server.clusters()).toEqual(['early', 'root']);
  });
});

const definition = {
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Cluster',
    names: { plural: 'things', kind: 'Thing' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
const THINGS = '/apis/example.com/v1/things';

describe('an export of APIs', () => {
  it('[V81] is bound by whoever may bind it, and its provider sees the objects of the consumers', async () => {
    const fixture = await start();
    const { get, post, call, delete: remove } = fixture;
    for (const name of ['maker', 'user']) await post(`${GROUP}/workspaces`, workspace(name));
    await post(`/clusters/maker${GROUP}/apiexports`, {
      metadata: { name: 'things' },
      spec: { definitions: ['things.example.com'] },
    });
    await grant(fixture, '/clusters/user', 'dev', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] });
    const bind = (user: string) =>
      call(
        'POST',
        `/clusters/user${GROUP}/apibindings`,
        { metadata: { name: 'things' }, spec: { export: { cluster: 'maker', name: 'things' } } },
        as(user),
      );
    expect((await bind('dev')).status).toBe(403);
    await grant(fixture, '/clusters/maker', 'dev', rule('apiexports', 'bind', 'things'));
    expect((await bind('dev')).status).toBe(201);
    // The definition comes later.
    expect(statusOf(await get(`/clusters/user${GROUP}/apibindings/things`))).toMatchObject({
      phase: 'Binding',
      conditions: [{ status: 'False' }],
    });
    await post(`/clusters/maker${CRDS}`, definition);
    expect(statusOf(await get(`/clusters/user${GROUP}/apibindings/things`))).toMatchObject({
      phase: 'Bound',
      definitions: ['things.example.com'],
    });
    expect(
      (await call('POST', `/clusters/user${THINGS}`, { metadata: { name: 'a' } }, as('dev'))).status,
    ).toBe(201);
    const seen = await get(`/clusters/maker/consumers${THINGS}`);
    expect(seen.body.items).toMatchObject([
      { metadata: { name: 'a', annotations: { 'atoll.dev/cluster': 'user' } } },
    ]);
    // With the binding go the objects.
    await remove(`/clusters/user${GROUP}/apibindings/things`);
    expect((await get(`/clusters/user${GROUP}/apibindings/things`)).status).toBe(404);
    expect((await get(`/clusters/user${THINGS}`)).status).toBe(404);
    expect((await get(`/clusters/maker/consumers${THINGS}`)).body.items).toEqual([]);
  });

  it('[V81] can be given back with its objects when its definition has gone', async () => {
    const fixture = await start();
    const { get, post, delete: remove, runtime, server } = fixture;
    for (const name of ['maker', 'user']) await post(`${GROUP}/workspaces`, workspace(name));
    await post(`/clusters/maker${CRDS}`, definition);
    await post(`/clusters/maker${GROUP}/apiexports`, {
      metadata: { name: 'things' },
      spec: { definitions: ['things.example.com'] },
    });
    await post(`/clusters/user${GROUP}/apibindings`, {
      metadata: { name: 'things' },
      spec: { export: { cluster: 'maker', name: 'things' } },
    });
    expect((await post(`/clusters/user${THINGS}`, { metadata: { name: 'a' } })).status).toBe(201);
    await remove(`/clusters/maker${CRDS}/things.example.com`);
    await runtime.clock.advance(2000);
    expect((await get(`/clusters/user${THINGS}`)).status).toBe(404);
    await remove(`/clusters/user${GROUP}/apibindings/things`);
    await runtime.clock.advance(3000);
    expect((await get(`/clusters/user${GROUP}/apibindings/things`)).status).toBe(404);
    expect(server.store.count('/example.com/things/')).toBe(0);
  });

  it('[V81] is what workspaces of a type begin with', async () => {
    const { get, post } = await start();
    await post(CRDS, definition);
    await post(`${GROUP}/apiexports`, {
      metadata: { name: 'x' },
      spec: { definitions: ['things.example.com'] },
    });
    await post(`${GROUP}/workspacetypes`, { metadata: { name: 'with-things' }, spec: { exports: ['x'] } });
    await post(`${GROUP}/workspaces`, workspace('a', { type: { name: 'with-things' } }));
    expect((await get(`/clusters/a${THINGS}`)).status).toBe(200);
  });

  it('[V77] is nothing for a service account of another logical cluster that has the name of one here', async () => {
    const fixture = await start();
    const { post, call } = fixture;
    for (const name of ['maker', 'user']) await post(`${GROUP}/workspaces`, workspace(name));
    await post(`/clusters/maker${GROUP}/apiexports`, { metadata: { name: 'x' }, spec: {} });
    const account = 'system:serviceaccount:default:default';
    for (const prefix of ['/clusters/maker', '/clusters/user'])
      await grant(fixture, prefix, account, { apiGroups: ['*'], resources: ['*'], verbs: ['*'] });
    const refused = await call(
      'POST',
      `/clusters/user${GROUP}/apibindings`,
      { metadata: { name: 'x' }, spec: { export: { cluster: 'maker', name: 'x' } } },
      as(account),
    );
    expect(refused.status).toBe(403);
    expect(refused.body.message).toContain('service accounts mean nothing in other logical clusters');
  });

  it('[V77] is nothing for whom somebody impersonates in another logical cluster', async () => {
    const fixture = await start();
    const { post, runtime, server } = fixture;
    for (const name of ['maker', 'user']) await post(`${GROUP}/workspaces`, workspace(name));
    await post(`/clusters/maker${GROUP}/apiexports`, { metadata: { name: 'x' }, spec: {} });
    await grant(fixture, '/clusters/maker', 'friend', rule('apiexports', 'bind', 'x'));
    await grant(fixture, '/clusters/user', 'dev', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] });
    await grant(fixture, '/clusters/user', 'friend', { apiGroups: ['*'], resources: ['*'], verbs: ['*'] });
    const bindAs = async (name: string, headers: Record<string, string>): Promise<number> => {
      const answer = server.as({ name, groups: [] })({
        method: 'POST',
        path: `/clusters/user${GROUP}/apibindings`,
        headers: { 'content-type': 'application/json', ...headers },
        body: Buffer.from(
          JSON.stringify({ metadata: { name: 'x' }, spec: { export: { cluster: 'maker', name: 'x' } } }),
        ),
      });
      await runtime.clock.settle();
      return (await answer).status;
    };
    expect(await bindAs('dev', as('friend'))).toBe(403);
    expect(await bindAs('dev', { ...as('x'), 'impersonate-group': 'system:masters' })).toBe(403);
    expect(await bindAs('friend', {})).toBe(201);
  });
});
