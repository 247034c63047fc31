import { afterEach, describe, expect, it } from 'vitest';
import { PLACEMENT_POLICY } from '../../src/hub/placement/index.ts';
import { REBALANCE } from '../../src/hub/propagate/rebalances.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { deployments, nodes, pods } from '../../src/kube/well-known.ts';
import { SURVEYOR_USER } from '../../src/spoke/hub-access.ts';
import {
  conditionMessage,
  conditionOf,
  PROPAGATIONS,
  type SimulatedFleet,
  simulateFleet,
  stored,
  storedBelow,
  writeTo,
} from './fleet.ts';
import { merge, openShop, propagation, shop, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const REBALANCES = resourceIdOf(REBALANCE);
const DEPLOYMENTS = { apiVersion: 'apps/v1', kind: 'Deployment' };

function web(name: string, replicas: number, cpu = '1'): KubeObject {
  return {
    ...DEPLOYMENTS,
    metadata: { name, namespace: 'shop' },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: 'web', image: 'web:1', resources: { requests: { cpu } } }] },
      },
    },
  };
}

/** Replicas of a Deployment on each spoke that has it. */
function shares(name = 'web'): Record<string, number> {
  const out: Record<string, number> = {};
  for (const spoke of fleet.spokes) {
    const found = stored(spoke, `apps/deployments/shop/${name}`)?.['spec'] as
      | { replicas: number }
      | undefined;
    if (found) out[spoke.name] = found.replicas;
  }
  return out;
}

function total(of: Record<string, number>): number {
  return Object.values(of).reduce((sum, share) => sum + share, 0);
}

function running(spoke: string, app = 'web'): KubeObject[] {
  return storedBelow(fleet.spoke(spoke), 'core/pods/shop').filter(
    ({ metadata, ...pod }) =>
      metadata.labels?.['app'] === app &&
      (pod['status'] as { phase?: string } | undefined)?.phase === 'Running',
  );
}

/** Each cluster has one node with so many CPUs. */
async function open(cpus: Record<string, number>): Promise<void> {
  fleet = await simulateFleet(17, Object.keys(cpus), { workloads: true });
  for (const [name, cpu] of Object.entries(cpus)) {
    await fleet.until(
      () => stored(fleet.spoke(name), `core/nodes/-/${name}-node-1`)?.['status'] !== undefined,
      'nodes',
    );
    await resize(name, `${name}-node-1`, cpu);
    // Nothing new goes where nobody can look.
    await fleet.until(() => fleet.hub.engine?.hub()?.fleet.session(name)?.live === true, 'the link');
  }
}

async function resize(spoke: string, node: string, cpu: number): Promise<void> {
  const amounts = { cpu: String(cpu) };
  const status = { capacity: amounts, allocatable: amounts };
  await fleet.run(
    fleet.spoke(spoke).client.patch(nodes, '', node, 'merge', { status }, { subresource: 'status' }),
  );
}

function surveys(): number {
  return fleet.spokes.reduce(
    (sum, { audit }) =>
      sum +
      audit.filter(({ user, objectRef }) => user.username === SURVEYOR_USER && objectRef?.resource === 'pods')
        .length,
    0,
  );
}

const byRoom = (strategy: string, more: object = {}): object => ({
  resourceSelectors: [DEPLOYMENTS],
  placement: { clusterSelector: {} },
  replicas: { strategy },
  ...more,
});

describe('replicas that go where there is room', () => {
  it('are divided in proportion to it; nobody is asked while nobody wants to know', async () => {
    await open({ a: 8, b: 2 });
    await openShop(fleet, [web('web', 5)], byRoom('DynamicWeight'));
    await fleet.until(() => total(shares()) === 5, 'divided');
    expect(shares()).toEqual({ a: 4, b: 1 });
    await fleet.until(() => running('a').length === 4 && running('b').length === 1, 'running');
    await fleet.rest(5_000);
    const asked = surveys();
    expect(asked).toBeGreaterThan(0);
    await fleet.rest(3_600_000);
    expect(surveys()).toBe(asked);
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', { spec: { replicas: 10 } });
    await fleet.until(() => total(shares()) === 10, 'grown');
    expect(shares()).toEqual({ a: 8, b: 2 });
    await fleet.until(() => running('a').length === 8 && running('b').length === 2, 'all of them running');
  });

  it('are put into as few clusters as have it', async () => {
    await open({ a: 3, b: 8, c: 4 });
    await openShop(fleet, [web('web', 7)], byRoom('Aggregated'));
    await fleet.until(() => total(shares()) === 7, 'placed');
    expect(shares()).toMatchObject({ b: 7 });
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', { spec: { replicas: 12 } });
    await fleet.until(() => total(shares()) === 12, 'grown');
    expect(shares()).toEqual({ a: 0, b: 8, c: 4 });
  });

  it('[A26] of two that are decided at once never take the same last slot', async () => {
    await open({ a: 4, b: 3 });
    await openShop(fleet, [web('one', 4), web('two', 3)], null);
    for (const name of ['one', 'two']) {
      const spec = byRoom('Aggregated', { resourceSelectors: [{ ...DEPLOYMENTS, name }] });
      await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation(name, spec)));
    }
    await fleet.until(() => total(shares('one')) === 4 && total(shares('two')) === 3, 'divided');
    for (const [spoke, room] of [
      ['a', 4],
      ['b', 3],
    ] as const)
      expect((shares('one')[spoke] ?? 0) + (shares('two')[spoke] ?? 0)).toBe(room);
    await fleet.until(
      () => ['a', 'b'].every((spoke) => running(spoke, 'one').length === (shares('one')[spoke] ?? 0)),
      'all of them running',
    );
  });

  it('[A28] of several workloads go together into one cluster, or nowhere', async () => {
    await open({ a: 6, b: 5 });
    await openShop(fleet, [web('one', 3), web('two', 2)], byRoom('Whole'));
    await fleet.until(() => total(shares('one')) === 3 && total(shares('two')) === 2, 'placed');
    const [at] = Object.entries(shares('one')).find(([, replicas]) => replicas > 0) ?? [''];
    expect(shares('two')[at]).toBe(2);
    await fleet.until(() => running(at, 'one').length + running(at, 'two').length === 5, 'running');
    // Each would fit somewhere by itself.
    await fleet.run(
      fleet.hub.client.create(deployments, {
        ...web('three', 3),
        metadata: { name: 'three', namespace: 'shop', labels: { set: 'second' } },
      }),
    );
    await fleet.run(
      fleet.hub.client.create(deployments, {
        ...web('four', 4),
        metadata: { name: 'four', namespace: 'shop', labels: { set: 'second' } },
      }),
    );
    await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'shop', {
      spec: {
        resourceSelectors: [
          { ...DEPLOYMENTS, name: 'one' },
          { ...DEPLOYMENTS, name: 'two' },
        ],
      },
    });
    const selector = { ...DEPLOYMENTS, labelSelector: { matchLabels: { set: 'second' } } };
    const spec = byRoom('Whole', { resourceSelectors: [selector] });
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('second', spec)));
    await fleet.until(
      () => JSON.stringify(shopStatus(fleet, 'second')).includes('no cluster has room for'),
      'the reason',
    );
    expect(total(shares('three')) + total(shares('four'))).toBe(0);
    await resize('a', 'a-node-1', 16);
    await fleet.until(() => shares('three')['a'] === 3 && shares('four')['a'] === 4, 'placed', 600_000);
  });

  it('[A28] of one object with several templates fit as a whole or not at all', async () => {
    await open({ a: 3, b: 4 });
    const plural = 'flinkdeployments';
    const schema = { type: 'object', 'x-kubernetes-preserve-unknown-fields': true };
    const definition = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `${plural}.flink.apache.org` },
      spec: {
        group: 'flink.apache.org',
        scope: 'Namespaced',
        names: { plural, kind: 'FlinkDeployment' },
        versions: [{ name: 'v1beta1', served: true, storage: true, schema: { openAPIV3Schema: schema } }],
      },
    } as KubeObject;
    for (const target of [fleet.hub, ...fleet.spokes]) await writeTo(fleet, target, definition);
    const pods = (replicas: number): object => ({
      replicas,
      podTemplate: { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1' } } }] } },
    });
    const flink = { apiVersion: 'flink.apache.org/v1beta1', kind: 'FlinkDeployment' };
    const object = (taskManagers: number): KubeObject =>
      ({
        ...flink,
        metadata: { name: 'job', namespace: 'shop' },
        spec: { jobManager: pods(1), taskManager: pods(taskManagers) },
      }) as KubeObject;
    const components = ['jobManager', 'taskManager'].map((part) => ({
      replicasPath: `spec.${part}.replicas`,
      templatePath: `spec.${part}.podTemplate`,
    }));
    await openShop(fleet, [], null);
    await fleet.until(
      async () => (await fleet.run(fleet.hub.client.resourceFor(flink.apiVersion, flink.kind))) !== undefined,
      'the kind',
    );
    await writeTo(fleet, fleet.hub, object(3));
    const spec = byRoom('Whole', { resourceSelectors: [flink], replicas: { strategy: 'Whole', components } });
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation('shop', spec)));
    const counts = (): string =>
      ['a', 'b']
        .map((spoke) => {
          const found = stored(fleet.spoke(spoke), `flink.apache.org/${plural}/shop/job`);
          const { jobManager, taskManager } = (found?.['spec'] ?? {}) as Record<string, { replicas: number }>;
          return `${jobManager?.replicas ?? '-'}+${taskManager?.replicas ?? '-'}`;
        })
        .join(' ');
    await fleet.until(() => counts() === '0+0 1+3', 'all in b');
    await writeTo(fleet, fleet.hub, object(20));
    await fleet.until(
      () => JSON.stringify(shopStatus(fleet)).includes('no cluster has room for'),
      'the reason',
    );
    expect(counts()).toBe('0+0 1+3');
  });

  it('[A25] do not count room that no single node has', async () => {
    // Where one node has the room, the cluster with more of it is taken.
    await open({ a: 4, b: 3 });
    await openShop(fleet, [web('web', 1, '3')], byRoom('DynamicWeight'));
    await fleet.until(() => total(shares()) === 1, 'placed');
    expect(shares()).toMatchObject({ a: 1, b: 0 });
    await fleet.stop();
    await open({ a: 2, b: 3 });
    const second = stored(fleet.spoke('a'), 'core/nodes/-/a-node-1') as KubeObject;
    const { spec: _spec, status: _status, ...node } = second;
    const metadata = { name: 'a-node-2', labels: { ...second.metadata.labels } };
    await fleet.run(fleet.spoke('a').client.create(nodes, { ...node, metadata }));
    await fleet.rest(2_000);
    await resize('a', 'a-node-2', 2);
    await openShop(fleet, [web('web', 1, '3')], byRoom('DynamicWeight'));
    await fleet.until(() => total(shares()) === 1, 'placed');
    expect(shares()).toMatchObject({ a: 0, b: 1 });
  });

  it('that fit nowhere are told, and placed when there is room', async () => {
    await open({ a: 2, b: 2 });
    await openShop(fleet, [web('web', 6)], byRoom('DynamicWeight'));
    await fleet.until(() => conditionOf(shop(fleet), 'Placed') === 'False/Shortage', 'the shortage');
    expect(conditionMessage(shop(fleet), 'Placed')).toContain('room for 4 of 6 replicas');
    expect(total(shares())).toBe(4);
    await fleet.rest(30_000);
    await resize('b', 'b-node-1', 8);
    await fleet.until(() => total(shares()) === 6, 'the rest', 400_000);
    expect(shares()).toEqual({ a: 2, b: 4 });
    await fleet.until(() => conditionOf(shop(fleet), 'Placed') === 'True/Placed', 'no shortage any more');
  });

  it('[A13] spill over to the next tier when they grow, and leave it when they shrink', async () => {
    await open({ own: 4, rented: 8 });
    await openShop(fleet, [web('web', 3)], {
      ...byRoom('DynamicWeight'),
      placement: { clusterNames: ['own'], overflow: [{ clusterNames: ['rented'] }] },
    });
    await fleet.until(() => running('own').length === 3, 'running');
    expect(shares()).toEqual({ own: 3 });
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', { spec: { replicas: 7 } });
    await fleet.until(() => total(shares()) === 7, 'spilled over');
    expect(shares()).toEqual({ own: 4, rented: 3 });
    await fleet.until(() => running('rented').length === 3, 'running');
    await fleet.rest(600_000);
    expect(shares()).toEqual({ own: 4, rented: 3 });
    await merge(fleet, fleet.hub, deployments, 'shop', 'web', { spec: { replicas: 4 } });
    await fleet.until(() => shares()['own'] === 4 && shares()['rented'] === undefined, 'left again');
  });

  it('[A54] are taken back where they found no node for five minutes; those that are ready stay', async () => {
    await open({ a: 8, b: 8 });
    await openShop(fleet, [web('web', 8)], byRoom('DynamicWeight'));
    await fleet.until(() => running('a').length === 4 && running('b').length === 4, 'running');
    const { client } = fleet.spoke('a');
    await fleet.run(client.patch(nodes, '', 'a-node-1', 'merge', { spec: { unschedulable: true } }));
    const staying = running('a')
      .slice(2)
      .map(({ metadata }) => metadata.name);
    for (const { metadata } of running('a').slice(0, 2))
      await fleet.run(client.delete(pods, 'shop', metadata.name ?? ''));
    await fleet.rest(280_000);
    expect(shares()).toEqual({ a: 4, b: 4 });
    await fleet.until(() => total(shares()) === 8 && shares()['a'] === 2, 'taken back', 60_000);
    expect(shares()).toEqual({ a: 2, b: 6 });
    await fleet.until(() => running('b').length === 6, 'running elsewhere');
    expect(
      running('a')
        .map(({ metadata }) => metadata.name)
        .sort(),
    ).toEqual(staying.sort());
  });

  it('[A55] are divided anew when someone asks for it, once; the request tells what became of it, and goes', async () => {
    await open({ a: 2, b: 2 });
    await openShop(fleet, [web('web', 2)], byRoom('DynamicWeight'));
    await fleet.until(() => running('a').length === 1 && running('b').length === 1, 'running');
    await resize('b', 'b-node-1', 9);
    await fleet.rest(30_000);
    expect(shares()).toEqual({ a: 1, b: 1 });
    const workloads = [
      { ...DEPLOYMENTS, namespace: 'shop', name: 'web' },
      { ...DEPLOYMENTS, namespace: 'shop', name: 'nobody' },
    ];
    const request = {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Rebalance',
      metadata: { name: 'once' },
      spec: { workloads, ttlSecondsAfterFinished: 120 },
    };
    await fleet.run(fleet.hub.client.create(REBALANCES, request));
    await fleet.until(() => shares()['b'] === 2, 'divided anew');
    const asked = (): KubeObject | undefined => stored(fleet.hub, 'atoll.dev/rebalances/-/once');
    await fleet.until(() => asked()?.['status'] !== undefined, 'the results');
    expect(asked()?.['status']).toMatchObject({
      results: [{ result: 'Successful' }, { result: 'Failed', reason: 'NotFound' }],
    });
    const divided = shares();
    await fleet.kill(fleet.hub);
    await fleet.start(fleet.hub);
    await fleet.rest(60_000);
    expect(shares()).toEqual(divided);
    expect(asked()).toBeDefined();
    await fleet.until(() => asked() === undefined, 'gone by itself', 120_000);
  });
});

it('a request to divide anew does what can be done, and notes it, while something else cannot', async () => {
  fleet = await simulateFleet(17, ['a']);
  await openShop(fleet, [web('web', 2), web('stuck', 2)], null);
  const selecting = (name: string): KubeObject =>
    propagation(name, { resourceSelectors: [{ ...DEPLOYMENTS, name }] });
  for (const name of ['stuck', 'web'])
    await fleet.run(fleet.hub.client.create(PROPAGATIONS, selecting(name)));
  await fleet.until(() => Object.keys({ ...shares(), ...shares('stuck') }).length === 1, 'placed');
  await fleet.rest(5_000);
  const resourceSelectors = [
    { ...DEPLOYMENTS, name: 'stuck' },
    { apiVersion: 'nobody.example/v1', kind: 'Nothing' },
  ];
  await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'stuck', { spec: { resourceSelectors } });
  await fleet.rest(1_000);
  const workloads = ['stuck', 'web'].map((name) => ({ ...DEPLOYMENTS, namespace: 'shop', name }));
  await fleet.run(
    fleet.hub.client.create(REBALANCES, {
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'Rebalance',
      metadata: { name: 'once' },
      spec: { workloads },
    }),
  );
  const told = (): KubeObject['status'] => stored(fleet.hub, 'atoll.dev/rebalances/-/once')?.['status'];
  await fleet.until(() => told() !== undefined, 'what is done');
  expect(told()).toEqual({ results: [{ workload: workloads[1], result: 'Successful' }] });
  await merge(fleet, fleet.hub, PROPAGATIONS, 'shop', 'stuck', {
    spec: { resourceSelectors: resourceSelectors.slice(0, 1) },
  });
  await fleet.until(() => JSON.stringify(told()).includes('finishTime'), 'the end');
});

describe('workloads that mind each other', () => {
  it('[A29] go to the same clusters, or to different ones', async () => {
    fleet = await simulateFleet(17, ['a', 'b', 'c']);
    const grouped = (name: string, group: string): KubeObject => {
      const object = web(name, 1);
      return { ...object, metadata: { ...object.metadata, labels: { group } } };
    };
    await openShop(fleet, [grouped('one', 'x'), grouped('two', 'x'), grouped('three', 'x')], null);
    const open = async (name: string, placement: object): Promise<string[]> => {
      const spec = {
        resourceSelectors: [{ ...DEPLOYMENTS, name }],
        placement: { clusterSelector: {}, numberOfClusters: 1, ...placement },
      };
      await fleet.run(fleet.hub.client.create(PROPAGATIONS, propagation(name, spec)));
      await fleet.until(() => Object.keys(shares(name)).length === 1, name);
      return Object.keys(shares(name));
    };
    const first = await open('one', { scores: [{ type: 'Affinity', clusterNames: ['b'] }] });
    expect(await open('two', { affinityByLabel: 'group' })).toEqual(first);
    expect(await open('three', { antiAffinityByLabel: 'group' })).not.toEqual(first);
  });
});

describe('what people let be placed', () => {
  it('keeps intents of a namespace, or of an author, to the clusters of a policy', async () => {
    fleet = await simulateFleet(17, ['a', 'b', 'c']);
    const policy = (name: string, spec: object): KubeObject => ({
      apiVersion: 'atoll.dev/v1alpha1',
      kind: 'PlacementPolicy',
      metadata: { name },
      spec: spec as never,
    });
    const policies = resourceIdOf(PLACEMENT_POLICY);
    await fleet.run(
      fleet.hub.client.create(
        policies,
        policy('shop', { namespaces: ['shop'], clusters: { clusterNames: ['a', 'b'] } }),
      ),
    );
    await fleet.run(
      fleet.hub.client.create(
        policies,
        policy('others', { namespaces: ['other'], clusters: { clusterNames: ['c'] } }),
      ),
    );
    await openShop(fleet, [web('web', 1)], { resourceSelectors: [DEPLOYMENTS] });
    await fleet.until(() => Object.keys(shares()).join() === 'a,b', 'where it is allowed');
    await fleet.rest(5_000);
    expect(Object.keys(shares())).toEqual(['a', 'b']);
    expect(JSON.stringify(shop(fleet)?.['status'])).toContain('"reason":"NotAllowed","wants":"policy shop"');
    await fleet.run(
      fleet.hub.client.create(
        policies,
        policy('tight', {
          usernames: ['nobody'],
          clusters: { clusterSelector: {}, exclude: [{ clusterNames: ['b'] }] },
        }),
      ),
    );
    await fleet.rest(5_000);
    const { author } = (shop(fleet)?.['spec'] ?? {}) as { author?: { username: string } };
    await merge(fleet, fleet.hub, policies, '', 'tight', { spec: { usernames: [author?.username] } });
    await fleet.until(
      () => Object.keys(shares()).join() === 'a',
      'taken away where it is not allowed any more',
    );
    await fleet.run(fleet.hub.client.delete(policies, '', 'tight'));
    await fleet.until(() => Object.keys(shares()).join() === 'a,b', 'allowed again');
  });
});
