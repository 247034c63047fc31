import { describe, expect, it } from 'vitest';
import { clone, type JsonObject } from '../../schema/json.ts';
import { create, strategyOf, update } from './testdata/write.ts';

function object(apiVersion: string, kind: string, rest: JsonObject = {}, name = 'a'): JsonObject {
  return { apiVersion, kind, metadata: { name }, ...rest };
}

describe('namespaces', () => {
  it('[V39] get a label, a finalizer and a phase', () => {
    const { object: made, errors } = create('namespaces', object('v1', 'Namespace', {}, 'shop'));
    expect(errors).toEqual([]);
    expect(made).toMatchObject({
      metadata: { labels: { 'kubernetes.io/metadata.name': 'shop' } },
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active' },
    });
  });

  it('keep them against updates', () => {
    const old = create('namespaces', object('v1', 'Namespace', {}, 'shop')).object;
    const next = { ...clone(old), spec: { finalizers: [] }, status: { phase: 'Terminating' } };
    next.metadata.labels = { 'kubernetes.io/metadata.name': 'other', team: 'a' };
    const { object: changed, errors } = update('namespaces', next, old);
    expect(errors).toEqual([]);
    expect(changed).toMatchObject({ spec: old.spec as object, status: { phase: 'Active' } });
    expect(changed.metadata.labels).toEqual({ 'kubernetes.io/metadata.name': 'shop', team: 'a' });
  });

  it('are Terminating from the moment that they are deleted', () => {
    const { object: made } = create('namespaces', object('v1', 'Namespace', {}, 'shop'));
    strategyOf('namespaces').prepareForDelete?.(made, { now: 0, user: '' });
    expect(made.status).toEqual({ phase: 'Terminating' });
  });

  it('have names without dots', () => {
    expect(create('namespaces', object('v1', 'Namespace', {}, 'a.b')).errors).toEqual([
      'metadata.name: Invalid value: "a.b": must not contain dots',
    ]);
  });
});

describe('secrets and config maps', () => {
  it('[V39] merge stringData and get a type', () => {
    const { object: made } = create(
      'secrets',
      object('v1', 'Secret', { data: { a: 'MQ==', b: 'Mg==' }, stringData: { a: 'über' } }),
    );
    expect(made).toMatchObject({ type: 'Opaque', data: { a: 'w7xiZXI=', b: 'Mg==' } });
    expect(made).not.toHaveProperty('stringData');
  });

  it('check keys, types and size, and never print contents', () => {
    expect(
      create(
        'secrets',
        object('v1', 'Secret', {
          type: 'kubernetes.io/dockerconfigjson',
          stringData: { '.dockerconfigjson': 'hunter2' },
        }),
      ).errors,
    ).toEqual([
      'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character \'h\' looking for beginning of value',
    ]);
    expect(create('secrets', object('v1', 'Secret', { type: 'kubernetes.io/tls' })).errors).toEqual([
      'data[tls.crt]: Required value',
      'data[tls.key]: Required value',
    ]);
    expect(
      create('secrets', object('v1', 'Secret', { stringData: { big: 'x'.repeat(1024 * 1024 + 1) } })).errors,
    ).toEqual(['data: Too long: may not be more than 1048576 bytes']);
    expect(
      create('configmaps', object('v1', 'ConfigMap', { data: { '..': 'x', k: '' }, binaryData: { k: '' } }))
        .errors,
    ).toEqual([
      `data[..]: Invalid value: "..": must not be '..'`,
      'data[k]: Invalid value: "k": duplicate of key present in binaryData',
    ]);
  });

  it('stay as they are once they are immutable', () => {
    const old = create('configmaps', object('v1', 'ConfigMap', { immutable: true, data: { a: '1' } })).object;
    expect(update('configmaps', { ...clone(old), data: { a: '2' }, immutable: false }, old).errors).toEqual([
      'data: Forbidden: field is immutable when `immutable` is set',
      'immutable: Forbidden: field is immutable when `immutable` is set',
    ]);
    const secret = create('secrets', object('v1', 'Secret')).object;
    expect(update('secrets', { ...clone(secret), type: 'x' }, secret).errors).toEqual([
      'type: Invalid value: "x": field is immutable',
    ]);
  });
});

describe('RBAC', () => {
  const group = 'rbac.authorization.k8s.io';

  it('[V39] fills in API groups', () => {
    const binding = object(`${group}/v1`, 'RoleBinding', {
      roleRef: { kind: 'Role', name: 'r' },
      subjects: [
        { kind: 'User', name: 'jane' },
        { kind: 'ServiceAccount', name: 'sa' },
      ],
    });
    const { object: made, errors } = create(`${group}/rolebindings`, binding);
    expect(errors).toEqual([]);
    expect(made).toMatchObject({
      roleRef: { apiGroup: group },
      subjects: [{ apiGroup: group }, { kind: 'ServiceAccount', name: 'sa' }],
    });
    const other = { ...clone(made), roleRef: { kind: 'Role', name: 'admin', apiGroup: group } };
    expect(update(`${group}/rolebindings`, other, made).errors).toEqual([
      `roleRef: Invalid value: rbac.RoleRef{APIGroup:"${group}", Kind:"Role", Name:"admin"}: cannot change roleRef`,
    ]);
  });

  it('checks rules and subjects', () => {
    expect(
      create(
        `${group}/roles`,
        object(
          `${group}/v1`,
          'Role',
          { rules: [{ nonResourceURLs: ['/x'] }, { verbs: ['get'] }] },
          'Odd:Name',
        ),
      ).errors,
    ).toEqual([
      'rules[0].nonResourceURLs: Invalid value: []string{"/x"}: namespaced rules cannot apply to non-resource URLs',
      'rules[0].verbs: Required value: verbs must contain at least one value',
      'rules[1].apiGroups: Required value: resource rules must supply at least one api group',
      'rules[1].resources: Required value: resource rules must supply at least one resource',
    ]);
    expect(
      create(
        `${group}/clusterrolebindings`,
        object(`${group}/v1`, 'ClusterRoleBinding', {
          roleRef: { kind: 'Role', name: 'r' },
          subjects: [
            { kind: 'ServiceAccount', name: 'sa' },
            { kind: 'Robot', name: 'x' },
          ],
        }),
      ).errors,
    ).toEqual([
      'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
      'subjects[0].namespace: Required value',
      'subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ]);
  });
});

describe('other kinds', () => {
  it('[V39] get the defaults of a real server', () => {
    const made = (name: string, given: JsonObject): JsonObject => {
      const { object: result, errors } = create(name, given);
      expect(errors).toEqual([]);
      return result as unknown as JsonObject;
    };
    expect(
      made(
        'persistentvolumeclaims',
        object('v1', 'PersistentVolumeClaim', {
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        }),
      ),
    ).toMatchObject({
      metadata: { finalizers: ['kubernetes.io/pvc-protection'] },
      spec: { volumeMode: 'Filesystem' },
      status: { phase: 'Pending' },
    });
    expect(
      made(
        'persistentvolumes',
        object('v1', 'PersistentVolume', {
          spec: { capacity: { storage: '5Gi' }, accessModes: ['ReadWriteMany'], hostPath: { path: '/x' } },
        }),
      ),
    ).toMatchObject({
      spec: {
        persistentVolumeReclaimPolicy: 'Retain',
        volumeMode: 'Filesystem',
        hostPath: { path: '/x', type: '' },
      },
      status: { phase: 'Pending', lastPhaseTransitionTime: '2023-11-14T22:13:20Z' },
    });
    expect(
      made(
        'networking.k8s.io/networkpolicies',
        object('networking.k8s.io/v1', 'NetworkPolicy', {
          spec: { egress: [{ ports: [{ port: 53 }] }] },
        }),
      ),
    ).toMatchObject({
      spec: {
        podSelector: {},
        policyTypes: ['Ingress', 'Egress'],
        egress: [{ ports: [{ port: 53, protocol: 'TCP' }] }],
      },
    });
    expect(
      made(
        'storage.k8s.io/storageclasses',
        object('storage.k8s.io/v1', 'StorageClass', { provisioner: 'example.com/p' }),
      ),
    ).toMatchObject({ reclaimPolicy: 'Delete', volumeBindingMode: 'Immediate' });
    expect(
      made(
        'autoscaling/horizontalpodautoscalers',
        object('autoscaling/v2', 'HorizontalPodAutoscaler', {
          spec: { maxReplicas: 3, scaleTargetRef: { kind: 'Deployment', name: 'd' }, behavior: {} },
        }),
      ),
    ).toMatchObject({
      spec: {
        minReplicas: 1,
        metrics: [{ type: 'Resource', resource: { name: 'cpu', target: { averageUtilization: 80 } } }],
        behavior: {
          scaleUp: { selectPolicy: 'Max', stabilizationWindowSeconds: 0 },
          scaleDown: { selectPolicy: 'Max', policies: [{ type: 'Percent', value: 100, periodSeconds: 15 }] },
        },
      },
    });
    expect(
      made(
        'scheduling.k8s.io/priorityclasses',
        object('scheduling.k8s.io/v1', 'PriorityClass', { value: 5 }),
      ),
    ).toMatchObject({ preemptionPolicy: 'PreemptLowerPriority', metadata: { generation: 1 } });
    expect(
      made(
        'apiextensions.k8s.io/customresourcedefinitions',
        object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
          spec: { names: { kind: 'Thing', plural: 'things' }, versions: [{ name: 'v1', storage: true }] },
        }),
      ),
    ).toMatchObject({
      spec: { names: { singular: 'thing', listKind: 'ThingList' }, conversion: { strategy: 'None' } },
      status: { storedVersions: ['v1'] },
    });
    expect(made('nodes', object('v1', 'Node', { status: { capacity: { cpu: '4000m' } } }))).toMatchObject({
      spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
      status: { capacity: { cpu: '4' }, allocatable: { cpu: '4' } },
    });
  });

  it('name who asks for a certificate, whatever the request says', () => {
    const pem = '-----BEGIN CERTIFICATE REQUEST-----\nMIIB\n-----END CERTIFICATE REQUEST-----\n';
    const { object: made, errors } = create(
      'certificates.k8s.io/certificatesigningrequests',
      object('certificates.k8s.io/v1', 'CertificateSigningRequest', {
        spec: {
          request: Buffer.from(pem).toString('base64'),
          signerName: 'example.com/signer',
          usages: ['client auth'],
          username: 'system:admin',
          extra: { forged: ['yes'] },
        },
        status: { certificate: 'forged' },
      }),
    );
    expect(errors).toEqual([]);
    expect(made.spec).toMatchObject({ username: 'jane', uid: 'u1', groups: ['devs'] });
    expect(made.spec).not.toHaveProperty('extra');
    expect(made.status).toEqual({});
  });

  it("refuse the common mistakes with a real server's texts", () => {
    const errors = (name: string, apiVersion: string, kind: string, rest: JsonObject): string[] =>
      create(name, object(apiVersion, kind, rest)).errors;
    expect(
      errors('coordination.k8s.io/leases', 'coordination.k8s.io/v1', 'Lease', {
        spec: { leaseDurationSeconds: 0 },
      }),
    ).toEqual(['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0']);
    expect(
      errors('events', 'v1', 'Event', { involvedObject: { kind: 'Pod', name: 'p', namespace: 'other' } }),
    ).toEqual(['involvedObject.namespace: Invalid value: "other": does not match event.namespace']);
    expect(
      errors('networking.k8s.io/ingresses', 'networking.k8s.io/v1', 'Ingress', {
        spec: {
          rules: [{ host: '1.2.3.4', http: { paths: [{ path: 'x', pathType: 'Prefix', backend: {} }] } }],
        },
      }),
    ).toEqual([
      'spec.rules[0].host: Invalid value: "1.2.3.4": must be a DNS name, not an IP address',
      'spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required',
      'spec.rules[0].http.paths[0].path: Invalid value: "x": must be an absolute path',
    ]);
    expect(
      errors('policy/poddisruptionbudgets', 'policy/v1', 'PodDisruptionBudget', {
        spec: { minAvailable: '150%' },
      }),
    ).toEqual([
      'spec.minAvailable: Invalid value: intstr.IntOrString{Type:1, IntVal:0, StrVal:"150%"}: must not be greater than 100%',
    ]);
    expect(
      errors('autoscaling/horizontalpodautoscalers', 'autoscaling/v2', 'HorizontalPodAutoscaler', {
        spec: { minReplicas: 5, maxReplicas: 3, scaleTargetRef: { kind: 'Deployment' } },
      }),
    ).toEqual([
      'spec.maxReplicas: Invalid value: 3: must be greater than or equal to `minReplicas`',
      'spec.scaleTargetRef.name: Required value',
    ]);
    expect(errors('resourcequotas', 'v1', 'ResourceQuota', { spec: { hard: { pods: '-1' } } })).toEqual([
      'spec.hard[pods]: Invalid value: "-1": must be greater than or equal to 0',
    ]);
    expect(
      errors(
        'admissionregistration.k8s.io/validatingwebhookconfigurations',
        'admissionregistration.k8s.io/v1',
        'ValidatingWebhookConfiguration',
        {
          webhooks: [
            {
              name: 'short',
              clientConfig: { url: 'http://x.example' },
              sideEffects: 'None',
              admissionReviewVersions: ['v1'],
              timeoutSeconds: 40,
            },
          ],
        },
      ),
    ).toEqual([
      `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme; desired format: https://host[/path]`,
      'webhooks[0].name: Invalid value: "short": should be a domain with at least three segments separated by dots',
      'webhooks[0].timeoutSeconds: Invalid value: 40: the timeout value must be between 1 and 30 seconds',
    ]);
  });

  it('fix the spec of a claim but for the size of a bound one', () => {
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '2Gi' } } };
    const old = create('persistentvolumeclaims', object('v1', 'PersistentVolumeClaim', { spec })).object;
    const sized = (storage: string): JsonObject =>
      object('v1', 'PersistentVolumeClaim', { spec: { ...spec, resources: { requests: { storage } } } });
    expect(update('persistentvolumeclaims', sized('3Gi'), old).errors[0]).toContain(
      'spec is immutable after creation',
    );
    const bound = { ...old, status: { phase: 'Bound', capacity: { storage: '1Gi' } } };
    expect(update('persistentvolumeclaims', sized('3Gi'), bound).errors).toEqual([]);
    expect(update('persistentvolumeclaims', sized('1500Mi'), bound).errors).toEqual([]);
    expect(update('persistentvolumeclaims', sized('1Gi'), bound).errors).toEqual([
      'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
    ]);
  });
});

describe('strategies', () => {
  it('[V12] say which kinds need a resourceVersion and which are made by PUT', () => {
    const names = [
      'configmaps',
      'secrets',
      'events',
      'services',
      'endpoints',
      'limitranges',
      'apps/deployments',
      'batch/jobs',
      'rbac.authorization.k8s.io/roles',
      'rbac.authorization.k8s.io/rolebindings',
      'rbac.authorization.k8s.io/clusterroles',
      'rbac.authorization.k8s.io/clusterrolebindings',
      'coordination.k8s.io/leases',
      'coordination.k8s.io/leasecandidates',
      'node.k8s.io/runtimeclasses',
      'policy/poddisruptionbudgets',
      'storage.k8s.io/csidrivers',
      'storage.k8s.io/csinodes',
      'storage.k8s.io/csistoragecapacities',
      'storage.k8s.io/volumeattachments',
      'storage.k8s.io/storageclasses',
      'apiextensions.k8s.io/customresourcedefinitions',
      'apiregistration.k8s.io/apiservices',
      'admissionregistration.k8s.io/validatingwebhookconfigurations',
      'certificates.k8s.io/clustertrustbundles',
    ];
    expect(names.filter((name) => strategyOf(name).allowCreateOnUpdate)).toEqual([
      'events',
      'services',
      'endpoints',
      'limitranges',
      'rbac.authorization.k8s.io/roles',
      'rbac.authorization.k8s.io/rolebindings',
      'rbac.authorization.k8s.io/clusterroles',
      'rbac.authorization.k8s.io/clusterrolebindings',
      'coordination.k8s.io/leases',
      'coordination.k8s.io/leasecandidates',
      'node.k8s.io/runtimeclasses',
    ]);
    expect(names.filter((name) => !strategyOf(name).allowUnconditionalUpdate)).toEqual([
      'coordination.k8s.io/leases',
      'coordination.k8s.io/leasecandidates',
      'node.k8s.io/runtimeclasses',
      'policy/poddisruptionbudgets',
      'storage.k8s.io/csidrivers',
      'storage.k8s.io/csinodes',
      'storage.k8s.io/csistoragecapacities',
      'storage.k8s.io/volumeattachments',
      'apiextensions.k8s.io/customresourcedefinitions',
      'apiregistration.k8s.io/apiservices',
      'admissionregistration.k8s.io/validatingwebhookconfigurations',
      'certificates.k8s.io/clustertrustbundles',
    ]);
  });

  it('[V13] say what raises the generation', () => {
    const rule = (name: string): string => strategyOf(name).generation;
    expect(rule('apps/deployments')).toBe('spec-and-annotations');
    for (const name of [
      'apps/replicasets',
      'batch/jobs',
      'networking.k8s.io/ingresses',
      'policy/poddisruptionbudgets',
    ]) {
      expect(rule(name)).toBe('spec');
    }
    for (const name of [
      'configmaps',
      'secrets',
      'services',
      'nodes',
      'namespaces',
      'coordination.k8s.io/leases',
      'autoscaling/horizontalpodautoscalers',
    ]) {
      expect(rule(name)).toBe('none');
    }
  });

  it('[V14] answer deletes of some kinds with the object', () => {
    for (const name of [
      'pods',
      'services',
      'serviceaccounts',
      'namespaces',
      'persistentvolumeclaims',
      'persistentvolumes',
      'podtemplates',
      'resourcequotas',
      'storage.k8s.io/storageclasses',
      'resource.k8s.io/resourceclaims',
    ]) {
      expect(strategyOf(name).returnsDeleted).toBe(true);
    }
    for (const name of ['configmaps', 'apps/deployments', 'nodes', 'secrets']) {
      expect(strategyOf(name).returnsDeleted).toBe(false);
    }
  });

  it('exist for every resource, known or not', () => {
    expect(strategyOf('example.com/things')).toMatchObject({
      generation: 'none',
      defaultPropagation: 'Background',
    });
    expect(strategyOf('constructor').generation).toBe('none');
  });
});
