import { describe, expect, it } from 'vitest';
import type { SpokeClusterStatus } from '../../dialects/kubevela/types.ts';
import { formatTime } from '../../runtime/clock.ts';
import { type ClusterTaintPolicy, taintByPolicies } from './taint-policies.ts';

const T0 = Date.parse('2026-01-01T00:00:00Z');
const connected = (status: 'True' | 'False' | 'Unknown', since = T0): SpokeClusterStatus => ({
  conditions: [
    { type: 'Connected', status, reason: 'x', message: '', lastTransitionTime: formatTime(since) },
  ],
});
const policy = (name: string, spec: Partial<ClusterTaintPolicy['spec']>): ClusterTaintPolicy => ({
  apiVersion: 'atoll.dev/v1alpha1',
  kind: 'ClusterTaintPolicy',
  metadata: { name },
  spec: {
    addOnConditions: [{ conditionType: 'Ready', operator: 'NotIn', statusValues: ['True'] }],
    taints: [{ key: 'away', effect: 'NoSelect' }],
    ...spec,
  },
});

describe('taints by conditions', () => {
  it('[A16] are set when the rules hold, stay, and go when the rules for that hold', () => {
    const rules = policy('p', {
      addOnConditions: [{ conditionType: 'Ready', operator: 'In', statusValues: ['False'], forSeconds: 60 }],
      removeOnConditions: [
        { conditionType: 'Ready', operator: 'In', statusValues: ['True'], forSeconds: 30 },
      ],
    });
    const early = taintByPolicies([rules], connected('False'), T0 + 59_000);
    expect(early.status.policyTaints).toBeUndefined();
    expect(early.dueMs).toBe(T0 + 60_000);
    const tainted = taintByPolicies([rules], connected('False'), T0 + 60_000);
    const away = { key: 'away', effect: 'NoSelect', timeAdded: formatTime(T0 + 60_000), policy: 'p' };
    expect(tainted.status.policyTaints).toEqual([away]);
    // Neither rule holds: it stays, with its time.
    const unknown = { ...connected('Unknown', T0 + 90_000), policyTaints: [away] } as SpokeClusterStatus;
    expect(taintByPolicies([rules], unknown, T0 + 100_000).status.policyTaints).toEqual([away]);
    const back = { ...connected('True', T0 + 200_000), policyTaints: [away] } as SpokeClusterStatus;
    const soon = taintByPolicies([rules], back, T0 + 229_000);
    expect(soon.status.policyTaints).toEqual([away]);
    expect(soon.dueMs).toBe(T0 + 230_000);
    expect(taintByPolicies([rules], back, T0 + 230_000).status.policyTaints).toBeUndefined();
  });

  it('go with what set them where nothing says when, and with their policy', () => {
    const rules = policy('p', {});
    const { status } = taintByPolicies([rules], connected('False'), T0);
    expect(status.policyTaints).toMatchObject([{ key: 'away', policy: 'p' }]);
    expect(taintByPolicies([rules], { ...status, ...connected('True') }, T0).status.policyTaints).toBe(
      undefined,
    );
    expect(taintByPolicies([], status, T0).status.policyTaints).toBeUndefined();
  });

  it('need all rules, of conditions that are there', () => {
    const rules = policy('p', {
      addOnConditions: [
        { conditionType: 'Connected', operator: 'In', statusValues: ['True'] },
        { conditionType: 'Quarantined', operator: 'NotIn', statusValues: ['False'] },
      ],
    });
    expect(taintByPolicies([rules], connected('True'), T0).status.policyTaints).toBeUndefined();
  });

  it('of several policies are side by side, in the order of their names', () => {
    const other = policy('a', { taints: [{ key: 'far', value: 'yes', effect: 'PreferNoSelect' }] });
    const { status } = taintByPolicies([policy('p', {}), other], connected('False'), T0);
    expect(status.policyTaints?.map(({ policy: by, key }) => `${by} ${key}`)).toEqual(['a far', 'p away']);
  });
});
