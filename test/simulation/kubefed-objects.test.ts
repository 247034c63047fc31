import { afterEach, describe, expect, it } from 'vitest';
import { DEFAULT_NAMESPACE, KUBEFED_CONFIG } from '../../src/dialects/kubefed/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { configMaps } from '../../src/kube/well-known.ts';
import { at, listAt, stringAt } from '../../src/schema/json.ts';
import {
  config,
  deployment,
  federatedFleet,
  federatedWords,
  onA,
  onBoth,
  preference,
} from './federated-words.ts';
import { applyAll, enable, federated, federatedAt, openFederatedShop } from './federation.ts';
import {
  dispatchesOn,
  everything,
  type SimulatedFleet,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());
const { words, until, eventsOf, patch, remove } = federatedWords(() => fleet);

describe('a federated object', () => {
  it('[F11] has labels of its template; annotations and finalizers there are told of and left out', async () => {
    fleet = await federatedFleet(['a'], ['ConfigMap']);
    const metadata = { labels: { app: 'shop' }, annotations: { note: 'x' }, finalizers: ['example.com/f'] };
    await applyAll(fleet, fleet.hub, [config('c', { template: { metadata, data: { x: '1' } }, ...onA })]);
    await until('ConfigMap', 'c', 'True', { a: '' });
    const there = stored(fleet.spoke('a'), 'core/configmaps/shop/c');
    expect(there?.metadata.labels).toMatchObject({ app: 'shop' });
    expect(there?.metadata.annotations?.['note']).toBeUndefined();
    expect(there?.metadata.finalizers).toBeUndefined();
    await fleet.rest(5_000);
    expect(eventsOf('c')).toEqual(['AnnotationsNotSupported', 'FinalizersNotSupported']);
  });

  it('holds its deletion while its delete options make no sense', async () => {
    fleet = await federatedFleet(['a'], ['ConfigMap']);
    const made = config('c', { template: { data: { x: '1' } }, ...onA });
    const annotations = (text: string | null): object => ({
      metadata: { annotations: { 'kubefed.io/deleteoption': text } },
    });
    await applyAll(fleet, fleet.hub, [made]);
    await until('ConfigMap', 'c', 'True', { a: '' });
    await patch('ConfigMap', 'c', annotations('{"propagationPolicy":"orphan"}'));
    await remove('ConfigMap', 'c');
    await fleet.rest(60_000);
    expect(stored(fleet.spoke('a'), 'core/configmaps/shop/c')).toBeDefined();
    expect(eventsOf('c')).toEqual(['InvalidDeleteOption']);
    await patch('ConfigMap', 'c', annotations('{"propagationPolicy":"Orphan"}'));
    await fleet.until(() => federatedAt(fleet, 'ConfigMap', 'c') === undefined, 'it is gone');
    expect(stored(fleet.spoke('a'), 'core/configmaps/shop/c')).toBeUndefined();
  });

  it('[F14] goes where its namespace goes as well, and nowhere without one', async () => {
    fleet = await simulateFleet(9, ['a', 'b', 'c']);
    await enable(fleet, ['Namespace', 'ConfigMap']);
    await openFederatedShop(fleet, ['b', 'c']);
    const both = { placement: { clusters: [{ name: 'a' }, { name: 'b' }] } };
    await applyAll(fleet, fleet.hub, [config('x', both)]);
    await until('ConfigMap', 'x', 'True', { b: '' });
    await remove('Namespace', 'shop');
    await until('ConfigMap', 'x', 'NamespaceNotFederated', {});
    expect(stored(fleet.spoke('b'), 'core/configmaps/shop/x')).toBeUndefined();
  });

  it('[F15] of a system namespace has no effect, and one that goes leaves the namespace at the hub', async () => {
    fleet = await simulateFleet(9, ['a']);
    await enable(fleet, ['Namespace']);
    const system = federated(
      'Namespace',
      'kube-system',
      { placement: { clusterSelector: {} } },
      'kube-system',
    );
    const before = stored(fleet.spoke('a'), 'core/namespaces/-/kube-system')?.metadata.resourceVersion;
    await applyAll(fleet, fleet.hub, [system]);
    await fleet.rest(30_000);
    expect(stored(fleet.spoke('a'), 'core/namespaces/-/kube-system')?.metadata.resourceVersion).toBe(before);
    const other = federated('Namespace', 'other', { placement: { clusterSelector: {} } }, 'default');
    await applyAll(fleet, fleet.hub, [other]);
    await fleet.rest(10_000);
    const said = storedBelow(fleet.hub, 'core/events/default').map((event) => stringAt(event, 'reason'));
    expect(said).toContain('SystemNamespace');
    await openFederatedShop(fleet, ['a']);
    await fleet.until(() => stored(fleet.spoke('a'), 'core/namespaces/-/shop') !== undefined, 'shop on a');
    await remove('Namespace', 'shop');
    await fleet.until(() => stored(fleet.spoke('a'), 'core/namespaces/-/shop') === undefined, 'gone from a');
    await fleet.rest(10_000);
    expect(stored(fleet.hub, 'core/namespaces/-/shop')?.metadata.deletionTimestamp).toBeUndefined();
    expect(stored(fleet.hub, 'core/namespaces/-/shop')).toBeDefined();
  });

  it('[F53] tells by an event of a FederatedNamespace with another name, and of clusters that its deletion waits for', async () => {
    fleet = await federatedFleet(['a', 'b'], ['ConfigMap']);
    await applyAll(fleet, fleet.hub, [
      federated('Namespace', 'other', { placement: { clusterSelector: {} } }),
      config('c', onBoth),
    ]);
    await until('ConfigMap', 'c', 'True', { a: '', b: '' });
    await fleet.until(() => eventsOf('other').join() === 'InvalidName', 'the event');
    await remove('ConfigMap', 'c');
    await fleet.until(() => eventsOf('c').includes('WaitForRemovalInCluster'), 'the event');
    await fleet.until(() => federatedAt(fleet, 'ConfigMap', 'c') === undefined, 'gone');
  });

  it('[F35] that is orphaned lets its objects stay without marks, asked for just before it is deleted', async () => {
    fleet = await federatedFleet(['a'], ['ConfigMap']);
    await applyAll(fleet, fleet.hub, [config('c', onA)]);
    await until('ConfigMap', 'c', 'True', { a: '' });
    await patch('ConfigMap', 'c', { metadata: { annotations: { 'kubefed.io/orphan': 'true' } } });
    await remove('ConfigMap', 'c');
    await fleet.until(() => federatedAt(fleet, 'ConfigMap', 'c') === undefined, 'gone at the hub');
    await fleet.rest(20_000);
    const there = stored(fleet.spoke('a'), 'core/configmaps/shop/c');
    expect(there?.metadata.labels?.['atoll.dev/dispatch']).toBeUndefined();
    expect(there?.['data']).toEqual({ colour: 'red' });
    expect(dispatchesOn(fleet.spoke('a')).map(({ metadata }) => metadata.name)).toHaveLength(1);
    expect(storedBelow(fleet.hub, 'atoll.dev/intentrecords/atoll-system')).toHaveLength(1);
  });

  it('that is orphaned while a cluster is away lets its objects stay there, too', async () => {
    fleet = await federatedFleet(['a', 'b'], ['ConfigMap']);
    await applyAll(fleet, fleet.hub, [config('c', onBoth)]);
    await until('ConfigMap', 'c', 'True', { a: '', b: '' });
    fleet.cut('b');
    await fleet.rest(60_000);
    await patch('ConfigMap', 'c', { metadata: { annotations: { 'kubefed.io/orphan': 'true' } } });
    await remove('ConfigMap', 'c');
    await fleet.until(() => federatedAt(fleet, 'ConfigMap', 'c') === undefined, 'gone at the hub', 300_000);
    fleet.heal('b');
    await fleet.until(
      () => fleet.spokes.every((spoke) => dispatchesOn(spoke).length === 1),
      'nothing is ordered any more',
      300_000,
    );
    for (const spoke of fleet.spokes) {
      const there = stored(spoke, 'core/configmaps/shop/c');
      expect([there?.['data'], there?.metadata.labels?.['atoll.dev/dispatch']]).toEqual([
        { colour: 'red' },
        undefined,
      ]);
    }
  });

  it('is written by whom the API server knows, whatever it says itself', async () => {
    fleet = await federatedFleet(['a'], ['ConfigMap']);
    const forged = config('c', onA);
    forged.metadata.annotations = { 'atoll.dev/author': 'somebody-else' };
    await applyAll(fleet, fleet.hub, [forged]);
    await until('ConfigMap', 'c', 'True', { a: '' });
    expect(federatedAt(fleet, 'ConfigMap', 'c')?.metadata.annotations?.['atoll.dev/author']).toBe('admin');
    const dispatch = dispatchesOn(fleet.spoke('a')).find(
      ({ spec }) => stringAt(spec, 'source', 'kind') === 'FederatedConfigMap',
    );
    expect(at(dispatch, 'spec', 'author', 'username')).toBe('admin');
    await patch('ConfigMap', 'c', { metadata: { annotations: { 'atoll.dev/author': 'root' } } });
    expect(federatedAt(fleet, 'ConfigMap', 'c')?.metadata.annotations?.['atoll.dev/author']).toBe('admin');
  });

  it('[F32] and nothing else is written while nothing happens, nor when the hub starts again', async () => {
    fleet = await federatedFleet(['a', 'b'], ['ConfigMap', 'Deployment'], { workloads: true });
    const web = federated('Deployment', 'web', { template: deployment(3), ...onBoth });
    await applyAll(fleet, fleet.hub, [config('c', onBoth), web, preference({ totalReplicas: 5 })]);
    await until('ConfigMap', 'c', 'True', { a: '', b: '' });
    await until('Deployment', 'web', 'True', { a: '', b: '' });
    await fleet.rest(120_000);
    const before = [fleet.hub, ...fleet.spokes].map(everything);
    await fleet.rest(600_000);
    expect([fleet.hub, ...fleet.spokes].map(everything)).toEqual(before);
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(fleet.spokes.map(everything)).toEqual(before.slice(1));
  });
});

describe('the status of members', () => {
  it('[F33] is shown for each cluster where it is asked for', async () => {
    fleet = await simulateFleet(9, ['a', 'b'], { workloads: true });
    await enable(fleet, ['Namespace']);
    await enable(fleet, ['Deployment'], { statusCollection: 'Enabled' });
    await openFederatedShop(fleet, ['a', 'b']);
    await applyAll(fleet, fleet.hub, [
      federated('Deployment', 'web', { template: deployment(2), ...onBoth }),
    ]);
    await until('Deployment', 'web', 'True', { a: '', b: '' });
    const remote = (): unknown[] =>
      listAt(federatedAt(fleet, 'Deployment', 'web'), 'status', 'clusters').map((item) =>
        at(item, 'remoteStatus', 'availableReplicas'),
      );
    expect(remote()).toEqual([undefined, undefined]);
    await applyAll(fleet, fleet.hub, [
      {
        apiVersion: 'core.kubefed.io/v1beta1',
        kind: 'KubeFedConfig',
        metadata: { name: 'kubefed', namespace: DEFAULT_NAMESPACE },
        spec: {
          scope: 'Cluster',
          featureGates: [{ name: 'RawResourceStatusCollection', configuration: 'Enabled' }],
        },
      },
    ]);
    await fleet.until(() => remote().join() === '2,2', 'two available on each');
    await until('Deployment', 'web', 'True', { a: '', b: '' });
    await patch('Deployment', 'web', { spec: { template: { spec: { replicas: 4 } } } });
    await fleet.until(() => remote().join() === '4,4', 'four available on each');
  });
});

describe('the words of a status', () => {
  it('are those of what stands in the way', async () => {
    fleet = await federatedFleet(['a', 'b'], ['ConfigMap', 'Deployment', 'ServiceAccount']);
    // AlreadyExists, where nothing may be taken over.
    await fleet.run(
      fleet.hub.client.apply(
        resourceIdOf(KUBEFED_CONFIG),
        {
          apiVersion: 'core.kubefed.io/v1beta1',
          kind: 'KubeFedConfig',
          metadata: { name: 'kubefed', namespace: DEFAULT_NAMESPACE },
          spec: { scope: 'Cluster', syncController: { adoptResources: 'Disabled' } },
        },
        { fieldManager: 'kubectl' },
      ),
    );
    await until('Namespace', 'shop', 'True', { a: '', b: '' });
    const mine = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'taken', namespace: 'shop' } };
    await fleet.run(fleet.spoke('a').client.create(configMaps, mine));
    const bad = [{ clusterName: 'a', clusterOverrides: [{ path: '/metadata/name', value: 'x' }] }];
    const missing = [{ clusterName: 'a', clusterOverrides: [{ path: '/spec/nothing/here', value: 1 }] }];
    await applyAll(fleet, fleet.hub, [
      config('taken', onBoth),
      config('named', { ...onBoth, overrides: bad }),
      config('missing', { ...onBoth, overrides: missing }),
      federated('Deployment', 'broken', { template: { spec: { replicas: 1 } }, ...onA }),
      config('fine', onBoth),
      config('sought', {
        placement: { clusterSelector: { matchExpressions: [{ key: 'a b', operator: 'Exists' }] } },
      }),
    ]);
    await until('ConfigMap', 'taken', 'CheckClusters', { a: 'AlreadyExists', b: '' });
    await until('ConfigMap', 'named', 'CheckClusters', { a: 'ApplyOverridesFailed', b: '' });
    await until('ConfigMap', 'missing', 'CheckClusters', { a: 'ApplyOverridesFailed', b: '' });
    await until('Deployment', 'broken', 'CheckClusters', { a: 'CreationFailed' });
    await until('ConfigMap', 'sought', 'ComputePlacementFailed', {});
    await until('ConfigMap', 'fine', 'True', { a: '', b: '' });
    // UpdateFailed: a field that never changes.
    await applyAll(fleet, fleet.hub, [federated('Deployment', 'web', { template: deployment(1), ...onA })]);
    await fleet.until(() => stored(fleet.spoke('a'), 'apps/deployments/shop/web') !== undefined, 'web');
    await fleet.rest(5_000);
    await patch('Deployment', 'web', {
      spec: { template: { spec: { selector: { matchLabels: { app: 'other' } } } } },
    });
    await fleet.until(() => words('Deployment', 'web')['a'] === 'UpdateFailed', 'UpdateFailed');
    // ManagedLabelFalse: the owner of the cluster wants it back.
    await fleet.run(
      fleet.spoke('b').client.patch(configMaps, 'shop', 'fine', 'merge', {
        metadata: { labels: { 'atoll.dev/managed': 'false' } },
        data: { colour: 'green' },
      }),
    );
    await until('ConfigMap', 'fine', 'CheckClusters', { a: '', b: 'ManagedLabelFalse' });
    // WaitingForRemoval, while something holds it.
    await fleet.run(
      fleet.spoke('b').client.patch(configMaps, 'shop', 'named', 'merge', {
        metadata: { finalizers: ['example.com/hold'] },
      }),
    );
    await patch('ConfigMap', 'named', { spec: { placement: { clusters: [{ name: 'a' }] } } });
    await fleet.until(() => words('ConfigMap', 'named')['b'] === 'WaitingForRemoval', 'WaitingForRemoval');
    await fleet.run(
      fleet.spoke('b').client.patch(configMaps, 'shop', 'named', 'merge', { metadata: { finalizers: null } }),
    );
    await fleet.until(() => words('ConfigMap', 'named')['b'] === undefined, 'gone from b');
    // ClusterNotReady, while nobody sees it.
    fleet.cut('b');
    await fleet.until(
      () => words('ConfigMap', 'taken')['b'] === 'ClusterNotReady',
      'ClusterNotReady',
      120_000,
    );
    await patch('ConfigMap', 'taken', { spec: { placement: { clusters: [{ name: 'a' }] } } });
    await fleet.rest(5_000);
    expect(words('ConfigMap', 'taken')).toEqual({ a: 'AlreadyExists', b: 'ClusterNotReady' });
  });
});
