import { describe, expect, it } from 'vitest';
import type { ClusterFacts, Override } from '../../engine/intent.ts';
import { compileOverrides } from '../../engine/render/override.ts';
import { render } from '../../engine/render/render.ts';
import type { KubeObject } from '../../kube/object.ts';
import { closeness, type OverridePolicy, overridesOfPolicies } from './index.ts';
import type { Overriders, OverrideSpec, PolicyClusters } from './types.ts';

const oslo: ClusterFacts = {
  name: 'oslo',
  labels: { tier: 'edge' },
  fields: { region: 'north', provider: 'aws' },
};

const web: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
  spec: {
    replicas: 2,
    template: {
      spec: {
        containers: [
          { name: 'main', image: 'docker.io/shop/web:1.2', command: ['serve'], args: ['--slow', 'x'] },
          { name: 'side', image: 'side@sha256:0123456789abcdef0123456789abcdef' },
        ],
      },
    },
  },
};
const settings: KubeObject = {
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings', namespace: 'shop' },
  data: { 'app.json': '{"size": 1, "keep": true}', 'app.yaml': '# note\nsize: 1\n' },
};

function policy(name: string, spec: OverrideSpec, namespace?: string): OverridePolicy {
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: namespace === undefined ? 'ClusterOverridePolicy' : 'OverridePolicy',
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    spec,
  };
}

function rule(overriders: Overriders, targetCluster?: PolicyClusters): OverrideSpec {
  return { overrideRules: [{ overriders, ...(targetCluster ? { targetCluster } : {}) }] };
}

function compiled(objects: readonly KubeObject[], policies: readonly OverridePolicy[]): readonly Override[] {
  return overridesOfPolicies(
    policies.map((one) => ({
      policy: one,
      objects: objects.filter((object) => closeness(one, object) !== undefined),
    })),
  );
}

/** An object on the cluster `oslo`, or what is wrong there. */
function there(object: KubeObject, ...policies: OverridePolicy[]): KubeObject {
  const { patches, problems } = compileOverrides([object], compiled([object], policies), oslo);
  if (problems.length > 0) throw new Error(problems.map((item) => `${item.where}: ${item.message}`).join());
  return render([object], patches).objects[0] as KubeObject;
}

const containers = (object: KubeObject): { image: string; command?: string[]; args?: string[] }[] =>
  (object['spec'] as { template: { spec: { containers: [] } } }).template.spec.containers;
const replicas = (object: KubeObject): unknown => (object['spec'] as { replicas: number }).replicas;
const setTo = (value: number): Overriders => ({
  plaintext: [{ path: '/spec/replicas', operator: 'replace', value }],
});

describe('the order of policies', () => {
  const selectors = {
    kind: [{ apiVersion: 'apps/v1', kind: 'Deployment' }],
    label: [{ apiVersion: 'apps/v1', kind: 'Deployment', labelSelector: { matchLabels: { app: 'web' } } }],
    name: [{ apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' }],
  };
  const named = policy('a', { resourceSelectors: selectors.name, ...rule(setTo(30)) }, 'shop');
  const labelled = policy('b', { resourceSelectors: selectors.label, ...rule(setTo(20)) }, 'shop');
  const all = policy('c', { resourceSelectors: selectors.kind, ...rule(setTo(10)) }, 'shop');

  it('[A32] of three policies on one field the one that names the object wins, in whatever order they are found', () => {
    for (const order of [
      [named, labelled, all],
      [all, labelled, named],
      [labelled, named, all],
    ])
      expect(replicas(there(web, ...order))).toBe(30);
    expect(replicas(there(web, labelled, all))).toBe(20);
  });

  it('[A32] cluster-scoped policies come before namespaced ones, however closely they mean the object', () => {
    const cluster = policy('z', { resourceSelectors: selectors.name, ...rule(setTo(99)) });
    expect(replicas(there(web, all, cluster))).toBe(10);
    expect(replicas(there(web, cluster))).toBe(99);
  });

  it('of equally close ones the later by name wins, and rules of one in their order', () => {
    const early = policy('a', rule(setTo(1)));
    const late = policy('b', { overrideRules: [{ overriders: setTo(2) }, { overriders: setTo(3) }] });
    expect(replicas(there(web, late, early))).toBe(3);
  });

  it('a namespaced policy reaches objects of its namespace only, whatever its selectors say', () => {
    const elsewhere = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop' };
    expect(
      replicas(there(web, policy('a', { resourceSelectors: [elsewhere], ...rule(setTo(9)) }, 'other'))),
    ).toBe(2);
    const role: KubeObject = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'r' },
    };
    expect(closeness(policy('a', {}, 'shop'), role)).toBeUndefined();
    expect(closeness(policy('a', {}), role)).toBe('All');
    const other = { ...elsewhere, namespace: 'other' };
    expect(closeness(policy('a', { resourceSelectors: [other] }), web)).toBeUndefined();
  });
});

describe('what a policy does', () => {
  it('changes parts of images of all containers, and what is written for others it leaves alone', () => {
    const change = (overriders: Overriders): string[] =>
      containers(there(web, policy('p', rule(overriders)))).map(({ image }) => image);
    const digest = 'sha256:0123456789abcdef0123456789abcdef';
    expect(
      change({ imageOverrider: [{ component: 'Registry', operator: 'replace', value: 'eu.gcr.io' }] }),
    ).toEqual(['eu.gcr.io/shop/web:1.2', `eu.gcr.io/side@${digest}`]);
    expect(change({ imageOverrider: [{ component: 'Registry', operator: 'remove' }] })[0]).toBe(
      'shop/web:1.2',
    );
    expect(
      change({ imageOverrider: [{ component: 'Repository', operator: 'add', value: '-lite' }] })[0],
    ).toBe('docker.io/shop/web-lite:1.2');
    expect(change({ imageOverrider: [{ component: 'Tag', operator: 'add', value: '-eu' }] })[0]).toBe(
      'docker.io/shop/web:1.2-eu',
    );
    expect(change({ imageOverrider: [{ component: 'Tag', operator: 'replace', value: digest }] })[0]).toBe(
      `docker.io/shop/web@${digest}`,
    );
    const path = '/spec/template/spec/containers/1/image';
    expect(
      change({ imageOverrider: [{ predicate: { path }, component: 'Tag', operator: 'remove' }] }),
    ).toEqual(['docker.io/shop/web:1.2', 'side']);
    expect(
      there(settings, policy('p', rule({ imageOverrider: [{ component: 'Tag', operator: 'remove' }] }))),
    ).toEqual(settings);
  });

  it('changes words, labels, annotations and documents, the patch last', () => {
    const changed = there(
      web,
      policy(
        'p',
        rule({
          plaintext: [{ path: '/metadata/labels/tier', operator: 'replace', value: 'last' }],
          commandOverrider: [{ containerName: 'main', operator: 'add', value: ['--now'] }],
          argsOverrider: [
            { containerName: 'main', operator: 'remove', value: ['--slow'] },
            { containerName: 'nobody', operator: 'add', value: ['y'] },
          ],
          labelsOverrider: [
            { operator: 'add', value: { tier: 'edge', gone: 'x' } },
            { operator: 'replace', value: { absent: 'x' } },
            { operator: 'remove', value: { gone: '' } },
          ],
          annotationsOverrider: [{ operator: 'add', value: { 'a/b': 'c' } }],
        }),
      ),
    );
    expect(changed.metadata.labels).toEqual({ app: 'web', tier: 'last' });
    expect(changed.metadata.annotations).toEqual({ 'a/b': 'c' });
    expect(containers(changed)[0]).toMatchObject({ command: ['serve', '--now'], args: ['x'] });
    const inside = there(
      settings,
      policy(
        'p',
        rule({
          fieldOverrider: [
            { fieldPath: '/data/app.json', json: [{ subPath: '/size', operator: 'replace', value: 2 }] },
            { fieldPath: '/data/app.yaml', yaml: [{ subPath: '/more', operator: 'add', value: [1] }] },
          ],
        }),
      ),
    );
    expect(inside['data']).toEqual({
      'app.json': '{"keep":true,"size":2}',
      'app.yaml': '# note\nsize: 1\nmore:\n  - 1\n',
    });
  });

  it('does so on the clusters that it means', () => {
    const on = (targetCluster: PolicyClusters): unknown =>
      replicas(there(web, policy('p', rule(setTo(7), targetCluster))));
    expect(on({})).toBe(7);
    expect(on({ clusterNames: [] })).toBe(7);
    expect(on({ clusterNames: ['bergen'] })).toBe(2);
    expect(on({ labelSelector: { matchLabels: { tier: 'edge' } } })).toBe(7);
    expect(on({ labelSelector: { matchLabels: { tier: 'edge' } }, exclude: ['oslo'] })).toBe(2);
    const region = (operator: 'In' | 'NotIn'): PolicyClusters => ({
      fieldSelector: { matchExpressions: [{ key: 'region', operator, values: ['north'] }] },
    });
    expect(on(region('In'))).toBe(7);
    expect(on(region('NotIn'))).toBe(2);
  });

  it('reads the older form of a single rule', () => {
    const spec = { overriders: setTo(5), targetCluster: { clusterNames: ['oslo'] } };
    expect(replicas(there(web, policy('p', spec)))).toBe(5);
    expect(replicas(there(web, policy('p', { ...spec, ...rule(setTo(6)) })))).toBe(6);
    expect(replicas(there(web, policy('p', {})))).toBe(2);
  });

  it('fails where a path is not there, or may not be changed, and says which policy it was', () => {
    const broken = (path: string): OverridePolicy =>
      policy('p', rule({ plaintext: [{ path, operator: 'replace', value: 'x' }] }), 'shop');
    expect(() => there(web, broken('/spec/nothing'))).toThrow(/^OverridePolicy shop\/p: .*nothing/);
    expect(() => there(web, broken('/metadata/name'))).toThrow(/may not change metadata.name/);
    const path = '/spec/image';
    expect(() =>
      there(
        web,
        policy(
          'p',
          rule({ imageOverrider: [{ predicate: { path }, component: 'Tag', operator: 'remove' }] }),
        ),
      ),
    ).toThrow(/ClusterOverridePolicy p/);
  });

  it('leaves the numbers of an intent\u2019s own overrides as they are', () => {
    const own: Override = { patch: [{ op: 'remove', path: '/spec/nothing' }] };
    const overrides = [...compiled([web], [policy('p', rule(setTo(4)))]), own];
    expect(compileOverrides([web], overrides, oslo).problems[0]?.where).toBe('overrides[0]');
  });
});
