// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../../kube/object.ts';
import { compiled, wrong } from '../graph.fixture.ts';
import { applySetId, instanceStatus, renderInstance, stepInstance } from './index.ts';
import { cluster, instance, owner, reasons, states, WEB } from './instance.fixture.ts';

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
        'config: waits for node web',
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
