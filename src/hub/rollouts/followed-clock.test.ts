import { expect, it } from 'vitest';
import { type RolloutState, step } from '../../engine/rollout/index.ts';
import { virtualRuntime } from '../../runtime/index.ts';
import type { RolloutEntry } from './entry.ts';
import { followClock, readBack } from './followed-clock.ts';
import { EMPTY_RECORD } from './store.ts';

const MINUTE = 60_000;
const runtime = virtualRuntime(1);
const { clock } = runtime;

function entryOf(more: Partial<RolloutState> = {}): Pick<RolloutEntry, 'record' | 'lookedAt'> {
  const clusters = [{ name: 'a', labels: {} }];
  const strategy = { stages: [{ name: 'all' }] };
  const began = step(
    undefined,
    { type: 'start', revision: 'r', clusters, strategy },
    clock.now(),
    runtime.random,
  );
  if (!began) throw new Error('there is no rollout');
  return {
    record: { ...EMPTY_RECORD, state: { ...began.state, nextStartAt: clock.now() + MINUTE, ...more } },
  };
}

it('moves a rollout with a clock that is set, once, and not with time that goes by', async () => {
  const entry = entryOf();
  followClock(entry, clock);
  const { state } = entry.record;
  await clock.advance(10 * MINUTE);
  followClock(entry, clock);
  expect(entry.record.state).toBe(state);
  clock.jump(-5 * MINUTE);
  followClock(entry, clock);
  followClock(entry, clock);
  expect(entry.record.state?.startedAt).toBe((state?.startedAt ?? 0) - 5 * MINUTE);
  expect(entry.record.state?.nextStartAt).toBe((state?.nextStartAt ?? 0) - 5 * MINUTE);
});

it('lets the next rollout start as soon as before, and leaves one that is over when it was', () => {
  const entry = entryOf({ phase: 'Succeeded' });
  const { startedAt, nextStartAt } = entry.record.state as RolloutState;
  followClock(entry, clock);
  clock.jump(-60 * MINUTE);
  followClock(entry, clock);
  expect(entry.record.state).toMatchObject({ startedAt, nextStartAt: nextStartAt - 60 * MINUTE });
});

it('moves one that failed as well: it can be tried again', () => {
  const entry = entryOf({ phase: 'Failed' });
  const { startedAt } = entry.record.state as RolloutState;
  followClock(entry, clock);
  clock.jump(60 * MINUTE);
  followClock(entry, clock);
  expect(entry.record.state?.startedAt).toBe(startedAt + 60 * MINUTE);
});

it('takes what a hub reads back from a time to come as having happened now', async () => {
  const entry = entryOf();
  const state = entry.record.state as RolloutState;
  expect(readBack(state, clock)).toMatchObject({ startedAt: clock.now(), nextStartAt: state.nextStartAt });
  await clock.advance(MINUTE);
  const written: RolloutState = {
    ...state,
    stages: state.stages.map((stage) => ({ ...stage, healthySince: clock.now() })),
  };
  clock.jump(-60 * MINUTE);
  const { startedAt, stages, nextStartAt } = readBack(written, clock);
  expect(stages[0]?.healthySince).toBe(clock.now());
  expect(startedAt).toBe(clock.now() - MINUTE);
  expect(nextStartAt).toBe(clock.now());
});
