import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import { type Fixture, fixtureOf, startServer } from '../server.fixture.ts';
import { createApiServer } from '../server.ts';
import { memoryDriver, type StorageDriver } from '../storage/index.ts';
import { nameUuid } from './index.ts';

const ROLES = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
const LEVELS = '/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations';
const SCHEMAS = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
const A = '/clusters/a';

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

async function start(...names: string[]): Promise<Fixture> {
  const fixture = await startServer();
  open.push(fixture);
  for (const name of names) await create(fixture, name);
  return fixture;
}

async function create({ server, runtime }: Fixture, name: string): Promise<void> {
  const created = server.createCluster(name);
  await runtime.clock.settle();
  await created;
}

async function restart(storage: StorageDriver, address: string): Promise<Fixture> {
  const runtime = virtualRuntime(1);
  const opening = createApiServer({ runtime, storage, address });
  await runtime.clock.settle();
  const server = await opening;
  await runtime.clock.settle();
  return fixtureOf(runtime, server, server.as({ name: 'admin', groups: ['system:masters'] }));
}

const names = (list: { items: KubeObject[] }): string[] => list.items.map((item) => item.metadata.name ?? '');

describe('what every logical cluster begins with', () => {
  it('[V79] is stored nowhere, and looks stored', async () => {
    const fixture = await start();
    const { server, get } = fixture;
    const before = server.store.revision;
    await create(fixture, 'a');
    expect(server.store.revision).toBe(before + 1);

    const role = (await get(`${A}${ROLES}/view`)).body;
    expect(role.metadata).toMatchObject({
      resourceVersion: String(before + 1),
      creationTimestamp: '2026-01-01T00:00:00Z',
    });
    expect(role.metadata.uid).toMatch(
      /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    );
    expect(role.rules.length).toBeGreaterThan(3);
    expect((await get(`${A}${ROLES}/view`)).body).toEqual(role);
    const listed = (await get(`${A}${ROLES}`)).body;
    expect(listed.items.find((item: KubeObject) => item.metadata.name === 'view').metadata).toEqual(
      role.metadata,
    );
    // Others have the same, and yet their own.
    expect((await get(`${ROLES}/view`)).body.metadata.uid).not.toBe(role.metadata.uid);
    expect(names((await get(ROLES)).body)).toEqual(names(listed));
    for (const path of [
      '/api/v1/namespaces/default/serviceaccounts/default',
      '/api/v1/namespaces/kube-system',
    ])
      expect((await get(A + path)).status).toBe(200);
  });

  it('[V79] is copied by a write, which the others do not see', async () => {
    const { get, merge, put } = await start('a', 'b');
    const before = (await get(`${A}${ROLES}/edit`)).body;
    const unchanged = await put(`${A}${ROLES}/edit`, before);
    expect(unchanged.body.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
    const changed = (await merge(`${A}${ROLES}/edit`, { metadata: { labels: { own: 'yes' } } })).body;
    expect(changed.metadata).toMatchObject({
      uid: before.metadata.uid,
      creationTimestamp: before.metadata.creationTimestamp,
      labels: { own: 'yes' },
    });
    expect(Number(changed.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion));
    expect((await get(`/clusters/b${ROLES}/edit`)).body.metadata.labels.own).toBeUndefined();
    expect(names((await get(`${A}${ROLES}?labelSelector=own=yes`)).body)).toEqual(['edit']);
    // Whoever read it before the write has lost.
    expect((await put(`${A}${ROLES}/edit`, { ...before, rules: [] })).status).toBe(409);
  });

  it('[V79] can be deleted and made anew', async () => {
    const { get, delete: remove, post } = await start('a');
    const all = names((await get(`${A}${ROLES}`)).body);
    const { uid } = (await get(`${A}${ROLES}/cluster-admin`)).body.metadata;
    expect((await remove(`${A}${ROLES}/cluster-admin`)).status).toBe(200);
    expect((await get(`${A}${ROLES}/cluster-admin`)).status).toBe(404);
    expect((await remove(`${A}${ROLES}/cluster-admin`)).status).toBe(404);
    expect(names((await get(`${A}${ROLES}`)).body)).toEqual(all.filter((name) => name !== 'cluster-admin'));
    const made = await post(`${A}${ROLES}`, { metadata: { name: 'cluster-admin' }, rules: [] });
    expect(made.status).toBe(201);
    expect(made.body.metadata.uid).not.toBe(uid);
    expect(names((await get(`${A}${ROLES}`)).body)).toEqual(all);
    expect((await post(`${A}${ROLES}`, { metadata: { name: 'view' }, rules: [] })).status).toBe(409);
  });

  it('[V79] is watched: its coming, changes, and going', async () => {
    const fixture = await start('a');
    const { watch, merge, delete: remove, post, get } = fixture;
    const { resourceVersion } = (await get(`${A}${ROLES}`)).body.metadata;
    const live = await watch(`${A}${ROLES}?watch=1&resourceVersion=${resourceVersion}`);
    await merge(`${A}${ROLES}/system:discovery`, { metadata: { labels: { own: 'yes' } } });
    await remove(`${A}${ROLES}/system:node`);
    await remove(`${A}${ROLES}/system:discovery`);
    await post(`${A}${ROLES}`, { metadata: { name: 'system:node' }, rules: [] });
    const expected = [
      ['MODIFIED', 'system:discovery'],
      ['DELETED', 'system:node'],
      ['DELETED', 'system:discovery'],
      ['ADDED', 'system:node'],
    ];
    const short = (events: { type: string; object: KubeObject }[]) =>
      events.map(({ type, object }) => [type, object.metadata.name]);
    expect(short(await live.take(4))).toEqual(expected);
    // From the history just the same.
    const late = await watch(`${A}${ROLES}?watch=1&resourceVersion=${resourceVersion}`);
    expect(short(await late.take(4))).toEqual(expected);
    const initial = await watch(`${A}${ROLES}?watch=1`);
    const count = (await get(`${A}${ROLES}`)).body.items.length;
    expect(short(await initial.take(count)).every(([type]) => type === 'ADDED')).toBe(true);
    // A watch of a single one, and one with a selector that a change leaves.
    const one = await watch(
      `${A}${ROLES}?watch=1&resourceVersion=${resourceVersion}&fieldSelector=metadata.name=system:discovery`,
    );
    expect(short(await one.take(2))).toEqual([
      ['MODIFIED', 'system:discovery'],
      ['DELETED', 'system:discovery'],
    ]);
    for (const stream of [live, late, initial, one]) await stream.close();
  });

  it('[V79] is listed in chunks, exactly also of the past', async () => {
    const { get, merge, delete: remove } = await start('a');
    const all = (await get(`${A}${ROLES}`)).body;
    await merge(`${A}${ROLES}/admin`, { metadata: { labels: { own: 'yes' } } });
    await remove(`${A}${ROLES}/edit`);
    const now = names((await get(`${A}${ROLES}`)).body);
    const page = async (start: string) => {
      const seen: string[] = [];
      let token = start;
      do {
        const { body } = await get(`${A}${ROLES}?limit=7${token}`);
        seen.push(...names(body));
        expect(body.metadata.remainingItemCount ?? 0).toBe(
          (start === '' ? now.length : all.items.length) - seen.length,
        );
        token = body.metadata.continue ? `&continue=${body.metadata.continue}` : '';
      } while (token !== '');
      return seen;
    };
    expect(await page('')).toEqual(now);
    const { resourceVersion } = all.metadata;
    expect(await page(`&resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`)).toEqual(names(all));
    const past = await get(`${A}${ROLES}?resourceVersion=${resourceVersion}&resourceVersionMatch=Exact`);
    expect(past.body.items).toEqual(all.items);
  });

  it('[V79] decides for its cluster: grants go with a deleted binding, there alone', async () => {
    const { call, delete: remove, post } = await start('a', 'b');
    const asDev = (cluster: string, path: string) =>
      call('GET', `/clusters/${cluster}${path}`, undefined, { 'impersonate-user': 'dev' });
    expect((await asDev('a', '/api')).status).toBe(200);
    await remove('/clusters/a/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:discovery');
    expect((await asDev('a', '/api')).status).toBe(403);
    expect((await asDev('b', '/api')).status).toBe(200);
    const binding = {
      metadata: { name: 'dev' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'view' },
      subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'dev' }],
    };
    await post('/clusters/b/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings', binding);
    expect((await asDev('b', '/api/v1/namespaces/default/pods')).status).toBe(200);
    expect((await asDev('a', '/api/v1/namespaces/default/pods')).status).toBe(403);
    expect((await asDev('b', '/api/v1/namespaces/kube-system/pods')).status).toBe(403);
    await remove('/clusters/b/apis/rbac.authorization.k8s.io/v1/namespaces/default/rolebindings/dev');
    expect((await asDev('b', '/api/v1/namespaces/default/pods')).status).toBe(403);
  });

  it('[V68] holds the flow control objects, which can be changed like any', async () => {
    const { get, post, put, merge, delete: remove } = await start('a');
    expect(names((await get(A + LEVELS)).body)).toContain('exempt');
    const all = (await get(A + SCHEMAS)).body;
    expect(names(all)).toEqual(expect.arrayContaining(['exempt', 'catch-all', 'global-default']));
    const { body } = await get(`${A}${SCHEMAS}/catch-all`);
    expect(body.status.conditions[0]).toMatchObject({
      type: 'Dangling',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    });
    expect((await put(`${A}${SCHEMAS}/catch-all`, body)).status).toBe(200);
    const made = await post(A + SCHEMAS, {
      metadata: { name: 'own' },
      spec: { ...body.spec, matchingPrecedence: 77 },
    });
    expect(made.status).toBe(201);
    const status = { conditions: [{ ...body.status.conditions[0], reason: 'Mine' }] };
    expect((await merge(`${A}${SCHEMAS}/own/status`, { status })).body.status).toEqual(status);
    expect((await remove(`${A}${SCHEMAS}/own`)).status).toBe(200);
    const level = (await get(`${A}${LEVELS}/workload-low`)).body;
    const raised = await merge(`${A}${LEVELS}/workload-low`, {
      spec: { limited: { nominalConcurrencyShares: 7 } },
    });
    expect(raised.body).toMatchObject({ metadata: { generation: level.metadata.generation + 1 } });
  });

  it('[V79] follows the server to a new address, under a new revision', async () => {
    const storage = memoryDriver();
    const first = await restart(storage, '10.0.0.1:443');
    await create(first, 'a');
    const path = `${A}/api/v1/namespaces/default/endpoints/kubernetes`;
    const before = (await first.get(path)).body;
    await first.merge(`${A}${ROLES}/view`, { metadata: { labels: { own: 'yes' } } });
    await first.delete(`${A}${ROLES}/edit`);
    await first.server.close();
    const second = await restart(storage, '10.0.0.2:443');
    expect(second.server.clusters()).toEqual(['a', 'root']);
    const after = (await second.get(path)).body;
    expect(after.subsets[0].addresses).toEqual([{ ip: '10.0.0.2' }]);
    expect(after.metadata.uid).toBe(before.metadata.uid);
    expect(Number(after.metadata.resourceVersion)).toBeGreaterThan(Number(before.metadata.resourceVersion));
    expect((await second.get(`${A}${ROLES}/view`)).body.metadata.labels.own).toBe('yes');
    expect((await second.get(`${A}${ROLES}/edit`)).status).toBe(404);
    await second.server.close();
  });

  it('[V79] goes with its namespace, where that may go', async () => {
    const { get, delete: remove, post } = await start('a');
    const inside = `${A}/api/v1/namespaces/kube-node-lease/serviceaccounts/default`;
    expect((await get(inside)).status).toBe(200);
    await remove(`${A}/api/v1/namespaces/kube-node-lease`);
    expect((await get(`${A}/api/v1/namespaces/kube-node-lease`)).status).toBe(404);
    expect((await get(inside)).status).toBe(404);
    await post(`${A}/api/v1/namespaces`, { metadata: { name: 'kube-node-lease' } });
    expect((await get(inside)).status).toBe(200);
  });

  it('names uids by the rule for version 5', () => {
    // The example of RFC 9562, appendix A.4.
    expect(nameUuid('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com')).toBe(
      '2ed6657d-e927-568b-95e1-2665a8aea6a2',
    );
  });
});

describe('many logical clusters', () => {
  it('[V79] cost little while they are empty', async () => {
    const fixture = await start();
    const { server, get } = fixture;
    // Whatever is made once is made before.
    await create(fixture, 'first');
    await get(`/clusters/first${ROLES}`);
    const before = used();
    const count = 1000;
    const revision = server.store.revision;
    for (let i = 0; i < count; i++) await create(fixture, `c${i}`);
    expect(server.store.revision).toBe(revision + count);
    for (let i = 0; i < count; i++)
      await fixture.call('GET', `/clusters/c${i}/api/v1/namespaces`, undefined, {
        'impersonate-user': 'dev',
      });
    expect((used() - before) / count).toBeLessThan(20_000);
    expect(server.clusters()).toHaveLength(count + 2);
  });
});

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function used(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
