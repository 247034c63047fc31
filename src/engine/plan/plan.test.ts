import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type KubeObject, refKey, refOf } from '../../kube/object.ts';
import type { ClusterFacts, Intent } from '../intent.ts';
import { budgetOf, planIntent, tombstonesBetween } from './plan.ts';

const source = {
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'Propagation',
  namespace: 'shop',
  name: 'shop',
  uid: 'u-1',
  generation: 1,
};

function map(name: string, colour: string = 'red'): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'shop' }, data: { colour } };
}

function intent(changes: Partial<Intent> = {}): Intent {
  return {
    source,
    objects: [map('a'), map('b')],
    placement: { clusterSelector: {} },
    overrides: [],
    suspend: false,
    deletionBudget: '50%',
    ...changes,
  };
}

const clusters: ClusterFacts[] = ['oslo', 'bern', 'rome'].map((name) => ({ name, labels: { site: name } }));

describe('a plan', () => {
  it('does not depend on the order of clusters', () => {
    const overrides = [
      { clusterNames: ['bern'], patch: [{ op: 'add' as const, path: '/data/x', value: 1 }] },
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(clusters, { minLength: 3 }), (list) => {
        const [one, other] = [
          planIntent(intent({ overrides }), clusters),
          planIntent(intent({ overrides }), list),
        ];
        expect(other.digest).toBe(one.digest);
        expect(other.decision).toEqual(one.decision);
      }),
    );
  });

  it('is known by its digest: another where any spoke is asked for something else', () => {
    const base = planIntent(intent(), clusters).digest;
    expect(planIntent(intent(), clusters).digest).toBe(base);
    expect(planIntent(intent({ deletionBudget: 3 }), clusters).digest).toBe(base);
    const others = [
      planIntent(intent({ objects: [map('a')] }), clusters),
      planIntent(intent({ objects: [map('a', 'blue'), map('b')] }), clusters),
      planIntent(intent({ placement: { clusterNames: ['oslo'] } }), clusters),
      planIntent(intent({ overrides: [{ patch: [{ op: 'add', path: '/data/x', value: 1 }] }] }), clusters),
      planIntent(intent(), clusters.slice(1)),
    ].map((plan) => plan.digest);
    expect(new Set([base, ...others]).size).toBe(6);
  });

  it('packs content once for all clusters, and not again while it is the same', () => {
    const plan = planIntent(intent(), clusters);
    expect(plan.bundles).toHaveLength(1);
    const relabelled = planIntent(intent({ placement: { clusterNames: ['oslo'] } }), clusters, plan);
    expect(relabelled.bundles).toBe(plan.bundles);
    expect(planIntent(intent({ objects: [] }), clusters).bundles).toEqual([]);
  });

  it('blocks the clusters on which an override fails, and no other', () => {
    const plan = planIntent(
      intent({ overrides: [{ clusterNames: ['bern'], patch: [{ op: 'remove', path: '/data/none' }] }] }),
      clusters,
    );
    expect([...plan.blocked.keys()]).toEqual(['bern']);
    expect([...plan.patches.keys()].sort()).toEqual(['oslo', 'rome']);
    expect(
      plan.overrideProblems.every((text) => text.startsWith('overrides[0]: ') && text.endsWith('(on bern)')),
    ).toBe(true);
  });
});

describe('a division that nobody can make out', () => {
  const web: KubeObject = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name: 'web', namespace: 'shop' },
    spec: { replicas: 6 },
  };
  const wrong = [{ clusterSelector: { matchExpressions: [{ key: 'site', operator: 'Near' }] } }];

  it('sends no cluster the whole number, says why, and forgets no share', () => {
    const objects = [web];
    const good = planIntent(intent({ objects, replicas: { strategy: 'StaticWeight' } }), clusters);
    const bad = planIntent(
      intent({ objects, replicas: { strategy: 'StaticWeight', preferences: wrong } }),
      clusters,
      undefined,
      undefined,
      good.replicas,
    );
    expect(bad.replicaProblems[0]).toContain('preferences[0].clusterSelector');
    expect([...bad.blocked.keys()].sort()).toEqual(['bern', 'oslo', 'rome']);
    expect(bad.blocked.get('oslo')).toContain('preferences[0].clusterSelector');
    expect(bad.patches.size).toBe(0);
    expect(bad.replicas).toEqual(good.replicas);
  });
});

describe('tombstones', () => {
  const objects = fc
    .uniqueArray(fc.stringMatching(/^[a-e]$/))
    .map((names) => names.map((name) => refOf(map(name))));

  it('never list what stays, and list everything else that was held or is still going', () => {
    fc.assert(
      fc.property(objects, objects, objects, fc.boolean(), (held, going, next, carriedOut) => {
        const previous = { objects: held, tombstones: going.map((ref) => ({ ref, reason: 'before' })) };
        const listed = new Set(
          tombstonesBetween(previous, carriedOut, next, 'now').map((item) => refKey(item.ref)),
        );
        const staying = new Set(next.map(refKey));
        for (const ref of next) expect(listed).not.toContain(refKey(ref));
        for (const ref of [...held, ...(carriedOut ? [] : going)])
          if (!staying.has(refKey(ref))) expect(listed).toContain(refKey(ref));
        if (carriedOut) for (const key of listed) expect(held.map(refKey)).toContain(key);
      }),
    );
  });

  it('are none where nothing was there before', () => {
    expect(tombstonesBetween(undefined, false, [refOf(map('a'))], 'x')).toEqual([]);
  });
});

describe('a deletion budget', () => {
  it.each([
    [3, 10, 3],
    [0, 10, 0],
    ['50%', 4, 2],
    ['50%', 1, 1],
    ['10%', 5, 1],
    ['0%', 5, 0],
    ['100%', 5, 5],
    ['2', 5, 2],
    ['nonsense', 5, 0],
  ])('of %s lets %i objects lose %i', (budget, total, allowed) => {
    expect(budgetOf(budget, total)).toBe(allowed);
  });
});
