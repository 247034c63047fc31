import { describe, expect, it } from 'vitest';
import * as known from '../../kube/well-known.ts';
import type { DisruptionBudget } from './kinds.ts';
import { deployment, type Simulation, startSimulation } from './workloads.fixture.ts';

const budget = (spec: object): object => ({
  apiVersion: 'policy/v1',
  kind: 'PodDisruptionBudget',
  metadata: { name: 'web' },
  spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
});

async function statusOf(sim: Simulation): Promise<DisruptionBudget['status']> {
  const found = await sim.now(sim.client.get(known.podDisruptionBudgets, 'shop', 'web'));
  return (found as DisruptionBudget).status;
}

async function evict(sim: Simulation, name: string): Promise<number> {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name } };
  const response = sim.client.handler({
    method: 'POST',
    path: `/api/v1/namespaces/shop/pods/${name}/eviction`,
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  });
  return (await sim.now(response)).status;
}

describe('disruption budgets', () => {
  it.each([
    ['a number to keep', { minAvailable: 1 }, 2, 1],
    ['a share to keep', { minAvailable: '50%' }, 1, 2],
    ['a number to lose', { maxUnavailable: 1 }, 1, 2],
    ['a share to lose', { maxUnavailable: '30%' }, 1, 2],
  ])('count what may go: %s', async (_title, spec, allowed, desired) => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 3), budget(spec));
    await sim.runtime.clock.advance(10_000);
    expect(await statusOf(sim)).toMatchObject({
      currentHealthy: 3,
      desiredHealthy: desired,
      disruptionsAllowed: allowed,
      expectedPods: 3,
      observedGeneration: 1,
      conditions: [{ type: 'DisruptionAllowed', status: 'True', reason: 'SufficientPods' }],
    });
    await sim.workloads.stop();
  });

  it('let as many evictions through as they allow, also at one instant', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 3), budget({ minAvailable: 2 }));
    await sim.runtime.clock.advance(10_000);
    const names = (await sim.pods('app=web')).map((pod) => pod.metadata.name ?? '');
    const codes = await Promise.all(names.map((name) => evict(sim, name)));
    expect(codes.sort()).toEqual([201, 429, 429]);
    // The pod is replaced, and then another may go.
    await sim.runtime.clock.advance(60_000);
    expect(await statusOf(sim)).toMatchObject({ currentHealthy: 3, disruptionsAllowed: 1 });
    await sim.workloads.stop();
  });

  it('count a pod again that was let go and has stayed', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 2), budget({ minAvailable: 1 }));
    await sim.runtime.clock.advance(10_000);
    const [pod] = await sim.pods('app=web');
    const now = new Date(sim.runtime.clock.now()).toISOString().replace('.000', '');
    const status = { disruptionsAllowed: 0, disruptedPods: { [pod?.metadata.name ?? '']: now } };
    await sim.now(
      sim.client.patch(
        known.podDisruptionBudgets,
        'shop',
        'web',
        'merge',
        { status },
        { subresource: 'status' },
      ),
    );
    await sim.runtime.clock.advance(60_000);
    expect(await statusOf(sim)).toMatchObject({ currentHealthy: 1, disruptionsAllowed: 0 });
    await sim.runtime.clock.advance(62_000);
    expect(await statusOf(sim)).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1 });
    await sim.workloads.stop();
  });
});
