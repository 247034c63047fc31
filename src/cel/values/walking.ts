/** What an evaluation has walked through, in characters. */
export interface Walk {
  walked: number;
}

/** Ends an evaluation from within; no operator can absorb it. */
export class EvaluationStopped extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'EvaluationStopped';
  }
}

export const COST_EXCEEDED = 'operation cancelled: actual cost limit exceeded';

export const MAX_WALKED = 500_000_000;
/** Looking at an element takes as long as at so many characters. */
const ELEMENT = 50;

/** Of the evaluation that is under way: they do not wait, so that there is one at a time, or one within another. */
let current: Walk | undefined;

/** Counts into this from now on. Returns what was counted into before, for when it ends. */
export function countInto(walk: Walk | undefined): Walk | undefined {
  const before = current;
  current = walk;
  return before;
}

/**
 * Before so many elements of a value are looked at. Values share their parts: `[a, a]`, of an `a` that is made so as well, costs as little
 * as any list of two, and is a tree of any size to whoever walks through it.
 */
export function countElements(count: number): void {
  if (!current) return;
  current.walked += count * ELEMENT;
  if (current.walked > MAX_WALKED) throw new EvaluationStopped(COST_EXCEEDED);
}
