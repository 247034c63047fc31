import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BINDING, BINDING_POLICY } from '../../src/dialects/kubestellar/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { customResourceDefinitions, namespaces } from '../../src/kube/well-known.ts';
import { at, listAt } from '../../src/schema/json.ts';
import { established } from './federation.ts';
import { conditionOf, everything, type SimulatedFleet, SPOKE_CLUSTERS, stored } from './fleet.ts';
import { errorsOf, kubestellarFleet, kubestellarWords, maps, policy } from './kubestellar-words.ts';
import { colour, configMap, merge, paint } from './shop.ts';

const BINDINGS = resourceIdOf(BINDING);
const POLICIES = resourceIdOf(BINDING_POLICY);

let fleet: SimulatedFleet;
beforeEach(async () => {
  fleet = await kubestellarFleet();
});
afterEach(async () => fleet?.stop());
const { apply, ready, policyOf, bindingOf, listedBy, held } = kubestellarWords(() => fleet);

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
