import { describe, expect, it } from 'vitest';
import { type KubeObject, refKey, refOf, refText } from '../../kube/object.ts';
import { type ClosureOptions, closureOf, definitionsAmong } from './closure.ts';
import { compileReferenceRule } from './reference-rule.ts';
import { referencesOf } from './references.ts';

function object(
  apiVersion: string,
  kind: string,
  name: string,
  more: object = {},
  namespace = 'shop',
): KubeObject {
  return { apiVersion, kind, metadata: { name, ...(namespace === '' ? {} : { namespace }) }, ...more };
}

const podSpec = {
  serviceAccountName: 'runner',
  imagePullSecrets: [{ name: 'registry' }],
  containers: [
    {
      name: 'main',
      envFrom: [{ configMapRef: { name: 'env' } }, { secretRef: { name: 'maybe', optional: true } }],
      env: [
        { name: 'A', valueFrom: { secretKeyRef: { name: 'keys', key: 'a' } } },
        { name: 'B', valueFrom: { configMapKeyRef: { name: 'env', key: 'b', optional: true } } },
        { name: 'C', value: 'plain' },
      ],
    },
  ],
  initContainers: [{ name: 'init', envFrom: [{ configMapRef: { name: 'init' } }] }],
  volumes: [
    { name: 'config', configMap: { name: 'files' } },
    { name: 'tls', secret: { secretName: 'tls' } },
    { name: 'all', projected: { sources: [{ secret: { name: 'part' } }, { configMap: { name: 'part' } }] } },
    { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
    { name: 'driver', csi: { nodePublishSecretRef: { name: 'driver' } } },
    { name: 'scratch', emptyDir: {} },
  ],
};
const names = (of: KubeObject): string[] =>
  referencesOf(of).map(({ ref, optional }) => `${ref.kind}/${ref.name}${optional ? '?' : ''}`);

describe('what objects name', () => {
  const expected = [
    'ServiceAccount/runner',
    'Secret/registry?',
    'PersistentVolumeClaim/data',
    'ConfigMap/files',
    'Secret/tls',
    'Secret/part',
    'ConfigMap/part',
    'Secret/driver',
    'ConfigMap/env',
    'Secret/maybe?',
    'Secret/keys',
    'ConfigMap/init',
  ].sort();

  it.each([
    ['apps/v1', 'Deployment', { spec: { template: { spec: podSpec } } }],
    ['apps/v1', 'DaemonSet', { spec: { template: { spec: podSpec } } }],
    ['batch/v1', 'Job', { spec: { template: { spec: podSpec } } }],
    ['batch/v1', 'CronJob', { spec: { jobTemplate: { spec: { template: { spec: podSpec } } } } }],
    ['v1', 'Pod', { spec: podSpec }],
  ])('[S34] a workload of %s %s', (apiVersion, kind, more) => {
    expect(names(object(apiVersion, kind, 'x', more)).sort()).toEqual(expected);
  });

  it('claims that a StatefulSet makes for itself are not named by it', () => {
    const set = object('apps/v1', 'StatefulSet', 'db', {
      spec: { volumeClaimTemplates: [{ metadata: { name: 'data' } }], template: { spec: podSpec } },
    });
    expect(names(set)).not.toContain('PersistentVolumeClaim/data');
  });

  it('backends of Ingresses and routes, and the secrets of their TLS', () => {
    const ingress = object('networking.k8s.io/v1', 'Ingress', 'web', {
      spec: {
        tls: [{ secretName: 'cert' }],
        defaultBackend: { service: { name: 'front' } },
        rules: [{ http: { paths: [{ backend: { service: { name: 'api' } } }] } }],
      },
    });
    expect(names(ingress)).toEqual(['Secret/cert', 'Service/front', 'Service/api']);
    const route = object('gateway.networking.k8s.io/v1', 'HTTPRoute', 'r', {
      spec: {
        rules: [{ backendRefs: [{ name: 'api' }, { group: 'example.com', kind: 'Bucket', name: 'b' }] }],
      },
    });
    expect(names(route)).toEqual(['Service/api']);
  });

  it('nothing for kinds that are not known, whatever they look like', () => {
    expect(
      names(object('example.com/v1', 'Deployment', 'x', { spec: { template: { spec: podSpec } } })),
    ).toEqual([]);
    expect(names(object('v1', 'Pod', 'x', { spec: { volumes: 'odd', containers: [1, null] } }))).toEqual([]);
  });

  it('for other kinds what a rule says', () => {
    const { rule } = compileReferenceRule([
      "[{'apiVersion': 'v1', 'kind': 'Secret', 'name': object.spec.secret}]",
      "object.spec.parts.map(p, {'apiVersion': 'example.com/v1', 'kind': 'Part', 'name': p, 'optional': true})",
    ]);
    const widget = object('example.com/v1', 'Widget', 'w', { spec: { secret: 's', parts: ['p', 'q'] } });
    expect(rule?.(widget).map(({ ref, optional }) => [refText(ref), optional])).toEqual([
      ['Secret shop/s', false],
      ['Part shop/p', true],
      ['Part shop/q', true],
    ]);
    expect(rule?.(object('example.com/v1', 'Widget', 'w', { spec: { secret: 's' } }))).toHaveLength(1);
    expect(compileReferenceRule(['object.', "'text'"]).problems).toHaveLength(2);
  });
});

describe('what comes along', () => {
  const account = object('v1', 'ServiceAccount', 'runner', { imagePullSecrets: [{ name: 'pull' }] });
  const web = object('apps/v1', 'Deployment', 'web', {
    spec: {
      template: {
        spec: {
          serviceAccountName: 'runner',
          volumes: [
            { name: 'c', configMap: { name: 'settings' } },
            { name: 'g', configMap: { name: 'gone' } },
          ],
        },
      },
    },
  });
  const crd = object(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'widgets.example.com',
    { spec: { group: 'example.com', names: { kind: 'Widget' } } },
    '',
  );
  const otherCrd = object(
    'apiextensions.k8s.io/v1',
    'CustomResourceDefinition',
    'parts.example.com',
    { spec: { group: 'example.com', names: { kind: 'Part' } } },
    '',
  );
  const space = object('v1', 'Namespace', 'shop', {}, '');
  const stock = [
    account,
    web,
    crd,
    otherCrd,
    space,
    object('v1', 'ConfigMap', 'settings'),
    object('v1', 'Secret', 'pull'),
    object('v1', 'Secret', 'other'),
  ];
  const run = (
    objects: KubeObject[],
    options: ClosureOptions,
    never?: (object: KubeObject) => string | undefined,
  ): ReturnType<typeof closureOf> =>
    closureOf(
      objects,
      {
        object: (ref) => stock.find((item) => refKey(refOf(item)) === refKey(ref)),
        definition: definitionsAmong([crd, otherCrd]),
        ...(never ? { never } : {}),
      },
      options,
    );
  const added = (...args: Parameters<typeof run>): string[] =>
    run(...args).added.map(({ object: item }) => refText(refOf(item)));

  it('[S34] nothing where nothing is asked for; what workloads name, and what that names, where it is', () => {
    expect(added([web], {})).toEqual([]);
    expect(added([web], { references: true })).toEqual([
      'ServiceAccount shop/runner',
      'ConfigMap shop/settings',
      'Secret shop/pull',
    ]);
    expect(run([web], { references: true }).missing.map(({ ref }) => refText(ref))).toEqual([
      'ConfigMap shop/gone',
    ]);
  });

  it('[S33] the definition of a custom kind, and only that', () => {
    const widget = object('example.com/v1', 'Widget', 'w');
    expect(added([widget, web], { definitions: true })).toEqual([
      'CustomResourceDefinition widgets.example.com',
    ]);
    expect(added([widget, crd], { definitions: true })).toEqual([]);
  });

  it('namespaces, each once', () => {
    expect(added([web, account], { namespaces: true })).toEqual(['Namespace shop']);
  });

  it('nothing from outside of the namespace of who asks, and nothing that is never sent: both are named', () => {
    const widget = object('example.com/v1', 'Widget', 'w');
    const bounded = run([widget], { definitions: true, namespaces: true, within: 'shop' });
    expect(bounded.added).toEqual([]);
    expect(bounded.refused.map(({ ref, reason }) => `${refText(ref)}: ${reason}`)).toEqual([
      'Namespace shop: it is outside of namespace shop; a ClusterPropagation can bring it along',
      'CustomResourceDefinition widgets.example.com: it is outside of namespace shop; a ClusterPropagation can bring it along',
    ]);
    const never = (item: KubeObject): string | undefined =>
      item.kind === 'Secret' ? 'secrets stay' : undefined;
    expect(run([account], { references: true }, never).refused[0]).toMatchObject({ reason: 'secrets stay' });
  });

  it('ends where objects name each other', () => {
    const rule = compileReferenceRule([
      "[{'apiVersion': 'example.com/v1', 'kind': 'Ring', 'name': object.spec.next}]",
    ]).rule;
    const ring = ['a', 'b'].map((name) =>
      object('example.com/v1', 'Ring', name, { spec: { next: name === 'a' ? 'b' : 'a' } }),
    );
    const closure = closureOf(
      ring.slice(0, 1),
      {
        object: (ref) => ring.find((item) => item.metadata.name === ref.name),
        definition: () => undefined,
        rule: () => rule,
      },
      { references: true },
    );
    expect(closure.added.map(({ object: item }) => item.metadata.name)).toEqual(['b']);
  });
});
