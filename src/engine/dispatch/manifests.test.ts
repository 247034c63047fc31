import { describe, expect, it } from 'vitest';
import { MAX_MANIFEST_BYTES, manifestProblems } from './index.ts';

const map = (name: string, more: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'shop' },
  ...more,
});
const problems = (...manifests: unknown[]): string[] =>
  manifestProblems(manifests).map(({ message }) => message);

describe('the manifests of an order', () => {
  it('are in order where each is one object by name', () => {
    const elsewhere = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a', namespace: 'other' } };
    expect(problems(map('a'), map('b'), elsewhere, { ...map('a'), kind: 'Secret' })).toEqual([]);
  });

  it.each([
    ['none at all', [], 'it orders no object; select at least one'],
    ['an empty one', [map('a'), {}], 'manifest 1 is empty: it needs apiVersion, kind and metadata.name'],
    ['nothing', [null], 'manifest 0 is empty: it needs apiVersion, kind and metadata.name'],
    ['one without a kind', [{ apiVersion: 'v1', metadata: { name: 'a' } }], 'manifest 0 is empty'],
    ['one twice', [map('a'), map('b'), map('a')], 'ConfigMap shop/a is ordered twice (manifests 0 and 2)'],
    [
      'one twice in two versions',
      [
        { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'a' } },
        { apiVersion: 'apps/v1beta1', kind: 'Deployment', metadata: { name: 'a' } },
      ],
      'Deployment a is ordered twice (manifests 0 and 1)',
    ],
    [
      'a generated name',
      [{ apiVersion: 'v1', kind: 'Pod', metadata: { generateName: 'web-' } }],
      'Pod web-… (manifest 0) has metadata.generateName',
    ],
    [
      'a generated name beside a name',
      [{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', generateName: 'web-' } }],
      'Pod web-… (manifest 0) has metadata.generateName',
    ],
    ['no name', [{ apiVersion: 'v1', kind: 'Pod', metadata: {} }], 'a Pod (manifest 0) has no metadata.name'],
    ['no metadata', [{ apiVersion: 'v1', kind: 'Pod' }], 'a Pod (manifest 0) has no metadata.name'],
    [
      'one too large',
      [map('big', { data: { a: 'x'.repeat(MAX_MANIFEST_BYTES) } })],
      'ConfigMap shop/big has 1409 KiB',
    ],
  ])('%s is told', (_what, manifests, text) => {
    const [first, ...more] = problems(...manifests);
    expect(first).toContain(text);
    expect(more).toEqual([]);
  });

  it('are counted in bytes, and told of in number', () => {
    const wide = map('wide', { data: { a: 'é'.repeat(MAX_MANIFEST_BYTES / 2) } });
    expect(problems(wide)).toHaveLength(1);
    expect(problems(map('fits', { data: { a: 'x'.repeat(MAX_MANIFEST_BYTES - 1024) } }))).toEqual([]);
    expect(problems(...Array.from({ length: 100 }, () => ({})))).toHaveLength(20);
  });
});
