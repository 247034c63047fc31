import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';

function deployment(name: string, replicas = 1): Record<string, unknown> {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, labels: { app: name } },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'main', image: 'example/app:1' }] },
      },
    },
  };
}

describe('objects', () => {
  it('[V10] creates, reads, replaces and deletes an object', async () => {
    const { post, get, put, delete: remove } = await startServer();
    const created = await post(MAPS, {
      metadata: { name: 'a', uid: 'mine', generation: 7 },
      data: { k: 'v' },
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'default', creationTimestamp: '2026-01-01T00:00:00Z' },
    });
    expect(created.body.metadata.uid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4/);
    expect(created.body.metadata.generation).toBe(7);
    expect((await get(`${MAPS}/a`)).body).toEqual(created.body);
    const replaced = await put(`${MAPS}/a`, { ...created.body, data: { k: 'w' } });
    expect(replaced.status).toBe(200);
    const before = Number(created.body.metadata.resourceVersion);
    expect(Number(replaced.body.metadata.resourceVersion)).toBeGreaterThan(before);
    const removed = await remove(`${MAPS}/a`);
    const details = { name: 'a', kind: 'configmaps', uid: created.body.metadata.uid };
    expect(removed.body).toMatchObject({ kind: 'Status', status: 'Success', details });
    expect((await get(`${MAPS}/a`)).status).toBe(404);
  });

  it('[V10] refuses what the body and the URL disagree on', async () => {
    const { post, put } = await startServer();
    expect((await post(MAPS, { metadata: { name: 'a', namespace: 'other' } })).body.message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
    expect((await post(MAPS, { apiVersion: 'v2', metadata: { name: 'a' } })).body).toMatchObject({
      code: 400,
      message:
        'ConfigMap in version "v2" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v2" in scheme "pkg/api/legacyscheme/scheme.go:30"',
    });
    const versioned = await post(MAPS, { metadata: { name: 'a', resourceVersion: '3' } });
    expect(versioned.body).toMatchObject({
      code: 500,
      message: 'resourceVersion should not be set on objects to be created',
    });
    expect((await put(`${MAPS}/a`, { metadata: { name: 'b' } })).status).toBe(400);
    expect((await post(MAPS, { data: {} })).body).toMatchObject({ code: 422, reason: 'Invalid' });
  });

  it('[V10] writes nothing when nothing changes', async () => {
    const { post, put, merge, apply, server } = await startServer();
    const created = await post(MAPS, { metadata: { name: 'a' }, data: { k: 'v' } });
    const revision = server.store.revision;
    expect((await put(`${MAPS}/a`, created.body)).body).toEqual(created.body);
    expect((await merge(`${MAPS}/a`, { data: { k: 'v' } })).body).toEqual(created.body);
    expect(server.store.revision).toBe(revision);
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' }, data: { k: 'v' } };
    await apply(`${MAPS}/a`, body);
    const applied = server.store.revision;
    await apply(`${MAPS}/a`, body);
    expect(server.store.revision).toBe(applied);
  });

  it('[V10] drops repeated owners with a warning', async () => {
    const { post } = await startServer();
    const owner = { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u1' };
    const created = await post(MAPS, { metadata: { name: 'a', ownerReferences: [owner, owner] } });
    expect(created.body.metadata.ownerReferences).toEqual([owner]);
    expect(created.headers.warning).toContain('ownerReferences contains duplicate entries');
  });

  it('[V11] generates names that differ and says what exists already', async () => {
    const { post, admin, runtime } = await startServer();
    const many = Promise.all(
      Array.from({ length: 1000 }, () =>
        admin({
          method: 'POST',
          path: MAPS,
          headers: { 'content-type': 'application/json' },
          body: Buffer.from('{"metadata":{"generateName":"x-"}}'),
        }),
      ),
    );
    await runtime.clock.settle();
    const answers = await many;
    expect(answers.every((answer) => answer.status === 201)).toBe(true);
    const names = answers.map(
      (answer) => JSON.parse(Buffer.from(answer.body as Uint8Array).toString()).metadata.name,
    );
    expect(new Set(names).size).toBe(1000);
    expect(names[0]).toMatch(/^x-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    await post(MAPS, { metadata: { name: 'a' } });
    expect((await post(MAPS, { metadata: { name: 'a' } })).body).toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
      message: 'configmaps "a" already exists',
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  it('[V11] says that an object being deleted still exists', async () => {
    const { post, delete: remove } = await startServer();
    await post(MAPS, { metadata: { name: 'a', finalizers: ['example.com/hold'] } });
    await remove(`${MAPS}/a`);
    const again = await post(MAPS, { metadata: { name: 'a' } });
    expect(again.body.message).toBe('object is being deleted: configmaps "a" already exists');
  });

  it('[V12] refuses stale versions and other uids', async () => {
    const { post, put } = await startServer();
    const { body } = await post(MAPS, { metadata: { name: 'a' } });
    await put(`${MAPS}/a`, { ...body, data: { k: '1' } });
    expect((await put(`${MAPS}/a`, { ...body, data: { k: '2' } })).body).toMatchObject({
      code: 409,
      reason: 'Conflict',
      message:
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes to the latest version and try again',
    });
    const other = await put(`${MAPS}/a`, { metadata: { name: 'a', uid: 'x' } });
    expect(other.body.message).toBe(
      `Operation cannot be fulfilled on configmaps "a": StorageError: invalid object, Code: 4, Key: /registry/configmaps/default/a, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: x, UID in object meta: ${body.metadata.uid}`,
    );
  });

  it('[V12] lets only some kinds be updated without a version or created by PUT', async () => {
    const { post, put } = await startServer();
    await post(MAPS, { metadata: { name: 'a' } });
    expect((await put(`${MAPS}/a`, { metadata: { name: 'a' }, data: { k: 'v' } })).status).toBe(200);
    expect((await put(`${MAPS}/b`, { metadata: { name: 'b' } })).body).toMatchObject({
      code: 404,
      reason: 'NotFound',
    });
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    expect((await put(`${leases}/l`, { metadata: { name: 'l' }, spec: {} })).status).toBe(201);
    expect((await put(`${leases}/l`, { metadata: { name: 'l' }, spec: {} })).body.message).toBe(
      'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
    );
  });

  it('[V13] raises the generation by the rule of the kind', async () => {
    const { post, merge, delete: remove } = await startServer();
    const generation = (answer: { body: { metadata: { generation?: number } } }): number | undefined =>
      answer.body.metadata.generation;
    expect(generation(await post(DEPLOYMENTS, deployment('d')))).toBe(1);
    expect(generation(await merge(`${DEPLOYMENTS}/d`, { spec: { replicas: 3 } }))).toBe(2);
    expect(generation(await merge(`${DEPLOYMENTS}/d`, { metadata: { labels: { x: 'y' } } }))).toBe(2);
    expect(generation(await merge(`${DEPLOYMENTS}/d`, { metadata: { annotations: { x: 'y' } } }))).toBe(3);
    expect(generation(await merge(`${DEPLOYMENTS}/d/status`, { status: { replicas: 1 } }))).toBe(3);
    expect(generation(await merge(`${DEPLOYMENTS}/d`, { metadata: { finalizers: ['example.com/x'] } }))).toBe(
      3,
    );
    expect(generation(await remove(`${DEPLOYMENTS}/d`))).toBe(4);
    expect(generation(await post(MAPS, { metadata: { name: 'a' } }))).toBeUndefined();
  });

  it('[V41] keeps status and spec apart', async () => {
    const { post, put, get } = await startServer();
    const { body } = await post(DEPLOYMENTS, { ...deployment('d'), status: { replicas: 9 } });
    expect(body.status?.replicas).toBeUndefined();
    const status = await put(`${DEPLOYMENTS}/d/status`, {
      ...body,
      spec: { ...body.spec, replicas: 7 },
      status: { replicas: 2, observedGeneration: 1 },
    });
    expect(status.body).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 2 } });
    const main = await put(`${DEPLOYMENTS}/d`, { ...status.body, status: {} });
    expect(main.body.status.replicas).toBe(2);
    expect((await get(`${DEPLOYMENTS}/d/status`)).body).toEqual((await get(`${DEPLOYMENTS}/d`)).body);
    expect((await put(`${DEPLOYMENTS}/missing/status`, deployment('missing'))).status).toBe(404);
    expect((await get(`${DEPLOYMENTS}/d/nothing`)).body).toMatchObject({ code: 404, reason: 'NotFound' });
  });

  it('[V41] scales by the Scale subresource', async () => {
    const { post, put, get, merge } = await startServer();
    await post(DEPLOYMENTS, deployment('d', 2));
    const scale = await get(`${DEPLOYMENTS}/d/scale`);
    expect(scale.body).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      spec: { replicas: 2 },
      status: { replicas: 0, selector: 'app=d' },
    });
    expect(
      (await put(`${DEPLOYMENTS}/d/scale`, { ...scale.body, spec: { replicas: 5 } })).body.spec.replicas,
    ).toBe(5);
    expect((await put(`${DEPLOYMENTS}/d/scale`, { ...scale.body, spec: { replicas: 6 } })).body.reason).toBe(
      'Conflict',
    );
    expect((await merge(`${DEPLOYMENTS}/d/scale`, { spec: { replicas: 1 } })).body.spec.replicas).toBe(1);
    expect((await merge(`${DEPLOYMENTS}/d/scale`, { spec: { replicas: -1 } })).body.code).toBe(422);
    const { body } = await get(`${DEPLOYMENTS}/d`);
    expect(body.spec.replicas).toBe(1);
    expect(body.metadata.generation).toBe(3);
    expect(
      body.metadata.managedFields.some((entry: { subresource?: string }) => entry.subresource === 'scale'),
    ).toBe(true);
  });

  it('[V30] stores nothing on a dry run, yet answers as if', async () => {
    const { post, call, merge, server, get } = await startServer();
    await post(MAPS, { metadata: { name: 'a' }, data: { k: 'v' } });
    const revision = server.store.revision;
    const created = await post(`${MAPS}?dryRun=All`, { metadata: { generateName: 'x-' } });
    expect(created.status).toBe(201);
    expect(created.body.metadata.name).toMatch(/^x-.{5}$/);
    expect(created.body.metadata.uid).toBeDefined();
    expect((await merge(`${MAPS}/a?dryRun=All`, { data: { k: 'w' } })).body.data.k).toBe('w');
    expect((await call('DELETE', `${MAPS}/a?dryRun=All`)).status).toBe(200);
    expect((await post(`${MAPS}?dryRun=Some`, { metadata: { name: 'b' } })).body.code).toBe(422);
    expect((await post(`${MAPS}?dryRun=All`, { metadata: { name: 'a' } })).body.reason).toBe('AlreadyExists');
    expect(server.store.revision).toBe(revision);
    expect((await get(`${MAPS}/a`)).body.data.k).toBe('v');
  });

  it('[V31] reports unknown and repeated fields as asked', async () => {
    const { call, post, merge, apply } = await startServer();
    const text = '{"metadata":{"name":"a"},"data":{"k":"1","k":"2"},"dat":{}}';
    const json = { 'content-type': 'application/json' };
    const strict = await call('POST', `${MAPS}?fieldValidation=Strict`, text, json);
    expect(strict.body).toMatchObject({
      code: 400,
      message:
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: duplicate field "data.k", unknown field "dat"',
    });
    const warned = await call('POST', MAPS, text, json);
    expect(warned.status).toBe(201);
    expect(warned.headers.warning).toBe(
      '299 - "duplicate field \\"data.k\\"", 299 - "unknown field \\"dat\\""',
    );
    const ignored = await call('POST', `${MAPS}?fieldValidation=Ignore`, text.replace('"a"', '"b"'), json);
    expect(ignored.headers.warning).toBeUndefined();
    const order =
      '{"metadata":{"name":"a","foo":1},"dat":{},"data":{"k":"1","k":"2"},"data":{"k":"3"},"dat":1}';
    const inOrder = await call('POST', `${MAPS}?fieldValidation=Strict`, order, json);
    expect(inOrder.body.message).toContain(
      'unknown field "metadata.foo", unknown field "dat", duplicate field "data.k", duplicate field "data"',
    );
    const patched = await merge(`${MAPS}/a?fieldValidation=Strict`, { nonsense: 1 });
    expect(patched.body.code).toBe(422);
    expect(patched.body.message).toContain('strict decoding error: unknown field "nonsense"');
    const applied = await apply(
      `${MAPS}/c`,
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' }, foo: 1 },
      'fieldManager=t&fieldValidation=Strict',
    );
    expect(applied.body.message).toContain('.foo: field not declared in schema');
    expect((await post(`${MAPS}?fieldValidation=Maybe`, {})).body.code).toBe(422);
  });

  it('[V73] serves from the memory driver what was written to it', async () => {
    const { post, get } = await startServer();
    await post(MAPS, { metadata: { name: 'a' } });
    expect(
      (await get(MAPS)).body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
    ).toContain('a');
  });
});
