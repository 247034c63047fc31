import { expect, it } from 'vitest';
import { virtualRuntime } from '../../runtime/index.ts';
import { createLanes, type Lanes } from './lanes.ts';

const KEYS = Array.from({ length: 50 }, (_, index) => `key-${index}`);

function rig(onWork: (lanes: Lanes, done: readonly string[]) => void = () => {}): {
  lanes: Lanes;
  done: string[];
  settle: () => Promise<void>;
} {
  const runtime = virtualRuntime(1);
  const done: string[] = [];
  const lanes: Lanes = createLanes(runtime, 'test', async (spoke, key) => {
    done.push(`${spoke} ${key}`);
    onWork(lanes, done);
    return undefined;
  });
  return { lanes, done, settle: () => runtime.clock.settle() };
}

it('does everything that is for later, the spokes in turn', async () => {
  const { lanes, done, settle } = rig();
  for (const spoke of ['a', 'b']) for (const key of KEYS) lanes.enqueueLater(spoke, key);
  await settle();
  expect(new Set(done).size).toBe(2 * KEYS.length);
  expect(done).toHaveLength(2 * KEYS.length);
  expect(new Set(done.slice(0, 8).map((text) => text.slice(0, 1)))).toEqual(new Set(['a', 'b']));
});

it('does new work before what is left for later', async () => {
  const { lanes, done, settle } = rig((own, so) => {
    if (so.length === 1) own.enqueue('a', 'new');
  });
  for (const key of KEYS) lanes.enqueueLater('a', key);
  await settle();
  expect(done.indexOf('a new')).toBeGreaterThan(0);
  expect(done.indexOf('a new')).toBeLessThan(20);
  expect(done).toHaveLength(KEYS.length + 1);
});

it('does once what is asked for now and later, and nothing for a spoke that is gone', async () => {
  const { lanes, done, settle } = rig();
  lanes.enqueueLater('a', 'one');
  lanes.enqueue('a', 'one');
  lanes.enqueueLater('b', 'two');
  lanes.keep((spoke) => spoke === 'a');
  await settle();
  expect(done).toEqual(['a one']);
});

it('goes on where a spoke had nothing left to do for a while', async () => {
  const { lanes, done, settle } = rig((own, so) => {
    // Asked for while the last work of the lane is under way.
    if (so.length === 2) own.enqueueLater('a', 'three');
  });
  lanes.enqueue('a', 'one');
  await settle();
  lanes.enqueue('a', 'two');
  await settle();
  lanes.enqueueLater('a', 'four');
  await settle();
  await lanes.stop();
  expect(done).toEqual(['a one', 'a two', 'a three', 'a four']);
});
