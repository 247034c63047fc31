import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { type Answer, type Fixture, startServer } from '../server.fixture.ts';
import { memoryDriver } from '../storage/index.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

async function start(...clusters: string[]): Promise<Fixture> {
  const fixture = await startServer();
  open.push(fixture);
  for (const cluster of clusters) await settle(fixture, fixture.server.createCluster(cluster));
  return fixture;
}

async function settle<T>({ runtime }: Fixture, promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await runtime.clock.settle();
  return promise;
}

const map = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const definition = (kind: string) => ({
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { of: { type: 'string', default: kind } },
          },
        },
      },
    ],
  },
});
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const THINGS = '/apis/example.com/v1/namespaces/default/things';

describe('a logical cluster', () => {
  it('[V76] is an endpoint of its own, also below a path of names', async () => {
    const { get, post, server } = await start('a', 'root:org:team');
    await post(`/clusters/a${MAPS}`, map('x'));
    await post(`/clusters/root:org:team${MAPS}`, map('y'));
    expect((await get(`/clusters/root:org:team${MAPS}/y`)).status).toBe(200);
    expect((await get(`/clusters/a${MAPS}/y`)).status).toBe(404);
    expect((await get(`${MAPS}/x`)).status).toBe(404);
    expect((await get('/clusters/none/api/v1/namespaces')).body).toMatchObject({ code: 404 });
    expect((await get('/clusters/a/version')).status).toBe(200);
    expect(server.clusters()).toEqual(['a', 'root', 'root:org:team']);
    for (const name of ['A', '-a', 'a:', ':a', '*', 'a/b', '', 'a'.repeat(64), `${'a:'.repeat(150)}a`])
      await expect(server.createCluster(name), name).rejects.toMatchObject({ code: 400 });
  });

  it('[V77] shares nothing: random writes and reads agree with one model a cluster', async () => {
    const clusters = ['root', 'a', 'a-b', 'a:b'];
    const fixture = await start(...clusters.slice(1));
    const { call } = fixture;
    const path = (cluster: string) => `/clusters/${cluster}${MAPS}`;
    const step = fc.record({
      cluster: fc.constantFrom(...clusters),
      action: fc.constantFrom('create', 'update', 'delete', 'clear', 'get', 'list', 'select'),
      name: fc.constantFrom('x', 'y', 'z'),
      value: fc.constantFrom('1', '2'),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        const model = new Map(clusters.map((cluster) => [cluster, new Map<string, string>()]));
        for (const cluster of clusters) await call('DELETE', path(cluster), {});
        for (const { cluster, action, name, value } of steps) {
          const own = model.get(cluster) as Map<string, string>;
          const object = { ...map(name, { value }), metadata: { name, labels: { value } } };
          if (action === 'create') {
            expect((await call('POST', path(cluster), object)).status).toBe(own.has(name) ? 409 : 201);
            if (!own.has(name)) own.set(name, value);
          } else if (action === 'update') {
            expect((await call('PUT', `${path(cluster)}/${name}`, object)).status).toBe(
              own.has(name) ? 200 : 404,
            );
            if (own.has(name)) own.set(name, value);
          } else if (action === 'delete') {
            expect((await call('DELETE', `${path(cluster)}/${name}`)).status).toBe(own.has(name) ? 200 : 404);
            own.delete(name);
          } else if (action === 'clear') {
            await call('DELETE', path(cluster));
            own.clear();
          } else if (action === 'get') {
            const { status, body } = await call('GET', `${path(cluster)}/${name}`);
            expect(status === 200 ? body.data.value : undefined).toBe(own.get(name));
          } else {
            const query = action === 'list' ? '' : `?labelSelector=value=${value}`;
            const { body } = await call('GET', path(cluster) + query);
            const found = body.items
              .filter((item: KubeObject) => item.metadata.name !== 'kube-root-ca.crt')
              .map((item: { metadata: { name: string }; data: { value: string } }) => [
                item.metadata.name,
                item.data.value,
              ]);
            expect(found).toEqual([...own].filter(([, v]) => action === 'list' || v === value).sort());
          }
        }
      }),
      { numRuns: 15, seed: 7 },
    );
  });

  it('[V77] cannot be reached from another by any form of path', async () => {
    const { call, post } = await start('a', 'b');
    await post(`/clusters/b${MAPS}`, map('secret', { of: 'b' }));
    const paths = [
      `/clusters/a/clusters/b${MAPS}/secret`,
      `/clusters/a/../b${MAPS}/secret`,
      `/clusters/a%2f..%2fb${MAPS}/secret`,
      `/clusters/a/api/v1/namespaces/..%2f..%2fb%2fdefault/configmaps/secret`,
      `/clusters/a/api/v1/namespaces/default/configmaps/..%2f..%2f..%2fb%2fdefault%2fsecret`,
      `/clusters/%2a${MAPS}/secret`,
      `/clusters//b${MAPS}/secret`,
      `//clusters/b${MAPS}/secret`,
      `/clusters/a${MAPS}?fieldSelector=metadata.name=..%2F..%2Fb%2Fdefault%2Fsecret`,
    ];
    for (const path of paths) {
      const answer = await call('GET', path);
      expect(answer.text, path).not.toContain('"of":"b"');
    }
  });

  it('[V77] neither watches others nor goes on with their lists', async () => {
    const { get, post, watch } = await start('a', 'b');
    const stream = await watch(`/clusters/a${MAPS}?watch=1`);
    const wide = await watch('/clusters/a/api/v1/configmaps?watch=1');
    for (const name of ['x', 'y', 'z']) await post(`/clusters/b${MAPS}`, map(name));
    await post(`/clusters/a${MAPS}`, map('mine'));
    const seen = (events: { object: KubeObject }[]) => events.map(({ object }) => object.metadata.name);
    expect(seen(await stream.take(2))).toEqual(['kube-root-ca.crt', 'mine']);
    expect(seen(await wide.take(5)).at(-1)).toBe('mine');
    await stream.close();
    await wide.close();
    const page = await get(`/clusters/b${MAPS}?limit=1`);
    const token = page.body.metadata.continue;
    expect((await get(`/clusters/b${MAPS}?limit=1&continue=${token}`)).body.items).toHaveLength(1);
    for (const cluster of ['/clusters/a', '', '/clusters/*'])
      expect(
        (
          await get(
            `${cluster}${cluster.endsWith('*') ? '/api/v1/configmaps' : MAPS}?limit=1&continue=${token}`,
          )
        ).body,
      ).toMatchObject({
        code: 400,
        message: 'invalid continue token: it is of another logical cluster',
      });
    const own = (await get(`${MAPS}?limit=1`)).body.metadata.continue;
    expect(own ?? '').not.toContain('root');
  });

  it('[V77] has its own definitions, versions of a kind, tokens and impersonation', async () => {
    const fixture = await start('a', 'b');
    const { get, post, call, server } = fixture;
    await post(`/clusters/a${CRDS}`, definition('Car'));
    await post(`/clusters/b${CRDS}`, definition('Boat'));
    await post(`/clusters/a${THINGS}`, {
      apiVersion: 'example.com/v1',
      kind: 'Car',
      metadata: { name: 'x' },
    });
    await post(`/clusters/b${THINGS}`, {
      apiVersion: 'example.com/v1',
      kind: 'Boat',
      metadata: { name: 'x' },
    });
    expect((await get(`/clusters/a${THINGS}/x`)).body.of).toBe('Car');
    expect((await get(`/clusters/b${THINGS}/x`)).body.of).toBe('Boat');
    expect((await get(THINGS)).status).toBe(404);
    expect((await get('/apis/example.com/v1')).status).toBe(404);
    expect((await get('/clusters/a/apis/example.com/v1')).body.resources[0].kind).toBe('Car');

    const account = '/api/v1/namespaces/default/serviceaccounts/default';
    const token = (await post(`/clusters/a${account}/token`, { spec: {} })).body.status.token;
    await post('/clusters/a/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
      metadata: { name: 'all' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
      subjects: [{ kind: 'ServiceAccount', name: 'default', namespace: 'default' }],
    });
    const withToken = async (path: string): Promise<number> =>
      (
        await settle(
          fixture,
          server.handle({ method: 'GET', path, headers: { authorization: `Bearer ${token}` } }, {}),
        )
      ).status;
    expect(await withToken(`/clusters/a${MAPS}`)).toBe(200);
    for (const path of [`/clusters/b${MAPS}`, MAPS, '/clusters/*/api/v1/configmaps'])
      expect(await withToken(path), path).toBe(401);

    // Who may impersonate in one cluster may not in another.
    const impersonate = (cluster: string): Promise<Answer> =>
      call('GET', `/clusters/${cluster}${MAPS}`, undefined, {
        'impersonate-user': 'system:serviceaccount:default:default',
      });
    expect((await impersonate('a')).status).toBe(200);
    expect((await impersonate('b')).status).toBe(403);
    const dev = server.as({ name: 'system:serviceaccount:default:default', groups: [] });
    const becomeMaster = (cluster: string) =>
      settle(
        fixture,
        dev({
          method: 'GET',
          path: `/clusters/${cluster}${MAPS}`,
          headers: { 'impersonate-user': 'x', 'impersonate-group': 'system:masters' },
        }),
      );
    expect((await becomeMaster('b')).status).toBe(403);
    expect((await becomeMaster('*')).status).toBe(403);
  });
});

describe('a logical cluster that is deleted', () => {
  it('[V77] takes all with it, ends its watches, and can be made anew', async () => {
    const storage = memoryDriver();
    const fixture = await startServer({ storage });
    const { get, post, watch, server, runtime, delete: remove } = fixture;
    const outside = server.store.count('/');
    for (const name of ['a', 'b']) await settle(fixture, server.createCluster(name));
    for (const cluster of ['a', 'b']) {
      await post(`/clusters/${cluster}${CRDS}`, definition('Car'));
      for (const name of ['x', 'y']) {
        await post(`/clusters/${cluster}${MAPS}`, map(name));
        await post(`/clusters/${cluster}${THINGS}`, {
          apiVersion: 'example.com/v1',
          kind: 'Car',
          metadata: { name, finalizers: ['example.com/hold'] },
        });
      }
      await remove(`/clusters/${cluster}/apis/rbac.authorization.k8s.io/v1/clusterroles/view`);
      await post(`/clusters/${cluster}/api/v1/namespaces`, { metadata: { name: 'extra' } });
    }
    const { uid } = (await get('/clusters/a/api/v1/namespaces/default')).body.metadata;
    const roles = await watch(
      '/clusters/a/apis/rbac.authorization.k8s.io/v1/clusterroles?watch=1&resourceVersion=' +
        server.store.revision,
    );
    const stored = server.store.count('/');
    const deleted = await settle(fixture, server.deleteCluster('a'));
    expect(deleted).toBe(true);
    expect(server.store.count('/')).toBe(outside + (stored - outside) / 2);
    const events = await roles.rest();
    expect(events.slice(0, -1).every(({ type }) => type === 'DELETED')).toBe(true);
    expect(events.length).toBeGreaterThan(60);
    expect(events.at(-1)?.type).toBe('ERROR');
    expect((await get('/clusters/a/api/v1/namespaces')).status).toBe(404);
    expect((await post(`/clusters/a${MAPS}`, map('late'))).status).toBe(404);
    expect((await get(`/clusters/b${THINGS}`)).body.items).toHaveLength(2);
    expect(server.clusters()).toEqual(['b', 'root']);
    expect(await settle(fixture, server.deleteCluster('a'))).toBe(false);
    await expect(server.deleteCluster('root')).rejects.toMatchObject({ code: 400 });

    await settle(fixture, server.createCluster('a'));
    await runtime.clock.settle();
    expect((await get('/clusters/a/api/v1/namespaces/default')).body.metadata.uid).not.toBe(uid);
    expect((await get('/clusters/a/apis/rbac.authorization.k8s.io/v1/clusterroles/view')).status).toBe(200);
    expect((await get(`/clusters/a${MAPS}`)).body.items).toHaveLength(1);
    await server.close();
    const again = await startServer({ storage });
    expect(again.server.clusters()).toEqual(['a', 'b', 'root']);
    expect((await again.get(`/clusters/b${MAPS}/x`)).status).toBe(200);
    await again.server.close();
  });
});

describe('a deletion of a logical cluster', () => {
  it('[V77] lets nothing in that was on its way', async () => {
    const fixture = await start('a');
    const { server } = fixture;
    const key = '/core/configmaps/a/default/late';
    expect(await settle(fixture, server.deleteCluster('a'))).toBe(true);
    await expect(server.store.write(key, () => map('late'))).rejects.toMatchObject({ code: 404 });
    expect(server.store.get(key)).toBeUndefined();
  });

  it('[V77] goes on at the next start when it was interrupted', async () => {
    const storage = memoryDriver();
    const fixture = await startServer({ storage });
    await settle(fixture, fixture.server.createCluster('a'));
    await fixture.post(`/clusters/a${MAPS}`, map('x'));
    const interrupted = fixture.server.deleteCluster('a').catch((error: Error) => error.message);
    await settle(fixture, fixture.server.close());
    expect(await interrupted).toBe('the store is closed');
    const again = await startServer({ storage });
    expect(again.server.clusters()).toEqual(['root']);
    expect(again.server.store.get('/core/configmaps/a/default/x')).toBeUndefined();
    await settle(again, again.server.createCluster('a'));
    expect((await again.get(`/clusters/a${MAPS}`)).body.items).toHaveLength(1);
    await again.server.close();
  });
});

describe('all logical clusters at once', () => {
  it('[V78] are listed and watched, each object with its cluster', async () => {
    const fixture = await start('a', 'b');
    const { get, post, watch, merge, server } = fixture;
    const stream = await watch(
      `/clusters/*/api/v1/configmaps?watch=1&resourceVersion=${server.store.revision}&labelSelector=app`,
    );
    for (const cluster of ['root', 'a', 'b'])
      await post(`/clusters/${cluster}${MAPS}`, {
        ...map('x'),
        metadata: { name: 'x', labels: { app: 'y' }, annotations: { 'atoll.dev/cluster': 'forged' } },
      });
    await merge(`/clusters/a${MAPS}/x`, { metadata: { labels: { app: null } } });
    const of = ({ metadata }: KubeObject) => metadata.annotations?.['atoll.dev/cluster'];
    const events = await stream.take(4);
    expect(events.map(({ type, object }) => [type, of(object)])).toEqual([
      ['ADDED', 'root'],
      ['ADDED', 'a'],
      ['ADDED', 'b'],
      ['DELETED', 'a'],
    ]);
    await stream.close();
    const listed = (await get('/clusters/*/api/v1/configmaps?fieldSelector=metadata.name=x')).body;
    expect(listed.items.map(of)).toEqual(['a', 'b', 'root']);
    const table = await get('/clusters/*/api/v1/configmaps', {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    expect(table.body.kind).toBe('Table');
    expect((await get('/clusters/*/apis')).status).toBe(200);
    // Cluster-scoped and shared ones too.
    expect(
      (await get('/clusters/*/api/v1/namespaces?fieldSelector=metadata.name=default')).body.items.map(of),
    ).toEqual(['a', 'b', 'root']);
  });

  it('[V78] show custom resources as each cluster serves them', async () => {
    const { get, post } = await start('a', 'b');
    await post(`/clusters/a${CRDS}`, definition('Car'));
    await post(`/clusters/b${CRDS}`, definition('Boat'));
    await post(`/clusters/a${THINGS}`, {
      apiVersion: 'example.com/v1',
      kind: 'Car',
      metadata: { name: 'x' },
    });
    await post(`/clusters/b${THINGS}`, {
      apiVersion: 'example.com/v1',
      kind: 'Boat',
      metadata: { name: 'x' },
    });
    const { items } = (await get('/clusters/*/apis/example.com/v1/things')).body;
    expect(items.map((item: { of: string }) => item.of)).toEqual(['Car', 'Boat']);
  });

  it('[V78] are for system:masters, to read whole collections', async () => {
    const { call, get, post } = await start('a');
    for (const path of ['/api/v1/configmaps', '/api', '/version'])
      expect(
        (await call('GET', `/clusters/*${path}`, undefined, { 'impersonate-user': 'dev' })).status,
        path,
      ).toBe(403);
    expect((await post(`/clusters/*${MAPS}`, map('x'))).status).toBe(405);
    expect((await call('DELETE', '/clusters/*/api/v1/configmaps')).status).toBe(405);
    expect((await get(`/clusters/*${MAPS}/x`)).status).toBe(405);
    expect((await get(`/clusters/*${MAPS}`)).body).toMatchObject({ code: 400 });
  });

  it('[V78] are one watch and one list in chunks, over a thousand clusters', async () => {
    const fixture = await start();
    const { get, watch, server } = fixture;
    const count = 1000;
    const stream = await watch(
      `/clusters/*/api/v1/namespaces?watch=1&resourceVersion=${server.store.revision}`,
    );
    await settle(
      fixture,
      Promise.all(Array.from({ length: count }, (_, i) => server.createCluster(`c${i}`))),
    );
    const events = await stream.take(4 * count);
    const clusters = new Set(events.map(({ object }) => object.metadata.annotations?.['atoll.dev/cluster']));
    expect(clusters.size).toBe(count);
    expect(events.every(({ type }) => type === 'ADDED')).toBe(true);
    await stream.close();
    const seen = new Set<string>();
    let token = '';
    do {
      const { body } = await get(`/clusters/*/api/v1/namespaces?limit=500${token}`);
      for (const { metadata } of body.items as KubeObject[])
        seen.add(`${metadata.annotations?.['atoll.dev/cluster']}/${metadata.name}`);
      expect(body.metadata.remainingItemCount ?? 0).toBe(4 * (count + 1) - seen.size);
      token = body.metadata.continue ? `&continue=${body.metadata.continue}` : '';
    } while (token !== '');
    expect(seen.size).toBe(4 * (count + 1));
  });
});

describe('a logical cluster with a limit', () => {
  it('[V82] refuses one object too many with 403, also when they come at once', async () => {
    const fixture = await start('other');
    const { server, post, get, delete: remove, merge, admin } = fixture;
    await settle(fixture, server.createCluster('a', { maxObjects: 3 }));
    const send = (name: string) =>
      admin({
        method: 'POST',
        path: `/clusters/a${MAPS}`,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(JSON.stringify(map(name))),
      });
    const all = await settle(fixture, Promise.all(['v', 'w', 'x', 'y', 'z'].map(send)));
    expect(all.map(({ status }) => status)).toEqual([201, 201, 201, 403, 403]);
    const { body } = await post(`/clusters/a${MAPS}`, map('more'));
    expect(body).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: 'configmaps "more" is forbidden: the logical cluster "a" holds as many objects as it may: 3',
    });
    expect((await merge(`/clusters/a${MAPS}/v`, { data: { k: 'v' } })).status).toBe(200);
    expect((await post(`/clusters/other${MAPS}`, map('more'))).status).toBe(201);
    await remove(`/clusters/a${MAPS}/v`);
    expect((await post(`/clusters/a${MAPS}`, map('more'))).status).toBe(201);
    await settle(fixture, server.createCluster('a', { maxObjects: 4 }));
    expect((await post(`/clusters/a${MAPS}`, map('again'))).status).toBe(201);
    expect((await get(`/clusters/a${MAPS}`)).body.items).toHaveLength(5);
  });
});
