import { describe, expect, it } from 'vitest';
import type { ClusterFacts } from '../../engine/intent.ts';
import { decide } from '../../engine/place/index.ts';
import { planIntent } from '../../engine/plan/plan.ts';
import { render } from '../../engine/render/render.ts';
import type { KubeObject } from '../../kube/object.ts';
import {
  type CompiledFederated,
  compileEarly,
  compileFederationPlacement,
  DEFAULT_NAMESPACE,
  type EarlyContext,
  type EarlyParts,
  federatedTypeFor,
} from './index.ts';

const clusters: ClusterFacts[] = ['c1', 'c2', 'c3'].map((name) => ({ name, labels: { name } }));
const type = federatedTypeFor({
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  pluralName: 'deployments',
  scope: 'Namespaced',
});
const context: EarlyContext = { type, controlPlane: DEFAULT_NAMESPACE };
const part = (kind: string, spec: object, name = 'web'): KubeObject => ({
  apiVersion: 'core.federation.k8s.io/v1alpha1',
  kind,
  metadata: { name, namespace: 'shop', uid: 'u' },
  spec,
});
const template = part('FederatedDeployment', {
  template: { metadata: { labels: { app: 'web' } }, spec: { replicas: 3, paused: false } },
});
const places = (clusterNames: readonly string[]): KubeObject =>
  part('FederatedDeploymentPlacement', { clusterNames });
const chosen = ({ intent }: CompiledFederated): readonly string[] =>
  decide(intent.placement, clusters).chosen;
const specs = (compiled: CompiledFederated): Record<string, unknown> =>
  Object.fromEntries(
    [...planIntent(compiled.intent, clusters).patches].map(([name, patches]) => [
      name,
      render(compiled.intent.objects, patches).objects[0]?.['spec'],
    ]),
  );

describe('template, placement and override as objects of their own', () => {
  it('[F59] are joined by name, and the typed field of an override means its field of the target', () => {
    const override = part('FederatedDeploymentOverride', { overrides: [{ clusterName: 'c2', replicas: 7 }] });
    const compiled = compileEarly({ template, placement: places(['c1', 'c2']), override }, context);
    expect(specs(compiled)).toEqual({
      c1: { replicas: 3, paused: false },
      c2: { replicas: 7, paused: false },
    });
    expect(compiled.intent.objects[0]).toMatchObject({
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
    });
  });

  it('may have paths with dots in overrides, and make what is on the way', () => {
    const clusterOverrides = [
      { path: 'spec.paused', value: true },
      { path: 'spec.strategy.rollingUpdate.maxSurge', value: 2 },
      { path: 'spec.strategy.rollingUpdate.maxUnavailable', value: 0 },
    ];
    const override = part('FederatedDeploymentOverride', {
      overrides: [{ clusterName: 'c1', clusterOverrides }],
    });
    expect(specs(compileEarly({ template, placement: places(['c1']), override }, context))['c1']).toEqual({
      replicas: 3,
      paused: true,
      strategy: { rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } },
    });
    const bad = part('FederatedDeploymentOverride', {
      overrides: [{ clusterName: 'c1', clusterOverrides: [{ path: 'metadata.name', value: 'x' }] }],
    });
    const compiled = compileEarly({ template, placement: places(['c1', 'c2']), override: bad }, context);
    expect(Object.keys(specs(compiled))).toEqual(['c2']);
    expect(compiled.blocked.has('c1')).toBe(true);
  });

  it('[F59] go nowhere without a placement; a namespace without one goes everywhere', () => {
    const parts: EarlyParts = { template };
    expect(chosen(compileEarly(parts, context))).toEqual([]);
    const namespace: KubeObject = {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: 'shop', labels: { a: 'b' } },
    };
    const namespaces = federatedTypeFor({
      version: 'v1',
      kind: 'Namespace',
      pluralName: 'namespaces',
      scope: 'Cluster',
    });
    const everywhere = compileEarly({ template: namespace }, { ...context, type: namespaces });
    expect(chosen(everywhere)).toEqual(['c1', 'c2', 'c3']);
    expect(everywhere.intent.objects).toEqual([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop', labels: { a: 'b' } } },
    ]);
    const some = compileEarly(
      {
        template: namespace,
        placement: part('FederatedNamespacePlacement', { clusterNames: ['c2'] }, 'shop'),
      },
      { ...context, type: namespaces },
    );
    expect(chosen(some)).toEqual(['c2']);
  });

  it('stay within the placement of their namespace', () => {
    const namespacePlacement = part('FederatedNamespacePlacement', { clusterNames: ['c2', 'c3'] }, 'shop');
    expect(
      chosen(compileEarly({ template, placement: places(['c1', 'c2']), namespacePlacement }, context)),
    ).toEqual(['c2']);
  });
});

describe('FederationPlacement', () => {
  const map = (name: string, namespace: string, labels: Record<string, string>): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels },
  });
  const objects = [
    map('a', 'shop', { tier: 'web' }),
    map('b', 'shop', { tier: 'db' }),
    map('c', 'other', { tier: 'web' }),
    map('kube-root-ca.crt', 'shop', { tier: 'web' }),
  ];

  it('[F60] brings objects of its namespace with some labels to clusters with some labels', () => {
    const policy = part('FederationPlacement', {
      resourceSelector: { matchLabels: { tier: 'web' } },
      clusterSelector: { matchLabels: { name: 'c3' } },
    });
    const { intent, skipped } = compileFederationPlacement(
      { ...policy, spec: policy['spec'] as object },
      objects,
    );
    expect(intent.objects.map(({ metadata }) => metadata.name)).toEqual(['a']);
    expect(decide(intent.placement, clusters).chosen).toEqual(['c3']);
    expect(skipped).toHaveLength(1);
  });

  it('brings nothing anywhere where it does not say what or where, and holds still where it cannot be understood', () => {
    const nothing = compileFederationPlacement({ ...part('FederationPlacement', {}), spec: {} }, objects);
    expect([nothing.intent.objects, decide(nothing.intent.placement, clusters).chosen]).toEqual([[], []]);
    const spec = { resourceSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } };
    expect(compileFederationPlacement({ ...part('FederationPlacement', {}), spec }, objects).hold).toContain(
      'Selector',
    );
  });
});
