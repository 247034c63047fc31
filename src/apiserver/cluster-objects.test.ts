import { describe, expect, it } from 'vitest';
import { virtualRuntime } from '../runtime/index.ts';
import { fixtureOf, startServer } from './server.fixture.ts';
import { createApiServer } from './server.ts';
import { memoryDriver } from './storage/index.ts';

const SERVICES = '/apis/apiregistration.k8s.io/v1/apiservices';
const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const EVENTS = '/api/v1/namespaces/default/events';
const HOUR = 3_600_000;

function definition(versions: readonly string[]): object {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'cars.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'cars', kind: 'Car' },
      versions: versions.map((name, index) => ({
        name,
        served: true,
        storage: index === 0,
        schema: { openAPIV3Schema: { type: 'object' } },
      })),
    },
  };
}

function event(name: string): object {
  return {
    metadata: { name },
    involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
    reason: 'Test',
    message: name,
    type: 'Normal',
  };
}

describe('what every cluster has', () => {
  it('[V66] an available APIService for each group version, also for those of definitions', async () => {
    const { get, post, delete: remove, merge } = await startServer();
    const names = async () =>
      (await get(SERVICES)).body.items.map((item: { metadata: { name: string } }) => item.metadata.name);
    const groups: { groups: { versions: { groupVersion: string }[] }[] } = (await get('/apis')).body;
    const served = groups.groups
      .flatMap((group) => group.versions.map((version) => version.groupVersion))
      // Who serves the services is nobody's to replace.
      .filter((text) => !text.startsWith('apiregistration.k8s.io/'));
    const expected = ['v1.', ...served.map((text) => text.split('/').reverse().join('.'))].sort();
    expect((await names()).sort()).toEqual(expected);
    for (const item of (await get(SERVICES)).body.items) {
      expect(item.status.conditions).toMatchObject([{ type: 'Available', status: 'True', reason: 'Local' }]);
      expect(item.spec.service).toBeUndefined();
    }
    expect((await get(`${SERVICES}/v1.apps`)).body.spec).toEqual({
      group: 'apps',
      version: 'v1',
      groupPriorityMinimum: 17_800,
      versionPriority: 15,
    });

    await post(CRDS, definition(['v2', 'v1']));
    expect((await get(`${SERVICES}/v2.example.com`)).body).toMatchObject({
      metadata: { labels: { 'kube-aggregator.kubernetes.io/automanaged': 'true' } },
      spec: { groupPriorityMinimum: 1000, versionPriority: 100 },
    });
    expect(await names()).toContain('v1.example.com');
    await merge(`${CRDS}/cars.example.com`, {
      spec: { versions: [(await get(`${CRDS}/cars.example.com`)).body.spec.versions[0]] },
    });
    expect(await names()).not.toContain('v1.example.com');
    await remove(`${CRDS}/cars.example.com`);
    expect((await names()).sort()).toEqual(expected);

    // They come back, and those of others stay as they are.
    await remove(`${SERVICES}/v1.apps`);
    expect((await get(`${SERVICES}/v1.apps`)).status).toBe(200);
    const remote = {
      group: 'x.io',
      version: 'v1',
      groupPriorityMinimum: 1,
      versionPriority: 1,
      service: { namespace: 'a', name: 'b' },
    };
    const made = await post(SERVICES, { metadata: { name: 'v1.x.io' }, spec: remote });
    expect(made.body.status).toEqual({});
    expect((await get(`${SERVICES}/v1.x.io`)).body.status.conditions).toMatchObject([
      {
        type: 'Available',
        status: 'False',
        reason: 'ServiceNotFound',
        message: 'service/b in "a" is not present',
      },
    ]);
  });

  it('[V39] the Service of the API server, priority classes, and whom extension servers believe', async () => {
    const clientCa = { certificate: 'PEM', key: '' };
    const { get, delete: remove } = await startServer({ address: '10.1.2.3:6443', clientCa });
    const inDefault = '/api/v1/namespaces/default';
    const slices = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices';
    expect((await get(`${inDefault}/services/kubernetes`)).body.spec).toMatchObject({
      clusterIP: '10.96.0.1',
      ports: [{ name: 'https', port: 443, targetPort: 6443 }],
    });
    expect((await get(`${inDefault}/endpoints/kubernetes`)).body.subsets).toEqual([
      { addresses: [{ ip: '10.1.2.3' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
    ]);
    expect(
      (await get(`${slices}?labelSelector=kubernetes.io/service-name=kubernetes`)).body.items,
    ).toHaveLength(1);
    await remove(`${inDefault}/services/kubernetes`);
    expect((await get(`${inDefault}/services/kubernetes`)).status).toBe(200);
    const classes = (await get('/apis/scheduling.k8s.io/v1/priorityclasses')).body.items;
    expect(
      classes.map((item: { metadata: { name: string }; value: number }) => [item.metadata.name, item.value]),
    ).toEqual([
      ['system-cluster-critical', 2_000_000_000],
      ['system-node-critical', 2_000_001_000],
    ]);
    const config = await get('/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication');
    expect(config.body.data).toEqual({ 'client-ca-file': 'PEM' });
  });

  it('[V39] is put right at a start with other facts, and written by no start without', async () => {
    const storage = memoryDriver();
    const start = async (address: string) => {
      const runtime = virtualRuntime(1);
      const opening = createApiServer({ runtime, storage, address });
      await runtime.clock.settle();
      const server = await opening;
      await runtime.clock.settle();
      return fixtureOf(runtime, server, server.as({ name: 'admin', groups: ['system:masters'] }));
    };
    const first = await start('10.1.2.3:6443');
    const { revision } = first.server.store;
    await first.server.close();
    const second = await start('10.1.2.3:6443');
    expect(second.server.store.revision).toBe(revision);
    // At rest nothing waits for anything, once what was before the start is history.
    await second.runtime.clock.advance(400_000);
    expect(second.runtime.clock.pending()).toBe(0);
    await second.server.close();
    const third = await start('10.1.2.4:6443');
    const { subsets } = (await third.get('/api/v1/namespaces/default/endpoints/kubernetes')).body;
    expect(subsets[0].addresses).toEqual([{ ip: '10.1.2.4' }]);
    await third.server.close();
  });
});

describe('Events', () => {
  it('[V42] go an hour after they were last written, also over a restart', async () => {
    const storage = memoryDriver();
    const { post, merge, runtime, server } = await startServer({ storage });
    await post(EVENTS, event('old'));
    await post(EVENTS, event('renewed'));
    await runtime.clock.advance(HOUR / 2);
    await merge(`${EVENTS}/renewed`, { count: 2 });
    await post('/apis/events.k8s.io/v1/namespaces/default/events', {
      metadata: { name: 'new' },
      regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
      reason: 'Test',
      action: 'Test',
      type: 'Normal',
      eventTime: '2026-01-01T00:30:00.000000Z',
      reportingController: 'example.com/test',
      reportingInstance: 'test',
    });
    await server.close();

    const again = await startServer({ storage });
    const kept = async () => {
      const lists = await Promise.all([
        again.get(EVENTS),
        again.get('/apis/events.k8s.io/v1/namespaces/default/events'),
      ]);
      const all = lists.flatMap(({ body }) =>
        body.items.map((item: { metadata: { name: string } }) => item.metadata.name),
      );
      return [...new Set(all)].sort();
    };
    await again.runtime.clock.advance(HOUR - 1000);
    expect(await kept()).toEqual(['new', 'old', 'renewed']);
    await again.runtime.clock.advance(61_000);
    expect(await kept()).toEqual(['new', 'renewed']);
    await again.runtime.clock.advance(HOUR / 2);
    expect(await kept()).toEqual([]);
    await again.runtime.clock.advance(400_000);
    expect(again.runtime.clock.pending()).toBe(0);
  });
});

describe('the two Event APIs', () => {
  const NEW_EVENTS = '/apis/events.k8s.io/v1/namespaces/default/events';

  it('[V42] show the same objects by their own names', async () => {
    const { get, post, merge, watch, delete: remove } = await startServer();
    const stream = await watch(`${NEW_EVENTS}?watch=1`);
    const made = await post(EVENTS, {
      ...event('a'),
      count: 3,
      firstTimestamp: '2026-01-01T00:00:00Z',
      source: { component: 'c' },
    });
    const shown = (await get(`${NEW_EVENTS}/a`)).body;
    expect(shown).toMatchObject({
      apiVersion: 'events.k8s.io/v1',
      metadata: { uid: made.body.metadata.uid, resourceVersion: made.body.metadata.resourceVersion },
      regarding: { kind: 'Pod', namespace: 'default', name: 'p' },
      note: 'a',
      reason: 'Test',
      deprecatedCount: 3,
      deprecatedFirstTimestamp: '2026-01-01T00:00:00Z',
      deprecatedLastTimestamp: null,
      eventTime: null,
      deprecatedSource: { component: 'c' },
    });
    for (const key of ['involvedObject', 'message', 'count', 'source', 'reportingController'])
      expect(shown[key], key).toBeUndefined();
    const [added] = await stream.take(1);
    expect(added?.object).toEqual(shown);

    await post(NEW_EVENTS, {
      metadata: { name: 'b' },
      regarding: { kind: 'Pod', namespace: 'default', name: 'q' },
      reason: 'Other',
      action: 'Do',
      note: 'words',
      type: 'Warning',
      eventTime: '2026-01-01T00:00:00.000001Z',
      reportingController: 'example.com/test',
      reportingInstance: 'i',
    });
    expect((await get(`${EVENTS}/b`)).body).toMatchObject({
      apiVersion: 'v1',
      involvedObject: { name: 'q' },
      message: 'words',
      reportingComponent: 'example.com/test',
      source: {},
      eventTime: '2026-01-01T00:00:00.000001Z',
    });
    // Recorders of the newer API count repetitions in a series.
    const series = { count: 2, lastObservedTime: '2026-01-01T00:01:00.000000Z' };
    const patched = await merge(`${NEW_EVENTS}/b`, { series });
    expect(patched.body).toMatchObject({
      kind: 'Event',
      apiVersion: 'events.k8s.io/v1',
      series,
      note: 'words',
    });
    expect((await get(`${EVENTS}?fieldSelector=involvedObject.name%3Dq`)).body.items).toMatchObject([
      { message: 'words', series },
    ]);
    expect((await get(NEW_EVENTS)).body.items).toHaveLength(2);
    expect((await remove(`${NEW_EVENTS}/a`)).status).toBe(200);
    expect((await get(`${EVENTS}/a`)).status).toBe(404);
    expect((await get(EVENTS)).body.items).toHaveLength(1);
  });
});

describe('leases', () => {
  it('[V43] keep the microseconds that the holder wrote, and let one of two win', async () => {
    const { post, put, get } = await startServer();
    const path = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
    const spec = {
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.123456Z',
      renewTime: '2026-01-01T00:00:00.000001Z',
      leaseTransitions: 0,
    };
    const made = await post(path, { metadata: { name: 'leader' }, spec });
    expect(made.body.spec).toEqual(spec);
    const take = (holderIdentity: string) => {
      const renewTime = '2026-01-01T00:00:15.900000Z';
      return put(`${path}/leader`, { ...made.body, spec: { ...spec, holderIdentity, renewTime } });
    };
    expect((await take('b')).status).toBe(200);
    expect((await take('c')).body).toMatchObject({ code: 409, reason: 'Conflict' });
    expect((await get(`${path}/leader`)).body.spec).toMatchObject({
      holderIdentity: 'b',
      renewTime: '2026-01-01T00:00:15.900000Z',
      acquireTime: '2026-01-01T00:00:00.123456Z',
    });
  });
});
