import { expect, it } from 'vitest';
import type { Dispatch } from '../../engine/dispatch/index.ts';
import { sharedSpecs } from './shared-specs.ts';

function read(name: string, spec: object): Dispatch {
  const content = { objects: [{ kind: 'ConfigMap', name: 'a' }], patches: [], ...spec };
  return JSON.parse(
    JSON.stringify({ apiVersion: 'atoll.dev/v1alpha1', kind: 'Dispatch', metadata: { name }, spec: content }),
  ) as Dispatch;
}

it('keeps what the orders of an intent have in common once, and says the same', () => {
  const shared = sharedSpecs();
  const first = read('shop', { signature: 'x' });
  const second = read('shop', { signature: 'y', patches: [{ op: 'remove' }] });
  const other = read('other', { signature: 'z' });
  for (const dispatch of [first, second, other]) shared.share(dispatch, undefined);
  expect(second).toEqual(read('shop', { signature: 'y', patches: [{ op: 'remove' }] }));
  expect(second.spec.objects).toBe(first.spec.objects);
  expect(second.spec.patches).not.toBe(first.spec.patches);
  expect(other.spec.objects).not.toBe(first.spec.objects);
});

it('keeps a spec that did not change', () => {
  const shared = sharedSpecs();
  const before = read('shop', { signature: 'x' });
  shared.share(before, undefined);
  const after = read('shop', { signature: 'x' });
  shared.share(after, before);
  expect(after.spec).toBe(before.spec);
  const changed = read('shop', { signature: 'y' });
  shared.share(changed, after);
  expect(changed.spec.signature).toBe('y');
});

it('takes nothing from names that every object has', () => {
  const shared = sharedSpecs();
  shared.share(read('shop', {}), undefined);
  const odd = read('shop', { constructor: 'c', toString: null });
  shared.share(odd, undefined);
  expect(odd.spec).toEqual(read('shop', { constructor: 'c', toString: null }).spec);
});
