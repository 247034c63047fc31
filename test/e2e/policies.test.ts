import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, it } from 'vitest';
import { type Outcome, run } from './harness/command.ts';
import { describeFleet } from './harness/fleet.ts';
import { until } from './harness/until.ts';

type Json = Record<string, unknown>;

interface Server {
  readonly kubeconfig: string;
  stop(): Promise<void>;
}

/** `atoll apiserver` alone, as people start it. */
async function startServer(): Promise<Server> {
  const kubeconfig = join(inject('temporaryRoot'), `policies-${process.pid}.kubeconfig`);
  const main = join(inject('packageRoot'), 'dist', 'cli', 'main.js');
  const args = [main, 'apiserver', '--memory', '--port=0', `--kubeconfig-out=${kubeconfig}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<void>((resolve) => child.on('close', () => resolve()));
  let text = '';
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (chunk: string) => {
        text += chunk;
        if (/listens on https:\S+/.test(text)) resolve();
      });
    child.on('error', reject);
    void ended.then(() => reject(new Error(`the server ended:\n${text}`)));
  });
  return {
    kubeconfig,
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

let server: Server;

function tryKubectl(args: readonly string[], input?: string): Promise<Outcome> {
  const binary = inject('kubectls').at(-1)?.path ?? 'kubectl';
  return run(binary, args, {
    env: { KUBECONFIG: server.kubeconfig, HOME: `${server.kubeconfig}.home` },
    ...(input === undefined ? {} : { input }),
  });
}

async function kubectl(...args: string[]): Promise<string> {
  const outcome = await tryKubectl(args);
  if (outcome.code !== 0) throw new Error(`kubectl ${args.join(' ')} failed:\n${outcome.text}`);
  return outcome.stdout;
}

function applying(...objects: Json[]): Promise<Outcome> {
  return tryKubectl(['apply', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
}

async function apply(...objects: Json[]): Promise<string> {
  const outcome = await applying(...objects);
  if (outcome.code !== 0) throw new Error(`kubectl apply failed:\n${outcome.text}`);
  return outcome.text;
}

/** What kubectl says when the server refuses. */
async function refusal(...objects: Json[]): Promise<string> {
  const outcome = await applying(...objects);
  if (outcome.code === 0) throw new Error(`nothing was refused:\n${outcome.text}`);
  return outcome.stderr;
}

async function read(kind: string, name: string, namespace: string): Promise<Json & { metadata: Json }> {
  return JSON.parse(await kubectl('get', kind, name, '-n', namespace, '-o', 'json'));
}

function namespace(name: string, labels: Json = {}): Json {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels } };
}

function configMap(name: string, inNamespace: string, data: Json = {}, labels: Json = {}): Json {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: inNamespace, labels }, data };
}

function deployment(name: string, inNamespace: string, replicas: number): Json {
  const labels = { app: name };
  const containers = [{ name: 'main', image: 'registry.example/main:1' }];
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: inNamespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
}

/** A policy and its binding, which holds in the one namespace that is named like the policy. */
function policy(
  kind: 'Validating' | 'Mutating',
  name: string,
  resource: string,
  spec: Json,
  binding: Json = {},
): Json[] {
  const [group, plural] = resource.includes('.') ? splitOnce(resource) : ['', resource];
  const rule = {
    apiGroups: [group],
    apiVersions: ['v1'],
    operations: ['CREATE', 'UPDATE'],
    resources: [plural],
  };
  const here = { matchLabels: { 'kubernetes.io/metadata.name': name } };
  const apiVersion = 'admissionregistration.k8s.io/v1';
  return [
    {
      apiVersion,
      kind: `${kind}AdmissionPolicy`,
      metadata: { name },
      spec: { matchConstraints: { resourceRules: [rule] }, ...spec },
    },
    {
      apiVersion,
      kind: `${kind}AdmissionPolicyBinding`,
      metadata: { name: `${name}-binding` },
      spec: {
        policyName: name,
        matchResources: { namespaceSelector: here },
        ...(kind === 'Validating' ? { validationActions: ['Deny'] } : {}),
        ...binding,
      },
    },
  ];
}

/** `deployments.apps` as group and plural. */
function splitOnce(resource: string): [string, string] {
  const dot = resource.indexOf('.');
  return [resource.slice(dot + 1), resource.slice(0, dot)];
}

function definition(plural: string, kind: string, spec: Json): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.example.com` },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural, kind },
      versions: [
        {
          name: 'v1',
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: 'object', properties: { spec } } },
        },
      ],
    },
  };
}

async function established(plural: string): Promise<void> {
  await kubectl('wait', '--for=condition=Established', `crd/${plural}.example.com`, '--timeout=10s');
}

describeFleet('policies and rules, by kubectl', () => {
  beforeAll(async () => {
    server = await startServer();
  });
  afterAll(() => server?.stop());

  it('[V53] a validating policy denies with its message, its reason, its variables, and only where it is bound', async () => {
    const name = 'few-replicas';
    await apply(
      namespace(name),
      ...policy('Validating', name, 'deployments.apps', {
        variables: [{ name: 'most', expression: "object.metadata.name.startsWith('big-') ? 5 : 2" }],
        validations: [
          {
            expression: 'object.spec.replicas <= variables.most',
            messageExpression:
              "'at most ' + string(variables.most) + ' replicas, not ' + string(object.spec.replicas)",
            reason: 'Forbidden',
          },
          {
            expression:
              "object.spec.template.spec.containers.all(c, c.image.startsWith('registry.example/'))",
          },
        ],
      }),
    );
    expect(await refusal(deployment('web', name, 3))).toContain(
      `deployments.apps "web" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}-binding' denied request: at most 2 replicas, not 3`,
    );
    await apply(deployment('web', name, 2), deployment('big-web', name, 5), deployment('web', 'default', 9));
    const scaled = await tryKubectl(['set', 'image', 'deployment/web', 'main=elsewhere/main:1', '-n', name]);
    expect(scaled.code).not.toBe(0);
    expect(scaled.stderr).toContain('failed expression: object.spec.template.spec.containers.all(');
  });

  it('[V53] a policy takes parameters by name or selector, and does as parameterNotFoundAction says', async () => {
    const [name, other] = ['limited', 'selected'];
    const spec = {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConditions: [{ name: 'no-params', expression: "!object.metadata.name.startsWith('limit')" }],
      validations: [
        {
          expression: 'size(object.data) <= int(params.data.most)',
          messageExpression: "'more than ' + params.data.most + ' by ' + params.metadata.name",
        },
      ],
    };
    const [limiting, bound = {}] = policy('Validating', name, 'configmaps', spec, {
      paramRef: { name: 'limit', parameterNotFoundAction: 'Deny' },
    });
    await apply(
      namespace(name),
      namespace(other),
      limiting ?? {},
      bound,
      ...policy('Validating', other, 'configmaps', spec, {
        paramRef: { selector: { matchLabels: { is: 'limit' } }, parameterNotFoundAction: 'Allow' },
      }),
    );
    expect(await refusal(configMap('a', name))).toContain(
      'no params found for policy binding with `Deny` parameterNotFoundAction',
    );
    await apply(configMap('a', other, { a: '1', b: '2' }));
    await kubectl('delete', 'validatingadmissionpolicybinding', `${name}-binding`);
    await apply(configMap('limit', name, { most: '1' }), bound);
    expect(await refusal(configMap('a', name, { a: '1', b: '2' }))).toContain('more than 1 by limit');
    await apply(configMap('a', name, { a: '1' }));
    await apply(
      configMap('limit-1', other, { most: '9' }, { is: 'limit' }),
      configMap('limit-2', other, { most: '2' }, { is: 'limit' }),
    );
    expect(await refusal(configMap('a', other, { a: '1', b: '2', c: '3' }))).toContain(
      'more than 2 by limit-2',
    );
  });

  it('[V53] a policy warns where its binding says so, and failurePolicy decides on what cannot be evaluated', async () => {
    const [warned, lenient, strict] = ['warned', 'lenient', 'strict'];
    const broken = { validations: [{ expression: "object.data['missing'] == 'x'" }] };
    await apply(
      ...[warned, lenient, strict].map((name) => namespace(name)),
      ...policy(
        'Validating',
        warned,
        'configmaps',
        {
          validations: [
            {
              expression: "has(object.metadata.labels) && 'owner' in object.metadata.labels",
              message: 'who owns it?',
            },
          ],
        },
        { validationActions: ['Warn', 'Audit'] },
      ),
      ...policy('Validating', lenient, 'configmaps', { ...broken, failurePolicy: 'Ignore' }),
      ...policy('Validating', strict, 'configmaps', { ...broken, failurePolicy: 'Fail' }),
    );
    expect(await apply(configMap('a', warned))).toContain(
      `Warning: Validation failed for ValidatingAdmissionPolicy '${warned}' with binding '${warned}-binding': who owns it?`,
    );
    expect(await apply(configMap('b', warned, {}, { owner: 'me' }))).not.toContain('Warning');
    await apply(configMap('a', lenient, { a: '1' }));
    expect(await refusal(configMap('a', strict, { a: '1' }))).toContain('no such key: missing');
  });

  it('[V53] a policy sees the request, its user and what that may do, and says in its status what does not fit', async () => {
    const name = 'asking';
    await apply(
      namespace(name, { tier: 'gold' }),
      ...policy('Validating', name, 'configmaps', {
        validations: [
          {
            expression:
              "namespaceObject.metadata.labels['tier'] == 'gold' && (authorizer.group('').resource('secrets').namespace(request.namespace).check('get').allowed() || request.operation != 'CREATE' || oldObject != null)",
            messageExpression: "request.userInfo.username + ' may not read secrets'",
          },
        ],
      }),
      ...policy('Validating', 'misfit', 'deployments.apps', {
        validations: [{ expression: 'object.spec.replicaz <= 5' }],
      }),
    );
    await apply(configMap('mine', name));
    await kubectl('create', 'role', 'writer', '-n', name, '--verb=get,create,patch', '--resource=configmaps');
    await kubectl('create', 'rolebinding', 'writer', '-n', name, '--role=writer', '--user=jane');
    const janes = await tryKubectl(['create', 'configmap', 'hers', '-n', name, '--as=jane']);
    expect(janes.code).not.toBe(0);
    expect(janes.stderr).toContain('jane may not read secrets');
    const warning = await until('the type check', async () => {
      const path = 'jsonpath={.status.typeChecking.expressionWarnings[0]}';
      return kubectl('get', 'validatingadmissionpolicy', 'misfit', '-o', path);
    });
    expect(warning).toContain('spec.validations[0].expression');
    expect(warning).toContain("undefined field 'replicaz'");
    expect(
      await refusal(
        ...policy('Validating', 'wrong', 'configmaps', { validations: [{ expression: 'request.nam == 1' }] }),
      ),
    ).toContain("undefined field 'nam'");
  });

  it('[V54] a mutating policy merges an apply configuration', async () => {
    const name = 'sidecars';
    const side = "Object.spec.template.spec.containers{name: 'side', image: 'registry.example/side:1'}";
    await apply(
      namespace(name),
      ...policy('Mutating', name, 'deployments.apps', {
        reinvocationPolicy: 'Never',
        matchConditions: [
          {
            name: 'wants',
            expression: "!has(object.metadata.labels) || !('plain' in object.metadata.labels)",
          },
        ],
        mutations: [
          {
            patchType: 'ApplyConfiguration',
            applyConfiguration: {
              expression: `Object{metadata: Object.metadata{labels: {'by': 'policy'}}, spec: Object.spec{template: Object.spec.template{spec: Object.spec.template.spec{containers: [${side}]}}}}`,
            },
          },
        ],
      }),
    );
    await apply(deployment('web', name, 1));
    const path = 'jsonpath={.metadata.labels.by} {.spec.template.spec.containers[*].name}';
    expect(await kubectl('get', 'deployment', 'web', '-n', name, '-o', path)).toBe('policy main side');
    const plain = deployment('plain', name, 1) as { metadata: Json };
    plain.metadata['labels'] = { plain: 'yes' };
    await apply(plain);
    expect(await kubectl('get', 'deployment', 'plain', '-n', name, '-o', path)).toBe(' main');
  });

  it('[V54] a mutating policy applies JSON patches with parameters and variables', async () => {
    const name = 'patches';
    await apply(
      namespace(name),
      configMap('defaults', name, { tier: 'gold' }),
      ...policy(
        'Mutating',
        name,
        'configmaps',
        {
          reinvocationPolicy: 'Never',
          paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
          matchConditions: [{ name: 'others', expression: "object.metadata.name != 'defaults'" }],
          variables: [{ name: 'key', expression: "jsonpatch.escapeKey('example.com/tier')" }],
          mutations: [
            {
              patchType: 'JSONPatch',
              jsonPatch: {
                expression:
                  "[JSONPatch{op: 'add', path: '/metadata/labels', value: has(object.metadata.labels) ? object.metadata.labels : {}}, JSONPatch{op: 'add', path: '/metadata/labels/' + variables.key, value: params.data.tier}]",
              },
            },
            {
              patchType: 'JSONPatch',
              jsonPatch: {
                expression:
                  "[JSONPatch{op: 'test', path: '/data/secret', value: 'x'}, JSONPatch{op: 'remove', path: '/data/secret'}]",
              },
            },
          ],
        },
        { paramRef: { name: 'defaults', parameterNotFoundAction: 'Deny' } },
      ),
    );
    await apply(
      configMap('a', name, { secret: 'x', other: 'y' }),
      configMap('b', name, { secret: 'kept' }, { own: 'label' }),
    );
    const a = await read('configmap', 'a', name);
    expect(a['data']).toEqual({ other: 'y' });
    expect(a.metadata['labels']).toEqual({ 'example.com/tier': 'gold' });
    const b = await read('configmap', 'b', name);
    expect(b['data']).toEqual({ secret: 'kept' });
    expect(b.metadata['labels']).toEqual({ own: 'label', 'example.com/tier': 'gold' });
  });

  it('[V54] a mutating policy is asked once more when a later one has changed the object', async () => {
    const [first, second] = ['again-a', 'again-b'];
    const labels = (expression: string, reinvocationPolicy: string): Json => ({
      reinvocationPolicy,
      mutations: [
        {
          patchType: 'ApplyConfiguration',
          applyConfiguration: { expression: `Object{metadata: Object.metadata{labels: ${expression}}}` },
        },
      ],
    });
    const here = { matchResources: { namespaceSelector: { matchLabels: { again: 'yes' } } } };
    const count = "{'count': has(object.metadata.labels) ? string(size(object.metadata.labels)) : '0'}";
    await apply(
      namespace('again', { again: 'yes' }),
      ...policy('Mutating', first, 'configmaps', labels(count, 'IfNeeded'), here),
      ...policy('Mutating', second, 'configmaps', labels("{'later': 'x'}", 'Never'), here),
    );
    await kubectl('create', 'configmap', 'm', '-n', 'again');
    expect((await read('configmap', 'm', 'again')).metadata['labels']).toEqual({ count: '2', later: 'x' });
  });

  it('[V54] a mutation that cannot be done refuses the request, or is passed over, as failurePolicy says', async () => {
    const [strict, lenient] = ['must-mutate', 'may-mutate'];
    const spec = (failurePolicy: string): Json => ({
      failurePolicy,
      reinvocationPolicy: 'Never',
      mutations: [
        {
          patchType: 'JSONPatch',
          jsonPatch: { expression: "[JSONPatch{op: 'remove', path: '/spec/none'}]" },
        },
      ],
    });
    await apply(
      namespace(strict),
      namespace(lenient),
      ...policy('Mutating', strict, 'configmaps', spec('Fail')),
      ...policy('Mutating', lenient, 'configmaps', spec('Ignore')),
    );
    expect(await refusal(configMap('a', strict))).toContain(
      `policy '${strict}' with binding '${strict}-binding' denied request: JSON Patch`,
    );
    await apply(configMap('a', lenient));
    expect(
      await refusal(
        ...policy('Mutating', 'wrong', 'configmaps', {
          reinvocationPolicy: 'Never',
          mutations: [
            {
              patchType: 'ApplyConfiguration',
              applyConfiguration: { expression: 'Object{metadata: Object.spec{}}' },
            },
          ],
        }),
      ),
    ).toContain('unexpected type name');
  });

  it('[V47] rules of a definition refuse with their messages, reasons and fields, and compare with what was', async () => {
    await apply(
      definition('gadgets', 'Gadget', {
        type: 'object',
        properties: {
          min: { type: 'integer' },
          max: { type: 'integer' },
          name: {
            type: 'string',
            maxLength: 20,
            'x-kubernetes-validations': [
              { rule: 'self == oldSelf', message: 'is immutable', reason: 'FieldValueForbidden' },
            ],
          },
          mode: {
            type: 'string',
            maxLength: 20,
            'x-kubernetes-validations': [
              {
                rule: "oldSelf.hasValue() || self == 'new'",
                optionalOldSelf: true,
                message: 'begins as new',
              },
            ],
          },
        },
        'x-kubernetes-validations': [
          {
            rule: '!has(self.min) || !has(self.max) || self.min <= self.max',
            messageExpression: "self.max < 0 ? 'min is above max, which is negative' : 'min is above max'",
            fieldPath: '.min',
          },
        ],
      }),
    );
    await established('gadgets');
    const gadget = (spec: Json): Json => ({
      apiVersion: 'example.com/v1',
      kind: 'Gadget',
      metadata: { name: 'g', namespace: 'default' },
      spec,
    });
    expect(await refusal(gadget({ min: 3, max: 2 }))).toContain(
      'spec.min: Invalid value: "object": min is above max',
    );
    expect(await refusal(gadget({ mode: 'old' }))).toContain('begins as new');
    await apply(gadget({ min: 1, max: 2, name: 'first', mode: 'new' }));
    expect(await refusal(gadget({ min: 1, max: 2, name: 'second', mode: 'new' }))).toContain(
      'spec.name: Forbidden: is immutable',
    );
    await apply(gadget({ min: 2, max: 2, name: 'first', mode: 'old' }));
  });

  it('[V48] a definition whose rules could cost too much is refused before anything runs', async () => {
    const dear = { rule: 'self.all(a, self.exists(b, a != b && a.contains(b)))' };
    const list = { type: 'array', items: { type: 'string' }, 'x-kubernetes-validations': [dear] };
    const said = await refusal(definition('dears', 'Dear', { type: 'object', properties: { list } }));
    expect(said).toContain('estimated rule cost exceeds budget by factor of more than 100x');
    expect(said).toContain('try simplifying the rule, or adding maxItems, maxProperties, and maxLength');
    const bounded = { ...list, maxItems: 50, items: { type: 'string', maxLength: 10 } };
    await apply(definition('dears', 'Dear', { type: 'object', properties: { list: bounded } }));
  });

  it('[V49] what broke a rule before it was made may stay as it is', async () => {
    const thing = (spec: Json): Json => ({
      apiVersion: 'example.com/v1',
      kind: 'Relic',
      metadata: { name: 'r', namespace: 'default' },
      spec,
    });
    const spec = (rules: Json[]): Json => ({
      type: 'object',
      properties: {
        size: { type: 'integer', ...(rules.length > 0 ? { 'x-kubernetes-validations': rules } : {}) },
        note: { type: 'string' },
      },
    });
    await apply(definition('relics', 'Relic', spec([])));
    await established('relics');
    await apply(thing({ size: 50 }));
    await apply(definition('relics', 'Relic', spec([{ rule: 'self < 10', message: 'must be small' }])));
    await until('the new rule', async () => {
      const other = { ...thing({ size: 60 }), metadata: { name: 'other', namespace: 'default' } };
      const { code } = await tryKubectl(['create', '--dry-run=server', '-f', '-'], JSON.stringify(other));
      return code !== 0;
    });
    await apply(thing({ size: 50, note: 'as it was' }));
    expect(await refusal(thing({ size: 51, note: 'as it was' }))).toContain('must be small');
    await apply(thing({ size: 5 }));
  });
});
