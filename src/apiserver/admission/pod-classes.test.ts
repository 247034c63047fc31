import { describe, expect, it } from 'vitest';
import { startServer } from '../server.fixture.ts';

const PODS = '/api/v1/namespaces/default/pods';
const PRIORITIES = '/apis/scheduling.k8s.io/v1/priorityclasses';
const RUNTIMES = '/apis/node.k8s.io/v1/runtimeclasses';

function pod(name: string, spec: object = {}): object {
  return { metadata: { name }, spec: { containers: [{ name: 'a', image: 'i' }], ...spec } };
}

describe('priorities of pods', () => {
  it('are those of their classes', async () => {
    const { post } = await startServer();
    await post(PRIORITIES, { metadata: { name: 'high' }, value: 7, preemptionPolicy: 'Never' });
    const { spec } = (await post(PODS, pod('p', { priorityClassName: 'high' }))).body;
    expect(spec).toMatchObject({ priority: 7, preemptionPolicy: 'Never', priorityClassName: 'high' });
    const system = await post(PODS, pod('s', { priorityClassName: 'system-node-critical' }));
    expect(system.body.spec.priority).toBe(2_000_001_000);
  });

  it('are zero without a class, or those of the default class, of which there is one', async () => {
    const { post } = await startServer();
    expect((await post(PODS, pod('a'))).body.spec).toMatchObject({
      priority: 0,
      preemptionPolicy: 'PreemptLowerPriority',
    });
    await post(PRIORITIES, { metadata: { name: 'many' }, value: 9, globalDefault: true });
    const second = await post(PRIORITIES, { metadata: { name: 'few' }, value: 3, globalDefault: true });
    expect([second.status, second.body.message]).toEqual([
      403,
      'priorityclasses.scheduling.k8s.io "few" is forbidden: PriorityClass many is already marked as default. Only one default can exist',
    ]);
    expect((await post(PODS, pod('b'))).body.spec).toMatchObject({ priority: 9, priorityClassName: 'many' });
  });

  it('are not for the client to say, and classes must exist', async () => {
    const { post } = await startServer();
    const messages = async (spec: object): Promise<unknown> => {
      const { status, body } = await post(PODS, pod('p', spec));
      return [status, body.message];
    };
    expect(await messages({ priorityClassName: 'none' })).toEqual([
      403,
      'pods "p" is forbidden: no PriorityClass with name none was found',
    ]);
    expect(await messages({ priority: 5 })).toEqual([
      403,
      'pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    ]);
    expect(await messages({ preemptionPolicy: 'Never' })).toEqual([
      403,
      'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
    ]);
  });
});

describe('runtime classes of pods', () => {
  it('give what pods cost and where they go', async () => {
    const { post } = await startServer();
    await post(RUNTIMES, {
      metadata: { name: 'vm' },
      handler: 'vm',
      overhead: { podFixed: { cpu: '10m' } },
      scheduling: {
        nodeSelector: { vm: 'yes' },
        tolerations: [{ key: 'vm', operator: 'Exists' }],
      },
    });
    const { spec } = (await post(PODS, pod('p', { runtimeClassName: 'vm', nodeSelector: { disk: 'ssd' } })))
      .body;
    expect(spec).toMatchObject({ overhead: { cpu: '10m' }, nodeSelector: { disk: 'ssd', vm: 'yes' } });
    expect(spec.tolerations).toContainEqual({ key: 'vm', operator: 'Exists' });
    const conflict = await post(PODS, pod('q', { runtimeClassName: 'vm', nodeSelector: { vm: 'no' } }));
    expect([conflict.status, conflict.body.message]).toEqual([
      403,
      'pods "q" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[vm] = yes; pod.spec.nodeSelector[vm] = no',
    ]);
  });

  it('must exist, and overhead is theirs alone', async () => {
    const { post } = await startServer();
    const absent = await post(PODS, pod('p', { runtimeClassName: 'none' }));
    expect([absent.status, absent.body.message]).toEqual([
      403,
      'pods "p" is forbidden: pod rejected: RuntimeClass "none" not found',
    ]);
    const own = await post(PODS, pod('p', { overhead: { cpu: '1' } }));
    expect([own.status, own.body.message]).toEqual([
      403,
      'pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
    ]);
  });
});
