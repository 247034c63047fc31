// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { Handler } from '../../src/kube/exchange.ts';
import type { KubeObject } from '../../src/kube/object.ts';
import { parseYamlBody } from '../../src/schema/yaml-body.ts';
import { applyAll } from './federation.ts';
import { conditionMessage, conditionOf, type SimulatedFleet, simulateFleet, stored } from './fleet.ts';
import {
  configMap,
  dataOf,
  type GraphCluster,
  type GraphSettings,
  shopWords,
  startGraphCluster,
} from './graph-cluster.ts';
import {
  graphObject,
  graphWords,
  MAPS,
  plainMap,
  rights,
  WIDGETS,
  WRITE,
  widgets,
} from './graph-object-words.ts';
import { faultyStorage } from './rig/faults.ts';

let cluster: GraphCluster;
const { map } = shopWords(() => cluster);
const { allow, graph, ready, told, message, contributed, leave } = graphWords(() => cluster);
afterEach(async () => cluster?.stop());

const open = async (settings?: GraphSettings, rules: readonly object[] = [MAPS]): Promise<void> => {
  cluster = await startGraphCluster(settings);
  await allow(rules);
};

describe('a Graph', () => {
  it('is brought about, kept as it is, changed and taken away, node by node', async () => {
    await open();
    const nodes = [
      configMap('first', 'first', { colour: 'red' }),
      configMap('second', '${first.metadata.name}-2', { colour: '${first.data.colour}' }),
    ];
    await cluster.write(graphObject(nodes));
    await ready();
    expect(dataOf(map('first-2'))).toEqual({ colour: 'red' });
    expect(graph()?.['status']).toMatchObject({
      managedResources: [{ name: 'first' }, { name: 'first-2' }],
    });
    // Drift is undone, and at rest nothing is asked.
    await cluster.write(plainMap('first', { colour: 'blue' }));
    await cluster.until(
      () => dataOf(map('first-2'))['colour'] === 'red' && dataOf(map('first'))['colour'] === 'red',
      'drift undone',
    );
    await cluster.rest(30_000);
    cluster.audit.length = 0;
    await cluster.rest(300_000);
    expect(cluster.asked(['get', 'list', 'patch', 'create', 'update', 'delete'])).toEqual([]);
    await cluster.write(graphObject([configMap('first', 'first', { colour: 'green' })]));
    await cluster.until(
      () => map('first-2') === undefined && dataOf(map('first'))['colour'] === 'green',
      'the edit',
    );
    await leave();
    expect(map('first')).toBeUndefined();
  });

  it('says what is wrong with it, and becomes right with the kind that it needs', async () => {
    await open({}, [MAPS, WIDGETS]);
    await cluster.write(graphObject([configMap('a', 'a', { v: '${b.data.x}' })]));
    await cluster.until(() => conditionOf(graph(), 'Accepted') === 'False/InvalidGraph', 'the refusal');
    expect(conditionMessage(graph(), 'Accepted')).toContain("undeclared reference to 'b'");
    const widget = { apiVersion: 'a.example/v1', kind: 'Widget', metadata: { name: 'w' }, spec: { size: 1 } };
    await cluster.write(graphObject([{ id: 'w', template: widget }]));
    await cluster.until(
      () => conditionMessage(graph(), 'Accepted').includes('is not known'),
      'the missing kind',
    );
    await cluster.write(widgets());
    await ready();
    expect(cluster.stored('a.example/widgets/default/w')?.['spec']).toEqual({ size: 1 });
    await expect(
      cluster.write(graphObject([{ id: 'a', def: {}, template: {} }], {}, 'both')),
    ).rejects.toThrow('exactly one of template, ref, def, graph and patch');
  });

  it('may do what its service account may, and reads nothing more', async () => {
    await open();
    await cluster.write({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    const secret = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key', namespace: 'other' } };
    await cluster.write({ ...secret, stringData: { key: 'c2VjcmV0' } });
    await cluster.write(
      graphObject([
        { id: 'key', ref: secret },
        configMap('copy', 'copy', { key: "${string(key.data['key'])}" }),
        { id: 'forbidden', template: { ...plainMap('x', {}), metadata: { name: 'x', namespace: 'other' } } },
      ]),
    );
    await told('is forbidden');
    expect(map('copy')).toBeUndefined();
    expect(map('x', 'other')).toBeUndefined();
    expect(message()).toContain('system:serviceaccount:default:default');
    // Nor by a kind that an expression names, though the engine watches such objects for others.
    await leave();
    const theirs = { name: 'theirs', namespace: 'other', labels: { 'kro.run/owned': 'true' } };
    await cluster.write({ ...plainMap('theirs', { key: 'x' }), metadata: theirs });
    await cluster.write(
      graphObject([
        { id: 'what', def: { kind: 'ConfigMap' } },
        {
          id: 'spied',
          ref: { apiVersion: 'v1', kind: '${what.kind}', metadata: { name: 'theirs', namespace: 'other' } },
        },
        configMap('copy', 'copy', { key: '${spied.data.key}' }),
        configMap('plain', 'plain'),
      ]),
    );
    await told('is forbidden');
    expect([map('copy'), map('plain') !== undefined]).toEqual([undefined, true]);
    // Also not of an account that has the rights and is of another namespace.
    await leave();
    await allow([MAPS], 'writer');
    await cluster.write(graphObject([configMap('a', 'a')], { serviceAccountName: 'writer' }));
    await ready();
    expect(graph()?.['status']).toMatchObject({
      appliedServiceAccount: 'system:serviceaccount:default:writer',
    });
    // What was made with its rights goes with them, whoever was named since.
    await cluster.write(graphObject([configMap('a', 'a', { v: 'new' })], { serviceAccountName: 'nobody' }));
    await told('serviceaccount:default:nobody');
    await leave();
    expect(map('a')).toBeUndefined();
  });

  it('[R108] adds fields to an object or to its status by managers of its own, and takes them back', async () => {
    await open({}, [MAPS, WIDGETS]);
    await cluster.write(widgets());
    const widget = (more: object = {}): KubeObject => ({
      ...{ apiVersion: 'a.example/v1', kind: 'Widget', metadata: { name: 'w' } },
      ...more,
    });
    const stored = (): KubeObject | undefined => cluster.stored('a.example/widgets/default/w');
    const of = { apiVersion: 'a.example/v1', kind: 'Widget', metadata: { name: 'w' } };
    const onSpec = { id: 'onSpec', patch: { ...of, body: { spec: { added: 'x' } } } };
    const onStatus = {
      id: 'onStatus',
      patch: { ...of, subresource: 'status', body: { status: { phase: 'Fine' } } },
    };
    await cluster.write(graphObject([onSpec, onStatus]));
    await told('Widget default/w does not exist');
    expect(stored()).toBeUndefined();
    await cluster.write(widget({ spec: { own: 'o' } }));
    await ready();
    expect(stored()).toMatchObject({ spec: { own: 'o', added: 'x' }, status: { phase: 'Fine' } });
    const managers = (stored()?.metadata.managedFields ?? []).flatMap(({ manager = '', subresource = '' }) =>
      manager.startsWith('kro-graphengine.patch.') ? [`${subresource}`] : [],
    );
    expect(managers.toSorted()).toEqual(['', 'status']);
    await cluster.rest(20_000);
    cluster.audit.length = 0;
    await cluster.rest(60_000);
    expect(cluster.asked(['patch', 'create', 'update', 'delete'])).toEqual([]);
    // A field that somebody else has is not taken; once it is free it is added again.
    await cluster.write(widget({ spec: { own: 'o', added: 'theirs' } }));
    await cluster.until(
      () => conditionOf(graph(), 'ResourcesConverged') === 'False/FieldManagerConflict',
      'the conflict',
    );
    expect(message()).toContain('conflict');
    expect(stored()?.['spec']).toEqual({ own: 'o', added: 'theirs' });
    await cluster.write(widget({ spec: { own: 'o' } }));
    await ready();
    expect(stored()?.['spec']).toEqual({ own: 'o', added: 'x' });
    // A field that another manager wants as well stays with that one.
    await cluster.write(widget({ spec: { shared: 's' } }), 'another');
    const both = { id: 'both', patch: { ...of, spec: { shared: 's' } } };
    await cluster.write(graphObject([onSpec, onStatus, both]));
    await cluster.until(() => contributed() === 3, 'three');
    await ready();
    await cluster.write(graphObject([onSpec, onStatus]));
    await cluster.until(() => contributed() === 2, 'two');
    await ready();
    expect(stored()?.['spec']).toEqual({ own: 'o', added: 'x', shared: 's' });
    expect(
      stored()?.metadata.managedFields?.filter(({ manager = '' }) => manager.startsWith('kro')),
    ).toHaveLength(2);
    await cluster.write(widget({ spec: {} }), 'another');
    // A node that goes takes its own fields back, a Graph all of them; the object stays.
    await cluster.write(graphObject([onStatus]));
    await cluster.until(() => JSON.stringify(stored()?.['spec']) === '{"own":"o"}', 'the field taken back');
    expect(stored()?.['status']).toEqual({ phase: 'Fine' });
    await leave();
    expect(stored()).toMatchObject({ spec: { own: 'o' } });
    expect((stored()?.['status'] as { phase?: string } | undefined)?.phase).toBeUndefined();
  });

  it('[R109] makes Graphs, which evaluate what is left to them', async () => {
    await open({}, [MAPS, { apiGroups: ['kro.run'], resources: ['graphs'], verbs: WRITE }]);
    const inner = configMap('made', "${'${at.name}'}", { from: '${here.name}', name: "${'${at.name}'}" });
    const child = {
      ...{ apiVersion: 'kro.run/v1alpha1', kind: 'Graph', metadata: { name: 'child' } },
      spec: { nodes: [{ id: 'at', def: { name: 'inner' } }, inner] },
    };
    const within = { id: 'within', graph: { nodes: [configMap('a', '${here.name}-a')] } };
    await cluster.write(
      graphObject([{ id: 'here', def: { name: 'outer' } }, { id: 'child', template: child }, within]),
    );
    await ready();
    await ready('child');
    expect(dataOf(map('inner'))).toEqual({ from: 'outer', name: 'inner' });
    expect(map('outer-a')?.metadata.labels?.['kro.run/node-id']).toBe('within.a');
    // The one does not fight with the other about labels.
    cluster.audit.length = 0;
    await cluster.rest(120_000);
    expect(cluster.asked(['patch'])).toEqual([]);
    await leave();
    expect([graph('child'), map('inner'), map('outer-a')]).toEqual([undefined, undefined, undefined]);
  });

  it('[R110] applies and watches objects of kinds that expressions name', async () => {
    await open({}, [MAPS, WIDGETS]);
    const nodes = [
      { id: 'what', ref: { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'what' } } },
      {
        id: 'made',
        template: {
          apiVersion: 'a.example/v1',
          kind: '${what.data.kind}',
          metadata: { name: 'w' },
          spec: { size: 1 },
        },
      },
      configMap('told', 'told', { phase: '${made.status.phase}' }),
    ];
    await cluster.write(plainMap('what', { kind: 'Widget' }));
    await cluster.write(graphObject(nodes));
    await told('a.example/v1 Widget is not served');
    await cluster.write(widgets());
    await cluster.until(() => cluster.stored('a.example/widgets/default/w') !== undefined, 'the object');
    const fine = async (kind: string): Promise<void> => {
      const resource = await cluster.run(cluster.client.resourceFor('a.example/v1', kind));
      const status = { status: { phase: 'Fine' } };
      const { client } = cluster;
      await cluster.run(client.patch(resource, 'default', 'w', 'merge', status, { subresource: 'status' }));
    };
    await fine('Widget');
    await cluster.until(() => dataOf(map('told'))['phase'] === 'Fine', 'what the watch tells', 5_000);
    await ready();
    // Another kind: the object of the one before goes.
    await cluster.write(widgets('Gadget'));
    await cluster.write(plainMap('what', { kind: 'Gadget' }));
    await cluster.until(() => cluster.stored('a.example/gadgets/default/w') !== undefined, 'the other kind');
    // Nothing goes as long as a node waits.
    expect(cluster.stored('a.example/widgets/default/w')).toBeDefined();
    await fine('Gadget');
    await cluster.until(() => cluster.stored('a.example/widgets/default/w') === undefined, 'the first gone');
    await leave();
    expect(cluster.stored('a.example/gadgets/default/w')).toBeUndefined();
  });

  it('is in the documentation as it works', async () => {
    const docs = readFileSync(new URL('../../docs/graphs.md', import.meta.url), 'utf8');
    const text = /```yaml\n(apiVersion: kro.run\/v1alpha1\nkind: Graph\n[^`]*)```/.exec(docs)?.[1] ?? '';
    const parsed = parseYamlBody(text);
    if (!parsed.ok) throw new Error(parsed.message);
    const { metadata, ...rest } = parsed.value as unknown as KubeObject;
    cluster = await startGraphCluster();
    await allow([MAPS, { apiGroups: [''], resources: ['resourcequotas'], verbs: WRITE }], 'applier');
    await cluster.write(plainMap('shared', { own: 'x' }));
    await cluster.write({ ...rest, metadata: { name: metadata.name ?? '' } });
    await ready('baseline');
    expect(dataOf(map('shared'))).toEqual({ own: 'x', quota: 'baseline-note' });
    expect(dataOf(map('baseline-note'))).toEqual({ tier: 'gold' });
    await leave('baseline');
    expect([dataOf(map('shared')), map('baseline-note')]).toEqual([{ own: 'x' }, undefined]);
  });

  it('[R113] writes no more objects at once than it may, and evaluates nothing that costs more', async () => {
    let [now, most] = [0, 0];
    const network =
      (handler: Handler): Handler =>
      async (request) => {
        const writes = request.method === 'PATCH' && request.path.includes('/configmaps/');
        if (!writes) return handler(request);
        now += 1;
        most = Math.max(most, now);
        await Promise.resolve();
        try {
          return await handler(request);
        } finally {
          now -= 1;
        }
      };
    await open({ applyConcurrency: 3, costLimit: 1_000, network });
    const many = configMap('many', 'm-${string(n)}', {}, { forEach: [{ n: '${lists.range(12)}' }] });
    await cluster.write(graphObject([many]));
    await ready();
    expect(most).toBe(3);
    const dear = configMap('dear', 'dear', { v: '${string(lists.range(5000).map(n, n * n).size())}' });
    await cluster.write(graphObject([dear], {}, 'dear'));
    await told('cost', 'dear');
    expect(map('dear')).toBeUndefined();
  });

  it('that is deleted says what keeps it, and goes once it may', async () => {
    await open();
    await cluster.write(graphObject([configMap('first', 'first')]));
    await ready();
    await allow([]);
    await cluster.remove('kro.run/v1alpha1', 'Graph', 'mine');
    await told('cannot be deleted');
    expect(conditionOf(graph(), 'ResourcesConverged')).toBe('False/DeleteFailed');
    await allow([MAPS]);
    await cluster.until(() => graph() === undefined, 'the Graph gone');
    expect(map('first')).toBeUndefined();
  });

  it('may be killed between any two writes, and leaves nothing behind', async () => {
    for (let writes = 1; writes <= 12; writes += 1) {
      const disk = faultyStorage();
      cluster = await startGraphCluster({}, disk);
      await allow([MAPS]);
      await cluster.write(plainMap('shared', { own: 'x' }));
      disk.crashAfter(writes);
      const patch = { ...plainMap('shared', { added: '${first.metadata.name}' }) };
      await cluster.write(graphObject([configMap('first', 'first'), { id: 'patch', patch }]));
      await cluster.rest(5_000);
      await cluster.kill();
      disk.revive();
      await cluster.revive();
      await ready();
      expect(dataOf(map('shared'))).toEqual({ own: 'x', added: 'first' });
      await leave();
      expect([map('first'), dataOf(map('shared'))]).toEqual([undefined, { own: 'x' }]);
      await cluster.stop();
    }
  });
});

describe('a Graph on a fleet', () => {
  let fleet: SimulatedFleet;
  afterEach(async () => fleet?.stop());

  it('is brought about by the engine of its cluster, which it starts', async () => {
    fleet = await simulateFleet(83, ['a']);
    const spoke = fleet.spoke('a');
    const inDefault = (object: KubeObject): KubeObject => ({
      ...object,
      metadata: { ...object.metadata, namespace: 'default' },
    });
    await applyAll(fleet, spoke, [
      ...rights([MAPS], 'default').map(inDefault),
      inDefault(graphObject([configMap('first', 'first', { colour: 'red' })])),
    ]);
    await fleet.until(
      () => conditionOf(stored(spoke, 'kro.run/graphs/default/mine'), 'Ready') === 'True/Ready',
      'the Graph',
    );
    expect(dataOf(stored(spoke, 'core/configmaps/default/first'))).toEqual({ colour: 'red' });
  });
});
