import { describe, expect, it } from 'vitest';
import type { Intent } from '../intent.ts';
import { contentOf, memorable, type RolloutState, revisionDigest, withContent } from './index.ts';

const intent: Intent = {
  source: { apiVersion: 'v1', kind: 'K', namespace: 'n', name: 'x', uid: 'u', generation: 4 },
  author: { username: 'ann' },
  objects: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'm' }, data: { a: '1' } } as never],
  placement: { clusterNames: ['a'] },
  overrides: [],
  suspend: false,
  deletionBudget: '50%',
  applyStrategy: { force: true },
  rollout: { paused: true },
  revisionHistoryLimit: 3,
};

describe('the content of an intent', () => {
  it('is another one when objects, overrides or their writing change, and not by who asks, where, or how it is rolled out', () => {
    const digest = revisionDigest(contentOf(intent));
    const of = (more: Partial<Intent>): string => revisionDigest(contentOf({ ...intent, ...more }));
    for (const same of [
      { author: { username: 'bob' } },
      { placement: {} },
      { suspend: true },
      { deletionBudget: 1 },
      { rollout: {} },
      { revisionHistoryLimit: 9 },
      { source: { ...intent.source, generation: 5 } },
    ])
      expect(of(same)).toBe(digest);
    for (const other of [
      { objects: [] },
      { overrides: [{ patch: [] }] },
      { applyStrategy: {} },
      { replicas: {} },
      { objectStrategies: [{ target: {} }] },
    ])
      expect(of(other as Partial<Intent>)).not.toBe(digest);
  });

  it('comes back in the circumstances of now, without what was not said then', () => {
    const old = contentOf({ ...intent, applyStrategy: { adopt: 'Always' } });
    const now: Intent = { ...intent, author: { username: 'bob' }, placement: {}, replicas: {} };
    const restored = withContent(now, old);
    expect(restored).toMatchObject({
      author: { username: 'bob' },
      placement: {},
      applyStrategy: { adopt: 'Always' },
    });
    expect(restored.replicas).toBeUndefined();
    expect(revisionDigest(contentOf(restored))).toBe(revisionDigest(old));
  });
});

describe('what is remembered of a rollout', () => {
  it('is the same whatever is only seen, and keeps what was decided', () => {
    const state: RolloutState = {
      target: 'r2',
      strategy: {},
      phase: 'Progressing',
      startedAt: 1,
      stages: [{ name: 'rest', phase: 'Running', batchStarted: 1, metrics: {} }],
      clusters: { a: { stage: 0, phase: 'Updating', permitted: 'r2', from: 'r1', startedAt: 5 } },
      facts: { a: { name: 'a', labels: {} } },
      nextStartAt: 0,
      incidents: [],
      baselines: {},
    };
    const seen: RolloutState = {
      ...state,
      stages: state.stages.map((stage) => ({ ...stage, waiting: { reason: 'Updating', message: 'a' } })),
      clusters: {
        a: {
          ...(state.clusters['a'] ?? { stage: 0, phase: 'Pending' }),
          seen: { live: true, word: 'Progressing' },
          message: 'going on',
          awaySince: 3,
          readySince: 4,
        },
      },
    };
    expect(memorable(seen)).toEqual(memorable(state));
    expect(memorable(state).clusters['a']).toEqual(state.clusters['a']);
    const failed: RolloutState = {
      ...state,
      clusters: { a: { stage: 0, phase: 'Failed', failed: true, message: 'it broke' } },
    };
    expect(memorable(failed).clusters['a']).toMatchObject({ message: 'it broke' });
  });
});
