import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import type { JsonObject } from '../../schema/json.ts';
import { applyJsonPatch } from '../../schema/json-patch.ts';
import type { ClusterFacts, SourceRef } from '../intent.ts';
import { compileClusterPatches, isPlane, mergeOperations, parsePlane } from './cluster-patches.ts';
import { render } from './render.ts';

const SOURCE: SourceRef = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'Propagation',
  namespace: 'shop',
  name: 'web',
  uid: 'u',
  generation: 1,
};

const object = (kind: string, name: string, more: object = {}): KubeObject => ({
  apiVersion: kind === 'Deployment' ? 'apps/v1' : 'v1',
  kind,
  metadata: { name, namespace: 'shop' },
  ...more,
});

const cluster = (...patches: readonly (readonly [string, string, JsonObject])[]): ClusterFacts => ({
  name: 'a',
  labels: {},
  patches: patches.map(([plane, component, properties], index) => ({
    name: `patches[${index}]`,
    plane: parsePlane(plane, 'default'),
    component,
    properties,
  })),
});

const merged = (document: JsonObject, value: JsonObject): unknown =>
  applyJsonPatch(document, mergeOperations(document, value) as unknown as JsonObject[]);

describe('properties', () => {
  it('are merged by key, lists as a whole, and null takes away', () => {
    const before = { spec: { a: 1, list: [1, 2], inner: { x: 1, y: 2 } }, data: { k: 'v' } };
    const value = {
      spec: { list: [3], inner: { y: 3, z: { n: null, m: 1 } }, gone: null },
      data: { k: null },
    };
    expect(merged(before, value)).toEqual({
      spec: { a: 1, list: [3], inner: { x: 1, y: 3, z: { m: 1 } } },
      data: {},
    });
  });

  it('replace what is of another type, and keys with any signs', () => {
    expect(merged({ a: [1], b: { c: 1 }, d: 'x' }, { a: { k: 1 }, b: [2], d: null, 'e/~f': 1 })).toEqual({
      a: { k: 1 },
      b: [2],
      'e/~f': 1,
    });
    const odd = JSON.parse('{"__proto__": {"polluted": true}, "ключ": "значение"}') as JsonObject;
    const result = (() => {
      try {
        return merged({}, odd) as JsonObject;
      } catch {
        return undefined;
      }
    })();
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    if (result) expect(result['ключ']).toBe('значение');
  });
});

describe('planes', () => {
  it.each([
    ['web', 'default', 'web', true],
    ['web', 'shop', 'web', false],
    ['web', '', 'web', true],
    ['shop/web', 'shop', 'web', true],
    ['Propagation/shop/web', 'shop', 'web', true],
    ['Propagation/web', 'default', 'web', true],
    ['ClusterPropagation/shop/web', 'shop', 'web', false],
    ['a/b/c', 'b', 'c', false],
    ['/', '', '', true],
  ])('%s means %s/%s: %s', (text, namespace, name, expected) => {
    expect(isPlane(parsePlane(text, 'default'), { kind: 'Propagation', namespace, name })).toBe(expected);
  });
});

describe('patches of a cluster', () => {
  const objects = [object('Deployment', 'web', { spec: { replicas: 1 } }), object('Service', 'web')];

  it('change one object of the intent that they name, after its own patches, the last of several winning', () => {
    const before = [
      {
        target: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' },
        operations: [{ op: 'replace' as const, path: '/spec/replicas', value: 7 }],
        override: 0,
      },
    ];
    const { patches, problems } = compileClusterPatches(
      SOURCE,
      objects,
      cluster(
        ['shop/web', 'deployment/web', { spec: { replicas: 3 } }],
        ['shop/web', 'Deployment/shop/web', { spec: { replicas: 5, paused: true } }],
        ['other', 'web', { spec: { replicas: 9 } }],
      ),
      before,
    );
    expect(problems).toEqual([]);
    const [web, service] = render(objects, [...before, ...patches]).objects;
    expect(web?.['spec']).toEqual({ replicas: 5, paused: true });
    expect(service).toEqual(objects[1]);
  });

  it.each([
    ['nothing', 'UnknownComponent', 'it has Deployment/shop/web, Service/shop/web', false, {}],
    ['web', 'AmbiguousComponent', 'name one of Deployment/shop/web, Service/shop/web', true, {}],
    ['Service/web', 'PatchRefused', 'may not change status', true, { status: { x: 1 } }],
    ['Service/web', 'PatchRefused', 'may not change metadata.name', true, { metadata: { name: 'x' } }],
    [
      'Service/web',
      'PatchRefused',
      'metadata.labels[atoll.dev/dispatch]',
      true,
      { metadata: { labels: { 'atoll.dev/dispatch': 'x' } } },
    ],
    ['Service/web', 'PatchRefused', 'may not change kind', true, { kind: 'Secret' }],
    ['Service/web', 'PatchRefused', 'metadata', true, { metadata: 'x' }],
  ])('of %s: %s, %s', (component, reason, message, blocks, properties) => {
    const { patches, problems } = compileClusterPatches(
      SOURCE,
      objects,
      cluster(
        ['shop/web', component, properties as JsonObject],
        ['shop/web', 'Deployment/web', { spec: { replicas: 2 } }],
      ),
      [],
    );
    expect(problems).toMatchObject([{ reason, blocks, message: expect.stringContaining(message) }]);
    // The others are not lost.
    expect(patches).toHaveLength(1);
  });
});
