import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import { nodes } from '../../src/kube/well-known.ts';
import { at, listAt, stringAt } from '../../src/schema/json.ts';
import { deployment, federatedFleet, onBoth, preference } from './federated-words.ts';
import { applyAll, federated } from './federation.ts';
import { type SimulatedFleet, stored, storedBelow } from './fleet.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet?.stop());

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
    fleet = await federatedFleet(['cluster1', 'cluster2'], ['Deployment'], { workloads: true });
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
    fleet = await federatedFleet(['a', 'b'], ['Deployment'], { workloads: true });
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
    fleet = await federatedFleet(['a', 'b', 'c'], ['Deployment'], { workloads: true });
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
    fleet = await federatedFleet(['a', 'b'], ['Deployment'], { workloads: true });
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
    fleet = await federatedFleet(['a', 'b'], ['Deployment'], { workloads: true });
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
    fleet = await federatedFleet(['a', 'b'], ['Deployment'], {
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
    fleet = await federatedFleet(['a', 'b'], ['Deployment'], { workloads: true });
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
