import { expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const SETS = '/apis/apps/v1/namespaces/default/replicasets';
const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const version = (name: string, storage: boolean) => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object', properties: { spec: { type: 'object' } } } },
});
const things = (versions: unknown[], spec: Record<string, unknown> = {}) => ({
  metadata: { name: 'things.example.com' },
  spec: {
    group: 'example.com',
    names: { plural: 'things', kind: 'Thing' },
    scope: 'Namespaced',
    versions,
    ...spec,
  },
});

it('who applied a Scale keeps the replicas when it wants none', async () => {
  const { post, apply, get } = await startServer();
  await post(SETS, { metadata: { name: 'r' }, spec: { selector: { matchLabels: { a: 'b' } }, template } });
  const scale = (spec: unknown) => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'r' },
    spec,
  });
  await apply(`${SETS}/r/scale`, scale({ replicas: 3 }), 'fieldManager=hpa&force=true');
  await apply(`${SETS}/r/scale`, scale({}), 'fieldManager=hpa');
  const { metadata, spec } = (await get(`${SETS}/r`)).body;
  expect(spec.replicas).toBe(0);
  expect(metadata.managedFields).toContainEqual(
    expect.objectContaining({
      manager: 'hpa',
      subresource: 'scale',
      fieldsV1: { 'f:spec': { 'f:replicas': {} } },
    }),
  );
});

it('the server owns what it says of definitions', async () => {
  const { post, get } = await startServer();
  await post(DEFINITIONS, things([version('v1', true)]));
  const { metadata } = (await get(`${DEFINITIONS}/things.example.com`)).body;
  const own = metadata.managedFields.find(({ manager }: { manager: string }) => manager === 'kube-apiserver');
  expect(own).toMatchObject({ operation: 'Update', subresource: 'status' });
  expect(Object.keys(own.fieldsV1)).toEqual(['f:status']);
});

it('a conversion that names no strategy is refused, and none at all has one', async () => {
  const { post } = await startServer();
  const refused = await post(DEFINITIONS, things([version('v1', true)], { conversion: {} }));
  expect(refused.body.message).toContain('spec.conversion.strategy: Required value');
  const made = await post(DEFINITIONS, things([version('v1', true)]));
  expect(made.body.spec.conversion).toEqual({ strategy: 'None' });
});

it('what is stored in a version that is gone cannot be read', async () => {
  const { post, put, get, merge, delete: remove } = await startServer();
  await post(DEFINITIONS, things([version('v1', true)]));
  await post('/apis/example.com/v1/namespaces/default/things', {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'x' },
  });
  const definition = `${DEFINITIONS}/things.example.com`;
  await merge(definition, { spec: { versions: [version('v1', false), version('v2', true)] } });
  await merge(`${definition}/status`, { status: { storedVersions: ['v2'] } });
  await merge(definition, { spec: { versions: [version('v2', true)] } });
  const path = '/apis/example.com/v2/namespaces/default/things';
  for (const found of [await get(`${path}/x`), await get(path)]) {
    expect(found.status).toBe(500);
    expect(found.body.message).toBe('request to convert CR from an invalid group/version: example.com/v1');
  }
  const current = (await get(definition)).body;
  await put(definition, {
    ...current,
    spec: { ...current.spec, versions: [version('v1', false), version('v2', true)] },
  });
  expect((await get(`${path}/x`)).status).toBe(200);
  // Whoever deletes the definition is rid of it all the same.
  await merge(definition, { spec: { versions: [version('v2', true)] } });
  await remove(definition);
  expect((await get(definition)).status).toBe(404);
});

it('a definition is told its grace when it is deleted once more', async () => {
  const { post, delete: remove } = await startServer();
  await post(DEFINITIONS, things([version('v1', true)]));
  await post('/apis/example.com/v1/namespaces/default/things', {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'x', finalizers: ['example.com/held'] },
  });
  const path = `${DEFINITIONS}/things.example.com`;
  expect((await remove(path)).body.metadata.deletionGracePeriodSeconds).toBeUndefined();
  expect((await remove(path)).body.metadata.deletionGracePeriodSeconds).toBe(0);
});
