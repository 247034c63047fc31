import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const AGGREGATED = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
const POLICIES = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
const CLASSES = '/apis/storage.k8s.io/v1/volumeattributesclasses';

describe('a server that emulates an older release', () => {
  it('[V5 V6 V70] shows its version and its resources, and no newer ones', async () => {
    const { get } = await startServer({ emulatedVersion: '1.32' });
    const version = (await get('/version')).body;
    expect(version).toMatchObject({ minor: '32', gitVersion: 'v1.32.0+atoll' });
    expect(version).not.toHaveProperty('emulationMinor');
    const core: { resources: { name: string }[] } = (await get('/api/v1')).body;
    expect(core.resources.map(({ name }) => name)).not.toContain('pods/resize');
    const groups: { items: { metadata: object }[] } = (await get('/apis', AGGREGATED)).body;
    for (const { metadata } of groups.items) expect(metadata).toHaveProperty('creationTimestamp', null);
    expect((await get(POLICIES)).status).toBe(404);
    expect((await get(CLASSES)).status).toBe(404);
    expect((await get('/openapi/v3/apis/storage.k8s.io/v1')).text).not.toContain(CLASSES);
    const patched = await get('/api/v1/namespaces/default/pods/none/resize');
    expect(patched.text).toContain('the server could not find the requested resource');
  });

  it('serves what the newest release has unless told otherwise', async () => {
    const { get } = await startServer();
    expect((await get(POLICIES)).status).toBe(200);
    expect((await get('/apis', AGGREGATED)).body.items[0].metadata).not.toHaveProperty('creationTimestamp');
  });

  it('starts as the oldest one too, without what came later', async () => {
    const { get } = await startServer({ emulatedVersion: '1.28' });
    expect((await get('/apis/flowcontrol.apiserver.k8s.io/v1')).status).toBe(404);
    expect((await get('/api/v1/namespaces')).body.items.length).toBeGreaterThan(3);
    const services: { items: { metadata: { name: string } }[] } = (
      await get('/apis/apiregistration.k8s.io/v1/apiservices')
    ).body;
    expect(services.items.map(({ metadata }) => metadata.name)).not.toContain(
      'v1.flowcontrol.apiserver.k8s.io',
    );
  });

  it('tells of what is deprecated in the release, wherever it has a route', async () => {
    const ENDPOINTS = '/api/v1/namespaces/default/endpoints';
    const newest = await startServer();
    for (const answer of [
      await newest.get(ENDPOINTS),
      await newest.post(ENDPOINTS, { metadata: { name: 'e' } }),
    ])
      expect(answer.headers.warning).toContain('v1 Endpoints is deprecated in v1.33+');
    expect((await newest.post('/api/v1/componentstatuses', {})).headers.warning).toBeUndefined();
    const older = await startServer({ emulatedVersion: '1.32' });
    expect((await older.get(ENDPOINTS)).headers.warning).toBeUndefined();
  });
});
