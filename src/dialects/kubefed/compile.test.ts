import { describe, expect, it } from 'vitest';
import type { ClusterFacts } from '../../engine/intent.ts';
import { compileAllow, decide, rejectionIn } from '../../engine/place/index.ts';
import { planIntent } from '../../engine/plan/plan.ts';
import { render } from '../../engine/render/render.ts';
import { at, type JsonObject, type JsonValue } from '../../schema/json.ts';
import { type CompiledFederated, compileFederated, type FederatedContext } from './compile.ts';
import { DEFAULT_NAMESPACE } from './config.ts';
import { federatedTypeFor } from './type-config.ts';
import type {
  ApiResource,
  FederatedObject,
  FederatedPlacement,
  FederatedSpec,
  ReplicaSchedulingPreference,
} from './types.ts';

const deployment: ApiResource = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  pluralName: 'deployments',
  scope: 'Namespaced',
};
const namespaceType: ApiResource = {
  version: 'v1',
  kind: 'Namespace',
  pluralName: 'namespaces',
  scope: 'Cluster',
};

const clusters: ClusterFacts[] = ['c1', 'c2', 'c3'].map((name, index) => ({
  name,
  labels: { tier: index === 0 ? 'gold' : 'silver' },
}));

const template: JsonObject = {
  metadata: { labels: { app: 'web' } },
  spec: { replicas: 3, template: { spec: { containers: [{ name: 'web', image: 'web:1' }] } } },
};

function federated(
  spec: Partial<FederatedSpec> = {},
  target: ApiResource = deployment,
  name = 'web',
): FederatedObject {
  const { federated: type } = federatedTypeFor(target);
  return {
    apiVersion: `${type.group}/${type.version}`,
    kind: type.kind,
    metadata: { name, namespace: 'shop', uid: 'u-1', generation: 2 },
    spec: { template, placement: { clusterSelector: {} }, ...spec },
  };
}

const inNamespace = (placement: FederatedPlacement): FederatedObject => ({
  apiVersion: 'types.kubefed.io/v1beta1',
  kind: 'FederatedNamespace',
  metadata: { name: 'shop', namespace: 'shop' },
  spec: { placement },
});

const context = (more: Partial<FederatedContext> = {}): FederatedContext => ({
  type: federatedTypeFor(deployment),
  controlPlane: DEFAULT_NAMESPACE,
  federatedNamespace: inNamespace({ clusterSelector: {} }),
  ...more,
});

const chosen = (compiled: CompiledFederated): readonly string[] =>
  decide(compiled.intent.placement, clusters).chosen;

/** A field of the object on each cluster that gets it. */
function fields(compiled: CompiledFederated, ...path: string[]): Record<string, JsonValue | undefined> {
  const plan = planIntent(compiled.intent, clusters);
  return Object.fromEntries(
    [...plan.patches].map(([name, patches]) => [
      name,
      at(render(compiled.intent.objects, patches).objects[0], ...path),
    ]),
  );
}

describe('the object of a federated object', () => {
  it('has its name and namespace, the type of the config, and of the metadata of the template only labels', () => {
    const item = federated({
      template: {
        ...template,
        kind: 'Other',
        metadata: { name: 'x', labels: { app: 'web' }, annotations: { a: 'b' }, finalizers: ['f'] },
        status: { replicas: 3 },
      },
    });
    const { intent, warnings } = compileFederated(item, context());
    expect(intent.objects).toEqual([
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: { name: 'web', namespace: 'shop', labels: { app: 'web' } },
        spec: template['spec'],
      },
    ]);
    expect(warnings.map(({ reason }) => reason)).toEqual([
      'AnnotationsNotSupported',
      'FinalizersNotSupported',
    ]);
    expect(intent.source).toMatchObject({ kind: 'FederatedDeployment', name: 'web', generation: 2 });
  });

  it('is of the version that the template states', () => {
    const { intent } = compileFederated(
      federated({ template: { ...template, apiVersion: 'apps/v2' } }),
      context(),
    );
    expect(intent.objects[0]?.apiVersion).toBe('apps/v2');
  });

  it('is adopted, kept and deleted as settings and annotations say', () => {
    const item = federated({ retainReplicas: true });
    item.metadata.annotations = {
      'kubefed.io/orphan': 'true',
      'kubefed.io/deleteoption': '{"propagationPolicy":"Orphan","gracePeriodSeconds":5}',
    };
    expect(compileFederated(item, context({ adopt: false })).intent.applyStrategy).toEqual({
      adopt: 'Never',
      retainReplicas: true,
      preserveOnDeletion: true,
      deletion: { propagationPolicy: 'Orphan', gracePeriodSeconds: 5 },
    });
    expect(compileFederated(federated(), context()).intent.applyStrategy).toEqual({ adopt: 'Always' });
  });
});

describe('placement', () => {
  it.each<[string, FederatedPlacement | undefined, string[]]>([
    ['names', { clusters: [{ name: 'c3' }, { name: 'nobody' }] }, ['c3']],
    ['names, though there is a selector', { clusters: [{ name: 'c2' }], clusterSelector: {} }, ['c2']],
    ['no names, though there is a selector', { clusters: [], clusterSelector: {} }, []],
    ['no names', { clusters: [] }, []],
  ])('[F12] by %s', (_text, placement, expected) => {
    expect(chosen(compileFederated(federated(placement ? { placement } : {}), context()))).toEqual(expected);
  });

  it.each<[string, FederatedPlacement, string[]]>([
    ['everything', { clusterSelector: {} }, ['c1', 'c2', 'c3']],
    ['everything, written with empty labels', { clusterSelector: { matchLabels: {} } }, ['c1', 'c2', 'c3']],
    ['labels', { clusterSelector: { matchLabels: { tier: 'silver' } } }, ['c2', 'c3']],
    ['nothing at all', {}, []],
  ])('[F13] by a selector of %s', (_text, placement, expected) => {
    expect(chosen(compileFederated(federated({ placement }), context()))).toEqual(expected);
  });

  it('[F14] stays within the placement of its namespace', () => {
    const placement = { clusters: [{ name: 'c1' }, { name: 'c2' }] };
    const within = inNamespace({ clusters: [{ name: 'c2' }, { name: 'c3' }] });
    const both = compileFederated(federated({ placement }), context({ federatedNamespace: within }));
    expect(chosen(both)).toEqual(['c2']);
    const none = compileFederated(federated({ placement }), context({ federatedNamespace: undefined }));
    expect([none.reason, chosen(none)]).toEqual(['NamespaceNotFederated', []]);
    const one = compileFederated(
      federated({ placement }),
      context({ federatedNamespace: undefined, namespaced: true }),
    );
    expect([one.reason, chosen(one)]).toEqual(['', ['c1', 'c2']]);
  });

  it('leaves namespaces of clusters and of the control plane alone', () => {
    for (const namespace of ['kube-system', 'kube-public', 'default', DEFAULT_NAMESPACE]) {
      const item = federated();
      item.metadata.namespace = namespace;
      const compiled = compileFederated(item, context());
      expect(chosen(compiled)).toEqual([]);
      expect(compiled.warnings).toMatchObject([{ reason: 'SystemNamespace' }]);
      expect(compiled.reason).toBe('NamespaceNotFederated');
    }
  });

  it('needs a FederatedNamespace to have the name of its namespace', () => {
    const type = federatedTypeFor(namespaceType);
    const good = compileFederated(federated({}, namespaceType, 'shop'), context({ type }));
    expect(chosen(good)).toEqual(['c1', 'c2', 'c3']);
    expect(good.intent.objects[0]?.metadata.namespace).toBeUndefined();
    const bad = compileFederated(federated({}, namespaceType, 'other'), context({ type }));
    expect([chosen(bad), bad.warnings[0]?.reason]).toEqual([[], 'InvalidName']);
    expect(bad.reason).toBe('NamespaceNotFederated');
  });

  it('keeps clusters that are away, and holds still where a selector cannot be understood', () => {
    const away: ClusterFacts = {
      name: 'c4',
      labels: {},
      taints: [{ key: 'atoll.dev/unreachable', effect: 'NoSelect' }],
    };
    expect(decide(compileFederated(federated(), context()).intent.placement, [away]).chosen).toEqual(['c4']);
    const placement = { clusterSelector: { matchExpressions: [{ key: 'a', operator: 'Near' }] } };
    expect(compileFederated(federated({ placement }), context())).toMatchObject({
      reason: 'ComputePlacementFailed',
      hold: expect.stringContaining('clusterSelector'),
    });
  });

  it('[F61] stays within what an administrator allows, with the reason', () => {
    const { intent } = compileFederated(federated(), context());
    const allow = [compileAllow({ name: 'only-c2', clusters: { clusterNames: ['c2'] } })];
    const decision = decide(intent.placement, clusters, undefined, { allow });
    expect(decision.chosen).toEqual(['c2']);
    const reason = rejectionIn(decision, 'c1');
    expect(JSON.stringify(reason)).toContain('only-c2');
  });
});

describe('a federated Service', () => {
  const service: ApiResource = {
    version: 'v1',
    kind: 'Service',
    pluralName: 'services',
    scope: 'Namespaced',
  };
  const strategy = (spec: JsonObject) =>
    compileFederated(federated({ template: { spec } }, service), context({ type: federatedTypeFor(service) }))
      .intent.applyStrategy;

  it('[F20] leaves each cluster the addresses that it has, where the template states others', () => {
    const stated = strategy({ clusterIP: '10.0.0.7', healthCheckNodePort: 32000, ports: [{ port: 80 }] });
    expect(stated?.ignoreFields).toEqual([
      { condition: 'OnPresent', paths: ['spec.clusterIP', 'spec.healthCheckNodePort'] },
    ]);
    expect(strategy({ ports: [{ port: 80 }] })).not.toHaveProperty('ignoreFields');
  });
});

describe('overrides', () => {
  const overrides = [
    {
      clusterName: 'c2',
      clusterOverrides: [
        { path: '/spec/replicas', value: 5 },
        { op: 'add', path: '/metadata/annotations', value: { foo: 'bar' } },
        { op: 'remove', path: '/metadata/annotations/foo' },
      ],
    },
  ];

  it('[F16] change the object on their cluster only, and replace where they do not say how', () => {
    const compiled = compileFederated(federated({ overrides }), context());
    expect(fields(compiled, 'spec', 'replicas')).toEqual({ c1: 3, c2: 5, c3: 3 });
    expect(fields(compiled, 'metadata', 'annotations')).toEqual({ c1: undefined, c2: {}, c3: undefined });
  });

  it('set fields that the template does not have, and need what is around them', () => {
    const on = (...clusterOverrides: { path: string; op?: string; value?: JsonValue }[]) =>
      compileFederated(federated({ overrides: [{ clusterName: 'c2', clusterOverrides }] }), context());
    const set = on(
      { path: '/spec/paused', value: true },
      { path: '/metadata/labels/tier', op: 'replace', value: 'gold' },
      { path: '/spec/template/spec/containers/0/image', value: 'web:2' },
      { path: '/spec/template/spec/containers/0/args', value: ['-v'] },
    );
    expect(fields(set, 'spec', 'paused')).toEqual({ c1: undefined, c2: true, c3: undefined });
    expect(fields(set, 'metadata', 'labels')['c2']).toEqual({ app: 'web', tier: 'gold' });
    expect(fields(set, 'spec', 'template', 'spec', 'containers')['c2']).toEqual([
      { name: 'web', image: 'web:2', args: ['-v'] },
    ]);
    const items = on({ path: '/spec/template/spec/containers/0', value: { name: 'other', image: 'x' } });
    expect(fields(items, 'spec', 'template', 'spec', 'containers')['c2']).toEqual([
      { name: 'other', image: 'x' },
    ]);
    for (const path of ['/spec/strategy/type', '/spec/template/spec/containers/1'])
      expect([...planIntent(on({ path, value: 'x' }).intent, clusters).blocked.keys()]).toEqual(['c2']);
    const gone = on({ op: 'remove', path: '/spec/paused' });
    expect([...planIntent(gone.intent, clusters).blocked.keys()]).toEqual(['c2']);
  });

  it.each([
    [
      'the name',
      [{ clusterName: 'c2', clusterOverrides: [{ path: '/metadata/name', value: 'x' }] }],
      'cannot be overridden',
    ],
    [
      'the name, to what it is',
      [{ clusterName: 'c2', clusterOverrides: [{ path: '/metadata/name', value: 'web' }] }],
      'cannot be overridden',
    ],
    [
      'a generated name',
      [{ clusterName: 'c2', clusterOverrides: [{ op: 'add', path: '/metadata/generateName', value: 'x' }] }],
      'cannot be overridden',
    ],
    [
      'a path twice',
      [
        {
          clusterName: 'c2',
          clusterOverrides: [
            { path: '/spec/replicas', value: 1 },
            { path: '/spec/replicas', value: 2 },
          ],
        },
      ],
      'twice',
    ],
    ['a cluster twice', [...overrides, ...overrides], 'twice'],
    [
      'with an unknown op',
      [{ clusterName: 'c2', clusterOverrides: [{ op: 'move', path: '/spec/replicas' }] }],
      'op of an override',
    ],
    [
      'what is no path',
      [{ clusterName: 'c2', clusterOverrides: [{ path: 'spec.replicas', value: 1 }] }],
      'not the path',
    ],
  ])('[F17] of %s keep their cluster as it is, and no other', (_text, bad, message) => {
    const compiled = compileFederated(federated({ overrides: bad }), context());
    expect([...compiled.blocked.keys()]).toEqual(['c2']);
    expect(compiled.blocked.get('c2')).toContain(message);
    const plan = planIntent(compiled.intent, clusters);
    expect([...plan.blocked.keys()]).toEqual(['c2']);
    expect([...plan.patches.keys()]).toEqual(['c1', 'c3']);
  });
});

describe('replica scheduling preferences', () => {
  const preference = (
    spec: Partial<ReplicaSchedulingPreference['spec']> = {},
    targetKind = 'FederatedDeployment',
  ): ReplicaSchedulingPreference => ({
    apiVersion: 'scheduling.kubefed.io/v1alpha1',
    kind: 'ReplicaSchedulingPreference',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { targetKind, totalReplicas: 9, ...spec },
  });
  const replicas = (compiled: CompiledFederated): Record<string, JsonValue | undefined> =>
    fields(compiled, 'spec', 'replicas');
  const overrides = [
    {
      clusterName: 'c1',
      clusterOverrides: [
        { path: '/spec/replicas', value: 50 },
        { path: '/spec/template/spec/containers/0/image', value: 'web:2' },
      ],
    },
  ];

  it('divide evenly where they name no cluster, and by weight, minimum and maximum where they do', () => {
    const even = context({ preference: preference(), ready: clusters });
    expect(replicas(compileFederated(federated(), even))).toEqual({ c1: 3, c2: 3, c3: 3 });
    const named = preference({
      clusters: { c1: { minReplicas: 1, maxReplicas: 2, weight: 9 }, '*': { weight: 1 } },
      totalReplicas: 10,
    });
    expect(replicas(compileFederated(federated(), context({ preference: named, ready: clusters })))).toEqual({
      c1: 2,
      c2: 4,
      c3: 4,
    });
  });

  it('count ready clusters only, whatever the placement says unless they ask for it, and never beyond the namespace', () => {
    const two = clusters.slice(0, 2);
    const item = federated({ placement: { clusters: [{ name: 'c1' }] } });
    expect(replicas(compileFederated(item, context({ preference: preference(), ready: two })))).toEqual({
      c1: 5,
      c2: 4,
    });
    const within = preference({ intersectWithClusterSelector: true });
    expect(replicas(compileFederated(item, context({ preference: within, ready: two })))).toEqual({ c1: 9 });
    // Names beside a selector are what was scheduled last.
    const gold = { clusters: [{ name: 'c2' }], clusterSelector: { matchLabels: { tier: 'gold' } } };
    expect(
      replicas(
        compileFederated(federated({ placement: gold }), context({ preference: within, ready: clusters })),
      ),
    ).toEqual({ c1: 9 });
    const federatedNamespace = inNamespace({ clusters: [{ name: 'c2' }] });
    expect(
      replicas(compileFederated(item, context({ preference: preference(), ready: two, federatedNamespace }))),
    ).toEqual({ c2: 9 });
  });

  it('place a cluster that gets none with none', () => {
    const named = preference({ clusters: { c2: { weight: 1 } } });
    expect(replicas(compileFederated(federated(), context({ preference: named, ready: clusters })))).toEqual({
      c1: 0,
      c2: 9,
      c3: 0,
    });
  });

  it('go by what runs and by capacity, and give out what is above it all the same', () => {
    const workloads = new Map([['c1', { current: 9 }]]);
    const staying = context({ preference: preference(), ready: clusters, workloads });
    expect(replicas(compileFederated(federated(), staying))).toEqual({ c1: 9, c2: 0, c3: 0 });
    const full = new Map([['c1', { current: 0, capacity: 1 }]]);
    const moving = preference({ rebalance: true });
    const compiled = compileFederated(
      federated(),
      context({ preference: moving, ready: clusters, workloads: full }),
    );
    expect(replicas(compiled)).toEqual({ c1: 3, c2: 4, c3: 4 });
  });

  it('[F41] leave other overrides alone, and leave nothing behind when they are deleted', () => {
    const item = federated({ overrides });
    const before = compileFederated(item, context());
    const during = compileFederated(item, context({ preference: preference(), ready: clusters }));
    expect(replicas(during)).toEqual({ c1: 3, c2: 3, c3: 3 });
    const image = ['spec', 'template', 'spec', 'containers'];
    expect(fields(during, ...image)['c1']).toEqual([{ name: 'web', image: 'web:2' }]);
    expect(compileFederated(item, context())).toEqual(before);
    expect(replicas(before)).toEqual({ c1: 50, c2: 3, c3: 3 });
  });

  it('[F42] divide any kind with a number of replicas', () => {
    const kind = (name: string, group: string): ApiResource => ({ ...deployment, group, kind: name });
    const set = kind('StatefulSet', 'apps');
    const custom = kind('Farm', 'example.com');
    const compileOf = (target: ApiResource, more: Partial<FederatedContext> = {}): CompiledFederated =>
      compileFederated(
        federated({}, target),
        context({
          type: federatedTypeFor(target),
          preference: preference({}, `Federated${target.kind}`),
          ready: clusters,
          ...more,
        }),
      );
    expect(replicas(compileOf(set))).toEqual({ c1: 3, c2: 3, c3: 3 });
    const size = compileOf(custom, { replicasPath: ['spec', 'size'] });
    expect(fields(size, 'spec', 'size')).toEqual({ c1: 3, c2: 3, c3: 3 });
    expect(compileOf(custom).hold).toContain('Farm has no number of replicas');
  });

  it('hold still where no cluster is ready or a number is senseless', () => {
    expect(compileFederated(federated(), context({ preference: preference(), ready: [] })).hold).toContain(
      'no ready',
    );
    const bad = preference({ clusters: { c1: { weight: -1 } } });
    expect(compileFederated(federated(), context({ preference: bad, ready: clusters })).hold).toContain(
      'clusters.c1.weight',
    );
  });

  it('mean the object of their name and kind only', () => {
    const other = preference({}, 'FederatedReplicaSet');
    expect(
      compileFederated(federated(), context({ preference: other, ready: clusters })).schedule,
    ).toBeUndefined();
  });
});
