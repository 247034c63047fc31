import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { parseFieldPath } from './field-path.ts';
import {
  forApply,
  forCreation,
  forUpdate,
  type RetentionOptions,
  retainedFields,
  TRACKING_ANNOTATION,
} from './retain.ts';

function object(apiVersion: string, kind: string, body: object, metadata: object = {}): KubeObject {
  return { apiVersion, kind, metadata: { name: 'x', ...metadata }, ...body };
}

/** The object that a replacement sends, without the note of what was put there. */
function replaced(wanted: KubeObject, live: KubeObject, options: RetentionOptions = {}): KubeObject {
  const next = forUpdate(wanted, live, retainedFields(wanted, options), 'atoll');
  delete next.metadata.annotations?.[TRACKING_ANNOTATION];
  return next;
}

const ADMISSION = 'admissionregistration.k8s.io/v1';
const hook = (name: string, clientConfig: object): object => ({ name, clientConfig });

describe('what a replacement keeps of the cluster', () => {
  it.each([
    [
      'a service its allocated addresses and the node port of the same port',
      object('v1', 'Service', {
        spec: {
          type: 'NodePort',
          ports: [
            { name: 'a', port: 80 },
            { name: 'b', port: 81 },
          ],
        },
      }),
      {
        spec: {
          type: 'NodePort',
          clusterIP: '10.0.0.7',
          clusterIPs: ['10.0.0.7'],
          ports: [
            { name: 'b', port: 81, protocol: 'UDP', nodePort: 30081 },
            { name: 'a', port: 80, protocol: 'TCP', nodePort: 30080 },
          ],
        },
      },
      {
        spec: {
          type: 'NodePort',
          clusterIP: '10.0.0.7',
          clusterIPs: ['10.0.0.7'],
          ports: [
            { name: 'a', port: 80, nodePort: 30080 },
            { name: 'b', port: 81 },
          ],
        },
      },
    ],
    [
      'a service its health check node port',
      object('v1', 'Service', { spec: { type: 'LoadBalancer', ports: [] } }),
      { spec: { type: 'LoadBalancer', healthCheckNodePort: 31000 } },
      { spec: { healthCheckNodePort: 31000 } },
    ],
    [
      'a node port that an override states',
      object('v1', 'Service', { spec: { type: 'NodePort', ports: [{ port: 80, nodePort: 30001 }] } }),
      { spec: { type: 'NodePort', ports: [{ port: 80, protocol: 'TCP', nodePort: 30080 }] } },
      { spec: { ports: [{ port: 80, nodePort: 30001 }] } },
    ],
    [
      'an account the names of its tokens',
      object('v1', 'ServiceAccount', {}),
      { secrets: [{ name: 'token-1' }] },
      { secrets: [{ name: 'token-1' }] },
    ],
    [
      'a claim its volume',
      object('v1', 'PersistentVolumeClaim', { spec: { accessModes: [] } }),
      { spec: { volumeName: 'pv-1' } },
      { spec: { volumeName: 'pv-1' } },
    ],
    [
      'a volume its claim',
      object('v1', 'PersistentVolume', { spec: {} }),
      { spec: { claimRef: { namespace: 'n', name: 'c', uid: 'u' } } },
      { spec: { claimRef: { namespace: 'n', name: 'c', uid: 'u' } } },
    ],
    [
      'a job its selector and the labels that go with it',
      object('batch/v1', 'Job', { spec: { template: { metadata: { labels: { app: 'j' } } } } }),
      {
        spec: {
          selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } },
          template: { metadata: { labels: { app: 'j', 'batch.kubernetes.io/controller-uid': 'u' } } },
        },
      },
      {
        spec: {
          selector: { matchLabels: { 'batch.kubernetes.io/controller-uid': 'u' } },
          template: { metadata: { labels: { app: 'j', 'batch.kubernetes.io/controller-uid': 'u' } } },
        },
      },
    ],
    [
      'a webhook the certificate that was injected in the place of none, or of a placeholder',
      object(ADMISSION, 'ValidatingWebhookConfiguration', {
        webhooks: [hook('a', {}), hook('b', { caBundle: 'Cg==' }), hook('c', { caBundle: 'bWluZQ==' })],
      }),
      {
        webhooks: [
          hook('c', { caBundle: 'eA==' }),
          hook('b', { caBundle: 'Yg==' }),
          hook('a', { caBundle: 'YQ==' }),
        ],
      },
      {
        webhooks: [
          hook('a', { caBundle: 'YQ==' }),
          hook('b', { caBundle: 'Yg==' }),
          hook('c', { caBundle: 'bWluZQ==' }),
        ],
      },
    ],
    [
      'a definition the certificate of its conversion',
      object('apiextensions.k8s.io/v1', 'CustomResourceDefinition', {
        spec: { conversion: { strategy: 'Webhook', webhook: { clientConfig: { service: {} } } } },
      }),
      { spec: { conversion: { webhook: { clientConfig: { caBundle: 'YQ==' } } } } },
      { spec: { conversion: { webhook: { clientConfig: { caBundle: 'YQ==' } } } } },
    ],
    [
      'an API service its certificate',
      object('apiregistration.k8s.io/v1', 'APIService', { spec: { group: 'g' } }),
      { spec: { caBundle: 'YQ==' } },
      { spec: { caBundle: 'YQ==' } },
    ],
    [
      'a pod its node, account and token',
      object('v1', 'Pod', { spec: { containers: [{ name: 'c', image: 'i:2' }] } }),
      {
        spec: {
          nodeName: 'n1',
          serviceAccountName: 'default',
          containers: [
            {
              name: 'c',
              volumeMounts: [
                { name: 'kube-api', mountPath: '/var/run/secrets/kubernetes.io/serviceaccount' },
              ],
            },
          ],
          volumes: [{ name: 'kube-api', projected: {} }],
        },
      },
      {
        spec: {
          nodeName: 'n1',
          serviceAccountName: 'default',
          containers: [{ name: 'c', image: 'i:2', volumeMounts: [{ name: 'kube-api' }] }],
          volumes: [{ name: 'kube-api' }],
        },
      },
    ],
  ] as [string, KubeObject, object, object][])('[A38] %s', (_text, wanted, liveBody, expected) => {
    const live = { ...wanted, metadata: { ...wanted.metadata, uid: 'u', resourceVersion: '7' }, ...liveBody };
    const before = structuredClone([wanted, live]);
    expect(replaced(wanted, live)).toMatchObject(expected);
    expect(replaced(wanted, live).metadata).toMatchObject({ uid: 'u', resourceVersion: '7' });
    expect([wanted, live]).toEqual(before);
  });

  it('a service that has no address any more keeps none', () => {
    const wanted = object('v1', 'Service', { spec: { type: 'ExternalName', externalName: 'a.example' } });
    const live = object('v1', 'Service', { spec: { type: 'ClusterIP', clusterIP: '10.0.0.7' } });
    expect(replaced(wanted, live)['spec']).toEqual({ type: 'ExternalName', externalName: 'a.example' });
  });

  it('a volume does not keep what belongs to another claim', () => {
    const wanted = object('v1', 'PersistentVolume', { spec: { claimRef: { namespace: 'n', name: 'new' } } });
    const live = object('v1', 'PersistentVolume', {
      spec: { claimRef: { namespace: 'n', name: 'old', uid: 'u' } },
    });
    expect(replaced(wanted, live)['spec']).toEqual({ claimRef: { namespace: 'n', name: 'new' } });
  });
});

describe('what server-side apply is told', () => {
  const replicas = parseFieldPath('spec.replicas') ?? [];
  const wanted = object('apps/v1', 'Deployment', { spec: { replicas: 3, paused: false } });
  const owned = (manager: string, operation: 'Apply' | 'Update'): object => ({
    managedFields: [{ manager, operation, fieldsV1: { 'f:spec': { 'f:replicas': {} } } }],
  });
  const apply = (live: KubeObject): ReturnType<typeof forApply> =>
    forApply(wanted, live, retainedFields(wanted, { autoscaled: replicas }), 'atoll');

  it('repeats the value that the cluster chose while it is the only one that states it', () => {
    const live = object(
      'apps/v1',
      'Deployment',
      { spec: { replicas: 7 } },
      { resourceVersion: '9', ...owned('atoll', 'Apply') },
    );
    expect(apply(live)).toMatchObject({
      pinned: true,
      object: { spec: { replicas: 7, paused: false }, metadata: { resourceVersion: '9' } },
    });
  });

  it('leaves the field to who has set it', () => {
    const live = object('apps/v1', 'Deployment', { spec: { replicas: 3 } }, owned('autoscaler', 'Update'));
    const { object: config, pinned } = apply(live);
    expect(config['spec']).toEqual({ paused: false });
    expect(pinned).toBe(false);
  });

  it('does not state a placeholder over what was injected', () => {
    const config = object(ADMISSION, 'MutatingWebhookConfiguration', {
      webhooks: [hook('a', { caBundle: '' })],
    });
    const live = object(ADMISSION, 'MutatingWebhookConfiguration', {
      webhooks: [hook('a', { caBundle: 'YQ==' })],
    });
    expect(forApply(config, live, retainedFields(config), 'atoll').object['webhooks']).toEqual([
      hook('a', {}),
    ]);
  });

  it('is the object itself where nothing is retained', () => {
    const plain = object('v1', 'ConfigMap', { data: { a: '1' } });
    expect(forApply(plain, plain, retainedFields(plain), 'atoll').object).toBe(plain);
    expect(forCreation(plain, retainedFields(plain))).toBe(plain);
  });
});

describe('a path', () => {
  it.each([
    ['spec.replicas', ['spec', 'replicas']],
    ['.spec.replicas', ['spec', 'replicas']],
    ['/spec/replicas', ['spec', 'replicas']],
    ['metadata.annotations[example.com/a.b]', ['metadata', 'annotations', 'example.com/a.b']],
    ['/metadata/annotations/example.com~1a', ['metadata', 'annotations', 'example.com/a']],
    ['spec.containers[*].image', ['spec', 'containers', { each: true }, 'image']],
    ['spec.containers[name=web].image', ['spec', 'containers', { item: { name: 'web' } }, 'image']],
    ['spec.args[0]', ['spec', 'args', { index: 0 }]],
    ['spec..x', undefined],
    ['', undefined],
    ['spec[', undefined],
  ])('%s is read', (text, expected) => {
    expect(parseFieldPath(text)).toEqual(expected);
  });
});
