import { describe, expect, it } from 'vitest';
import * as known from '../../kube/well-known.ts';
import type { Deployment, ReplicaSet } from './kinds.ts';
import { deployment, type Simulation, startSimulation } from './workloads.fixture.ts';

const get = (sim: Simulation, name: string): Promise<Deployment> =>
  sim.now(sim.client.get<Deployment>(known.deployments, 'shop', name));

const isComplete = async (sim: Simulation, name: string): Promise<boolean> => {
  const { spec, status, metadata } = await get(sim, name);
  const replicas = spec.replicas ?? 0;
  return (
    (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0) &&
    (status?.updatedReplicas ?? 0) === replicas &&
    (status?.replicas ?? 0) === replicas &&
    (status?.availableReplicas ?? 0) === replicas
  );
};

const sets = async (sim: Simulation): Promise<ReplicaSet[]> =>
  (await sim.now(sim.client.list<ReplicaSet>(known.replicaSets, 'shop'))).items;

describe('Deployments', () => {
  it('[V84] brings 100 replicas to Ready within a second', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 100));
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 1_000, 'complete');
    const { status, metadata } = await get(sim, 'web');
    expect(status).toMatchObject({ replicas: 100, readyReplicas: 100, availableReplicas: 100 });
    expect(metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('1');
    const pods = await sim.pods();
    expect(new Set(pods.map((pod) => (pod.status as { podIP: string }).podIP)).size).toBe(100);
    await sim.workloads.stop();
  });
});
