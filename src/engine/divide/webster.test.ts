import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fnv1, fnv1a } from './fnv.ts';
import { type Party, webster } from './webster.ts';

/** The method as its definition reads: one seat after the other, each to the largest quotient. */
function naive(seats: number, parties: readonly Party[], key: string): number[] {
  const held = parties.map(({ initial }) => initial);
  const backwards = fnv1a(key) % 2 === 1;
  for (let open = seats - held.reduce((a, b) => a + b, 0); open > 0; open--) {
    const [next] = parties
      .map((party, index) => ({ party, index, counted: (held[index] ?? 0) - (party.uncounted ?? 0) }))
      .filter(({ party, index }) => party.votes > 0 && (held[index] ?? 0) < party.cap)
      .sort((a, b) => {
        const quotients = b.party.votes * (2 * a.counted + 1) - a.party.votes * (2 * b.counted + 1);
        if (quotients !== 0) return quotients;
        return a.counted - b.counted || (a.party.name < b.party.name !== backwards ? -1 : 1);
      });
    if (!next) break;
    held[next.index] = (held[next.index] ?? 0) + 1;
  }
  return held;
}

const parties = fc
  .array(fc.record({ votes: fc.nat(40), initial: fc.nat(5), room: fc.nat(60), uncounted: fc.boolean() }), {
    minLength: 1,
    maxLength: 7,
  })
  .map((list) =>
    list.map(
      ({ votes, initial, room, uncounted }, index): Party => ({
        name: `p${index}`,
        votes,
        initial,
        cap: initial + room,
        uncounted: uncounted ? initial : 0,
      }),
    ),
  );

describe('Webster', () => {
  it('gives every seat where its definition gives it', () => {
    fc.assert(
      fc.property(parties, fc.nat(200), fc.string({ maxLength: 3 }), (list, seats, key) => {
        expect(webster(seats, list, key)).toEqual(naive(seats, list, key));
      }),
      { numRuns: 500 },
    );
  });

  it('is exact with numbers whose products are beyond doubles, and fast with many seats', () => {
    const large = 2 ** 31 - 1;
    const seats = webster(
      large,
      [
        { name: 'a', votes: large, initial: 0, cap: large },
        { name: 'b', votes: large - 1, initial: 0, cap: large },
      ],
      'k',
    );
    expect(seats).toEqual([1_073_741_824, 1_073_741_823]);
  });

  it('hashes as FNV does', () => {
    expect(fnv1('')).toBe(0x811c9dc5);
    expect(fnv1a('')).toBe(0x811c9dc5);
    // From the definition, for a single byte 'a' (0x61).
    expect(fnv1('a')).toBe(0x050c5d7e);
    expect(fnv1a('a')).toBe(0xe40c292c);
  });
});
