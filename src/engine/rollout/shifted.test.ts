import { expect, it } from 'vitest';
import { seededRandom } from '../../runtime/random.ts';
import { type RolloutEvent, type RolloutState, recoverRollout, shifted, step } from './index.ts';

const clusters = ['a', 'b', 'c'].map((name) => ({ name, labels: {} }));
const strategy = {
  stages: [
    { name: 'canary', clusterNames: ['a'], soakSeconds: 30 },
    {
      name: 'rest',
      approval: { users: ['ann'], autoApproveAfterSeconds: 60 },
      batch: { size: 1, intervalSeconds: 5 },
    },
  ],
  startsPerMinute: 30,
  readySeconds: 3,
  timeoutSeconds: 40,
};
const HOUR = 3_600_000;

/** A hundred things that happen by chance, and when. */
function history(seed: number): [RolloutEvent, number][] {
  const random = seededRandom(seed);
  let now = Date.parse('2026-01-05T00:00:00Z');
  const out: [RolloutEvent, number][] = [[{ type: 'start', revision: 'r1', clusters, strategy }, now]];
  while (out.length < 100) {
    now += Math.floor(random.next() * 8_000);
    const cluster = 'abc'[Math.floor(random.next() * 3)] ?? 'a';
    const word = random.next() < 0.8 ? 'Ready' : 'Degraded';
    const chance = random.next();
    if (chance < 0.6)
      out.push([
        { type: 'observe', observations: [{ cluster, live: chance < 0.55, word, revision: 'r1' }] },
        now,
      ]);
    else if (chance < 0.64) out.push([{ type: 'pause', by: 'ann' }, now]);
    else if (chance < 0.7) out.push([{ type: 'resume', by: 'ann' }, now]);
    else if (chance < 0.75) out.push([{ type: 'retry', by: 'ann' }, now]);
    else out.push([{ type: 'tick' }, now]);
  }
  return out;
}

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'is as if everything had happened later, whatever happens then (%i)',
  (seed) => {
    const at = 10 + seed * 8;
    const random = [seededRandom(1), seededRandom(1)] as const;
    let plain: RolloutState | undefined;
    let moved: RolloutState | undefined;
    for (const [index, [event, now]] of history(seed).entries()) {
      if (index === at && moved) moved = shifted(moved, HOUR);
      const before = step(plain, event, now, random[0]);
      const after = step(moved, event, index < at ? now : now + HOUR, random[1]);
      plain = before?.state;
      moved = after?.state;
      if (index < at || !before || !after) continue;
      expect(after.nextAt).toBe(before.nextAt === undefined ? undefined : before.nextAt + HOUR);
      expect(textless(moved)).toEqual(textless(plain && shifted(plain, HOUR)));
    }
  },
);

it('leaves no time behind', () => {
  let state: RolloutState | undefined;
  for (const [event, now] of history(3)) state = step(state, event, now, seededRandom(1))?.state;
  if (!state) throw new Error('there is no rollout');
  expect(shifted(shifted(state, HOUR), -HOUR)).toEqual(state);
  const times = (of: object): number[] =>
    Object.values(of).flatMap((one) =>
      typeof one === 'object' && one !== null
        ? times(one)
        : typeof one === 'number' && one > 1e12
          ? [one]
          : [],
    );
  expect(times(shifted(recoverRollout(state), HOUR))).toEqual(
    times(recoverRollout(state)).map((one) => one + HOUR),
  );
});

it('leaves the time when a window opens to the clock', () => {
  let state: RolloutState | undefined;
  const at = Date.parse('2026-01-05T00:00:00Z');
  const windows = [{ start: '02:00', end: '03:00' }];
  const event = {
    type: 'start',
    revision: 'r1',
    clusters: [{ name: 'a', labels: {}, windows }],
    strategy: { maintenance: { outside: 'Wait' } },
  } as const;
  state = step(state, event, at, seededRandom(1))?.state;
  const sight = { cluster: 'a', live: true, word: 'Waiting' } as const;
  state = state && step(state, { type: 'observe', observations: [sight] }, at, seededRandom(1))?.state;
  if (!state) throw new Error('there is no rollout');
  const waiting = { reason: 'Window', until: at + 2 * HOUR };
  expect(state.stages[0]?.waiting).toMatchObject(waiting);
  expect(shifted(state, HOUR).stages[0]?.waiting).toMatchObject(waiting);
});

/** Messages name times as they were. */
function textless(state: RolloutState | undefined): unknown {
  return JSON.parse(JSON.stringify(state, (key, value: unknown) => (key === 'message' ? undefined : value)));
}
