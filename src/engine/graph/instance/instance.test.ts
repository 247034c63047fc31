// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import {
  type Condition,
  type KubeObject,
  type ObjectRef,
  refKey,
  refOf,
  refText,
} from '../../../kube/object.ts';
import { compiled, wrong } from '../graph.fixture.ts';
import {
  ANNOTATIONS,
  applySetId,
  covers,
  type InstanceStep,
  instanceStatus,
  inventoryMarks,
  LABELS,
  type Observed,
  observedObjects,
  pruneWaves,
  readInventory,
  reasonText,
  renderInstance,
  stepDeletion,
  stepInstance,
} from './index.ts';

const owner = { name: 'shop', uid: 'graph-uid', version: '0.0.0' };

function instance(spec: object, more: object = {}): KubeObject {
  return {
    apiVersion: 'kro.run/v1',
    kind: 'Test',
    metadata: { name: 'one', namespace: 'shop', uid: 'uid-1', generation: 3, ...more },
    spec,
  };
}

/** A cluster in memory, to which steps are applied. */
function cluster(...objects: KubeObject[]) {
  const stored = new Map<string, KubeObject>();
  const digests = new Map<string, string>();
  const put = (object: KubeObject): void => {
    const key = refKey(refOf(object));
    const before = stored.get(key);
    stored.set(key, {
      ...before,
      ...object,
      metadata: { uid: `uid-of-${object.metadata.name}`, ...object.metadata },
    });
  };
  objects.forEach(put);
  const observed: Observed = {
    ...observedObjects([]),
    object: (ref) => stored.get(refKey(ref)) ?? null,
    selected: (query) => observedObjects(stored.values()).selected(query),
    applied: (ref) => digests.get(refKey(ref)),
  };
  return {
    observed,
    put,
    all: () => [...stored.values()],
    delete: (ref: ObjectRef) => stored.delete(refKey(ref)),
    apply: (step: InstanceStep): string[] => {
      const changed = step.objects.filter(({ ref, digest }) => digests.get(refKey(ref)) !== digest);
      for (const { ref, object, digest } of changed) {
        put(object);
        digests.set(refKey(ref), digest);
      }
      return changed.map(({ ref }) => refText(ref));
    },
  };
}

const states = (step: InstanceStep): string => step.nodes.map(({ id, state }) => `${id}=${state}`).join(' ');
const reasons = (step: InstanceStep): string =>
  step.nodes.flatMap((node) => node.reasons.map((reason) => `${node.id}: ${reasonText(reason)}`)).join('\n');

const WEB = `
schema: {spec: {name: string, replicas: integer, extra: boolean}, status: {available: "\${web.status.availableReplicas}", where: "at \${config.metadata.name}", spec: "\${schema.spec.name}"}}
resources:
- id: config
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${schema.spec.name}"}, data: {available: "\${string(web.status.availableReplicas)}"}}
- id: web
  readyWhen: ["\${web.status.availableReplicas == web.spec.replicas}"]
  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "\${schema.spec.name}"}, spec: {replicas: "\${schema.spec.replicas}"}}
- id: extra
  includeWhen: ["\${schema.spec.extra}"]
  template: {apiVersion: v1, kind: Secret, metadata: {name: x}}
- id: behind
  template: {apiVersion: v1, kind: Secret, metadata: {name: "\${extra.metadata.name}-2"}}
`;

describe('steps', () => {
  it('[R70] dependents wait for readiness, and are told why', () => {
    const graph = compiled(WEB);
    const world = cluster();
    const it1 = instance({ name: 'cart', replicas: 2, extra: false });
    let step = stepInstance(graph, it1, world.observed, { owner });
    expect(states(step)).toBe('web=IN_PROGRESS config=IN_PROGRESS extra=SKIPPED behind=SKIPPED');
    expect(world.apply(step)).toEqual(['Deployment shop/cart']);
    step = stepInstance(graph, it1, world.observed, { owner });
    expect(reasons(step)).toBe(
      [
        'web: Deployment shop/cart is not ready: ${web.status.availableReplicas == web.spec.replicas} is not known (no such key: status)',
        'config: waits for node web to be ready',
        'extra: left out: ${schema.spec.extra} is false',
        'behind: left out with node extra',
      ].join('\n'),
    );
    const [web] = world.all();
    world.put({ ...(web as KubeObject), status: { availableReplicas: 2 } });
    step = stepInstance(graph, it1, world.observed, { owner });
    expect(world.apply(step)).toEqual(['ConfigMap shop/cart']);
    step = stepInstance(graph, it1, world.observed, { owner });
    expect([step.ready, step.settled, world.apply(step)]).toEqual([true, true, []]);
    expect(step.objects.find(({ node }) => node === 'config')?.object['data']).toEqual({ available: '2' });
  });

  it('[R73] independent branches go on while one waits or fails', () => {
    const graph = compiled(`
schema: {spec: {zero: integer}}
resources:
- id: bad
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: bad}, data: {v: "\${string(1 / schema.spec.zero)}"}}
- id: waiting
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: waiting}, data: {v: "\${web.spec.clusterIP}"}}
- id: web
  template: {apiVersion: v1, kind: Service, metadata: {name: web}}
- id: good
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: good}}
`);
    const world = cluster();
    world.apply(stepInstance(graph, instance({ zero: 0 }), world.observed, { owner }));
    const step = stepInstance(graph, instance({ zero: 0 }), world.observed, { owner });
    expect(states(step)).toBe('bad=ERROR web=SYNCED waiting=IN_PROGRESS good=SYNCED');
    expect(reasons(step)).toBe(
      'bad: ${string(1 / schema.spec.zero)} at data.v: division by zero\nwaiting: waits for a value at data.v: ${web.spec.clusterIP}: no such key: spec',
    );
    expect(step.settled).toBe(false);
  });

  it('ask for what was not looked at', () => {
    const graph = compiled(
      'resources: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]',
    );
    const step = stepInstance(
      graph,
      instance({}),
      { object: () => undefined, selected: () => undefined },
      { owner },
    );
    expect(step.reads).toEqual([
      {
        kind: 'Object',
        node: 'a',
        ref: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'a' },
      },
    ]);
  });

  it('mark objects with where they belong', () => {
    const graph = compiled(
      'resources: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, labels: {x: z}}}}]',
    );
    const one = instance({});
    const { object } = stepInstance(graph, one, cluster().observed, { owner }).objects[0] ?? {};
    expect(object?.metadata.labels).toEqual({
      x: 'z',
      'kro.run/owned': 'true',
      'kro.run/kro-version': '0.0.0',
      'kro.run/resource-graph-definition-id': 'graph-uid',
      'kro.run/resource-graph-definition-name': 'shop',
      'app.kubernetes.io/managed-by': 'kro',
      'applyset.kubernetes.io/part-of': applySetId(one),
      'kro.run/node-id': 'a',
      'kro.run/instance-id': 'uid-1',
      'kro.run/instance-name': 'one',
      'kro.run/instance-namespace': 'shop',
      'kro.run/instance-group': 'kro.run',
      'kro.run/instance-version': 'v1',
      'kro.run/instance-kind': 'Test',
    });
    expect(object?.metadata.annotations).toEqual({ 'internal.kro.run/apply-order': '1' });
    expect(applySetId(one)).toMatch(/^applyset-[A-Za-z0-9_-]{43}-v1$/);
  });

  it('[R66] never take an object of another instance, and make none twice', () => {
    const graph = compiled(
      'resources: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}]',
    );
    const other = { ...instance({}), metadata: { name: 'two', namespace: 'shop', uid: 'uid-2' } };
    const world = cluster();
    world.apply(stepInstance(graph, other, world.observed, { owner }));
    const step = stepInstance(graph, instance({}), world.observed, { owner });
    expect([states(step), step.objects, reasons(step)]).toEqual([
      'a=ERROR',
      [],
      'a: ConfigMap shop/a belongs to Test shop/two; nothing is taken away from another instance',
    ]);
    const twice = compiled(
      'resources: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}, {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}}]',
    );
    expect(reasons(stepInstance(twice, instance({}), cluster().observed, { owner }))).toContain(
      'b: node a makes ConfigMap shop/x, too; each object can be made once',
    );
  });

  it('[R69] stop at an object that is being deleted', () => {
    const graph = compiled(
      'resources: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}, {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}]',
    );
    const going: KubeObject = {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name: 'a', namespace: 'shop', deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    const step = stepInstance(graph, instance({}), cluster(going).observed, { owner });
    expect([states(step), step.objects.length, step.settled]).toEqual(['a=DELETING b=IN_PROGRESS', 0, false]);
    const { status } = instanceStatus({ instance: instance({}), now: 0, graph, step });
    expect(status['conditions']).toContainEqual(
      expect.objectContaining({ type: 'ResourcesReady', status: 'False', reason: 'ResourceDeleting' }),
    );
  });

  it('[R35] values of instances are never evaluated', () => {
    const graph = compiled(
      'schema: {spec: {name: string}}\nresources: [{id: a, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: "${schema.spec.name}", w: "-${schema.spec.name}"}}}]',
    );
    const step = stepInstance(graph, instance({ name: '${1 + 1}' }), cluster().observed, { owner });
    expect(step.objects[0]?.object['data']).toEqual({ v: '${1 + 1}', w: '-${1 + 1}' });
  });

  it('leave out what is omitted, keys and elements', () => {
    const graph = compiled(
      `schema: {spec: {flag: boolean}}
resources:
- id: a
  template: {apiVersion: example.com/v1, kind: Free, metadata: {name: a}, spec: {k: "\${schema.spec.flag ? 'x' : omit()}", l: [1, "\${omit()}", "\${omit()}", 2]}}`,
      { omit: true },
    );
    const spec = (flag: boolean): unknown =>
      stepInstance(graph, instance({ flag }), cluster().observed, { owner }).objects[0]?.object['spec'];
    expect([spec(true), spec(false)]).toEqual([{ k: 'x', l: [1, 2] }, { l: [1, 2] }]);
  });
});

describe('collections', () => {
  const graph = compiled(`
schema: {spec: {rows: "[]string", columns: "[]integer"}}
resources:
- id: cells
  forEach: [{row: "\${schema.spec.rows}"}, {column: "\${schema.spec.columns}"}]
  readyWhen: ["\${each.data.size() > 0}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${row}-\${string(column)}"}, data: {v: "\${row}"}}
- id: all
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: all}, data: {names: "\${cells.map(c, c.metadata.name).join(',')}"}}
`);

  it('[R44] are products in which the last dimension varies fastest, up to a size', () => {
    const step = renderInstance(graph, instance({ rows: ['a', 'b'], columns: [1, 2] }), [], { owner });
    expect(step.objects.map(({ ref }) => ref.name)).toEqual(['a-1', 'a-2', 'b-1', 'b-2', 'all']);
    expect(step.objects[1]?.object.metadata.labels).toMatchObject({
      'kro.run/collection-index': '1',
      'kro.run/collection-size': '4',
    });
    const large = stepInstance(graph, instance({ rows: ['a', 'b'], columns: [1, 2] }), cluster().observed, {
      owner,
      maxCollectionSize: 3,
    });
    expect(reasons(large)).toContain('the collection would have 4 objects, at most 3 are allowed');
    const double = stepInstance(graph, instance({ rows: ['a', 'a'], columns: [1] }), cluster().observed, {
      owner,
    });
    expect(reasons(double)).toContain('cells: two items of this collection are ConfigMap shop/a-1, too');
    expect(
      states(stepInstance(graph, instance({ rows: [], columns: [1] }), cluster().observed, { owner })),
    ).toBe('cells=SYNCED all=IN_PROGRESS');
  });

  it('[R45] are lists to other nodes, and ready when each object is', () => {
    const world = cluster();
    const one = instance({ rows: ['a', 'b'], columns: [1] });
    world.apply(stepInstance(graph, one, world.observed, { owner }));
    expect(world.apply(stepInstance(graph, one, world.observed, { owner }))).toEqual(['ConfigMap shop/all']);
    const [first] = world.all();
    world.put({ ...(first as KubeObject), data: {} });
    expect(reasons(stepInstance(graph, one, world.observed, { owner }))).toContain(
      'cells: ConfigMap shop/a-1 is not ready: ${each.data.size() > 0} is false',
    );
    const names = renderInstance(graph, one, [], { owner }).objects.at(-1)?.object['data'];
    expect(names).toEqual({ names: 'a-1,b-1' });
  });
});

describe('what is external', () => {
  const graph = compiled(`
schema: {spec: {team: string}}
resources:
- id: one
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${schema.spec.team}"}}
  readyWhen: ["\${one.data.ok == 'yes'}"]
- id: some
  externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {matchLabels: {team: "\${schema.spec.team}"}}}}
- id: mine
  template: {apiVersion: v1, kind: Secret, metadata: {name: mine}, stringData: {one: "\${one.data.ok}", some: "\${string(some.size())}"}}
`);
  const map = (
    name: string,
    namespace: string,
    labels: Record<string, string>,
    data: object,
  ): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name, namespace, labels },
    data,
  });

  it('by name is waited for, and must be ready', () => {
    const world = cluster();
    expect(reasons(stepInstance(graph, instance({ team: 'red' }), world.observed, { owner }))).toContain(
      'one: ConfigMap shop/red does not exist',
    );
    world.put(map('red', 'shop', {}, { ok: 'no' }));
    expect(states(stepInstance(graph, instance({ team: 'red' }), world.observed, { owner }))).toBe(
      'one=WAITING_FOR_READINESS some=SYNCED mine=IN_PROGRESS',
    );
  });

  it('by selector is a list, of all namespaces where none is given', () => {
    const world = cluster(
      map('red', 'shop', {}, { ok: 'yes' }),
      map('x', 'a', { team: 'red' }, {}),
      map('y', 'b', { team: 'red' }, {}),
      map('z', 'b', { team: 'blue' }, {}),
    );
    const step = stepInstance(graph, instance({ team: 'red' }), world.observed, { owner });
    expect(step.objects.map(({ object }) => object['stringData'])).toEqual([{ one: 'yes', some: '2' }]);
    const every = compiled(
      'resources: [{id: some, externalRef: {apiVersion: v1, kind: ConfigMap, metadata: {selector: {}}}}]',
    );
    expect(stepInstance(every, instance({}), world.observed, { owner }).nodes[0]?.refs).toHaveLength(4);
  });

  it('is never among the objects to apply', () => {
    const world = cluster(map('red', 'shop', {}, { ok: 'yes' }));
    expect(
      stepInstance(graph, instance({ team: 'red' }), world.observed, { owner }).objects.map(
        ({ node }) => node,
      ),
    ).toEqual(['mine']);
  });
});

describe('inventory', () => {
  const graph = compiled(
    'resources: [{id: a, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: a, namespace: other}}}, {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}}]',
  );

  it('covers what was and what will be, and shrinks only afterwards', () => {
    const one = instance({});
    const before = { groupKinds: ['Secret'], namespaces: ['old'] };
    const marks = inventoryMarks(one, before, '0');
    const marked = { ...one, metadata: { ...one.metadata, ...marks } };
    const step = stepInstance(graph, marked, cluster().observed, { owner });
    expect(step.inventory).toEqual({
      groupKinds: ['ConfigMap', 'Deployment.apps', 'Secret'],
      namespaces: ['old', 'other'],
    });
    expect(step.shrunkInventory).toEqual({
      groupKinds: ['ConfigMap', 'Deployment.apps'],
      namespaces: ['other'],
    });
    expect([covers(step.inventory, before), covers(before, step.inventory)]).toEqual([true, false]);
  });

  it('is believed only as it was written', () => {
    const one = instance({});
    const { labels, annotations } = inventoryMarks(one, { groupKinds: ['ConfigMap'], namespaces: [] }, '0');
    const read = (change: object): unknown =>
      readInventory({
        ...one,
        metadata: { ...one.metadata, labels, annotations: { ...annotations, ...change } },
      });
    expect(read({})).toEqual({ kind: 'Read', inventory: { groupKinds: ['ConfigMap'], namespaces: [] } });
    expect(read({ [ANNOTATIONS.groupKinds]: 'Secret' })).toEqual({
      kind: 'Invalid',
      problem:
        'the annotation internal.kro.run/applyset-inventory-hash does not match; the inventory was changed by hand',
    });
    expect(readInventory(one)).toEqual({ kind: 'None' });
    const copied = { ...one, metadata: { ...one.metadata, name: 'copy', labels, annotations } };
    expect(readInventory(copied)).toMatchObject({ kind: 'Invalid' });
  });
});

describe('deletion', () => {
  const member = (name: string, wave: string | undefined, more: object = {}): KubeObject => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: {
      name,
      namespace: 'shop',
      uid: `uid-${name}`,
      labels: { [LABELS.nodeId]: name },
      ...(wave && { annotations: { [ANNOTATIONS.applyOrder]: wave } }),
      ...more,
    },
  });

  it('goes wave by wave from the highest, without a graph; what says no wave goes last', () => {
    const all = [member('a', '1'), member('b', '2'), member('c', '10'), member('d', undefined)];
    const order: string[][] = [];
    let left = all;
    while (left.length > 0) {
      const step = stepDeletion(left);
      order.push(step.delete.map(({ ref }) => ref.name));
      left = left.filter((object) => !step.delete.some(({ uid }) => uid === object.metadata.uid));
    }
    expect(order).toEqual([['c'], ['b'], ['a'], ['d']]);
    expect(stepDeletion([]).done).toBe(true);
  });

  it('waits until the objects of a wave are gone', () => {
    const going = member('b', '2', { deletionTimestamp: '2026-01-01T00:00:00Z' });
    expect(stepDeletion([member('a', '1'), going])).toMatchObject({
      delete: [],
      waiting: [{ name: 'b' }],
      done: false,
    });
  });

  it('of what is desired no longer waits until all is known', () => {
    const graph = compiled(
      'schema: {spec: {flag: boolean}}\nresources: [{id: a, includeWhen: ["${schema.spec.flag}"], template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}}, {id: b, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${a.metadata.name}b"}}}, {id: c, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}}]',
    );
    const world = cluster();
    for (let round = 0; round < 3; round++)
      world.apply(stepInstance(graph, instance({ flag: true }), world.observed, { owner }));
    const stranger = member('gone', '7');
    const step = stepInstance(graph, instance({ flag: false }), world.observed, { owner });
    expect(
      pruneWaves(graph, step, [...world.all(), stranger]).map((wave) =>
        wave.map(({ ref, uid }) => [ref.name, uid]),
      ),
    ).toEqual([[['gone', 'uid-gone']], [['ab', 'uid-of-ab']], [['a', 'uid-of-a']]]);
    const waiting = stepInstance(
      graph,
      instance({ flag: true }),
      { ...world.observed, object: () => null },
      { owner },
    );
    expect(pruneWaves(graph, waiting, [stranger])).toEqual([]);
  });
});

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

  it('says what is open, the worst first, and keeps the time of a transition', () => {
    const graph = compiled(WEB);
    const world = cluster();
    const one = instance({ name: 'cart', replicas: 1, extra: false });
    const step = stepInstance(graph, one, world.observed, { owner });
    const first = instanceStatus({ instance: one, now, graph, step });
    expect(first.state).toBe('IN_PROGRESS');
    const message =
      'web: Deployment shop/cart is about to be applied; config: waits for node web to be ready';
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
          message: string;
          lastTransitionTime: string;
        }[]
      ).map((item) => `${item.type}=${item.status} ${item.message} ${item.lastTransitionTime}`);
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
    expect(duplicated.problems).toEqual(['status.conditions: two expressions give a condition "Up"']);
  });
});

describe('values', () => {
  const yaml = `
schema: {spec: {a: integer}}
resources:
- id: a
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {v: "\${string(sum.of)}"}}
- id: b
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {v: "\${string(sum.of)}"}}
- id: c
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {v: "\${string(sum.of + 1)}"}}
- id: sum
  def: {of: "\${schema.spec.a + 1}", list: ["\${schema.metadata.name}", two]}
`;

  it('[R83] are computed once, whoever uses them, and make no object', () => {
    const graph = compiled(yaml);
    const sum = graph.nodes.find(({ id }) => id === 'sum');
    const part = sum?.template.fields[0]?.parts[0];
    if (typeof part !== 'object') throw new Error('there is no expression');
    let evaluations = 0;
    const { program } = part;
    Object.assign(part, {
      program: {
        ...program,
        evaluate: (...given: Parameters<typeof program.evaluate>) => {
          evaluations += 1;
          return program.evaluate(...given);
        },
      },
    });
    const step = stepInstance(graph, instance({ a: 2 }), cluster().observed, { owner });
    expect(evaluations).toBe(1);
    expect(step.objects.map(({ object }) => object['data'])).toEqual([{ v: '3' }, { v: '3' }, { v: '4' }]);
    expect(step.bindings['sum']).toEqual({ of: 3, list: ['one', 'two'] });
    expect(step.inventory).toEqual({ groupKinds: ['ConfigMap'], namespaces: [] });
  });

  it('are told what they cannot have', () => {
    expect(wrong(`resources: [{id: v, def: {a: b}, template: {}, readyWhen: ["\${true}"]}]`)).toBe(
      'resources[0].template (node v): a node with def makes no object; expected no template beside def\n' +
        'resources[0].readyWhen (node v): a node with def makes no object; expected no readyWhen beside def',
    );
    expect(wrong(`resources: [{id: v, def: {a: "\${v.a}"}}]`)).toContain('"v" cannot be used in def');
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
