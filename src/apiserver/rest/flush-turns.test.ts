import { describe, expect, it } from 'vitest';
import { virtualRuntime } from '../../runtime/index.ts';
import type { StoreEvent } from '../store/store.ts';
import { flushTurns } from './flush-turns.ts';

const batch = (): readonly StoreEvent[] => [];

describe('those who are told of a change', () => {
  it('are told at once where they are few, and turn by turn in their order where they are many', async () => {
    const runtime = virtualRuntime(1);
    const turns = flushTurns(runtime);
    const told: number[] = [];
    const events = batch();
    for (let index = 0; index < 300; index++) turns.take(events, () => told.push(index));
    expect(told).toHaveLength(128);
    // Others, of whom few have been told of theirs, do not wait behind them.
    turns.take(batch(), () => told.push(1_000));
    expect(told.at(-1)).toBe(1_000);
    await runtime.clock.advance(0);
    expect(told.filter((index) => index < 1_000)).toEqual(Array.from({ length: 300 }, (_, index) => index));
    turns.take(batch(), () => told.push(2_000));
    expect(told.at(-1)).toBe(2_000);
  });

  it('wait once each, though there is no end of changes', async () => {
    const runtime = virtualRuntime(1);
    const turns = flushTurns(runtime);
    const told: number[] = [];
    const flushes = Array.from({ length: 130 }, (_, index) => () => told.push(index));
    for (let round = 0; round < 50; round++) {
      const events = batch();
      for (const flush of flushes) turns.take(events, flush);
    }
    await runtime.clock.advance(0);
    expect(told.filter((index) => index >= 128)).toEqual([128, 129]);
  });

  it('are told although one of them fails', async () => {
    const runtime = virtualRuntime(1);
    const turns = flushTurns(runtime);
    let told = 0;
    const events = batch();
    for (let index = 0; index < 200; index++)
      turns.take(events, () => {
        if (index === 150) throw new Error('the connection is gone');
        told += 1;
      });
    await runtime.clock.advance(0);
    expect(told).toBe(199);
  });
});
