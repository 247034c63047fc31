import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clone, type JsonObject } from './json.ts';
import type { OpenApiSchema, TypeSchema } from './open-api-schema.ts';
import { PatchError } from './patch-error.ts';
import { applyStrategicMergePatch } from './strategic-merge-patch.ts';

const text: OpenApiSchema = { type: 'string' };
const definitions: Record<string, OpenApiSchema> = {
  Env: {
    type: 'object',
    properties: { name: text, value: text, valueFrom: { type: 'object', properties: { ref: text } } },
  },
  Port: { type: 'object', properties: { containerPort: { type: 'integer' }, protocol: text } },
  Container: {
    type: 'object',
    properties: {
      name: text,
      image: text,
      args: { type: 'array', items: text },
      env: {
        type: 'array',
        items: { $ref: '#/definitions/Env' },
        'x-kubernetes-patch-strategy': 'merge',
        'x-kubernetes-patch-merge-key': 'name',
      },
      ports: {
        type: 'array',
        items: { allOf: [{ $ref: '#/components/schemas/Port' }] },
        'x-kubernetes-patch-strategy': 'merge',
        'x-kubernetes-patch-merge-key': 'containerPort',
        'x-kubernetes-list-map-keys': ['containerPort', 'protocol'],
      },
    },
  },
  Volume: {
    type: 'object',
    properties: { name: text, emptyDir: { type: 'object' }, secret: { type: 'object' } },
  },
  Object: {
    type: 'object',
    properties: {
      metadata: {
        type: 'object',
        properties: {
          labels: { type: 'object', additionalProperties: text },
          finalizers: { type: 'array', items: text, 'x-kubernetes-patch-strategy': 'merge' },
        },
      },
      spec: {
        type: 'object',
        properties: {
          containers: {
            type: 'array',
            items: { $ref: '#/definitions/Container' },
            'x-kubernetes-patch-strategy': 'merge',
            'x-kubernetes-patch-merge-key': 'name',
          },
          volumes: {
            type: 'array',
            items: { $ref: '#/definitions/Volume' },
            'x-kubernetes-patch-strategy': 'merge,retainKeys',
            'x-kubernetes-patch-merge-key': 'name',
          },
          tolerations: { type: 'array', items: { type: 'object' } },
          strategy: {
            type: 'object',
            properties: { type: text, rollingUpdate: { type: 'object' } },
            'x-kubernetes-patch-strategy': 'retainKeys',
          },
          pinned: { type: 'object', 'x-kubernetes-patch-strategy': 'replace' },
        },
      },
    },
  },
};
const type: TypeSchema = { schema: { $ref: '#/definitions/Object' }, resolve: (name) => definitions[name] };

const apply = (live: JsonObject, patch: JsonObject): JsonObject =>
  applyStrategicMergePatch(live, patch, type);
const named = (...names: string[]): JsonObject[] => names.map((name) => ({ name }));
const containers = (live: JsonObject[], patch: JsonObject): unknown =>
  (apply({ spec: { containers: live } }, { spec: patch }).spec as JsonObject).containers;
const finalizers = (live: string[] | undefined, patch: JsonObject): unknown =>
  (apply({ metadata: live ? { finalizers: live } : {} }, { metadata: patch }).metadata as JsonObject)
    .finalizers;

describe('maps', () => {
  it('[V26] merges, deletes by null, and drops nulls for what is not there', () => {
    const live = { metadata: { labels: { a: '1', b: '2' } } };
    const patch = {
      metadata: { labels: { a: null, c: '3', d: null } },
      spec: { strategy: { type: 'x', rollingUpdate: null } },
    };
    expect(apply(live, patch)).toEqual({
      metadata: { labels: { b: '2', c: '3' } },
      spec: { strategy: { type: 'x' } },
    });
  });

  it('[V26] $patch: replace and delete work on a map', () => {
    const live = { metadata: { labels: { a: '1' } } };
    expect(apply(live, { metadata: { labels: { $patch: 'replace', b: '2' } } })).toEqual({
      metadata: { labels: { b: '2' } },
    });
    expect(apply(live, { metadata: { labels: { $patch: 'delete' } } })).toEqual({ metadata: { labels: {} } });
    expect(() => apply(live, { metadata: { labels: { $patch: 'merge', b: '2' } } })).toThrow(
      'unknown patch type: merge in map: map[$patch:merge b:2]',
    );
    expect(apply({}, { metadata: { labels: { $patch: 'merge', b: '2' } } })).toEqual({ metadata: {} });
    expect(apply({}, { metadata: { labels: { $patch: 'delete' } } })).toEqual({ metadata: {} });
    expect(() => apply(live, { metadata: { $patch: 'squash' } })).toThrow(
      'unknown patch type: squash in map: map[$patch:squash]',
    );
  });

  it('[V26] $retainKeys drops live keys that are not listed', () => {
    const live = { spec: { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } } };
    const patch = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate' } } };
    expect(apply(live, patch)).toEqual({ spec: { strategy: { type: 'Recreate' } } });
    const unlisted = { spec: { strategy: { $retainKeys: ['type'], type: 'Recreate', rollingUpdate: {} } } };
    expect(() => apply(live, unlisted)).toThrow('invalid patch format of retainKeys');
  });

  it('[V26] a map of strategy replace is replaced; where types differ the patch wins', () => {
    expect(apply({ spec: { pinned: { a: 1 } } }, { spec: { pinned: { b: 2 } } })).toEqual({
      spec: { pinned: { b: 2 } },
    });
    expect(apply({ spec: { pinned: 'x' } }, { spec: { pinned: { b: null, c: 1 } } })).toEqual({
      spec: { pinned: { c: 1 } },
    });
    expect(apply({ spec: { tolerations: {} } }, { spec: { tolerations: [1] } })).toEqual({
      spec: { tolerations: [1] },
    });
  });
});

describe('lists of maps', () => {
  it('[V26] merges elements by key and appends new ones', () => {
    const live = [
      { name: 'a', image: '1', args: ['x'] },
      { name: 'b', image: '1' },
    ];
    const patch = {
      containers: [
        { name: 'b', image: '2' },
        { name: 'c', image: '3', env: null },
      ],
    };
    expect(containers(live, patch)).toEqual([
      { name: 'a', image: '1', args: ['x'] },
      { name: 'b', image: '2' },
      { name: 'c', image: '3' },
    ]);
  });

  it('[V26] merges lists in elements, by a key that is a number too', () => {
    const live = [
      { name: 'a', env: [{ name: 'x', value: '1' }], ports: [{ containerPort: 80, protocol: 'TCP' }] },
    ];
    const patch = {
      containers: [
        { name: 'a', env: [{ name: 'y', value: '2' }], ports: [{ containerPort: 80, protocol: 'UDP' }] },
      ],
    };
    expect(containers(live, patch)).toEqual([
      {
        name: 'a',
        env: [
          { name: 'y', value: '2' },
          { name: 'x', value: '1' },
        ],
        ports: [{ containerPort: 80, protocol: 'UDP' }],
      },
    ]);
  });

  it('[V26] deletes elements by directive, also from the middle', () => {
    expect(containers(named('a', 'b', 'c'), { containers: [{ $patch: 'delete', name: 'b' }] })).toEqual(
      named('a', 'c'),
    );
    expect(containers(named('a'), { containers: [{ $patch: 'delete', name: 'z' }] })).toEqual(named('a'));
  });

  it('[V26] $patch: replace anywhere in the list makes the rest of it the list', () => {
    expect(containers(named('a', 'b'), { containers: [{ name: 'c' }, { $patch: 'replace' }] })).toEqual(
      named('c'),
    );
    expect(containers(named('a', 'b'), { containers: [{ $patch: 'replace' }] })).toEqual([]);
  });

  it('[V26] an element needs its merge key', () => {
    const attempt = (): unknown => containers(named('a'), { containers: [{ image: 'x' }] });
    expect(attempt).toThrow(PatchError);
    expect(attempt).toThrow('map: map[image:x] does not contain declared merge key: name');
    expect(() => containers(named('a'), { containers: [{ $patch: 'delete' }] })).toThrow(
      /does not contain declared merge key: name/,
    );
    expect(() => containers(named('a'), { containers: ['a'] })).toThrow(
      'list element types are not identical: [[map[name:a]] [a]]',
    );
    expect(() => containers(named('a'), { containers: [['a']] })).toThrow(/list of lists/);
  });

  it('[V26] a list without strategy is replaced, whatever its elements look like', () => {
    const live = { spec: { tolerations: [{ key: 'a' }] } };
    const tolerations = [
      { key: 'b', x: null },
      { key: 'a', $patch: 'delete' },
    ];
    expect(apply(live, { spec: { tolerations } })).toEqual({ spec: { tolerations } });
  });

  it('[V26] a volume changes its source by $retainKeys', () => {
    const live = {
      spec: {
        volumes: [
          { name: 'v', emptyDir: {} },
          { name: 'w', secret: {} },
        ],
      },
    };
    const patch = { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'secret'], secret: { a: 1 } }] } };
    expect(apply(live, patch)).toEqual({
      spec: {
        volumes: [
          { name: 'v', secret: { a: 1 } },
          { name: 'w', secret: {} },
        ],
      },
    });
  });

  it('[V26] directives are not stored with elements and maps that are new', () => {
    const patch = {
      containers: [
        {
          name: 'n',
          '$setElementOrder/env': [{ name: 'e' }],
          env: [{ name: 'e' }, { name: 'gone', $patch: 'delete' }],
        },
      ],
    };
    expect(containers(named('a'), patch)).toEqual(
      [...named('a'), { name: 'n', env: [{ name: 'e' }] }].reverse(),
    );
  });
});

describe('order', () => {
  it('[V26] $setElementOrder alone reorders; items of the server keep their place between', () => {
    const order = { '$setElementOrder/containers': named('d', 'b') };
    expect(containers(named('a', 'b', 'c', 'd'), order)).toEqual(named('a', 'c', 'd', 'b'));
  });

  it('[V26] $setElementOrder with changes: new items stand where the order has them', () => {
    const patch = {
      '$setElementOrder/containers': named('c', 'new', 'a'),
      containers: [{ name: 'new', image: 'x' }],
    };
    expect(containers(named('a', 'server', 'c'), patch)).toEqual([
      { name: 'server' },
      { name: 'c' },
      { name: 'new', image: 'x' },
      { name: 'a' },
    ]);
  });

  it('[V26] what kubectl sends to remove one container and keep the others', () => {
    const patch = {
      '$setElementOrder/containers': named('a', 'c'),
      containers: [{ $patch: 'delete', name: 'b' }],
    };
    expect(containers(named('a', 'injected', 'b', 'c'), patch)).toEqual(named('a', 'injected', 'c'));
  });

  it('[V26] the order must list what the patch brings, in its sequence', () => {
    const twisted = { '$setElementOrder/containers': named('a', 'b'), containers: named('b', 'a') };
    expect(() => containers(named('a'), twisted)).toThrow(
      "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
    );
    const unlisted = { '$setElementOrder/containers': named('a'), containers: named('b') };
    expect(() => containers(named('a'), unlisted)).toThrow(PatchError);
    expect(() => containers(named('a'), { '$setElementOrder/containers': 'a' })).toThrow(
      /expected a \[\]interface \{\}, but received a/,
    );
    expect(() => containers(named('a'), { '$setElementOrder/containers': [{}] })).toThrow(/merge key/);
  });

  it('[V26] an order for a list that nobody has is nothing; null still deletes', () => {
    expect(apply({ spec: {} }, { spec: { '$setElementOrder/containers': named('a') } })).toEqual({
      spec: {},
    });
    const patch = { '$setElementOrder/containers': named('a'), containers: null };
    expect(apply({ spec: { containers: named('a') } }, { spec: patch })).toEqual({ spec: {} });
  });

  it('[V26] holds for any lists: the order of the patch and the order of the server both survive', () => {
    const names = fc.uniqueArray(fc.constantFrom<string>('a', 'b', 'c', 'd', 'e', 'f'));
    fc.assert(
      fc.property(names, names, (live, order) => {
        const out = (
          containers(named(...live), { '$setElementOrder/containers': named(...order) }) as JsonObject[]
        ).map((item) => item.name as string);
        expect([...out].sort()).toEqual([...live].sort());
        expect(out.filter((name) => order.includes(name))).toEqual(
          order.filter((name) => live.includes(name)),
        );
        expect(out.filter((name) => !order.includes(name))).toEqual(
          live.filter((name) => !order.includes(name)),
        );
      }),
    );
  });
});

describe('lists of scalars', () => {
  it('[V26] are a union: items of the patch in its order, those of the server between', () => {
    expect(finalizers(['a', 'b'], { finalizers: ['c'] })).toEqual(['c', 'a', 'b']);
    expect(finalizers(['a', 'b'], { finalizers: ['b', 'c'] })).toEqual(['a', 'b', 'c']);
    expect(finalizers(undefined, { finalizers: ['a'] })).toEqual(['a']);
    expect(finalizers([], { finalizers: [] })).toEqual([]);
  });

  it('[V26] $deleteFromPrimitiveList removes, together with additions and an order', () => {
    expect(finalizers(['a', 'b'], { '$deleteFromPrimitiveList/finalizers': ['a', 'z'] })).toEqual(['b']);
    expect(finalizers(undefined, { '$deleteFromPrimitiveList/finalizers': ['a'] })).toBeUndefined();
    const patch = {
      '$deleteFromPrimitiveList/finalizers': ['a'],
      '$setElementOrder/finalizers': ['c', 'b'],
      finalizers: ['c'],
    };
    expect(finalizers(['a', 'b', 's'], patch)).toEqual(['c', 'b', 's']);
  });
});

describe('algebra', () => {
  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const item = fc.record({ name, image: fc.constantFrom('1', '2') }, { requiredKeys: ['name'] });
  const list = fc.uniqueArray(item, { selector: (value) => value.name });
  const object = fc.record({
    metadata: fc.record(
      { labels: fc.dictionary(name, fc.constantFrom('1', '2')), finalizers: fc.uniqueArray(name) },
      { requiredKeys: [] },
    ),
    spec: fc.record({ containers: list, tolerations: list }, { requiredKeys: [] }),
  }) as unknown as fc.Arbitrary<JsonObject>;

  it('[V26] the empty patch changes nothing, an object patched with itself stays, twice is as once', () => {
    fc.assert(
      fc.property(object, object, (live, patch) => {
        const before = clone([live, patch]);
        expect(apply(live, {})).toEqual(live);
        expect(apply(live, live)).toEqual(live);
        const once = apply(live, patch);
        expect(apply(once, patch)).toEqual(once);
        expect([live, patch]).toEqual(before);
      }),
    );
  });
});
