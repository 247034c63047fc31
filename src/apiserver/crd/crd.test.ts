import { describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../server.fixture.ts';
import { memoryDriver, type StoredChange } from '../storage/index.ts';

const CRDS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const TABS = '/apis/example.com/v1/namespaces/default/crontabs';

type Json = Record<string, unknown>;

function definition(version: Json = {}, spec: Json = {}, names: Json = {}): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'crontabs.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'crontabs', kind: 'CronTab', shortNames: ['ct'], categories: ['all'], ...names },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.replicas',
              statusReplicasPath: '.status.replicas',
              labelSelectorPath: '.status.selector',
            },
          },
          additionalPrinterColumns: [
            { name: 'Schedule', type: 'string', jsonPath: '.spec.schedule' },
            { name: 'Replicas', type: 'integer', jsonPath: '.spec.replicas', priority: 1 },
          ],
          selectableFields: [{ jsonPath: '.spec.schedule' }],
          schema: { openAPIV3Schema: schema() },
          ...version,
        },
      ],
      ...spec,
    },
  };
}

function schema(): Json {
  return {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['schedule'],
        properties: {
          schedule: { type: 'string', pattern: '^[*0-9 ]+$' },
          replicas: { type: 'integer', minimum: 0, default: 1 },
          note: { type: 'string', nullable: true },
          free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        },
      },
      status: {
        type: 'object',
        properties: { replicas: { type: 'integer' }, selector: { type: 'string' } },
      },
    },
  };
}

async function withDefinition(given: Json = definition()): Promise<Fixture> {
  const fixture = await startServer();
  const created = await fixture.post(CRDS, given);
  expect(created.status, created.text).toBe(201);
  return fixture;
}

function condition(object: { status: { conditions: { type: string }[] } }, type: string): unknown {
  return object.status.conditions.find((item) => item.type === type);
}

describe('custom resource definitions', () => {
  it('[V44] serves a kind in REST, discovery and OpenAPI as soon as its definition is created', async () => {
    const { post, get } = await withDefinition();
    const created = (await get(`${CRDS}/crontabs.example.com`)).body;
    expect(condition(created, 'NamesAccepted')).toMatchObject({ status: 'True', reason: 'NoConflicts' });
    expect(condition(created, 'Established')).toMatchObject({
      status: 'True',
      reason: 'InitialNamesAccepted',
    });
    expect(created.status).toMatchObject({
      storedVersions: ['v1'],
      acceptedNames: {
        plural: 'crontabs',
        singular: 'crontab',
        kind: 'CronTab',
        listKind: 'CronTabList',
        shortNames: ['ct'],
      },
    });
    expect(created.metadata.generation).toBe(1);
    const object = {
      apiVersion: 'example.com/v1',
      kind: 'CronTab',
      metadata: { name: 'a' },
      spec: { schedule: '* *' },
    };
    expect((await post(TABS, object)).status).toBe(201);
    const resources = (await get('/apis/example.com/v1')).body.resources.map(
      (item: { name: string }) => item.name,
    );
    expect(resources).toEqual(['crontabs', 'crontabs/status', 'crontabs/scale']);
    expect((await get('/openapi/v3/apis/example.com/v1')).text).toContain('schedule');
  });

  it('[V44] refuses definitions that do not hold together', async () => {
    const { post } = await startServer();
    const message = async (given: Json): Promise<string> => (await post(CRDS, given)).body.message;
    expect(await message({ ...definition(), metadata: { name: 'x.example.com' } })).toContain(
      'metadata.name: Invalid value: "x.example.com": must be spec.names.plural+"."+spec.group',
    );
    expect(await message(definition({ storage: false }))).toContain(
      'must have exactly one version marked as storage version',
    );
    expect(await message(definition({ schema: undefined }))).toContain('schemas are required');
    expect(await message(definition({}, { preserveUnknownFields: true }))).toContain('preserveUnknownFields');
    expect(await message(definition({}, { group: 'nodots' }))).toContain(
      'should be a domain with at least one dot',
    );
  });

  it('[V44] keeps what may not change', async () => {
    const { merge } = await withDefinition();
    const url = `${CRDS}/crontabs.example.com`;
    expect((await merge(url, { spec: { scope: 'Cluster' } })).body.message).toContain(
      'spec.scope: Invalid value: "Cluster": field is immutable',
    );
    expect(
      (await merge(url, { spec: { names: { kind: 'Other', listKind: 'OtherList' } } })).body.message,
    ).toContain('field is immutable');
    expect((await merge(url, { spec: { names: { shortNames: ['c'] } } })).status).toBe(200);
  });

  it('[V44] accepts names once, and hands them on when they are free again', async () => {
    const { post, get, delete: remove, runtime } = await withDefinition();
    const rival = {
      ...definition({}, {}, { plural: 'tabs', kind: 'CronTab', listKind: 'CronTabList', shortNames: [] }),
      metadata: { name: 'tabs.example.com' },
    };
    expect((await post(CRDS, rival)).body.status.conditions).toBeNull();
    const created = await get(`${CRDS}/tabs.example.com`);
    expect(condition(created.body, 'NamesAccepted')).toMatchObject({
      status: 'False',
      reason: 'ListKindConflict',
      message: '"CronTabList" is already in use',
    });
    expect(condition(created.body, 'Established')).toMatchObject({ status: 'False', reason: 'NotAccepted' });
    expect((await get('/apis/example.com/v1/namespaces/default/tabs')).status).toBe(404);
    await remove(`${CRDS}/crontabs.example.com`);
    await runtime.clock.advance(3000);
    expect((await get('/apis/example.com/v1/namespaces/default/tabs')).status).toBe(200);
  });

  it('[V44] accepts a name once also of two that come at once', async () => {
    const { admin, get, runtime } = await startServer();
    const make = (plural: string) =>
      admin({
        method: 'POST',
        path: CRDS,
        headers: { 'content-type': 'application/json' },
        body: Buffer.from(
          JSON.stringify({
            ...definition({}, {}, { plural, shortNames: [] }),
            metadata: { name: `${plural}.example.com` },
          }),
        ),
      });
    const plurals = ['tabs', 'taps'];
    const made = Promise.all(plurals.map(make));
    await runtime.clock.settle();
    expect((await made).map(({ status }) => status)).toEqual([201, 201]);
    const accepted: unknown[] = [];
    for (const plural of plurals)
      accepted.push(condition((await get(`${CRDS}/${plural}.example.com`)).body, 'NamesAccepted'));
    expect(accepted).toMatchObject([{ status: 'True' }, { status: 'False', reason: 'ListKindConflict' }]);
  });

  it('[V44] deletes the instances with the definition', async () => {
    const { post, get, delete: remove, merge, runtime } = await withDefinition();
    await post(TABS, { metadata: { name: 'a' }, spec: { schedule: '*' } });
    await post(TABS, { metadata: { name: 'held', finalizers: ['example.com/x'] }, spec: { schedule: '*' } });
    const deleting = await remove(`${CRDS}/crontabs.example.com`);
    expect(deleting.body.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
    await runtime.clock.advance(2000);
    expect((await get(`${TABS}/a`)).status).toBe(404);
    const refused = await post(TABS, { metadata: { name: 'late' }, spec: { schedule: '*' } });
    expect(refused.body.message).toBe('create not allowed while custom resource definition is terminating');
    expect(condition((await get(`${CRDS}/crontabs.example.com`)).body, 'Terminating')).toMatchObject({
      status: 'True',
    });
    expect((await merge(`${TABS}/held`, { metadata: { finalizers: null } })).status).toBe(200);
    await runtime.clock.advance(2000);
    expect((await get(`${CRDS}/crontabs.example.com`)).status).toBe(404);
    expect((await get(TABS)).text).toBe('404 page not found\n');
  });

  it('[V44] deletes the instances of a definition that serves no version any more', async () => {
    const { post, get, delete: remove, put, runtime, server } = await withDefinition();
    await post(TABS, { metadata: { name: 'a' }, spec: { schedule: '*' } });
    const { body } = await get(`${CRDS}/crontabs.example.com`);
    body.spec.versions[0].served = false;
    expect((await put(`${CRDS}/crontabs.example.com`, body)).status).toBe(200);
    await remove(`${CRDS}/crontabs.example.com`);
    await runtime.clock.advance(2000);
    expect((await get(`${CRDS}/crontabs.example.com`)).status).toBe(404);
    expect(server.store.count('/example.com/crontabs/')).toBe(0);
  });

  it('[V44] deletes also what was made while the deletion was being stored', async () => {
    const memory = memoryDriver();
    let release: (() => void) | undefined;
    let holds = false;
    const storage = {
      ...memory,
      async commit(changes: readonly StoredChange[]) {
        if (holds)
          await new Promise<void>((resolve) => {
            release = resolve;
          });
        await memory.commit(changes);
      },
    };
    const { post, admin, runtime, server } = await startServer({ storage });
    await post(CRDS, definition());
    const send = async (method: string, path: string, body?: object): Promise<() => Promise<number>> => {
      const answer = admin({
        method,
        path,
        headers: { 'content-type': 'application/json' },
        ...(body ? { body: Buffer.from(JSON.stringify(body)) } : {}),
      });
      await runtime.clock.settle();
      return async () => (await answer).status;
    };
    holds = true;
    const deleted = await send('DELETE', `${CRDS}/crontabs.example.com`);
    const made = await send('POST', TABS, { metadata: { name: 'late' }, spec: { schedule: '*' } });
    holds = false;
    release?.();
    await runtime.clock.advance(3000);
    expect([await deleted(), await made()]).toEqual([200, 201]);
    expect(server.store.list('/apiextensions.k8s.io/customresourcedefinitions/').records).toEqual([]);
    expect(server.store.count('/example.com/crontabs/')).toBe(0);
  });

  it('[V44] ends watches when the kind is served differently', async () => {
    const { watch, merge } = await withDefinition();
    const stream = await watch(`${TABS}?watch=1`);
    const changed = definition({ additionalPrinterColumns: [] }) as { spec: { versions: unknown } };
    await merge(`${CRDS}/crontabs.example.com`, { spec: { versions: changed.spec.versions } });
    expect(await stream.rest()).toMatchObject([{ type: 'ERROR', object: { code: 410 } }]);
  });

  it('keeps of an object what the stored version has, and records no owners of what another version lacks', async () => {
    const { post, get, merge } = await startServer();
    const fields = (...names: string[]): Json => ({
      openAPIV3Schema: {
        type: 'object',
        properties: {
          spec: {
            type: 'object',
            properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
          },
        },
      },
    });
    const one = definition({
      schema: fields('a'),
      selectableFields: [],
      subresources: {},
      additionalPrinterColumns: [],
    });
    const spec = one.spec as { versions: Json[] };
    spec.versions = [
      { name: 'v1', served: true, storage: true, schema: fields('a', 'c') },
      { name: 'v1beta1', served: true, storage: false, schema: fields('a', 'b') },
    ];
    await post(CRDS, one);
    const beta = TABS.replace('/v1/', '/v1beta1/');
    const made = await post(beta, { metadata: { name: 'x' }, spec: { a: '1', b: '2' } });
    expect(made.body.spec).toEqual({ a: '1' });
    expect(made.body.metadata.managedFields).toHaveLength(1);
    await merge(`${TABS}/x`, { spec: { c: '3' } });
    const seen = await get(`${TABS}/x`);
    expect(seen.body.spec).toEqual({ a: '1', c: '3' });
    expect(seen.body.metadata.managedFields).toBeUndefined();
  });

  it('[V45] refuses schemas that are not structural', async () => {
    const { post } = await startServer();
    const errors = async (properties: Json): Promise<string> =>
      (
        await post(
          CRDS,
          definition({
            schema: { openAPIV3Schema: { type: 'object', properties } },
            selectableFields: [],
            subresources: {},
            additionalPrinterColumns: [],
          }),
        )
      ).body.message;
    expect(await errors({ spec: {} })).toContain(
      'properties[spec].type: Required value: must not be empty for specified object fields',
    );
    expect(
      await errors({
        spec: {
          type: 'object',
          properties: { a: { type: 'string' } },
          additionalProperties: { type: 'string' },
        },
      }),
    ).toContain('mutual exclusive');
    expect(await errors({ spec: { type: 'object', anyOf: [{ items: {} }] } })).toContain(
      'because it is defined in spec.validation.openAPIV3Schema.properties[spec].anyOf[0].items',
    );
    expect(await errors({ spec: { type: 'object', allOf: [{ description: 'x' }] } })).toContain(
      'must be empty to be structural',
    );
    expect(await errors({ spec: { type: 'string', $ref: '#/x' } })).toContain('$ref is not supported');
    expect(
      await errors({ metadata: { type: 'object', properties: { labels: { type: 'object' } } } }),
    ).toContain('must not specify anything other than name and generateName');
    expect(await errors({ spec: { type: 'array' } })).toContain('items: Required value');
  });

  it('[V45] prunes, defaults and drops nulls on writes', async () => {
    const { post, get } = await withDefinition();
    const created = await post(TABS, {
      metadata: { name: 'a', nonsense: 1 },
      spec: { schedule: '*', unknown: 1, replicas: null, note: null, free: { any: { thing: 1 } } },
      extra: true,
    });
    expect(created.body.spec).toEqual({
      schedule: '*',
      replicas: 1,
      note: null,
      free: { any: { thing: 1 } },
    });
    expect(created.body.extra).toBeUndefined();
    expect(created.headers.warning).toContain('unknown field');
    expect((await get(`${TABS}/a`)).body).toEqual(created.body);
  });

  it('[V45] prunes and defaults what was stored under another schema', async () => {
    const { post, get, merge } = await withDefinition();
    await post(TABS, { metadata: { name: 'a' }, spec: { schedule: '*', free: { x: 1 } } });
    const changed = schema() as { properties: { spec: { properties: Json } } };
    delete changed.properties.spec.properties.free;
    changed.properties.spec.properties.colour = { type: 'string', default: 'red' };
    const { spec } = definition({ schema: { openAPIV3Schema: changed } }) as { spec: { versions: unknown } };
    expect((await merge(`${CRDS}/crontabs.example.com`, { spec: { versions: spec.versions } })).status).toBe(
      200,
    );
    expect((await get(`${TABS}/a`)).body.spec).toEqual({ schedule: '*', replicas: 1, colour: 'red' });
    expect((await get(TABS)).body.items[0].spec.colour).toBe('red');
  });

  it('[V46] validates instances', async () => {
    const { post } = await withDefinition();
    const invalid = await post(TABS, { metadata: { name: 'a' }, spec: { schedule: 'x', replicas: -1 } });
    expect(invalid.body).toMatchObject({
      code: 422,
      reason: 'Invalid',
      details: { group: 'example.com', kind: 'CronTab', name: 'a' },
    });
    expect(invalid.body.details.causes.map((cause: { field: string }) => cause.field).sort()).toEqual([
      '.spec.replicas',
      'spec.replicas',
      'spec.schedule',
    ]);
    expect((await post(TABS, { metadata: { name: 'a' }, spec: {} })).body.message).toContain(
      'spec.schedule: Required value',
    );
  });

  it('[V13] raises the generation of custom resources on changes outside metadata and status', async () => {
    const { post, merge } = await withDefinition();
    const { body } = await post(TABS, {
      metadata: { name: 'a' },
      spec: { schedule: '*' },
      status: { replicas: 3 },
    });
    expect(body.metadata.generation).toBe(1);
    expect(body.status).toBeUndefined();
    expect((await merge(`${TABS}/a`, { metadata: { labels: { a: 'b' } } })).body.metadata.generation).toBe(1);
    const status = await merge(`${TABS}/a/status`, {
      status: { replicas: 2 },
      spec: { schedule: '1' },
      metadata: { labels: { c: 'd' } },
    });
    expect(status.body).toMatchObject({
      metadata: { generation: 1 },
      spec: { schedule: '*' },
      status: { replicas: 2 },
    });
    expect(status.body.metadata.labels).toEqual({ a: 'b' });
    expect((await merge(`${TABS}/a`, { spec: { schedule: '2' } })).body.metadata.generation).toBe(2);
  });

  it('[V12] demands a version for updates of custom resources', async () => {
    const { post, put } = await withDefinition();
    await post(TABS, { metadata: { name: 'a' }, spec: { schedule: '*' } });
    const unconditional = await put(`${TABS}/a`, { metadata: { name: 'a' }, spec: { schedule: '*' } });
    expect(unconditional.body.message).toContain(
      'metadata.resourceVersion: Invalid value: 0x0: must be specified for an update',
    );
  });

  it('[V51] scales, selects by fields and prints columns', async () => {
    const { post, get, merge } = await withDefinition();
    await post(TABS, { metadata: { name: 'a' }, spec: { schedule: '1', replicas: 2 } });
    await post(TABS, { metadata: { name: 'b' }, spec: { schedule: '2' } });
    await merge(`${TABS}/a/status`, { status: { replicas: 1, selector: 'app=a' } });
    expect((await get(`${TABS}/a/scale`)).body).toMatchObject({
      spec: { replicas: 2 },
      status: { replicas: 1, selector: 'app=a' },
    });
    expect((await merge(`${TABS}/a/scale`, { spec: { replicas: 4 } })).body.spec.replicas).toBe(4);
    const selected = await get(`${TABS}?fieldSelector=spec.schedule%3D2`);
    expect(selected.body.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual([
      'b',
    ]);
    expect((await get(`${TABS}?fieldSelector=spec.replicas%3D2`)).body.message).toBe(
      'field label not supported: spec.replicas',
    );
    const table = await get(TABS, { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    expect(table.body.columnDefinitions.map((column: { name: string }) => column.name)).toEqual([
      'Name',
      'Schedule',
      'Replicas',
    ]);
    expect(table.body.rows[0].cells).toEqual(['a', '1', 4]);
  });

  it('[V50] serves two versions of one storage', async () => {
    const versions = ((definition() as { spec: { versions: Json[] } }).spec.versions[0] ?? {}) as Json;
    const { post, get, put } = await withDefinition(
      definition(
        {},
        { versions: [versions, { ...versions, name: 'v1beta1', storage: false, deprecated: true }] },
      ),
    );
    const old = TABS.replace('v1/', 'v1beta1/');
    const created = await post(old, {
      apiVersion: 'example.com/v1beta1',
      kind: 'CronTab',
      metadata: { name: 'a' },
      spec: { schedule: '*' },
    });
    expect(created.body.apiVersion).toBe('example.com/v1beta1');
    expect(created.headers.warning).toBe(
      '299 - "example.com/v1beta1 CronTab is deprecated; use example.com/v1 CronTab"',
    );
    const read = await get(`${TABS}/a`);
    expect(read.body.apiVersion).toBe('example.com/v1');
    expect((await put(`${TABS}/a`, { ...read.body, spec: { schedule: '1' } })).body.spec.schedule).toBe('1');
    expect((await get(old)).body.items[0]).toMatchObject({
      apiVersion: 'example.com/v1beta1',
      spec: { schedule: '1' },
    });
  });
});
