import { describe, expect, it } from 'vitest';
import type { DispatchSpec } from '../engine/dispatch/index.ts';
import type { ObjectRef } from '../kube/object.ts';
import { claim, tooMuchToRemember } from './memory.ts';

const source = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'Propagation',
  namespace: 'shop',
  name: 'shop',
  uid: 'u',
  generation: 1,
};
const order = (objects: readonly ObjectRef[], removed: readonly ObjectRef[] = []): DispatchSpec => ({
  source,
  position: { lineage: 'a1b2c3d4-0000', epoch: 1, generation: 1 },
  revision: 'r',
  bundles: [],
  objects,
  patches: [],
  tombstones: removed.map((ref) => ({ ref, reason: 'it is not selected any more' })),
  publicKey: 'k',
});
const refs = (count: number): ObjectRef[] =>
  Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    namespace: 'shop',
    name: `settings-${index}`,
  }));

describe('what a spoke remembers of an order', () => {
  it('has room for taking all of it away again, however much it takes', () => {
    let most = 0;
    for (let count = 4_000; count < 8_000; count += 500)
      if (tooMuchToRemember(order(refs(count)), claim([], order(refs(count)), new Map())) === undefined)
        most = count;
    expect(most).toBeGreaterThanOrEqual(5_000);
    const uid = '0f6bd0a2-6c0c-4d51-9d0c-1d8a1f3f3f3f';
    const owned = claim([], order(refs(most)), new Map()).map((one) => ({ ...one, uid }));
    expect(tooMuchToRemember(order([], refs(most)), owned)).toBeUndefined();
  });

  it('names objects in the version of the newest order', () => {
    const ref = { apiVersion: 'example.com/v1beta1', kind: 'Widget', namespace: 'shop', name: 'w' };
    const before = claim([], order([ref]), new Map()).map((one) => ({ ...one, uid: 'made' }));
    const next = { ...ref, apiVersion: 'example.com/v1' };
    expect(claim(before, order([next]), new Map())).toEqual([{ ref: next, uid: 'made' }]);
  });
});
