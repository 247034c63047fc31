import { describe, expect, it } from 'vitest';
import type { DispatchStatus } from '../../engine/dispatch/dispatch.ts';
import type { ObjectWord } from '../../engine/dispatch/words.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import { clusterWord, type FederatedFindings, reportFederated } from './report.ts';

const target = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'web' };
const T0 = Date.UTC(2026, 0, 1);

function observation(
  cluster: string,
  status: DispatchStatus = {},
  more: Partial<ClusterObservation> = {},
): ClusterObservation {
  const position = { lineage: 'l', epoch: 1, generation: 4 };
  return {
    cluster,
    live: true,
    wantedGeneration: 4,
    wantedEpoch: 1,
    status: { position, appliedGeneration: 4, ...status },
    ...more,
  };
}

const saying = (word: ObjectWord): DispatchStatus => ({
  objects: [{ ref: target, health: 'Degraded', reason: 'r', message: 'm', word }],
});
const condition = (type: string, reason: string) => [
  { type, status: 'False' as const, reason, message: 'm', lastTransitionTime: '2026-01-01T00:00:00Z' },
];
const older = { lineage: 'l', epoch: 1, generation: 3 };

describe('the word of a cluster', () => {
  it.each<[string | undefined, ClusterObservation]>([
    [undefined, observation('c')],
    ['ClusterNotReady', observation('c', {}, { live: false })],
    ['AlreadyExists', observation('c', saying('AlreadyExists'))],
    ['WaitingForRemoval', observation('c', saying('WaitingForRemoval'))],
    ['FieldRetentionFailed', observation('c', saying('FieldRetentionFailed'))],
    ['ManagedLabelFalse', observation('c', saying('ManagedLabelFalse'))],
    ['ManagedLabelFalse', observation('c', saying('ContractRefused'))],
    [undefined, observation('c', saying('Propagated'))],
    ['CreationTimedOut', observation('c', { position: { ...older, generation: 0 }, appliedGeneration: 0 })],
    ['UpdateTimedOut', observation('c', { position: older, appliedGeneration: 3 })],
    ['UpdateTimedOut', observation('c', { appliedGeneration: 3 })],
    ['UpdateFailed', observation('c', { conditions: condition('Applied', 'ApplyFailed') })],
    [
      'CreationFailed',
      observation('c', { appliedGeneration: 0, conditions: condition('Applied', 'ApplyFailed') }),
    ],
    ['UpdateFailed', observation('c', { position: older, conditions: condition('Accepted', 'Refused') })],
    ['ClientRetrievalFailed', observation('c', { position: older }, { dispatchProblem: 'no way in' })],
    [
      'UpdateTimedOut',
      observation('c', { position: older }, { dispatchProblem: 'no answer', dispatchTimedOut: true }),
    ],
    [
      'ComputeResourceFailed',
      observation('c', { position: older, conditions: condition('Accepted', 'ContentMissing') }),
    ],
    ['ComputeResourceFailed', observation('c', { conditions: condition('Applied', 'ContentMissing') })],
    ['ApplyOverridesFailed', observation('c', { conditions: condition('Applied', 'RenderFailed') })],
  ])('is %s', (word, seen) => {
    expect(clusterWord(seen, target)).toBe(word);
  });

  it.each(['CachedRetrievalFailed', 'FieldRetentionFailed', 'VersionRetrievalFailed'] as const)(
    'is %s where a spoke says so, although none of ours has cause to',
    (word) => {
      expect(clusterWord(observation('c', saying(word)), target)).toBe(word);
      const { clusters, conditions } = reportFederated(
        { generation: 1, target, observations: [observation('c', saying(word))] },
        undefined,
        T0,
      );
      expect(clusters).toEqual([{ name: 'c', status: word }]);
      expect(conditions).toMatchObject([{ status: 'False', reason: 'CheckClusters' }]);
    },
  );

  it('of an object that goes is about its removal', () => {
    const going = (seen: ClusterObservation): unknown =>
      reportFederated({ generation: 1, target, observations: [], removing: [seen] }, undefined, T0).clusters;
    expect(going(observation('c', {}, { dispatchProblem: 'no way in' }))).toEqual([
      { name: 'c', status: 'ClientRetrievalFailed' },
    ]);
    expect(going(observation('c', {}, { dispatchProblem: 'no answer', dispatchTimedOut: true }))).toEqual([
      { name: 'c', status: 'DeletionTimedOut' },
    ]);
  });

  it('says nothing of how healthy the object is', () => {
    const sick: DispatchStatus = {
      objects: [{ ref: target, health: 'Degraded', reason: 'CrashLoop', message: 'm' }],
    };
    expect(clusterWord(observation('c', sick), target)).toBeUndefined();
  });
});

describe('the status of a federated object', () => {
  const found = (more: Partial<FederatedFindings> = {}): FederatedFindings => ({
    generation: 2,
    target,
    observations: [observation('c2'), observation('c1')],
    ...more,
  });

  it('lists clusters by name and is True where nothing stands in the way', () => {
    expect(reportFederated(found(), undefined, T0)).toEqual({
      observedGeneration: 2,
      conditions: [
        {
          type: 'Propagation',
          status: 'True',
          lastUpdateTime: '2026-01-01T00:00:00Z',
          lastTransitionTime: '2026-01-01T00:00:00Z',
        },
      ],
      clusters: [{ name: 'c1' }, { name: 'c2' }],
    });
  });

  it.each<[string, Partial<FederatedFindings>]>([
    ['CheckClusters', { blocked: new Map([['c1', 'a path twice']]) }],
    ['CheckClusters', { removing: [observation('c3')] }],
    ['CheckClusters', { remote: new Map([['c1', {}]]) }],
    ['NamespaceNotFederated', { reason: 'NamespaceNotFederated', observations: [] }],
    ['ComputePlacementFailed', { reason: 'ComputePlacementFailed' }],
    ['ClusterRetrievalFailed', { reason: 'ClusterRetrievalFailed', observations: [] }],
  ])('is False for %s', (reason, more) => {
    expect(reportFederated(found(more), undefined, T0).conditions).toMatchObject([
      { status: 'False', reason },
    ]);
  });

  it('names overrides that fail, what is being removed, and what members report', () => {
    const { clusters } = reportFederated(
      found({
        blocked: new Map([['c1', 'm']]),
        removing: [observation('c3')],
        remote: new Map([['c2', { replicas: 3 }]]),
      }),
      undefined,
      T0,
    );
    expect(clusters).toEqual([
      { name: 'c1', status: 'ApplyOverridesFailed' },
      { name: 'c2', remoteStatus: { replicas: 3 } },
      { name: 'c3', status: 'WaitingForRemoval' },
    ]);
  });

  it('is the same object while nothing changes, and keeps the time of its last turn', () => {
    const first = reportFederated(found(), undefined, T0);
    expect(reportFederated(found(), first, T0 + 60_000)).toBe(first);
    const later = reportFederated(found({ generation: 3 }), first, T0 + 60_000);
    expect(later.conditions).toMatchObject([
      { lastUpdateTime: '2026-01-01T00:01:00Z', lastTransitionTime: '2026-01-01T00:00:00Z' },
    ]);
    const bad = reportFederated(found({ reason: 'ComputePlacementFailed' }), first, T0 + 60_000);
    expect(bad.conditions).toMatchObject([{ lastTransitionTime: '2026-01-01T00:01:00Z' }]);
  });
});
