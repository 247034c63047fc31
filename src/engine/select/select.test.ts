import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { neverPropagated, selects } from './select.ts';

function object(
  apiVersion: string,
  kind: string,
  metadata: KubeObject['metadata'],
  rest: object = {},
): KubeObject {
  return { apiVersion, kind, metadata, ...rest };
}

const cart = object('apps/v1', 'Deployment', { name: 'cart', namespace: 'shop', labels: { app: 'cart' } });

describe('selecting', () => {
  it.each([
    ['kind and group', { apiVersion: 'apps/v1', kind: 'Deployment' }, true],
    ['another version of the group', { apiVersion: 'apps/v1beta1', kind: 'Deployment' }, true],
    ['another group', { apiVersion: 'extensions/v1beta1', kind: 'Deployment' }, false],
    ['another kind', { apiVersion: 'apps/v1', kind: 'StatefulSet' }, false],
    ['a name', { apiVersion: 'apps/v1', kind: 'Deployment', name: 'cart' }, true],
    ['another name', { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }, false],
    ['its namespace', { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop' }, true],
    ['another namespace', { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'other' }, false],
    [
      'labels',
      { apiVersion: 'apps/v1', kind: 'Deployment', labelSelector: { matchLabels: { app: 'cart' } } },
      true,
    ],
    [
      'an empty selector, which means all',
      { apiVersion: 'apps/v1', kind: 'Deployment', labelSelector: {} },
      true,
    ],
    [
      'name and labels of which one fails',
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: 'cart',
        labelSelector: { matchLabels: { app: 'web' } },
      },
      false,
    ],
    [
      'a selector that is not valid, which means nothing',
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        labelSelector: { matchExpressions: [{ key: 'a', operator: 'In' as const, values: [] }] },
      },
      false,
    ],
  ])('by %s', (_what, selector, expected) => {
    expect(selects(selector, cart)).toBe(expected);
  });
});

describe('what is never propagated', () => {
  it.each([
    ['the fleet itself', object('atoll.dev/v1alpha1', 'Propagation', { name: 'p', namespace: 'shop' })],
    ['the inventory', object('core.oam.dev/v1beta1', 'SpokeCluster', { name: 'a', namespace: 'shop' })],
    ['system namespaces', object('v1', 'Namespace', { name: 'kube-system' })],
    ['the default namespace', object('v1', 'Namespace', { name: 'default' })],
    ['what is in a system namespace', object('v1', 'ConfigMap', { name: 'x', namespace: 'kube-public' })],
    ['nodes', object('v1', 'Node', { name: 'n' })],
    ['events', object('v1', 'Event', { name: 'e', namespace: 'shop' })],
    ['leases', object('coordination.k8s.io/v1', 'Lease', { name: 'l', namespace: 'shop' })],
    [
      'what a controller made',
      object('v1', 'Pod', {
        name: 'p',
        namespace: 'shop',
        ownerReferences: [
          { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'r', uid: 'u', controller: true },
        ],
      }),
    ],
    ['the root certificate', object('v1', 'ConfigMap', { name: 'kube-root-ca.crt', namespace: 'shop' })],
    ['the default service account', object('v1', 'ServiceAccount', { name: 'default', namespace: 'shop' })],
    [
      'service account tokens',
      object(
        'v1',
        'Secret',
        { name: 't', namespace: 'shop' },
        { type: 'kubernetes.io/service-account-token' },
      ),
    ],
    ['the API service', object('v1', 'Service', { name: 'kubernetes', namespace: 'default' })],
    [
      'what is being deleted',
      object('v1', 'ConfigMap', { name: 'x', namespace: 'shop', deletionTimestamp: '2026-01-01T00:00:00Z' }),
    ],
    [
      'bootstrap tokens',
      object('v1', 'Secret', { name: 't', namespace: 'shop' }, { type: 'bootstrap.kubernetes.io/token' }),
    ],
    ['endpoint slices', object('discovery.k8s.io/v1', 'EndpointSlice', { name: 'e', namespace: 'shop' })],
    ['questions', object('authorization.k8s.io/v1', 'SubjectAccessReview', { name: '' })],
    ['signing requests', object('certificates.k8s.io/v1', 'CertificateSigningRequest', { name: 'c' })],
    ['roles of the system', object('rbac.authorization.k8s.io/v1', 'ClusterRole', { name: 'system:node' })],
    [
      'roles that servers make',
      object('rbac.authorization.k8s.io/v1', 'ClusterRole', {
        name: 'edit',
        labels: { 'kubernetes.io/bootstrapping': 'rbac-defaults' },
      }),
    ],
    [
      'priorities of the system',
      object('scheduling.k8s.io/v1', 'PriorityClass', { name: 'system-node-critical' }),
    ],
    [
      'versions that servers serve',
      object('apiregistration.k8s.io/v1', 'APIService', { name: 'v1.apps' }, { spec: {} }),
    ],
    [
      'flow control that servers keep',
      object('flowcontrol.apiserver.k8s.io/v1', 'FlowSchema', {
        name: 'probes',
        annotations: { 'apf.kubernetes.io/autoupdate-spec': 'true' },
      }),
    ],
  ])('[S32] includes %s, with the reason', (_what, item) => {
    expect(neverPropagated(item)).toMatch(/\w/);
  });

  it.each([
    ['workloads', cart],
    ['secrets of users', object('v1', 'Secret', { name: 's', namespace: 'shop' }, { type: 'Opaque' })],
    ['other namespaces', object('v1', 'Namespace', { name: 'shop' })],
    [
      'what someone owns without being its controller',
      object('v1', 'ConfigMap', {
        name: 'x',
        namespace: 'shop',
        ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'y', uid: 'u' }],
      }),
    ],
    ['roles of users', object('rbac.authorization.k8s.io/v1', 'ClusterRole', { name: 'auditor' })],
    [
      "somebody else's kind of the same name",
      object('example.com/v1', 'Node', { name: 'n', namespace: 'shop' }),
    ],
    [
      'versions that a service serves',
      object(
        'apiregistration.k8s.io/v1',
        'APIService',
        { name: 'v1.x' },
        { spec: { service: { name: 's' } } },
      ),
    ],
    ['a service of another name in default', object('v1', 'Service', { name: 'web', namespace: 'default' })],
  ])('leaves out %s', (_what, item) => {
    expect(neverPropagated(item)).toBeUndefined();
  });
});
