import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BINDING, BINDING_POLICY, EDGE_PLACEMENT } from '../../src/dialects/kubestellar/index.ts';
import { customResourceDefinition, resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { configMaps, customResourceDefinitions, namespaces } from '../../src/kube/well-known.ts';
import { seededRandom } from '../../src/runtime/index.ts';
import { at, listAt } from '../../src/schema/json.ts';
import { applyAll, established, makeNamespace } from './federation.ts';
import {
  conditionOf,
  everything,
  type SimulatedFleet,
  SPOKE_CLUSTERS,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';
import { type ChurnPolicy, churnObject, churnOracle, expectedOn } from './kubestellar-churn.ts';
import { colour, configMap, merge, paint } from './shop.ts';

const POLICIES = resourceIdOf(BINDING_POLICY);
const BINDINGS = resourceIdOf(BINDING);

let fleet: SimulatedFleet;
beforeEach(async () => {
  fleet = await simulateFleet(11, ['a', 'b']);
  await applyAll(fleet, fleet.hub, [customResourceDefinition(BINDING_POLICY)]);
  await fleet.until(() => established(fleet.hub, 'bindings.control.kubestellar.io'), 'its kinds');
  await makeNamespace(fleet, 'shop');
});
afterEach(async () => fleet.stop());

const everywhere = { clusterSelectors: [{}] };
const maps = { apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] };

function policy(name: string, downsync: readonly object[], more: object = everywhere): KubeObject {
  return {
    apiVersion: 'control.kubestellar.io/v1alpha1',
    kind: 'BindingPolicy',
    metadata: { name },
    spec: { ...more, downsync },
  };
}

function bindingOf(name: string): KubeObject | undefined {
  return stored(fleet.hub, `control.kubestellar.io/bindings/-/${name}`);
}

function policyOf(name: string): KubeObject | undefined {
  return stored(fleet.hub, `control.kubestellar.io/bindingpolicies/-/${name}`);
}

function errorsOf(object: KubeObject | undefined): string {
  return listAt(object, 'status', 'errors').join('\n');
}

/** `resource namespace/name` of what a Binding lists. */
function listedBy(name: string): string[] {
  const spec = bindingOf(name)?.['spec'];
  return ['clusterScope', 'namespaceScope'].flatMap((scope) =>
    listAt(spec, 'workload', scope).map(
      (item) => `${at(item, 'resource')} ${at(item, 'namespace') ?? '-'}/${at(item, 'name')}`,
    ),
  );
}

const apply = async (...objects: KubeObject[]) => applyAll(fleet, fleet.hub, objects);
const ready = async (name: string) =>
  fleet.until(() => conditionOf(policyOf(name), 'Ready') === 'True/Available', `${name} is ready`);

function held(name: string): string[] {
  return ['a', 'b'].filter((cluster) => colour(fleet.spoke(cluster), name) !== '');
}

/** `apply`, without waiting for more than the answer: the message of a refusal. */
async function refusal(object: KubeObject, fieldValidation?: 'Strict'): Promise<string> {
  try {
    const resource = await fleet.run(fleet.hub.client.resourceFor(object.apiVersion, object.kind));
    await fleet.run(
      fleet.hub.client.create(resource, object, fieldValidation === undefined ? {} : { fieldValidation }),
    );
    return '';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('a policy', () => {
  it('brings what it selects to the clusters that it selects, through its Binding', async () => {
    await apply(
      configMap('settings', 'red'),
      configMap('other', 'red', { app: 'x' }),
      policy('p', [{ ...maps, objectNames: ['settings'] }], {
        clusterSelectors: [{ matchLabels: { site: 'a' } }],
      }),
    );
    await ready('p');
    expect([held('settings'), held('other')]).toEqual([['a'], []]);
    expect(listedBy('p')).toEqual(['configmaps shop/settings']);
    const binding = bindingOf('p');
    expect(binding?.metadata.ownerReferences).toMatchObject([
      { kind: 'BindingPolicy', name: 'p', controller: true, blockOwnerDeletion: false },
    ]);
    expect(binding?.['spec']).toMatchObject({ destinations: [{ clusterId: 'a' }] });
    expect(conditionOf(binding, 'Synced')).toBe('True/ReconcileSuccess');
    const pinned = (): unknown =>
      at(listAt(bindingOf('p')?.['spec'], 'workload', 'namespaceScope')[0], 'resourceVersion');
    const before = pinned();
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'the change');
    await fleet.until(() => pinned() !== before, 'the resource version of the content');
    expect(pinned()).toBe(stored(fleet.hub, 'core/configmaps/shop/settings')?.metadata.resourceVersion);
  });

  it('[S25] selects clusters by any of its selectors, and follows their labels', async () => {
    const two = { clusterSelectors: [{ matchLabels: { site: 'a' } }, { matchLabels: { site: 'b' } }] };
    await apply(configMap('settings', 'red'), policy('p', [maps], two));
    await ready('p');
    expect(held('settings')).toEqual(['a', 'b']);
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'b', { metadata: { labels: { site: 'c' } } });
    await fleet.until(() => held('settings').join() === 'a', 'b is left');
  });

  it('[S28] whose clause tells nothing apart is refused, and reported where it was let in', async () => {
    const nothing = [{}, { resources: ['*'], namespaces: ['*'] }, { objectNames: [], createOnly: true }];
    for (const clause of [...nothing, { objectSelectors: [{}] }, { namespaceSelectors: [{}] }])
      expect(await refusal(policy('all', [clause]))).toContain('must tell objects apart');
    // KubeStellar's own definition looks at less.
    const lax = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const definition = stored(
      fleet.hub,
      'apiextensions.k8s.io/customresourcedefinitions/-/bindingpolicies.control.kubestellar.io',
    );
    const [version] = listAt(definition, 'spec', 'versions') as object[];
    await fleet.run(
      fleet.hub.client.update(customResourceDefinitions, {
        ...(definition as KubeObject),
        metadata: {
          name: definition?.metadata.name ?? '',
          resourceVersion: definition?.metadata.resourceVersion ?? '',
        },
        spec: {
          ...(definition?.['spec'] as object),
          versions: [{ ...version, schema: { openAPIV3Schema: lax } }],
        },
      }),
    );
    await apply(configMap('settings', 'red'), policy('p', [maps]));
    await ready('p');
    await apply(policy('p', [maps, {}]));
    await fleet.until(() => conditionOf(policyOf('p'), 'Synced') === 'False/ReconcileError', 'it is said');
    expect(errorsOf(policyOf('p'))).toContain('spec.downsync[1].it tells nothing apart');
    // Whoever made a mistake did not mean to take anything away.
    expect([held('settings'), listedBy('p')]).toEqual([['a', 'b'], ['configmaps shop/settings']]);
    await apply(policy('p', [maps]));
    await fleet.until(
      () => conditionOf(policyOf('p'), 'Synced') === 'True/ReconcileSuccess',
      'it is sound again',
    );
  });

  it('[S29] with wildcards beside names, labels that are none or unknown fields is refused', async () => {
    const wrong: readonly (readonly [string, object, string])[] = [
      ['a wildcard beside a resource', { resources: ['*', 'configmaps'] }, "'*' must be the only element"],
      ['a wildcard beside a namespace', { namespaces: ['shop', '*'] }, "'*' must be the only element"],
      ['a wildcard beside a name', { objectNames: ['*', 'a'] }, "'*' must be the only element"],
      ['a resource in upper case', { resources: ['ConfigMaps'] }, 'should match'],
      [
        'a label value that is none',
        { objectSelectors: [{ matchLabels: { app: 'not a value' } }] },
        'should match',
      ],
      [
        'a label key that is none',
        { objectSelectors: [{ matchExpressions: [{ key: '-x-', operator: 'Exists' }] }] },
        'should match',
      ],
      [
        'an operator that is none',
        { namespaceSelectors: [{ matchExpressions: [{ key: 'x', operator: 'Near' }] }] },
        'Unsupported value',
      ],
      ['an unknown field', { apiGroup: '', objectSelector: [] }, 'unknown field'],
    ];
    for (const [what, clause, why] of wrong)
      expect(await refusal(policy('p', [clause]), 'Strict'), what).toContain(why);
    expect(await refusal({ ...policy('p', [maps]), spec: { clusterSelector: {} } }, 'Strict')).toContain(
      'unknown field',
    );
    expect(await refusal(policy('p', [maps]), 'Strict')).toBe('');
  });

  it('[S30] looks again at what is in a namespace whose labels change', async () => {
    await apply(
      configMap('settings', 'red'),
      policy('p', [
        { apiGroup: '', resources: ['configmaps'], namespaceSelectors: [{ matchLabels: { team: 'x' } }] },
      ]),
    );
    await fleet.until(() => bindingOf('p') !== undefined, 'its Binding');
    await fleet.rest(2_000);
    expect(held('settings')).toEqual([]);
    await merge(fleet, fleet.hub, namespaces, '', 'shop', { metadata: { labels: { team: 'x' } } });
    await fleet.until(() => held('settings').length === 2, 'it is brought');
    await merge(fleet, fleet.hub, namespaces, '', 'shop', { metadata: { labels: { team: null } } });
    await fleet.until(() => held('settings').length === 0, 'it is taken back');
    expect(listedBy('p')).toEqual([]);
  });

  it('[S31] selects kinds whose definitions come, and lets go of those that go', async () => {
    await apply(policy('p', [{ apiGroup: 'example.com' }]));
    await fleet.rest(2_000);
    expect(listedBy('p')).toEqual([]);
    await apply(widgets);
    await fleet.until(() => established(fleet.hub, 'widgets.example.com'), 'the kind');
    const widget = {
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'shop' },
    };
    await apply({ ...widget, spec: { size: 1 } });
    const there = (cluster: string): boolean =>
      stored(fleet.spoke(cluster), 'example.com/widgets/shop/w') !== undefined;
    await fleet.until(() => there('a') && there('b'), 'the widget, with its definition');
    await fleet.run(fleet.hub.client.delete(customResourceDefinitions, '', 'widgets.example.com'));
    await fleet.until(() => !there('a') && !there('b'), 'it is gone with its kind');
    await fleet.until(
      () => !established(fleet.spoke('a'), 'widgets.example.com'),
      'and so is the definition',
    );
    expect(listedBy('p')).toEqual([]);
    await apply(configMap('settings', 'red'), policy('q', [maps]));
    await ready('q');
  });

  it('[S36] has one Binding, whose content is sorted, which a restart does not write, and which goes first', async () => {
    for (const name of ['c', 'a', 'b']) await apply(configMap(name, 'red'));
    await apply(policy('p', [maps]));
    await ready('p');
    expect(listedBy('p')).toEqual(['a', 'b', 'c'].map((name) => `configmaps shop/${name}`));
    await fleet.rest(5_000);
    const before = everything(fleet.hub);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    const key = (kind: string): string => `/control.kubestellar.io/${kind}/root/-/p`;
    const after = everything(fleet.hub);
    const written = Object.keys(after).filter(
      (path) => path.includes('kubestellar') && after[path] !== before[path],
    );
    expect(written).toEqual([]);
    expect(after[key('bindings')]).toBe(before[key('bindings')]);
    await fleet.run(fleet.hub.client.delete(POLICIES, '', 'p'));
    await fleet.until(() => {
      if (policyOf('p') !== undefined) return false;
      expect(bindingOf('p')).toBeUndefined();
      return true;
    }, 'the policy is gone, and its Binding was before');
    expect(held('a')).toEqual([]);
  });

  it('gets its Binding back where somebody changes it, and nothing of the change is carried out', async () => {
    await apply(
      configMap('settings', 'red'),
      configMap('secret', 'red'),
      policy('p', [{ ...maps, objectNames: ['settings'] }]),
    );
    await ready('p');
    const spec = bindingOf('p')?.['spec'] as { workload: { namespaceScope: object[] } };
    const [first] = spec.workload.namespaceScope;
    await merge(fleet, fleet.hub, BINDINGS, '', 'p', {
      spec: { workload: { namespaceScope: [{ ...first, name: 'secret' }] } },
    });
    await fleet.until(
      () => listedBy('p').join() === 'configmaps shop/settings',
      'it says what the policy says',
    );
    await fleet.rest(5_000);
    expect([held('settings'), held('secret')]).toEqual([['a', 'b'], []]);
    // Who takes the name of the policy off it does not get what the hub may do.
    const mine = { metadata: { ownerReferences: null } };
    await merge(fleet, fleet.hub, BINDINGS, '', 'p', mine);
    const owners = (): unknown => bindingOf('p')?.metadata.ownerReferences;
    await fleet.until(() => owners() !== undefined, 'it says the same, and is the policy’s again');
    expect(owners()).toMatchObject([{ kind: 'BindingPolicy', name: 'p' }]);
    await merge(fleet, fleet.hub, BINDINGS, '', 'p', { ...mine, spec: { destinations: [] } });
    await fleet.until(
      () => errorsOf(policyOf('p')).includes('not of this BindingPolicy'),
      'the policy says so',
    );
    expect(owners()).toBeUndefined();
  });

  it('ends in the right set whatever is interrupted: forced removals, a hub that is killed in the middle', async () => {
    await apply(configMap('settings', 'red'), policy('p', [maps]));
    await ready('p');
    const uid = (): unknown => stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.uid;
    const made = uid();
    const first = bindingOf('p')?.metadata.uid;
    await fleet.run(fleet.hub.client.delete(BINDINGS, '', 'p'));
    await merge(fleet, fleet.hub, BINDINGS, '', 'p', { metadata: { finalizers: null } }).catch(
      () => undefined,
    );
    await fleet.until(() => ![undefined, first].includes(bindingOf('p')?.metadata.uid), 'another Binding');
    await fleet.rest(30_000);
    await paint(fleet, fleet.hub, 'blue');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'it goes on');
    expect([uid(), errorsOf(policyOf('p'))]).toEqual([made, '']);
    await fleet.run(fleet.hub.client.delete(POLICIES, '', 'p'));
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.until(() => policyOf('p') === undefined, 'it is gone');
    expect([held('settings'), bindingOf('p')]).toEqual([[], undefined]);
    await apply(policy('p', [maps]));
    await ready('p');
    expect(held('settings')).toEqual(['a', 'b']);
  });

  it('[S37] shares objects with others: flags are ORed, and what one lets go stays for the other', async () => {
    await apply(
      configMap('settings', 'red'),
      policy('p', [
        { ...maps, statusCollectors: ['y', 'x'] },
        { objectNames: ['settings'], statusCollectors: ['z', 'x'], wantSingletonReportedState: true },
      ]),
      policy('q', [{ ...maps, createOnly: true }]),
    );
    await ready('p');
    await ready('q');
    expect(listAt(bindingOf('p')?.['spec'], 'workload', 'namespaceScope')[0]).toMatchObject({
      name: 'settings',
      statusCollectors: ['x', 'y', 'z'],
      wantSingletonReportedState: true,
    });
    await paint(fleet, fleet.hub, 'blue');
    await fleet.rest(5_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    const uid = (): unknown => stored(fleet.spoke('a'), 'core/configmaps/shop/settings')?.metadata.uid;
    const made = uid();
    await fleet.run(fleet.hub.client.delete(POLICIES, '', 'q'));
    await fleet.until(() => policyOf('q') === undefined, 'q is gone');
    await fleet.until(() => colour(fleet.spoke('a')) === 'blue', 'nobody holds it back any more');
    expect(uid()).toBe(made);
    await fleet.run(fleet.hub.client.delete(POLICIES, '', 'p'));
    await fleet.until(() => held('settings').length === 0, 'the last one lets go');
  });

  it('[S38] may have a name of 253 characters', async () => {
    const name = `${'n'.repeat(200)}.${'m'.repeat(52)}`;
    await apply(configMap('settings', 'red'), policy(name, [maps]));
    await ready(name);
    expect(held('settings')).toEqual(['a', 'b']);
    await fleet.run(fleet.hub.client.delete(POLICIES, '', name));
    await fleet.until(() => held('settings').length === 0, 'it is taken back');
    await fleet.until(() => policyOf(name) === undefined, 'it is gone');
  });

  it('brings nothing of what every cluster has for itself, whatever it selects', async () => {
    const all = { matchExpressions: [{ key: 'never-there', operator: 'DoesNotExist' }] };
    await apply(configMap('settings', 'red'), policy('p', [{ objectSelectors: [all] }]));
    await fleet.until(() => held('settings').length === 2, 'the map');
    await fleet.rest(5_000);
    expect(policyOf('p')?.['status']).toMatchObject({ errors: [] });
    expect(conditionOf(policyOf('p'), 'Ready')).toBe('True/Available');
    expect(listedBy('p')).toEqual(['namespaces -/shop', 'configmaps shop/settings']);
  });

  it('is carried out with the rights of its author', async () => {
    const tenant = { name: 'eve', groups: ['system:authenticated'] };
    await apply(
      configMap('settings', 'red'),
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRole',
        metadata: { name: 'policies' },
        rules: [{ apiGroups: ['control.kubestellar.io'], resources: ['*'], verbs: ['*'] }],
      },
      {
        apiVersion: 'rbac.authorization.k8s.io/v1',
        kind: 'ClusterRoleBinding',
        metadata: { name: 'policies' },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'policies' },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'eve' }],
      },
    );
    const client = createClient(fleet.hub.server.as(tenant), { clock: fleet.runtime.clock });
    await fleet.run(client.create(POLICIES, policy('p', [maps])));
    await fleet.until(
      () => errorsOf(policyOf('p')).includes('eve, who wrote this, may not get'),
      'it is said',
    );
    expect(held('settings')).toEqual([]);
  });
});

describe('any changes, with a hub that is killed now and then', () => {
  it('end in the right set', async () => {
    const random = seededRandom(11);
    const one = <T>(...values: readonly T[]): T => values[Math.floor(random.next() * values.length)] as T;
    const oracle = churnOracle();
    const held = (cluster: string): string[] =>
      ['n1', 'n2'].flatMap((namespace) =>
        storedBelow(fleet.spoke(cluster), `core/configmaps/${namespace}`)
          .map(({ metadata }) => `${namespace}/${metadata.name}`)
          .filter((key) => !key.endsWith('kube-root-ca.crt')),
      );
    const steps = {
      async map(): Promise<void> {
        const [namespace, name, l] = [one('n1', 'n2'), one('x', 'y', 'z'), one('x', 'y')];
        oracle.maps.set(`${namespace}/${name}`, { l });
        await apply({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name, namespace, labels: { l } },
        });
      },
      async noMap(): Promise<void> {
        const key = one(...oracle.maps.keys(), '');
        if (!oracle.maps.delete(key)) return;
        const [namespace = '', name = ''] = key.split('/');
        await fleet.run(fleet.hub.client.delete(configMaps, namespace, name));
      },
      async namespace(): Promise<void> {
        const [name, l] = [one('n1', 'n2'), one('x', 'y')];
        oracle.namespaces.set(name, { l });
        await merge(fleet, fleet.hub, namespaces, '', name, { metadata: { labels: { l } } });
      },
      async cluster(): Promise<void> {
        const [name, tier] = [one('a', 'b'), one('0', '1')];
        oracle.clusters.set(name, { tier });
        await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { metadata: { labels: { tier } } });
      },
      async policy(): Promise<void> {
        const name = one('p', 'q');
        // One of its name that is going is another.
        if (policyOf(name)?.metadata.deletionTimestamp !== undefined) return;
        const wish: ChurnPolicy = {
          tier: one('*', '0', '1'),
          by: one('label', 'namespace', 'name'),
          value: one('x', 'y'),
        };
        oracle.policies.set(name, wish);
        await apply(churnObject(name, wish));
      },
      async noPolicy(): Promise<void> {
        const name = one('p', 'q');
        if (oracle.policies.delete(name)) await fleet.run(fleet.hub.client.delete(POLICIES, '', name));
      },
    };
    for (const name of ['n1', 'n2']) await makeNamespace(fleet, name);
    for (let count = 1; count <= 48; count += 1) {
      await steps[one('map', 'map', 'noMap', 'namespace', 'cluster', 'policy', 'policy', 'noPolicy')]();
      if (one(true, false)) await fleet.rest(Math.floor(random.next() * 200));
      if (count % 16 === 0) {
        await fleet.kill(fleet.hub);
        await fleet.start(fleet.hub);
      }
      if (count % 8 !== 0) continue;
      for (const cluster of ['a', 'b'])
        await fleet.until(
          () => held(cluster).sort().join() === expectedOn(oracle, cluster).join(),
          `after ${count} steps ${cluster} has ${expectedOn(oracle, cluster).join() || 'nothing'}`,
        );
    }
  });
});

describe('a Binding', () => {
  const READS = ['get', 'list', 'watch'];
  const binding = (spec: object): KubeObject => ({
    apiVersion: 'control.kubestellar.io/v1alpha1',
    kind: 'Binding',
    metadata: { name: 'mine' },
    spec,
  });
  const listed = (name: string): object => ({
    group: '',
    version: 'v1',
    resource: 'configmaps',
    namespace: 'shop',
    name,
    resourceVersion: '1',
  });

  it('[S35] without a policy delivers what it lists, and says what it cannot', async () => {
    await apply(
      configMap('settings', 'red'),
      binding({
        workload: {
          clusterScope: [
            {
              group: 'rbac.authorization.k8s.io',
              version: 'v1',
              resource: 'clusterroles',
              name: 'cluster-admin',
            },
          ],
          namespaceScope: [listed('settings'), listed('missing'), { ...listed('x'), resource: 'gadgets' }],
        },
        destinations: [{ clusterId: 'a' }, { clusterId: 'nowhere' }],
      }),
    );
    await fleet.until(() => held('settings').join() === 'a', 'the map');
    await fleet.until(() => conditionOf(bindingOf('mine'), 'Ready') === 'True/Available', 'it is told');
    const errors = errorsOf(bindingOf('mine'));
    for (const text of [
      'configmaps shop/missing is not at the hub',
      'no gadgets',
      'cluster-admin',
      'nowhere',
    ])
      expect(errors).toContain(text);
    await apply(configMap('missing', 'green'));
    await fleet.until(() => colour(fleet.spoke('a'), 'missing') === 'green', 'what was missing follows');
    await fleet.run(fleet.hub.client.delete(BINDINGS, '', 'mine'));
    await fleet.until(() => held('settings').length === 0, 'it is taken back');
    await fleet.until(() => bindingOf('mine') === undefined, 'it is gone');
  });

  it('stands in the way of a policy of its name that says something else, which says what and what to do', async () => {
    await apply(configMap('settings', 'red'), configMap('more', 'red'));
    const said = async (text: string): Promise<void> => {
      await fleet
        .until(() => errorsOf(policyOf('mine')).includes(text), text)
        .catch((error: unknown) => {
          throw new Error(errorsOf(policyOf('mine')), { cause: error });
        });
      expect(bindingOf('mine')?.metadata.ownerReferences).toBeUndefined();
    };
    const [both, ab] = [
      [listed('settings'), listed('more')],
      [{ clusterId: 'a' }, { clusterId: 'b' }],
    ];
    await apply(binding({ workload: { namespaceScope: both }, destinations: [{ clusterId: 'a' }] }));
    await fleet.until(() => held('settings').join() === 'a', 'it is carried out');
    await apply(policy('mine', [maps]));
    await said('it goes to a, the policy to a, b');
    await apply(binding({ workload: { namespaceScope: [listed('settings')] }, destinations: ab }));
    await said('configmaps shop/more is of the policy only');
    await apply(binding({ workload: { namespaceScope: [...both, listed('third')] }, destinations: ab }));
    await said('configmaps shop/third is in the Binding only');
    await apply(
      binding({
        workload: { namespaceScope: [listed('settings'), { ...listed('more'), createOnly: true }] },
        destinations: ab,
      }),
    );
    await said('configmaps shop/more is not brought in the same way');
    await said('deleting the Binding takes away what it brought');
    await fleet.run(fleet.hub.client.delete(BINDINGS, '', 'mine'));
    await ready('mine');
    expect(held('settings')).toEqual(['a', 'b']);
  });

  it('is taken over by the policy of its name that says the same, without a write on any spoke', async () => {
    await apply(
      configMap('settings', 'red'),
      binding({
        workload: { namespaceScope: [{ ...listed('settings'), createOnly: false }] },
        destinations: [{ clusterId: 'b' }, { clusterId: 'a' }],
      }),
    );
    await fleet.until(
      () => conditionOf(bindingOf('mine'), 'Ready') === 'True/Available',
      'it is carried out',
    );
    await fleet.rest(30_000);
    const before = bindingOf('mine')?.metadata.uid;
    const asked = fleet.spokes.map((spoke) => spoke.audit.length);
    await apply(policy('mine', [maps]));
    await ready('mine');
    await fleet.rest(60_000);
    expect(bindingOf('mine')?.metadata).toMatchObject({
      uid: before,
      ownerReferences: [{ kind: 'BindingPolicy', name: 'mine', controller: true }],
    });
    expect(errorsOf(policyOf('mine'))).toBe('');
    const written = (): string[] =>
      fleet.spokes.flatMap((spoke, index) => {
        const changes = spoke.audit.slice(asked[index]).filter(({ verb }) => !READS.includes(verb));
        return changes.map(({ verb, requestURI }) => `${verb} ${requestURI}`);
      });
    expect(written().filter((text) => !text.includes('leases'))).toEqual([]);
    // It is the policy's now.
    await apply(configMap('more', 'red'));
    await fleet.until(() => held('more').length === 2, 'what the policy selects further');
    expect(written().join()).toContain('dispatches');
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.run(fleet.hub.client.delete(POLICIES, '', 'mine'));
    await fleet.until(() => policyOf('mine') === undefined && held('settings').length === 0, 'all gone');
  });

  it('of somebody else is never taken over, whatever it says', async () => {
    const spec = {
      workload: { namespaceScope: [listed('settings')] },
      destinations: [{ clusterId: 'a' }, { clusterId: 'b' }],
    };
    const owner = { apiVersion: 'example.org/v1', kind: 'Bundle', name: 'x', uid: 'u', controller: true };
    const owned = binding(spec);
    await apply(configMap('settings', 'red'), {
      ...owned,
      metadata: { name: 'mine', ownerReferences: [owner] },
    });
    await fleet.until(() => held('settings').length === 2, 'it is carried out');
    await apply(policy('mine', [maps]));
    await fleet.until(() => errorsOf(policyOf('mine')).includes('Bundle x'), 'it is said');
    await fleet.rest(30_000);
    expect(bindingOf('mine')?.metadata.ownerReferences).toMatchObject([{ kind: 'Bundle' }]);
  });
});

describe('the kinds', () => {
  it('are all there once one definition is, however little is in it', async () => {
    const other = await simulateFleet(12, ['a']);
    const definition = (): KubeObject | undefined =>
      stored(
        other.hub,
        'apiextensions.k8s.io/customresourcedefinitions/-/edgeplacements.edge.kubestellar.io',
      );
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    const short: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: {
        name: 'edgeplacements.edge.kubestellar.io',
        annotations: { 'atoll.dev/kubestellar': 'to-be-made' },
      },
      spec: {
        group: 'edge.kubestellar.io',
        scope: 'Cluster',
        names: { kind: 'EdgePlacement', plural: 'edgeplacements' },
        versions: [{ name: 'v2alpha1', served: true, storage: true, schema }],
      },
    };
    await applyAll(other, other.hub, [short]);
    await other.until(() => established(other.hub, 'bindingpolicies.control.kubestellar.io'), 'policies');
    await other.until(() => established(other.hub, 'singleplacementslices.edge.kubestellar.io'), 'slices');
    await other.until(
      () => JSON.stringify(definition()).includes('locationSelectors'),
      'the whole definition',
    );
    // Who applies their file once more does not end up with a short definition.
    const { client } = other.hub;
    await other.run(
      client.patch(customResourceDefinitions, '', 'edgeplacements.edge.kubestellar.io', 'merge', {
        metadata: short.metadata,
        spec: short['spec'],
      }),
    );
    expect(JSON.stringify(definition())).not.toContain('locationSelectors');
    await other.until(() => JSON.stringify(definition()).includes('locationSelectors'), 'it, whole again');
    await other.stop();
  });
});

describe('placements by locations', () => {
  beforeEach(async () => {
    await applyAll(fleet, fleet.hub, [customResourceDefinition(EDGE_PLACEMENT)]);
    await fleet.until(() => established(fleet.hub, 'locations.edge.kubestellar.io'), 'its kinds');
  });
  const location = (name: string, labels: Record<string, string>, instanceSelector: object): KubeObject => ({
    apiVersion: 'edge.kubestellar.io/v2alpha1',
    kind: 'Location',
    metadata: { name, labels },
    spec: {
      resource: { group: 'edge.kubestellar.io', version: 'v2alpha1', resource: 'synctargets' },
      instanceSelector,
    },
  });
  const placement = (locationSelectors: object[]): KubeObject => ({
    apiVersion: 'edge.kubestellar.io/v2alpha1',
    kind: 'EdgePlacement',
    metadata: { name: 'p' },
    spec: {
      locationSelectors,
      downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
    },
  });
  const destinations = (): unknown[] =>
    listAt(stored(fleet.hub, 'edge.kubestellar.io/singleplacementslices/-/p'), 'destinations').map(
      (item) => `${at(item, 'locationName')}/${at(item, 'syncTargetName')}`,
    );
  const edge = (kind: string, name: string): KubeObject | undefined =>
    stored(fleet.hub, `edge.kubestellar.io/${kind}/-/${name}`);

  it('[S11] go to all SyncTargets of a Location', async () => {
    await apply(
      configMap('settings', 'red'),
      location(
        'prod',
        { env: 'prod' },
        { matchExpressions: [{ key: 'site', operator: 'In', values: ['a', 'b'] }] },
      ),
      placement([{ matchLabels: { env: 'prod' } }]),
    );
    await fleet.until(() => held('settings').length === 2, 'the map');
    expect(destinations()).toEqual(['prod/a', 'prod/b']);
    await fleet.until(
      () => at(edge('edgeplacements', 'p'), 'status', 'matchingLocationCount') === 1,
      'it is counted',
    );
    await fleet.until(() => at(edge('locations', 'prod'), 'status', 'instances') === 2, 'and so are they');
    expect(listedBy('p')).toEqual(['configmaps shop/settings']);
    await apply(location('prod', { env: 'prod' }, { matchLabels: { site: 'b' } }));
    await fleet.until(() => held('settings').join() === 'b', 'a is left');
    expect(destinations()).toEqual(['prod/b']);
  });

  it('[S42] tell where they go in slices of a hundred, and take back those that are too many', async () => {
    const target = (index: number): KubeObject => ({
      apiVersion: 'edge.kubestellar.io/v2alpha1',
      kind: 'SyncTarget',
      metadata: { name: `t-${1000 + index}`, labels: { pool: 'far', half: String(index % 2) } },
    });
    await apply(...Array.from({ length: 250 }, (_, index) => target(index)));
    await apply(location('far', { env: 'far' }, { matchLabels: { pool: 'far' } }));
    await apply(placement([{ matchLabels: { env: 'far' } }]));
    const sizes = (): number[] =>
      storedBelow(fleet.hub, 'edge.kubestellar.io/singleplacementslices/-').map(
        (slice) => listAt(slice, 'destinations').length,
      );
    await fleet.until(() => sizes().join() === '100,100,50', 'three slices');
    const union = storedBelow(fleet.hub, 'edge.kubestellar.io/singleplacementslices/-').flatMap((slice) =>
      listAt(slice, 'destinations').map((item) => at(item, 'syncTargetName')),
    );
    expect(new Set(union)).toEqual(new Set(Array.from({ length: 250 }, (_, index) => `t-${1000 + index}`)));
    await apply(location('far', { env: 'far' }, { matchLabels: { pool: 'far', half: '1' } }));
    await fleet.until(() => sizes().join() === '100,25', 'two are enough');
  });

  it('see SpokeClusters as SyncTargets, and as Locations where nobody described any', async () => {
    await merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', 'a', {
      metadata: { labels: { env: 'prod' }, annotations: { floor: '3' } },
    });
    await apply(configMap('settings', 'red'), placement([{ matchLabels: { env: 'prod' } }]));
    await fleet.until(() => held('settings').join() === 'a', 'the map');
    expect(destinations()).toEqual(['a/a']);
    expect(edge('locations', 'a')?.metadata).toMatchObject({
      labels: { env: 'prod' },
      annotations: { floor: '3' },
    });
    await apply(location('mine', { env: 'test' }, { matchLabels: { site: 'a' } }));
    await fleet.until(() => edge('locations', 'a') === undefined, 'somebody described it');
    await fleet.until(() => held('settings').length === 0, 'it is no longer at a place of that kind');
    expect(edge('synctargets', 'a')).toBeDefined();
    const resource = await fleet.run(
      fleet.hub.client.resourceFor('edge.kubestellar.io/v2alpha1', 'EdgePlacement'),
    );
    await fleet.run(fleet.hub.client.delete(resource, '', 'p'));
    await fleet.until(() => edge('edgeplacements', 'p') === undefined, 'it is gone');
    expect(bindingOf('p')).toBeUndefined();
  });
});

const widgets: KubeObject = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced',
    names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
          },
        },
      },
    ],
  },
};
