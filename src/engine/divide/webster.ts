import { fnv1a } from './fnv.ts';

/** Someone who gets seats in proportion to votes, within bounds. */
export interface Party {
  readonly name: string;
  readonly votes: number;
  /** Seats held before the first one is given out. */
  readonly initial: number;
  /** Never more than these, but for what `initial` has already. */
  readonly cap: number;
  /** Of the initial seats, those that do not count when the next seat is weighed: the votes are for what comes on top. */
  readonly uncounted?: number;
}

/**
 * Webster's (Sainte-Laguë's) method, seat by seat: the next seat goes to the party with the most votes for each seat it would
 * then hold, votes / (2 · seats + 1); of equals to the one with fewer seats, then by name, forwards or backwards as
 * `key` falls, so that small divisions of many keys do not all favour the same cluster. `seats` counts the initial ones;
 * parties without votes get seats only from `leftovers`. The result is in the order of the parties.
 *
 * Who gets seat n does not depend on how many come after it: one seat more never takes one away from anybody.
 */
export function webster(seats: number, parties: readonly Party[], key: string, leftovers = false): number[] {
  const held = parties.map(({ initial }) => initial);
  let open = seats - sum(held);
  if (open <= 0) return held;
  const eligible = parties.map(({ votes, cap }, index) => votes > 0 && (held[index] ?? 0) < cap);
  open = skipAhead(open, parties, held, eligible);
  const heap = createHeap(parties, held, fnv1a(key) % 2 === 1);
  for (const [index, may] of eligible.entries()) {
    if (may && (held[index] ?? 0) < capOf(parties, index)) heap.push(index);
  }
  open = handOut(open, parties, held, heap);
  if (!leftovers || open === 0) return held;
  for (const index of parties.keys()) {
    if (eligible[index] !== true && (held[index] ?? 0) < capOf(parties, index)) heap.push(index);
  }
  handOut(open, parties, held, heap);
  return held;
}

function handOut(open: number, parties: readonly Party[], held: number[], heap: Heap): number {
  let left = open;
  for (; left > 0; left--) {
    const index = heap.top();
    if (index === undefined) break;
    held[index] = (held[index] ?? 0) + 1;
    if ((held[index] ?? 0) < capOf(parties, index)) heap.sink();
    else heap.pop();
  }
  return left;
}

/**
 * Gives out at once all seats that are weighed above some bound, which is a state that the seat-by-seat way passes through:
 * a million replicas cost what a few do.
 */
function skipAhead(
  open: number,
  parties: readonly Party[],
  held: number[],
  eligible: readonly boolean[],
): number {
  const live = parties.flatMap((party, index) => (eligible[index] === true ? [{ party, index }] : []));
  if (open <= 2 * live.length) return open;
  const grown = ({ votes, initial, cap, uncounted = 0 }: Party, bound: number, less: number): number => {
    const counted = Math.max(0, Math.ceil((votes / bound - 1) / 2) - less);
    return Math.max(initial, Math.min(cap, counted + uncounted));
  };
  const total = (bound: number): number => {
    let seats = 0;
    for (const { party } of live) seats += grown(party, bound, 0) - party.initial;
    return seats;
  };
  let low = 0;
  let high = 0;
  for (const { party } of live) high = Math.max(high, party.votes);
  // Near enough is enough: what is left is given out one by one.
  for (let step = 0, given = 0; step < 64 && open - given > live.length; step++) {
    const middle = (low + high) / 2;
    const seats = total(middle);
    if (seats > open) low = middle;
    else {
      high = middle;
      given = seats;
    }
  }
  let left = open;
  for (const { party, index } of live) {
    // Stays behind what rounding may have added; the seats in question are then given out one by one.
    const now = grown(party, high, 2);
    left -= now - (held[index] ?? 0);
    held[index] = now;
  }
  return left;
}

interface Heap {
  push(index: number): void;
  top(): number | undefined;
  pop(): void;
  /** After the top has become worth less. */
  sink(): void;
}

function createHeap(parties: readonly Party[], held: readonly number[], backwards: boolean): Heap {
  const items: number[] = [];
  const before = (a: number, b: number): boolean => {
    const first = parties[a];
    const second = parties[b];
    if (!first || !second) return false;
    const seatsA = (held[a] ?? 0) - (first.uncounted ?? 0);
    const seatsB = (held[b] ?? 0) - (second.uncounted ?? 0);
    const difference = compareProducts(first.votes, 2 * seatsB + 1, second.votes, 2 * seatsA + 1);
    if (difference !== 0) return difference > 0;
    if (seatsA !== seatsB) return seatsA < seatsB;
    return first.name < second.name !== backwards;
  };
  const swap = (a: number, b: number): void => {
    const item = items[a] ?? 0;
    items[a] = items[b] ?? 0;
    items[b] = item;
  };
  const sink = (): void => {
    let at = 0;
    for (;;) {
      let best = at;
      const left = 2 * at + 1;
      if (left < items.length && before(items[left] ?? 0, items[best] ?? 0)) best = left;
      if (left + 1 < items.length && before(items[left + 1] ?? 0, items[best] ?? 0)) best = left + 1;
      if (best === at) return;
      swap(at, best);
      at = best;
    }
  };
  return {
    push(index): void {
      items.push(index);
      for (let at = items.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1;
        if (!before(items[at] ?? 0, items[parent] ?? 0)) return;
        swap(at, parent);
        at = parent;
      }
    },
    top: () => items[0],
    pop(): void {
      const last = items.pop();
      if (last === undefined || items.length === 0) return;
      items[0] = last;
      sink();
    },
    sink,
  };
}

/** The sign of a·b − c·d, exactly. */
function compareProducts(a: number, b: number, c: number, d: number): number {
  const left = a * b;
  const right = c * d;
  if (left <= Number.MAX_SAFE_INTEGER && right <= Number.MAX_SAFE_INTEGER) return left - right;
  const difference = BigInt(a) * BigInt(b) - BigInt(c) * BigInt(d);
  return difference > 0n ? 1 : difference < 0n ? -1 : 0;
}

function capOf(parties: readonly Party[], index: number): number {
  return parties[index]?.cap ?? 0;
}

export function sum(numbers: readonly number[]): number {
  let total = 0;
  for (const number of numbers) total += number;
  return total;
}
