import { expect, it } from 'vitest';
import { createAlarm } from './alarm.ts';
import { virtualClock } from './virtual-clock.ts';

it('rings once for the earliest of what was asked, and not where nothing is left', async () => {
  const clock = virtualClock(0);
  const rings: number[] = [];
  const alarm = createAlarm(clock, () => rings.push(clock.monotonic()));
  alarm.within(500);
  alarm.within(200);
  alarm.within(300);
  await clock.advance(1_000);
  expect(rings).toEqual([200]);
  alarm.within(100);
  alarm.cancel();
  await clock.advance(1_000);
  expect(rings).toEqual([200]);
  expect(clock.pending()).toBe(0);
});

it('rings in time for what was asked after the clock was set, whatever was asked before', async () => {
  const clock = virtualClock(0);
  const rings: number[] = [];
  const until = 600_000;
  const alarm = createAlarm(clock, () => rings.push(clock.monotonic()));
  alarm.within(until - clock.now());
  clock.jump(3_600_000);
  alarm.within(20);
  await clock.advance(1_000);
  expect(rings).toEqual([20]);
});
