import { describe, expect, it } from 'vitest';
import type { KubeObject, ObjectMeta } from '../../kube/object.ts';
import { validateDns1123Subdomain } from '../../schema/names.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from './object-meta.ts';
import { texts } from './testdata/write.ts';

function thing(metadata: ObjectMeta): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata };
}

function check(metadata: ObjectMeta, custom = false): string[] {
  return texts(
    validateObjectMeta(thing(metadata), { namespaced: true, validateName: validateDns1123Subdomain, custom }),
  );
}

describe('object metadata', () => {
  it('accepts what most objects have', () => {
    expect(
      check({
        name: 'a.b-c',
        namespace: 'shop',
        labels: { app: 'cart', 'example.com/tier': '' },
        annotations: { 'Example.COM/note': 'anything\nat all' },
        finalizers: ['example.com/hold', 'orphan'],
      }),
    ).toEqual([]);
  });

  it('needs a name and a namespace', () => {
    expect(check({})).toEqual([
      'metadata.name: Required value: name or generateName is required',
      'metadata.namespace: Required value',
    ]);
    const cluster = validateObjectMeta(thing({ name: 'n', namespace: 'shop' }), {
      namespaced: false,
      validateName: validateDns1123Subdomain,
    });
    expect(texts(cluster)).toEqual(['metadata.namespace: Forbidden: not allowed on this type']);
  });

  it('lets generateName end in a dash', () => {
    expect(check({ name: 'cart-x7k2p', generateName: 'cart-', namespace: 'shop' })).toEqual([]);
  });

  it('limits the size of all annotations together', () => {
    const annotations = { a: 'x'.repeat(200_000), b: 'y'.repeat(70_000) };
    expect(check({ name: 'a', namespace: 'shop', annotations })).toEqual([
      'metadata.annotations: Too long: may not be more than 262144 bytes',
    ]);
  });

  it('asks for a domain in finalizers of built-in kinds only', () => {
    const metadata = { name: 'a', namespace: 'shop', finalizers: ['hold'] };
    expect(check(metadata)).toEqual([
      'metadata.finalizers[0]: Invalid value: "hold": name is neither a standard finalizer name nor is it fully qualified',
    ]);
    expect(check(metadata, true)).toEqual([]);
  });

  it('takes one controlling owner', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', uid: 'u', controller: true };
    const ownerReferences = [
      { ...owner, name: 'a' },
      { ...owner, name: 'b' },
    ];
    expect(check({ name: 'a', namespace: 'shop', ownerReferences })[0]).toContain(
      'Only one reference can have Controller set to true. Found "true" in references for Deployment/a and Deployment/b',
    );
    expect(
      check({
        name: 'a',
        namespace: 'shop',
        ownerReferences: [{ apiVersion: '', kind: '', name: '', uid: '' }],
      }),
    ).toHaveLength(4);
  });
});

describe('updates of object metadata', () => {
  const old = thing({
    name: 'a',
    namespace: 'shop',
    uid: 'u',
    creationTimestamp: '2024-01-01T00:00:00Z',
    generation: 2,
  });

  function change(metadata: ObjectMeta, from = old): string[] {
    return texts(validateObjectMetaUpdate(thing({ ...from.metadata, ...metadata }), from));
  }

  it('keeps identity and times', () => {
    expect(change({})).toEqual([]);
    expect(change({ uid: 'other', deletionTimestamp: '2020-01-01T00:00:00Z' })).toEqual([
      'metadata.deletionTimestamp: Invalid value: 2020-01-01 00:00:00 +0000 UTC: field is immutable',
      'metadata.uid: Invalid value: "other": field is immutable',
    ]);
    expect(change({ generation: 1 })).toEqual([
      'metadata.generation: Invalid value: 1: must not be decremented',
    ]);
  });

  it('still have labels and annotations of the right form', () => {
    expect(change({ labels: { 'a b': 'x' } })).toHaveLength(1);
    expect(change({ annotations: { big: 'x'.repeat(300_000) } })).toHaveLength(1);
  });

  it('[V14] takes no new finalizers on an object that is being deleted', () => {
    const deleting = thing({
      ...old.metadata,
      deletionTimestamp: '2024-02-01T00:00:00Z',
      finalizers: ['x.io/a', 'x.io/b'],
    });
    expect(change({ finalizers: ['x.io/b'] }, deleting)).toEqual([]);
    expect(change({ finalizers: ['x.io/b', 'x.io/c'] }, deleting)).toEqual([
      'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"x.io/c"}',
    ]);
  });
});
