import { type Party, sum, webster } from './webster.ts';

/** A cluster of one division, with its bounds. */
export interface Slot {
  readonly name: string;
  /** What it gets before anybody gets more. Never above `cap`. */
  readonly min: number;
  readonly cap: number;
  /** What stays there as long as the total allows it. */
  readonly kept: number;
  /** By which more is given out, on top of what is kept (`fromKept`) or counting that as well. */
  readonly votes: number;
  readonly fromKept?: boolean;
  /** By which what is kept is taken back when it is too much. */
  readonly shrinkVotes: number;
}

/**
 * Divides `total`: minima (as far as the total goes, in proportion to them), what is kept, the rest by votes. What cannot be
 * placed within the caps is left. One more of `total` never takes one away from any slot.
 */
export function balance(total: number, slots: readonly Slot[], key: string): number[] {
  const party = (slot: Slot, { votes, initial, cap, uncounted = 0 }: Omit<Party, 'name'>): Party => ({
    name: slot.name,
    votes,
    initial,
    cap,
    uncounted,
  });
  const minima =
    sum(slots.map(({ min }) => min)) <= total
      ? slots.map(({ min }) => min)
      : webster(
          total,
          slots.map((slot) => party(slot, { votes: slot.min, initial: 0, cap: slot.min })),
          key,
        );
  const start = slots.map((slot, index) => Math.max(minima[index] ?? 0, Math.min(slot.kept, slot.cap)));
  if (sum(start) > total) {
    // Handing out again from the minima up to what was kept takes back exactly the seats that came last.
    const shrunk = slots.map((slot, index) =>
      party(slot, { votes: slot.shrinkVotes, initial: minima[index] ?? 0, cap: start[index] ?? 0 }),
    );
    return webster(total, shrunk, key, true);
  }
  const growing = slots.map((slot, index) =>
    party(slot, {
      votes: slot.votes,
      initial: start[index] ?? 0,
      cap: slot.cap,
      uncounted: slot.fromKept === true ? Math.min(slot.kept, slot.cap) : 0,
    }),
  );
  return webster(total, growing, key);
}
