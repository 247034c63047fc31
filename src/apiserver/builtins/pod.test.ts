import { describe, expect, it } from 'vitest';
import { clone, type JsonObject } from '../../schema/json.ts';
import { qosClassOf } from './pod.ts';
import { pullPolicyOf } from './pod-defaults.ts';
import { create, strategyOf, update } from './testdata/write.ts';

function pod(spec: JsonObject = {}): JsonObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'cart' },
    spec: { containers: [{ name: 'web', image: 'shop/cart:1.2' }], ...spec },
  };
}

describe('pods', () => {
  it('[V39] get the defaults of a real server', () => {
    const { object, errors } = create('pods', pod());
    expect(errors).toEqual([]);
    expect(object.spec).toEqual({
      containers: [
        {
          name: 'web',
          image: 'shop/cart:1.2',
          imagePullPolicy: 'IfNotPresent',
          resources: {},
          terminationMessagePath: '/dev/termination-log',
          terminationMessagePolicy: 'File',
        },
      ],
      dnsPolicy: 'ClusterFirst',
      enableServiceLinks: true,
      restartPolicy: 'Always',
      schedulerName: 'default-scheduler',
      securityContext: {},
      serviceAccount: 'default',
      serviceAccountName: 'default',
      terminationGracePeriodSeconds: 30,
      tolerations: ['not-ready', 'unreachable'].map((why) => ({
        key: `node.kubernetes.io/${why}`,
        operator: 'Exists',
        effect: 'NoExecute',
        tolerationSeconds: 300,
      })),
    });
    expect(object.status).toEqual({ phase: 'Pending', qosClass: 'BestEffort' });
  });

  it('[V39] fill up ports, probes, volumes and requests', () => {
    const { object, errors } = create(
      'pods',
      pod({
        hostNetwork: true,
        volumes: [
          { name: 'tmp' },
          { name: 'conf', configMap: { name: 'c' } },
          { name: 'disk', hostPath: { path: '/data' } },
          { name: 'all', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } },
        ],
        containers: [
          {
            name: 'web',
            image: 'shop/cart',
            ports: [{ containerPort: 80 }],
            env: [{ name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } }],
            readinessProbe: { httpGet: { port: 80 } },
            livenessProbe: { grpc: { port: 90 } },
            resources: { limits: { cpu: '0.5', memory: '1024Mi' } },
          },
        ],
      }),
    );
    expect(errors).toEqual([]);
    const spec = object.spec as JsonObject;
    expect(spec.volumes).toEqual([
      { name: 'tmp', emptyDir: {} },
      { name: 'conf', configMap: { name: 'c', defaultMode: 420 } },
      { name: 'disk', hostPath: { path: '/data', type: '' } },
      {
        name: 'all',
        projected: {
          defaultMode: 420,
          sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3600 } }],
        },
      },
    ]);
    const probe = { timeoutSeconds: 1, periodSeconds: 10, successThreshold: 1, failureThreshold: 3 };
    expect((spec.containers as JsonObject[])[0]).toMatchObject({
      imagePullPolicy: 'Always',
      ports: [{ containerPort: 80, hostPort: 80, protocol: 'TCP' }],
      env: [{ name: 'IP', valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'status.podIP' } } }],
      readinessProbe: { httpGet: { port: 80, path: '/', scheme: 'HTTP' }, ...probe },
      livenessProbe: { grpc: { port: 90, service: '' }, ...probe },
      resources: { limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '500m', memory: '1Gi' } },
    });
    expect(object.status).toEqual({ phase: 'Pending', qosClass: 'Guaranteed' });
  });

  it.each([
    ['nginx', 'Always'],
    ['nginx:latest', 'Always'],
    ['registry:5000/nginx', 'Always'],
    ['nginx:1.27', 'IfNotPresent'],
    ['nginx@sha256:0123', 'IfNotPresent'],
    ['nginx:latest@sha256:0123', 'Always'],
    ['', 'IfNotPresent'],
  ])('pull image %j with policy %s', (image, policy) => {
    expect(pullPolicyOf(image)).toBe(policy);
  });

  it('are Burstable when only some of their resources are said', () => {
    expect(qosClassOf({ containers: [{ resources: { requests: { cpu: '1' } } }] })).toBe('Burstable');
    expect(qosClassOf({ containers: [{ resources: { requests: { cpu: '0' } } }] })).toBe('BestEffort');
  });

  it('are refused with one error for each mistake', () => {
    const { errors } = create(
      'pods',
      pod({
        restartPolicy: 'Maybe',
        nodeName: 'Bad Node',
        volumes: [{ name: 'a' }, { name: 'a' }],
        containers: [
          {
            name: 'web',
            image: '',
            ports: [
              { containerPort: 70000 },
              { name: 'x', containerPort: 1 },
              { name: 'x', containerPort: 2 },
            ],
            env: [
              { name: '' },
              { name: 'A', value: 'v', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } },
            ],
            volumeMounts: [{ name: 'gone', mountPath: '/x' }],
            resources: { requests: { memory: '2Gi' }, limits: { memory: '1Gi' } },
          },
          { name: 'web', image: 'x', livenessProbe: {} },
        ],
      }),
    );
    expect(errors).toEqual([
      'spec.containers[0].env[0].name: Required value',
      'spec.containers[0].env[1].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
      'spec.containers[0].image: Required value',
      'spec.containers[0].ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive',
      'spec.containers[0].ports[2].name: Duplicate value: "x"',
      'spec.containers[0].resources.requests: Invalid value: "2Gi": must be less than or equal to memory limit of 1Gi',
      'spec.containers[0].volumeMounts[0].name: Not found: "gone"',
      'spec.containers[1].livenessProbe: Required value: must specify a handler type',
      'spec.containers[1].name: Duplicate value: "web"',
      "spec.nodeName: Invalid value: \"Bad Node\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
      'spec.restartPolicy: Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
      'spec.volumes[1].name: Duplicate value: "a"',
    ]);
  });

  it('tell a text that is no quantity', () => {
    const { errors } = create(
      'pods',
      pod({ containers: [{ name: 'a', image: 'b', resources: { limits: { cpu: 'lots' } } }] }),
    );
    // The request was filled in from the limit, and is no better.
    expect(errors).toHaveLength(2);
    expect(errors[0]).toContain(
      'spec.containers[0].resources.limits[cpu]: Invalid value: "lots": quantities must match',
    );
  });

  it('may change image and tolerations, and nothing else', () => {
    const { object: old } = create('pods', pod());
    const next = clone(old);
    const spec = next.spec as JsonObject;
    (spec.containers as JsonObject[])[0]!.image = 'shop/cart:1.3';
    (spec.tolerations as JsonObject[]).push({ key: 'gpu', operator: 'Exists' });
    expect(update('pods', next, old).errors).toEqual([]);
    spec.nodeName = 'n1';
    expect(update('pods', next, old).errors[0]).toMatch(
      /^spec: Forbidden: pod updates may not change fields other than .*\n- \tNodeName: +"",\n\+ \tNodeName: +"n1",/s,
    );
    spec.containers = [];
    expect(update('pods', next, old).errors).toContain(
      'spec.containers: Forbidden: pod updates may not add or remove containers',
    );
  });

  it('[V14] are deleted with grace only where they may be running', () => {
    const { gracePeriod } = strategyOf('pods');
    const bound = create('pods', pod({ nodeName: 'n1', terminationGracePeriodSeconds: 45 })).object;
    expect(gracePeriod?.(bound, undefined)).toBe(45);
    expect(gracePeriod?.(bound, 5)).toBe(5);
    expect(gracePeriod?.(bound, 0)).toBe(0);
    expect(gracePeriod?.(bound, -1)).toBe(1);
    expect(gracePeriod?.({ ...bound, status: { phase: 'Succeeded' } }, 5)).toBe(0);
    expect(gracePeriod?.(create('pods', pod()).object, 5)).toBe(0);
  });

  it('keep their spec, owners and class in writes of the status', () => {
    const { object: old } = create('pods', pod());
    const next = { ...clone(old), spec: {}, status: { phase: 'Running', qosClass: 'Guaranteed' } };
    next.metadata.ownerReferences = [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }];
    strategyOf('pods').prepareForStatusUpdate?.(next, old, { now: 0, user: '' });
    expect(next.spec).toEqual(old.spec);
    expect(next.metadata.ownerReferences).toBeUndefined();
    expect(strategyOf('pods').validateStatusUpdate?.(next, old)).toMatchObject([
      { path: 'status.qosClass', value: 'Guaranteed', detail: 'field is immutable' },
    ]);
    const silent = { ...clone(old), status: { phase: 'Running' } };
    strategyOf('pods').prepareForStatusUpdate?.(silent, old, { now: 0, user: '' });
    expect(silent.status).toEqual({ phase: 'Running', qosClass: 'BestEffort' });
  });

  it('can be selected by node and phase', () => {
    const labels = strategyOf('pods').fieldLabels?.(create('pods', pod({ nodeName: 'n1' })).object) ?? {};
    expect(labels).toMatchObject({
      'spec.nodeName': 'n1',
      'status.phase': 'Pending',
      'spec.hostNetwork': 'false',
    });
    expect(Object.keys(labels).sort()).toEqual([...strategyOf('pods').fieldLabelNames].sort());
  });

  it('start without a service account where that plugin is off', () => {
    const object = create('pods', pod()).object;
    const off = clone(pod()) as never;
    strategyOf('pods').prepareForCreate?.(off, {
      now: 0,
      user: '',
      disabledAdmission: new Set(['ServiceAccount']),
    });
    expect((object.spec as JsonObject).serviceAccountName).toBe('default');
    expect((off as { spec: JsonObject }).spec.serviceAccountName).toBeUndefined();
  });
});
