import { describe, expect, it } from 'vitest';
import { startServer } from './server.fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';

function pod(name: string): object {
  return { metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } };
}

describe('subresources that do something', () => {
  it('[V41] a binding puts a pod on a node, once', async () => {
    const { post, get } = await startServer({ controllers: false });
    await post(PODS, pod('a'));
    const bind = (node: string) =>
      post(`${PODS}/a/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'a' },
        target: { kind: 'Node', name: node },
      });
    expect((await bind('n1')).body).toMatchObject({ kind: 'Status', status: 'Success', code: 201 });
    expect((await get(`${PODS}/a`)).body).toMatchObject({
      spec: { nodeName: 'n1' },
      status: { conditions: [{ type: 'PodScheduled', status: 'True' }] },
    });
    expect((await bind('n2')).body).toMatchObject({ code: 409, reason: 'Conflict' });
  });

  it('an eviction of another pod than the one that is meant changes nothing', async () => {
    const { post, get } = await startServer();
    const pod = { metadata: { name: 'a' }, spec: { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] } };
    const { metadata } = (await post(PODS, pod)).body;
    const evict = (preconditions: object) =>
      post(`${PODS}/a/eviction`, { metadata: { name: 'a' }, deleteOptions: { preconditions } });
    expect((await evict({ uid: 'other' })).status).toBe(409);
    expect((await evict({ resourceVersion: '1' })).status).toBe(409);
    expect((await get(`${PODS}/a`)).body.metadata.resourceVersion).toBe(metadata.resourceVersion);
    // The note in its status makes it another revision, not another pod.
    const { uid, resourceVersion } = metadata;
    expect((await evict({ uid, resourceVersion })).status).toBe(201);
    expect((await get(`${PODS}/a`)).body.metadata.deletionTimestamp).toBeDefined();
  });

  it('[V41] an eviction deletes a pod, unless a budget has nothing left', async () => {
    const { post, get, call } = await startServer({ controllers: false });
    await post(PODS, pod('a'));
    await post(PODS, { ...pod('b'), metadata: { name: 'b', labels: { app: 'b' } } });
    await post('/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
      metadata: { name: 'all' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'b' } } },
    });
    const evict = (name: string) =>
      post(`${PODS}/${name}/eviction`, { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } });
    expect((await evict('a')).body).toMatchObject({ kind: 'Status', status: 'Success' });
    expect((await get(`${PODS}/a`)).status).toBe(404);
    // Budgets are about pods that run.
    const merge = { 'content-type': 'application/merge-patch+json' };
    const running = {
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
    };
    expect((await call('PATCH', `${PODS}/b/status`, running, merge)).status).toBe(200);
    expect((await evict('b')).body).toMatchObject({ code: 429, reason: 'TooManyRequests' });
    expect((await get(`${PODS}/b`)).status).toBe(200);
  });

  it('a Scale that wants none owns no replicas, and one that changes nothing writes nothing', async () => {
    const { post, get, merge } = await startServer({ controllers: false });
    const sets = '/apis/apps/v1/namespaces/default/replicasets';
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await post(sets, {
      metadata: { name: 'a' },
      spec: { replicas: 2, selector: { matchLabels: { a: 'b' } }, template },
    });
    const owners = async (): Promise<string[]> =>
      (await get(`${sets}/a`)).body.metadata.managedFields
        .filter((entry: { fieldsV1: object }) => JSON.stringify(entry.fieldsV1).includes('f:replicas'))
        .map((entry: { subresource?: string }) => entry.subresource ?? 'itself');
    await merge(`${sets}/a/scale`, { spec: { replicas: 3 } });
    expect(await owners()).toEqual(['scale']);
    const before = (await get(`${sets}/a`)).body.metadata.resourceVersion;
    await merge(`${sets}/a/scale`, { spec: {} });
    expect((await get(`${sets}/a`)).body.metadata.resourceVersion).toBe(before);
    await merge(`${sets}/a/scale`, { spec: { replicas: 0 } });
    expect(await owners()).toEqual([]);
  });

  it('an eviction that takes the last of a budget says so in its status, in the name of the server', async () => {
    const { post, merge, get } = await startServer({ controllers: false });
    const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    await post(BUDGETS, {
      metadata: { name: 'b' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'a' } } },
    });
    await merge(`${BUDGETS}/b/status`, { status: { disruptionsAllowed: 1, observedGeneration: 1 } });
    const spec = { nodeName: 'n', containers: [{ name: 'c', image: 'i' }] };
    await post(PODS, { metadata: { name: 'a', labels: { app: 'a' } }, spec });
    await merge(`${PODS}/a/status`, { status: { phase: 'Running' } });
    expect((await post(`${PODS}/a/eviction`, { metadata: { name: 'a' } })).status).toBe(201);
    const { status, metadata } = (await get(`${BUDGETS}/b`)).body;
    expect(status).toMatchObject({
      disruptionsAllowed: 0,
      conditions: [{ type: 'DisruptionAllowed', status: 'False', reason: 'InsufficientPods', message: '' }],
    });
    expect(metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'kube-apiserver', subresource: 'status' }),
    );
  });

  it('a binding, a finalization and a token are for what their bodies name', async () => {
    const { post, put } = await startServer({ controllers: false });
    await post(PODS, pod('a'));
    const binding = { metadata: { name: 'a', resourceVersion: '1' }, target: { name: 'n' } };
    expect((await post(`${PODS}/a/binding`, binding)).body.message).toContain(
      'Precondition failed: ResourceVersion in precondition: 1',
    );
    expect(
      (await post(`${PODS}/a/binding?fieldValidation=Strict`, { ...binding, x: 1 })).body.message,
    ).toContain('strict decoding error: unknown field "x"');
    expect(
      (
        await put('/api/v1/namespaces/default/finalize', {
          metadata: { name: 'default', uid: 'z' },
          spec: {},
        })
      ).status,
    ).toBe(409);
    const table = { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' };
    expect((await post('/api/v1/namespaces/default/serviceaccounts/default/token', {}, table)).status).toBe(
      406,
    );
  });

  it('nothing is where a part of the path is empty', async () => {
    const { post, get } = await startServer({ controllers: false });
    await post(PODS, pod('a'));
    for (const path of [
      '/api/v1//pods',
      '//api/v1/pods',
      '/api/v1/namespaces//pods',
      '/api/v1/pods//',
      `${PODS}//a`,
    ])
      expect([path, (await get(path)).status]).toEqual([path, 404]);
    expect((await post('/api/v1/namespaces/default/serviceaccounts/default/token//', {})).status).toBe(404);
  });

  it('ephemeral containers are added to a pod and stay as they are', async () => {
    const { post, get, call } = await startServer({ controllers: false });
    await post(PODS, pod('a'));
    const strategic = { 'content-type': 'application/strategic-merge-patch+json' };
    const add = (container: object) =>
      call(
        'PATCH',
        `${PODS}/a/ephemeralcontainers`,
        { spec: { ephemeralContainers: [container] } },
        strategic,
      );
    expect((await add({ name: 'e', image: 'busybox', targetContainerName: 'c' })).status).toBe(200);
    expect((await get(`${PODS}/a/ephemeralcontainers`)).body).toMatchObject({
      spec: { ephemeralContainers: [{ name: 'e', image: 'busybox' }] },
    });
    expect((await add({ name: 'e', image: 'other' })).body.message).toContain('may not be changed');
    expect((await add({ name: 'f', image: 'x', targetContainerName: 'zz' })).body.message).toContain(
      'Not found: "zz"',
    );
    expect((await add({ name: 'g', image: 'x', ports: [{ containerPort: 80 }] })).body.message).toContain(
      'spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container',
    );
  });

  it('a claim grows where its class lets it', async () => {
    const { post, call } = await startServer({ controllers: false });
    const claims = '/api/v1/namespaces/default/persistentvolumeclaims';
    const merge = { 'content-type': 'application/merge-patch+json' };
    const resources = (storage: string): object => ({ resources: { requests: { storage } } });
    await post(claims, {
      metadata: { name: 'c' },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'fast', ...resources('1Gi') },
    });
    await call('PATCH', `${claims}/c/status`, { status: { phase: 'Bound' } }, merge);
    const grow = () => call('PATCH', `${claims}/c`, { spec: resources('2Gi') }, merge);
    expect((await grow()).body).toMatchObject({ code: 403, reason: 'Forbidden' });
    await post('/apis/storage.k8s.io/v1/storageclasses', {
      metadata: { name: 'fast' },
      provisioner: 'example.com/p',
      allowVolumeExpansion: true,
    });
    expect((await grow()).status).toBe(200);
  });

  it('[V41] a token is for a service account, for whom and as long as asked', async () => {
    const { post } = await startServer({ controllers: false });
    const accounts = '/api/v1/namespaces/default/serviceaccounts';
    await post(accounts, { metadata: { name: 'robot' } });
    const asked = await post(`${accounts}/robot/token`, {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      spec: { audiences: ['elsewhere'], expirationSeconds: 1200 },
    });
    expect(asked.status).toBe(201);
    const payload = JSON.parse(
      Buffer.from(asked.body.status.token.split('.')[1], 'base64url').toString(),
    ) as Record<string, unknown>;
    expect(payload).toMatchObject({ sub: 'system:serviceaccount:default:robot', aud: ['elsewhere'] });
    expect(Number(payload['exp']) - Number(payload['iat'])).toBe(1200);
  });

  it('[V41] a namespace goes when its last finalizer is taken by finalize', async () => {
    const { post, put, get, delete: remove } = await startServer({ controllers: false });
    const created = await post('/api/v1/namespaces', { metadata: { name: 'shop' } });
    await remove('/api/v1/namespaces/shop');
    const ending = (await get('/api/v1/namespaces/shop')).body;
    expect(ending).toMatchObject({ spec: { finalizers: ['kubernetes'] }, status: { phase: 'Terminating' } });
    const finalized = await put('/api/v1/namespaces/shop/finalize', { ...ending, spec: { finalizers: [] } });
    expect(finalized.status).toBe(200);
    expect((await get('/api/v1/namespaces/shop')).status).toBe(404);
    expect(created.status).toBe(201);
  });
});
