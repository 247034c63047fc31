import { describe, expect, it } from 'vitest';
import { type Fixture, startServer } from '../../server.fixture.ts';

const GROUP = '/apis/admissionregistration.k8s.io/v1';
const VALIDATING = `${GROUP}/validatingadmissionpolicies`;
const MUTATING = `${GROUP}/mutatingadmissionpolicies`;
const VALIDATING_BINDINGS = `${GROUP}/validatingadmissionpolicybindings`;
const MUTATING_BINDINGS = `${GROUP}/mutatingadmissionpolicybindings`;
const MAPS = '/api/v1/namespaces/default/configmaps';

type Json = Record<string, unknown>;

function rule(resources: string[], more: Json = {}): Json {
  return { apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources, ...more };
}

async function validating(server: Fixture, spec: Json, binding: Json = {}, name = 'p'): Promise<void> {
  const policy = { matchConstraints: { resourceRules: [rule(['configmaps'])] }, ...spec };
  const created = await server.post(VALIDATING, { metadata: { name }, spec: policy });
  expect(created.text).toContain('"uid"');
  const bound = { policyName: name, validationActions: ['Deny'], ...binding };
  expect(
    (
      await server.post(VALIDATING_BINDINGS, {
        metadata: { name: `${name}-b` },
        spec: bound,
      })
    ).status,
  ).toBe(201);
}

async function mutating(server: Fixture, name: string, spec: Json): Promise<void> {
  const policy = { matchConstraints: { resourceRules: [rule(['configmaps', 'deployments'])] }, ...spec };
  const created = await server.post(MUTATING, { metadata: { name }, spec: policy });
  expect(created.text).toContain('"uid"');
  expect(
    (
      await server.post(MUTATING_BINDINGS, {
        metadata: { name },
        spec: { policyName: name },
      })
    ).status,
  ).toBe(201);
}

function map(name: string, data: Json = {}, metadata: Json = {}): Json {
  return { metadata: { name, ...metadata }, data };
}

function says(expression: string, more: Json = {}): Json {
  return { validations: [{ expression, ...more }] };
}

describe('validating admission policies', () => {
  it('[V53] deny with the message, the reason and the code that the validation has', async () => {
    const server = await startServer();
    await validating(
      server,
      says("!object.metadata.name.startsWith('bad')", { message: 'bad names', reason: 'Forbidden' }),
    );
    const refused = await server.post(MAPS, map('bad'));
    expect(refused.body).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message:
        "configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'p-b' denied request: bad names",
    });
    expect((await server.post(MAPS, map('good'))).status).toBe(201);
  });

  it('[V53] see request, old object, namespace, variables and authorizer', async () => {
    const server = await startServer();
    await validating(server, {
      variables: [
        { name: 'label', expression: "namespaceObject.metadata.labels['kubernetes.io/metadata.name']" },
        { name: 'fine', expression: "variables.label == 'default'" },
        { name: 'never', expression: '1 / 0 == 1' },
      ],
      validations: [
        { expression: 'variables.fine' },
        {
          expression: "request.operation != 'UPDATE' || oldObject.data.a == object.data.a",
          message: 'a is fixed',
        },
        {
          expression: "authorizer.group('').resource('secrets').namespace('default').check('get').allowed()",
        },
        { expression: "authorizer.requestResource.check('create').allowed()" },
        { expression: "request.userInfo.username == 'admin' && request.resource.resource == 'configmaps'" },
      ],
    });
    expect((await server.post(MAPS, map('m', { a: '1' }))).text).toContain('"uid"');
    expect((await server.merge(`${MAPS}/m`, { data: { a: '2' } })).body.message).toContain('a is fixed');
    expect((await server.merge(`${MAPS}/m`, { data: { b: '2' } })).status).toBe(200);
  });

  it('[V53] match by rules, excluded rules, names, namespaces and labels', async () => {
    const server = await startServer();
    await server.post('/api/v1/namespaces', { metadata: { name: 'free', labels: { free: 'yes' } } });
    const matchConstraints = {
      resourceRules: [rule(['configmaps'], { operations: ['CREATE'] })],
      excludeResourceRules: [rule(['configmaps'], { resourceNames: ['excluded'] })],
      objectSelector: { matchExpressions: [{ key: 'skip', operator: 'DoesNotExist' }] },
    };
    const matchResources = {
      namespaceSelector: { matchExpressions: [{ key: 'free', operator: 'DoesNotExist' }] },
    };
    await validating(server, { ...says('false'), matchConstraints }, { matchResources });
    expect((await server.post(MAPS, map('a'))).status).toBe(422);
    expect((await server.post(MAPS, map('excluded'))).status).toBe(201);
    expect((await server.post(MAPS, map('b', {}, { labels: { skip: 'x' } }))).status).toBe(201);
    expect((await server.post('/api/v1/namespaces/free/configmaps', map('c'))).status).toBe(201);
    expect((await server.post('/api/v1/namespaces/default/secrets', map('d'))).status).toBe(201);
    expect((await server.merge(`${MAPS}/excluded`, { data: { a: 'b' } })).status).toBe(200);
  });

  it('hear of a collection that is deleted without the names in it', async () => {
    const server = await startServer();
    await server.post(MAPS, map('kept'));
    const matchConstraints = { resourceRules: [rule(['configmaps'], { operations: ['DELETE'] })] };
    const validations = [{ expression: "oldObject.metadata.name != 'kept'", message: 'stays' }];
    await validating(server, { matchConstraints, validations });
    expect((await server.delete(`${MAPS}/kept`)).body.details.name).toBe('kept');
    const refused = await server.delete(`${MAPS}?fieldSelector=metadata.name=kept`);
    expect(refused.body.message).toContain('configmaps "Unknown" is forbidden');
    expect((await server.get(`${MAPS}/kept`)).status).toBe(200);
  });

  it('[V53] take parameters by name and by selector, each by itself', async () => {
    const server = await startServer();
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const spec = { paramKind, ...says('!has(object.data) || size(object.data) <= int(params.data.max)') };
    const matchConditions = [
      {
        name: 'not-params',
        expression: "!has(object.metadata.labels) || !('limits' in object.metadata.labels)",
      },
    ];
    await validating(
      server,
      { ...spec, matchConditions },
      {
        paramRef: { selector: { matchLabels: { limits: 'yes' } }, parameterNotFoundAction: 'Deny' },
      },
    );
    expect((await server.post(MAPS, map('early', { a: '1' }))).body.message).toContain(
      'failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction',
    );
    await server.delete(`${VALIDATING_BINDINGS}/p-b`);
    await server.post(MAPS, map('limits', { max: '1' }, { labels: { limits: 'yes' } }));
    await server.post(VALIDATING_BINDINGS, {
      metadata: { name: 'again' },
      spec: {
        policyName: 'p',
        validationActions: ['Deny'],
        paramRef: { name: 'limits', parameterNotFoundAction: 'Deny' },
      },
    });
    expect((await server.post(MAPS, map('one', { a: '1' }))).status).toBe(201);
    expect((await server.post(MAPS, map('two', { a: '1', b: '2' }))).status).toBe(422);
  });

  it('[V53] do as failurePolicy says with what cannot be evaluated', async () => {
    const server = await startServer();
    await validating(server, { ...says('object.data.missing == 1'), failurePolicy: 'Ignore' }, {}, 'ignored');
    expect((await server.post(MAPS, map('a', { b: 'c' }))).status).toBe(201);
    await validating(server, says('object.data.missing == 1'), {}, 'failing');
    expect((await server.post(MAPS, map('b', { b: 'c' }))).body.message).toContain(
      "denied request: expression 'object.data.missing == 1' resulted in error: no such key: missing",
    );
  });

  it('[V53] warn, and tell the audit', async () => {
    const events: Json[] = [];
    const server = await startServer({ audit: (event) => events.push(event as unknown as Json) });
    await validating(
      server,
      {
        ...says('false', { messageExpression: "'no ' + object.metadata.name" }),
        auditAnnotations: [{ key: 'who', valueExpression: "'it was ' + request.userInfo.username" }],
      },
      { validationActions: ['Warn', 'Audit'] },
    );
    const written = await server.post(MAPS, map('a'));
    expect(written.status).toBe(201);
    expect(written.headers.warning).toContain(
      "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-b': no a",
    );
    const annotations = events.at(-1)?.annotations as Record<string, string>;
    expect(annotations['p/who']).toBe('it was admin');
    expect(JSON.parse(annotations['validation.policy.admission.k8s.io/validation_failure'] ?? '')).toEqual([
      {
        message: 'no a',
        policy: 'p',
        binding: 'p-b',
        expressionIndex: 0,
        validationActions: ['Warn', 'Audit'],
      },
    ]);
  });

  it('[V53] are stopped at their budget', async () => {
    const server = await startServer();
    const wide = Array.from({ length: 3000 }, (_, i) => i).join(',');
    await validating(server, says(`[${wide}].all(a, [${wide}].all(b, a + b >= 0))`));
    expect((await server.post(MAPS, map('a'))).body.message).toContain('cost limit exceeded');
  });

  it('[V53] are refused when they do not compile', async () => {
    const server = await startServer();
    const spec = {
      matchConstraints: { resourceRules: [rule(['configmaps'])] },
      variables: [{ name: 'a', expression: 'variables.b' }],
      ...says('request.nam == 1'),
    };
    const { body } = await server.post(VALIDATING, { metadata: { name: 'p' }, spec });
    expect(body.details.causes.map((cause: { field: string }) => cause.field)).toEqual([
      'spec.variables[0].expression',
      'spec.validations[0].expression',
    ]);
  });

  it('[V53] say in their status what does not fit the types that they are about', async () => {
    const server = await startServer();
    const named = { apiGroups: ['apps'], apiVersions: ['v1'], operations: ['*'], resources: ['deployments'] };
    await server.post(VALIDATING, {
      metadata: { name: 'p' },
      spec: {
        matchConstraints: { resourceRules: [named] },
        validations: [
          { expression: "object.spec.replicas <= 5 && object.metadata.labels['a'] == 'b'" },
          { expression: 'object.spec.replicaz <= 5', messageExpression: 'string(object.spec.replicas)' },
        ],
      },
    });
    const { status } = (await server.get(`${VALIDATING}/p`)).body;
    expect(status).toMatchObject({
      observedGeneration: 1,
      typeChecking: { expressionWarnings: [{ fieldRef: 'spec.validations[1].expression' }] },
    });
    expect(status.typeChecking.expressionWarnings[0].warning).toMatch(
      /^apps\/v1, Kind=Deployment: ERROR: <input>:1:12: undefined field 'replicaz'/,
    );
  });

  it('[V53] do not keep anybody from removing them', async () => {
    const server = await startServer();
    await validating(server, { ...says('false'), matchConstraints: { resourceRules: [rule(['*'])] } });
    expect((await server.post(MAPS, map('a'))).status).toBe(422);
    expect((await server.delete(`${VALIDATING}/p`)).status).toBe(200);
    expect((await server.post(MAPS, map('a'))).status).toBe(201);
  });
});

describe('mutating admission policies', () => {
  const labels = (expression: string): Json => ({
    patchType: 'ApplyConfiguration',
    applyConfiguration: { expression: `Object{metadata: Object.metadata{labels: ${expression}}}` },
  });

  it('[V54] merge what an apply configuration says', async () => {
    const server = await startServer({ controllers: false });
    await mutating(server, 'p', {
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression:
              "Object{spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [Object.spec.template.spec.containers{name: 'side', image: 'side:1'}]}}}}",
          },
        },
      ],
      matchConstraints: { resourceRules: [rule(['deployments'])] },
    });
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'main', image: 'main:1' }] },
    };
    const { body } = await server.post('/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    });
    expect(body.spec.template.spec.containers.map((one: { name: string }) => one.name)).toEqual([
      'main',
      'side',
    ]);
    expect(body.spec.template.spec.containers[1].terminationMessagePath).toBe('/dev/termination-log');
  });

  it('[V54] apply JSON patches, and leave alone where a test fails', async () => {
    const server = await startServer();
    const patch = (expression: string): Json => ({ patchType: 'JSONPatch', jsonPatch: { expression } });
    await mutating(server, 'p', {
      variables: [{ name: 'key', expression: "jsonpatch.escapeKey('example.com/a')" }],
      mutations: [
        patch("[JSONPatch{op: 'add', path: '/metadata/labels', value: {'first': 'yes'}}]"),
        patch(
          "[JSONPatch{op: 'add', path: '/metadata/labels/' + variables.key, value: object.metadata.name}]",
        ),
        patch(
          "[JSONPatch{op: 'test', path: '/metadata/name', value: 'x'}, JSONPatch{op: 'remove', path: '/metadata/labels'}]",
        ),
      ],
    });
    const { body } = await server.post(MAPS, map('m'));
    expect(body.metadata.labels).toEqual({ first: 'yes', 'example.com/a': 'm' });
  });

  it('[V54] write integers of 64 bits without loss', async () => {
    const server = await startServer({ controllers: false });
    await mutating(server, 'p', {
      matchConstraints: { resourceRules: [rule(['jobs'])] },
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: {
            expression:
              'Object{spec: Object.spec{activeDeadlineSeconds: object.spec.activeDeadlineSeconds + 1}}',
          },
        },
      ],
    });
    const containers = [{ name: 'main', image: 'main:1' }];
    const { text } = await server.post('/apis/batch/v1/namespaces/default/jobs', {
      metadata: { name: 'j' },
      spec: {
        activeDeadlineSeconds: 9007199254740991,
        template: { spec: { restartPolicy: 'Never', containers } },
      },
    });
    expect(text).toContain('"activeDeadlineSeconds":9007199254740992');
  });

  it('[V54] change what is written to a subresource by patches', async () => {
    const server = await startServer({ controllers: false });
    const evictions = { resourceRules: [rule(['pods/eviction'])] };
    const patch = "[JSONPatch{op: 'add', path: '/deleteOptions', value: {'gracePeriodSeconds': 7}}]";
    await mutating(server, 'p', {
      matchConstraints: evictions,
      mutations: [{ patchType: 'JSONPatch', jsonPatch: { expression: patch } }],
    });
    await validating(server, {
      matchConstraints: evictions,
      ...says('false', {
        messageExpression: "object.kind + ' after ' + string(object.deleteOptions.gracePeriodSeconds)",
      }),
    });
    const evict = (name: string): Promise<{ status: number; body: { message: string } }> =>
      server.post('/api/v1/namespaces/default/pods/web/eviction', {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name },
      });
    expect((await evict('web')).body.message).toContain('denied request: Eviction after 7');
    await mutating(server, 'q', { matchConstraints: evictions, mutations: [labels("{'a': 'b'}")] });
    expect((await evict('web')).body.message).toContain('there is no schema by which to merge kind Eviction');
  });

  it('[V54] are asked once more when a later one has changed the object', async () => {
    const server = await startServer();
    const count = "{'count': has(object.metadata.labels) ? string(size(object.metadata.labels)) : '0'}";
    await mutating(server, 'a', { mutations: [labels(count)], reinvocationPolicy: 'IfNeeded' });
    await mutating(server, 'b', { mutations: [labels("{'later': 'x'}")] });
    expect((await server.post(MAPS, map('m'))).body.metadata.labels).toEqual({ count: '2', later: 'x' });
  });

  it('[V54] refuse or pass over what cannot be done, as failurePolicy says', async () => {
    const server = await startServer();
    const mutations = [
      { patchType: 'JSONPatch', jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/spec/none'}]" } },
    ];
    await mutating(server, 'lenient', { mutations, failurePolicy: 'Ignore' });
    expect((await server.post(MAPS, map('a'))).status).toBe(201);
    await mutating(server, 'strict', { mutations });
    const refused = await server.post(MAPS, map('b'));
    expect(refused.status).toBe(422);
    expect(refused.body.message).toContain(
      "policy 'strict' with binding 'strict' denied request: JSON Patch",
    );
  });

  it('[V54] may not replace atomic parts, nor construct parts that are elsewhere', async () => {
    const server = await startServer({ controllers: false });
    const apply = (expression: string): Json => ({
      mutations: [{ patchType: 'ApplyConfiguration', applyConfiguration: { expression } }],
    });
    const misplaced = await server.post(MUTATING, {
      metadata: { name: 'm' },
      spec: {
        matchConstraints: { resourceRules: [rule(['configmaps'])] },
        ...apply('Object{metadata: Object.spec{}}'),
      },
    });
    expect(misplaced.body.message).toContain('expected "Object.metadata"');
    await mutating(
      server,
      'p',
      apply(
        'Object{metadata: Object.metadata{finalizers: ["a.b/c"], ownerReferences: []}, data: {"a": "b"}}',
      ),
    );
    expect((await server.post(MAPS, map('a'))).body.data).toEqual({ a: 'b' });
    await server.delete(`${MUTATING}/p`);
    await mutating(server, 'q', {
      ...apply("Object{spec: Object.spec{selector: Object.spec.selector{matchLabels: {'c': 'd'}}}}"),
      matchConstraints: { resourceRules: [rule(['deployments'])] },
    });
    const template = {
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'main', image: 'main:1' }] },
    };
    const refused = await server.post('/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'd' },
      spec: { selector: { matchLabels: { a: 'b' } }, template },
    });
    expect(refused.body.message).toContain('may not mutate atomic arrays, maps or structs: .spec.selector');
  });
});
