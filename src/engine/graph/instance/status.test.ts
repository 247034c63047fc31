// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import type { Condition, KubeObject } from '../../../kube/object.ts';
import { compiled } from '../graph.fixture.ts';
import { type InstanceStep, instanceStatus, stepInstance } from './index.ts';
import { cluster, instance, owner, states, WEB } from './instance.fixture.ts';

describe('status', () => {
  const now = Date.parse('2026-01-01T00:00:00Z');

  it('[R49] has the fields that can be resolved, which disappear again', () => {
    const graph = compiled(WEB);
    const world = cluster();
    const one = instance({ name: 'cart', replicas: 1, extra: false });
    const fields = (): object => {
      const step = stepInstance(graph, one, world.observed, { owner });
      const {
        state: _state,
        conditions: _conditions,
        ...rest
      } = instanceStatus({ instance: one, now, graph, step }).status;
      world.apply(step);
      return rest;
    };
    expect(fields()).toEqual({ spec: 'cart' });
    const [web] = world.all();
    world.put({ ...(web as KubeObject), status: { availableReplicas: 1 } });
    fields();
    expect(fields()).toEqual({ spec: 'cart', available: 1, where: 'at cart' });
    world.put({ ...(world.all()[0] as KubeObject), status: {} });
    expect(fields()).toEqual({ spec: 'cart' });
  });

  it('holds its expressions to the same limit of cost as all others', () => {
    const graph = compiled(
      `schema:
  spec: {name: string}
  status: {all: '\${[1, 2, 3, 4, 5, 6, 7, 8].map(a, [1, 2, 3, 4].map(b, a + b + size(web.metadata.name))).size()}'}
resources:
- id: web
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}`,
    );
    const world = cluster();
    const one = instance({ name: 'cart' });
    world.apply(stepInstance(graph, one, world.observed, { owner }));
    const told = (costLimit?: number): ReturnType<typeof instanceStatus> => {
      const step = stepInstance(graph, one, world.observed, { owner });
      return instanceStatus({
        instance: one,
        now,
        graph,
        step,
        ...(costLimit !== undefined && { costLimit }),
      });
    };
    expect(told().status['all']).toBe(8);
    expect(told(50).status['all']).toBeUndefined();
    expect(told(50).problems.join()).toContain('cost limit exceeded');
  });

  it('says what is open, the worst first, and keeps the time of a transition', () => {
    const graph = compiled(WEB);
    const world = cluster();
    const one = instance({ name: 'cart', replicas: 1, extra: false });
    const step = stepInstance(graph, one, world.observed, { owner });
    const first = instanceStatus({ instance: one, now, graph, step });
    expect(first.state).toBe('IN_PROGRESS');
    const message = 'web: Deployment shop/cart is about to be applied; config: waits for node web';
    expect(first.status['conditions']).toEqual([
      {
        type: 'Ready',
        status: 'False',
        reason: 'NotReady',
        message,
        observedGeneration: 3,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'InstanceManaged',
        status: 'True',
        reason: 'Managed',
        message: 'finalizer and labels are set',
        observedGeneration: 3,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'GraphResolved',
        status: 'True',
        reason: 'Resolved',
        message: 'the graph is known',
        observedGeneration: 3,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
      {
        type: 'ResourcesReady',
        status: 'False',
        reason: 'NotReady',
        message,
        observedGeneration: 3,
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ]);
    const again = instanceStatus({
      instance: { ...one, status: first.status },
      now: now + 5000,
      graph,
      step,
    });
    expect(again).toEqual(first);
    const unresolved = instanceStatus({ instance: one, now, unresolved: 'there is no revision 3' });
    expect([unresolved.state, unresolved.status['conditions']]).toEqual([
      'ERROR',
      expect.arrayContaining([expect.objectContaining({ type: 'Ready', reason: 'ResolutionFailed' })]),
    ]);
    const deleting = instanceStatus({ instance: one, now, deleting: 'waits for ConfigMap shop/a', graph });
    expect(deleting.state).toBe('DELETING');
  });

  it('[R89] has conditions that depend on each other, with reasons and the generation they are of', () => {
    const graph = compiled(WEB);
    const world = cluster();
    const one = instance({ name: 'cart', replicas: 1, extra: false });
    type Given = Partial<Parameters<typeof instanceStatus>[0]>;
    const step = stepInstance(graph, one, world.observed, { owner });
    const shown = (input: Given): string =>
      (instanceStatus({ instance: one, now, graph, ...input }).status['conditions'] as unknown as Condition[])
        .map((item) => {
          expect(item.observedGeneration).toBe(3);
          return `${item.type}=${item.status}/${item.reason}`;
        })
        .join(' ');
    const good = 'InstanceManaged=True/Managed GraphResolved=True/Resolved';
    expect(shown({ step })).toBe(`Ready=False/NotReady ${good} ResourcesReady=False/NotReady`);
    expect(shown({ suspended: true })).toBe(
      `Ready=False/ReconciliationSuspended ${good} ResourcesReady=False/ReconciliationSuspended`,
    );
    expect(shown({ deleting: 'waits' })).toBe(
      `Ready=Unknown/UnderDeletion ${good} ResourcesReady=Unknown/UnderDeletion`,
    );
    expect(shown({ unmanaged: 'the inventory was changed' })).toContain(
      'Ready=False/ManagementFailed InstanceManaged=False/ManagementFailed',
    );
    const { graph: _none, ...unresolved } = { graph, unresolved: 'there is no revision 3' };
    expect(
      (
        instanceStatus({ instance: one, now, ...unresolved }).status['conditions'] as unknown as Condition[]
      ).map(({ type, reason }) => `${type}/${reason}`),
    ).toEqual([
      'Ready/ResolutionFailed',
      'InstanceManaged/Managed',
      'GraphResolved/ResolutionFailed',
      'ResourcesReady/Unknown',
    ]);
    const ready = { ...step, ready: true };
    expect(shown({ step: ready })).toBe(`Ready=True/Ready ${good} ResourcesReady=True/AllResourcesReady`);
    const gone = { ...step, nodes: step.nodes.map((node) => ({ ...node, state: 'DELETING' as const })) };
    expect(shown({ step: gone })).toContain('ResourcesReady=False/ResourceDeleting');
    // Of several that are False the one that became so last is told.
    const first = instanceStatus({ instance: one, now, graph, step });
    const later = instanceStatus({
      instance: { ...one, status: first.status },
      now: now + 60_000,
      graph,
      step,
      unmanaged: 'the inventory was changed',
    });
    expect((later.status['conditions'] as unknown as Condition[])[0]).toMatchObject({
      type: 'Ready',
      reason: 'ManagementFailed',
    });
  });

  it('[R90] has the conditions of the author instead of the usual ones', () => {
    const graph = compiled(`
schema:
  spec: {name: string}
  status:
    conditions:
    - "\${runtime.newCondition({type: 'Up', status: runtime.condition(schema, 'Ready').status, message: 'for ' + schema.spec.name})}"
    - "\${runtime.newCondition({type: 'Web', status: web.status.availableReplicas > 0 ? 'True' : 'False'})}"
    - "\${runtime.newCondition({type: schema.spec.name, status: 'True'})}"
resources:
- id: web
  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`);
    const world = cluster();
    const one = instance({ name: 'other' });
    const status = (of: KubeObject, time: number) => {
      const step = stepInstance(graph, of, world.observed, { owner });
      world.apply(step);
      return instanceStatus({ instance: of, now: time, graph, step });
    };
    const short = ({ status: { conditions } }: ReturnType<typeof status>): string[] =>
      (
        conditions as unknown as {
          type: string;
          status: string;
          message?: string;
          lastTransitionTime: string;
        }[]
      ).map((item) => `${item.type}=${item.status} ${item.message ?? ''} ${item.lastTransitionTime}`);
    const first = status(one, now);
    expect(short(first)).toEqual([
      'Up=False for other 2026-01-01T00:00:00Z',
      'other=True  2026-01-01T00:00:00Z',
    ]);
    world.put({ ...(world.all()[0] as KubeObject), status: { availableReplicas: 1 } });
    const second = status({ ...one, status: first.status }, now + 60_000);
    expect(short(second)).toEqual([
      'Up=True for other 2026-01-01T00:01:00Z',
      'Web=True  2026-01-01T00:01:00Z',
      'other=True  2026-01-01T00:00:00Z',
    ]);
    expect(second.state).toBe('ACTIVE');
    // What an expression waits for does not take its condition away.
    world.put({ ...(world.all()[0] as KubeObject), status: {} });
    expect(short(status({ ...one, status: second.status }, now + 120_000))).toContain(
      'Web=True  2026-01-01T00:01:00Z',
    );
    const duplicated = status(instance({ name: 'Up' }), now);
    expect(duplicated.state).toBe('ERROR');
    expect(duplicated.problems).toEqual(['status.conditions: a condition "Up" is given 2 times']);
    expect(short(duplicated)).toEqual([]);
    // Where both were there before, they stay what they were.
    const later = status({ ...instance({ name: 'Up' }), status: second.status }, now + 120_000);
    expect(short(later)).toContain('Up=True for other 2026-01-01T00:01:00Z');
  });

  it('[R90] has as many conditions as an expression gives, without reasons that nobody gave', () => {
    const graph = compiled(`
schema:
  spec: {names: "[]string", bad: string}
  status:
    conditions:
    - "\${schema.spec.names.map(n, runtime.newCondition({type: n, status: web.status.availableReplicas > 0 ? 'True' : 'False'}))}"
    - "\${runtime.newCondition({type: 'Fixed', status: schema.spec.bad, reason: 'Said'})}"
resources:
- id: web
  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}
`);
    const world = cluster();
    const conditions = (spec: object, before: object = {}): ReturnType<typeof instanceStatus> => {
      const one = { ...instance(spec, { generation: 4 }), status: before };
      const step = stepInstance(graph, one, world.observed, { owner });
      world.apply(step);
      return instanceStatus({ instance: one, now, graph, step });
    };
    const lastTransitionTime = '2026-01-01T00:00:00Z';
    const spec = { names: ['A', 'B'], bad: 'True' };
    conditions(spec);
    world.put({ ...(world.all()[0] as KubeObject), status: { availableReplicas: 1 } });
    const good = conditions(spec);
    expect(good.status['conditions']).toEqual([
      { type: 'A', status: 'True', observedGeneration: 4, lastTransitionTime },
      { type: 'B', status: 'True', observedGeneration: 4, lastTransitionTime },
      { type: 'Fixed', status: 'True', reason: 'Said', observedGeneration: 4, lastTransitionTime },
    ]);
    // What waits, and what fails, stays as it was: also conditions whose types only an expression knows.
    world.put({ ...(world.all()[0] as KubeObject), status: {} });
    const open = conditions({ ...spec, bad: 'Perhaps' }, good.status);
    expect(open.status['conditions']).toEqual(
      expect.arrayContaining(good.status['conditions'] as unknown as object[]),
    );
    expect([open.state, open.problems]).toEqual([
      'ERROR',
      [expect.stringContaining('status must be True, False or Unknown')],
    ]);
    expect(conditions({ names: ['A', 'A'], bad: 'True' }).status['conditions']).toHaveLength(1);
    // What the engine said when there was no graph does not count among them.
    const ready = { type: 'Ready', status: 'True', reason: 'Ready', message: '', lastTransitionTime };
    expect(conditions(spec, { conditions: [ready] }).status['conditions']).toMatchObject([{ type: 'Fixed' }]);
  });

  it('an instance that is being deleted goes on to say what it said, and what is waited for', () => {
    const graph = compiled(WEB);
    const world = cluster();
    const one = instance({ name: 'cart', replicas: 1, extra: false });
    const step = stepInstance(graph, one, world.observed, { owner });
    const before = instanceStatus({ instance: one, now, graph, step }).status;
    const leaving = (status: object): Record<string, unknown> =>
      instanceStatus({ instance: { ...one, status }, now: now + 60_000, deleting: 'waits for cart' }).status;
    const told = leaving(before);
    expect([told['spec'], told['state']]).toEqual(['cart', 'DELETING']);
    expect(
      (told['conditions'] as Condition[]).map(({ type, status, reason }) => [type, status, reason]),
    ).toEqual([
      ['Ready', 'Unknown', 'UnderDeletion'],
      ['InstanceManaged', 'True', 'Managed'],
      ['GraphResolved', 'True', 'Resolved'],
      ['ResourcesReady', 'Unknown', 'UnderDeletion'],
    ]);
    const own = {
      type: 'Up',
      status: 'True',
      reason: 'Mine',
      message: '',
      lastTransitionTime: '2026-01-01T00:00:00Z',
    };
    const authors = leaving({ conditions: [own] })['conditions'] as Condition[];
    expect(authors[0]).toEqual(own);
    expect(authors.slice(1)).toMatchObject([
      { type: 'ResourcesReady', reason: 'UnderDeletion', message: 'waits for cart' },
    ]);
    expect(leaving({ conditions: authors })['conditions']).toHaveLength(2);
  });
});

it('[R91] an instance and its nodes have the states that are agreed upon', () => {
  const graph = compiled(`
schema: {spec: {zero: integer, shown: boolean}}
resources:
- id: out
  includeWhen: ["\${schema.spec.shown}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: out}}
- id: good
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: good}}
- id: slow
  readyWhen: ["\${slow.data['x'] == 'y'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: slow}}
- id: behind
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${slow.metadata.name}-2"}}
- id: bad
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {v: "\${string(1 / schema.spec.zero)}"}}
`);
  const world = cluster();
  const one = instance({ zero: 0, shown: false });
  const look = (): InstanceStep => stepInstance(graph, one, world.observed, { owner });
  world.apply(look());
  expect(states(look())).toBe(
    'out=SKIPPED good=SYNCED slow=WAITING_FOR_READINESS behind=IN_PROGRESS bad=ERROR',
  );
  const step = look();
  world.put({
    ...(world.all()[0] as KubeObject),
    metadata: { name: 'good', namespace: 'shop', deletionTimestamp: 'now' },
  });
  expect(states(look())).toContain('good=DELETING');
  const stateWith = (input: object): string =>
    instanceStatus({ instance: one, now: 0, graph, ...input }).state;
  expect(
    [
      { step },
      { step: { ...step, nodes: [] } },
      { step: { ...step, nodes: [], ready: true } },
      { step, deleting: 'waits' },
    ].map(stateWith),
  ).toEqual(['ERROR', 'IN_PROGRESS', 'ACTIVE', 'DELETING']);
});
