import { describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../server.fixture.ts';

const LONG = '9007199254740993';
const COUNTERS = '/apis/example.com/v1/namespaces/default/counters';

async function withCounters(): Promise<Fixture> {
  const api = await startServer();
  const created = await api.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
    metadata: { name: 'counters.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'counters', kind: 'Counter' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  properties: {
                    count: { type: 'integer', format: 'int64', minimum: 5 },
                    numbers: {
                      type: 'array',
                      'x-kubernetes-list-type': 'set',
                      items: { type: 'integer' },
                    },
                    free: { 'x-kubernetes-preserve-unknown-fields': true },
                  },
                },
              },
            },
          },
        },
      ],
    },
  });
  expect(created.status).toBe(201);
  return api;
}

const counter = (count: string, name = 'a'): string =>
  `{"apiVersion":"example.com/v1","kind":"Counter","metadata":{"name":"${name}"},"spec":{"count":${count},"numbers":[${LONG},-${LONG}],"free":{"deep":[${count}]}}}`;

describe('integers beyond 2^53', () => {
  it('[V37] come back digit by digit from every verb of a custom resource', async () => {
    const api = await withCounters();
    const watch = await api.watch(`${COUNTERS}?watch=1`);
    const expected = `"count":${LONG},"numbers":[${LONG},-${LONG}],"free":{"deep":[${LONG}]}`;
    expect((await api.post(COUNTERS, counter(LONG))).text).toContain(expected);
    expect((await api.get(`${COUNTERS}/a`)).text).toContain(expected);
    expect((await api.get(COUNTERS)).text).toContain(expected);
    expect((await api.merge(`${COUNTERS}/a`, { metadata: { labels: { a: 'b' } } })).text).toContain(expected);
    expect((await api.get(`${COUNTERS}/a?pretty=true`)).text).toContain(`"count": ${LONG}`);
    expect((await api.get(`${COUNTERS}/a`, { accept: 'application/yaml' })).text).toContain(`count: ${LONG}`);
    const more = '9007199254740995';
    expect(
      (await api.merge(`${COUNTERS}/a`, `{"spec":{"count":${more}}}` as unknown as object)).text,
    ).toContain(`"count":${more}`);
    const applied = await api.call('PATCH', `${COUNTERS}/b?fieldManager=me`, counter(LONG, 'b'), {
      'content-type': 'application/apply-patch+yaml',
    });
    expect(applied.text).toContain(expected);
    expect(applied.text).toContain(`"v:${LONG}"`);
    expect((await api.delete(`${COUNTERS}/a`)).status).toBe(200);
    expect((await watch.take(3)).map(({ type }) => type)).toEqual(['ADDED', 'MODIFIED', 'MODIFIED']);
    await watch.close();
  });

  it('[V37] are checked like others', async () => {
    const api = await withCounters();
    const { status, text } = await api.post(COUNTERS, counter(`-${LONG}`));
    expect(status).toBe(422);
    expect(text).toContain(`spec.count: Invalid value: -${LONG}: spec.count in body should be greater than`);
  });

  it('[V37] come back from 64-bit fields of built-in kinds, and are refused by those of 32', async () => {
    const api = await startServer();
    const revisions = '/apis/apps/v1/namespaces/default/controllerrevisions';
    const body = `{"metadata":{"name":"a"},"revision":${LONG},"data":{"x":${LONG}}}`;
    expect((await api.post(revisions, body)).status).toBe(201);
    const { text } = await api.get(`${revisions}/a`);
    expect(text).toContain(`"revision":${LONG}`);
    expect(text).toContain(`"data":{"x":${LONG}}`);
    const claims = '/apis/apps/v1/namespaces/default/deployments';
    const refused = await api.post(claims, `{"metadata":{"name":"a"},"spec":{"replicas":${LONG}}}`);
    expect(refused.status).toBe(400);
    expect(refused.text).toContain(`cannot unmarshal number ${LONG} into Go struct field`);
  });
});
