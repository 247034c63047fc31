import { describe, expect, it } from 'vitest';
import { differenceOf } from './same-wish.ts';
import type { BindingSpec, ListedObject } from './types.ts';

const listed = (name: string, more: object = {}): ListedObject => ({
  ...{ group: '', version: 'v1', resource: 'configmaps', namespace: 'shop', name },
  ...more,
});
const spec = (names: readonly ListedObject[], clusters: readonly string[]): BindingSpec => ({
  workload: { namespaceScope: names },
  destinations: clusters.map((clusterId) => ({ clusterId })),
});

describe('a Binding and a policy', () => {
  it('say the same whatever their order, versions and flags that ask for nothing', () => {
    expect(differenceOf(undefined, spec([], []))).toBeUndefined();
    const mine = spec(
      [listed('b', { resourceVersion: '7', createOnly: false }), listed('ä')],
      ['y', 'x', 'x'],
    );
    const wanted = spec([listed('ä', { version: 'v2' }), listed('b', { statusCollectors: [] })], ['x', 'y']);
    expect(differenceOf(mine, wanted)).toBeUndefined();
  });

  it.each([
    [spec([], ['x']), 'it goes to x, the policy to y'],
    [spec([], []), 'it goes to no cluster, the policy to y'],
    [spec([], ['a', 'b', 'c', 'd', 'e']), 'it goes to a, b, c, d and 1 more, the policy to y'],
    [spec([], ['y']), 'configmaps shop/a is of the policy only'],
    [spec([listed('a'), listed('b')], ['y']), 'configmaps shop/b is in the Binding only'],
    [
      spec([listed('a', { statusCollectors: ['c'] })], ['y']),
      'configmaps shop/a is not brought in the same way (createOnly, wanted states, collectors)',
    ],
  ])('say %j otherwise', (mine, text) => {
    expect(differenceOf(mine, spec([listed('a')], ['y']))).toBe(text);
  });
});
