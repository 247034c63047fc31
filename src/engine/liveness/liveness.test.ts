import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LIVENESS_RULES, type Liveness, observeLink, settlesInMs } from './liveness.ts';

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
