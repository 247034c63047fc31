import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import {
  type ApiType,
  federate,
  federatedTypeFor,
  federateNamespace,
  notContents,
  resolveType,
} from './index.ts';
import type { ApiResource } from './types.ts';

const core = (kind: string, pluralName: string, scope: ApiResource['scope'] = 'Namespaced'): ApiResource => ({
  version: 'v1',
  kind,
  pluralName,
  scope,
});
const services = federatedTypeFor(core('Service', 'services'));

describe('federating an object', () => {
  it('keeps of its metadata only labels, and drops what its cluster allocated', () => {
    const service: KubeObject = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { name: 'web', namespace: 'shop', uid: 'u', labels: { a: 'b' }, annotations: { c: 'd' } },
      spec: {
        type: 'NodePort',
        clusterIP: '10.0.0.1',
        clusterIPs: ['10.0.0.1'],
        ports: [{ port: 80, nodePort: 30080 }],
      },
      status: { loadBalancer: {} },
    };
    expect(federate(service, services)).toEqual({
      apiVersion: 'types.kubefed.io/v1beta1',
      kind: 'FederatedService',
      metadata: { name: 'web', namespace: 'shop' },
      spec: {
        template: { metadata: { labels: { a: 'b' } }, spec: { type: 'NodePort', ports: [{ port: 80 }] } },
        placement: { clusterSelector: { matchLabels: {} } },
      },
    });
    expect(service.metadata.uid).toBe('u');
  });

  it('drops tokens of service accounts and finalizers of namespaces, and puts a namespace into itself', () => {
    const account: KubeObject = {
      apiVersion: 'v1',
      kind: 'ServiceAccount',
      metadata: { name: 'web', namespace: 'shop' },
      secrets: [{ name: 'web-token' }],
      automountServiceAccountToken: true,
    };
    expect(
      federate(account, federatedTypeFor(core('ServiceAccount', 'serviceaccounts'))).spec.template,
    ).toEqual({
      automountServiceAccountToken: true,
    });
    const namespace: KubeObject = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'shop' },
      spec: { finalizers: ['kubernetes'] },
    };
    expect(federate(namespace, federatedTypeFor(core('Namespace', 'namespaces', 'Cluster')))).toMatchObject({
      kind: 'FederatedNamespace',
      metadata: { name: 'shop', namespace: 'shop' },
      spec: { template: {} },
    });
  });
});

const types: ApiType[] = [
  {
    group: '',
    version: 'v1',
    kind: 'Service',
    plural: 'services',
    singular: 'service',
    shortNames: ['svc'],
    namespaced: true,
  },
  {
    group: 'serving.knative.dev',
    version: 'v1',
    kind: 'Service',
    plural: 'services',
    singular: 'service',
    namespaced: true,
  },
  { group: '', version: 'v1', kind: 'ConfigMap', plural: 'configmaps', shortNames: ['cm'], namespaced: true },
  { group: '', version: 'v1', kind: 'Event', plural: 'events', namespaced: true },
  { group: 'events.k8s.io', version: 'v1', kind: 'Event', plural: 'events', namespaced: true },
  { group: '', version: 'v1', kind: 'Endpoints', plural: 'endpoints', namespaced: true },
  { group: '', version: 'v1', kind: 'Binding', plural: 'bindings', namespaced: true, verbs: ['create'] },
  { group: '', version: 'v1', kind: 'Node', plural: 'nodes', namespaced: false },
  {
    group: 'extensions',
    version: 'v1beta1',
    kind: 'Deployment',
    plural: 'deployments',
    shortNames: ['deploy'],
    namespaced: true,
  },
  {
    group: 'apps',
    version: 'v1',
    kind: 'Deployment',
    plural: 'deployments',
    shortNames: ['deploy'],
    namespaced: true,
  },
  {
    group: 'types.kubefed.io',
    version: 'v1beta1',
    kind: 'FederatedSecret',
    plural: 'federatedsecrets',
    namespaced: true,
  },
];

describe('the type that a name means', () => {
  it.each([
    ['configmaps', 'configmaps.'],
    ['ConfigMap', 'configmaps.'],
    ['cm', 'configmaps.'],
    ['services.serving.knative.dev', 'services.serving.knative.dev'],
    ['deployment.apps', 'deployments.apps'],
    ['deployments.extensions', 'deployments.extensions'],
    ['deploy', 'deployments.apps'],
    ['events', 'events.'],
  ])('[F46] %s is %s', (name, expected) => {
    const found = resolveType(name, types);
    expect('problem' in found ? found.problem : `${found.plural}.${found.group}`).toBe(expected);
  });

  it('[F46] is asked for where there are several', () => {
    expect(resolveType('services', types)).toEqual({
      problem: '"services" may mean services, services.serving.knative.dev: say which',
    });
    expect(resolveType('gadgets', types)).toHaveProperty('problem');
  });
});

describe('the contents of a namespace', () => {
  it('[F44] are of all types but those of clusters, of the federation, and those that people leave out', () => {
    const left = types.filter((type) => notContents(type, ['configmaps']) === undefined);
    expect(left.map(({ plural, group }) => `${plural}.${group}`)).toEqual([
      'services.',
      'services.serving.knative.dev',
      'deployments.apps',
    ]);
  });

  it('[F44] come after the namespace, without what each cluster makes', () => {
    const namespace: KubeObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } };
    const map = (name: string): KubeObject => ({
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name, namespace: 'shop' },
    });
    const typeOf = ({ kind }: KubeObject) =>
      kind === 'Gadget' ? undefined : federatedTypeFor(core(kind, `${kind.toLowerCase()}s`));
    const gadget = { ...map('g'), kind: 'Gadget' };
    const result = federateNamespace(
      namespace,
      [map('a'), map('kube-root-ca.crt'), gadget],
      typeOf,
      'kube-federation-system',
    );
    if ('problem' in result) throw new Error(result.problem);
    expect(result.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'FederatedNamespace shop',
      'FederatedConfigMap a',
    ]);
    expect(result.skipped.map(({ ref }) => ref.name)).toEqual(['kube-root-ca.crt', 'g']);
    const system = { ...namespace, metadata: { name: 'kube-system' } };
    expect(federateNamespace(system, [], typeOf, 'kube-federation-system')).toHaveProperty('problem');
  });
});
