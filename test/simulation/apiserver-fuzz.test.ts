import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../../src/apiserver/server.fixture.ts';
import type { Handler, Request, Response } from '../../src/kube/exchange.ts';

const SEED = Number(process.env['ATOLL_FUZZ_SEED'] ?? 3);
const RUNS = Number(process.env['ATOLL_FUZZ_RUNS'] ?? 2_000);
/** In objects of cluster `b`, and in no request. */
const SECRET = 'qx7-only-in-b';

const word = fc.constantFrom(
  ...[
    'api',
    'apis',
    'v1',
    'apps',
    'v1beta1',
    'namespaces',
    'default',
    'configmaps',
    'secrets',
    'pods',
    'deployments',
  ],
  ...[
    'things',
    'example.com',
    'status',
    'scale',
    'x',
    'clusters',
    'a',
    '*',
    'consumers',
    'openapi',
    'v2',
    'v3',
  ],
  ...[
    'watch',
    'proxy',
    'log',
    'exec',
    'binding',
    'eviction',
    'token',
    'finalize',
    'approval',
    'ephemeralcontainers',
  ],
  ...[
    'customresourcedefinitions',
    'apiextensions.k8s.io',
    'rbac.authorization.k8s.io',
    'clusterroles',
    'metrics',
  ],
  ...[
    '',
    '.',
    '..',
    '%2e%2e',
    '%2F',
    '%',
    '%zz',
    '%00',
    'ü',
    '%F0%9F%98%80',
    ';',
    '\\',
    'default%20',
    'nodes',
    'logs',
  ],
);
const typical = fc.constantFrom(
  ...[
    '/api/v1/namespaces/default/configmaps',
    '/api/v1/namespaces/default/configmaps/x',
    '/api/v1/namespaces/x',
  ],
  ...['/apis/apps/v1/namespaces/default/deployments', '/apis/apps/v1/namespaces/default/deployments/x'],
  ...[
    '/apis/apps/v1/namespaces/default/deployments/x/scale',
    '/apis/apps/v1/namespaces/default/deployments/x/status',
  ],
  ...['/apis/example.com/v1/namespaces/default/things', '/apis/example.com/v1/namespaces/default/things/x'],
  ...['/apis/apiextensions.k8s.io/v1/customresourcedefinitions', '/api/v1/namespaces/default/pods/x'],
  ...[
    '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
    '/apis/authentication.k8s.io/v1/tokenreviews',
  ],
  ...[
    '/api/v1/namespaces/default/serviceaccounts/default/token',
    '/api/v1/namespaces/default/pods/x/eviction',
  ],
  ...[
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    '/api/v1/nodes/x',
    '/openapi/v2',
    '/api/v1',
  ],
  ...['/api/v1/namespaces/default/services', '/apis/batch/v1/namespaces/default/cronjobs', '/api/v1/secrets'],
  ...[
    '/apis/certificates.k8s.io/v1/certificatesigningrequests',
    '/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers',
  ],
);
const prefix = fc.constantFrom(
  ...['', '', '', '/clusters/a', '/clusters/a', '/clusters/a/', '/clusters/*', '/clusters/b', '//clusters/b'],
  ...[
    '/clusters/a/../b',
    '/clusters/a%2F..%2Fb',
    '/clusters/a/clusters/b',
    '/clusters/%62',
    '/clusters/a:b',
    '/clusters/A',
  ],
  ...[
    '/clusters/a/..%2fb',
    '/clusters/b/consumers',
    '/clusters/root',
    '/clusters/',
    '/clusters/b%00',
    '/clusters/b;',
  ],
);
const queryValue = fc.oneof(
  fc.constantFrom(
    '1',
    'true',
    '0',
    '-1',
    '',
    '999999999999999999999',
    'All',
    'Strict',
    'x',
    'a=b',
    'a in (b,c)',
    '!a',
  ),
  fc.constantFrom(
    'metadata.name=x',
    'status.phase!=y',
    '%',
    '%00',
    'NotOlderThan',
    'Exact',
    'Foreground',
    '1e9',
    'NaN',
  ),
  fc
    .string({ maxLength: 12 })
    .map(encodeURIComponent)
    .filter((text) => text !== ''),
  fc.base64String({ maxLength: 40 }).map(encodeURIComponent),
);
const query = fc
  .array(
    fc.tuple(
      fc.constantFrom(
        ...[
          'watch',
          'limit',
          'continue',
          'labelSelector',
          'fieldSelector',
          'resourceVersion',
          'resourceVersionMatch',
        ],
        ...[
          'timeoutSeconds',
          'fieldManager',
          'force',
          'dryRun',
          'pretty',
          'propagationPolicy',
          'gracePeriodSeconds',
        ],
        ...[
          'sendInitialEvents',
          'allowWatchBookmarks',
          'fieldValidation',
          'orphanDependents',
          'includeObject',
          'command',
        ],
      ),
      queryValue,
    ),
    { maxLength: 4 },
  )
  .map((pairs) => pairs.map(([key, value]) => `${key}=${value}`).join('&'));
const path = fc
  .tuple(
    prefix,
    fc.oneof(
      { weight: 3, arbitrary: typical },
      { weight: 2, arbitrary: fc.array(word, { maxLength: 8 }).map((words) => `/${words.join('/')}`) },
    ),
    query,
  )
  .map(([before, rest, asked]) => `${before}${rest}${asked === '' ? '' : `?${asked}`}`);

const leaf = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1.5,
    1e21,
    2 ** 53,
    '',
    'x',
    'Always',
    '10Mi',
    '50%',
    '\u0000',
    '\ud800',
    '🙂',
  ),
  fc.constantFrom<unknown>(
    [],
    {},
    [null],
    [[]],
    { a: null },
    [{ name: 'x' }, { name: 'x' }],
    'a'.repeat(5_000),
  ),
);
const FIELDS = [
  ...[
    'apiVersion',
    'kind',
    'metadata',
    'name',
    'namespace',
    'labels',
    'annotations',
    'finalizers',
    'ownerReferences',
    'uid',
  ],
  ...[
    'resourceVersion',
    'generation',
    'managedFields',
    'creationTimestamp',
    'generateName',
    'deletionTimestamp',
    'spec',
  ],
  ...[
    'status',
    'data',
    'binaryData',
    'replicas',
    'selector',
    'matchLabels',
    'template',
    'containers',
    'image',
    'ports',
  ],
  ...[
    'env',
    'volumes',
    'strategy',
    'rules',
    'schedule',
    'jobTemplate',
    'group',
    'names',
    'plural',
    'versions',
    'schema',
  ],
  ...[
    'openAPIV3Schema',
    'properties',
    'x-kubernetes-validations',
    'items',
    'op',
    'path',
    'value',
    'from',
    '$patch',
  ],
  ...[
    '$setElementOrder/containers',
    '$retainKeys',
    '__proto__',
    'constructor',
    'toString',
    '',
    '/',
    '~',
    'f:metadata',
  ],
];
const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5, depthSize: 'small' },
    leaf,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.array(fc.tuple(fc.constantFrom(...FIELDS), tie('value')), { maxLength: 6 }).map(Object.fromEntries),
  ),
})).value;
/** Close to valid: what is right in all but a few places goes deeper than what is wrong at once. */
const VALID: readonly object[] = [
  { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x', labels: { a: 'b' } }, data: { a: 'b' } },
  {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'x', finalizers: ['x.y/z'] },
    spec: {
      replicas: 1,
      selector: { matchLabels: { a: 'b' } },
      strategy: { rollingUpdate: { maxSurge: '25%' } },
      template: {
        metadata: { labels: { a: 'b' } },
        spec: {
          containers: [
            { name: 'c', image: 'i', env: [{ name: 'e', value: 'v' }], resources: { limits: { cpu: '1' } } },
          ],
        },
      },
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'x' },
    spec: {
      containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 80 }] }],
      tolerations: [{ key: 'k' }],
      volumes: [{ name: 'v', emptyDir: {} }],
    },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'x' },
    spec: { ports: [{ port: 80, targetPort: 'http' }], selector: { a: 'b' } },
  },
  {
    apiVersion: 'example.com/v1',
    kind: 'Thing',
    metadata: { name: 'x' },
    spec: { size: 1, parts: [{ name: 'p' }] },
  },
  {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: 'others.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'others', kind: 'Other' },
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
                  'x-kubernetes-validations': [{ rule: 'self.a > 1' }],
                  properties: { a: { type: 'integer', default: 1 } },
                },
              },
            },
          },
        },
      ],
    },
  },
  {
    apiVersion: 'batch/v1',
    kind: 'CronJob',
    metadata: { name: 'x' },
    spec: {
      schedule: '* * * * *',
      jobTemplate: {
        spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'i' }] } } },
      },
    },
  },
  { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'x' }, propagationPolicy: 'Foreground' },
  [
    { op: 'replace', path: '/spec/replicas', value: 2 },
    { op: 'copy', from: '/spec', path: '/metadata/labels/x' },
  ],
  {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes: { verb: 'get', resource: 'pods' } },
  },
  {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    metadata: { name: 'x' },
    spec: {
      matchConstraints: {
        resourceRules: [
          { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['none'] },
        ],
      },
      validations: [{ expression: 'object.x == 1' }],
    },
  },
];

/** Replaces what is at one random place. */
function mutated(object: unknown, places: readonly number[], value: unknown): unknown {
  const [place, ...rest] = places;
  if (place === undefined || object === null || typeof object !== 'object') return value;
  const keys = Object.keys(object);
  const key = keys[place % Math.max(1, keys.length)];
  if (key === undefined) return value;
  const copy = (Array.isArray(object) ? [...object] : { ...object }) as Record<string, unknown>;
  copy[key] = mutated((object as Record<string, unknown>)[key], rest, value);
  return copy;
}

const text = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(fc.constantFrom(...VALID), fc.array(fc.nat(7), { maxLength: 7 }), json)
      .map(([valid, places, value]) => JSON.stringify(mutated(valid, places, value))),
  },
  { weight: 1, arbitrary: fc.constantFrom(...VALID).map((valid) => JSON.stringify(valid)) },
  { weight: 1, arbitrary: json.map((value) => JSON.stringify(value) ?? '') },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom(...VALID), fc.nat(400))
      .map(([valid, end]) => JSON.stringify(valid).slice(0, end)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      'a: &a [*a]',
      'a: &x {b: 1}\nc: *x',
      '{"a":1,"a":2}',
      '- - - -',
      '? :',
      '!!js/function x',
      '%YAML 1.2',
      '\ufeff{}',
      'x: 2020-01-01',
      '{{',
      '---\n---',
    ),
  },
);
const bytes = fc.oneof(
  { weight: 6, arbitrary: text.map((each) => new Uint8Array(Buffer.from(each))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }) },
  {
    weight: 1,
    arbitrary: fc
      .uint8Array({ maxLength: 200 })
      .map((rest) => new Uint8Array([0x6b, 0x38, 0x73, 0, ...rest])),
  },
);
const request: fc.Arbitrary<Request> = fc.record({
  method: fc.constantFrom(
    'GET',
    'GET',
    'POST',
    'POST',
    'PUT',
    'PATCH',
    'PATCH',
    'DELETE',
    'HEAD',
    'OPTIONS',
    'TRACE',
    'BREW',
    '',
  ),
  path,
  headers: fc
    .record(
      {
        'content-type': fc.constantFrom(
          'application/json',
          'application/yaml',
          'application/vnd.kubernetes.protobuf',
          'application/merge-patch+json',
          'application/json-patch+json',
          'application/strategic-merge-patch+json',
          'application/apply-patch+yaml',
          'text/plain',
          '',
          'x',
          'application/json; charset=\u0000',
        ),
        accept: fc.constantFrom(
          '*/*',
          'application/json',
          'application/yaml',
          'application/json;as=Table;v=v1;g=meta.k8s.io',
          'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io',
          'application/vnd.kubernetes.protobuf',
          'application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io',
          'image/png',
          ';;;',
          'application/com.github.proto-openapi.spec.v2@v1.0+protobuf',
        ),
        'accept-encoding': fc.constantFrom('gzip', 'identity', '*;q=0'),
        'impersonate-user': fc.constantFrom('x', 'system:admin', '', 'system:serviceaccount:default:default'),
        'impersonate-group': fc.constantFrom('system:masters', 'x'),
        'user-agent': fc.constantFrom('', 'kubectl/v1.20', 'x'.repeat(300)),
      },
      { requiredKeys: [] },
    )
    .map((headers) => headers as Record<string, string>),
  body: bytes,
});

/** Where objects of each kind live, so that what is nearly right gets far. */
const HOME: Readonly<Record<string, string>> = {
  ConfigMap: '/api/v1/namespaces/default/configmaps',
  Deployment: '/apis/apps/v1/namespaces/default/deployments',
  Pod: '/api/v1/namespaces/default/pods',
  Service: '/api/v1/namespaces/default/services',
  Thing: '/apis/example.com/v1/namespaces/default/things',
  CustomResourceDefinition: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
  CronJob: '/apis/batch/v1/namespaces/default/cronjobs',
  ValidatingAdmissionPolicy: '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
  SelfSubjectAccessReview: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
};
const PATCHES: Readonly<Record<string, string>> = {
  merge: 'merge-patch',
  strategic: 'strategic-merge-patch',
  apply: 'apply-patch',
  json: 'json-patch',
};
const targeted: fc.Arbitrary<Request> = fc
  .record({
    valid: fc.constantFrom(
      ...(VALID as { kind: string; metadata?: { name: string } }[]).filter(({ kind }) => kind in HOME),
    ),
    places: fc.array(fc.nat(7), { maxLength: 7 }),
    value: json,
    verb: fc.constantFrom(
      'POST',
      'POST',
      'PUT',
      'merge',
      'strategic',
      'apply',
      'json',
      'DELETE',
      'GET',
      'watch',
    ),
    subresource: fc.constantFrom('', '', '', '', '/status', '/scale'),
    cluster: fc.constantFrom('', '/clusters/a'),
    query,
    accept: fc.constantFrom('*/*', 'application/json;as=Table;v=v1;g=meta.k8s.io', 'application/yaml'),
  })
  .map(({ valid, places, value, verb, subresource, cluster, query: asked, accept }) => {
    const object = mutated(valid, places, value);
    const home = `${cluster}${HOME[valid.kind]}`;
    const named = `${home}/${valid.metadata?.name ?? 'x'}${subresource}`;
    const patched = PATCHES[verb];
    const fields = verb === 'apply' ? 'fieldManager=x&force=true&' : verb === 'watch' ? 'watch=1&' : '';
    return {
      method: patched === undefined ? (verb === 'watch' ? 'GET' : verb) : 'PATCH',
      path: `${verb === 'POST' || verb === 'watch' ? home : named}?${fields}${asked}`,
      headers: {
        accept,
        'content-type': `application/${patched === undefined ? '' : `${patched}+`}${verb === 'apply' ? 'yaml' : 'json'}`,
      },
      body: new Uint8Array(
        Buffer.from(
          JSON.stringify(verb === 'json' ? [{ op: 'replace', path: '/spec', value: object }] : object),
        ),
      ),
    };
  });
const anything = fc.oneof({ weight: 2, arbitrary: targeted }, { weight: 1, arbitrary: request });

let fixture: Fixture;
let admin: Handler;
let ofA: Handler;
beforeAll(async () => {
  fixture = await startServer();
  for (const name of ['a', 'b']) {
    const made = fixture.server.createCluster(name);
    await fixture.runtime.clock.settle();
    await made;
  }
  admin = fixture.server.as({ name: 'admin', groups: ['system:masters'] });
  ofA = fixture.server.as({ name: 'ann', groups: ['system:authenticated'] });
  await fixture.post('/clusters/a/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
    metadata: { name: 'ann' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'ann' }],
  });
  for (const kind of ['configmaps', 'secrets'])
    await fixture.post(`/clusters/b/api/v1/namespaces/default/${kind}`, {
      metadata: { name: 'x', labels: { [SECRET]: '' } },
      data: {},
    });
  await fixture.post(
    '/clusters/b/apis/apiextensions.k8s.io/v1/customresourcedefinitions',
    definition(`${SECRET}s`),
  );
  for (const cluster of ['', '/clusters/a'])
    await fixture.post(
      `${cluster}/apis/apiextensions.k8s.io/v1/customresourcedefinitions`,
      definition('things'),
    );
});
afterAll(() => fixture?.server.close());

function definition(plural: string): object {
  const part = { type: 'object', properties: { name: { type: 'string' } } };
  return {
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind: 'Thing' },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          subresources: {
            status: {},
            scale: { specReplicasPath: '.spec.size', statusReplicasPath: '.status.size' },
          },
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: {
                spec: {
                  type: 'object',
                  'x-kubernetes-validations': [{ rule: '!has(self.size) || self.size < 10' }],
                  properties: {
                    size: { type: 'integer', default: 1 },
                    parts: {
                      type: 'array',
                      items: part,
                      'x-kubernetes-list-type': 'map',
                      'x-kubernetes-list-map-keys': ['name'],
                    },
                  },
                },
              },
            },
          },
        },
      ],
    },
  };
}

/** The answer with what a stream says at once; a stream is ended then. */
async function ask(
  handler: Handler,
  asked: Request,
): Promise<{ status: number; text: string; headers: Response['headers'] }> {
  const abort = new AbortController();
  const answering = handler({ ...asked, signal: abort.signal });
  answering.catch(() => undefined);
  await fixture.runtime.clock.settle();
  // What waits for a time, such as a revision that never comes, waits for seconds only.
  await fixture.runtime.clock.advance(61_000);
  const { status, headers, body } = await answering;
  if (body instanceof Uint8Array) return { status, headers, text: Buffer.from(body).toString() };
  const iterator = body[Symbol.asyncIterator]();
  const chunks: Uint8Array[] = [];
  const first = iterator.next();
  await fixture.runtime.clock.settle();
  abort.abort();
  await fixture.runtime.clock.settle();
  const { done, value } = await first.catch(() => ({ done: true, value: undefined }));
  if (done !== true && value !== undefined) chunks.push(value);
  await iterator.return?.();
  return { status, headers, text: Buffer.concat(chunks).toString() };
}

/** Bodies that cannot be decoded are 500 where Kubernetes has them so, but without a reason: a fault of the server has one. */
function isFault({ status, text }: { status: number; text: string }): boolean {
  if (text === '') return false; // HEAD
  return status === 500 && /^ *"?reason"?:|"reason":/m.test(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false; // which is what is asked
  }
}

const shown = ({ method, path: asked, headers, body }: Request): string =>
  `${method} ${asked}\n${JSON.stringify(headers)}\n${Buffer.from((body as Uint8Array | undefined) ?? [])
    .toString()
    .slice(0, 2_000)}`;

describe(`any request (seed ${SEED})`, () => {
  it('is answered, never with an error of the server itself', async () => {
    await fc.assert(
      fc.asyncProperty(anything, async (asked) => {
        const answer = await ask(admin, asked);
        const context = `${shown(asked)}\n→ ${answer.status} ${answer.text.slice(0, 500)}`;
        expect(answer.status, context).toBeGreaterThanOrEqual(200);
        expect(isFault(answer), context).toBe(false);
        expect(answer.text, context).not.toMatch(/\n {4}at |TypeError|RangeError|undefined is not|\.ts:\d/);
        if (answer.headers['content-type']?.startsWith('application/json') && answer.text !== '')
          expect(
            isJson(answer.text) || answer.text.split('\n').every((line) => line === '' || isJson(line)),
            context,
          ).toBe(true);
      }),
      { seed: SEED, numRuns: RUNS },
    );
    // And it works as before.
    expect((await fixture.get('/readyz')).status).toBe(200);
    expect(
      (await fixture.post('/api/v1/namespaces/kube-public/configmaps', { metadata: { name: 'after' } }))
        .status,
    ).toBe(201);
  }, 60_000);

  const asksForNobody = (headers: Readonly<Record<string, string | undefined>>): boolean =>
    (headers['impersonate-user'] ?? '') === '' &&
    Object.keys(headers).some((name) => name.startsWith('impersonate-'));

  it('[V77] of an administrator of one logical cluster shows and changes nothing of another', async () => {
    const revision = (await fixture.get(`/clusters/b/api/v1/configmaps`)).body.items.length;
    const before = (await fixture.get('/clusters/b/api/v1/namespaces/default/configmaps/x')).body;
    await fc.assert(
      fc.asyncProperty(anything, async (asked) => {
        const answer = await ask(ofA, asked);
        expect(answer.text, shown(asked)).not.toContain(SECRET);
        expect(isFault(answer), `${shown(asked)}\n→ ${answer.text.slice(0, 500)}`).toBe(false);
        if (
          /^\/clusters\/(b|\*|root)(\/|$)/.test(asked.path.split('?')[0] ?? '') &&
          !asked.path.includes('/apis?')
        )
          expect([400, 401, 403, 404, 405, 406, 409, 415, 422, 200, 429], shown(asked)).toContain(
            // Who asks to act as nobody's groups is told so with a 500, as by Kubernetes.
            answer.status === 500 && asksForNobody(asked.headers) ? 403 : answer.status,
          );
      }),
      { seed: SEED + 1, numRuns: RUNS },
    );
    expect((await fixture.get('/clusters/b/api/v1/namespaces/default/configmaps/x')).body).toEqual(before);
    expect((await fixture.get('/clusters/b/api/v1/configmaps')).body.items.length).toBe(revision);
  }, 60_000);
});
