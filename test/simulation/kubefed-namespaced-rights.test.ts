import { afterEach, describe, expect, it } from 'vitest';
import { federatedTypeFor, typeConfigOf } from '../../src/dialects/kubefed/index.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { at } from '../../src/schema/json.ts';
import { config, onA, onBoth } from './federated-words.ts';
import {
  accountRights,
  applyAll,
  enable,
  federatedAt,
  makeNamespace,
  propagation,
  TARGETS,
} from './federation.ts';
import { type SimulatedFleet, simulateFleet, stored } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());

describe('a control plane of one namespace', () => {
  it('federates what is in it, without a FederatedNamespace, and nothing of the cluster', async () => {
    fleet = await simulateFleet(9, ['a']);
    await enable(fleet, []);
    await fleet.rest(3_000);
    await makeNamespace(fleet, 'shop');
    await applyAll(fleet, fleet.hub, accountRights());
    const types = ['ConfigMap', 'ClusterRole'].flatMap((kind) => {
      const target = TARGETS[kind];
      return target ? [typeConfigOf(federatedTypeFor(target), 'team')] : [];
    });
    await applyAll(fleet, fleet.hub, [
      {
        apiVersion: 'core.kubefed.io/v1beta1',
        kind: 'KubeFedConfig',
        metadata: { name: 'kubefed', namespace: 'team' },
        spec: { scope: 'Namespaced' },
      },
      ...types,
    ]);
    const runs = (name: string): unknown =>
      at(
        stored(fleet.hub, `core.kubefed.io/federatedtypeconfigs/team/${name}`),
        'status',
        'propagationController',
      );
    await fleet.until(() => runs('configmaps') === 'Running', 'config maps run');
    await fleet.until(
      () => runs('clusterroles.rbac.authorization.k8s.io') === 'NotRunning',
      'cluster roles do not',
    );
    const own = { ...config('own', onA), metadata: { name: 'own', namespace: 'team' } };
    await applyAll(fleet, fleet.hub, [own, config('other', onA)]);
    await fleet.until(() => stored(fleet.spoke('a'), 'core/configmaps/team/own') !== undefined, 'its own');
    await fleet.rest(20_000);
    expect(stored(fleet.spoke('a'), 'core/configmaps/shop/other')).toBeUndefined();
    expect(federatedAt(fleet, 'ConfigMap', 'other')?.['status']).toBeUndefined();
  });

  it('works with rights in that namespace only, of its people at the hub and of its account on clusters', async () => {
    fleet = await simulateFleet(9, ['a', 'b']);
    await enable(fleet, []);
    await fleet.rest(3_000);
    await applyAll(fleet, fleet.hub, accountRights());
    const rbac = 'rbac.authorization.k8s.io';
    const allowed = (rules: object[], subject: object): KubeObject[] => [
      {
        apiVersion: `${rbac}/v1`,
        kind: 'Role',
        metadata: { name: 'federation', namespace: 'team' },
        rules,
      } as KubeObject,
      {
        apiVersion: `${rbac}/v1`,
        kind: 'RoleBinding',
        metadata: { name: 'federation', namespace: 'team' },
        roleRef: { apiGroup: rbac, kind: 'Role', name: 'federation' },
        subjects: [subject],
      } as KubeObject,
    ];
    const groups = ['core.kubefed.io', 'types.kubefed.io', 'scheduling.kubefed.io'];
    await applyAll(
      fleet,
      fleet.hub,
      allowed([{ apiGroups: groups, resources: ['*'], verbs: ['*'] }], {
        kind: 'User',
        apiGroup: rbac,
        name: 'lead',
      }),
    );
    const account = { namespace: 'team', name: 'federation' };
    for (const spoke of fleet.spokes)
      await applyAll(fleet, spoke, [
        { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'team' } },
        { apiVersion: 'v1', kind: 'ServiceAccount', metadata: account },
        ...allowed(
          [{ apiGroups: [''], resources: ['configmaps'], verbs: ['get', 'create', 'patch', 'delete'] }],
          { kind: 'ServiceAccount', ...account },
        ),
        {
          apiVersion: 'atoll.dev/v1alpha1',
          kind: 'SpokeContract',
          metadata: { name: 'platform' },
          spec: { executors: [{ authors: { users: ['lead'] }, serviceAccount: account }] },
        } as KubeObject,
      ]);
    const lead = createClient(fleet.hub.server.as({ name: 'lead', groups: ['system:authenticated'] }), {
      clock: fleet.runtime.clock,
    });
    const asLead = { ...fleet.hub, client: lead } as SimulatedFleet['hub'];
    const types = ['ConfigMap', 'ClusterRole'].flatMap((kind) => {
      const target = TARGETS[kind];
      return target ? [typeConfigOf(federatedTypeFor(target), 'team')] : [];
    });
    await applyAll(fleet, asLead, [
      {
        apiVersion: 'core.kubefed.io/v1beta1',
        kind: 'KubeFedConfig',
        metadata: { name: 'kubefed', namespace: 'team' },
        spec: { scope: 'Namespaced' },
      },
      ...types,
    ]);
    const runs = (name: string): unknown =>
      at(
        stored(fleet.hub, `core.kubefed.io/federatedtypeconfigs/team/${name}`),
        'status',
        'propagationController',
      );
    await fleet.until(() => runs('configmaps') === 'Running', 'config maps run');
    await fleet.until(() => runs(`clusterroles.${rbac}`) === 'NotRunning', 'cluster roles do not');
    const own = { ...config('own', onBoth), metadata: { name: 'own', namespace: 'team' } };
    await applyAll(fleet, asLead, [own]);
    const word = (): unknown =>
      propagation(stored(fleet.hub, 'types.kubefed.io/federatedconfigmaps/team/own')).is;
    await fleet.until(() => word() === 'True', 'it is on both');
    for (const spoke of fleet.spokes) {
      expect(stored(spoke, 'core/configmaps/team/own')?.['data']).toEqual({ colour: 'red' });
      const writers = spoke.audit
        .filter(
          ({ verb, objectRef }) => objectRef?.name === 'own' && !['get', 'list', 'watch'].includes(verb),
        )
        .map(({ impersonatedUser }) => impersonatedUser?.username);
      expect([...new Set(writers)]).toEqual(['system:serviceaccount:team:federation']);
    }
    // Elsewhere there are no rights, at the hub or on a cluster.
    await expect(applyAll(fleet, asLead, [config('other', onBoth)])).rejects.toThrow('cannot');
    await fleet.run(lead.delete(await fleet.run(lead.resourceFor(own.apiVersion, own.kind)), 'team', 'own'));
    await fleet.until(
      () => fleet.spokes.every((spoke) => stored(spoke, 'core/configmaps/team/own') === undefined),
      'gone from both',
    );
  });
});
