import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { type ClaimTerms, createClaims } from './claims.ts';

const REF = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', name: 'settings' };

function settings(side: string): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { namespace: 'shop', name: 'settings', labels: { side } },
  };
}

function ofSide(side: string): ClaimTerms {
  return {
    selectors: [
      { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'shop', labelSelector: { matchLabels: { side } } },
    ],
    source: { kind: 'Propagation', namespace: 'shop', name: side },
    isSent: true,
  };
}

describe('who has an object next', () => {
  it('is also one that selects it as it is now and was not looked at since', () => {
    let present: KubeObject | undefined = settings('right');
    const terms = new Map(['left', 'right'].map((side) => [side, ofSide(side)]));
    const claims = createClaims({
      terms: (key) => terms.get(key),
      present: () => present,
      onChange: () => undefined,
    });
    for (const key of terms.keys()) claims.touch(key);
    expect(claims.heirOf('left', REF)).toBe('right');
    expect(claims.heirOf('right', REF)).toBe('right');
    present = settings('nobody');
    expect(claims.heirOf('left', REF)).toBe(undefined);
    // It was deleted: nobody is to have it.
    present = undefined;
    expect(claims.heirOf('left', REF)).toBe(undefined);
    present = settings('right');
    terms.delete('right');
    claims.touch('right');
    expect(claims.heirOf('left', REF)).toBe(undefined);
  });

  it('may be any that asks for its kind and was not looked at, before that kind was read', () => {
    let isRead = false;
    const terms = new Map([['right', ofSide('right')]]);
    const claims = createClaims({
      terms: (key) => terms.get(key),
      present: () => undefined,
      isRead: () => isRead,
      onChange: () => undefined,
    });
    claims.touch('right');
    // A dying one has no terms any more.
    expect(claims.heirOf('left', REF)).toBe('right');
    expect(claims.heirOf('right', REF)).toBe(undefined);
    expect(claims.heirOf('left', { ...REF, kind: 'Secret' })).toBe(undefined);
    expect(claims.heirOf('left', { ...REF, namespace: 'other' })).toBe(undefined);
    isRead = true;
    expect(claims.heirOf('left', REF)).toBe(undefined);
  });
});
