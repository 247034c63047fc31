import { describe, expect, it } from 'vitest';
import { strategyOf } from '../../engine/dispatch/index.ts';
import { summariseFleet } from '../../engine/summarise/summarise.ts';
import type { ResourceId } from '../../kube/client.ts';
import type { KubeObject } from '../../kube/object.ts';
import { refKey, refOf } from '../../kube/object.ts';
import {
  type Binding,
  type BindingPolicy,
  combineModulations,
  compileBinding,
  compilePolicy,
  labelValueOf,
  listedIn,
  listedKey,
  neverListed,
  reachesKind,
  reportBinding,
  reportPolicy,
  resolvePolicy,
  sameContent,
} from './index.ts';

const MAPS: ResourceId = {
  group: '',
  version: 'v1',
  resource: 'configmaps',
  kind: 'ConfigMap',
  namespaced: true,
};
const ROLES: ResourceId = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterroles',
  kind: 'ClusterRole',
  namespaced: false,
};
const map = (name: string, more: object = {}, namespace: string = 'shop'): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace, uid: `uid-${name}`, resourceVersion: '7' },
  ...more,
});
const role: KubeObject = {
  apiVersion: 'rbac.authorization.k8s.io/v1',
  kind: 'ClusterRole',
  metadata: { name: 'reader', resourceVersion: '3' },
};
const policy = (downsync: NonNullable<BindingPolicy['spec']>['downsync']): BindingPolicy => ({
  apiVersion: 'control.kubestellar.io/v1alpha1',
  kind: 'BindingPolicy',
  metadata: { name: 'p' },
  spec: { clusterSelectors: [{}], downsync: downsync ?? [] },
});
const resolve = (
  downsync: NonNullable<BindingPolicy['spec']>['downsync'],
  maps: readonly KubeObject[],
  more: Partial<Parameters<typeof resolvePolicy>[1]> = {},
) =>
  resolvePolicy(compilePolicy(policy(downsync)), {
    stocks: [
      { kind: MAPS, objects: maps },
      { kind: ROLES, objects: [role] },
    ],
    namespaces: () => ({}),
    destinations: ['b', 'a'],
    ...more,
  });

describe('resolving a policy', () => {
  it('lists sorted what any clause passes, each once, with what all of them say of it', () => {
    const { spec } = resolve(
      [
        { apiGroup: '', createOnly: true, statusCollectors: ['b', 'a'] },
        { objectNames: ['y'], statusCollectors: ['c', 'a'], wantSingletonReportedState: true },
        { resources: ['clusterroles'], createOnly: false },
      ],
      [map('z'), map('y'), map('kube-root-ca.crt')],
    );
    const listed = {
      group: '',
      version: 'v1',
      resource: 'configmaps',
      namespace: 'shop',
      resourceVersion: '7',
    };
    expect(spec).toEqual({
      workload: {
        clusterScope: [
          {
            group: 'rbac.authorization.k8s.io',
            version: 'v1',
            resource: 'clusterroles',
            name: 'reader',
            resourceVersion: '3',
          },
        ],
        namespaceScope: [
          {
            ...listed,
            name: 'y',
            createOnly: true,
            wantSingletonReportedState: true,
            statusCollectors: ['a', 'b', 'c'],
          },
          { ...listed, name: 'z', createOnly: true, statusCollectors: ['a', 'b'] },
        ],
      },
      destinations: [{ clusterId: 'a' }, { clusterId: 'b' }],
    });
  });

  it('goes on naming the version whose content it knows, as long as only a status changes', () => {
    const clause = [{ resources: ['configmaps'] }];
    const first = resolve(clause, [map('a', { data: { x: '1' } })]);
    const told = map('a', { data: { x: '1' }, status: { seen: true } });
    const moved = { ...told, metadata: { ...told.metadata, resourceVersion: '9' } };
    expect(resolve(clause, [moved], { previous: first })).toEqual(first);
    const changed = { ...moved, data: { x: '2' } };
    expect(listedIn(resolve(clause, [changed], { previous: first }).spec)[0]?.resourceVersion).toBe('9');
    expect([sameContent(told, moved), sameContent(moved, changed)]).toEqual([true, false]);
  });

  it('keeps what it listed of kinds that cannot be read now', () => {
    const clause = [{ namespaces: ['shop'] }];
    const first = resolve(clause, [map('a')]);
    const blind = resolve(clause, [], {
      previous: first,
      unreadable: ({ resource }) => resource === 'configmaps',
    });
    expect(blind.spec).toEqual(first.spec);
    expect(resolve(clause, [], { previous: first }).spec.workload).toEqual({});
  });

  it('watches only kinds that a clause may pass', () => {
    const compiled = compilePolicy(policy([{ apiGroup: '' }]));
    expect([reachesKind(compiled, MAPS), reachesKind(compiled, ROLES)]).toEqual([true, false]);
    expect(reachesKind(compiled, { ...MAPS, resource: 'events', kind: 'Event' })).toBe(false);
  });

  it.each([
    ['control.kubestellar.io', 'bindings.control.kubestellar.io'],
    ['core.kubefed.io', 'kubefedclusters.core.kubefed.io'],
    ['atoll.dev', 'dispatches.atoll.dev'],
  ])('never lists the definitions of %s', (group, name) => {
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      spec: { group },
    };
    expect(neverListed({ ...definition, metadata: { name } })).toBeDefined();
    const other = {
      ...definition,
      spec: { group: 'example.com' },
      metadata: { name: 'widgets.example.com' },
    };
    expect(neverListed(other)).toBeUndefined();
  });
});

describe('a Binding', () => {
  const binding = (names: readonly string[], more: object = {}): Binding => ({
    apiVersion: 'control.kubestellar.io/v1alpha1',
    kind: 'Binding',
    metadata: { name: 'b', uid: 'u', generation: 2 },
    spec: {
      workload: {
        namespaceScope: names.map((name) => ({
          group: '',
          version: 'v1',
          resource: 'configmaps',
          namespace: name.split('/')[0] ?? '',
          name: name.split('/')[1] ?? '',
          ...more,
        })),
      },
      destinations: [{ clusterId: 'b' }, { clusterId: 'a' }, { clusterId: 'b' }],
    },
  });
  const compile = (
    of: Binding,
    objects: readonly KubeObject[],
    combined: Parameters<typeof compileBinding>[1]['combined'] = (listed) => ({
      modulation: combineModulations([listed]),
      reporting: 2,
    }),
  ) =>
    compileBinding(of, {
      kind: ({ resource }) => (resource === 'configmaps' ? MAPS : undefined),
      object: (_kind, { namespace, name }) =>
        objects.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace),
      definition: () => undefined,
      combined,
    });

  it('is an intent with its objects as they are now, on its destinations, shared with other Bindings', () => {
    const { intent, errors } = compile(binding(['shop/a', 'shop/missing', 'shop/a']), [map('a')]);
    expect(intent.objects.map((object) => refKey(refOf(object)))).toEqual(['/ConfigMap/shop/a']);
    expect(intent.placement).toEqual({ clusterNames: ['a', 'b'] });
    expect(intent.shared).toEqual([refOf(map('a'))]);
    expect(intent.returns).toBe('None');
    expect(errors).toEqual([
      'configmaps shop/missing is not at the hub',
      'configmaps shop/a is listed twice',
    ]);
  });

  it('makes only those once that are to be made only: one of two of a name', () => {
    const objects = [map('a'), map('a', {}, 'bank')];
    const only = ({ namespace }: { namespace?: string }): { modulation: object; reporting: number } => ({
      modulation: namespace === 'bank' ? { createOnly: true } : {},
      reporting: 0,
    });
    const objectApply = compile(binding(['shop/a', 'bank/a']), objects, only).intent.objectStrategies ?? [];
    expect(objects.map((object) => strategyOf({ objectApply }, object).strategy)).toEqual([
      undefined,
      'CreateOnly',
    ]);
    expect(objectApply).toEqual([
      {
        target: { apiVersion: 'v1', kind: 'ConfigMap', name: 'a', namespace: 'bank' },
        strategy: 'CreateOnly',
      },
    ]);
    expect(
      compile(binding(['shop/a', 'bank/a'], { createOnly: true }), objects).intent.objectStrategies,
    ).toEqual([{ target: { apiVersion: 'v1', kind: 'ConfigMap' }, strategy: 'CreateOnly' }]);
    const annotated = map('a', {
      metadata: {
        name: 'a',
        namespace: 'shop',
        annotations: { 'edge.kubestellar.io/downsync-overwrite': 'false' },
      },
    });
    expect(compile(binding(['shop/a']), [annotated]).intent.objectStrategies).toHaveLength(1);
  });

  it.each([
    [{ wantSingletonReportedState: true }, 1, 1],
    [{ wantSingletonReportedState: true }, 2, 0],
    [{ wantMultiWECReportedState: true }, 2, 1],
    [{}, 1, 0],
  ])('asks for statuses with %j on %i clusters', (modulation, reporting, templates) => {
    const compiled = compile(binding(['shop/a']), [map('a')], () => ({ modulation, reporting }));
    expect(compiled.templates).toHaveLength(templates);
  });

  it('holds everything while it is not known whether something is served', () => {
    const compiled = compileBinding(binding(['shop/a']), {
      kind: () => undefined,
      mystery: () => 'metrics is away',
      object: () => undefined,
      definition: () => undefined,
      combined: () => ({ modulation: {}, reporting: 0 }),
    });
    expect(compiled.problems).toEqual([
      'it is not known whether the hub serves configmaps shop/a: metrics is away',
    ]);
  });
});

describe('what is told', () => {
  const summary = summariseFleet([{ cluster: 'a', live: false, wantedGeneration: 1, observedAt: 1 }]);
  const found = { generation: 3, deleting: false, listed: 1, errors: [], summary };

  it('is the same object of conditions as long as nothing is new, and copied to the policy', () => {
    const first = reportBinding(found, undefined, 1_000);
    expect(first.conditions?.map(({ type, status, reason }) => `${type} ${status}/${reason}`)).toEqual([
      'Ready Unknown/Unavailable',
      'Synced True/ReconcileSuccess',
    ]);
    expect(reportBinding(found, first, 9_000)).toEqual(first);
    expect(reportBinding({ ...found, listed: 0 }, first, 9_000).conditions?.[0]).toMatchObject({
      status: 'False',
      reason: 'Unavailable',
      message: 'there is no object to bring',
    });
    const wrong = reportBinding({ ...found, errors: ['x', 'y'] }, first, 9_000);
    expect(wrong.conditions?.[0]).toBe(first.conditions?.[0]);
    const above = { generation: 1, deleting: false, errors: ['z'], collectors: ['c'], binding: wrong };
    expect(reportPolicy(above, undefined, 9_000)).toMatchObject({
      observedGeneration: 1,
      errors: ['z', 'x', 'y'],
      conditions: [
        { type: 'Ready', status: 'Unknown' },
        { type: 'Synced', status: 'False', reason: 'ReconcileError', message: 'z (and 2 more)' },
        { type: 'StatusCollectorsAvailable', status: 'False' },
      ],
    });
    expect(
      reportPolicy({ ...above, binding: undefined, deleting: true }, undefined, 1).conditions?.[0],
    ).toMatchObject({
      status: 'False',
      reason: 'Deleting',
    });
  });

  it('long names become labels with a digest', () => {
    const [a, b] = ['a', 'b'].map((end) => labelValueOf(`${'n'.repeat(200)}${end}`));
    expect([a?.length, b?.length, a === b, labelValueOf('short')]).toEqual([63, 63, false, 'short']);
    expect(listedKey({ version: 'v1', resource: 'nodes', name: 'n' })).toBe('/nodes//n');
  });
});
