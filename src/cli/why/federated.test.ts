import { describe, expect, it } from 'vitest';
import { type FederatedObject, federatedTypeFor } from '../../dialects/kubefed/index.ts';
import type { ClusterFacts } from '../../engine/intent.ts';
import { plainPaint } from '../output.ts';
import { type FederatedFacts, federatedChain } from './federated.ts';
import { whyText } from './text.ts';

const type = federatedTypeFor({
  version: 'v1',
  kind: 'ConfigMap',
  pluralName: 'configmaps',
  scope: 'Namespaced',
});
const CLUSTERS: ClusterFacts[] = [
  { name: 'a', labels: { tier: 'gold' } },
  { name: 'b', labels: {} },
  { name: 'c', labels: { tier: 'gold' } },
];

function federated(spec: FederatedObject['spec'], status: FederatedObject['status'] = {}): FederatedObject {
  return {
    apiVersion: 'types.kubefed.io/v1beta1',
    kind: 'FederatedConfigMap',
    metadata: { name: 'web', namespace: 'shop', generation: 3 },
    spec: { template: { data: { x: '1' } }, ...spec },
    status: { observedGeneration: 3, ...status },
  };
}

const everywhere: FederatedObject = {
  ...federated({ placement: { clusterSelector: {} } }),
  kind: 'FederatedNamespace',
};

function facts(object: FederatedObject, more: Partial<FederatedFacts> = {}): FederatedFacts {
  return {
    object,
    type,
    controlPlane: 'kube-federation-system',
    namespaced: false,
    federatedNamespace: everywhere,
    ...more,
  };
}

const time = '2026-01-01T00:00:00Z';
const told = {
  conditions: [
    {
      type: 'Propagation' as const,
      status: 'False' as const,
      reason: 'CheckClusters',
      lastUpdateTime: time,
      lastTransitionTime: time,
    },
  ],
  clusters: [{ name: 'a', status: 'ApplyOverridesFailed' }, { name: 'c' }],
};

describe('what became of a federated object', () => {
  it('says of each cluster what stands in the way, and why others are not chosen', () => {
    const overrides = [{ clusterName: 'a', clusterOverrides: [{ op: 'remove', path: '/data/none' }] }];
    const placement = { clusterSelector: { matchLabels: { tier: 'gold' } } };
    const chain = federatedChain(facts(federated({ placement, overrides }, told)), CLUSTERS);
    expect(chain).toMatchObject({ propagation: 'CheckClusters', problems: [] });
    expect(chain).not.toHaveProperty('pending');
    expect(chain.clusters).toEqual([
      {
        cluster: 'a',
        chosen: true,
        word: 'ApplyOverridesFailed',
        message: expect.stringContaining('/data/none does not exist'),
      },
      { cluster: 'b', chosen: false, message: expect.stringContaining('tier') },
      { cluster: 'c', chosen: true, message: '' },
    ]);
    const object = { apiVersion: 'types.kubefed.io/v1beta1', kind: 'FederatedConfigMap', namespace: 'shop' };
    const report = { object: { ...object, name: 'web' }, propagations: [], federated: chain };
    const text = whyText(report, false, 0, plainPaint);
    expect(text).toMatch(/^a +ApplyOverridesFailed +.*does not exist$/m);
    expect(text).toMatch(/^b +not chosen +.*tier/m);
    expect(text).toMatch(/^c +propagated/m);
    expect(text).not.toContain('there is no Propagation');
  });

  it('says what keeps it from all of them', () => {
    const open = federated({ placement: { clusterSelector: {} } });
    const problems = (more: object): readonly string[] =>
      federatedChain(facts(open, more), CLUSTERS).problems;
    expect(problems({ federatedNamespace: undefined })).toEqual([
      expect.stringContaining('no FederatedNamespace in namespace shop'),
    ]);
    expect(problems({ type: undefined })).toEqual([expect.stringContaining('no FederatedTypeConfig')]);
    expect(problems({ type: { ...type, propagates: false } })).toEqual([
      expect.stringContaining('propagation: Disabled'),
    ]);
    const leaving: FederatedObject = {
      ...open,
      metadata: {
        ...open.metadata,
        deletionTimestamp: time,
        annotations: { 'kubefed.io/deleteoption': '{bad' },
      },
    };
    expect(federatedChain(facts(leaving), CLUSTERS).problems).toContainEqual(
      expect.stringMatching(/its deletion waits: annotation kubefed.io\/deleteoption.*Next: correct/),
    );
    const [first] = federatedChain(facts(federated({})), CLUSTERS).clusters;
    expect(first).toMatchObject({ chosen: false, message: 'its placement means no cluster' });
  });

  it('leaves it to a preference where it goes, and says what the hub has not told yet', () => {
    const preference = {
      apiVersion: 'scheduling.kubefed.io/v1alpha1',
      kind: 'ReplicaSchedulingPreference',
      metadata: { name: 'web', namespace: 'shop' },
      spec: { targetKind: 'FederatedConfigMap', totalReplicas: 7 },
    };
    const object = federated({}, { ...told, observedGeneration: 2 });
    const chain = federatedChain(facts(object, { preference }), CLUSTERS);
    expect(chain.pending).toBe(true);
    expect(chain.preference).toContain('divides 7 replicas');
    expect(chain.clusters.map(({ chosen }) => chosen)).toEqual([true, false, true]);
  });
});
