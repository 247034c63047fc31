import { describe, expect, it } from 'vitest';
import * as known from '../../kube/well-known.ts';
import type { Node, Pod } from './kinds.ts';
import { EXIT_CODE, FAIL, parseDuration, RUN_FOR, START_DELAY } from './simulation.ts';
import { type Simulation, startSimulation } from './workloads.fixture.ts';

function pod(name: string, annotations: Record<string, string> = {}, spec: object = {}): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations },
    spec: { containers: [{ name: 'main', image: 'shop/app:1' }], ...spec },
  };
}

const get = (sim: Simulation, name: string): Promise<Pod> =>
  sim.now(sim.client.get<Pod>(known.pods, 'shop', name));

const waiting = async (sim: Simulation, name: string): Promise<string | undefined> =>
  (await get(sim, name)).status?.containerStatuses?.[0]?.state.waiting?.reason;

const condition = (object: Pod | Node, type: string): string | undefined =>
  object.status?.conditions?.find((each) => each.type === type)?.status;

const annotate = (
  sim: Simulation,
  name: string,
  annotations: Record<string, string | null>,
): Promise<unknown> =>
  sim.now(sim.client.patch(known.pods, 'shop', name, 'merge', { metadata: { annotations } }));

describe('pods', () => {
  it('[V84] go from Pending over ContainerCreating to Running and Ready', async () => {
    const sim = await startSimulation({ nodes: { zones: ['a', 'b'], region: 'r' } });
    await sim.create(pod('p'));
    await sim.runtime.clock.advance(1);
    expect(await waiting(sim, 'p')).toBe('ContainerCreating');
    await sim.runtime.clock.advance(700);
    const { status, spec } = await get(sim, 'p');
    expect(status).toMatchObject({ phase: 'Running', hostIP: '10.10.0.2', podIP: '10.244.0.1' });
    expect(status?.containerStatuses?.[0]).toMatchObject({
      name: 'main',
      ready: true,
      started: true,
      restartCount: 0,
      image: 'shop/app:1',
    });
    expect(status?.containerStatuses?.[0]?.containerID).toMatch(/^containerd:\/\/[0-9a-f]{64}$/);
    for (const type of ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'])
      expect(condition(await get(sim, 'p'), type)).toBe('True');
    const node = await sim.now(sim.client.get<Node>(known.nodes, '', spec.nodeName ?? ''));
    expect(node.metadata.labels).toMatchObject({
      'topology.kubernetes.io/zone': 'a',
      'topology.kubernetes.io/region': 'r',
    });
    expect((node.status as { nodeInfo: object }).nodeInfo).toMatchObject({
      kubeletVersion: (await sim.now(sim.client.getJson<{ gitVersion: string }>('/version'))).gitVersion,
      osImage: 'Atoll simulated node',
    });
    await sim.workloads.stop();
  });

  it('have an address that a Service can have endpoints at, on a node that tells none', async () => {
    const sim = await startSimulation({ nodes: { count: 0 } });
    await sim.create({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: 'bare' },
      status: { addresses: [] },
    });
    await sim.create(pod('p', {}, { hostNetwork: true }));
    await sim.runtime.clock.advance(2_000);
    const { status } = await get(sim, 'p');
    expect(status?.podIP).toMatch(/^10\./);
    expect(status?.hostIP).toBe(status?.podIP);
    await sim.workloads.stop();
  });

  it('[V84] run init containers one after the other, sidecars beside them', async () => {
    const sim = await startSimulation();
    await sim.create(
      pod(
        'p',
        {},
        {
          initContainers: [
            { name: 'one', image: 'i' },
            { name: 'side', image: 'i', restartPolicy: 'Always' },
            { name: 'two', image: 'i' },
          ],
        },
      ),
    );
    await sim.runtime.clock.advance(30);
    expect(condition(await get(sim, 'p'), 'Initialized')).toBe('False');
    await sim.runtime.clock.advance(2_000);
    const { status } = await get(sim, 'p');
    expect(status?.phase).toBe('Running');
    expect(status?.initContainerStatuses?.map((each) => Object.keys(each.state)[0])).toEqual([
      'terminated',
      'running',
      'terminated',
    ]);
    await sim.workloads.stop();
  });

  it('[V84] are gone soon after they are deleted, whatever their grace', async () => {
    const sim = await startSimulation();
    await sim.create(pod('p'));
    await sim.runtime.clock.advance(1_000);
    await sim.now(sim.client.delete(known.pods, 'shop', 'p'));
    expect((await get(sim, 'p')).metadata.deletionTimestamp).toBeDefined();
    await sim.runtime.clock.advance(200);
    expect(await sim.pods()).toEqual([]);
    await sim.workloads.stop();
  });

  it('[V86] start later when asked to', async () => {
    const sim = await startSimulation();
    await sim.create(pod('p', { [START_DELAY]: '5s' }));
    await sim.runtime.clock.advance(4_900);
    expect((await get(sim, 'p')).status?.phase).toBe('Pending');
    await sim.runtime.clock.advance(200);
    expect((await get(sim, 'p')).status?.phase).toBe('Running');
    await sim.workloads.stop();
  });

  it('[V86] fail to pull their image until healed', async () => {
    const sim = await startSimulation();
    await sim.create(pod('p', { [FAIL]: 'image-pull' }));
    await sim.runtime.clock.advance(650);
    expect(await waiting(sim, 'p')).toBe('ErrImagePull');
    await sim.runtime.clock.advance(60_000);
    expect(await waiting(sim, 'p')).toBe('ImagePullBackOff');
    await annotate(sim, 'p', { [FAIL]: null });
    await sim.runtime.clock.advance(1_000);
    expect(condition(await get(sim, 'p'), 'Ready')).toBe('True');
    await sim.workloads.stop();
  });

  it('[V86] crash in a loop with growing delays until healed', async () => {
    const sim = await startSimulation();
    await sim.create(pod('p', { [FAIL]: 'crash-loop', [EXIT_CODE]: '42' }));
    await sim.runtime.clock.advance(2_000);
    expect(await waiting(sim, 'p')).toBe('CrashLoopBackOff');
    await sim.runtime.clock.advance(60_000);
    const crashed = (await get(sim, 'p')).status?.containerStatuses?.[0];
    expect(crashed?.restartCount).toBe(2);
    expect(crashed?.lastState?.terminated).toMatchObject({ exitCode: 42, reason: 'Error' });
    expect(condition(await get(sim, 'p'), 'Ready')).toBe('False');
    await annotate(sim, 'p', { [FAIL]: null, [EXIT_CODE]: null });
    await sim.runtime.clock.advance(1_000);
    expect(condition(await get(sim, 'p'), 'Ready')).toBe('True');
    await sim.workloads.stop();
  });

  it('[V86] run without ever being ready, or until their time is over', async () => {
    const sim = await startSimulation();
    await sim.create(
      pod('never', { [FAIL]: 'never-ready' }),
      pod('ends', { [RUN_FOR]: '10s', [EXIT_CODE]: '3' }, { restartPolicy: 'Never' }),
      pod('fine', { [RUN_FOR]: '10s' }, { restartPolicy: 'OnFailure' }),
    );
    await sim.runtime.clock.advance(9_000);
    expect((await get(sim, 'ends')).status?.phase).toBe('Running');
    await sim.runtime.clock.advance(3_000);
    expect((await get(sim, 'ends')).status).toMatchObject({
      phase: 'Failed',
      containerStatuses: [{ state: { terminated: { exitCode: 3, reason: 'Error' } } }],
    });
    expect((await get(sim, 'fine')).status?.phase).toBe('Succeeded');
    const never = await get(sim, 'never');
    expect([never.status?.phase, condition(never, 'Ready')]).toEqual(['Running', 'False']);
    await sim.workloads.stop();
  });

  it('restart with a new image when it is changed in place', async () => {
    const sim = await startSimulation();
    await sim.create(pod('p'));
    await sim.runtime.clock.advance(1_000);
    await sim.now(
      sim.client.patch(known.pods, 'shop', 'p', 'strategic', {
        spec: { containers: [{ name: 'main', image: 'shop/app:2' }] },
      }),
    );
    await sim.runtime.clock.advance(1_000);
    expect((await get(sim, 'p')).status?.containerStatuses?.[0]).toMatchObject({
      image: 'shop/app:2',
      restartCount: 1,
      ready: true,
    });
    await sim.workloads.stop();
  });
});

describe('nodes', () => {
  it('[V86] become NotReady with their pods when asked to, and come back', async () => {
    const sim = await startSimulation({ nodes: { count: 2 } });
    await sim.create(pod('p'), pod('q'));
    await sim.runtime.clock.advance(1_000);
    const bad = (await get(sim, 'p')).spec.nodeName ?? '';
    const mark = (value: string | null): Promise<unknown> =>
      sim.now(
        sim.client.patch(known.nodes, '', bad, 'merge', { metadata: { annotations: { [FAIL]: value } } }),
      );
    await mark('not-ready');
    await sim.runtime.clock.advance(100);
    const node = await sim.now(sim.client.get<Node>(known.nodes, '', bad));
    expect(condition(node, 'Ready')).toBe('False');
    expect(condition(await get(sim, 'p'), 'Ready')).toBe('False');
    expect(condition(await get(sim, 'q'), 'Ready')).toBe('True');
    await sim.create(pod('r'));
    await sim.runtime.clock.advance(1_000);
    expect((await get(sim, 'r')).spec.nodeName).not.toBe(bad);
    await mark(null);
    await sim.runtime.clock.advance(100);
    expect(condition(await get(sim, 'p'), 'Ready')).toBe('True');
    await sim.workloads.stop();
  });

  it('take their pods with them when they are deleted', async () => {
    const sim = await startSimulation();
    await sim.create(pod('p'));
    await sim.runtime.clock.advance(1_000);
    await sim.now(sim.client.delete(known.nodes, '', 'node-1'));
    await sim.runtime.clock.advance(3_000);
    expect(await sim.pods()).toEqual([]);
    await sim.workloads.stop();
  });
});

describe('the scheduler', () => {
  const why = (each: Pod): unknown => each.status?.conditions?.find(({ type }) => type === 'PodScheduled');

  it('[V84] says why a pod fits nowhere, and places it when it does', async () => {
    const sim = await startSimulation({ nodes: { count: 2, cpu: '1', memory: '1Gi' } });
    const big = { containers: [{ name: 'main', image: 'i', resources: { requests: { cpu: '800m' } } }] };
    await sim.create(pod('a', {}, big), pod('b', {}, big), pod('c', {}, big));
    await sim.create(pod('gpu', {}, { nodeSelector: { gpu: 'yes' } }));
    await sim.runtime.clock.advance(2_000);
    const [a, b, c, gpu] = await Promise.all(['a', 'b', 'c', 'gpu'].map((name) => get(sim, name)));
    expect(a?.spec.nodeName).not.toBe(b?.spec.nodeName);
    expect(why(c as Pod)).toMatchObject({
      status: 'False',
      reason: 'Unschedulable',
      message: '0/2 nodes are available: 2 Insufficient cpu.',
    });
    expect(why(gpu as Pod)).toMatchObject({
      message: "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    });
    await sim.now(sim.client.delete(known.pods, 'shop', 'a'));
    await sim.now(
      sim.client.patch(known.nodes, '', 'node-2', 'merge', { metadata: { labels: { gpu: 'yes' } } }),
    );
    await sim.runtime.clock.advance(2_000);
    expect(condition(await get(sim, 'c'), 'Ready')).toBe('True');
    expect((await get(sim, 'gpu')).spec.nodeName).toBe('node-2');
    await sim.workloads.stop();
  });

  it('[V84] keeps off cordoned and tainted nodes', async () => {
    const sim = await startSimulation({ nodes: { count: 3 } });
    await sim.now(sim.client.patch(known.nodes, '', 'node-1', 'merge', { spec: { unschedulable: true } }));
    await sim.now(
      sim.client.patch(known.nodes, '', 'node-2', 'merge', {
        spec: { taints: [{ key: 'only', value: 'db', effect: 'NoSchedule' }] },
      }),
    );
    const tolerations = [{ key: 'only', operator: 'Equal', value: 'db', effect: 'NoSchedule' }];
    for (let i = 0; i < 4; i++) await sim.create(pod(`plain-${i}`), pod(`db-${i}`, {}, { tolerations }));
    await sim.runtime.clock.advance(2_000);
    const nodesOf = async (prefix: string): Promise<string[]> =>
      [
        ...new Set(
          (await sim.pods())
            .filter((each) => each.metadata.name?.startsWith(prefix))
            .map((each) => (each as Pod).spec.nodeName ?? ''),
        ),
      ].sort();
    expect(await nodesOf('plain')).toEqual(['node-3']);
    expect(await nodesOf('db')).toContain('node-2');
    expect(await nodesOf('db')).not.toContain('node-1');
    await sim.workloads.stop();
  });
});

it('reads durations', () => {
  expect(['5s', '300ms', '1m30s', '2', '1.5s', 'x', '', '5 s', '-1s'].map(parseDuration)).toEqual([
    5_000,
    300,
    90_000,
    2_000,
    1_500,
    undefined,
    undefined,
    undefined,
    undefined,
  ]);
});
