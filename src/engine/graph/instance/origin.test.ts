import { describe, expect, it } from 'vitest';
import { hubName, hubNamespace, placeOnHub } from './origin.ts';

describe('places on the hub', () => {
  it('of two clusters are never the same, however they and their namespaces are called', () => {
    const pairs = [
      ['a', 'b-c'],
      ['a-b', 'c'],
      ['a.b', 'c'],
      ['a', 'b.c'],
      ['a-b-c', ''],
      ['ab', 'c'],
    ] as const;
    const found = pairs.map(([cluster, namespace]) => hubNamespace(cluster, namespace));
    expect(new Set(found).size).toBe(pairs.length);
    for (const namespace of found) expect(namespace).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  });

  it('are valid names also where the names that they come from are long', () => {
    const long = `${'x'.repeat(62)}.`.repeat(3) + 'y'.repeat(60);
    expect(hubNamespace(long, 'n'.repeat(63)).length).toBeLessThanOrEqual(63);
    expect(hubNamespace(long, 'n'.repeat(63))).not.toBe(hubNamespace(long, 'n'.repeat(62)));
    expect(hubName(long, long).length).toBeLessThanOrEqual(253);
    expect(hubNamespace('a'.repeat(52), '-')).toMatch(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
  });

  it('leave nothing to be chosen by whoever looks for a namespace that meets that of another cluster', () => {
    // All of these read alike, so that only the digest tells them from `a-b`, `shop`.
    const tails = ['x', 'y', 'some-other-tail'].map((tail) => `b-shop${'-'.repeat(44)}${tail}`);
    for (const tail of tails) expect(hubNamespace('a', tail)).toMatch(/^a-b-shop-[0-9a-f]{24}$/);
    expect(hubNamespace('a-b', 'shop')).toMatch(/^a-b-shop-[0-9a-f]{10}$/);
    expect(hubName('a', `b-${'x'.repeat(250)}`)).toMatch(/x-[0-9a-f]{24}$/);
  });

  it('keep the name where there is a namespace, and are told apart by the name where there is none', () => {
    const wanted = { namespace: 'default', name: 'shop' };
    expect(placeOnHub('a', true, wanted)).toEqual({ namespace: hubNamespace('a', 'default'), name: 'shop' });
    expect(placeOnHub('a', false, wanted)).toEqual({ namespace: '', name: hubName('a', 'shop') });
  });
});
