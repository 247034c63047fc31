import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ClusterName, clusterName, LOCAL_CLUSTER } from '../../kube/cluster-name.ts';
import { objectNameOf } from './kind.ts';
import { workerOf } from './sharing.ts';

const CLUSTERS: readonly ClusterName[] = Array.from({ length: 1_000 }, (_, index) =>
  clusterName(`c-${index}`),
);

function shares(workers: readonly string[]): Map<ClusterName, string | undefined> {
  return new Map(CLUSTERS.map((cluster) => [cluster, workerOf(cluster, workers)]));
}

describe('clusters shared by workers', () => {
  it('[R170] are nobody’s without one, and do not depend on the order in which workers are known', () => {
    expect(workerOf(clusterName('a'), [])).toBeUndefined();
    expect(shares(['x', 'y', 'z'])).toEqual(shares(['z', 'x', 'y']));
  });

  it.each([1, 2, 3, 9])(
    '[R170] of %i workers move to one that comes by about 1/n, and nowhere else',
    (count) => {
      const workers = Array.from({ length: count }, (_, index) => `worker-${index}`);
      const before = shares(workers);
      const after = shares([...workers, 'new']);
      const moved = CLUSTERS.filter((cluster) => after.get(cluster) !== before.get(cluster));
      expect(moved.every((cluster) => after.get(cluster) === 'new')).toBe(true);
      const fair = CLUSTERS.length / (count + 1);
      expect(moved.length).toBeGreaterThan(fair * 0.7);
      expect(moved.length).toBeLessThan(fair * 1.3);
    },
  );
});

describe('the object that stands for a cluster', () => {
  it('is called as the cluster, where that can be the name of an object', () => {
    expect(objectNameOf(clusterName('edge-1.example'))).toBe('edge-1.example');
  });

  it('has a name of its own for any other cluster', () => {
    const valid = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
    const names = fc.string({ minLength: 1, maxLength: 300, unit: 'grapheme' });
    fc.assert(
      fc.property(names, names, (a, b) => {
        const named = [a, b].flatMap((text) => {
          try {
            return [clusterName(text)];
          } catch {
            return [];
          }
        });
        for (const name of named) {
          expect(objectNameOf(name)).toMatch(valid);
          expect(objectNameOf(name).length).toBeLessThanOrEqual(253);
        }
        const [first, second] = named;
        if (first !== undefined && second !== undefined && first !== second)
          expect(objectNameOf(first)).not.toBe(objectNameOf(second));
      }),
    );
  });

  it('is none for the local cluster, whose name no provider can give', () => {
    expect(LOCAL_CLUSTER).toBe('');
    expect(() => clusterName('')).toThrow(RangeError);
    expect(() => clusterName('a\nb')).toThrow('control characters');
    expect(() => clusterName('a'.repeat(513))).toThrow('at most 512');
  });
});
