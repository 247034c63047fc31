import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import * as known from '../../kube/well-known.ts';
import type { CronJob, DaemonSet, Deployment, Job, Pod, Service, StatefulSet } from './kinds.ts';
import { EXIT_CODE, FAIL, RUN_FOR } from './simulation.ts';
import { deployment, type Simulation, startSimulation, template } from './workloads.fixture.ts';
import { startWorkloads } from './workloads.ts';

const workload = (
  kind: string,
  name: string,
  spec: object,
  options: Parameters<typeof template>[1] = {},
): object => ({
  apiVersion: kind.endsWith('Job') ? 'batch/v1' : 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    ...(kind === 'Job' ? {} : { selector: { matchLabels: { app: name } } }),
    template: template(name, options),
    ...spec,
  },
});

const never = { restartPolicy: 'Never' };

async function get<T extends KubeObject>(
  sim: Simulation,
  resource: typeof known.pods,
  name: string,
): Promise<T> {
  return sim.now(sim.client.get<T>(resource, 'shop', name));
}

describe('StatefulSets', () => {
  const db = (spec: object = {}): object =>
    workload('StatefulSet', 'db', {
      replicas: 3,
      serviceName: 'db',
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
        },
      ],
      ...spec,
    });

  it('[V83] start in order, each with its name and its claim, and stop in reverse order', async () => {
    const sim = await startSimulation();
    await sim.create(db());
    await sim.runtime.clock.until(async () => {
      const ready = (await sim.pods()).map((pod) =>
        (pod as Pod).status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
      );
      expect(ready.slice(0, -1).every(Boolean)).toBe(true);
      return ready.length === 3 && ready.every(Boolean);
    }, 5_000);
    await sim.runtime.clock.advance(500);
    const pods = await sim.pods();
    expect(pods.map((pod) => pod.metadata.name)).toEqual(['db-0', 'db-1', 'db-2']);
    expect(pods[1]?.metadata.labels).toMatchObject({
      'statefulset.kubernetes.io/pod-name': 'db-1',
      'apps.kubernetes.io/pod-index': '1',
    });
    const claims = (await sim.now(sim.client.list(known.persistentVolumeClaims, 'shop'))).items;
    expect(claims.map((each) => [each.metadata.name, (each.status as { phase: string }).phase])).toEqual([
      ['data-db-0', 'Bound'],
      ['data-db-1', 'Bound'],
      ['data-db-2', 'Bound'],
    ]);
    const { status } = await get<StatefulSet>(sim, known.statefulSets, 'db');
    expect(status).toMatchObject({ replicas: 3, readyReplicas: 3, currentReplicas: 3, updatedReplicas: 3 });
    expect(status?.currentRevision).toBe(status?.updateRevision);

    await sim.now(sim.client.patch(known.statefulSets, 'shop', 'db', 'merge', { spec: { replicas: 1 } }));
    const seen: string[] = [];
    await sim.runtime.clock.until(async () => {
      const names = (await sim.pods()).map((pod) => pod.metadata.name).join(' ');
      if (seen.at(-1) !== names) seen.push(names);
      return names === 'db-0';
    }, 5_000);
    expect(seen).toEqual(['db-0 db-1 db-2', 'db-0 db-1', 'db-0']);
    await sim.workloads.stop();
  });

  it('[V83] update from the highest number down, to the partition', async () => {
    const sim = await startSimulation();
    await sim.create(db({ podManagementPolicy: 'Parallel' }));
    await sim.runtime.clock.advance(2_000);
    await sim.now(
      sim.client.patch(known.statefulSets, 'shop', 'db', 'strategic', {
        spec: {
          updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
          template: { spec: { containers: [{ name: 'main', image: 'shop/app:2' }] } },
        },
      }),
    );
    await sim.runtime.clock.advance(10_000);
    const images = (await sim.pods()).map((pod) => (pod as Pod).spec.containers[0]?.image);
    expect(images).toEqual(['shop/app:1', 'shop/app:2', 'shop/app:2']);
    const held = (await get<StatefulSet>(sim, known.statefulSets, 'db')).status;
    expect(held).toMatchObject({ currentReplicas: 1, updatedReplicas: 2, readyReplicas: 3 });
    await sim.now(sim.client.delete(known.pods, 'shop', 'db-0'));
    await sim.runtime.clock.advance(3_000);
    expect((await get<Pod>(sim, known.pods, 'db-0')).spec.containers[0]?.image).toBe('shop/app:1');
    await sim.now(
      sim.client.patch(known.statefulSets, 'shop', 'db', 'merge', {
        spec: { updateStrategy: { rollingUpdate: { partition: 0 } } },
      }),
    );
    await sim.runtime.clock.advance(5_000);
    const done = (await get<StatefulSet>(sim, known.statefulSets, 'db')).status;
    expect(done).toMatchObject({ currentReplicas: 3, updatedReplicas: 3 });
    expect(done?.currentRevision).toBe(done?.updateRevision);
    await sim.workloads.stop();
  });
});

describe('DaemonSets', () => {
  it('[V83] have one pod on each node that they may run on, and roll updates out', async () => {
    const sim = await startSimulation({ nodes: { count: 3 } });
    await sim.create(workload('DaemonSet', 'agent', {}));
    await sim.runtime.clock.advance(2_000);
    const nodesOf = async (): Promise<string[]> =>
      (await sim.pods()).map((pod) => (pod as Pod).spec.nodeName ?? '').sort();
    expect(await nodesOf()).toEqual(['node-1', 'node-2', 'node-3']);
    expect((await get<DaemonSet>(sim, known.daemonSets, 'agent')).status).toMatchObject({
      desiredNumberScheduled: 3,
      currentNumberScheduled: 3,
      numberReady: 3,
      numberAvailable: 3,
      updatedNumberScheduled: 3,
      numberMisscheduled: 0,
    });
    await sim.now(
      sim.client.patch(known.daemonSets, 'shop', 'agent', 'strategic', {
        spec: { template: { spec: { containers: [{ name: 'main', image: 'shop/app:2' }] } } },
      }),
    );
    await sim.runtime.clock.until(async () => {
      const pods = (await sim.pods()) as Pod[];
      const ready = pods.filter((pod) =>
        pod.status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
      );
      expect(ready.length).toBeGreaterThanOrEqual(2);
      return ready.length === 3 && ready.every((pod) => pod.spec.containers[0]?.image === 'shop/app:2');
    }, 10_000);
    await sim.now(
      sim.client.patch(known.nodes, '', 'node-2', 'merge', {
        spec: { taints: [{ key: 'x', effect: 'NoExecute' }] },
      }),
    );
    await sim.runtime.clock.advance(2_000);
    expect(await nodesOf()).toEqual(['node-1', 'node-3']);
    await sim.workloads.stop();
  });
});

describe('Jobs', () => {
  const conditions = async (sim: Simulation, name: string): Promise<string[]> =>
    ((await get<Job>(sim, known.jobs, name)).status?.conditions ?? []).map(
      (each) => `${each.type} ${each.reason}`,
    );

  it('[V83] run to their completions, as many at a time as they may', async () => {
    const sim = await startSimulation();
    await sim.create(workload('Job', 'load', { completions: 5, parallelism: 2 }, { spec: never }));
    await sim.runtime.clock.until(async () => {
      const active = (await sim.pods()).filter((pod) => (pod as Pod).status?.phase !== 'Succeeded');
      expect(active.length).toBeLessThanOrEqual(2);
      return (await conditions(sim, 'load')).includes('Complete CompletionsReached');
    }, 20_000);
    const { status } = await get<Job>(sim, known.jobs, 'load');
    expect(status).toMatchObject({ succeeded: 5 });
    expect(status?.active).toBeUndefined();
    expect(status?.completionTime).toBeDefined();
    await sim.workloads.stop();
  });

  it('[V83] fail beyond their back-off limit or deadline, and stop while suspended', async () => {
    const sim = await startSimulation();
    await sim.create(
      workload('Job', 'bad', { backoffLimit: 2 }, { spec: never, annotations: { [EXIT_CODE]: '1' } }),
      workload(
        'Job',
        'slow',
        { activeDeadlineSeconds: 20 },
        { spec: never, annotations: { [RUN_FOR]: '1h' } },
      ),
      workload('Job', 'held', { suspend: true }, { spec: never }),
      workload(
        'Job',
        'again',
        { backoffLimit: 2 },
        { spec: { restartPolicy: 'OnFailure' }, annotations: { [FAIL]: 'crash-loop' } },
      ),
    );
    await sim.runtime.clock.advance(60_000);
    expect(await conditions(sim, 'bad')).toEqual([
      'FailureTarget BackoffLimitExceeded',
      'Failed BackoffLimitExceeded',
    ]);
    expect((await get<Job>(sim, known.jobs, 'bad')).status?.failed).toBe(3);
    expect(await conditions(sim, 'slow')).toContain('Failed DeadlineExceeded');
    expect(await conditions(sim, 'again')).toContain('Failed BackoffLimitExceeded');
    expect(await conditions(sim, 'held')).toEqual(['Suspended JobSuspended']);
    await sim.now(sim.client.patch(known.jobs, 'shop', 'held', 'merge', { spec: { suspend: false } }));
    await sim.runtime.clock.advance(5_000);
    expect(await conditions(sim, 'held')).toContain('Complete CompletionsReached');
    await sim.workloads.stop();
  });

  it('[V83] give each pod its index, and are deleted after their time', async () => {
    const sim = await startSimulation();
    await sim.create(
      workload(
        'Job',
        'shards',
        { completions: 3, parallelism: 3, completionMode: 'Indexed', ttlSecondsAfterFinished: 30 },
        { spec: never },
      ),
    );
    await sim.runtime.clock.advance(5_000);
    const { status } = await get<Job>(sim, known.jobs, 'shards');
    expect(status).toMatchObject({ succeeded: 3, completedIndexes: '0-2' });
    await sim.runtime.clock.advance(60_000);
    expect((await sim.now(sim.client.list(known.jobs, 'shop'))).items).toEqual([]);
    expect(await sim.pods()).toEqual([]);
    await sim.workloads.stop();
  });

  it('[V83] do not lose the indexes of pods that somebody deletes', async () => {
    const sim = await startSimulation();
    await sim.create(
      workload(
        'Job',
        'shards',
        { completions: 2, parallelism: 1, completionMode: 'Indexed' },
        { spec: never, annotations: { [RUN_FOR]: '10s' } },
      ),
    );
    await sim.runtime.clock.advance(13_000);
    expect((await get<Job>(sim, known.jobs, 'shards')).status).toMatchObject({ completedIndexes: '0' });
    const [first] = (await sim.pods()).filter(
      ({ status }) => (status as Pod['status'])?.phase === 'Succeeded',
    );
    await sim.now(sim.client.delete(known.pods, 'shop', first?.metadata.name ?? ''));
    await sim.runtime.clock.advance(30_000);
    expect((await get<Job>(sim, known.jobs, 'shards')).status).toMatchObject({
      succeeded: 2,
      completedIndexes: '0-1',
    });
    await sim.workloads.stop();
  });

  it('[V83] are started by CronJobs also when the clock was years ahead before', async () => {
    const sim = await startSimulation();
    const job = {
      spec: { template: { spec: { ...never, containers: [{ name: 'main', image: 'shop/app:1' }] } } },
    };
    await sim.create({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'tick' },
      spec: { schedule: '* * * * *', jobTemplate: job },
    });
    const status = { lastScheduleTime: '2036-01-01T00:00:00Z' };
    await sim.now(
      sim.client.patch(known.cronJobs, 'shop', 'tick', 'merge', { status }, { subresource: 'status' }),
    );
    await sim.runtime.clock.advance(150_000);
    expect((await sim.now(sim.client.list(known.jobs, 'shop'))).items).toHaveLength(2);
    await sim.workloads.stop();
  });

  it('[V83] are started by CronJobs at their times', async () => {
    const sim = await startSimulation();
    await sim.create({
      apiVersion: 'batch/v1',
      kind: 'CronJob',
      metadata: { name: 'tick' },
      spec: {
        schedule: '*/5 * * * *',
        successfulJobsHistoryLimit: 2,
        jobTemplate: { spec: { template: template('tick', { spec: never }) } },
      },
    });
    await sim.runtime.clock.advance(26 * 60_000);
    const jobs = (await sim.now(sim.client.list<Job>(known.jobs, 'shop'))).items;
    expect(jobs).toHaveLength(2);
    const cron = await get<CronJob>(sim, known.cronJobs, 'tick');
    expect(cron.status).toMatchObject({ lastScheduleTime: '2026-01-01T00:25:00Z' });
    expect(cron.status?.lastSuccessfulTime).toBeDefined();
    await sim.workloads.stop();
  });
});

describe('Services', () => {
  interface Slice extends KubeObject {
    endpoints: { addresses: string[]; conditions: { ready: boolean } }[];
    ports: { name: string; port: number }[];
  }
  const service = (spec: object = {}): object => ({
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { selector: { app: 'web' }, ports: [{ name: 'http', port: 80, targetPort: 'http' }], ...spec },
  });
  const slices = async (sim: Simulation): Promise<Slice[]> =>
    (
      await sim.now(
        sim.client.list<Slice>(known.endpointSlices, 'shop', {
          labelSelector: 'kubernetes.io/service-name=web',
        }),
      )
    ).items;
  const ported = {
    spec: { containers: [{ name: 'main', image: 'i', ports: [{ name: 'http', containerPort: 8080 }] }] },
  };

  it('[V85] have slices and Endpoints of the ready pods, at the port that these name', async () => {
    const sim = await startSimulation({ nodes: { count: 3 } });
    await sim.create(service(), deployment('web', 3, ported));
    await sim.runtime.clock.advance(2_000);
    const [slice] = await slices(sim);
    expect(slice?.ports).toEqual([{ name: 'http', port: 8080, protocol: 'TCP' }]);
    expect(slice?.endpoints.map((each) => each.conditions.ready)).toEqual([true, true, true]);
    const addresses = async (): Promise<number> => {
      const { subsets } = await get<KubeObject>(sim, known.endpoints, 'web');
      return (subsets as { addresses: object[] }[] | undefined)?.[0]?.addresses?.length ?? 0;
    };
    expect(await addresses()).toBe(3);
    await sim.now(sim.client.patch(known.deployments, 'shop', 'web', 'merge', { spec: { replicas: 0 } }));
    await sim.runtime.clock.advance(1_000);
    expect(await addresses()).toBe(0);
    expect((await slices(sim))[0]?.endpoints ?? []).toEqual([]);
    await sim.workloads.stop();
  });

  it('[V85] put at most 100 endpoints into a slice', async () => {
    const sim = await startSimulation({ nodes: { count: 3 } });
    await sim.create(service(), deployment('web', 150, ported));
    await sim.runtime.clock.advance(3_000);
    expect((await slices(sim)).map((each) => each.endpoints.length).sort()).toEqual([100, 50]);
    await sim.now(sim.client.patch(known.deployments, 'shop', 'web', 'merge', { spec: { replicas: 5 } }));
    await sim.runtime.clock.advance(3_000);
    expect((await slices(sim)).map((each) => each.endpoints.length)).toEqual([5]);
    await sim.workloads.stop();
  });

  it('[V85] get an address when they are load balancers', async () => {
    const sim = await startSimulation();
    await sim.create(service({ type: 'LoadBalancer' }));
    await sim.runtime.clock.advance(100);
    expect((await get<Service>(sim, known.services, 'web')).status?.loadBalancer?.ingress?.[0]?.ip).toBe(
      '172.18.0.1',
    );
    await sim.workloads.stop();
  });
});

const everything = [
  deployment('web', 3),
  deployment('sick', 2, {
    annotations: { [FAIL]: 'never-ready' },
    deployment: { progressDeadlineSeconds: 60 },
  }),
  deployment('unpullable', 1, {
    annotations: { [FAIL]: 'image-pull' },
    deployment: { progressDeadlineSeconds: 60 },
  }),
  workload('StatefulSet', 'db', { replicas: 2, serviceName: 'db' }),
  workload('DaemonSet', 'agent', {}),
  workload('Job', 'load', { completions: 2 }, { spec: never }),
  workload('Job', 'bad', { backoffLimit: 1 }, { spec: never, annotations: { [EXIT_CODE]: '1' } }),
  {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'lost' },
    spec: { nodeSelector: { a: 'b' }, containers: [{ name: 'c', image: 'i' }] },
  },
  {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web' },
    spec: { type: 'LoadBalancer', selector: { app: 'web' }, ports: [{ port: 80 }] },
  },
  {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'disk' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '5Gi' } } },
  },
];

describe('a cluster at rest', () => {
  it('[V84] writes nothing, also when the simulator is started anew', async () => {
    const sim = await startSimulation({ nodes: { count: 2 } });
    await sim.create(...everything);
    await sim.runtime.clock.advance(120_000);
    const settled = await sim.revision();
    await sim.runtime.clock.advance(600_000);
    expect(await sim.revision()).toBe(settled);
    await sim.workloads.stop();
    const again = startWorkloads(sim.runtime, sim.client, { nodes: { count: 2 } });
    await sim.now(again.whenSynced());
    await sim.runtime.clock.advance(120_000);
    expect(await sim.revision()).toBe(settled);
    await again.stop();
  });

  it('[V84] leaves alone what users change and it does not own', async () => {
    const sim = await startSimulation();
    await sim.create(...everything);
    await sim.runtime.clock.advance(120_000);
    const settled = await sim.revision();
    const [pod] = await sim.pods('app=web');
    const name = pod?.metadata.name ?? '';
    await sim.now(
      sim.client.patch(known.pods, 'shop', name, 'merge', { metadata: { labels: { mine: 'x' } } }),
    );
    await sim.now(
      sim.client.patch(known.nodes, '', 'node-1', 'merge', { metadata: { labels: { mine: 'x' } } }),
    );
    await sim.now(
      sim.client.patch(known.deployments, 'shop', 'web', 'merge', { metadata: { labels: { mine: 'x' } } }),
    );
    await sim.runtime.clock.advance(1_000);
    const edited = await sim.revision();
    expect(Number(edited)).toBeGreaterThan(Number(settled));
    await sim.runtime.clock.advance(60_000);
    expect(await sim.revision()).toBe(edited);
    for (const [resource, at] of [
      [known.pods, name],
      [known.deployments, 'web'],
    ] as const)
      expect((await get<KubeObject>(sim, resource, at)).metadata.labels?.mine).toBe('x');
    await sim.workloads.stop();
  });

  it('[V86] does not hammer a server that refuses its pods', async () => {
    let refused = 0;
    let statuses = 0;
    const sim = await startSimulation({}, (server) => async (request) => {
      if (request.method === 'PATCH' && request.path.includes('/status')) statuses += 1;
      if (request.method !== 'POST' || !request.path.endsWith('/pods')) return server(request);
      refused += 1;
      const message = `pods "web-${refused}" is forbidden: exceeded quota`;
      return {
        status: 403,
        headers: {},
        body: Buffer.from(JSON.stringify({ kind: 'Status', code: 403, reason: 'Forbidden', message })),
      };
    });
    await sim.create(deployment('web', 50));
    await sim.runtime.clock.advance(1_000);
    const [set] = (await sim.now(sim.client.list<Deployment>(known.deployments, 'shop'))).items;
    expect(set?.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate' }),
    );
    await sim.runtime.clock.advance(10_000);
    const before = statuses;
    await sim.runtime.clock.advance(60_000);
    expect(refused).toBeLessThan(30);
    expect(statuses).toBe(before);
    await sim.workloads.stop();
  });

  it('goes on where it was after the server was away', async () => {
    let down = false;
    const sim = await startSimulation({}, (server) => async (request) => {
      if (down) throw new Error('connection refused');
      return server(request);
    });
    await sim.create(deployment('web', 2));
    await sim.runtime.clock.advance(300);
    down = true;
    await sim.now(sim.client.patch(known.deployments, 'shop', 'web', 'merge', { spec: { replicas: 4 } }));
    await sim.runtime.clock.advance(60_000);
    down = false;
    await sim.runtime.clock.advance(15_000);
    const [web] = (await sim.now(sim.client.list<Deployment>(known.deployments, 'shop'))).items;
    expect(web?.status).toMatchObject({ replicas: 4, availableReplicas: 4 });
    await sim.workloads.stop();
  });

  it('is empty again when its namespace is deleted', async () => {
    const sim = await startSimulation();
    await sim.create(...everything);
    await sim.runtime.clock.advance(10_000);
    await sim.now(sim.client.delete(known.namespaces, '', 'shop'));
    await sim.runtime.clock.advance(20_000);
    await expect(sim.now(sim.client.get(known.namespaces, '', 'shop'))).rejects.toMatchObject({ code: 404 });
    expect((await sim.now(sim.client.list(known.persistentVolumes, ''))).items).toEqual([]);
    await sim.workloads.stop();
  });
});
