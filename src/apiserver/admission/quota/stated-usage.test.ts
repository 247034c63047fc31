import { describe, expect, it } from 'vitest';
import { startServer } from '../../server.fixture.ts';

const QUOTAS = '/api/v1/namespaces/default/resourcequotas';
const MAPS = '/api/v1/namespaces/default/configmaps';

describe('a quota whose status nobody of this server keeps', () => {
  it('bounds what its status says, and has what is let pass written there', async () => {
    const { get, post, merge } = await startServer({ controllers: false });
    const hard = { 'count/configmaps': '2' };
    await post(QUOTAS, { metadata: { name: 'q' }, spec: { hard } });
    expect((await post(MAPS, { metadata: { name: 'before' } })).status).toBe(201);
    await merge(`${QUOTAS}/q/status`, { status: { hard } });
    expect((await post(MAPS, { metadata: { name: 'a' } })).body.message).toBe(
      'configmaps "a" is forbidden: status unknown for quota: q, resources: count/configmaps',
    );
    await merge(`${QUOTAS}/q/status`, { status: { used: { 'count/configmaps': '1' } } });
    expect((await post(`${MAPS}?dryRun=All`, { metadata: { name: 'a' } })).status).toBe(201);
    expect((await post(MAPS, { metadata: { name: 'a' } })).status).toBe(201);
    const { status, metadata } = (await get(`${QUOTAS}/q`)).body;
    expect(status.used).toEqual({ 'count/configmaps': '2' });
    expect(metadata.managedFields).toContainEqual(
      expect.objectContaining({ manager: 'kube-apiserver', subresource: 'status' }),
    );
    expect((await post(MAPS, { metadata: { name: 'b' } })).body.message).toBe(
      'configmaps "b" is forbidden: exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, limited: count/configmaps=2',
    );
  });

  it('counts two writes at once, and costs nothing where there is none', async () => {
    const { post, merge } = await startServer({ controllers: false });
    const hard = { 'count/configmaps': '1' };
    await post(QUOTAS, { metadata: { name: 'q' }, spec: { hard } });
    await merge(`${QUOTAS}/q/status`, { status: { hard, used: { 'count/configmaps': '0' } } });
    const answers = await Promise.all(['a', 'b', 'c'].map((name) => post(MAPS, { metadata: { name } })));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, 403, 403]);
  });
});
