import { beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, startServer } from './server.fixture.ts';

const POD_SPEC = { containers: [{ name: 'c', image: 'i' }] };
const template = (labels: Record<string, string>): object => ({ metadata: { labels }, spec: POD_SPEC });
const inDefault = (api: string): string => `${api}/namespaces/default`;
const RBAC = '/apis/rbac.authorization.k8s.io/v1';

/** An object of any kind. */
interface Named {
  readonly metadata: { readonly name: string };
  readonly [field: string]: unknown;
}

/** What is wrong with an object, as `field: message`, in the order in which it is told. */
const CASES: readonly [path: string, object: Named, problems: readonly string[]][] = [
  [
    `${inDefault('/api/v1')}/configmaps`,
    { metadata: { name: 'Bad_Name' }, data: { 'a b': 'x' } },
    [
      'metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of',
      'data[a b]: Invalid value: "a b": a valid config key must consist of',
    ],
  ],
  [
    `${inDefault('/api/v1')}/pods`,
    {
      metadata: { name: 'p' },
      spec: {
        containers: [
          { name: 'c', image: 'i', ports: [{ containerPort: 70000 }] },
          { name: 'c', image: 'i' },
        ],
        restartPolicy: 'Sometimes',
      },
    },
    [
      'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      'spec.containers[1].name: Duplicate value: "c"',
      'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"',
    ],
  ],
  [
    `${inDefault('/api/v1')}/services`,
    { metadata: { name: 's' }, spec: { ports: [{ port: 0 }], type: 'Odd' } },
    [
      'spec.type: Unsupported value: "Odd": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
      'spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive',
      'spec.ports[0].targetPort: Invalid value: 0: must be between 1 and 65535, inclusive',
    ],
  ],
  [
    `${inDefault('/api/v1')}/secrets`,
    { metadata: { name: 's' }, type: 'kubernetes.io/tls', data: {} },
    ['data[tls.crt]: Required value', 'data[tls.key]: Required value'],
  ],
  [
    `${inDefault('/api/v1')}/persistentvolumeclaims`,
    { metadata: { name: 'c' }, spec: {} },
    [
      'spec.accessModes: Required value: at least 1 access mode is required',
      'spec.resources[storage]: Required value',
    ],
  ],
  [
    `${inDefault('/apis/apps/v1')}/deployments`,
    {
      metadata: { name: 'd' },
      spec: { replicas: -1, selector: { matchLabels: { a: '1' } }, template: template({ a: '2' }) },
    },
    [
      'spec.replicas: Invalid value: -1: must be greater than or equal to 0',
      'spec.template.metadata.labels: Invalid value: map[string]string{"a":"2"}: `selector` does not match template `labels`',
    ],
  ],
  [
    `${inDefault('/apis/batch/v1')}/jobs`,
    { metadata: { name: 'j' }, spec: { parallelism: -1, template: template({}) } },
    [
      'spec.parallelism: Invalid value: -1: must be greater than or equal to 0',
      'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ],
  ],
  [
    `${inDefault('/apis/batch/v1')}/cronjobs`,
    {
      metadata: { name: 'j' },
      spec: {
        schedule: 'never',
        jobTemplate: { spec: { template: { spec: { ...POD_SPEC, restartPolicy: 'Never' } } } },
      },
    },
    ['spec.schedule: Invalid value: "never": expected exactly 5 fields, found 1: [never]'],
  ],
  [
    `${inDefault('/apis/networking.k8s.io/v1')}/networkpolicies`,
    { metadata: { name: 'n' }, spec: { podSelector: {}, policyTypes: ['Up'] } },
    ['spec.policyTypes[0]: Unsupported value: "Up": supported values: "Ingress", "Egress"'],
  ],
  [
    `${inDefault('/apis/autoscaling/v2')}/horizontalpodautoscalers`,
    {
      metadata: { name: 'h' },
      spec: { maxReplicas: 0, scaleTargetRef: { kind: '', name: 'x' } },
    },
    [
      'spec.maxReplicas: Invalid value: 0: must be greater than 0',
      'spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
      'spec.scaleTargetRef.kind: Required value',
    ],
  ],
  [
    `${inDefault(RBAC)}/rolebindings`,
    {
      metadata: { name: 'r' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Nothing', name: '' },
      subjects: [{ kind: 'Robot', name: 'r' }],
    },
    [
      'roleRef.kind: Unsupported value: "Nothing": supported values: "Role", "ClusterRole"',
      'roleRef.name: Required value',
      'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ],
  ],
  [
    `${RBAC}/clusterroles`,
    {
      metadata: { name: 'r' },
      rules: [{ apiGroups: [''], resources: ['pods'], verbs: [] }],
    },
    ['rules[0].verbs: Required value: verbs must contain at least one value'],
  ],
  [
    '/apis/storage.k8s.io/v1/storageclasses',
    { metadata: { name: 's' }, reclaimPolicy: 'Burn' },
    [
      'provisioner: Required value',
      'reclaimPolicy: Unsupported value: "Burn": supported values: "Delete", "Retain"',
    ],
  ],
  [
    `${inDefault('/apis/discovery.k8s.io/v1')}/endpointslices`,
    { metadata: { name: 'e' }, addressType: 'IPv9', endpoints: [] },
    ['addressType: Unsupported value: "IPv9": supported values: "FQDN", "IPv4", "IPv6"'],
  ],
  [
    `${inDefault('/apis/coordination.k8s.io/v1')}/leases`,
    { metadata: { name: 'l' }, spec: { leaseDurationSeconds: 0 } },
    ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
  ],
];

describe('objects of built-in kinds that are not valid', () => {
  let api: Fixture;
  beforeAll(async () => {
    api = await startServer({ controllers: false });
  });

  it('[V40] are refused with every problem, its field and its reason', async () => {
    for (const [path, object, problems] of CASES) {
      const { status, body } = await api.post(path, object);
      expect(status, path).toBe(422);
      const causes: { field: string; message: string; reason: string }[] = body.details.causes;
      expect(
        causes.map(({ field, message }, index) => `${field}: ${message}`.slice(0, problems[index]?.length)),
        path,
      ).toEqual(problems);
      for (const { reason } of causes) expect(reason).toMatch(/^FieldValue[A-Z]\w+$/);
    }
  });

  it('[V40] say it all in the message, and leave nothing behind', async () => {
    for (const [path, object, problems] of CASES) {
      const { body } = await api.post(path, object);
      for (const problem of problems) expect(body.message, path).toContain(problem);
      expect((await api.get(`${path}/${object.metadata.name}`)).status, path).toBe(404);
    }
  });

  it('[V40] are refused as updates too', async () => {
    const path = `${inDefault('/apis/coordination.k8s.io/v1')}/leases`;
    await api.post(path, { metadata: { name: 'good' }, spec: { leaseDurationSeconds: 5 } });
    const { status, body } = await api.merge(`${path}/good`, { spec: { leaseDurationSeconds: -1 } });
    expect(status).toBe(422);
    expect(body.details.causes).toMatchObject([{ field: 'spec.leaseDurationSeconds' }]);
    expect((await api.get(`${path}/good`)).body.spec).toEqual({ leaseDurationSeconds: 5 });
  });
});

it('refuses names that are no part of a path, of whatever kind', async () => {
  const { post } = await startServer();
  for (const name of ['a/b', '..', 'a%b']) {
    const event = { metadata: { name }, involvedObject: { namespace: 'default' }, type: 'Normal' };
    const answer = await post(`${inDefault('/api/v1')}/events`, event);
    expect([answer.status, answer.body.message]).toEqual([
      400,
      expect.stringContaining('Name parameter invalid'),
    ]);
  }
});

it('takes a Service without addresses and without pods, and changes of it', async () => {
  const { post, merge } = await startServer();
  const path = `${inDefault('/api/v1')}/services`;
  const made = await post(path, {
    metadata: { name: 'headless' },
    spec: { clusterIP: 'None', ports: [{ port: 80 }] },
  });
  expect([made.status, made.body.spec.ipFamilies]).toEqual([201, ['IPv4', 'IPv6']]);
  expect((await merge(`${path}/headless`, { metadata: { labels: { a: 'b' } } })).status).toBe(200);
});
