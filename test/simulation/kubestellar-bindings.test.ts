import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BINDING, BINDING_POLICY } from '../../src/dialects/kubestellar/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { conditionOf, type SimulatedFleet } from './fleet.ts';
import { errorsOf, kubestellarFleet, kubestellarWords, maps, policy } from './kubestellar-words.ts';
import { colour, configMap } from './shop.ts';

const BINDINGS = resourceIdOf(BINDING);
const POLICIES = resourceIdOf(BINDING_POLICY);

let fleet: SimulatedFleet;
beforeEach(async () => {
  fleet = await kubestellarFleet();
});
afterEach(async () => fleet?.stop());
const { apply, ready, policyOf, bindingOf, held } = kubestellarWords(() => fleet);

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
