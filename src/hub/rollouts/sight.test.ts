import { expect, it } from 'vitest';
import { type RolloutEvent, type RolloutState, type Stamps, step } from '../../engine/rollout/index.ts';
import type { ClusterObservation } from '../../engine/summarise/summarise.ts';
import { seededRandom } from '../../runtime/index.ts';
import { isNews, sightOf } from './sight.ts';

const STAMPS: Stamps = {
  generation: 4,
  stamps: [
    { generation: 3, revision: 'r1', digest: 'd1' },
    { generation: 4, revision: 'r2', digest: 'd2' },
  ],
  given: { a: 4 },
};

const seenWith =
  (generation: number, epoch = 1) =>
  (): ClusterObservation => ({
    cluster: 'a',
    live: true,
    wantedGeneration: 4,
    wantedEpoch: 1,
    status: { position: { lineage: 'l', epoch, generation }, appliedGeneration: generation },
  });

it('a cluster that says that it took what was never ordered is told of as that at once, and fails no sooner for it', () => {
  const random = seededRandom(1);
  let state: RolloutState | undefined;
  const send = (event: RolloutEvent, at: number): void => {
    state = step(state, event, at, random)?.state;
  };
  const message = (): string | undefined => state?.clusters['a']?.message;
  const cluster = { name: 'a', labels: {}, revision: 'r1' };
  send(
    { type: 'start', revision: 'r2', clusters: [cluster], strategy: { timeoutSeconds: 60 }, baselines: {} },
    0,
  );
  send({ type: 'observe', observations: [sightOf('a', { ...STAMPS, given: { a: 3 } }, seenWith(3))] }, 1_000);
  const behind = sightOf('a', STAMPS, seenWith(3));
  send({ type: 'observe', observations: [behind] }, 1_000);
  expect(message()).toBe('has not taken the revision yet');

  const ahead = sightOf('a', STAMPS, seenWith(999));
  expect(ahead.revision).toBeUndefined();
  expect(state && isNews(state, ahead)).toBe(true);
  send({ type: 'observe', observations: [ahead] }, 2_000);
  expect(message()).toMatch(
    /^it says that it took generation 999, which this hub never ordered: .*HistoryAgrees/,
  );
  expect(state && isNews(state, ahead)).toBe(false);
  send({ type: 'tick' }, 50_000);
  expect(state?.clusters['a']?.phase).toBe('Updating');
  send({ type: 'tick' }, 70_000);
  expect(state?.clusters['a']).toMatchObject({
    phase: 'Failed',
    message: expect.stringContaining('generation 999'),
  });
});

it('generations of an epoch before, and those that were ordered, are no such claims', () => {
  expect(sightOf('a', STAMPS, seenWith(999, 0)).claim).toBeUndefined();
  expect(sightOf('a', STAMPS, seenWith(4))).toMatchObject({ revision: 'r2', word: 'Ready' });
  expect(sightOf('a', STAMPS, seenWith(4)).claim).toBeUndefined();
  expect(sightOf('a', STAMPS, seenWith(1, 2)).claim).toBeUndefined();
});
