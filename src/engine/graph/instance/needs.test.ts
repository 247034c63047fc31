// biome-ignore-all lint/suspicious/noTemplateCurlyInString: expressions of graphs are written so
import { describe, expect, it } from 'vitest';
import { type KubeObject, refKey, refOf } from '../../../kube/object.ts';
import { compiled, wrong } from '../graph.fixture.ts';
import { applySetId, observedObjects, reasonText, renderInstance, stepInstance } from './index.ts';

const instance = (spec: object = {}): KubeObject => ({
  apiVersion: 'kro.run/v1',
  kind: 'Test',
  metadata: { name: 'one', namespace: 'ns', uid: 'u' },
  spec,
});
const options = { owner: { name: 'test', uid: 'g', version: '1' } };
const dataOf = (object: KubeObject | undefined): unknown => object?.['data'];
const map = (name: string, data: object = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'ns', uid: name },
  data,
});
const node = (id: string, data: string, more = ''): string =>
  `\n- id: ${id}\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: ${id}}, data: ${data}}${more}`;

describe('what only one way of a condition needs', () => {
  const graph = compiled(
    `schema: {spec: {cached: boolean}}\nresources:${node('cache', '{at: c}', '\n  includeWhen: ["${schema.spec.cached}"]')}${node('store', '{at: s}')}${node('web', '{at: "${schema.spec.cached ? cache.data.at : store.data.at}"}')}`,
  );

  it('[R84] is waited for, and left out with, only where it goes that way', () => {
    const web = graph.nodes.find(({ id }) => id === 'web');
    expect(web).toMatchObject({ dependencies: ['cache', 'store'], partial: ['cache', 'store'] });
    const plain = renderInstance(graph, instance({ cached: false }), [], options);
    expect(plain.nodes.map(({ id, state }) => `${id} ${state}`)).toEqual([
      'cache SKIPPED',
      'store SYNCED',
      'web SYNCED',
    ]);
    expect(dataOf(plain.objects.at(-1)?.object)).toEqual({ at: 's' });
    // The way to the cache does not ask for the store, which is not there.
    const known = observedObjects([map('cache', { at: 'c' })]);
    const step = stepInstance(graph, instance({ cached: true }), known, options);
    const stateOf = (id: string): string | undefined => step.nodes.find((item) => item.id === id)?.state;
    expect([stateOf('cache'), stateOf('store')]).toEqual(['SYNCED', 'IN_PROGRESS']);
    expect(dataOf(step.objects.find((item) => item.node === 'web')?.object)).toEqual({ at: 'c' });
    // The way to the store waits for it, and for nothing else.
    const waiting = stepInstance(graph, instance({ cached: false }), observedObjects([]), options);
    expect(waiting.nodes.at(-1)?.reasons.map(reasonText)).toEqual(['waits for node store']);
  });

  it('is needed in any case where something else of the node uses it, and may go the way of each element', () => {
    const both = compiled(
      `schema: {spec: {cached: boolean}}\nresources:${node('a', '{at: c}')}${node('b', '{x: "${schema.spec.cached ? a.data.at : \'none\'}", y: "${a.data.at}"}')}`,
    );
    expect(both.nodes.at(-1)).toMatchObject({ dependencies: ['a'], partial: [] });
    const each = compiled(
      `resources:${node('a', '{}')}\n- id: all\n  forEach: [{v: "\${['x', 'y']}"}]\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "\${v}"}, data: {at: "\${v == 'x' ? a.metadata.name : v}"}}`,
    );
    const step = stepInstance(each, instance(), observedObjects([]), options);
    expect(step.nodes.at(-1)?.reasons.map(reasonText)).toEqual(['waits for node a']);
  });
});

describe('what is deferred', () => {
  const graph = compiled(
    `resources:${node('left', '{peer: "${defer(right.data.id)}", id: l}')}${node('right', '{peer: "${defer(left.data.id)}", id: r}')}`,
  );

  it('[R84] is left out until it is there, so that two nodes may use each other', () => {
    const stepWith = (...objects: KubeObject[]): unknown =>
      stepInstance(graph, instance(), observedObjects(objects), options).objects.map((item) =>
        dataOf(item.object),
      );
    expect(stepWith()).toEqual([{ id: 'l' }, { id: 'r' }]);
    const ours = (name: string, data: object): KubeObject => {
      const object = map(name, data);
      const labels = { 'applyset.kubernetes.io/part-of': applySetId(instance()) };
      return { ...object, metadata: { ...object.metadata, labels } };
    };
    const left = ours('left', { id: 'l' });
    // What somebody else made is not read by its name.
    expect(stepWith(map('right', { id: 'theirs' }))).toEqual([{ id: 'l' }, { id: 'r' }]);
    expect(stepWith(left)).toEqual([{ id: 'l' }, { id: 'r', peer: 'l' }]);
    const all = [left, ours('right', { id: 'r' })];
    expect(stepWith(...all)).toEqual([
      { id: 'l', peer: 'r' },
      { id: 'r', peer: 'l' },
    ]);
    // It comes to rest: what was applied last is what is wanted.
    const known = observedObjects(all);
    const applied = new Map(
      stepInstance(graph, instance(), known, options).objects.map(({ ref, digest }) => [refKey(ref), digest]),
    );
    const rest = stepInstance(
      graph,
      instance(),
      { ...known, applied: (ref) => applied.get(refKey(ref)) },
      options,
    );
    expect(rest.ready).toBe(true);
    expect(rest.objects.map((item) => dataOf(item.object))).toEqual(stepWith(...all));
  });

  it('is all of a field that may be left out, and its expression is right', () => {
    const field = (data: string, name = 'a'): string =>
      wrong(
        `resources:\n- id: a\n  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${name}"}, data: {v: "${data}"}}${node('b', '{id: x}')}`,
      );
    expect(field('${defer(b.data.id)}')).toBe('');
    expect(field('x-${defer(b.data.id)}')).toContain('defer() must be around all of the expression');
    expect(field("${defer(b.data.id) + 'x'}")).toContain('defer() must be around all');
    expect(field('${defer(b.metadata.generation)}')).toContain('expected a string');
    expect(field('x', '${defer(b.data.id)}')).toContain('this field cannot be deferred');
    expect(wrong(`resources:${node('b', '{}', '\n  readyWhen: ["${defer(true)}"]')}`)).not.toBe('');
    // What waits is one thing, what fails another.
    const failing = compiled(
      `resources:${node('a', '{v: "${defer(string(1 / int(b.data.id)))}"}')}${node('b', '{id: x}')}`,
    );
    const labels = { 'applyset.kubernetes.io/part-of': applySetId(instance()) };
    const b = map('b', { id: '0' });
    const made = { ...b, metadata: { ...b.metadata, labels } };
    const step = stepInstance(failing, instance(), observedObjects([made]), options);
    expect(step.nodes.find(({ id }) => id === 'a')?.state).toBe('ERROR');
  });
});

describe('keys', () => {
  const yaml = (data: string): string =>
    `schema: {spec: {key: string, tier: string}}\nresources:${node('a', data)}`;
  const rendered = (data: string, spec: object): unknown => {
    const graph = compiled(yaml(data), { dynamicKeys: true });
    const step = renderInstance(graph, instance(spec), [], options);
    return step.objects.length > 0 ? dataOf(step.objects[0]?.object) : step.nodes[0]?.reasons.map(reasonText);
  };

  it('[R84] of maps are what their expressions come to, where the gate is open', () => {
    expect(wrong(yaml('{"${schema.spec.key}": x}'))).toContain('expected expressions in values only');
    const data = '{"app.${schema.spec.key}": "${schema.spec.tier}", "${schema.spec.key}": why, z: zed}';
    expect(rendered(data, { key: 'k', tier: 't' })).toEqual({ 'app.k': 't', k: 'why', z: 'zed' });
    expect(rendered(data, { key: 'z', tier: 't' })).toEqual([
      expect.stringContaining('the key "z" is there already'),
    ]);
    expect(rendered('{"${schema.spec.key}": x}', { key: '' })).toEqual([
      expect.stringContaining('the key is empty'),
    ]);
    expect(rendered('{"${schema.spec.key}": x}', { key: '__proto__' })).toEqual(
      Object.fromEntries([['__proto__', 'x']]),
    );
  });

  it('are known beforehand where fields are', () => {
    const spec = (text: string): string =>
      wrong(`resources:\n- id: a\n  template: ${text}`, { dynamicKeys: true });
    expect(
      spec(
        '{apiVersion: apps/v1, kind: Deployment, metadata: {name: a}, spec: {"${schema.metadata.name}": 1}}',
      ),
    ).toContain('holds an expression; expected one of');
    expect(spec('{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {"${1}": a}}')).toContain(
      'within a text the expression gives an int',
    );
    const nested = compiled(
      'schema: {spec: {k: string}}\nresources:\n- id: a\n  template: {apiVersion: example.com/v1, kind: Free, metadata: {name: a}, spec: {"${schema.spec.k}": {"x-${schema.spec.k}": ["${schema.spec.k}"]}}}',
      { dynamicKeys: true },
    );
    const step = renderInstance(nested, instance({ k: 'v' }), [], options);
    expect(step.objects[0]?.object['spec']).toEqual({ v: { 'x-v': ['v'] } });
    expect(refKey(refOf(step.objects[0]?.object as KubeObject))).toContain('Free');
  });
});
