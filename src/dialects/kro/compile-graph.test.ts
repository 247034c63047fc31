// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { someKinds } from '../../engine/graph/graph.fixture.ts';
import {
  type CompiledGraph,
  compileGraph,
  compileGraphObject,
  graphStatus,
  issueText,
  type Observed,
  observedObjects,
  reasonText,
  renderInstance,
  stepInstance,
} from '../../engine/graph/index.ts';
import type { KubeObject } from '../../kube/object.ts';
import { parseYamlBody } from '../../schema/yaml-body.ts';
import { graphOf } from './compile-graph.ts';

const graphObject = (yaml: string): KubeObject => {
  const parsed = parseYamlBody(`nodes:\n${yaml}`);
  if (!parsed.ok) throw new Error(parsed.message);
  const metadata = { name: 'mine', namespace: 'ns', uid: 'u', generation: 2 };
  return { apiVersion: 'kro.run/v1alpha1', kind: 'Graph', metadata, spec: parsed.value };
};

const read = (yaml: string): { graph?: CompiledGraph; issues: string } => {
  const { definition, issues } = graphOf(graphObject(yaml));
  if (!definition) return { issues: issues.map(issueText).join('\n') };
  const { graph, issues: found = [] } = compileGraphObject(definition, { schemas: someKinds });
  return { ...(graph && { graph }), issues: found.map(issueText).join('\n') };
};

const right = (yaml: string): CompiledGraph => {
  const { graph, issues } = read(yaml);
  if (!graph) throw new Error(issues);
  return graph;
};

const options = { owner: { name: 'mine', uid: 'u', version: '1', alone: true } };
const map = (name: string, data: object = {}, more: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'ns', uid: `uid-${name}` },
  data,
  ...more,
});
const node = (id: string, data = '{}', more = ''): string =>
  `- id: ${id}\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: ${id}}, data: ${data}}\n${more}`;
const rendered = (yaml: string, known: readonly KubeObject[] = []): ReturnType<typeof renderInstance> =>
  renderInstance(right(yaml), graphObject(yaml), known, options);
const shown = (yaml: string, known: readonly KubeObject[] = []): unknown[] =>
  rendered(yaml, known).objects.map(({ object }) => object['data'] ?? object['status']);

const PATCH = 'apiVersion: apps/v1, kind: Deployment, metadata: {name: web}';

describe('nodes of a Graph', () => {
  const POSITIVES: readonly (readonly [string, string])[] = [
    ['template', node('a')],
    [
      'ref',
      '- id: a\n  ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: there}}\n  readyWhen: ["${size(a.data) > 0}"]',
    ],
    ['def', '- id: a\n  def: {x: "${1 + 1}"}\n- id: b\n  forEach: [{v: "${[a.x, 3]}"}]\n  def: {y: "${v}"}'],
    [
      'graph',
      `- id: a\n  graph:\n    nodes:\n    - id: b\n      def: {x: some}\n${node('c', '{v: "${a.b.x}"}')}`,
    ],
    [
      'patch',
      `- id: a\n  patch: {${PATCH}, subresource: status, body: {status: {availableReplicas: 1}}}\n- id: b\n  includeWhen: ["\${true}"]\n  patch: {${PATCH}, spec: {paused: true}}`,
    ],
  ];
  it.each(POSITIVES)('[R107] may be %s', (_kind, yaml) => {
    expect(read(yaml).issues).toBe('');
  });

  const NEGATIVES: readonly (readonly [string, string, string])[] = [
    [
      'a graph without an id in a graph',
      '- id: a\n  graph: {nodes: [{graph: {nodes: [{id: b, def: {}}]}}]}',
      'nodes[0].graph.nodes[0].id: the node has no id',
    ],
    [
      'nothing',
      '- id: a',
      'nodes[0] (node a): it is no kind of node; expected exactly one of template, ref, def, graph, patch',
    ],
    [
      'two kinds at once',
      '- id: a\n  def: {}\n  template: {}',
      'there are template and def; expected exactly one of',
    ],
    [
      'a ref for each',
      '- id: a\n  forEach: [{v: "${[1]}"}]\n  ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}',
      'nodes[0].forEach (node a): what is only read cannot be made for each',
    ],
    [
      'a patch for each',
      `- id: a\n  forEach: [{v: "\${[1]}"}]\n  patch: {${PATCH}, spec: {paused: true}}`,
      'a patch is of one object',
    ],
    [
      'a graph with conditions',
      '- id: a\n  includeWhen: ["${true}"]\n  graph: {nodes: [{id: b, def: {x: some}}]}',
      'nodes[0].includeWhen (node a): the nodes in it may have their own',
    ],
    [
      'a ref by name and selector',
      '- id: a\n  ref: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, selector: {}}}',
      'nodes[0].ref.metadata (node a): there are both name and selector',
    ],
    [
      'a patch of an object and its status',
      `- id: a\n  patch: {${PATCH}, spec: {paused: true}, status: {availableReplicas: 1}}`,
      'one patch is of the object or of its status: found spec, status',
    ],
    ['a patch that adds nothing', `- id: a\n  patch: {${PATCH}}`, 'nodes[0].patch (node a): it adds nothing'],
    [
      'a patch of another subresource',
      `- id: a\n  patch: {${PATCH}, subresource: scale, body: {spec: {replicas: 1}}}`,
      'found "scale"; expected "" or "status"',
    ],
    [
      'something that uses a patch',
      `- id: a\n  patch: {${PATCH}, spec: {paused: true}}\n${node('b', '{v: "${a.metadata.name}"}')}`,
      '"a" cannot be used in templates',
    ],
    ['nodes of the same name', `${node('a')}${node('a')}`, 'nodes[0] is called "a", too'],
    [
      'a cycle',
      `${node('a', '{v: "${b.data.x}"}')}${node('b', '{v: "${a.data.x}"}')}`,
      'nodes depend on each other in a cycle: a -> b -> a',
    ],
    [
      'one that uses an instance',
      node('a', '{v: "${schema.metadata.name}"}'),
      "undeclared reference to 'schema'",
    ],
    [
      'a graph without nodes',
      '- id: a\n  graph: {nodes: []}',
      'nodes[0].graph.nodes (node a): there is no node',
    ],
    [
      'a patch with readyWhen',
      `- id: a\n  readyWhen: ["\${true}"]\n  patch: {${PATCH}, spec: {paused: true}}`,
      'a ref to the object can wait for it',
    ],
    [
      'fields that do not fit',
      `- id: a\n  patch: {${PATCH}, spec: {paused: 1}}`,
      'nodes[0].patch.spec.paused (node a): found the number 1; expected a bool',
    ],
  ];
  it.each(NEGATIVES)('[R107] may not be %s', (_what, yaml, issue) => {
    expect(read(yaml).issues).toContain(issue);
  });
});

describe('graphs within a Graph', () => {
  const yaml = `- id: shared\n  def: {app: mine}
- id: name\n  def: {v: outer}
- id: backend
  graph:
    nodes:
    - id: name
      def: {v: inner}
    - id: config
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${shared.app}-backend"}, data: {at: "\${name.v}"}}
    - id: deep
      graph: {nodes: [{id: last, def: {all: "\${config.metadata.name + '/' + shared.app}"}}]}
${node('front', '{at: "${backend.config.metadata.name} ${name.v} ${backend.deep.last.all}"}')}`;

  it('[R109] see what is around them, have names of their own, and are seen by the name of their node', () => {
    const step = rendered(yaml);
    expect(step.nodes.map(({ id }) => id).toSorted()).toEqual([
      'backend.config',
      'backend.deep.last',
      'backend.name',
      'front',
      'name',
      'shared',
    ]);
    expect(step.objects.map(({ object }) => object['data'])).toEqual([
      { at: 'inner' },
      { at: 'mine-backend outer mine-backend/mine' },
    ]);
    expect(step.objects[0]?.object.metadata.labels?.['kro.run/node-id']).toBe('backend.config');
    expect(read(`${yaml}\n${node('wrong', '{v: "${config.data.at}"}')}`).issues).toContain(
      "undeclared reference to 'config'",
    );
  });

  it('[R109] are left out node by node', () => {
    const partly = `- id: inner\n  graph: {nodes: [{id: out, includeWhen: ["\${false}"], def: {x: some}}, {id: kept, def: {x: z}}]}
${node('uses', '{v: "${inner.out.x}"}')}${node('other', '{v: "${inner.kept.x}"}')}`;
    expect(rendered(partly).nodes.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'inner.out SKIPPED',
      'inner.kept SYNCED',
      'uses SKIPPED',
      'other SYNCED',
    ]);
  });

  it('[R109] as objects of their own get expressions that are written as texts', () => {
    const stamped = `- id: here\n  def: {v: outer}
- id: child
  template:
    apiVersion: example.com/v1
    kind: Free
    metadata: {name: child}
    spec: {now: "\${here.v}", later: "\${'\${quota.metadata.name}'}-x", last: "\${\\"\${'\${a}'}\\"}"}`;
    const [object] = rendered(stamped).objects;
    expect(object?.object['spec']).toEqual({
      now: 'outer',
      later: '${quota.metadata.name}-x',
      last: "${'${a}'}",
    });
    const inner = `- id: quota\n  def: {metadata: {name: q}}\n- id: b\n  def: {v: "\${quota.metadata.name}-x"}`;
    expect(rendered(inner).bindings['b']).toEqual({ v: 'q-x' });
  });
});

describe('kinds that expressions name', () => {
  const yaml = `- id: what\n  def: {kind: ConfigMap}
- id: a
  template: {apiVersion: v1, kind: "\${what.kind}", metadata: {name: a}, data: {x: some}}
${node('b', '{v: "${a.data.x}"}')}`;

  it('[R110] are looked for in the cluster, and waited for', () => {
    const graph = right(yaml);
    expect(graph.nodes.find(({ id }) => id === 'a')).toMatchObject({ dynamic: true, apiVersion: '' });
    const base = observedObjects([map('a', { x: 'some' })]);
    const step = (namespaced?: Observed['namespaced']): ReturnType<typeof stepInstance> =>
      stepInstance(graph, graphObject(yaml), { ...base, ...(namespaced && { namespaced }) }, options);
    const asked = step(() => undefined);
    expect(asked.reads).toEqual([
      { kind: 'Kind', node: 'a', of: { group: '', version: 'v1', kind: 'ConfigMap' } },
    ]);
    const absent = step(() => null);
    expect(absent.nodes.find(({ id }) => id === 'a')?.reasons.map(reasonText)).toEqual([
      'the kind v1 ConfigMap is not served',
    ]);
    const found = step(() => true);
    expect(found.objects.map(({ ref, object }) => [ref.namespace, object['data']])).toEqual([
      ['ns', { x: 'some' }],
      ['ns', { v: 'some' }],
    ]);
    expect(step(() => false).objects[0]?.ref.namespace).toBe('');
    expect(read('- id: a\n  template: {apiVersion: v1, kind: "${1}", metadata: {name: a}}').issues).toContain(
      'expected a string',
    );
  });
});

describe('the same nodes', () => {
  const resources = `- id: first
  readyWhen: ["\${first.data.ready == 'yes'}"]
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: first}, data: {x: some}}
- id: second
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${first.metadata.name}-2"}}`;

  it('[R111] begin in a Graph when what they use is there, in an instance when it is ready', () => {
    const object = graphObject(resources);
    const { nodes } = object['spec'] as { nodes: never[] };
    const definition = { name: 'x', schema: { kind: 'Test', apiVersion: 'v1' }, resources: nodes };
    const ofDefinition = compileGraph(definition, { schemas: someKinds }).graph as CompiledGraph;
    const states = (graph: CompiledGraph, data: object): string[] =>
      stepInstance(graph, object, observedObjects([map('first', data)]), options).nodes.map(
        ({ id, state, reasons }) => `${id} ${state}: ${reasons.map(reasonText).join()}`,
      );
    const unready =
      "first WAITING_FOR_READINESS: ConfigMap ns/first is not ready: ${first.data.ready == 'yes'} is false";
    expect(states(right(resources), { ready: 'no' })).toEqual([
      unready,
      'second IN_PROGRESS: ConfigMap ns/first-2 is about to be applied',
    ]);
    expect(states(ofDefinition, { ready: 'no' })).toEqual([
      unready,
      'second IN_PROGRESS: waits for node first',
    ]);
    expect(states(ofDefinition, { ready: 'yes' })[1]).toContain('is about to be applied');
    // What is not there is waited for in both.
    const absent = stepInstance(right(resources), object, observedObjects([]), options);
    expect(absent.nodes[1]?.reasons.map(reasonText)).toEqual(['waits for node first']);
  });
});

describe('the status of a Graph', () => {
  const yaml = `${node('first', '{x: some}', '  readyWhen: ["${first.data.ready == \'yes\'}"]\n')}- id: note\n  patch: {${PATCH}, status: {availableReplicas: 1}}`;
  const web: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'ns', uid: 'uid-web' },
  };
  const conditions = (...items: readonly (readonly [string, string, string, string])[]): object[] =>
    items.map(([type, status, reason, message]) => ({
      ...{ type, status, reason, message },
      observedGeneration: 2,
      lastTransitionTime: '2026-01-01T00:00:00Z',
    }));
  const COMPILED = ['Accepted', 'True', 'Compiled', '2 nodes compiled'] as const;
  const now = Date.parse('2026-01-01T00:00:00Z');
  const told = (ready: string, input: object = {}): object => {
    const instance = graphObject(yaml);
    const graph = right(yaml);
    const { object, selected } = observedObjects([map('first', { ready }), web]);
    const step = stepInstance(graph, instance, { object, selected }, options);
    return graphStatus({ instance, now, graph, step, account: 'system:serviceaccount:ns:default', ...input })
      .status;
  };
  const managedResources = [
    {
      nodeID: 'first',
      apiVersion: 'v1',
      kind: 'ConfigMap',
      namespace: 'ns',
      name: 'first',
      uid: 'uid-first',
    },
  ];

  it('[R112] says what was accepted, what it has come to, and which objects it has', () => {
    expect(told('yes')).toEqual({
      managedResources,
      contributions: [
        {
          ...{ apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'ns', name: 'web' },
          subresource: 'status',
          fieldManager: expect.stringMatching(/^kro-graphengine\.patch\.[0-9a-f]{12}$/),
        },
      ],
      appliedServiceAccount: 'system:serviceaccount:ns:default',
      conditions: conditions(['Ready', 'True', 'Ready', 'all nodes are applied and ready'], COMPILED, [
        'ResourcesConverged',
        'True',
        'Applied',
        'all nodes are applied and ready',
      ]),
    });
    const waits = "first: ConfigMap ns/first is not ready: ${first.data.ready == 'yes'} is false";
    expect(told('no')).toMatchObject({
      managedResources,
      conditions: conditions(['Ready', 'False', 'WaitingForReadiness', waits], COMPILED, [
        'ResourcesConverged',
        'False',
        'WaitingForReadiness',
        waits,
      ]),
    });
    const instance = graphObject(yaml);
    expect(graphStatus({ instance, now, unresolved: 'nodes[0]: it is wrong' }).status).toEqual({
      conditions: conditions(
        ['Ready', 'False', 'InvalidGraph', 'nodes[0]: it is wrong'],
        ['Accepted', 'False', 'InvalidGraph', 'nodes[0]: it is wrong'],
        ['ResourcesConverged', 'Unknown', 'InvalidGraph', 'nothing is applied'],
      ),
    });
    const before = { ...instance, status: told('yes') } as KubeObject;
    expect(graphStatus({ instance: before, now, deleting: 'waits until x are gone' }).status).toMatchObject({
      managedResources,
      conditions: conditions(['Ready', 'Unknown', 'Deleting', 'waits until x are gone'], COMPILED, [
        'ResourcesConverged',
        'Unknown',
        'Deleting',
        'waits until x are gone',
      ]),
    });
  });

  it('[R112] tells data that is missing, conflicts and failures apart', () => {
    const graph = right(yaml);
    const reasonOf = (known: readonly KubeObject[], failure?: string): unknown => {
      const { object, selected } = observedObjects(known);
      const observed: Observed = {
        ...{ object, selected },
        ...(failure !== undefined && { failure: (ref) => (ref.kind === 'Deployment' ? failure : undefined) }),
      };
      const step = stepInstance(graph, graphObject(yaml), observed, options);
      const { status } = graphStatus({ instance: graphObject(yaml), now, graph, step });
      return (status['conditions'] as { reason: string }[])[2]?.reason;
    };
    expect(reasonOf([map('first', { ready: 'yes' })])).toBe('DataPending');
    expect(reasonOf([map('first'), web], 'Apply failed with 1 conflict: conflict with "x"')).toBe(
      'FieldManagerConflict',
    );
    expect(reasonOf([map('first'), web], 'deployments.apps "web" is forbidden')).toBe('ApplyFailed');
  });
});

it('a Graph renders what it comes to', () => {
  expect(
    shown(
      `- id: all\n  forEach: [{v: "\${['a', 'b']}"}]\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${v}"}, data: {v: "\${v}"}}`,
    ),
  ).toEqual([{ v: 'a' }, { v: 'b' }]);
});
