import { describe, expect, it } from 'vitest';
import { virtualClock } from '../../runtime/index.ts';
import { deadlines } from './deadlines.ts';

const DAY = 86_400_000;

describe('deadlines', () => {
  it('come due once, together where they are close, under one timer that is gone when nothing waits', async () => {
    const clock = virtualClock(0);
    const due: string[][] = [];
    const waiting = deadlines(clock, 100, (keys) => due.push([...keys]));
    expect(clock.pending()).toBe(0);
    waiting.set('late', 5_000);
    waiting.set('a', 1_000);
    waiting.set('b', 1_050);
    waiting.set('dropped', 1_010);
    waiting.clear('dropped');
    expect(clock.pending()).toBe(1);
    await clock.advance(1_099);
    expect(due).toEqual([]);
    await clock.advance(1);
    expect(due).toEqual([['a', 'b']]);
    await clock.advance(DAY);
    expect(due).toEqual([['a', 'b'], ['late']]);
    expect([clock.pending(), waiting.size]).toEqual([0, 0]);
  });

  it('may be far off, may be put off, and follow a clock that is set', async () => {
    const clock = virtualClock(0);
    const due: string[] = [];
    const waiting = deadlines(clock, 0, (keys) => due.push(...keys));
    waiting.set('far', 40 * DAY);
    waiting.set('put off', 1_000);
    waiting.set('put off', 50 * DAY);
    await clock.advance(39 * DAY);
    expect(due).toEqual([]);
    clock.jump(DAY);
    await clock.advance(DAY / 2);
    expect(due).toEqual(['far']);
    waiting.stop();
    expect(clock.pending()).toBe(0);
  });

  it('come in time after the clock was set, whatever waited before', async () => {
    const clock = virtualClock(0);
    const due: string[] = [];
    const waiting = deadlines(clock, 0, (keys) => due.push(...keys));
    waiting.set('before', 3_600_000);
    clock.jump(7_200_000);
    waiting.set('after', clock.now() + 1_000);
    await clock.advance(1_000);
    expect(due).toEqual(['before', 'after']);
    waiting.stop();
  });
});
