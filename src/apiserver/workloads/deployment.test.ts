import { describe, expect, it } from 'vitest';
import * as known from '../../kube/well-known.ts';
import type { Deployment, Pod, ReplicaSet } from './kinds.ts';
import { FAIL } from './simulation.ts';
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

  it('[V83] rolls a new template out within the bounds of the strategy, and undoes it', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 10));
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 2_000);
    const [first] = await sets(sim);
    const patch = (image: string): Promise<unknown> =>
      sim.now(
        sim.client.patch(known.deployments, 'shop', 'web', 'strategic', {
          spec: { template: { spec: { containers: [{ name: 'main', image }] } } },
        }),
      );
    await patch('shop/app:2');
    await sim.runtime.clock.until(async () => {
      const pods = await sim.pods();
      const live = pods.filter((pod) => pod.metadata.deletionTimestamp === undefined);
      const ready = live.filter((pod) =>
        (pod as Pod).status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
      );
      expect(live.length).toBeLessThanOrEqual(13);
      expect(ready.length).toBeGreaterThanOrEqual(8);
      return isComplete(sim, 'web');
    }, 20_000);
    const rolled = await sets(sim);
    expect(rolled).toHaveLength(2);
    expect(rolled.map((set) => set.spec.replicas).sort()).toEqual([0, 10]);
    const second = await get(sim, 'web');
    expect(second.metadata.annotations?.['deployment.kubernetes.io/revision']).toBe('2');
    expect(second.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', status: 'True', reason: 'NewReplicaSetAvailable' }),
    );
    await patch('shop/app:1');
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 20_000);
    const back = await sets(sim);
    expect(back).toHaveLength(2);
    const again = back.find((set) => set.metadata.uid === first?.metadata.uid);
    expect(again?.spec.replicas).toBe(10);
    expect(again?.metadata.annotations).toMatchObject({
      'deployment.kubernetes.io/revision': '3',
      'deployment.kubernetes.io/revision-history': '1',
    });
    await sim.workloads.stop();
  });

  it('[V83] comes to rest between two templates where new pods never count as available', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 10));
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 2_000);
    await sim.now(
      sim.client.patch(known.deployments, 'shop', 'web', 'strategic', {
        spec: {
          minReadySeconds: 1_000_000,
          progressDeadlineSeconds: 1_000_001,
          strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 2 } },
          template: { spec: { containers: [{ name: 'main', image: 'shop/app:2' }] } },
        },
      }),
    );
    const sizes = async (): Promise<unknown[]> =>
      (await sets(sim))
        .map(({ spec, status }) => [spec.replicas, spec.minReadySeconds ?? 0, status?.availableReplicas ?? 0])
        .sort();
    await sim.runtime.clock.until(async () => (await get(sim, 'web')).status?.readyReplicas === 11, 20_000);
    // The old ReplicaSet goes by what it was made with.
    const rested = [
      [3, 1_000_000, 0],
      [8, 0, 8],
    ];
    expect(await sizes()).toEqual(rested);
    await sim.runtime.clock.advance(600_000);
    expect(await sizes()).toEqual(rested);
    await sim.workloads.stop();
  });

  it('[V83] keeps the history limit', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 1, { deployment: { revisionHistoryLimit: 2 } }));
    for (let version = 2; version <= 6; version++) {
      await sim.runtime.clock.until(() => isComplete(sim, 'web'), 10_000);
      await sim.now(
        sim.client.patch(known.deployments, 'shop', 'web', 'strategic', {
          spec: { template: { spec: { containers: [{ name: 'main', image: `shop/app:${version}` }] } } },
        }),
      );
    }
    await sim.runtime.clock.advance(10_000);
    const revisions = (await sets(sim)).map(
      (set) => set.metadata.annotations?.['deployment.kubernetes.io/revision'],
    );
    expect(revisions.sort()).toEqual(['4', '5', '6']);
    await sim.workloads.stop();
  });

  it('[V83] Recreate stops all old pods before a new one starts', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 3, { deployment: { strategy: { type: 'Recreate' } } }));
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 3_000);
    await sim.now(
      sim.client.patch(known.deployments, 'shop', 'web', 'strategic', {
        spec: { template: { spec: { containers: [{ name: 'main', image: 'shop/app:2' }] } } },
      }),
    );
    await sim.runtime.clock.until(async () => {
      const images = new Set((await sim.pods()).map((pod) => (pod as Pod).spec.containers[0]?.image));
      expect(images.size).toBeLessThanOrEqual(1);
      return isComplete(sim, 'web');
    }, 5_000);
    await sim.workloads.stop();
  });

  it('[V83] scales up and down, does not roll out while paused, and goes on afterwards', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 2));
    const merge = (spec: object): Promise<unknown> =>
      sim.now(sim.client.patch(known.deployments, 'shop', 'web', 'merge', { spec }));
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 3_000);
    await merge({ replicas: 5 });
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 3_000);
    await merge({ replicas: 0 });
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 3_000);
    await merge({ replicas: 2, paused: true });
    await sim.runtime.clock.advance(3_000);
    await merge({ template: { metadata: { labels: { extra: 'x' } } } });
    await sim.runtime.clock.advance(3_000);
    expect(await sets(sim)).toHaveLength(1);
    expect((await get(sim, 'web')).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', status: 'Unknown', reason: 'DeploymentPaused' }),
    );
    await merge({ paused: false });
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 5_000);
    expect(await sets(sim)).toHaveLength(2);
    await sim.workloads.stop();
  });

  it('[V86] tells of a rollout that makes no progress, and of pods that may not be made', async () => {
    const sim = await startSimulation();
    await sim.create(
      deployment('web', 1, {
        annotations: { [FAIL]: 'never-ready' },
        deployment: { progressDeadlineSeconds: 30 },
      }),
    );
    await sim.runtime.clock.advance(20_000);
    expect((await get(sim, 'web')).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Available', status: 'False', reason: 'MinimumReplicasUnavailable' }),
    );
    await sim.runtime.clock.advance(20_000);
    expect((await get(sim, 'web')).status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Progressing', status: 'False', reason: 'ProgressDeadlineExceeded' }),
    );
    await sim.workloads.stop();
  });

  it('replaces pods that are deleted, adopts orphans and lets go of relabelled ones', async () => {
    const sim = await startSimulation();
    await sim.create(deployment('web', 2));
    await sim.runtime.clock.until(() => isComplete(sim, 'web'), 3_000);
    const [one, two] = await sim.pods('app=web');
    await sim.now(sim.client.delete(known.pods, 'shop', one?.metadata.name ?? ''));
    await sim.runtime.clock.advance(2_000);
    expect((await sim.pods('app=web')).map((pod) => pod.metadata.name)).not.toContain(one?.metadata.name);
    expect(await sim.pods('app=web')).toHaveLength(2);
    await sim.now(
      sim.client.patch(known.pods, 'shop', two?.metadata.name ?? '', 'merge', {
        metadata: { labels: { app: 'loose' } },
      }),
    );
    await sim.runtime.clock.advance(2_000);
    const [loose] = await sim.pods('app=loose');
    expect(loose?.metadata.ownerReferences ?? []).toEqual([]);
    expect(await sim.pods('app=web')).toHaveLength(2);
    await sim.now(
      sim.client.patch(known.pods, 'shop', loose?.metadata.name ?? '', 'merge', {
        metadata: { labels: { app: 'web' } },
      }),
    );
    await sim.runtime.clock.advance(2_000);
    expect(await sim.pods()).toHaveLength(2);
    await sim.workloads.stop();
  });
});
