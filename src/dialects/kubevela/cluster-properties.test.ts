import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../kube/object.ts';
import { clusterPropertiesOf } from './cluster-properties.ts';

const property = (name: string, value: string, labels: Record<string, string> = {}): KubeObject => ({
  apiVersion: 'about.k8s.io/v1beta1',
  kind: 'ClusterProperty',
  metadata: { name, labels },
  spec: { value },
});

describe('what a cluster says of itself', () => {
  it('[S21] are at most 20 custom claims, and any number of those with reserved names', () => {
    const custom = Array.from({ length: 25 }, (_, i) =>
      property(`custom-${String(i).padStart(2, '0')}`, `${i}`),
    );
    const reserved = Array.from({ length: 30 }, (_, i) => property(`c${i}.open-cluster-management.io`, 'x'));
    const told = clusterPropertiesOf([], [...custom, ...reserved, property('id.k8s.io', 'u-1')]);
    const names = Object.keys(told);
    expect(names.filter((name) => name.startsWith('custom-'))).toEqual(
      custom.slice(0, 20).map(({ metadata }) => metadata.name),
    );
    expect(names).toHaveLength(20 + 30 + 1);
    expect(told['id.k8s.io']).toBe('u-1');
  });

  it('[S21] leaves out what is labelled for the spoke only', () => {
    const label = { 'open-cluster-management.io/spoke-only': '' };
    expect(clusterPropertiesOf([property('a', '1', label), property('b', '2')], [])).toEqual({ b: '2' });
  });

  it('prefers a property to a claim of its name, and leaves out what has no value or one that is too long', () => {
    const none = { ...property('none', ''), spec: {} };
    const long = property('long', 'x'.repeat(2_000));
    expect(clusterPropertiesOf([property('a', 'property')], [property('a', 'claim'), none, long])).toEqual({
      a: 'property',
    });
  });
});
