import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { portable } from './portable.ts';

function strip(kind: string, spec: unknown, rest: object = {}): unknown {
  return portable({ apiVersion: 'v1', kind, metadata: { name: 'x' }, spec, ...rest } as KubeObject)['spec'];
}

describe('a portable copy', () => {
  it('keeps what the author wrote and drops what the server keeps', () => {
    const object: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: {
        name: 'x',
        namespace: 'shop',
        uid: 'u',
        resourceVersion: '7',
        generation: 3,
        creationTimestamp: '2026-01-01T00:00:00Z',
        labels: { app: 'shop', 'atoll.dev/dispatch': 'how-it-came-here' },
        annotations: {
          note: 'mine',
          'kubectl.kubernetes.io/last-applied-configuration': '{}',
          'deployment.kubernetes.io/revision': '4',
        },
        finalizers: ['example.com/guard'],
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'y', uid: 'v' }],
        managedFields: [{ manager: 'kubectl' }],
      },
      data: { a: '1' },
      status: { phase: 'x' },
    };
    const before = structuredClone(object);
    expect(portable(object)).toEqual({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'x', namespace: 'shop', labels: { app: 'shop' }, annotations: { note: 'mine' } },
      data: { a: '1' },
    });
    expect(object).toEqual(before);
  });

  it('has no empty metadata left over', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'x', labels: { 'atoll.dev/dispatch': 'd' }, annotations: {} },
      spec: { finalizers: ['kubernetes'] },
    };
    expect(portable(object)).toEqual({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } });
  });

  it('has no addresses of the cluster it came from', () => {
    const spec = {
      type: 'NodePort',
      clusterIP: '10.0.0.7',
      clusterIPs: ['10.0.0.7'],
      ipFamilies: ['IPv4'],
      ipFamilyPolicy: 'SingleStack',
      healthCheckNodePort: 31000,
      ports: [{ port: 80, nodePort: 30080 }],
    };
    expect(strip('Service', spec)).toEqual({ type: 'NodePort', ports: [{ port: 80 }] });
    expect(strip('Service', { clusterIP: 'None', clusterIPs: ['None'] })).toEqual({
      clusterIP: 'None',
      clusterIPs: ['None'],
    });
    expect(strip('PersistentVolumeClaim', { volumeName: 'pv-1', storageClassName: 'fast' })).toEqual({
      storageClassName: 'fast',
    });
    expect(strip('Pod', { nodeName: 'n1', containers: [] })).toEqual({ containers: [] });
  });

  it('has no generated selector of a job, but a manual one', () => {
    const template = {
      metadata: { labels: { app: 'x', 'controller-uid': 'u', 'batch.kubernetes.io/job-name': 'x' } },
    };
    expect(strip('Job', { selector: { matchLabels: { 'controller-uid': 'u' } }, template })).toEqual({
      template: { metadata: { labels: { app: 'x' } } },
    });
    const manual = { manualSelector: true, selector: { matchLabels: { a: 'b' } }, template };
    expect(strip('Job', manual)).toEqual(manual);
  });

  it('has no empty times of Go, at any depth', () => {
    const template = { metadata: { creationTimestamp: null, labels: { a: 'b' } } };
    expect(strip('Deployment', { template, list: [{ metadata: { creationTimestamp: null } }] })).toEqual({
      template: { metadata: { labels: { a: 'b' } } },
      list: [{ metadata: {} }],
    });
  });

  it('drops the token secrets of a service account', () => {
    const account = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'x' },
      secrets: [{ name: 'x-token' }],
      imagePullSecrets: [{ name: 'p' }],
    };
    expect(portable(account)).toEqual({
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'x' },
      imagePullSecrets: [{ name: 'p' }],
    });
  });

  const tokenMount = {
    name: 'kube-api-access-x1',
    mountPath: '/var/run/secrets/kubernetes.io/serviceaccount',
  };
  it.each([
    ['Deployment', { metadata: { annotations: { 'deployment.kubernetes.io/revision': '4' } } }, {}],
    ['Secret', { metadata: { annotations: { 'kubernetes.io/service-account.uid': 'u' } } }, {}],
    ['ServiceAccount', { secrets: [{ name: 'x-token' }] }, {}],
    ['Service', { spec: { clusterIP: '10.0.0.7', clusterIPs: ['10.0.0.7'] } }, { spec: {} }],
    ['Service', { spec: { clusterIP: 'None' } }, { spec: { clusterIP: 'None' } }],
    ['Job', { spec: { selector: { matchLabels: { 'controller-uid': 'u' } } } }, { spec: {} }],
    [
      'PersistentVolumeClaim',
      { metadata: { annotations: { 'volume.kubernetes.io/selected-node': 'n' } } },
      {},
    ],
    [
      'PersistentVolume',
      { spec: { claimRef: { namespace: 'n', name: 'c', uid: 'u', resourceVersion: '5' } } },
      { spec: { claimRef: { namespace: 'n', name: 'c' } } },
    ],
    [
      'Pod',
      {
        spec: {
          nodeName: 'n',
          volumes: [{ name: 'kube-api-access-x1' }, { name: 'data' }],
          containers: [{ name: 'c', volumeMounts: [tokenMount] }],
        },
      },
      { spec: { volumes: [{ name: 'data' }], containers: [{ name: 'c' }] } },
    ],
  ])('[A37] of a %s has nothing that its server or its cluster owns: %j', (kind, body: object, expected) => {
    const { metadata, ...rest } = body as { metadata?: object };
    const owned = {
      uid: 'u',
      resourceVersion: '7',
      generation: 2,
      creationTimestamp: '2026-01-01T00:00:00Z',
      deletionTimestamp: '2026-01-01T00:00:00Z',
      finalizers: ['example.com/guard'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'y', uid: 'v' }],
      managedFields: [],
    };
    const object = {
      apiVersion: 'v1',
      kind,
      metadata: { name: 'x', ...owned, ...metadata },
      ...rest,
      status: {},
    };
    expect(portable(object)).toEqual({ apiVersion: 'v1', kind, metadata: { name: 'x' }, ...expected });
  });
});
