import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isRestless,
  LIVENESS_RULES,
  type Liveness,
  observeLink,
  settlesInMs,
  steadyInMs,
} from './liveness.ts';

const SECOND = 1000;

/** `up`/`down` at seconds; a bare number looks again without a change. */
function play(...events: (readonly [at: number, up?: boolean])[]): Liveness {
  let known: Liveness | undefined;
  for (const [at, up] of events) known = observeLink(known, up ?? known?.up ?? false, at * SECOND);
  if (!known) throw new Error('no events');
  return known;
}

describe('how sure the hub is of a spoke', () => {
  it('takes the first link at its word, and a missing one as unknown', () => {
    expect(play([0, true]).word).toBe('Live');
    expect(play([0, false]).word).toBe('Unknown');
    expect(play([0, false], [5, true]).word).toBe('Live');
    expect(play([0, false], [40]).word).toBe('Unreachable');
  });

  it('[A47] ignores a link that is away for less than 40 s, and no longer', () => {
    expect(play([0, true], [10, false], [39, true], [100]).word).toBe('Live');
    expect(play([0, true], [10, false], [49]).word).toBe('Live');
    expect(play([0, true], [10, false], [50])).toMatchObject({ word: 'Unreachable', since: 50_000 });
  });

  it('[F54] believes a returning spoke after 20 s of staying', () => {
    expect(play([0, true], [10, false], [60], [70, true], [89]).word).toBe('Unreachable');
    expect(play([0, true], [10, false], [60], [70, true], [90]).word).toBe('Live');
  });

  it('asks a flapping link to stay longer, each time twice as long', () => {
    const flapping = [
      [0, true],
      [10, false],
      [60],
      [65, true],
      [70, false],
      [75, true],
      [80, false],
      [85, true],
    ] as const;
    expect(play(...flapping, [105 + 19]).word).toBe('Unreachable');
    expect(play(...flapping, [125]).word).toBe('Live');
  });

  it('says when to look again, and looking then changes the word', () => {
    const links = fc.array(fc.tuple(fc.integer({ min: 1, max: 120 }), fc.boolean()), { maxLength: 30 });
    fc.assert(
      fc.property(links, (steps) => {
        let now = 0;
        let known = observeLink(undefined, true, now);
        for (const [seconds, up] of steps) {
          now += seconds * SECOND;
          known = observeLink(known, up, now);
        }
        const wait = settlesInMs(known, now);
        if (wait === undefined) return known.up === (known.word === 'Live');
        const before = wait > 0 ? observeLink(known, known.up, now + wait - 1) : known;
        const after = observeLink(known, known.up, now + wait);
        return before.word === known.word && after.word === (known.up ? 'Live' : 'Unreachable');
      }),
    );
    expect(settlesInMs(play([0, true]), 0)).toBeUndefined();
    expect(settlesInMs(play([0, true], [1, false]), 1000)).toBe(LIVENESS_RULES.downForMs);
  });
});

describe('a link that comes and goes', () => {
  /** Seconds, or until what is told of the link (`steady`) or the word about it (`settled`) is what it stays to be. */
  type Wait = number | 'steady' | 'settled';
  type Step = readonly [wait: Wait, turns: boolean];

  const wait: fc.Arbitrary<Wait> = fc.oneof(
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 10 }) },
    { weight: 1, arbitrary: fc.integer({ min: 1, max: 400 }) },
    { weight: 3, arbitrary: fc.constant('steady' as const) },
    { weight: 1, arbitrary: fc.constant('settled' as const) },
  );
  const turns = fc.oneof(
    { weight: 5, arbitrary: fc.constant(true) },
    { weight: 1, arbitrary: fc.constant(false) },
  );
  const link: fc.Arbitrary<Step[]> = fc.array(fc.tuple(wait, turns), {
    minLength: 1,
    maxLength: 120,
    size: 'max',
  });

  interface Told {
    readonly at: number;
    readonly word: string;
    readonly connected: boolean;
  }

  /** What is told after each event, and whenever what is told changes by itself. */
  function tell(steps: readonly Step[]): Told[] {
    let now = 0;
    let known = observeLink(undefined, true, now);
    const told: Told[] = [];
    const note = (): void => {
      const connected = known.up && !isRestless(known, now);
      told.push({ at: now, word: known.word, connected });
    };
    const steady = (): number => steadyInMs(known, now) ?? 0;
    const settled = (): number => settlesInMs(known, now) ?? 0;
    const lengthOf = (step: Wait): number =>
      step === 'steady' ? steady() : step === 'settled' ? settled() : step * SECOND;
    const next = (): number => Math.min(...[steady(), settled()].filter((ms) => ms > 0));
    note();
    for (const [step, isTurn] of steps) {
      const until = now + Math.max(SECOND, lengthOf(step));
      while (now + next() <= until) {
        now += next();
        known = observeLink(known, known.up, now);
        note();
      }
      now = until;
      known = observeLink(known, isTurn ? !known.up : known.up, now);
      note();
    }
    return told;
  }

  /** The most changes within any ten minutes. */
  function mostChanges(told: readonly Told[], of: (item: Told) => unknown): number {
    const changes = told.filter((item, index) => index > 0 && of(item) !== of(told[index - 1] as Told));
    return Math.max(
      0,
      ...changes.map(
        ({ at }) => changes.filter((item) => item.at >= at && item.at < at + 600 * SECOND).length,
      ),
    );
  }

  it('changes what is told of it a bounded number of times, whatever it does', () => {
    fc.assert(
      fc.property(link, (steps) => {
        const told = tell(steps);
        expect(mostChanges(told, ({ word }) => word)).toBeLessThanOrEqual(13);
        expect(mostChanges(told, ({ connected }) => connected)).toBeLessThanOrEqual(19);
      }),
      { numRuns: 300 },
    );
  });

  it('may turn whenever that is told, for as long as it will', () => {
    for (const step of ['steady', 'settled', 1] as const) {
      const told = tell(Array.from({ length: 1000 }, () => [step, true] as const));
      expect(mostChanges(told, ({ connected }) => connected)).toBeLessThanOrEqual(19);
      expect(mostChanges(told, ({ word }) => word)).toBeLessThanOrEqual(13);
    }
    const most = tell(Array.from({ length: 1000 }, () => ['steady', true] as const));
    expect(mostChanges(most, ({ connected }) => connected)).toBeGreaterThanOrEqual(15);
  });

  it('costs no more memory the longer it does so', () => {
    let known: Liveness | undefined;
    for (let second = 0; second < 500; second += 1)
      known = observeLink(known, second % 2 === 0, second * SECOND);
    expect(known?.falls.length).toBeLessThanOrEqual(16);
    expect(known && isRestless(known, 500 * SECOND)).toBe(true);
  });

  it('is told as it is where it fell five times or less, and once it has stayed', () => {
    const falls = (count: number): Liveness =>
      play(...Array.from({ length: 2 * count + 1 }, (_, turn) => [turn * 5, turn % 2 === 0] as const));
    expect(isRestless(falls(5), 50_000)).toBe(false);
    expect(steadyInMs(falls(5), 50_000)).toBe(0);
    expect(isRestless(falls(6), 60_000)).toBe(true);
    expect(steadyInMs(falls(6), 60_000)).toBe(40_000);
    expect(isRestless(falls(6), 100_000)).toBe(false);
    expect(steadyInMs(falls(9), 90_000)).toBe(320_000);
  });

  it('is told to be lost once it stays away', () => {
    const down = play(...Array.from({ length: 14 }, (_, turn) => [turn * 5, turn % 2 === 0] as const));
    expect([isRestless(down, 65_000), isRestless(down, 104_999), isRestless(down, 105_000)]).toEqual([
      true,
      true,
      false,
    ]);
  });
});
