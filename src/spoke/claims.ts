import { refOf } from '../kube/object.ts';
import { type Conflict, createContests } from './conflicts.ts';
import { type Held, keysOf, madeBy, takes } from './held.ts';
import { isShared } from './sharing.ts';

/**
 * Which dispatch has which object, of those that want it: the one that made it, else the first, until it lets go of it. Any
 * number may look at an object besides. Whose the objects are that were made is for `ownership.ts` to know.
 */
export interface Claims {
  /** The dispatch that has the say over an object. Another that wants it too reports so. */
  claimant(key: string): string | undefined;
  /** The dispatches that only look at an object, which has nothing to do with who has it. */
  readers(key: string): ReadonlySet<string>;
  /** Objects of a dispatch that others want as well, or have. */
  conflicts(name: string): readonly Conflict[];
  /** Who has an object beside a dispatch, else the next that would have it. */
  heir(key: string, of: string): Held | undefined;
  /** What is no longer wanted goes to the next that wants it; what is free, or was made by this dispatch, is claimed. */
  settle(before: Held | undefined, next: Held): void;
  /** A dispatch wants an object no more, which goes to the next that does. */
  leave(key: string, name: string): void;
  /** A dispatch wants an object no more, for another that does. */
  yield(key: string, from: string, to: string): void;
  /** An object is a dispatch's, whoever had it. */
  give(key: string, to: string): void;
}

export interface ClaimsOptions {
  /** A dispatch has an object that it wanted and did not have, or has it no more. */
  readonly onMoved: (name: string) => void;
  /** A dispatch has other conflicts than before. */
  readonly onContested: (name: string) => void;
}

const NOBODY: ReadonlySet<string> = new Set();

/** Claims of what is `held`, by name: the earlier it came, the earlier its turn. */
export function createClaims(held: ReadonlyMap<string, Held>, options: ClaimsOptions): Claims {
  const claimants = new Map<string, string>();
  const readers = new Map<string, Set<string>>();
  const contests = createContests(options.onContested);

  function heir(key: string, of: string): Held | undefined {
    const has = held.get(claimants.get(key) ?? '');
    if (has && has.name !== of && takes(has, key)) return has;
    for (const other of held.values()) if (other.name !== of && takes(other, key)) return other;
    return undefined;
  }

  function settle(before: Held | undefined, next: Held): void {
    const { name } = next;
    for (const key of before ? keysOf(before) : []) {
      if (takes(next, key)) unread(key, name);
      else leave(key, name);
    }
    for (const key of keysOf(next)) {
      if (!takes(next, key)) {
        const all = readers.get(key) ?? new Set();
        readers.set(key, all.add(name));
        continue;
      }
      const claimant = claimants.get(key);
      const made = madeBy(next, key) && !(claimant !== undefined && madeBy(held.get(claimant), key));
      if (claimant !== undefined && claimant !== name) contests.join(key, name, claimant);
      if (claimant === undefined || made) give(key, name);
    }
  }

  function give(key: string, to: string): void {
    const loser = claimants.get(key);
    claimants.set(key, to);
    if (loser === undefined || loser === to) return;
    // What it wrote is written over: when it is to have the object again, it writes it anew.
    const state = held.get(loser)?.states.get(key);
    if (!state) return;
    state.settled = false;
    options.onMoved(loser);
  }

  function leave(key: string, name: string): void {
    contests.leave(key, name);
    unread(key, name);
    if (claimants.get(key) !== name) return;
    claimants.delete(key);
    const next = heir(key, name);
    if (!next) return;
    claimants.set(key, next.name);
    options.onMoved(next.name);
  }

  function unread(key: string, name: string): void {
    const all = readers.get(key);
    if (all?.delete(name) === true && all.size === 0) readers.delete(key);
  }

  function conflicts(name: string): readonly Conflict[] {
    const current = held.get(name);
    if (!current) return [];
    return contests.of(name).flatMap(({ key, names }) => {
      const object = current.wanted.get(key);
      const winner = claimants.get(key) ?? '';
      const has = winner === name;
      const others = (has ? [...names].filter((one) => one !== name).sort() : [winner]).flatMap((one) => {
        const other = held.get(one);
        // What only comes along with either is made by one for both.
        return other && !isShared(current, other, key) ? other.accepted : [];
      });
      return object && others.length > 0 ? [{ ref: refOf(object), has, others }] : [];
    });
  }

  return {
    claimant: (key) => claimants.get(key),
    readers: (key) => readers.get(key) ?? NOBODY,
    conflicts,
    heir,
    settle,
    leave,
    yield(key, from, to): void {
      contests.leave(key, from);
      if (claimants.get(key) === from) claimants.set(key, to);
    },
    give,
  };
}
