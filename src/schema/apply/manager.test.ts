import { describe, expect, it } from 'vitest';
import { clone, type JsonObject, listAt, objectAt } from '../json.ts';
import type { TypeSchema } from '../open-api-schema.ts';
import { formatConflicts, formatErrors, headProblem, settleTimes, trackUpdate } from './index.ts';
import { lastAppliedAnnotation } from './last-applied.ts';
import { type History, history } from './testing/fixtures/history.ts';
import { configMap, deployment, widget } from './testing/fixtures/types.ts';

const cm = (data?: JsonObject | null, metadata: JsonObject = {}): JsonObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'x', ...metadata },
  ...(data === undefined ? {} : { data }),
});
const deploy = (spec: JsonObject, rest: JsonObject = {}): JsonObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec,
  ...rest,
});
const pod = (...containers: JsonObject[]): JsonObject => ({ template: { spec: { containers } } });
const gadget = (spec: JsonObject): JsonObject => ({
  apiVersion: 'x.dev/v1',
  kind: 'Widget',
  metadata: { name: 'w' },
  spec,
});
const data = (h: History): unknown => h.live?.data;
const configMaps = (live?: JsonObject): History => history(configMap, 'v1', live);
const set =
  (key: string, value: string | null) =>
  (object: JsonObject): JsonObject => {
    const next: JsonObject = { ...objectAt(object, 'data') };
    if (value === null) delete next[key];
    else next[key] = value;
    return { ...object, data: next };
  };

describe('applying', () => {
  it('[V27] creates, and owns what it said', () => {
    const h = configMaps();
    expect(h.apply('m1', cm({ a: '1' }, { labels: { l: '1' } }))).toMatchObject({ changed: true });
    expect(h.live).toEqual({
      ...cm({ a: '1' }),
      metadata: {
        name: 'x',
        labels: { l: '1' },
        managedFields: [
          {
            manager: 'm1',
            operation: 'Apply',
            apiVersion: 'v1',
            time: '2030-01-01T00:00:00Z',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { 'f:a': {} }, 'f:metadata': { 'f:labels': { 'f:l': {} } } },
          },
        ],
      },
    });
  });

  it('[V27] the same again changes nothing, not even a time', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1' }));
    const before = h.live;
    expect(h.apply('m1', cm({ a: '1' }))).toMatchObject({ changed: false });
    expect(h.live).toEqual(before);
  });

  it('[V27] removes what it no longer says', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1', b: '2' }, { labels: { l: '1' }, finalizers: ['x.dev/f'] }));
    h.apply('m1', cm({ a: '9' }));
    expect(h.live).toMatchObject({ data: { a: '9' } });
    expect(objectAt(h.live, 'metadata')).toEqual({ name: 'x', managedFields: h.entries() });
    expect(h.owners()).toEqual({ 'm1 Apply': { 'f:data': { 'f:a': {} } } });
    h.apply('m1', cm());
    expect(h.live).toEqual(cm());
  });

  it('[V27] leaves alone what others own and what nobody owns', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1' }));
    h.update('u', set('b', '2'));
    h.apply('m1', cm({}));
    expect(data(h)).toEqual({ b: '2' });
    const d = history(deployment, 'apps/v1');
    d.apply('m', deploy({ replicas: 1, strategy: {} }));
    // Defaults are nobody's.
    d.live = { ...d.live, spec: { ...d.spec(), strategy: { type: 'RollingUpdate' } } };
    expect(d.apply('m', deploy({ strategy: {} }))).toMatchObject({ changed: true });
    expect(d.spec()).toEqual({ strategy: { type: 'RollingUpdate' } });
  });

  it('[V27] a value that two appliers say goes when both have dropped it', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1', b: '1' }));
    h.apply('m2', cm({ a: '1' }));
    expect(h.owners()).toEqual({
      'm1 Apply': { 'f:data': { 'f:a': {}, 'f:b': {} } },
      'm2 Apply': { 'f:data': { 'f:a': {} } },
    });
    h.apply('m1', cm({ b: '1' }));
    expect(data(h)).toEqual({ a: '1', b: '1' });
    h.apply('m2', cm());
    expect(data(h)).toEqual({ b: '1' });
  });

  it('[V27] an applier that only shares values has no time yet', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1' }));
    expect(h.apply('m2', cm({ a: '1' }))).toMatchObject({ changed: true });
    expect(h.entries().map((entry) => [entry.manager, entry.time])).toEqual([
      ['m2', undefined],
      ['m1', '2030-01-01T00:00:00Z'],
    ]);
    h.apply('m2', cm({ a: '2' }), { force: true });
    expect(h.entries()).toMatchObject([{ manager: 'm2', time: '2030-01-01T00:00:02Z' }]);
  });

  it('[V27] items of keyed lists belong to those who named them', () => {
    const h = history(deployment, 'apps/v1');
    h.apply(
      'm1',
      deploy({
        ...pod({ name: 'a', image: 'i1', env: [{ name: 'X', value: '1' }] }),
        selector: { matchLabels: { a: 'b' } },
      }),
    );
    h.apply('m2', deploy(pod({ name: 's', image: 'i2' }, { name: 'a', env: [{ name: 'Y', value: '2' }] })));
    expect(h.spec()).toMatchObject(
      pod(
        { name: 's', image: 'i2' },
        {
          name: 'a',
          image: 'i1',
          env: [
            { name: 'X', value: '1' },
            { name: 'Y', value: '2' },
          ],
        },
      ),
    );
    h.apply('m1', deploy({ ...pod({ name: 'a', image: 'i1' }), selector: { matchLabels: { a: 'b' } } }));
    expect(h.spec()).toMatchObject(
      pod({ name: 's', image: 'i2' }, { name: 'a', image: 'i1', env: [{ name: 'Y', value: '2' }] }),
    );
    h.apply('m2', deploy({}));
    expect(h.spec().template).toEqual(pod({ name: 'a', image: 'i1' }).template);
    expect(h.owners()['m2 Apply']).toEqual({ 'f:spec': {} });
    expect(h.owners()['m1 Apply']).toMatchObject({ 'f:spec': { 'f:selector': {} } });
  });

  it('[V27] an explicitly empty container is kept as applied', () => {
    const h = history(widget, 'x.dev/v1');
    h.apply('m', gadget({ map: { a: '1' }, tags: ['t'], size: 1 }));
    h.apply('m', gadget({ map: {}, tags: [], size: 1 }));
    expect(h.spec()).toEqual({ map: {}, tags: [], size: 1 });
    expect(h.apply('m', gadget({ map: {}, tags: [], size: 1 }))).toMatchObject({ changed: false });
    h.apply('m', gadget({ size: 1 }));
    expect(h.spec()).toEqual({ size: 1, tags: [] }); // an empty list is nobody's
  });

  it('[V27] does not change its arguments and shares nothing with them', () => {
    const h = history(deployment, 'apps/v1');
    const applied = deploy(pod({ name: 'a', image: 'i1' }));
    const copy = clone(applied);
    h.apply('m', applied);
    const live = h.live;
    const liveCopy = clone(live);
    h.apply('m', deploy({ ...pod({ name: 'b' }), replicas: 1 }));
    expect(applied).toEqual(copy);
    expect(live).toEqual(liveCopy);
    expect(objectAt(h.live, 'spec')).not.toBe(objectAt(live, 'spec'));
  });

  it('[V27] metadata merges by the type of ObjectMeta even where the schema says nothing of it', () => {
    const h = history(widget, 'x.dev/v1');
    const owner = (uid: string): JsonObject => ({ apiVersion: 'v1', kind: 'Pod', name: uid, uid });
    h.apply('m1', {
      ...gadget({}),
      metadata: { name: 'w', finalizers: ['a'], ownerReferences: [owner('1')] },
    });
    h.apply('m2', {
      ...gadget({}),
      metadata: { name: 'w', finalizers: ['b'], ownerReferences: [owner('2')] },
    });
    expect(objectAt(h.live, 'metadata')).toMatchObject({
      finalizers: ['a', 'b'],
      ownerReferences: [owner('1'), owner('2')],
    });
    expect(h.owners()['m2 Apply']).toMatchObject({
      'f:metadata': { 'f:finalizers': { 'v:"b"': {} }, 'f:ownerReferences': { 'k:{"uid":"2"}': {} } },
    });
  });
});

describe('conflicts', () => {
  it('[V28] name the manager and the field that would change', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1', b: '1' }));
    const before = h.live;
    const outcome = h.apply('m2', cm({ a: '2' }));
    expect(outcome).toEqual({
      conflicts: [{ manager: 'm1', operation: 'Apply', apiVersion: 'v1', subresource: '', path: '.data.a' }],
    });
    expect(h.live).toBe(before);
    expect('conflicts' in outcome && formatConflicts(outcome.conflicts)).toEqual({
      message: 'Apply failed with 1 conflict: conflict with "m1": .data.a',
      causes: [{ reason: 'FieldManagerConflict', message: 'conflict with "m1"', field: '.data.a' }],
    });
  });

  it('[V28] several are grouped by manager; updaters show their version, subresources their name', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1', b: '1' }));
    h.update('up', set('c', '1'));
    h.update('up', set('d', '1'), { subresource: 'status' });
    const outcome = h.apply('m2', cm({ a: '2', b: '2', c: '2', d: '2' }));
    const text = 'conflicts' in outcome ? formatConflicts(outcome.conflicts) : undefined;
    expect(text?.message).toBe(
      [
        'Apply failed with 4 conflicts: conflicts with "m1":',
        '- .data.a',
        '- .data.b',
        'conflicts with "up" using v1:',
        '- .data.c',
        'conflicts with "up" with subresource "status" using v1:',
        '- .data.d',
      ].join('\n'),
    );
    expect(text?.causes[3]).toEqual({
      reason: 'FieldManagerConflict',
      message: 'conflict with "up" with subresource "status" using v1',
      field: '.data.d',
    });
  });

  it('[V28] force takes the fields over, from appliers and updaters', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1', b: '1' }));
    h.update('up', set('c', '1'));
    h.apply('m2', cm({ a: '2', c: '2' }), { force: true });
    expect(data(h)).toEqual({ a: '2', b: '1', c: '2' });
    expect(h.owners()).toEqual({
      'm1 Apply': { 'f:data': { 'f:b': {} } },
      'm2 Apply': { 'f:data': { 'f:a': {}, 'f:c': {} } },
    });
  });

  it('[V28] paths in lists show the keys of items', () => {
    const h = history(deployment, 'apps/v1');
    h.apply(
      'm1',
      deploy(pod({ name: 'a', image: 'i', args: ['1'], ports: [{ containerPort: 80, name: 'x' }] })),
    );
    const outcome = h.apply(
      'm2',
      deploy(pod({ name: 'a', args: ['2'], ports: [{ containerPort: 80, name: 'y' }] })),
    );
    expect('conflicts' in outcome && outcome.conflicts.map((conflict) => conflict.path)).toEqual([
      '.spec.template.spec.containers[name="a"].args',
      '.spec.template.spec.containers[name="a"].ports[containerPort=80,protocol="TCP"].name',
    ]);
  });

  it('[V28] invalid objects come back as problems with the server’s words', () => {
    const outcome = configMaps().apply('m', { ...cm({ a: '1' }), foo: 1 });
    expect(outcome).toEqual({ errors: ['.foo: field not declared in schema'] });
    expect(formatErrors(cm(), ['.foo: field not declared in schema'])).toBe(
      'failed to create typed patch object (/x; /v1, Kind=ConfigMap): .foo: field not declared in schema',
    );
    expect(formatErrors(deploy({}), ['.a: x', '.b: y'])).toBe(
      'failed to create typed patch object (/d; apps/v1, Kind=Deployment): errors:\n  .a: x\n  .b: y',
    );
    expect(headProblem(cm(), 'v1', 'Secret')).toBe('invalid object type: /v1, Kind=ConfigMap');
    expect(headProblem({}, 'v1', 'Secret')).toBe('invalid object type: /, Kind=');
    expect(headProblem(cm(undefined, { managedFields: [] }), 'v1', 'ConfigMap')).toBe(
      'metadata.managedFields must be nil',
    );
    expect(headProblem(cm(), 'v1', 'ConfigMap')).toBeUndefined();
  });
});

describe('updating', () => {
  it('[V28] whoever changes a value owns it; the time moves with changes only', () => {
    const h = configMaps();
    h.update('tool', () => cm({ a: '1' }));
    h.update('other', set('b', '1'));
    h.update('other', set('a', '2'));
    expect(h.owners()).toEqual({
      'tool Update': { 'f:data': {} },
      'other Update': { 'f:data': { 'f:a': {}, 'f:b': {} } },
    });
    const before = h.live;
    h.update('other', (object) => object);
    h.update('nobody', set('a', '2'));
    expect(h.live).toEqual(before);
    h.update('', set('b', null));
    expect(h.owners()['other Update']).toEqual({ 'f:data': { 'f:a': {} } });
    h.update('', set('c', '1'));
    expect(h.owners()['unknown Update']).toEqual({ 'f:data': { 'f:c': {} } });
  });

  it('[V28] structs of built-in types are always there: only what is in them is new', () => {
    const h = history(deployment, 'apps/v1');
    h.update('tool', () =>
      deploy({
        replicas: 1,
        strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: '25%' } },
        template: {
          metadata: { creationTimestamp: null, labels: { a: 'b' } },
          spec: { containers: [{ name: 'c', resources: {} }], restartPolicy: 'Always' },
        },
      }),
    );
    expect(h.owners()).toEqual({
      'tool Update': {
        'f:spec': {
          'f:replicas': {},
          'f:strategy': { 'f:rollingUpdate': { '.': {}, 'f:maxSurge': {} }, 'f:type': {} },
          'f:template': {
            'f:metadata': { 'f:labels': { '.': {}, 'f:a': {} } },
            'f:spec': {
              'f:containers': { 'k:{"name":"c"}': { '.': {}, 'f:name': {}, 'f:resources': {} } },
              'f:restartPolicy': {},
            },
          },
        },
      },
    });
    const custom = history(widget, 'x.dev/v1');
    custom.update('tool', () => gadget({ size: 1 }));
    expect(custom.owners()).toEqual({ 'tool Update': { 'f:spec': { '.': {}, 'f:size': {} } } });
  });

  it('[V28] an update by hand conflicts with nobody and takes what it changes', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1', b: '1' }));
    h.update('m1', set('a', '5'));
    expect(h.owners()).toEqual({
      'm1 Apply': { 'f:data': { 'f:b': {} } },
      'm1 Update': { 'f:data': { 'f:a': {} } },
    });
  });

  it('[V28] a body without managedFields, or with nonsense, keeps the live ones; one with [] or [{}] forgets them', () => {
    const strip =
      (list?: unknown) =>
      (object: JsonObject): JsonObject => {
        const next = set('b', '2')(object);
        const metadata: JsonObject = { ...objectAt(next, 'metadata') };
        delete metadata.managedFields;
        if (list !== undefined) metadata.managedFields = list as JsonObject[];
        return { ...next, metadata };
      };
    const start = (): History => {
      const h = configMaps();
      h.update('a', () => cm({ a: '1' }));
      return h;
    };
    const kept = {
      'a Update': { 'f:data': { '.': {}, 'f:a': {} } },
      'b Update': { 'f:data': { 'f:b': {} } },
    };
    for (const list of [undefined, null, 'x', [{ manager: 'z', operation: 'Nope' }], [{}, {}]]) {
      const h = start();
      h.update('b', strip(list));
      expect(h.owners()).toEqual(kept);
    }
    for (const list of [[], [{}]]) {
      const h = start();
      h.update('b', strip(list));
      expect(h.entries()).toEqual([]);
      expect(objectAt(h.live, 'metadata')).not.toHaveProperty('managedFields');
      // Untracked objects stay untracked.
      h.update('b', set('c', '3'));
      expect(h.entries()).toEqual([]);
      const other = start();
      other.update('b', strip(list), { subresource: 'status' });
      expect(Object.keys(other.owners())).toEqual(['a Update', 'b Update status']);
    }
  });

  it('[V28] managedFields in a body are taken when they are sound', () => {
    const h = configMaps();
    h.update('a', () => cm({ a: '1' }));
    h.update('b', (object) => ({
      ...object,
      metadata: {
        name: 'x',
        managedFields: [
          {
            manager: 'mine',
            operation: 'Apply',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { 'f:a': {} } },
          },
        ],
      },
    }));
    expect(h.owners()).toEqual({ 'mine Apply': { 'f:data': { 'f:a': {} } } });
  });

  it('[V28] the oldest of more than ten updaters of one version share an entry', () => {
    const h = configMaps();
    for (let i = 0; i < 13; i++) {
      h.update(`u${String(i).padStart(2, '0')}`, i === 0 ? () => cm({ k0: '1' }) : set(`k${i}`, '1'));
    }
    const updaters = h.entries().filter((entry) => entry.operation === 'Update');
    expect(updaters).toHaveLength(10);
    expect(updaters[0]).toMatchObject({
      manager: 'ancient-changes',
      time: '2030-01-01T00:00:03Z',
      fieldsV1: { 'f:data': { '.': {}, 'f:k0': {}, 'f:k1': {}, 'f:k2': {}, 'f:k3': {} } },
    });
    expect(updaters[9]).toMatchObject({ manager: 'u12' });
  });

  it('[V28] appliers come first, then entries by time and name', () => {
    const h = configMaps();
    h.update('z', () => cm({ z: '1' }));
    h.update('a', set('a', '1'));
    h.apply('y', cm({ y: '1' }));
    h.apply('b', cm({ b: '1' }));
    expect(h.entries().map((entry) => entry.manager)).toEqual(['y', 'b', 'z', 'a']);
  });

  it('[V28] a write whose only effect is a time has none', () => {
    const h = configMaps();
    h.apply('m1', cm({ a: '1' }));
    const live = h.live as JsonObject;
    const later = clone(live);
    for (const entry of listAt(later, 'metadata', 'managedFields') as JsonObject[]) {
      entry.time = '2031-01-01T00:00:00Z';
    }
    expect(settleTimes(live, later)).toEqual(live);
    const changed = { ...later, data: { a: '2' } };
    expect(settleTimes(live, changed)).toBe(changed);
  });
});

describe('the first apply to an object that nobody tracks', () => {
  it('[V28] finds its fields owned by before-first-apply', () => {
    const h = configMaps(cm({ a: '1', b: '1' }));
    h.update('x', (object) => object);
    expect(h.entries()).toEqual([]);
    expect(h.apply('m', cm({ a: '2' }))).toMatchObject({
      conflicts: [{ manager: 'before-first-apply', operation: 'Update', path: '.data.a' }],
    });
    h.apply('m', cm({ a: '1', c: '1' }));
    expect(h.owners()).toEqual({
      'm Apply': { 'f:data': { 'f:a': {}, 'f:c': {} } },
      'before-first-apply Update': { 'f:data': { '.': {}, 'f:a': {}, 'f:b': {} } },
    });
  });

  it('[V28] and so do objects whose managedFields cannot be read', () => {
    const h = configMaps(
      cm({ a: '1' }, { managedFields: [{ manager: 'm', operation: 'Apply', fieldsType: 'FieldsV0' }] }),
    );
    h.apply('m', cm({ b: '1' }));
    expect(Object.keys(h.owners())).toEqual(['m Apply', 'before-first-apply Update']);
  });
});

describe('kubectl going from client-side to server-side apply', () => {
  const annotated = (last: JsonObject, values: JsonObject): JsonObject =>
    cm(values, { annotations: { [lastAppliedAnnotation]: JSON.stringify(last) } });
  const clientSide = (last: JsonObject, values: JsonObject): History => {
    const h = configMaps();
    h.update('kubectl-client-side-apply', () => annotated(last, values));
    return h;
  };

  it('[V28] may change what it applied before, and the annotation follows', () => {
    const h = clientSide(cm({ a: '1' }), { a: '1' });
    expect(h.apply('other', cm({ a: '2' }))).toMatchObject({ conflicts: [{ path: '.data.a' }] });
    expect(h.apply('kubectl', cm({ a: '2' }))).toMatchObject({ changed: true });
    expect(data(h)).toEqual({ a: '2' });
    const annotation = objectAt(h.live, 'metadata', 'annotations')?.[lastAppliedAnnotation];
    expect(annotation).toBe(
      '{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"x"}}\n',
    );
    expect(h.owners()['kubectl Apply']).toEqual({ 'f:data': { 'f:a': {} } });
    expect(h.owners()['kubectl-client-side-apply Update']).not.toHaveProperty(['f:data', 'f:a']);
  });

  it('[V28] may not change what others changed since', () => {
    const h = clientSide(cm({ a: '1', b: '1' }), { a: '1', b: '1' });
    h.update('other', set('b', '7'));
    expect(h.apply('kubectl', cm({ a: '2', b: '2' }))).toMatchObject({
      conflicts: [{ manager: 'other', path: '.data.b' }],
    });
  });

  it('[V28] an annotation that cannot be read allows nothing', () => {
    const h = configMaps();
    h.update('kubectl-client-side-apply', () =>
      cm({ a: '1' }, { annotations: { [lastAppliedAnnotation]: '{' } }),
    );
    expect(h.apply('kubectl', cm({ a: '2' }))).toMatchObject({ conflicts: [{ path: '.data.a' }] });
  });
});

describe('subresources and reset fields', () => {
  const main = { resetFields: { 'f:status': {} } };
  const status = { subresource: 'status', resetFields: { 'f:spec': {} } };

  it('[V29] nobody comes to own what an endpoint resets', () => {
    const h = history(deployment, 'apps/v1');
    h.apply('m', deploy({ replicas: 1 }, { status: { replicas: 5 } }), main);
    expect(h.owners()).toEqual({ 'm Apply': { 'f:spec': { 'f:replicas': {} } } });
    h.apply(
      'ctl',
      deploy({ replicas: 9 }, { status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
      status,
    );
    expect(h.owners()['ctl Apply status']).toEqual({
      'f:status': { 'f:conditions': { 'k:{"type":"Ready"}': { '.': {}, 'f:status': {}, 'f:type': {} } } },
    });
    expect(h.owners()['m Apply']).toEqual({ 'f:spec': { 'f:replicas': {} } });
    h.apply('ctl', deploy({ replicas: 9 }), status);
    expect(Object.keys(h.owners())).toEqual(['m Apply']);
    h.update('ctl', (object) => ({ ...object, status: { replicas: 2 } }), status);
    expect(h.owners()['ctl Update status']).toEqual({ 'f:status': { 'f:replicas': {} } });
  });

  it('[V29] writers of a subresource are managers of their own', () => {
    const h = history(deployment, 'apps/v1');
    h.apply('m', deploy({ replicas: 1 }), main);
    h.apply('m', deploy({}, { status: { replicas: 1 } }), status);
    const outcome = h.apply('m2', deploy({}, { status: { replicas: 2 } }), status);
    expect('conflicts' in outcome && formatConflicts(outcome.conflicts).message).toBe(
      'Apply failed with 1 conflict: conflict with "m" with subresource "status": .status.replicas',
    );
    expect(Object.keys(h.owners())).toEqual(['m Apply', 'm Apply status']);
  });
});

describe('several versions', () => {
  // v1 holds spec.size where v2 holds spec.width.
  const v2: TypeSchema = {
    schema: {
      type: 'object',
      properties: {
        spec: { type: 'object', properties: { width: { type: 'integer' }, note: { type: 'string' } } },
      },
    },
    resolve: () => undefined,
  };
  const convert =
    (to: string) =>
    (object: JsonObject): JsonObject => {
      const { size, width, ...rest } = objectAt(object, 'spec') ?? {};
      const value = size ?? width;
      const name = to === 'x.dev/v1' ? 'size' : 'width';
      return {
        ...object,
        apiVersion: to,
        spec: { ...rest, ...(value === undefined ? {} : { [name]: value }) },
      };
    };
  const typeOf = (apiVersion: string) => {
    if (apiVersion === 'x.dev/v1') return { type: widget, convert: convert(apiVersion) };
    return apiVersion === 'x.dev/v2' ? { type: v2, convert: convert(apiVersion) } : undefined;
  };
  const inV2 = { apiVersion: 'x.dev/v2', type: v2, typeOf };
  const written = (): History => {
    const h = history(widget, 'x.dev/v1');
    h.apply('m', gadget({ size: 1, note: 'n' }));
    return h;
  };

  it('[V27] an applier keeps one entry when it moves to another version, and drops fields across versions', () => {
    const h = written();
    h.live = convert('x.dev/v2')(h.live as JsonObject);
    expect(h.apply('m', { ...gadget({ note: 'n' }), apiVersion: 'x.dev/v2' }, inV2)).toMatchObject({
      changed: true,
    });
    expect(h.live).toMatchObject({ apiVersion: 'x.dev/v2', spec: { note: 'n' } });
    expect(h.spec()).toEqual({ note: 'n' });
    expect(h.entries()).toMatchObject([{ apiVersion: 'x.dev/v2', fieldsV1: { 'f:spec': { 'f:note': {} } } }]);
  });

  it('[V27] conflicts are found in the version that the other manager wrote in', () => {
    const h = written();
    h.live = convert('x.dev/v2')(h.live as JsonObject);
    const wide = { ...gadget({ width: 2 }), apiVersion: 'x.dev/v2' };
    expect(h.apply('m2', wide, inV2)).toMatchObject({ conflicts: [{ manager: 'm', path: '.spec.size' }] });
    h.apply('m2', wide, { ...inV2, force: true });
    expect(h.owners()).toEqual({
      'm Apply': { 'f:spec': { 'f:note': {} } },
      'm2 Apply': { 'f:spec': { 'f:width': {} } },
    });
  });

  it('[V27] entries of versions that are no longer served go', () => {
    const h = written();
    h.update('u', (object) => ({ ...object, apiVersion: 'x.dev/v2', spec: { width: 4 } }), {
      ...inV2,
      typeOf: () => undefined,
    });
    expect(Object.keys(h.owners())).toEqual(['u Update']);
  });
});

describe('a schema that changes', () => {
  const withMap = (kind: 'atomic' | 'granular'): TypeSchema => ({
    schema: {
      type: 'object',
      properties: {
        spec: {
          type: 'object',
          properties: {
            map: { type: 'object', additionalProperties: { type: 'string' }, 'x-kubernetes-map-type': kind },
          },
        },
      },
    },
    resolve: () => undefined,
  });

  it('[V27] from granular to atomic: owners of parts own the whole', () => {
    const h = history(withMap('granular'), 'x.dev/v1');
    h.apply('m1', gadget({ map: { a: '1' } }));
    h.apply('m2', gadget({ map: { b: '1' } }));
    const later = trackUpdate({
      live: h.live,
      updated: { ...(h.live as JsonObject), metadata: { name: 'w', labels: { x: 'y' } } },
      manager: 'u',
      apiVersion: 'x.dev/v1',
      time: '2031-01-01T00:00:00Z',
      type: withMap('atomic'),
      resetFields: {},
    });
    expect(history(widget, 'x.dev/v1', later).owners()).toMatchObject({
      'm1 Apply': { 'f:spec': { 'f:map': {} } },
      'm2 Apply': { 'f:spec': { 'f:map': {} } },
    });
  });

  it('[V27] from atomic to granular: the owner of the whole keeps just that', () => {
    const h = history(withMap('atomic'), 'x.dev/v1');
    h.apply('m1', gadget({ map: { a: '1' } }));
    expect(h.apply('m2', gadget({ map: { b: '1' } }), { type: withMap('granular') } as never)).toMatchObject({
      changed: true,
    });
    expect(h.owners()).toMatchObject({ 'm1 Apply': { 'f:spec': { 'f:map': {} } } });
  });
});
