import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';
import { resourcePrefix } from '../store/key.ts';

const MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

function pod(name: string, nodeName?: string): Record<string, unknown> {
  return {
    metadata: { name },
    spec: { ...(nodeName ? { nodeName } : {}), containers: [{ name: 'main', image: 'example/app:1' }] },
  };
}

describe('deletion', () => {
  it('[V14] holds an object until its last finalizer is gone', async () => {
    const { post, delete: remove, get, merge } = await startServer();
    await post(MAPS, { metadata: { name: 'a', finalizers: ['example.com/x'] } });
    const held = await remove(`${MAPS}/a`);
    expect(held.status).toBe(200);
    expect(held.body.metadata.deletionTimestamp).toBe('2026-01-01T00:00:00Z');
    expect(held.body.metadata.deletionGracePeriodSeconds).toBe(0);
    const added = await merge(`${MAPS}/a`, { metadata: { finalizers: ['example.com/x', 'example.com/y'] } });
    expect(added.body.code).toBe(422);
    expect(added.body.message).toContain('no new finalizers can be added if the object is being deleted');
    const last = await merge(`${MAPS}/a`, { metadata: { finalizers: null } });
    expect(last.status).toBe(200);
    expect(last.body.kind).toBe('ConfigMap');
    expect((await get(`${MAPS}/a`)).status).toBe(404);
  });

  it('[V14] honours preconditions', async () => {
    const { post, delete: remove } = await startServer();
    const { body } = await post(MAPS, { metadata: { name: 'a' } });
    const wrong = await remove(`${MAPS}/a`, { preconditions: { uid: 'x' } });
    expect(wrong.body).toMatchObject({ code: 409, reason: 'Conflict' });
    expect(wrong.body.message).toContain(
      `the UID in the precondition (x) does not match the UID in record (${body.metadata.uid})`,
    );
    const stale = await remove(`${MAPS}/a`, { preconditions: { resourceVersion: '1' } });
    expect(stale.body.message).toContain('The object might have been modified');
    expect((await remove(`${MAPS}/a`, { preconditions: { uid: body.metadata.uid } })).status).toBe(200);
  });

  it('[V14] gives pods on a node their grace, which may only get shorter', async () => {
    const { post, delete: remove, get } = await startServer();
    await post(PODS, pod('p', 'node-1'));
    const deleting = await remove(`${PODS}/p`);
    expect(deleting.body.metadata).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:30Z',
      deletionGracePeriodSeconds: 30,
    });
    expect(
      (await remove(`${PODS}/p`, { gracePeriodSeconds: 60 })).body.metadata.deletionGracePeriodSeconds,
    ).toBe(30);
    const shorter = await remove(`${PODS}/p`, { gracePeriodSeconds: 5 });
    expect(shorter.body.metadata).toMatchObject({
      deletionTimestamp: '2026-01-01T00:00:05Z',
      deletionGracePeriodSeconds: 5,
    });
    expect((await remove(`${PODS}/p`, { gracePeriodSeconds: 0 })).body.kind).toBe('Pod');
    expect((await get(`${PODS}/p`)).status).toBe(404);
  });

  it('takes a grace that outlasts all times that can be told, and no more than an integer has', async () => {
    const { post, delete: remove } = await startServer();
    await post(PODS, pod('p', 'node-1'));
    expect((await remove(`${PODS}/p`, { gracePeriodSeconds: 1e300 })).status).toBe(500);
    const deleting = await remove(`${PODS}/p`, { gracePeriodSeconds: 10 ** 15 });
    expect(deleting.body.metadata.deletionTimestamp).toBe('9999-12-31T23:59:59Z');
    const shorter = await remove(`${PODS}/p`, { gracePeriodSeconds: 0 });
    expect(shorter.status).toBe(200);
  });

  it('[V14] deletes pods without a node at once and returns them', async () => {
    const { post, delete: remove, get } = await startServer();
    await post(PODS, pod('p'));
    expect((await remove(`${PODS}/p`)).body.kind).toBe('Pod');
    expect((await get(`${PODS}/p`)).status).toBe(404);
  });

  it('tells watchers of pods that their time is over before it tells that they are gone', async () => {
    const { post, delete: remove, server } = await startServer();
    const types: string[] = [];
    server.store.watch(resourcePrefix('', 'pods'), server.store.revision, (events) => {
      for (const { type, record } of events)
        types.push(`${type} ${record.object.metadata.deletionGracePeriodSeconds ?? '-'}`);
    });
    await post(PODS, pod('free'));
    await remove(`${PODS}/free`);
    await post(PODS, pod('bound', 'node-1'));
    await remove(`${PODS}/bound`, { gracePeriodSeconds: 5 });
    await remove(`${PODS}/bound`, { propagationPolicy: 'Foreground' });
    await remove(`${PODS}/bound`, { gracePeriodSeconds: 0 });
    expect(types).toEqual([
      'created -',
      'updated 0',
      'deleted 0',
      'created -',
      'updated 5',
      'updated 0',
      'deleted 0',
    ]);
  });

  it('takes preconditions from the query, and goes by them for collections', async () => {
    const { post, call, get } = await startServer();
    const { body } = await post(MAPS, { metadata: { name: 'a' } });
    const { uid, resourceVersion } = body.metadata;
    expect((await call('DELETE', `${MAPS}/a?uid=x`)).body.code).toBe(409);
    expect((await call('DELETE', `${MAPS}/a?resourceVersion=1`)).body.code).toBe(409);
    expect((await call('DELETE', `${MAPS}?uid=x`)).body.code).toBe(409);
    expect((await get(`${MAPS}/a`)).status).toBe(200);
    expect((await call('DELETE', `${MAPS}/a?uid=${uid}&resourceVersion=${resourceVersion}`)).status).toBe(
      200,
    );
  });

  it('[V14] refuses contradicting options', async () => {
    const { post, delete: remove, call } = await startServer();
    await post(MAPS, { metadata: { name: 'a' } });
    const both = await remove(`${MAPS}/a`, { orphanDependents: true, propagationPolicy: 'Background' });
    expect(both.body).toMatchObject({ code: 422, details: { kind: 'DeleteOptions' } });
    expect((await call('DELETE', `${MAPS}/a?propagationPolicy=Sideways`)).body.code).toBe(422);
    expect((await remove(`${MAPS}/a`, { kind: 'ConfigMap' })).body.code).toBe(500);
  });

  it('[V14] records the propagation as a finalizer', async () => {
    const { post, delete: remove } = await startServer({ controllers: false });
    await post(MAPS, { metadata: { name: 'a' } });
    expect((await remove(`${MAPS}/a`, { propagationPolicy: 'Foreground' })).body.metadata.finalizers).toEqual(
      ['foregroundDeletion'],
    );
    expect((await remove(`${MAPS}/a`, { propagationPolicy: 'Orphan' })).body.metadata.finalizers).toEqual([
      'orphan',
    ]);
  });

  it('[V15] deletes a selected collection', async () => {
    const { post, call, get } = await startServer();
    for (const [name, app] of [
      ['a', 'x'],
      ['b', 'x'],
      ['c', 'y'],
    ])
      await post(MAPS, { metadata: { name, labels: { app } } });
    const removed = await call('DELETE', `${MAPS}?labelSelector=app%3Dx`);
    expect(removed.status).toBe(200);
    expect(removed.body.kind).toBe('ConfigMapList');
    expect(removed.body.items).toHaveLength(2);
    const left = await get(`${MAPS}?labelSelector=app`);
    expect(left.body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(['c']);
  });

  it('[V16] collects dependents of a deleted owner', async () => {
    const { post, delete: remove, get, runtime } = await startServer();
    const owner = await post(MAPS, { metadata: { name: 'owner' } });
    const ownerReferences = [
      { apiVersion: 'v1', kind: 'ConfigMap', name: 'owner', uid: owner.body.metadata.uid },
    ];
    await post(MAPS, { metadata: { name: 'child', ownerReferences } });
    await remove(`${MAPS}/owner`);
    await runtime.clock.advance(5000);
    expect((await get(`${MAPS}/child`)).status).toBe(404);
  });

  it('[V17] empties a namespace before it goes and lets nothing in meanwhile', async () => {
    const { post, delete: remove, get, runtime, merge } = await startServer();
    await post('/api/v1/namespaces', { metadata: { name: 'shop' } });
    const inside = '/api/v1/namespaces/shop/configmaps';
    await post(inside, { metadata: { name: 'held', finalizers: ['example.com/x'] } });
    const deleting = await remove('/api/v1/namespaces/shop');
    expect(deleting.body).toMatchObject({ kind: 'Namespace', status: { phase: 'Terminating' } });
    expect((await post(inside, { metadata: { name: 'late' } })).body).toMatchObject({
      code: 403,
      message:
        'configmaps "late" is forbidden: unable to create new content in namespace shop because it is being terminated',
      details: { causes: [{ reason: 'NamespaceTerminating' }] },
    });
    await runtime.clock.advance(5000);
    expect((await get('/api/v1/namespaces/shop')).status).toBe(200);
    await merge(`${inside}/held`, { metadata: { finalizers: null } });
    await runtime.clock.advance(10_000);
    expect((await get('/api/v1/namespaces/shop')).status).toBe(404);
    expect((await post(inside, { metadata: { name: 'late' } })).body.message).toBe(
      'namespaces "shop" not found',
    );
    expect((await remove('/api/v1/namespaces/default')).body.code).toBe(403);
  });

  it('fills every namespace with its service account and certificate authority', async () => {
    const { post, get, delete: remove } = await startServer();
    await post('/api/v1/namespaces', { metadata: { name: 'shop' } });
    expect((await get('/api/v1/namespaces/shop/serviceaccounts/default')).status).toBe(200);
    expect((await get('/api/v1/namespaces/shop/configmaps/kube-root-ca.crt')).status).toBe(200);
    await remove('/api/v1/namespaces/shop/serviceaccounts/default');
    expect((await get('/api/v1/namespaces/shop/serviceaccounts/default')).status).toBe(200);
  });
});
