import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { type Fixture, startServer } from '../server.fixture.ts';
import { memoryDriver } from '../storage/index.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'things.example.com';
const THINGS = '/apis/example.com/v1/namespaces/default/things';
const CONSUMERS = '/clusters/maker/consumers/apis/example.com/v1/things';

const definition = (fallback: string) => ({
  metadata: { name: NAME },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', properties: { of: { type: 'string', default: fallback } } },
        },
      },
    ],
  },
});
const thing = (name: string) => ({ apiVersion: 'example.com/v1', kind: 'Thing', metadata: { name } });
const of = ({ metadata }: KubeObject) => `${metadata.annotations?.['atoll.dev/cluster']}/${metadata.name}`;

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

async function settle<T>({ runtime }: Fixture, promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await runtime.clock.settle();
  return promise;
}

/** `maker` defines things, `one` and `two` have them bound, `other` defines its own. */
async function start(storage = memoryDriver()): Promise<Fixture> {
  const fixture = await startServer({ storage });
  open.push(fixture);
  const { server, post } = fixture;
  for (const cluster of ['maker', 'one', 'two', 'other'])
    await settle(fixture, server.createCluster(cluster));
  await post(`/clusters/maker${CRDS}`, definition('maker'));
  await post(`/clusters/other${CRDS}`, definition('other'));
  for (const consumer of ['one', 'two'])
    await settle(fixture, server.bindApi({ provider: 'maker', definition: NAME, consumer }));
  return fixture;
}

describe('an API that is bound', () => {
  it('[V81] is served by the consumers, and its definition is there once', async () => {
    const fixture = await start();
    const { get, post, merge, server } = fixture;
    const before = server.store.count('/apiextensions.k8s.io/customresourcedefinitions/');
    expect(before).toBe(2);
    const made = await post(`/clusters/one${THINGS}`, thing('a'));
    expect(made.body).toMatchObject({ kind: 'Thing', of: 'maker' });
    expect((await get('/clusters/one/apis/example.com/v1')).body.resources[0].name).toBe('things');
    expect(
      (await get('/clusters/one/apis/apiregistration.k8s.io/v1/apiservices/v1.example.com')).status,
    ).toBe(200);
    expect((await get(`/clusters/one${CRDS}`)).body.items).toEqual([]);
    expect((await get(`/clusters/two${THINGS}/a`)).status).toBe(404);
    expect((await get(`/clusters/maker${THINGS}`)).body.items).toEqual([]);
    // A change of the definition is a change for all.
    const [version] = definition('changed').spec.versions;
    await merge(`/clusters/maker${CRDS}/${NAME}`, { spec: { versions: [version] } });
    expect((await post(`/clusters/two${THINGS}`, thing('b'))).body.of).toBe('changed');
  });

  it('[V81] shows its provider the objects of the consumers, and of nobody else', async () => {
    const fixture = await start();
    const { get, post, watch, server, delete: remove } = fixture;
    const stream = await watch(`${CONSUMERS}?watch=1&resourceVersion=${server.store.revision}`);
    for (const cluster of ['maker', 'other', 'one', 'two'])
      for (const name of ['a', 'b']) await post(`/clusters/${cluster}${THINGS}`, thing(name));
    await remove(`/clusters/one${THINGS}/b`);
    const events = await stream.take(5);
    expect(events.map(({ type, object }) => `${type} ${of(object)}`)).toEqual([
      'ADDED one/a',
      'ADDED one/b',
      'ADDED two/a',
      'ADDED two/b',
      'DELETED one/b',
    ]);
    await stream.close();
    const seen: string[] = [];
    let token = '';
    do {
      const { body } = await get(`${CONSUMERS}?limit=1${token}`);
      seen.push(...body.items.map(of));
      expect(body.metadata.remainingItemCount).toBeUndefined();
      token = body.metadata.continue ?? '';
      const hidden = Buffer.from(token, 'base64url').toString();
      expect(hidden).not.toMatch(/other|maker\//);
      if (token !== '') {
        expect((await get(`/clusters/*/apis/example.com/v1/things?limit=1&continue=${token}`)).status).toBe(
          400,
        );
        token = `&continue=${token}`;
      }
    } while (token !== '');
    expect(seen).toEqual(['one/a', 'two/a', 'two/b']);
  });

  it('is listed over all logical clusters, whatever versions the others have', async () => {
    const fixture = await start();
    const { get, post, merge } = fixture;
    const { versions } = definition('other').spec;
    const stored = { ...versions[0], name: 'v2' };
    await merge(`/clusters/other${CRDS}/${NAME}`, {
      spec: { versions: [{ ...versions[0], storage: false }, stored] },
    });
    await post(`/clusters/one${THINGS}`, thing('a'));
    await post(`/clusters/other${THINGS}`, thing('b'));
    const listed = await get('/clusters/*/apis/example.com/v1/things');
    expect(listed.body.items?.map(of)).toEqual(['one/a', 'other/b']);
  });

  it('[V78] [V81] tells of the objects that go with a logical cluster', async () => {
    const fixture = await start();
    const { post, watch, server, runtime } = fixture;
    await post(`/clusters/one${THINGS}`, thing('a'));
    await post(`/clusters/other${THINGS}`, thing('b'));
    const everywhere = '/clusters/*/apis/example.com/v1/things';
    const streams = [];
    for (const path of [CONSUMERS, everywhere])
      streams.push(await watch(`${path}?watch=1&resourceVersion=${server.store.revision}`));
    const before = server.store.revision;
    for (const cluster of ['one', 'other'])
      await Promise.all([server.deleteCluster(cluster), runtime.clock.settle()]);
    // Also whoever was away meanwhile, where all clusters are seen anyway.
    streams.push(await watch(`${everywhere}?watch=1&resourceVersion=${before}`));
    const told: string[][] = [];
    for (const [index, stream] of streams.entries()) {
      const events = await stream.take(index === 0 ? 1 : 2);
      told.push(events.map(({ type, object }) => `${type} ${of(object)}`));
      await stream.close();
    }
    const both = ['DELETED one/a', 'DELETED other/b'];
    expect(told).toEqual([['DELETED one/a'], both, both]);
  });

  it('[V81] ends the watches of all when its definition changes', async () => {
    const fixture = await start();
    const { watch, merge, server } = fixture;
    const from = `?watch=1&resourceVersion=${server.store.revision}`;
    const streams = await Promise.all([watch(CONSUMERS + from), watch(`/clusters/one${THINGS}${from}`)]);
    const stranger = await watch(`/clusters/other${THINGS}${from}`);
    const [version] = definition('changed').spec.versions;
    await merge(`/clusters/maker${CRDS}/${NAME}`, { spec: { versions: [version] } });
    for (const stream of streams)
      expect(await stream.rest()).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
    await fixture.post(`/clusters/other${THINGS}`, thing('a'));
    expect((await stranger.take(1))[0]?.type).toBe('ADDED');
    await stranger.close();
  });

  it('[V81] asks for a right of its own, and gives nothing but that', async () => {
    const { get, post, call } = await start();
    await post(`/clusters/one${THINGS}`, thing('a'));
    const rbac = '/clusters/maker/apis/rbac.authorization.k8s.io/v1';
    const role = (name: string, resource: string) =>
      Promise.all([
        post(`${rbac}/clusterroles`, {
          metadata: { name },
          rules: [{ apiGroups: ['example.com'], resources: [resource], verbs: ['*'] }],
        }),
        post(`${rbac}/clusterrolebindings`, {
          metadata: { name },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
          subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'dev' }],
        }),
      ]);
    const asDev = async (method: string, path: string, body?: unknown) =>
      (await call(method, path, body, { 'impersonate-user': 'dev' })).status;
    await role('own', 'things');
    expect(await asDev('GET', `/clusters/maker${THINGS}`)).toBe(200);
    expect(await asDev('GET', CONSUMERS)).toBe(403);
    await role('theirs', 'things/consumers');
    expect(await asDev('GET', CONSUMERS)).toBe(200);
    for (const path of [
      `/clusters/one${THINGS}`,
      '/clusters/*/apis/example.com/v1/things',
      '/clusters/maker/consumers/api/v1/secrets',
    ])
      expect(await asDev('GET', path), path).toBe(403);
    expect(await asDev('POST', CONSUMERS, thing('x'))).toBe(405);
    expect(await asDev('DELETE', CONSUMERS)).toBe(405);
    expect((await get('/clusters/maker/consumers/api/v1/secrets')).status).toBe(404);
    expect((await get('/clusters/maker/consumers/api')).status).toBe(404);
    expect((await get(`${CONSUMERS}/a`)).status).toBe(405);
    expect((await get('/clusters/none/consumers/apis/example.com/v1/things')).status).toBe(404);
  });

  it('[V81] is of one name in a cluster, and stays while it is used', async () => {
    const storage = memoryDriver();
    const fixture = await start(storage);
    const { get, post, server } = fixture;
    const bind = (provider: string, name: string, consumer: string) =>
      settle(fixture, server.bindApi({ provider, definition: name, consumer }));
    await bind('maker', NAME, 'one');
    await expect(bind('other', NAME, 'one')).rejects.toMatchObject({ code: 409 });
    await expect(bind('maker', NAME, 'other')).rejects.toMatchObject({ code: 409 });
    await expect(bind('maker', NAME, 'maker')).rejects.toMatchObject({ code: 409 });
    await expect(bind('maker', 'x.example.com', 'one')).rejects.toMatchObject({ code: 404 });
    await expect(bind('maker', NAME, 'none')).rejects.toMatchObject({ code: 404 });
    const own = await post(`/clusters/one${CRDS}`, definition('one'));
    expect(own.status).toBe(403);
    expect(own.body.message).toContain('it is bound from the logical cluster "maker"');

    await post(`/clusters/one${THINGS}`, thing('a'));
    await expect(settle(fixture, server.unbindApi('one', NAME))).rejects.toMatchObject({ code: 409 });
    expect(await settle(fixture, server.unbindApi('two', NAME))).toBe(true);
    expect(await settle(fixture, server.unbindApi('two', NAME))).toBe(false);
    expect((await get(`/clusters/two${THINGS}`)).status).toBe(404);
    await server.close();
    open.splice(0);

    const again = await startServer({ storage });
    open.push(again);
    expect((await again.get(`/clusters/one${THINGS}/a`)).status).toBe(200);
    expect((await again.get(CONSUMERS)).body.items.map(of)).toEqual(['one/a']);
    // Another definition of that name is not what was bound: nobody gets at the objects by making one.
    await again.delete(`/clusters/maker${CRDS}/${NAME}`);
    expect((await again.get(`/clusters/one${THINGS}`)).status).toBe(404);
    await again.post(`/clusters/maker${CRDS}`, definition('squatter'));
    expect((await again.get(`/clusters/one${THINGS}`)).status).toBe(404);
    expect((await again.get(CONSUMERS)).body.items).toEqual([]);
    expect(await settle(again, again.server.deleteCluster('one'))).toBe(true);
  });
});
