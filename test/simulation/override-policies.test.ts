import { afterEach, describe, expect, it } from 'vitest';
import { readWhy } from '../../src/cli/why/facts.ts';
import { whyReport } from '../../src/cli/why/report.ts';
import { whyText } from '../../src/cli/why/text.ts';
import { CLUSTER_OVERRIDE_POLICY, OVERRIDE_POLICY } from '../../src/dialects/karmada/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { applyAll, enable, federated, openFederatedShop } from './federation.ts';
import {
  conditionMessage,
  conditionOf,
  dispatchesOn,
  type SimulatedFleet,
  simulateFleet,
  storedBelow,
} from './fleet.ts';
import { colour, configMap, merge, openShop, ready, shop } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const POLICIES = resourceIdOf(OVERRIDE_POLICY);
const CLUSTER_POLICIES = resourceIdOf(CLUSTER_OVERRIDE_POLICY);
const MAP = { apiVersion: 'v1', kind: 'ConfigMap' };
const LABELLED = { labelSelector: { matchLabels: { app: 'web' } } };

/** Sets `colour` of what it means, on some clusters. */
function policy(name: string, value: string, selector: object = {}, more: object = {}): KubeObject {
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'OverridePolicy',
    metadata: { name, namespace: 'shop' },
    spec: {
      resourceSelectors: [{ ...MAP, ...selector }],
      overrideRules: [
        { overriders: { plaintext: [{ path: '/data/colour', operator: 'replace', value }] }, ...more },
      ],
    },
  };
}

function clusterPolicy(name: string, value: string, selector: object = {}, more: object = {}): KubeObject {
  return {
    ...policy(name, value, selector, more),
    kind: 'ClusterOverridePolicy',
    metadata: { name },
  };
}

async function write(...objects: readonly KubeObject[]): Promise<void> {
  await applyAll(fleet, fleet.hub, objects);
}

const colours = (...names: string[]): string[] =>
  ['a', 'b'].flatMap((spoke) => names.map((name) => colour(fleet.spoke(spoke), name)));

async function become(name: string, ...wanted: string[]): Promise<void> {
  await fleet.until(
    () => `${colours(name)}` === `${wanted}`,
    `${name} is ${wanted} instead of ${colours(name)}`,
  );
}

describe('override policies', () => {
  it('[A32] cluster-scoped come first and the name selector last, live and at restarts', async () => {
    fleet = await simulateFleet(71, ['a', 'b']);
    await openShop(fleet, [configMap('settings', 'red', { app: 'web' }), configMap('other', 'red')]);
    await ready(fleet, 2);
    await write(policy('a-name', 'by-name', { name: 'settings' }));
    await become('settings', 'by-name', 'by-name');
    await write(policy('b-label', 'by-label', LABELLED), policy('c-kind', 'by-kind'));
    await write(clusterPolicy('z', 'by-cluster', { name: 'settings' }));
    await become('other', 'by-kind', 'by-kind');
    await fleet.rest(2_000);
    expect(colours('settings')).toEqual(['by-name', 'by-name']);
    await fleet.run(fleet.hub.client.delete(POLICIES, 'shop', 'a-name'));
    await become('settings', 'by-label', 'by-label');
    await fleet.run(fleet.hub.client.delete(POLICIES, 'shop', 'b-label'));
    await become('settings', 'by-kind', 'by-kind');
    await fleet.run(fleet.hub.client.delete(POLICIES, 'shop', 'c-kind'));
    await become('settings', 'by-cluster', 'by-cluster');
    await become('other', 'red', 'red');
    // Only on some clusters, and the intent's own overrides have the last word.
    await merge(fleet, fleet.hub, CLUSTER_POLICIES, '', 'z', {
      spec: clusterPolicy('z', 'on-b', {}, { targetCluster: { exclude: ['a'] } })['spec'] as object,
    });
    await become('settings', 'red', 'on-b');
    await ready(fleet, 2);
    const before = dispatchesOn(fleet.spoke('b')).map(({ metadata }) => metadata.resourceVersion);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(10_000);
    expect(dispatchesOn(fleet.spoke('b')).map(({ metadata }) => metadata.resourceVersion)).toEqual(before);
    const asked = { kind: 'configmap', name: 'settings', namespace: 'shop', cluster: 'b' };
    const facts = await fleet.run(
      readWhy(fleet.hub.client, (name) => fleet.spoke(name).client, asked, fleet.runtime.clock.now()),
    );
    const text = whyText(whyReport(facts), true, fleet.runtime.clock.now(), (_style, said) => said);
    expect(text).toMatch(/policy +ClusterOverridePolicy z: replace \/data\/colour with "on-b"/);
  });

  it('reach what other dialects send, and their own namespace only', async () => {
    fleet = await simulateFleet(72, ['a', 'b']);
    await enable(fleet, ['Namespace', 'ConfigMap']);
    await openFederatedShop(fleet, ['a', 'b']);
    const template = { data: { colour: 'red' } };
    await write(
      federated('ConfigMap', 'c', { template, placement: { clusters: [{ name: 'a' }, { name: 'b' }] } }),
    );
    await become('c', 'red', 'red');
    const elsewhere = policy('far', 'wrong', { namespace: 'shop' });
    await write(
      { ...elsewhere, metadata: { name: 'far', namespace: 'default' } },
      policy('near', 'blue', {}, { targetCluster: { clusterNames: ['b'] } }),
    );
    await become('c', 'red', 'blue');
  });

  it('hold up the clusters where they fail, and change nothing that no override may change', async () => {
    fleet = await simulateFleet(73, ['a', 'b']);
    await openShop(fleet);
    await ready(fleet, 2);
    const bad = policy('bad', 'x', {}, { targetCluster: { clusterNames: ['a'] } });
    const rule = { overriders: { plaintext: [{ path: '/metadata/name', operator: 'replace', value: 'x' }] } };
    await write({
      ...bad,
      spec: { overrideRules: [{ targetCluster: { clusterNames: ['a'] }, ...rule }] },
    });
    await merge(fleet, fleet.hub, configMaps, 'shop', 'settings', { data: { colour: 'green' } });
    await become('settings', 'red', 'green');
    await fleet.until(() => conditionOf(shop(fleet), 'OverridesApplied').startsWith('False'), 'it is told');
    expect(conditionMessage(shop(fleet), 'OverridesApplied')).toMatch(
      /OverridePolicy shop\/bad: .*may not change metadata.name/,
    );
    await fleet.run(fleet.hub.client.delete(POLICIES, 'shop', 'bad'));
    await become('settings', 'green', 'green');
  });

  it('change nothing that their author may not update at the hub', async () => {
    fleet = await simulateFleet(74, ['a', 'b']);
    await openShop(fleet, [configMap('settings', 'red'), configMap('open', 'red')]);
    await ready(fleet, 2);
    const grant = async (name: string, rules: object[]): Promise<void> =>
      write(
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'Role',
          metadata: { name, namespace: 'shop' },
          rules,
        } as KubeObject,
        {
          apiVersion: 'rbac.authorization.k8s.io/v1',
          kind: 'RoleBinding',
          metadata: { name, namespace: 'shop' },
          roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name },
          subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'bob' }],
        } as KubeObject,
      );
    await grant('policies', [
      { apiGroups: [POLICIES.group], resources: [POLICIES.resource], verbs: ['create', 'get', 'patch'] },
      { apiGroups: [''], resources: ['configmaps'], resourceNames: ['open'], verbs: ['update'] },
    ]);
    const bob = createClient(fleet.hub.server.as({ name: 'bob', groups: ['system:authenticated'] }));
    const claimed = policy('sly', 'bobs');
    await fleet.run(
      bob.create(POLICIES, {
        ...claimed,
        metadata: { ...claimed.metadata, annotations: { 'atoll.dev/author': 'admin' } },
      }),
    );
    await become('open', 'bobs', 'bobs');
    await fleet.rest(60_000);
    expect(colours('settings')).toEqual(['red', 'red']);
    const events = storedBelow(fleet.hub, 'core/events/shop').filter(
      (event) => event['reason'] === 'NotAllowed',
    );
    expect(events.map((event) => event['message'])).toEqual([
      'bob, who wrote OverridePolicy shop/sly, may not update ConfigMap shop/settings at the hub: it is not changed by it',
    ]);
    await grant('maps', [{ apiGroups: [''], resources: ['configmaps'], verbs: ['update'] }]);
    await fleet.rest(60_000);
    await become('settings', 'bobs', 'bobs');
  });
});
