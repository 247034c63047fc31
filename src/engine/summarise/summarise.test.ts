import { describe, expect, it } from 'vitest';
import type { Condition } from '../../kube/object.ts';
import type { DispatchStatus, ObjectState } from '../dispatch/index.ts';
import { type ClusterObservation, summariseCluster, summariseFleet } from './summarise.ts';

const position = { lineage: 'l', epoch: 1, generation: 3 };
const condition = (type: string, status: Condition['status'], reason: string, message = ''): Condition => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime: '2026-01-01T00:00:00Z',
});
const state = (health: ObjectState['health'], reason: string): ObjectState => ({
  ref: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'cart' },
  health,
  reason,
  message: 'so it is',
});

function seen(status: DispatchStatus, rest: Partial<ClusterObservation> = {}): ClusterObservation {
  return { cluster: 'a', live: true, wantedGeneration: 3, status, ...rest };
}

const applied: DispatchStatus = {
  position,
  appliedGeneration: 3,
  conditions: [condition('Applied', 'True', 'Applied')],
};

describe('one cluster in one word', () => {
  it.each([
    ['Ready', 'Ready', seen(applied)],
    ['Stale', 'NotConnected', seen(applied, { live: false, staleReason: 'the link is cut' })],
    ['Stale', 'NotConnected', { cluster: 'a', live: false, wantedGeneration: 1 }],
    ['Degraded', 'NotDispatched', seen(applied, { dispatchProblem: 'no' })],
    ['Waiting', 'NotAccepted', { cluster: 'a', live: true, wantedGeneration: 1 }],
    ['Waiting', 'NotAccepted', seen({ ...applied, position: { ...position, generation: 2 } })],
    ['Waiting', 'NotAccepted', seen(applied, { wantedEpoch: 2, wantedGeneration: 1 })],
    [
      'Degraded',
      'BadSignature',
      seen({
        position: { ...position, generation: 2 },
        conditions: [condition('Accepted', 'False', 'BadSignature')],
      }),
    ],
    [
      'Progressing',
      'Applying',
      seen({ ...applied, appliedGeneration: 2, conditions: [condition('Applied', 'False', 'Applying')] }),
    ],
    [
      'Degraded',
      'ApplyFailed',
      seen({ ...applied, conditions: [condition('Applied', 'False', 'ApplyFailed')] }),
    ],
    ['Progressing', 'RollingOut', seen({ ...applied, objects: [state('Progressing', 'RollingOut')] })],
    [
      'Degraded',
      'CrashLoop',
      seen({ ...applied, objects: [state('Progressing', 'RollingOut'), state('Degraded', 'CrashLoop')] }),
    ],
    ['Progressing', 'Odd', seen({ ...applied, objects: [state('Unknown', 'Odd')] })],
  ] as const)('%s (%s)', (word, reason, observation) => {
    expect(summariseCluster(observation)).toMatchObject({ word, reason });
  });

  it('a stale Ready counts as stale, not as ready', () => {
    const fleet = summariseFleet([
      seen(applied),
      seen(applied, { cluster: 'c', live: false }),
      seen(applied, { cluster: 'b', dispatchProblem: 'x' }),
    ]);
    expect(fleet).toMatchObject({ clusters: 3, ready: 1, stale: 1 });
    expect(fleet.notReady.map((item) => item.cluster)).toEqual(['b', 'c']);
  });
});
