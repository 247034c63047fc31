import { describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../../server.fixture.ts';
import type { ApiServerOptions } from '../../server-options.ts';
import type { WebhookAnswer, WebhookTarget } from './webhook-client.ts';

const CONFIGURATIONS = '/apis/admissionregistration.k8s.io/v1';
const MAPS = '/api/v1/namespaces/default/configmaps';

// biome-ignore lint/suspicious/noExplicitAny: reviews are read freely
type Review = any;
type Respond = (review: Review, target: WebhookTarget, signal: AbortSignal) => unknown;

/** A server whose webhooks are functions, by the host of their URL. */
async function withWebhooks(
  webhooks: Record<string, Respond>,
  options: Partial<ApiServerOptions> = {},
): Promise<Fixture & { calls: { host: string; review: Review }[] }> {
  const calls: { host: string; review: Review }[] = [];
  const callWebhook = async (
    target: WebhookTarget,
    body: Uint8Array,
    signal: AbortSignal,
  ): Promise<WebhookAnswer> => {
    const host = new URL(target.url).hostname;
    const review = JSON.parse(Buffer.from(body).toString());
    calls.push({ host, review });
    const respond = webhooks[host];
    if (!respond) throw new Error(`nobody is at ${host}`);
    const answer = await respond(review, target, signal);
    return { status: 200, body: Buffer.from(JSON.stringify(answer)) };
  };
  const fixture = await startServer({ controllers: false, callWebhook, ...options });
  return { ...fixture, calls };
}

function reply(review: Review, response: object): object {
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    response: { uid: review.request.uid, ...response },
  };
}

const allow: Respond = (review) => reply(review, { allowed: true });

function patching(...operations: object[]): Respond {
  return (review) =>
    reply(review, {
      allowed: true,
      patchType: 'JSONPatch',
      patch: Buffer.from(JSON.stringify(operations)).toString('base64'),
    });
}

/** Adds `value` to a list in an annotation, so that the order of calls can be seen. */
function appending(value: string): Respond {
  return (review) => {
    const { annotations } = review.request.object.metadata;
    const trace = `${annotations?.trace ?? ''}${value}`;
    return patching({
      op: 'add',
      path: '/metadata/annotations',
      value: { ...annotations, trace },
    })(review, { url: '' }, new AbortController().signal);
  };
}

function webhook(name: string, more: object = {}): object {
  return {
    name: `${name}.example.com`,
    clientConfig: { url: `https://${name}/hook` },
    rules: [
      {
        apiGroups: [''],
        apiVersions: ['v1'],
        resources: ['configmaps'],
        operations: ['CREATE', 'UPDATE', 'DELETE'],
      },
    ],
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    ...more,
  };
}

async function register(
  { post }: Fixture,
  kind: 'Mutating' | 'Validating',
  webhooks: object[],
  name: string = 'hooks',
): Promise<void> {
  const body = { metadata: { name }, webhooks };
  const answer = await post(`${CONFIGURATIONS}/${kind.toLowerCase()}webhookconfigurations`, body);
  expect(answer.status, answer.text).toBe(201);
}

const map = (name: string, more: object = {}): object => ({ metadata: { name, ...more }, data: { a: '1' } });

describe('mutating webhooks', () => {
  it('[V52] see the request and change the object by a JSON patch', async () => {
    const server = await withWebhooks({
      labeler: patching({ op: 'add', path: '/metadata/labels', value: { added: 'yes' } }),
    });
    await register(server, 'Mutating', [webhook('labeler')]);
    const created = await server.post(`${MAPS}?fieldManager=me`, map('m'));
    expect(created.status, created.text).toBe(201);
    expect(created.body.metadata.labels).toEqual({ added: 'yes' });
    expect((await server.get(`${MAPS}/m`)).body.metadata.labels).toEqual({ added: 'yes' });
    const { request, ...review } = server.calls[0]?.review ?? {};
    expect(review).toEqual({ kind: 'AdmissionReview', apiVersion: 'admission.k8s.io/v1' });
    expect(request).toMatchObject({
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      resource: { group: '', version: 'v1', resource: 'configmaps' },
      requestKind: { group: '', version: 'v1', kind: 'ConfigMap' },
      name: 'm',
      namespace: 'default',
      operation: 'CREATE',
      userInfo: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
      object: { kind: 'ConfigMap', data: { a: '1' } },
      oldObject: null,
      dryRun: false,
      options: { kind: 'CreateOptions', fieldManager: 'me' },
    });
  });

  it('[V52] are called in the order of names, and once more where they ask for it', async () => {
    const server = await withWebhooks({ a: appending('a'), b: appending('b'), c: appending('c') });
    await register(server, 'Mutating', [webhook('c')], 'z-last');
    await register(
      server,
      'Mutating',
      [webhook('b', { reinvocationPolicy: 'IfNeeded' }), webhook('a')],
      'first',
    );
    const created = await server.post(MAPS, map('m'));
    expect(created.body.metadata.annotations.trace).toBe('bacb');
  });

  it('[V52] are called for updates, patches, applies and deletions, with the old object', async () => {
    const server = await withWebhooks({ hook: allow });
    await server.post(MAPS, map('m'));
    await register(server, 'Mutating', [webhook('hook')]);
    await server.put(`${MAPS}/m`, { ...map('m'), data: { a: '2' } });
    await server.merge(`${MAPS}/m`, { data: { a: '3' } });
    await server.apply(`${MAPS}/n`, { apiVersion: 'v1', kind: 'ConfigMap', ...map('n') });
    await server.delete(`${MAPS}/m`, { gracePeriodSeconds: 0 });
    expect(
      server.calls.map(({ review: { request } }) => [
        request.operation,
        request.oldObject?.data.a,
        request.object?.data.a,
        request.options.kind,
      ]),
    ).toEqual([
      ['UPDATE', '1', '2', 'UpdateOptions'],
      ['UPDATE', '2', '3', 'UpdateOptions'],
      ['CREATE', undefined, '1', 'CreateOptions'],
      ['DELETE', '3', undefined, 'DeleteOptions'],
    ]);
  });

  it('[V52] decide anew when the object changes while they think', async () => {
    let meddle: (() => Promise<unknown>) | undefined;
    const server = await withWebhooks({
      slow: async (review) => {
        const first = meddle;
        meddle = undefined;
        await first?.();
        return reply(review, { allowed: true });
      },
    });
    await server.post(MAPS, map('m'));
    await register(server, 'Mutating', [webhook('slow')]);
    const direct = server.server.store;
    meddle = () =>
      direct.write('/core/configmaps/root/default/m', (current) => ({
        ...(current?.object ?? { apiVersion: '', kind: '', metadata: {} }),
        data: { a: '1', b: 'kept' },
      }));
    const patched = await server.merge(`${MAPS}/m`, { data: { c: 'new' } });
    expect(patched.status, patched.text).toBe(200);
    expect(patched.body.data).toEqual({ a: '1', b: 'kept', c: 'new' });
    expect(server.calls).toHaveLength(2);
    // Who named a version has lost it.
    const live = (await server.get(`${MAPS}/m`)).body;
    meddle = () =>
      direct.write('/core/configmaps/root/default/m', (current) => ({
        ...(current?.object ?? { apiVersion: '', kind: '', metadata: {} }),
        data: {},
      }));
    const put = await server.put(`${MAPS}/m`, { ...live, data: { mine: '1' } });
    expect(put.status).toBe(409);
    expect(put.body.message).toContain('the object has been modified');
  });

  it('[V17] [V44] make nothing whose namespace or definition has gone while they think', async () => {
    let meddle: (() => Promise<unknown>) | undefined;
    const server = await withWebhooks({
      slow: async (review) => {
        await meddle?.();
        return reply(review, { allowed: true });
      },
    });
    await server.post('/api/v1/namespaces', { metadata: { name: 'shop' } });
    await server.post('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', {
      metadata: { name: 'things.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Cluster',
        names: { plural: 'things', kind: 'Thing' },
        versions: [
          { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } },
        ],
      },
    });
    const rule = { apiVersions: ['*'], operations: ['CREATE'] };
    const rules = [
      { ...rule, apiGroups: [''], resources: ['configmaps'] },
      { ...rule, apiGroups: ['example.com'], resources: ['things'] },
    ];
    await register(server, 'Validating', [webhook('slow', { rules })]);
    const { store } = server.server;
    meddle = () => store.write('/core/namespaces/root/-/shop', () => null);
    expect((await server.post('/api/v1/namespaces/shop/configmaps', map('m'))).status).toBe(404);
    expect(store.count('/core/configmaps/root/shop/')).toBe(0);

    meddle = () =>
      store.write('/apiextensions.k8s.io/customresourcedefinitions/root/-/things.example.com', () => null);
    expect((await server.post('/apis/example.com/v1/things', { metadata: { name: 't' } })).status).toBe(404);
    expect(store.count('/example.com/things/')).toBe(0);
  });

  it('[V77] let nothing into another logical cluster that got the name while they think', async () => {
    let meddle: (() => Promise<unknown>) | undefined;
    const server = await withWebhooks({
      slow: async (review) => {
        await meddle?.();
        return reply(review, { allowed: true });
      },
    });
    const { post, runtime } = server;
    const begin = async (): Promise<void> => {
      await Promise.all([server.server.createCluster('a'), runtime.clock.settle()]);
    };
    await begin();
    await post(`/clusters/a${CONFIGURATIONS}/validatingwebhookconfigurations`, {
      metadata: { name: 'hooks' },
      webhooks: [webhook('slow')],
    });
    meddle = async () => {
      meddle = undefined;
      await server.server.deleteCluster('a');
      await server.server.createCluster('a');
    };
    const answer = await post(`/clusters/a${MAPS}`, map('m'));
    expect(answer.status, answer.text).toBe(404);
    expect(server.server.clusters()).toContain('a');
    expect(server.server.store.get('/core/configmaps/a/default/m')).toBeUndefined();
  });

  it('[V52] cannot change deletions, names, or parts that the request does not write', async () => {
    const server = await withWebhooks({
      remove: patching({ op: 'add', path: '/metadata/labels', value: {} }),
      rename: patching({ op: 'replace', path: '/metadata/name', value: 'other' }),
      broken: patching({ op: 'remove', path: '/data/absent' }),
    });
    await server.post(MAPS, map('m'));
    const only = (name: string, label: string): object =>
      webhook(name, { objectSelector: { matchLabels: { hook: label } } });
    await register(server, 'Mutating', [
      webhook('remove', {
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['configmaps'], operations: ['DELETE'] }],
      }),
      only('rename', 'rename'),
      only('broken', 'broken'),
    ]);
    const gone = await server.delete(`${MAPS}/m`);
    expect(gone.status).toBe(500);
    expect(gone.body.message).toContain('not supported for this operation');
    for (const hook of ['rename', 'broken'])
      expect((await server.post(MAPS, map('n', { labels: { hook } }))).status).toBe(500);
    expect((await server.post(MAPS, map('n'))).status).toBe(201);
  });

  it('[V52] see a Scale where a Scale is written', async () => {
    const server = await withWebhooks({
      most: patching({ op: 'replace', path: '/spec/replicas', value: 3 }),
    });
    const path = '/apis/apps/v1/namespaces/default/deployments';
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    await server.post(path, {
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    });
    await register(server, 'Mutating', [
      webhook('most', {
        rules: [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*/scale'], operations: ['UPDATE'] }],
      }),
    ]);
    const scaled = await server.merge(`${path}/d/scale`, { spec: { replicas: 9 } });
    expect(scaled.body.spec.replicas).toBe(3);
    expect(server.calls[0]?.review.request).toMatchObject({
      kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
      resource: { group: 'apps', version: 'v1', resource: 'deployments' },
      subResource: 'scale',
      object: { kind: 'Scale', spec: { replicas: 9 } },
    });
  });
});

describe('validating webhooks', () => {
  it('[V52] refuse with their own words and code', async () => {
    const answers: Record<string, object | undefined> = {
      plain: undefined,
      said: { message: 'no', code: 403, reason: 'Forbidden' },
      reason: { reason: 'Teapot', code: 200 },
    };
    const server = await withWebhooks({
      judge: (review) =>
        reply(review, { allowed: false, status: answers[review.request.name], warnings: ['mind the gap'] }),
    });
    await register(server, 'Validating', [webhook('judge')]);
    const refused = async (name: string): Promise<unknown[]> => {
      const { status, body, headers } = await server.post(MAPS, map(name));
      return [status, body.reason, body.message, headers.warning];
    };
    const said = 'admission webhook "judge.example.com" denied the request';
    const warning = '299 - "mind the gap"';
    expect(await refused('plain')).toEqual([400, undefined, `${said} without explanation`, warning]);
    expect(await refused('said')).toEqual([403, 'Forbidden', `${said}: no`, warning]);
    expect(await refused('reason')).toEqual([400, 'Teapot', `${said}: Teapot`, warning]);
    expect((await server.get(`${MAPS}/said`)).status).toBe(404);
  });

  it('[V52] are asked all at once, about the object as the mutating ones left it', async () => {
    let waiting = 0;
    let release: () => void = () => {};
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const meet: Respond = async (review) => {
      waiting += 1;
      if (waiting === 2) release();
      await both;
      return reply(review, { allowed: review.request.object.metadata.labels?.added === 'yes' });
    };
    const server = await withWebhooks({
      labeler: patching({ op: 'add', path: '/metadata/labels', value: { added: 'yes' } }),
      one: meet,
      two: meet,
    });
    await register(server, 'Validating', [webhook('one'), webhook('two')]);
    await register(server, 'Mutating', [webhook('labeler')]);
    expect((await server.post(MAPS, map('m'))).status).toBe(201);
  });

  it('[V52] see nothing of writes that are refused before, and run for dry runs', async () => {
    const server = await withWebhooks({ hook: allow });
    await register(server, 'Validating', [webhook('hook')]);
    expect((await server.post(MAPS, { metadata: { name: 'Not Valid' } })).status).toBe(422);
    expect(server.calls).toHaveLength(0);
    expect((await server.post(`${MAPS}?dryRun=All`, map('m'))).status).toBe(201);
    expect(server.calls[0]?.review.request).toMatchObject({ dryRun: true, options: { dryRun: ['All'] } });
    expect((await server.get(`${MAPS}/m`)).status).toBe(404);
  });
});

describe('webhooks', () => {
  it('[V52] are chosen by rule, namespace, labels and conditions', async () => {
    const server = await withWebhooks({ hook: allow });
    await server.post('/api/v1/namespaces', { metadata: { name: 'watched', labels: { watched: 'yes' } } });
    await register(server, 'Validating', [
      webhook('hook', {
        namespaceSelector: { matchLabels: { watched: 'yes' } },
        objectSelector: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
        matchConditions: [{ name: 'not-b', expression: "object == null || !('b' in object.data)" }],
      }),
    ]);
    const inside = '/api/v1/namespaces/watched/configmaps';
    await server.post(MAPS, map('outside'));
    await server.post(inside, map('skipped', { labels: { skip: '' } }));
    await server.post(inside, { metadata: { name: 'has-b' }, data: { b: '1' } });
    await server.post('/api/v1/namespaces/watched/secrets', { metadata: { name: 's' } });
    expect(server.calls).toHaveLength(0);
    await server.post(inside, map('seen'));
    expect(server.calls.map(({ review }) => review.request.name)).toEqual(['seen']);
    // One of old and new having the labels is enough.
    await server.merge(`${inside}/seen`, { metadata: { labels: { skip: '' } } });
    expect(server.calls).toHaveLength(2);
  });

  it('[V52] get equivalent requests in the version that they know', async () => {
    const server = await withWebhooks({ hook: allow });
    const rules = [{ apiGroups: [''], apiVersions: ['v1'], resources: ['events'], operations: ['CREATE'] }];
    await register(server, 'Validating', [webhook('hook', { rules })], 'equivalent');
    await register(server, 'Validating', [webhook('hook', { rules, matchPolicy: 'Exact' })], 'exact');
    const answer = await server.post('/apis/events.k8s.io/v1/namespaces/default/events', {
      metadata: { name: 'e' },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'c.example.com/x',
      reportingInstance: 'i',
      action: 'Act',
      reason: 'Because',
      type: 'Normal',
      regarding: { kind: 'Pod', name: 'p', namespace: 'default' },
      note: 'hello',
    });
    expect(answer.status, answer.text).toBe(201);
    expect(server.calls.map(({ review }) => review.request)).toMatchObject([
      {
        kind: { group: '', version: 'v1', kind: 'Event' },
        resource: { group: '', version: 'v1', resource: 'events' },
        requestKind: { group: 'events.k8s.io', version: 'v1', kind: 'Event' },
        requestResource: { group: 'events.k8s.io', version: 'v1', resource: 'events' },
        object: { apiVersion: 'v1', message: 'hello', involvedObject: { name: 'p' } },
      },
    ]);
  });

  it('[V52] are asked about what is done to objects, such as evictions and bindings', async () => {
    const server = await withWebhooks({
      hook: (review) => reply(review, { allowed: review.request.subResource === 'binding' }),
    });
    const pods = '/api/v1/namespaces/default/pods';
    await server.post(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
    await register(server, 'Validating', [
      webhook('hook', {
        rules: [{ apiGroups: [''], apiVersions: ['v1'], resources: ['pods/*'], operations: ['CREATE'] }],
      }),
    ]);
    const eviction = await server.post(`${pods}/p/eviction`, {
      apiVersion: 'policy/v1',
      kind: 'Eviction',
      metadata: { name: 'p' },
    });
    expect(eviction.status).toBe(400);
    expect(
      (await server.post(`${pods}/p/binding`, { metadata: { name: 'p' }, target: { name: 'n' } })).status,
    ).toBe(201);
    expect(server.calls.map(({ review }) => [review.request.subResource, review.request.kind.kind])).toEqual([
      ['eviction', 'Eviction'],
      ['binding', 'Binding'],
    ]);
  });

  it('[V52] are never asked about configurations of admission', async () => {
    const server = await withWebhooks({});
    const rules = [{ apiGroups: ['*'], apiVersions: ['*'], resources: ['*'], operations: ['*'] }];
    await register(server, 'Mutating', [webhook('gone', { rules })]);
    const path = `${CONFIGURATIONS}/mutatingwebhookconfigurations/hooks`;
    expect((await server.post(MAPS, map('m'))).status).toBe(500);
    expect((await server.delete(path)).status).toBe(200);
    expect((await server.post(MAPS, map('m'))).status).toBe(201);
  });

  it('[V52] that fail stop the write or are passed over, as their policy says', async () => {
    const wrong: Record<string, Respond> = {
      uid: (review) => ({ ...reply(review, {}), response: { uid: 'other', allowed: true } }),
      empty: () => ({}),
      kind: (review) => ({ ...reply(review, { allowed: true }), kind: 'Something' }),
      patch: (review) => reply(review, { allowed: true, patch: 'W10=' }),
    };
    const server = await withWebhooks(wrong);
    await register(server, 'Mutating', [
      ...['uid', 'empty', 'kind', 'patch', 'absent'].map((name) =>
        webhook(name, { objectSelector: { matchLabels: { hook: name } } }),
      ),
      webhook('lost', { failurePolicy: 'Ignore' }),
    ]);
    const failing = async (hook: string): Promise<string> => {
      const { status, body } = await server.post(MAPS, map('m', { labels: { hook } }));
      expect([status, body.reason]).toEqual([500, 'InternalError']);
      return body.message.replace(
        `Internal error occurred: failed calling webhook "${hook}.example.com": `,
        '',
      );
    };
    const invalid = 'received invalid webhook response:';
    expect(await failing('uid')).toMatch(
      /^received invalid webhook response: expected response.uid="[-0-9a-f]+", got "other"$/,
    );
    expect(await failing('empty')).toBe(`${invalid} webhook response was absent`);
    expect(await failing('kind')).toBe(
      `${invalid} expected webhook response of admission.k8s.io/v1, Kind=AdmissionReview, got admission.k8s.io/v1, Kind=Something`,
    );
    expect(await failing('patch')).toBe(
      `${invalid} webhook returned response.patch but not response.patchType`,
    );
    expect(await failing('absent')).toBe(
      'failed to call webhook: Post "https://absent/hook?timeout=10s": nobody is at absent',
    );
    expect((await server.post(MAPS, map('m'))).status).toBe(201);
  });

  it('[V52] tell the audit what they note, and that they were passed over', async () => {
    const events: { annotations?: Readonly<Record<string, string>> }[] = [];
    const server = await withWebhooks(
      { noting: (review) => reply(review, { allowed: true, auditAnnotations: { seen: 'all' } }) },
      { audit: (event) => events.push(event) },
    );
    await register(server, 'Validating', [webhook('noting'), webhook('lost', { failurePolicy: 'Ignore' })]);
    expect((await server.post(MAPS, map('m'))).status).toBe(201);
    expect(events.at(-1)?.annotations).toMatchObject({
      'noting.example.com/seen': 'all',
      'failed-open.validating.webhook.admission.k8s.io/round_0_index_1': 'lost.example.com',
    });
  });

  it('[V52] have as long as their configuration grants them', async () => {
    let aborted = false;
    const server = await withWebhooks({
      slow: (_review, _target, signal) =>
        new Promise(() =>
          signal.addEventListener('abort', () => {
            aborted = true;
          }),
        ),
    });
    await register(server, 'Validating', [webhook('slow', { timeoutSeconds: 3 })]);
    const began = server.runtime.clock.monotonic();
    const answer = server.admin({
      method: 'POST',
      path: MAPS,
      headers: { 'content-type': 'application/json' },
      body: Buffer.from(JSON.stringify(map('m'))),
    });
    await server.runtime.clock.advance(2_999);
    expect(aborted).toBe(false);
    await server.runtime.clock.advance(1);
    const { status, body } = await answer;
    expect(server.runtime.clock.monotonic() - began).toBe(3_000);
    expect(aborted).toBe(true);
    expect(status).toBe(500);
    expect(Buffer.from(body as Uint8Array).toString()).toContain('?timeout=3s\\": context deadline exceeded');
  });

  it('[V52] behind a Service are found by its Endpoints', async () => {
    const targets: WebhookTarget[] = [];
    const server = await withWebhooks({
      'hooks.tools.svc': (review, target) => {
        targets.push(target);
        return reply(review, { allowed: true });
      },
    });
    const service = { namespace: 'tools', name: 'hooks', path: '/check' };
    await register(server, 'Validating', [webhook('hook', { clientConfig: { service } })]);
    const failing = async (): Promise<string> => (await server.post(MAPS, map('m'))).body.message;
    const prefix =
      'Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://hooks.tools.svc:443/check?timeout=10s":';
    expect(await failing()).toBe(`${prefix} service "hooks" not found`);
    await server.post('/api/v1/namespaces', { metadata: { name: 'tools' } });
    await server.post('/api/v1/namespaces/tools/services', {
      metadata: { name: 'hooks' },
      spec: { ports: [{ port: 443, targetPort: 8443 }] },
    });
    expect(await failing()).toBe(`${prefix} no endpoints available for service "hooks"`);
    await server.post('/api/v1/namespaces/tools/endpoints', {
      metadata: { name: 'hooks' },
      subsets: [{ addresses: [{ ip: '10.1.2.3' }], ports: [{ port: 8443 }] }],
    });
    expect((await server.post(MAPS, map('m'))).status).toBe(201);
    expect(targets).toEqual([
      {
        cluster: 'root',
        url: 'https://hooks.tools.svc:443/check?timeout=10s',
        address: { host: '10.1.2.3', port: 8443 },
      },
    ]);
  });
});
