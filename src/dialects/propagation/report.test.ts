import { expect, it } from 'vitest';
import { type ClusterObservation, summariseFleet } from '../../engine/summarise/summarise.ts';
import { reportPropagation } from './report.ts';

/** A cluster on which the newest generation is applied; or where it was refused. */
function observed(index: number, bad: boolean): ClusterObservation {
  const condition = bad
    ? { type: 'Applied', status: 'False', reason: 'ApplyFailed', message: 'Deployment cart: quota exceeded' }
    : { type: 'Applied', status: 'True', reason: 'Applied', message: '' };
  return {
    cluster: `c${String(index).padStart(3, '0')}`,
    live: true,
    wantedGeneration: 3,
    status: {
      position: { lineage: 'l', epoch: 1, generation: 3 },
      appliedGeneration: 3,
      conditions: [{ ...condition, lastTransitionTime: '2026-01-01T00:00:00Z' } as never],
    },
  };
}

it('[F65] of a hundred clusters, two of them unhealthy, lists the two and counts the rest', () => {
  const summary = summariseFleet(Array.from({ length: 100 }, (_, i) => observed(i, i === 7 || i === 93)));
  const fine = { ok: true, reason: 'Fine', message: '' };
  const status = reportPropagation(
    {
      generation: 1,
      objects: 1,
      revision: 'sha256:1',
      dispatchGeneration: 3,
      dispatchDigest: 'sha256:2',
      dispatchHistory: [],
      dispatchedTo: [],
      summary,
      suspended: false,
      selection: fine,
      placement: fine,
      overrides: fine,
    },
    undefined,
    0,
  );
  const failure = { state: 'Degraded', reason: 'ApplyFailed', message: 'Deployment cart: quota exceeded' };
  expect(status.notReady).toEqual([
    { cluster: 'c007', ...failure },
    { cluster: 'c093', ...failure },
  ]);
  expect(status).toMatchObject({
    clusters: 100,
    ready: 98,
    freshness: { ready: 98, notReady: 2, unknown: 0 },
  });
});
