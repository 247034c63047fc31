import { afterEach, describe, expect, it } from 'vitest';
import {
  DEFAULT_NAMESPACE,
  federatedTypeFor,
  KUBEFED_CONFIG,
  typeConfigOf,
} from '../../src/dialects/kubefed/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { createClient } from '../../src/kube/rest-client.ts';
import { configMaps, nodes } from '../../src/kube/well-known.ts';
import { at, listAt, stringAt } from '../../src/schema/json.ts';
import {
  accountRights,
  applyAll,
  enable,
  federated,
  federatedAt,
  makeNamespace,
  openFederatedShop,
  propagation,
  TARGETS,
  TYPE_CONFIGS,
  typeConfig,
} from './federation.ts';
import {
  dispatchesOn,
  everything,
  type SimulatedFleet,
  simulateFleet,
  stored,
  storedBelow,
} from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const onA = { placement: { clusters: [{ name: 'a' }] } };
const onBoth = { placement: { clusters: [{ name: 'a' }, { name: 'b' }] } };

function config(name: string, spec: object): KubeObject {
  return federated('ConfigMap', name, { template: { data: { colour: 'red' } }, ...spec });
}

function words(kind: string, name: string): Record<string, string> {
  return propagation(federatedAt(fleet, kind, name)).clusters;
}

async function until(
  kind: string,
  name: string,
  is: string,
  clusters: Record<string, string>,
): Promise<void> {
  const wanted = JSON.stringify({ is, clusters });
  await fleet.until(
    () => JSON.stringify(propagation(federatedAt(fleet, kind, name))) === wanted,
    `${name}: ${wanted}`,
    120_000,
  );
}

function eventsOf(name: string): string[] {
  return storedBelow(fleet.hub, 'core/events/shop')
    .filter((event) => stringAt(event, 'involvedObject', 'name') === name)
    .map((event) => stringAt(event, 'reason') ?? '')
    .sort();
}

async function patch(kind: string, name: string, change: object): Promise<void> {
  const resource = await fleet.run(
    fleet.hub.client.resourceFor('types.kubefed.io/v1beta1', `Federated${kind}`),
  );
  await fleet.run(fleet.hub.client.patch(resource, 'shop', name, 'merge', change));
}

async function remove(kind: string, name: string): Promise<void> {
  const resource = await fleet.run(
    fleet.hub.client.resourceFor('types.kubefed.io/v1beta1', `Federated${kind}`),
  );
  await fleet.run(fleet.hub.client.delete(resource, 'shop', name));
}

async function open(names: string[], kinds: string[], options = {}): Promise<void> {
  fleet = await simulateFleet(9, names, options);
  await enable(fleet, ['Namespace', ...kinds]);
  await openFederatedShop(fleet, names);
}

describe('a federated object', () => {
  it('[F11] has labels of its template; annotations and finalizers there are told of and left out', async () => {
    await open(['a'], ['ConfigMap']);
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
    await open(['a'], ['ConfigMap']);
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
    await open(['a', 'b'], ['ConfigMap']);
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
    await open(['a'], ['ConfigMap']);
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
    await open(['a', 'b'], ['ConfigMap']);
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
    await open(['a'], ['ConfigMap']);
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
    await open(['a', 'b'], ['ConfigMap', 'Deployment'], { workloads: true });
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

describe('a type config', () => {
  it('[F9] that changes its version goes on with the new one, without a restart', async () => {
    const widgets = (...versions: string[]): KubeObject => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'widgets.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { kind: 'Widget', listKind: 'WidgetList', plural: 'widgets', singular: 'widget' },
        versions: ['v1alpha1', 'v1'].map((name) => ({
          name,
          served: versions.includes(name),
          storage: name === 'v1',
          schema: {
            openAPIV3Schema: {
              type: 'object',
              properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
            },
          },
        })),
      },
    });
    fleet = await simulateFleet(9, ['a']);
    const both = widgets('v1alpha1', 'v1');
    await applyAll(fleet, fleet.hub, [both]);
    await applyAll(fleet, fleet.spoke('a'), [both]);
    await fleet.rest(2_000);
    const target = {
      group: 'example.com',
      version: 'v1alpha1',
      kind: 'Widget',
      pluralName: 'widgets',
      scope: 'Namespaced' as const,
    };
    await enable(fleet, ['Namespace', target]);
    await openFederatedShop(fleet, ['a']);
    const widget = (size: number): KubeObject =>
      federated('Widget', 'w', { template: { spec: { size } }, ...onA });
    await applyAll(fleet, fleet.hub, [widget(1)]);
    const there = (): KubeObject | undefined => stored(fleet.spoke('a'), 'example.com/widgets/shop/w');
    await fleet.until(() => at(there(), 'spec', 'size') === 1, 'the widget');
    const uid = there()?.metadata.uid;
    await fleet.run(
      fleet.hub.client.patch(TYPE_CONFIGS, DEFAULT_NAMESPACE, 'widgets.example.com', 'merge', {
        spec: { targetType: { version: 'v1' } },
      }),
    );
    await applyAll(fleet, fleet.spoke('a'), [widgets('v1')]);
    await fleet.rest(5_000);
    await applyAll(fleet, fleet.hub, [widget(2)]);
    await fleet.until(() => at(there(), 'spec', 'size') === 2, 'the change');
    expect(there()?.metadata.uid).toBe(uid);
    expect(at(typeConfig(fleet, 'widgets.example.com'), 'status')).toMatchObject({
      propagationController: 'Running',
      observedGeneration: 2,
    });
  });

  it('keeps definitions that somebody else made', async () => {
    fleet = await simulateFleet(9, ['a']);
    const own: KubeObject = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'federatedconfigmaps.types.kubefed.io' },
      spec: {
        group: 'types.kubefed.io',
        scope: 'Namespaced',
        names: {
          kind: 'FederatedConfigMap',
          listKind: 'FederatedConfigMapList',
          plural: 'federatedconfigmaps',
          singular: 'federatedconfigmap',
        },
        versions: [
          {
            name: 'v1beta1',
            served: true,
            storage: true,
            subresources: { status: {} },
            schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
          },
        ],
      },
    };
    await applyAll(fleet, fleet.hub, [own]);
    await enable(fleet, ['Namespace', 'ConfigMap']);
    await openFederatedShop(fleet, ['a']);
    await applyAll(fleet, fleet.hub, [config('c', onA)]);
    await until('ConfigMap', 'c', 'True', { a: '' });
    const crd = stored(
      fleet.hub,
      'apiextensions.k8s.io/customresourcedefinitions/-/federatedconfigmaps.types.kubefed.io',
    );
    expect(crd?.metadata.annotations).toBeUndefined();
    expect(crd?.metadata.generation).toBe(1);
  });
});

function deployment(replicas: number): object {
  return {
    metadata: { labels: { app: 'web' } },
    spec: {
      replicas,
      selector: { matchLabels: { app: 'web' } },
      template: {
        metadata: { labels: { app: 'web' } },
        spec: { containers: [{ name: 'web', image: 'web:1' }] },
      },
    },
  };
}

function preference(spec: object): KubeObject {
  return {
    apiVersion: 'scheduling.kubefed.io/v1alpha1',
    kind: 'ReplicaSchedulingPreference',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { targetKind: 'FederatedDeployment', ...spec },
  };
}

function replicas(): Record<string, unknown> {
  return Object.fromEntries(
    fleet.spokes.flatMap((spoke) => {
      const found = stored(spoke, 'apps/deployments/shop/web');
      return found ? [[spoke.name, at(found, 'spec', 'replicas')]] : [];
    }),
  );
}

async function untilReplicas(wanted: Record<string, number>, limitMs = 60_000): Promise<void> {
  await fleet.until(
    () => JSON.stringify(replicas()) === JSON.stringify(wanted),
    JSON.stringify(wanted),
    limitMs,
  );
}

describe('a ReplicaSchedulingPreference', () => {
  it('[F40] means clusters that are ready, and those of the placement alone where it says so', async () => {
    await open(['cluster1', 'cluster2'], ['Deployment'], { workloads: true });
    const one = { placement: { clusters: [{ name: 'cluster1' }] } };
    await applyAll(fleet, fleet.hub, [
      federated('Deployment', 'web', { template: deployment(1), ...one }),
      preference({ totalReplicas: 6, intersectWithClusterSelector: true }),
    ]);
    await untilReplicas({ cluster1: 6 });
    await applyAll(fleet, fleet.hub, [preference({ totalReplicas: 6, rebalance: true })]);
    await untilReplicas({ cluster1: 3, cluster2: 3 });
    fleet.cut('cluster2');
    await untilReplicas({ cluster1: 6, cluster2: 3 }, 300_000);
    fleet.heal('cluster2');
    await untilReplicas({ cluster1: 3, cluster2: 3 }, 300_000);
  });

  it('[F41] leaves other overrides alone, and gives the number of the template back when it goes', async () => {
    await open(['a', 'b'], ['Deployment'], { workloads: true });
    const image = [{ path: '/spec/template/spec/containers/0/image', value: 'web:2' }];
    await applyAll(fleet, fleet.hub, [
      federated('Deployment', 'web', {
        template: deployment(2),
        ...onBoth,
        overrides: [{ clusterName: 'b', clusterOverrides: image }],
      }),
      preference({ totalReplicas: 9, clusters: { a: { weight: 2 }, b: { weight: 1 } } }),
    ]);
    await untilReplicas({ a: 6, b: 3 });
    const found = stored(fleet.spoke('b'), 'apps/deployments/shop/web');
    expect(JSON.stringify(found)).toContain('web:2');
    const resource = await fleet.run(
      fleet.hub.client.resourceFor('scheduling.kubefed.io/v1alpha1', 'ReplicaSchedulingPreference'),
    );
    await fleet.run(fleet.hub.client.delete(resource, 'shop', 'web'));
    await untilReplicas({ a: 2, b: 2 });
  });

  it('[F38] drives the Deployments of clusters: total, weights, minima, maxima, and those whom nobody named', async () => {
    await open(['a', 'b', 'c'], ['Deployment'], { workloads: true });
    const wish = (totalReplicas: number, clusters: object): Promise<void> =>
      applyAll(fleet, fleet.hub, [preference({ totalReplicas, rebalance: true, clusters })]);
    await applyAll(fleet, fleet.hub, [
      federated('Deployment', 'web', { template: deployment(1), ...onBoth }),
    ]);
    await wish(9, { '*': { weight: 1 } });
    await untilReplicas({ a: 3, b: 3, c: 3 });
    await wish(12, { a: { weight: 2 }, '*': { weight: 1 } });
    await untilReplicas({ a: 6, b: 3, c: 3 });
    await wish(12, { a: { weight: 2, maxReplicas: 2 }, b: { weight: 1 }, c: { minReplicas: 4 } });
    await untilReplicas({ a: 2, b: 6, c: 4 });
    await wish(4, { a: { weight: 1 } });
    await untilReplicas({ a: 4, b: 0, c: 0 });
  });

  it('[F39] gives what a cluster has no room for to others, once it has waited there for a minute', async () => {
    await open(['a', 'b'], ['Deployment'], { workloads: true });
    await fleet.until(() => stored(fleet.spoke('a'), 'core/nodes/-/a-node-1') !== undefined, 'a node');
    const amounts = { cpu: '2' };
    const nodesOfA = storedBelow(fleet.spoke('a'), 'core/nodes/-');
    expect(nodesOfA).toHaveLength(1);
    await fleet.run(
      fleet
        .spoke('a')
        .client.patch(
          nodes,
          '',
          'a-node-1',
          'merge',
          { status: { capacity: amounts, allocatable: amounts } },
          { subresource: 'status' },
        ),
    );
    const template = deployment(1) as { spec: { template: { spec: { containers: object[] } } } };
    const [container] = template.spec.template.spec.containers;
    template.spec.template.spec.containers = [{ ...container, resources: { requests: { cpu: '1' } } }];
    await applyAll(fleet, fleet.hub, [
      federated('Deployment', 'web', { template, ...onBoth }),
      preference({ totalReplicas: 8, clusters: { a: { weight: 1 }, b: { weight: 1 } } }),
    ]);
    await untilReplicas({ a: 4, b: 4 });
    const waiting = (): number =>
      storedBelow(fleet.spoke('a'), 'core/pods/shop').filter((pod) =>
        listAt(pod, 'status', 'conditions').some((item) => stringAt(item, 'reason') === 'Unschedulable'),
      ).length;
    await fleet.until(() => waiting() === 2, 'two pods wait for room');
    await fleet.rest(45_000);
    expect(replicas()).toEqual({ a: 4, b: 4 });
    await untilReplicas({ a: 2, b: 6 });
    await fleet.rest(120_000);
    expect(replicas()).toEqual({ a: 2, b: 6 });
    await applyAll(fleet, fleet.hub, [
      preference({ totalReplicas: 8, clusters: { a: { weight: 1 }, b: { weight: 1, maxReplicas: 4 } } }),
    ]);
    await untilReplicas({ a: 4, b: 4 });
    // Nobody else may take them: what the round wanted that found no room is asked for there all the same.
    await untilReplicas({ a: 3, b: 4 }, 120_000);
    await fleet.rest(150_000);
    expect(replicas()).toEqual({ a: 3, b: 4 });
  });

  it('does not wait for a cluster that never answered', async () => {
    await open(['a', 'b'], ['Deployment'], { workloads: true });
    await applyAll(fleet, fleet.hub, [
      {
        apiVersion: 'core.oam.dev/v1beta1',
        kind: 'SpokeCluster',
        metadata: { name: 'ghost', namespace: 'default' },
        spec: {
          mode: 'connect',
          credential: {
            type: 'kubeconfig',
            kubeconfig: { secretRef: { name: 'missing', key: 'kubeconfig' } },
          },
        },
      },
      federated('Namespace', 'shop', { placement: { clusterSelector: {} } }),
      federated('Deployment', 'web', { template: deployment(1), placement: { clusterSelector: {} } }),
    ]);
    await fleet.rest(5_000);
    await applyAll(fleet, fleet.hub, [preference({ totalReplicas: 6 })]);
    await untilReplicas({ a: 3, b: 3 }, 20_000);
  });

  it('waits a minute for a cluster that does not say what it has, and takes it in when it does', async () => {
    let silent = true;
    await open(['a', 'b'], ['Deployment'], {
      workloads: true,
      network: (spoke: string, handler: Handler): Handler => {
        if (spoke !== 'b') return handler;
        return (request) => {
          if (!silent || !request.path.includes('/apis/apps/v1/deployments')) return handler(request);
          return Promise.reject(new Error('simulated: it does not answer'));
        };
      },
    });
    await applyAll(fleet, fleet.hub, [
      federated('Deployment', 'web', { template: deployment(1), ...onBoth }),
    ]);
    await untilReplicas({ a: 1, b: 1 });
    await applyAll(fleet, fleet.hub, [preference({ totalReplicas: 6, rebalance: true })]);
    await fleet.rest(45_000);
    expect(replicas()).toEqual({ a: 1, b: 1 });
    await untilReplicas({ a: 6, b: 1 }, 60_000);
    silent = false;
    await untilReplicas({ a: 3, b: 3 }, 300_000);
  });

  it('keeps what runs where it runs, over a restart of the hub too', async () => {
    await open(['a', 'b'], ['Deployment'], { workloads: true });
    await applyAll(fleet, fleet.hub, [
      federated('Deployment', 'web', { template: deployment(1), ...onBoth }),
      preference({ totalReplicas: 6, clusters: { a: { weight: 1 }, b: { weight: 1 } } }),
    ]);
    await untilReplicas({ a: 3, b: 3 });
    await fleet.rest(30_000);
    await applyAll(fleet, fleet.hub, [
      preference({ totalReplicas: 6, clusters: { a: { weight: 5 }, b: { weight: 1 } } }),
    ]);
    await fleet.rest(30_000);
    expect(replicas()).toEqual({ a: 3, b: 3 });
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(replicas()).toEqual({ a: 3, b: 3 });
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

describe('the words of a status', () => {
  it('are those of what stands in the way', async () => {
    await open(['a', 'b'], ['ConfigMap', 'Deployment', 'ServiceAccount']);
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
