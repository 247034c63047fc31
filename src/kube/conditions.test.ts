import { expect, it } from 'vitest';
import { isTrue, setCondition } from './conditions.ts';

const T0 = Date.UTC(2026, 0, 1);

it('sets a condition, and moves its time only when the status changes', () => {
  const ready = { type: 'Ready', status: 'False' as const, reason: 'Starting', message: '' };
  const first = setCondition(undefined, ready, T0);
  expect(first).toEqual({
    changed: true,
    conditions: [{ ...ready, lastTransitionTime: '2026-01-01T00:00:00Z' }],
  });
  const same = setCondition(first.conditions, { ...ready }, T0 + 5000);
  expect(same.changed).toBe(false);
  expect(same.conditions).toBe(first.conditions);
  const reason = setCondition(first.conditions, { ...ready, reason: 'Waiting' }, T0 + 5000);
  expect(reason.conditions[0]).toMatchObject({
    reason: 'Waiting',
    lastTransitionTime: '2026-01-01T00:00:00Z',
  });
  const done = setCondition(reason.conditions, { ...ready, status: 'True', reason: 'Ready' }, T0 + 9000);
  expect(done.conditions[0]?.lastTransitionTime).toBe('2026-01-01T00:00:09Z');
  expect(isTrue(done.conditions, 'Ready')).toBe(true);
  expect(isTrue(done.conditions, 'Other')).toBe(false);
  expect(first.conditions[0]?.status).toBe('False');
});
