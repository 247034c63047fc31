import { describe, expect, it } from 'vitest';
import type { WebhookAnswer } from '../admission/webhooks/index.ts';
import { type Fixture, startServer } from '../server.fixture.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
const V1 = '/apis/stable.example.com/v1/namespaces/default/gates';
const V2 = '/apis/stable.example.com/v2/namespaces/default/gates';

// biome-ignore lint/suspicious/noExplicitAny: reviews are read freely
type Json = any;

/** v1 has `host: "h:1"`, v2 has `host` and `port`. */
function convert(object: Json, apiVersion: string): Json {
  const next = structuredClone(object);
  next.apiVersion = apiVersion;
  if (apiVersion.endsWith('/v2')) {
    const [host = '', port = '0'] = object.spec.address.split(':');
    next.spec = { host, port: Number(port) };
  } else next.spec = { address: `${object.spec.host}:${object.spec.port}` };
  return next;
}

function honest({ request }: Json): Json {
  return {
    kind: 'ConversionReview',
    apiVersion: 'apiextensions.k8s.io/v1',
    response: {
      uid: request.uid,
      result: { status: 'Success' },
      convertedObjects: request.objects.map((object: Json) => convert(object, request.desiredAPIVersion)),
    },
  };
}

async function withGates(): Promise<
  Fixture & { reviews: Json[]; respond: (respond: (review: Json) => Json) => void }
> {
  const reviews: Json[] = [];
  let respond = honest;
  const callWebhook = async (_target: unknown, body: Uint8Array): Promise<WebhookAnswer> => {
    const review = JSON.parse(Buffer.from(body).toString());
    reviews.push(review);
    return { status: 200, body: Buffer.from(JSON.stringify(respond(review))) };
  };
  const server = await startServer({ controllers: false, callWebhook });
  const created = await server.post(DEFINITIONS, definition('v1'));
  expect(created.status, created.text).toBe(201);
  return {
    ...server,
    reviews,
    respond: (next) => {
      respond = next;
    },
  };
}

function definition(stored: 'v1' | 'v2'): object {
  const version = (name: string, properties: object): object => ({
    name,
    served: true,
    storage: name === stored,
    schema: {
      openAPIV3Schema: {
        type: 'object',
        properties: { spec: { type: 'object', properties } },
      },
    },
  });
  return {
    metadata: { name: 'gates.stable.example.com' },
    spec: {
      group: 'stable.example.com',
      scope: 'Namespaced',
      names: { plural: 'gates', singular: 'gate', kind: 'Gate', listKind: 'GateList' },
      versions: [
        version('v1', { address: { type: 'string' } }),
        version('v2', {
          host: { type: 'string' },
          port: { type: 'integer' },
          scheme: { type: 'string', default: 'tcp' },
        }),
      ],
      conversion: {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { url: 'https://convert.example.com/gates' },
        },
      },
    },
  };
}

const gate = (name: string, address: string): object => ({
  apiVersion: 'stable.example.com/v1',
  kind: 'Gate',
  metadata: { name },
  spec: { address },
});

describe('conversion webhooks', () => {
  it('[V50] turn what is stored into the version that is asked for', async () => {
    const server = await withGates();
    await server.post(V1, gate('a', 'h:1'));
    expect(server.reviews).toHaveLength(0);
    const read = await server.get(`${V2}/a`);
    expect(read.body).toMatchObject({
      apiVersion: 'stable.example.com/v2',
      metadata: { name: 'a' },
      spec: { host: 'h', port: 1, scheme: 'tcp' },
    });
    expect(server.reviews).toHaveLength(1);
    expect(server.reviews[0]).toMatchObject({
      kind: 'ConversionReview',
      apiVersion: 'apiextensions.k8s.io/v1',
      request: {
        desiredAPIVersion: 'stable.example.com/v2',
        objects: [{ apiVersion: 'stable.example.com/v1', spec: { address: 'h:1' } }],
      },
    });
    // The same state is converted once.
    expect((await server.get(`${V2}/a`)).status).toBe(200);
    expect(server.reviews).toHaveLength(1);
  });

  it('[V50] store writes of any version in the one that is stored', async () => {
    const server = await withGates();
    const created = await server.post(V2, {
      apiVersion: 'stable.example.com/v2',
      kind: 'Gate',
      metadata: { name: 'b' },
      spec: { host: 'x', port: 5 },
    });
    expect(created.status, created.text).toBe(201);
    expect(created.body.spec).toEqual({ host: 'x', port: 5, scheme: 'tcp' });
    expect((await server.get(`${V1}/b`)).body.spec).toEqual({ address: 'x:5' });
    const patched = await server.merge(`${V2}/b`, { spec: { port: 6 } });
    expect(patched.body.spec).toMatchObject({ host: 'x', port: 6 });
    expect((await server.get(`${V1}/b`)).body.spec).toEqual({ address: 'x:6' });
    expect((await server.delete(`${V2}/b`)).status).toBe(200);
  });

  it('[V50] get a list in one batch', async () => {
    const server = await withGates();
    for (const name of ['a', 'b', 'c']) await server.post(V1, gate(name, `${name}:1`));
    const listed = await server.get(V2);
    expect(listed.body.items.map((item: Json) => item.spec.host)).toEqual(['a', 'b', 'c']);
    expect(server.reviews.map((review) => review.request.objects.length)).toEqual([3]);
  });

  it('[V50] take effect with the next write when the stored version changes', async () => {
    const server = await withGates();
    await server.post(V1, gate('a', 'h:1'));
    const path = `${DEFINITIONS}/gates.stable.example.com`;
    const { body } = await server.get(path);
    const changed = await server.put(path, { ...body, spec: (definition('v2') as Json).spec });
    expect(changed.status, changed.text).toBe(200);
    expect(changed.body.status.storedVersions).toEqual(['v1', 'v2']);
    const stored = (): Json => server.server.store.get('/stable.example.com/gates/root/default/a')?.object;
    expect(stored().spec).toEqual({ address: 'h:1' });
    expect((await server.get(`${V2}/a`)).body.spec.host).toBe('h');
    await server.merge(`${V1}/a`, { spec: { address: 'h:2' } });
    expect(stored()).toMatchObject({ apiVersion: 'stable.example.com/v2', spec: { host: 'h', port: 2 } });
  });

  it('[V50] convert watched changes, in order', async () => {
    const server = await withGates();
    await server.post(V1, gate('a', 'a:1'));
    const watch = await server.watch(`${V2}?watch=1`);
    await server.post(V1, gate('b', 'b:1'));
    await server.merge(`${V1}/a`, { spec: { address: 'a:2' } });
    await server.delete(`${V1}/b`);
    const events = await watch.take(4);
    expect(
      events.map(({ type, object }) => [
        type,
        object.apiVersion,
        (object as Json).spec.host,
        (object as Json).spec.port,
      ]),
    ).toEqual([
      ['ADDED', 'stable.example.com/v2', 'a', 1],
      ['ADDED', 'stable.example.com/v2', 'b', 1],
      ['MODIFIED', 'stable.example.com/v2', 'a', 2],
      ['DELETED', 'stable.example.com/v2', 'b', 1],
    ]);
    await watch.close();
  });

  it('[V50] are those of each logical cluster where all are listed at once', async () => {
    const server = await withGates();
    const creating = server.server.createCluster('edge');
    await server.runtime.clock.settle();
    await creating;
    expect((await server.post(`/clusters/edge${DEFINITIONS}`, definition('v2'))).status).toBe(201);
    await server.post(V1, gate('a', 'a:1'));
    const inV2 = {
      kind: 'Gate',
      apiVersion: 'stable.example.com/v2',
      metadata: { name: 'b' },
      spec: { host: 'b' },
    };
    expect((await server.post(`/clusters/edge${V2}`, inV2)).status).toBe(201);
    const listed = await server.get('/clusters/*/apis/stable.example.com/v2/gates');
    expect(listed.status, listed.text).toBe(200);
    expect(listed.body.items.map((item: Json) => item.spec.host).sort()).toEqual(['a', 'b']);
    expect(server.reviews.map((review) => review.request.objects.length)).toEqual([1]);
  });

  it('[V50] change nothing of metadata but labels and annotations', async () => {
    const server = await withGates();
    await server.post(V1, gate('a', 'h:1'));
    server.respond((review) => {
      const answer = honest(review);
      for (const object of answer.response.convertedObjects) {
        object.metadata.labels = { by: 'webhook' };
        object.metadata.finalizers = ['example.com/mine'];
        object.metadata.generation = 99;
      }
      return answer;
    });
    const { metadata } = (await server.get(`${V2}/a`)).body;
    expect(metadata.labels).toEqual({ by: 'webhook' });
    expect(metadata.finalizers).toBeUndefined();
    expect(metadata.generation).toBe(1);
  });

  it('[V50] that answer wrongly fail the request', async () => {
    const server = await withGates();
    await server.post(V1, gate('a', 'h:1'));
    const about = 'conversion webhook for stable.example.com/v1, Kind=Gate';
    const cases: [(review: Json) => Json, string][] = [
      [() => ({}), `${about} failed: no response provided`],
      [
        (review) => ({ ...honest(review), response: { ...honest(review).response, convertedObjects: [] } }),
        `${about} returned 0 objects, expected 1`,
      ],
      [
        (review) => ({
          ...honest(review),
          response: { uid: review.request.uid, result: { status: 'Failure', message: 'too hard' } },
        }),
        `${about} failed: too hard`,
      ],
      [
        (review) => {
          const answer = honest(review);
          answer.response.convertedObjects[0].metadata.name = 'z';
          return answer;
        },
        `${about} returned invalid converted object at index 0: must have the same name: a != z`,
      ],
      [
        (review) => {
          const answer = honest(review);
          answer.response.convertedObjects[0].apiVersion = 'stable.example.com/v1';
          return answer;
        },
        `${about} returned invalid converted object at index 0: invalid groupVersion (received stable.example.com/v1, expected stable.example.com/v2)`,
      ],
    ];
    for (const [respond, message] of cases) {
      server.respond(respond);
      const answer = await server.get(`${V2}/a`);
      expect([answer.status, answer.body.message]).toEqual([500, message]);
      expect((await server.merge(`${V2}/a`, { spec: { port: 2 } })).status).toBe(500);
    }
    expect((await server.get(`${V1}/a`)).status).toBe(200);
  });
});
