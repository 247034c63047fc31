import { describe, expect, it } from 'vitest';
import { patchedProperties } from './cluster-patches.ts';
import type { SpokeCluster } from './types.ts';

const spoke = (...patches: NonNullable<SpokeCluster['spec']['patches']>): SpokeCluster => ({
  apiVersion: 'core.oam.dev/v1beta1',
  kind: 'SpokeCluster',
  metadata: { name: 'a' },
  spec: { credential: { type: 'tunnel' }, patches },
});

describe('the patches of a cluster', () => {
  it('change the properties of the component that they name, and of no other', () => {
    const one = spoke({ plane: 'web', component: 'shop', properties: { replicaCount: 5 } });
    const properties = { replicaCount: 2, image: 'shop:1' };
    expect(patchedProperties(one, 'web', 'shop', properties)).toEqual({ replicaCount: 5, image: 'shop:1' });
    expect(patchedProperties(one, 'web', 'cart', properties)).toBe(properties);
    expect(patchedProperties(one, 'data', 'shop', properties)).toBe(properties);
    expect(patchedProperties(spoke(), 'web', 'shop', properties)).toBe(properties);
    expect(properties).toEqual({ replicaCount: 2, image: 'shop:1' });
  });

  it('merge maps by key and replace lists, the later over the earlier', () => {
    const two = spoke(
      { plane: 'web', component: 'shop', properties: { env: { A: '1', B: '1' }, ports: [80] } },
      { plane: 'web', component: 'shop', properties: { env: { B: '2' } } },
    );
    expect(patchedProperties(two, 'web', 'shop', { env: { C: '0' }, ports: [1, 2] })).toEqual({
      env: { A: '1', B: '2', C: '0' },
      ports: [80],
    });
  });

  it('touch nothing but properties', () => {
    const evil = spoke({
      plane: 'web',
      component: 'shop',
      properties: JSON.parse('{"__proto__":{"polluted":true}}'),
    });
    const merged = patchedProperties(evil, 'web', 'shop', {});
    expect(Object.getPrototypeOf(merged)).toBe(Object.prototype);
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });
});
