import { afterEach, describe, expect, it } from 'vitest';
import { CLUSTER_TAINT_POLICY } from '../../src/hub/placement/index.ts';
import { resourceIdOf } from '../../src/kube/custom-resource.ts';
import { type SimulatedFleet, SPOKE_CLUSTERS, simulateFleet, stored } from './fleet.ts';
import { colour, merge, openShop, ready, shopStatus } from './shop.ts';

let fleet: SimulatedFleet;
afterEach(async () => fleet.stop());

const taint = (name: string, taints: object[] | null): Promise<unknown> =>
  merge(fleet, fleet.hub, SPOKE_CLUSTERS, 'default', name, { spec: { taints } });

describe('taints of clusters', () => {
  it('[S23] a cluster leaves the decision after tolerationSeconds only, counted from when the taint was set', async () => {
    fleet = await simulateFleet(81, ['a', 'b']);
    await openShop(fleet, undefined, {
      placement: {
        clusterSelector: {},
        tolerations: [{ key: 'maintenance', operator: 'Exists', tolerationSeconds: 120 }],
      },
    });
    await ready(fleet, 2);
    await taint('a', [{ key: 'maintenance', effect: 'NoSelect' }]);
    await fleet.rest(110_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the object gone from a', 20_000);
    await ready(fleet, 1);
    // No controller writes what people write.
    const object = stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a');
    expect(object?.['spec']).toMatchObject({ taints: [{ key: 'maintenance', effect: 'NoSelect' }] });
    expect(JSON.stringify(object?.['spec'])).not.toContain('timeAdded');
    await taint('a', null);
    await ready(fleet, 2);
  });

  it('[S23] without a toleration NoSelect sends away at once, and NoSelectIfNew keeps only new ones away', async () => {
    fleet = await simulateFleet(82, ['a', 'b']);
    await taint('b', [{ key: 'full', effect: 'NoSelectIfNew' }]);
    await openShop(fleet);
    await ready(fleet, 1);
    expect(colour(fleet.spoke('b'))).toBe('');
    await taint('a', [{ key: 'full', effect: 'NoSelectIfNew' }]);
    await fleet.rest(60_000);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await taint('a', [{ key: 'gone', effect: 'NoSelect' }]);
    await fleet.until(() => colour(fleet.spoke('a')) === '', 'the object gone from a', 5_000);
  });

  it('[A16] come and go by policies, with what the conditions of a cluster say', async () => {
    fleet = await simulateFleet(83, ['a', 'b']);
    await openShop(fleet, undefined, { placement: { clusterSelector: {}, numberOfClusters: 1 } });
    await ready(fleet, 1);
    expect(colour(fleet.spoke('a'))).toBe('red');
    await fleet.run(
      fleet.hub.client.create(resourceIdOf(CLUSTER_TAINT_POLICY), {
        apiVersion: 'atoll.dev/v1alpha1',
        kind: 'ClusterTaintPolicy',
        metadata: { name: 'lost' },
        spec: {
          targetClusters: { clusterSelector: { matchLabels: { site: 'a' } } },
          addOnConditions: [
            { conditionType: 'Ready', operator: 'In', statusValues: ['False'], forSeconds: 120 },
          ],
          removeOnConditions: [
            { conditionType: 'Ready', operator: 'In', statusValues: ['True'], forSeconds: 60 },
          ],
          taints: [{ key: 'lost', effect: 'NoSelect' }],
        },
      }),
    );
    const policyTaints = (name: string): unknown => {
      const object = stored(fleet.hub, `core.oam.dev/spokeclusters/default/${name}`);
      return (object?.['status'] as { policyTaints?: unknown } | undefined)?.policyTaints;
    };
    fleet.cut('b');
    fleet.cut('a');
    await fleet.rest(110_000);
    expect(policyTaints('a')).toBeUndefined();
    await fleet.until(() => policyTaints('a') !== undefined, 'the taint', 60_000);
    expect(policyTaints('a')).toMatchObject([{ key: 'lost', effect: 'NoSelect', policy: 'lost' }]);
    expect(policyTaints('b')).toBeUndefined();
    fleet.heal('b');
    await fleet.until(() => colour(fleet.spoke('b')) === 'red', 'placed on b', 120_000);
    const chosen = (): string =>
      JSON.stringify((shopStatus(fleet)['decision'] as { chosen: unknown }).chosen);
    await fleet.until(() => chosen() === '["b"]', 'the decision');
    fleet.heal('a');
    await fleet.until(() => policyTaints('a') === undefined, 'the taint gone', 120_000);
    // What people write stays theirs.
    expect(stored(fleet.hub, 'core.oam.dev/spokeclusters/default/a')?.['spec']).not.toHaveProperty('taints');
  });
});
