import { describe, expect, it } from 'vitest';
import { plainPaint } from '../output.ts';
import { historyText, type RolloutTarget, rolloutText } from './index.ts';

const now = Date.parse('2026-03-01T12:00:00Z');

function target(status: RolloutTarget['status']): RolloutTarget {
  return { kind: 'Propagation', name: 'web', namespace: 'shop', saidIn: 'shop', status };
}

describe('a rollout in text', () => {
  it('tells where it is, what it waits for and what to type', () => {
    const rollout = {
      phase: 'Progressing',
      reason: 'Approval',
      message:
        '1 of 3 clusters updated; stage rest: oncall must approve. What to do: approve or reject the stage.',
      revision: 4,
      stages: [
        {
          name: 'canary',
          phase: 'Done',
          clusters: 1,
          updated: 1,
          startedAt: '2026-03-01T11:50:00Z',
          doneAt: '2026-03-01T11:58:00Z',
        },
        {
          name: 'rest',
          phase: 'Pending',
          clusters: 2,
          updated: 0,
          waiting: {
            reason: 'Approval',
            message: 'oncall must approve',
            remedy: 'approve or reject the stage',
          },
        },
      ],
      unsettled: [{ cluster: 'c', phase: 'Skipped', message: 'out of sight' }],
    };
    expect(rolloutText(target({ rollout }), now, plainPaint)).toMatchInlineSnapshot(`
      "Propagation web  Progressing  revision 4
      1 of 3 clusters updated; stage rest: oncall must approve. What to do: approve or reject the stage.

      STAGE    PHASE     UPDATED   STARTED   DONE     WAITS FOR
      canary   Done      1/1       10m ago   2m ago
      rest     Pending   0/2       -         -        oncall must approve

      CLUSTER   PHASE     WHY
      c         Skipped   out of sight

      Next: atoll rollout approve web -n shop rest
      "
    `);
  });

  it('says that there is none', () => {
    expect(rolloutText(target({}), now, plainPaint)).toBe(
      'Propagation web has no rollout: new content goes everywhere at once. Stages are in spec.rollout.\n',
    );
  });
});

describe('a history in text', () => {
  it('lists what can be gone back to, and how', () => {
    const revisions = [
      {
        number: 3,
        digest: `sha256:${'3'.repeat(64)}`,
        at: '2026-03-01T11:55:00Z',
        by: 'ann',
        cause: 'rollback to 1',
      },
      {
        number: 2,
        digest: `sha256:${'2'.repeat(64)}`,
        at: '2026-03-01T10:00:00Z',
        by: 'bob',
        succeededAt: '2026-03-01T10:10:00Z',
      },
    ];
    expect(historyText(target({ revisions }), revisions, now, plainPaint)).toMatchInlineSnapshot(`
      "REVISION   CONTENT        SINCE      BY    STATE            CAUSE
      3          333333333333   5m ago     ann   wanted           rollback to 1
      2          222222222222   120m ago   bob   was everywhere

      To go back: atoll rollback web -n shop --to 2
      "
    `);
    const rollout = { phase: 'RolledBack', reason: 'RolledBack', message: '' };
    expect(historyText(target({ revisions, rollout }), revisions, now, plainPaint)).toMatchInlineSnapshot(`
      "REVISION   CONTENT        SINCE      BY    STATE         CAUSE
      3          333333333333   5m ago     ann   rolled back   rollback to 1
      2          222222222222   120m ago   bob   everywhere
      "
    `);
    expect(historyText(target({}), [], now, plainPaint)).toMatch(/set spec.revisionHistoryLimit/);
  });
});
