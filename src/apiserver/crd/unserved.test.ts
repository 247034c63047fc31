import { afterEach, describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../server.fixture.ts';
import type { ApiServerOptions } from '../server-options.ts';
import { memoryDriver } from '../storage/index.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const NAME = 'things.example.com';
const THINGS = '/apis/example.com/v1/namespaces/default/things';

const definition = {
  metadata: { name: NAME },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { plural: 'things', kind: 'Thing' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};
const UNSERVED = { spec: { versions: [{ ...definition.spec.versions[0], served: false }] } };

const thing = (name: string, finalizers: string[] = []) => ({
  apiVersion: 'example.com/v1',
  kind: 'Thing',
  metadata: { name, finalizers },
});

const open: Fixture[] = [];
afterEach(async () => {
  for (const fixture of open.splice(0)) await fixture.server.close();
});

async function start(options: Partial<ApiServerOptions> = {}): Promise<Fixture> {
  const fixture = await startServer(options);
  open.push(fixture);
  return fixture;
}

async function settle<T>({ runtime }: Fixture, promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  await runtime.clock.settle();
  return promise;
}

describe('what is held by finalizers when its definition goes', () => {
  async function left(fixture: Fixture): Promise<string[]> {
    await fixture.post(CRDS, definition);
    const { body } = await fixture.get(THINGS);
    return body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  }

  async function force(fixture: Fixture): Promise<void> {
    const { post, delete: remove, merge, get } = fixture;
    await post(CRDS, definition);
    await post(THINGS, thing('held', ['example.com/held']));
    await post(THINGS, thing('left'));
    await remove(`${THINGS}/held`);
    // Before it is emptied, as a restore that keeps no finalizers would have it.
    await merge(`${CRDS}/${NAME}`, { metadata: { finalizers: null } });
    await remove(`${CRDS}/${NAME}`);
    await merge(`${CRDS}/${NAME}`, { metadata: { finalizers: null } });
    expect((await get(`${CRDS}/${NAME}`)).status).toBe(404);
  }

  it('goes in the end, where it is being deleted', async () => {
    const fixture = await start();
    await force(fixture);
    await fixture.runtime.clock.advance(61_000);
    expect(await left(fixture)).not.toContain('held');
  });

  it('goes also where the server ends before that, and only with its definition', async () => {
    const storage = memoryDriver();
    const fixture = await start({ storage });
    await settle(fixture, fixture.server.createCluster('other'));
    await fixture.post(`/clusters/other${CRDS}`, definition);
    await fixture.post(`/clusters/other${THINGS}`, thing('there', ['example.com/held']));
    await fixture.delete(`/clusters/other${THINGS}/there`);
    await force(fixture);
    await fixture.runtime.clock.advance(30_000);
    await settle(fixture, fixture.server.close());
    const again = await start({ storage });
    await again.runtime.clock.advance(61_000);
    expect(await left(again)).toEqual([]);
    expect((await again.get(`/clusters/other${THINGS}/there`)).status).toBe(200);
  });

  it('stays where the definition comes back', async () => {
    const fixture = await start();
    await force(fixture);
    await fixture.runtime.clock.advance(30_000);
    expect(await left(fixture)).toContain('held');
    await fixture.runtime.clock.advance(61_000);
    expect((await fixture.get(`${THINGS}/held`)).status).toBe(200);
  });
});

it('finalizers count where an API is bound and serves no version for a while', async () => {
  const fixture = await start();
  const { server, post, merge, get, delete: remove, runtime } = fixture;
  for (const cluster of ['maker', 'one']) await settle(fixture, server.createCluster(cluster));
  await post(`/clusters/maker${CRDS}`, definition);
  await settle(fixture, server.bindApi({ provider: 'maker', definition: NAME, consumer: 'one' }));
  await post('/clusters/one/api/v1/namespaces', { metadata: { name: 'shop' } });
  const things = '/clusters/one/apis/example.com/v1/namespaces/shop/things';
  expect((await post(things, thing('held', ['example.com/held']))).status).toBe(201);
  await merge(`/clusters/maker${CRDS}/${NAME}`, UNSERVED);
  expect((await get(`${things}/held`)).status).toBe(404);
  await remove('/clusters/one/api/v1/namespaces/shop');
  await runtime.clock.advance(30_000);
  await merge(`/clusters/maker${CRDS}/${NAME}`, { spec: { versions: definition.spec.versions } });
  expect((await get(`${things}/held`)).status).toBe(200);
});
